"""job_submit.lua under a real Lua interpreter: it decides like Python, or lets jobs pass."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from live.slurm.job_submit_lua import LOADED, NOW, JobSubmit, heartbeat, submitted
from moldable.live import decisions
from moldable.live.decisions import Snapshot, WaitingJob, decide
from moldable.live.journal import read_journal
from moldable.live.plan_file import LivePlan
from moldable.live.slurm.heartbeat import FORGET, MAX_AGE, class_rows, draws_of
from moldable.model.scenario import Scenario
from moldable.model.workload import JobClass, Workload
from moldable.policies.registry import policy_from_data

VECTORS = json.loads(Path(__file__).with_name("submission_vectors.json").read_text())
ROWS = {"solver": "0:0 1:1 4:4"}


@pytest.fixture
def lua(tmp_path) -> JobSubmit:
    return JobSubmit(tmp_path)


def plan_of(entry) -> LivePlan:
    classes = [
        JobClass(name, 1.0, {int(width): s for width, s in curve.items()})
        for name, curve in entry["classes"].items()
    ]
    scenario = Scenario(Workload(classes), VECTORS["servers"])
    policy = policy_from_data(entry["policy"]).with_classes(scenario)
    return LivePlan(policy, scenario, {}, "0123456789ab")


def python_width(plan: LivePlan, vector, monkeypatch) -> int:
    """Decide about one job, as `moldable run` and the agent do."""
    held = {"(others)": {w: vector["taken"].count(w) for w in set(vector["taken"])}}
    waiting = (WaitingJob("1", plan.job_class(vector["class"])),)
    snapshot = Snapshot(max(vector["idle"], 0), released=held, waiting=waiting)
    monkeypatch.setattr(decisions, "uniform", lambda _seed, _job: vector["draw"])
    (found,) = decide(snapshot, plan.policy, places=0)
    assert found.action == ("grant" if found.width else "block")
    return found.width


def lua_case(plan: LivePlan, vector, rows=None):
    """Let jobs of one width each fill the ledger, and then submit the job."""
    fillers = {f"filler{width}": f"0:{width}" for width in set(vector["taken"])}
    before = heartbeat(fillers, idle=10**6)
    known = {"idle": vector["idle"], "draws": (vector["draw"],)}
    now = heartbeat(rows or class_rows(plan), **known)
    return [
        {"heartbeat": before},
        *(submitted(f"moldable:filler{width}") for width in vector["taken"]),
        {"heartbeat": now},
        submitted(f"moldable:{vector['class']}"),
    ]


def last_widths(answers) -> list[int]:
    """The width of the last job of each case."""
    return list({answer.case: answer.width for answer in answers}.values())


def test_python_and_lua_give_the_widths_of_the_table_of_vectors(lua, monkeypatch):
    plans = {name: plan_of(entry) for name, entry in VECTORS["policies"].items()}
    vectors = VECTORS["vectors"]
    expected = [vector["width"] for vector in vectors]
    assert [python_width(plans[v["policy"]], v, monkeypatch) for v in vectors] == expected
    assert last_widths(lua.run(*(lua_case(plans[v["policy"]], v) for v in vectors))) == expected


def random_shares(rng: random.Random, widths: list[int]) -> dict[str, float]:
    chosen = rng.sample(widths, rng.randint(1, min(3, len(widths))))
    weights = [rng.random() for _ in chosen]
    return {str(w): weight / sum(weights) for w, weight in zip(chosen, weights, strict=True)}


def random_entry(rng: random.Random):
    """A random curve under random shares, which need not fit, or under a table of such shares."""
    widths = sorted(rng.sample(range(1, 9), rng.randint(1, 5)))
    curve = {str(width): 1.0 if width == 1 else rng.uniform(1.0, 8.0) for width in widths}
    if rng.random() < 0.5:
        policy = {"policy": "greedy-p", "classes": {"solver": random_shares(rng, widths)}}
        return {"policy": policy, "classes": {"solver": curve}}
    starts = sorted(rng.sample(range(1, 9), rng.randint(1, 4)))
    table = {str(k): random_shares(rng, [0, *(w for w in widths if w <= k)]) for k in starts}
    return {
        "policy": {"policy": "thresholds", "classes": {"solver": table}},
        "classes": {"solver": curve},
    }


def test_python_and_lua_decide_alike_under_random_tables(lua, monkeypatch):
    rng = random.Random(20261118)  # noqa: S311 - nothing is secret
    cases, expected = [], []
    for _ in range(150):
        plan = plan_of(random_entry(rng))
        rows = class_rows(plan)
        for idle in range(-1, VECTORS["servers"] + 1):
            taken = [rng.randint(1, 4) for _ in range(rng.randint(0, 2))]
            vector = {"class": "solver", "idle": idle, "taken": taken, "draw": rng.random()}
            cases.append(lua_case(plan, vector, rows))
            expected.append(python_width(plan, vector, monkeypatch))
    assert last_widths(lua.run(*cases)) == expected
    assert len(set(expected)) > 5


def test_random_numbers_are_used_one_after_the_other(lua):
    rows = {"solver": "0:0 1:1<0.5,2<1"}
    draws = draws_of(rows, 7, NOW)
    assert len(set(draws)) == len(draws) == 256
    beat = {"heartbeat": heartbeat(rows, idle=10**6, draws=draws)}
    answers = lua.run([beat, *[submitted()] * 300])
    expected = [1 if draw < 0.5 else 2 for draw in [*draws, *draws[:44]]]
    assert [answer.width for answer in answers] == expected
    # Heartbeats of the same second go on where the last one was.
    answers = lua.run([beat, submitted(), beat, submitted()])
    assert [answer.width for answer in answers] == expected[:2]
    # Those of another second are new numbers, which begin with the first.
    later = {"heartbeat": heartbeat(rows, time=NOW + 1, idle=10**6, draws=draws[::-1])}
    answers = lua.run([beat, submitted(), submitted(), later, submitted()])
    assert answers[-1].width == (1 if draws[-1] < 0.5 else 2) != (1 if draws[-3] < 0.5 else 2)


def test_grants_count_as_taken_until_they_are_seen_or_forgotten(lua):
    rows = {"solver": "0:0 4:4"}
    seen = f"{LOADED}.1"

    def beat(after: int, *numbers: str):
        return {"heartbeat": heartbeat(rows, time=NOW + after, idle=4, seen=numbers)}

    def submit(after: int):
        return submitted(time=NOW + after)

    forgotten = int(FORGET)
    cases = (
        [beat(0), submit(0), submit(0)],
        [beat(0), submit(0), beat(1), submit(1)],
        [beat(0), submit(0), beat(1, seen), submit(1)],
        [beat(0), submit(0), beat(1, "900.1", f"{LOADED}.11"), submit(1)],
        [beat(0), submit(0), beat(forgotten - 1), submit(forgotten)],
        [beat(0), submit(0), beat(forgotten), submit(forgotten)],
    )
    answers = lua.run(*cases)
    assert [answer.width for answer in answers[::2]] == [4] * len(cases)
    assert [answer.width for answer in answers[1::2]] == [0, 0, 4, 0, 0, 4]


def test_loss_mode_waits_for_a_heartbeat_that_knows_all_grants_before_the_script_was_loaded(lua):
    beat = {"heartbeat": heartbeat(ROWS)}
    assert lua.run([beat, submitted()], loaded=NOW)[0].untouched
    assert lua.run([beat, submitted()], loaded=NOW - 1)[0].width == 4


def test_a_refused_job_gets_a_message_and_a_line_in_the_journal(lua):
    lua.journal.touch(0o600)
    beat = {"heartbeat": heartbeat(ROWS, idle=0)}
    (answer,) = lua.run([beat, submitted()])
    assert answer.code == -1
    assert not answer.changes
    assert (
        "user: moldable: refused, because there are no servers for class solver now (0 idle); "
        "submit it later"
    ) in answer.messages
    (entry,) = read_journal(lua.journal)
    assert (entry.event, entry.job, entry.job_class) == ("blocked", f"refused-{LOADED}.1", "solver")
    assert (entry.time, entry.idle, entry.width, entry.plan) == (NOW, 0, 0, "0123456789ab")
    lua.journal.unlink()
    lua.run([beat, submitted()])
    assert not lua.journal.exists()  # the agent creates it, with its mode


def test_a_granted_job_gets_its_width_and_a_mark(lua):
    (answer,) = lua.run([{"heartbeat": heartbeat(ROWS)}, submitted()])
    assert answer.changes == {
        "num_tasks": "4",
        "min_cpus": "4",
        "max_cpus": "4",
        "admin_comment": "moldable:solver;shape=tasks;granting=4;idle=8;waiting=0;"
        f"plan=0123456789ab;seq={LOADED}.1",
    }
    assert answer.environment == {"MOLDABLE_CLASS": "solver", "MOLDABLE_SHAPE": "tasks"}
    assert answer.messages == ["user: moldable: width 4 of 8 idle servers"]


def test_enforce_marks_and_holds_and_says_nothing(lua):
    beat = {"heartbeat": heartbeat(ROWS, mode="enforce", shapes=("tasks", "threads"))}
    plain, threads, interactive = lua.run(
        [beat, submitted(), submitted("moldable:solver;shape=threads"), submitted(interactive=True)]
    )
    assert plain.changes == {"priority": "0", "admin_comment": "moldable:solver;shape=tasks"}
    assert plain.messages == []
    assert threads.changes["admin_comment"] == "moldable:solver;shape=threads"
    assert threads.environment["MOLDABLE_SHAPE"] == "threads"
    assert interactive.changes == plain.changes


def test_advise_tells_the_width_and_observe_nothing(lua):
    busy, idle = heartbeat(ROWS, mode="advise", idle=0), heartbeat(ROWS, mode="advise")
    observed = heartbeat(ROWS, mode="observe")
    answers = lua.run(
        [
            {"heartbeat": text} if isinstance(text, str) else text
            for text in (idle, submitted(), busy, submitted(), observed, submitted())
        ]
    )
    assert all(answer.untouched for answer in answers)
    assert [answer.messages for answer in answers] == [
        ["user: moldable: class solver would get width 4 of 8 idle servers"],
        ["user: moldable: class solver would get no servers now, 0 are idle"],
        [],
    ]


GOOD = heartbeat(ROWS, mode="enforce")


@pytest.mark.parametrize("mode", ["advise", "enforce", "loss"])
@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"comment": "moldable:solvr"}, "the plan has no class solvr"),
        ({"comment": "moldable:solver;shape=gpus"}, "shape gpus"),
        ({"array_inx": "1-3"}, "it is an array"),
        ({"priority": 0}, "it is on hold"),
        ({"partition": "other"}, "in partition main only"),
        ({"partition": "main,other"}, "in partition main only"),
        ({"het_job_offset": 0}, "heterogeneous"),
        ({"script": ""}, "it has no script"),
        ({"admin_comment": "mine"}, "admin comment"),
        ({"req_nodes": "n1"}, "--nodelist"),
        ({"features": "fast"}, "--constraint"),
        ({"reservation": "night"}, "--reservation"),
        ({"tres_per_job": "gres:gpu:2"}, "--gpus"),
        ({"tres_per_task": "gres:gpu:2"}, "--gpus-per-task"),
        ({"tres_per_socket": "gres:gpu:2"}, "--gpus-per-socket"),
        ({"ntasks_per_node": 2}, "--ntasks-per-node"),
        ({"min_nodes": 2}, "--nodes"),
        ({"min_nodes": 1, "max_nodes": 1}, "--nodes"),
    ],
)
def test_a_doubtful_job_passes_untouched_and_its_user_is_told_why(lua, mode, fields, reason):
    beat = {"heartbeat": heartbeat(ROWS, mode=mode)}
    doubtful, good = lua.run([beat, submitted(**fields), submitted()])
    assert doubtful.untouched
    assert len(doubtful.messages) == 1
    assert "user: moldable: the job runs as it was submitted: " in doubtful.messages[0]
    assert reason in doubtful.messages[0]
    assert good.untouched == (mode == "advise")


@pytest.mark.parametrize(
    "fields",
    [
        {"dependency": "afterok:3"},
        {"begin_time": NOW + 60},
        {"tres_per_node": "gres:gpu:1"},
        {"cpus_per_task": 4},
        {"shared": 0},
    ],
)
def test_what_cannot_be_decided_at_once_passes_in_loss_mode_only(lua, fields):
    loss, held = lua.run(
        [{"heartbeat": heartbeat(ROWS)}, submitted(**fields)],
        [{"heartbeat": GOOD}, submitted(**fields)],
    )
    assert loss.untouched
    assert "priority" in held.changes


@pytest.mark.parametrize(
    "comment",
    [
        None,
        "",
        "another",
        "a moldable:solver",
        "moldable:",
        "moldable:solver;width=64",
        "moldable:solver;shape=tasks;width=4",
        "moldable:solver;granting=64;seq=1.1",
        "moldable:solver\nmoldable:solver",
        "moldable:sol ver",
        'moldable:solver"',
        "moldable:%s%s%n",
        "moldable:../../etc/passwd",
        "moldable:" + "x" * 100_000,
        "MOLDABLE:solver",
    ],
)
def test_other_comments_are_never_acted_on(lua, comment):
    for mode in ("enforce", "loss", "advise"):
        beat = {"heartbeat": heartbeat(ROWS, mode=mode)}
        (answer,) = lua.run([beat, submitted(comment)])
        assert answer.untouched


@pytest.mark.parametrize(
    "text",
    [
        "",
        "moldable 1\n",
        GOOD[:-1],
        GOOD[: len(GOOD) // 2],
        GOOD.replace("moldable 1", "moldable 2"),
        GOOD.replace("time 2000", "time soon"),
        GOOD.replace("time 2000\n", ""),
        GOOD.replace("mode enforce", "mode unknown"),
        GOOD.replace("partition main default\n", ""),
        GOOD.replace("shapes tasks", "shapes "),
        heartbeat(ROWS, idle=8).replace("idle 8", "idle many"),
        heartbeat({"solver": "nonsense"}, mode="loss").replace("class solver", "class"),
        heartbeat(ROWS, time=NOW - MAX_AGE - 1),
        heartbeat(ROWS, time=NOW + MAX_AGE + 1),  # the clock was set back
        heartbeat(ROWS, mode="enforce", default=False),
    ],
)
def test_without_a_good_and_fresh_heartbeat_jobs_pass_untouched(lua, text):
    (answer,) = lua.run([{"heartbeat": text}, submitted()])
    assert answer.untouched


def test_a_heartbeat_counts_as_fresh_for_some_seconds(lua):
    ages = (-MAX_AGE, 0, MAX_AGE)
    answers = lua.run(
        *([{"heartbeat": heartbeat(ROWS, time=NOW + age)}, submitted()] for age in ages)
    )
    assert [answer.width for answer in answers] == [4, 4, 4]


def test_the_disable_file_lets_jobs_pass_whatever_its_mode(lua):
    event = [{"heartbeat": GOOD}, submitted()]
    assert not lua.run(event)[0].untouched
    lua.disable.touch(0o000)
    (answer,) = lua.run(event)
    assert answer.untouched
    assert answer.messages == [
        "info: moldable: a job of class solver passes untouched: the disable file is there"
    ]
    lua.disable.unlink()
    lua.disable.symlink_to(lua.disable)  # it cannot be opened
    assert lua.run(event)[0].untouched


def test_an_error_in_lua_lets_the_job_pass(lua):
    lua.script.write_text(
        lua.script.read_text().replace("local now = os.time()", "local now = job.trap", 1)
    )
    (answer,) = lua.run([{"heartbeat": GOOD}, submitted()])
    assert answer.untouched
    assert "error: moldable: a job passes untouched:" in answer.messages[0]
