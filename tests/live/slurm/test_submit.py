"""The command line of sbatch, and the line that tells a script its width."""

from __future__ import annotations

import subprocess

import pytest

from moldable.errors import InputError
from moldable.live.slurm.lock import AgentInfo
from moldable.live.slurm.sbatch_options import refuse_options, script_options, split_command
from moldable.live.slurm.shapes import SHAPES
from moldable.live.slurm.submit import PRELUDES, hold_note, refuse_unit, with_prelude


@pytest.mark.parametrize(
    ("words", "script", "arguments", "names"),
    [
        (["job.sh"], "job.sh", [], set()),
        (["-p", "long", "job.sh", "-p"], "job.sh", ["-p"], {"partition"}),
        (["-plong", "-Hn", "4", "job.sh"], "job.sh", [], {"partition", "H", "ntasks"}),
        (["-QW", "job.sh"], "job.sh", [], {"quiet", "wait"}),
        (["--time=5", "--mem", "1G", "job.sh", "a"], "job.sh", ["a"], {"time", "mem"}),
        (["--exclusive", "job.sh"], "job.sh", [], {"exclusive"}),
        (["--nice=5", "--", "-odd.sh"], "-odd.sh", [], {"nice"}),
    ],
)
def test_the_script_is_found_as_sbatch_finds_it(words, script, arguments, names):
    found = split_command(words)
    assert (found.script, found.arguments, found.names) == (script, arguments, names)


@pytest.mark.parametrize("words", [[], ["-p", "long"], ["-"], ["--time", "5"]])
def test_without_a_script_there_is_nothing_to_submit(words):
    with pytest.raises(InputError, match="there is no script"):
        split_command(words)


@pytest.mark.parametrize("words", [["--wrap=true"], ["--wrap", "true"]])
def test_a_command_without_a_script_is_refused(words):
    with pytest.raises(InputError, match="--wrap cannot be used: write the command into a script"):
        split_command(words)


def test_options_in_the_script_are_read_up_to_its_first_command():
    lines = ["#!/bin/sh", "#SBATCH -n 4 --time 5", "", "# text", "#SBATCH --gres='gpu:1' # one"]
    text = "\n".join([*lines, "true", "#SBATCH -w n1"])
    assert script_options(text) == {"ntasks", "time", "gres"}


@pytest.mark.parametrize("shape", SHAPES)
def test_what_a_shape_cannot_mold_is_refused_before_submission(shape):
    for name in ("comment", "ntasks-per-node", "nodelist", "priority", "quiet", "wait", "wrap"):
        with pytest.raises(InputError, match=f"--{name} cannot be used with the shape {shape}"):
            refuse_options({name}, shape, "options")
    refuse_options({"time", "partition", "array", "mem"}, shape, "options")


def test_tasks_cannot_ask_for_a_number_of_nodes():
    with pytest.raises(InputError, match="--nodes cannot be used with the shape tasks"):
        refuse_options(script_options("#!/bin/sh\n#SBATCH -N 2\n"), "tasks", "job.sh")
    refuse_options({"nodes"}, "nodes", "job.sh")


def agent(mode="enforce", shape="tasks"):
    return AgentInfo(1, mode, shape, "main", "0", ("solver",))


def test_a_job_is_refused_if_the_running_agent_counts_other_servers():
    with pytest.raises(InputError, match="your running agent decides about GPUs, not CPUs"):
        refuse_unit(SHAPES["tasks"], agent(shape="gpus"))
    refuse_unit(SHAPES["threads"], agent())
    refuse_unit(SHAPES["gpus"], None)


def test_the_user_is_told_that_a_job_stays_on_hold():
    assert "no agent of yours is running on cluster here" in hold_note("here", None)
    assert "runs in mode advise, which releases no job" in hold_note("here", agent("advise"))
    assert hold_note("here", agent()) is None


def test_the_line_follows_the_options_of_slurm():
    script = b"#!/bin/bash\n#SBATCH -n 2\n\n# text\necho $0\n"
    lines = with_prelude(script, "threads").split(b"\n")
    assert lines[4] == PRELUDES["threads"].encode()
    assert [line for line in lines if line != lines[4]] == script.split(b"\n")


@pytest.mark.parametrize(
    ("variable", "tasks"), [("5", 5), ("1(x5)", 5), ("2(x3),1", 7), ("16,12(x2)", 40), ("1,1", 2)]
)
def test_tasks_are_counted_over_all_nodes_even_in_a_strict_shell(variable, tasks):
    script = with_prelude(b"#!/bin/sh\necho $MOLDABLE_WIDTH $SLURM_NTASKS $SLURM_NPROCS", "tasks")
    found = subprocess.run(
        ["/bin/sh", "-eu"],
        input=script,
        env={"SLURM_TASKS_PER_NODE": variable, "SLURM_NTASKS": "99", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        check=True,
    )
    assert found.stdout.split() == [str(tasks).encode()] * 3
