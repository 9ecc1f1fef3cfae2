"""The script of a moldable job sees its width, for every shape, on a real Slurm."""

from __future__ import annotations

import pytest

from engines.daemons import wait_for
from moldable.policies.fixed_width import FixedWidth

SCRIPT = """#!/bin/sh
#SBATCH --time=5

echo "width=$MOLDABLE_WIDTH" "$@"
echo "tasks=$SLURM_NTASKS threads=$OMP_NUM_THREADS/$SLURM_CPUS_PER_TASK"
echo "nodes=$SLURM_JOB_NUM_NODES devices=$CUDA_VISIBLE_DEVICES"
echo "started=$(srun --overlap echo task | wc -l)"
echo end
"""


@pytest.fixture
def finish(large_nodes, run, make_plan, make_agent, tmp_path):
    """Submit a job, let the agent decide once, and return what its script printed."""
    assert large_nodes.idle_cpus() == 64

    def finished(shape: str, width: int, servers: int, *options: str) -> dict[str, str]:
        script = tmp_path / "job.sh"
        script.write_text(SCRIPT)
        printed = tmp_path / "printed"
        _, plan = make_plan(FixedWidth(width), servers)
        words = ("slurm", "submit", "--class", "solver", "--shape", shape)
        answer = run(*words, f"--output={printed}", *options, str(script), "one", "two words")
        assert answer.returncode == 0, answer.stderr
        make_agent(plan, shape).step()
        wait_for(lambda: printed.exists() and "end" in printed.read_text(), 30, "the job")
        lines = printed.read_text().split()
        assert lines[1:4] == ["one", "two", "words"]
        return dict(word.split("=", 1) for word in lines if "=" in word)

    return finished


def test_tasks_may_lie_on_several_nodes_and_srun_starts_as_many(finish):
    seen = finish("tasks", 5, 64)
    assert (seen["width"], seen["tasks"], seen["started"]) == ("5", "5", "5")
    assert seen["threads"] == "/"


def test_tasks_of_a_script_with_a_number_of_its_own_are_counted_anew(finish):
    seen = finish("tasks", 3, 64, "--ntasks=8")
    assert (seen["width"], seen["tasks"], seen["started"]) == ("3", "3", "3")


def test_threads_of_one_node_are_told_by_their_number(finish):
    seen = finish("threads", 4, 64)
    assert (seen["width"], seen["threads"], seen["nodes"]) == ("4", "4/4", "1")


def test_threads_of_a_script_with_a_number_of_its_own_are_set_anew(finish):
    assert finish("threads", 2, 64, "-c", "7")["threads"] == "2/2"


def test_whole_nodes(finish):
    seen = finish("nodes", 3, 4)
    assert (seen["width"], seen["nodes"], seen["started"]) == ("3", "3", "3")


def test_gpus_of_one_node_are_visible(finish):
    seen = finish("gpus", 3, 16)
    assert (seen["width"], seen["devices"], seen["nodes"]) == ("3", "0,1,2", "1")


def test_a_job_of_threads_gets_no_more_than_one_node_surely_has(large_nodes, make_plan, make_agent):
    # Three nodes have 4 idle CPUs and one has 6: 18 are idle, but a job fits into 6 of them.
    for name, taken in {"n1": 12, "n2": 12, "n3": 12, "n4": 10}.items():
        large_nodes.run("sbatch", f"-w{name}", f"-c{taken}", "-o/dev/null", "--wrap=sleep 600")
    large_nodes.wait_for_idle(18)
    held = ("sbatch", "-H", "-N1", "-c1", "--comment=moldable:solver;shape=threads", "-o/dev/null")
    for _ in range(4):
        large_nodes.run(*held, "--wrap=sleep 600")
    curve = {width: float(width) for width in range(1, 17)}
    make_agent(make_plan(FixedWidth(16), 64, {"solver": curve})[1], "threads").step()
    running = ("squeue", "-h", "-t", "R", "-n", "wrap", "-S", "i", "-o", "%i %C")
    wait_for(lambda: len(large_nodes.run(*running).splitlines()) == 8, 20, "four more jobs")
    widths = [int(line.split()[1]) for line in large_nodes.run(*running).splitlines()[4:]]
    assert widths == [6, 4, 4, 4]
