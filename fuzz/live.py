"""Plans, journals, accounts of Slurm and options of the live commands, valid and damaged."""

from __future__ import annotations

import functools
import random
import tempfile
from pathlib import Path

from fuzz.case import Case
from fuzz.commands import Draft
from fuzz.mutate import damaged, damaged_json, odd_text, typo
from fuzz.values import NUMBERS, PATHS, TEXTS
from moldable import Scenario, Thresholds, evaluate
from moldable.live.plan_file import write_plan
from moldable.live.rehearsal import poisson_jobs, rehearse, write_journal
from moldable.policies import QueueTable

Rng = random.Random

SACCT = b"""\
JobID|State|Submit|Start|End|ElapsedRaw|AllocCPUS|AllocNodes|AllocTRES|Comment
1|COMPLETED|2026-11-02T10:00:00|2026-11-02T10:00:05|2026-11-02T10:01:05|60|2|2|cpu=2,node=2|\
moldable:jobs;shape=tasks;width=2;idle=4;waiting=0;plan=6bb28f2301c9
2_1|FAILED|2026-11-02T10:00:03|2026-11-02T10:00:09|2026-11-02T10:00:39|30|1|1|cpu=1,node=1|\
moldable:jobs;width=1
3|RUNNING|2026-11-02T10:00:04|2026-11-02T10:00:09|Unknown|90|2|1|cpu=2,gres/gpu=2|moldable:jobs
4|CANCELLED by 0|2026-11-02T10:00:05|None|2026-11-02T10:02:00|0|0|0||other
"""
SCRIPT = b"""#!/bin/bash
#SBATCH --time=10 --job-name="a b"
# a comment
#SBATCH -N 1 -c2

srun ./solver "$MOLDABLE_WIDTH"
"""
SBATCH = (
    "--time=10",
    "-t",
    "10",
    "-n4",
    "-N",
    "--wrap=x",
    "--hold",
    "-c",
    "--array=1-3",
    "--",
    "-",
)


@functools.cache
def plans() -> tuple[bytes, ...]:
    """Return plan files."""
    loss = Scenario.single([1, 1.8], 0.7, 4)
    queue = Scenario.single([1, 1.8], 0.7, 4, waiting="unlimited")
    policies = (
        (loss, Thresholds({"jobs": {1: 1, 3: {1: 0.5, 2: 0.5}}})),
        (queue, QueueTable({"jobs": {0: {1: 1, 3: 2}, 2: {1: 1}}})),
    )
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for number, (scenario, policy) in enumerate(policies):
            path = Path(folder) / f"{number}.json"
            write_plan(path, policy, evaluate(scenario, policy))
            found.append(path.read_bytes())
    return tuple(found)


@functools.cache
def logs() -> tuple[bytes, ...]:
    """Return journals, and what sacct prints."""
    scenario = Scenario.single([1, 1.8], 0.9, 4)
    policy = Thresholds({"jobs": {1: 1, 3: 2}})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "journal.jsonl"
        write_journal(path, rehearse(scenario, policy, poisson_jobs(scenario, 60, seed=1), "x"))
        journal = path.read_bytes()
    return journal, journal, SACCT


def damaged_live(rng: Rng) -> Case:
    """Damage what a live command reads, or its options."""
    return rng.choice((_report, _report, _run, _submit, _install))(rng)


def _plan(rng: Rng, draft: Draft, chance: float) -> None:
    """Add a plan, which is damaged with some probability."""
    content = rng.choice(plans())
    draft.files["plan.json"] = damaged_json(rng, content) if rng.random() < chance else content
    draft.options["--plan"] = rng.choice(PATHS) if rng.random() < 0.03 else "plan.json"


def _report(rng: Rng) -> Case:
    draft = Draft("live")
    _plan(rng, draft, 0.3)
    draft.files["log"] = damaged(rng, rng.choice(logs()))
    if rng.random() < 0.2:
        draft.options["--grace"] = rng.choice(NUMBERS)
    if rng.random() < 0.2:
        draft.options["--count"] = rng.choice(("cpus", "gpus", "nodes", "auto", "cores"))
    words = ["report", rng.choice(PATHS) if rng.random() < 0.03 else "log"]
    return _with_words(rng, draft, words, "live report")


def _run(rng: Rng) -> Case:
    draft = Draft("run", {"--dir": "ledger", "--servers": "4"})
    _plan(rng, draft, 0.6)
    if rng.random() < 0.3:
        draft.options["--class"] = rng.choice(("jobs", "job", *TEXTS))
    if rng.random() < 0.2:
        draft.options["--servers"] = rng.choice(NUMBERS)
    if rng.random() < 0.2:
        draft.options["--journal"] = rng.choice(("journal.jsonl", ".", "no/such/folder"))
    # Without waiting, a policy that never grants a server ends the command.
    draft.words += ["--no-wait", "--", "/bin/true", *rng.choices(TEXTS, k=rng.choice((0, 1)))]
    return draft.build("run")


def _submit(rng: Rng) -> Case:
    """Submit to a Slurm that is not there: the options and the script are read before."""
    draft = Draft("slurm", files={"job.sh": damaged(rng, SCRIPT)})
    words = ["submit", "--class", rng.choice(("jobs", "jobs", *TEXTS))]
    if rng.random() < 0.3:
        words += ["--shape", rng.choice(("tasks", "threads", "nodes", "gpus", *TEXTS))]
    given = rng.choices(SBATCH, k=rng.choice((0, 1, 2)))
    words += [typo(rng, word) if rng.random() < 0.2 else word for word in given]
    draft.words += [*words, rng.choice(PATHS) if rng.random() < 0.05 else "job.sh"]
    return draft.build("slurm submit")


def _install(rng: Rng) -> Case:
    """Write the files of an administrator into the working folder."""
    fields = {
        "folder": "files",
        "plan": "/etc/moldable/plan.json",
        "cluster": "test",
        "configuration": "/etc/slurm/slurm.conf",
        "partition": "main",
        "account": "root",
        "slurm_account": "root",
        "mode": "enforce",
        "shape": "tasks",
        "run_folder": "/run/moldable",
        "journal": "/var/lib/moldable/decisions.jsonl",
    }
    for name in rng.sample(list(fields), k=rng.choice((0, 1, 1, 2))):
        odd = odd_text(rng).replace("/", "")
        fields[name] = odd if name != "folder" else f"files{odd}"
    paths = ("plan", "configuration", "run_folder", "journal")
    given = [
        f"{name}=Path({text!r})" if name in paths else f"{name}={text!r}"
        for name, text in fields.items()
        if name != "folder"
    ]
    folder = f"folder=Path({fields['folder']!r}).absolute()"
    call = f"[p.name for p in write_installation(Installation({folder}, {', '.join(given)}))]"
    return Case("slurm install", call=call)


def _with_words(rng: Rng, draft: Draft, words: list[str], kind: str) -> Case:
    """Return the case with its words before the options, as a group of commands needs them."""
    case = draft.build(kind)
    command, *options = case.arguments
    last = ["--json"] if rng.random() < 0.3 else []
    arguments = tuple(word.replace("\0", "") for word in (command, *words, *options, *last))
    return Case(kind, arguments, files=case.files, special=case.special)
