"""Inputs for single readers: a damaged file or text, and the call that reads it.

These take a millisecond each, a tenth of a command. A small share of the files is read by a command
as well, whose exit code is checked.
"""

from __future__ import annotations

import gzip
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fuzz import commands, corpus, live, logs
from fuzz.case import Case
from fuzz.mutate import damaged, damaged_json, odd_text, typo
from fuzz.values import NUMBERS, PLAIN

Rng = random.Random
COMMANDS = 0.02
"""Share of the files that are read by a command."""
SMALL = 3000
"""Bytes of a valid log; longer ones take longer to damage and to read, and hold nothing new."""


@dataclass(frozen=True)
class Reader:
    """A reader of one file.

    Attributes:
        weight: of its inputs among all.
        file: name of the file.
        contents: returns valid contents.
        calls: expressions that read the file.
        commands: command lines that read it.
        damage: damages a content.
        others: files that the first one may refer to, by name.
    """

    weight: int
    file: str
    contents: Callable[[], Sequence[bytes]]
    calls: tuple[str, ...]
    commands: tuple[str, ...] = ()
    damage: Callable[[Rng, bytes], bytes] = damaged
    others: Callable[[Rng], dict[str, bytes]] = lambda _: {}

    def case(self, rng: Rng, kind: str) -> Case:
        """Return a random input."""
        content = self.damage(rng, rng.choice(self.contents()))
        files = {**self.others(rng), self.file: content}
        if self.commands and rng.random() < COMMANDS:
            words = tuple(rng.choice(self.commands).split())
            return Case(f"{kind}: command", words, files=files)
        return Case(kind, call=rng.choice(self.calls), files=files)


def _measured(name: str, select: str = "", width: str = "threads") -> Reader:
    path = corpus.ROOT / "tests" / "fitting" / "files" / f"{name}.json"
    usual = f"read_measurements('runs.json'{select})"
    calls = (usual, usual, f"read_measurements('runs.json'{select}, width={width!r})")
    return Reader(
        *(6, "runs.json", lambda: (path.read_bytes(),), calls, ("fit runs.json",)),
        damage=damaged_json,
    )


def _log(position: int, weight: int, name: str = "log.txt", options: str = "") -> Reader:
    rules = ("none", "user", "account", "name:^[a-z]+", "comment:moldable:(x)?")
    calls = tuple(f"read_trace('{name}', class_by={rule!r}{options})" for rule in rules)
    commands = (f"trace {name}", f"trace {name} --class-by user --json")
    return Reader(
        *(weight, name, lambda: (logs.logs()[position][:SMALL],), calls, commands), damage=_zipped
    )


def _zipped(rng: Rng, content: bytes) -> bytes:
    content = damaged(rng, content)
    if rng.random() < 0.05:
        return damaged(rng, gzip.compress(content, 1, mtime=0), times=rng.choice((0, 1)))
    return content


def _beside(rng: Rng) -> dict[str, bytes]:
    """Return the files that a workload file may name, sometimes damaged."""
    times = rng.choice((0, 0, 1))
    names = ("curve.csv", "times.csv", "solver.csv")
    files = {name: damaged(rng, rng.choice(corpus.CURVES), times) for name in names}
    return files | {"sizes.csv": damaged(rng, rng.choice(corpus.SIZES), times)}


SQUEUE = (
    b"17/t/PD/t/JobHeldUser/t/0/t/ann/t/1793613600/t/1793613600/t/N/A/t/4/t/1-4/t/1/t/1/t/N/A/t//t/"
    b"/t//t/OK/t/0/t/(null)/t/(null)/t/(null)/t//t/moldable:jobs;shape=tasks;granting=2/t/\n"
)
SINFO = b"n1/t/idle/t/0/4/0/4/t/gpu:a100:4(S:0-1)/t/gpu:a100:0(IDX:N/A)/t/\n" * 3
TEXT = "Path('text').read_text('utf-8', 'replace')"

READERS = {
    "TOML scenario": Reader(
        *(16, "workload.toml", corpus.workloads, ("read_scenario('workload.toml')",)),
        ("optimum --workload workload.toml", "trace workload.toml"),
        others=_beside,
    ),
    "CSV curve": Reader(
        *(8, "curve.csv", corpus.curves, ("read_curve('curve.csv')",)),
        ("optimum --speedup curve.csv --load 0.8",),
    ),
    "CSV measurements": Reader(
        *(6, "runs.csv", corpus.curves),
        ("read_measurements('runs.csv')", "read_measurements('runs.csv', width='a', value='b')"),
        ("fit runs.csv",),
    ),
    "CSV sizes": Reader(3, "sizes.csv", lambda: corpus.SIZES, ("SizeLaw.parse('sizes.csv')",)),
    "CSV arrival times": Reader(
        *(3, "times.csv", lambda: corpus.TIMES, ("parse_arrivals('times.csv')",))
    ),
    "hyperfine JSON": _measured("hyperfine"),
    "pytest-benchmark JSON": _measured(
        "pytest-benchmark", ", select=['name=test_solver']", "nodes"
    ),
    "ReFrame JSON": _measured("reframe", ", select=['variable=elapsed']", "num_tasks"),
    "SWF log": _log(0, 6, "log.swf"),
    "jobcomp log": _log(1, 6),
    "CSV log": _log(2, 4, "log.csv"),
    "CSV log, semicolons": _log(3, 3, "log.csv", ", columns={'submit': 'timestamp'}"),
    "sacct log": _log(4, 6),
    "policy JSON": Reader(
        *(8, "policy.json", corpus.policies, ("read_policy_file('policy.json')",)),
        ("evaluate --servers 4 --load 0.8 --speedup 1,1.8 --policy policy.json --method chain",),
        damage=damaged_json,
    ),
    "plan JSON": Reader(
        *(6, "plan.json", live.plans, ("read_plan('plan.json')",)),
        ("live report --plan plan.json journal.jsonl",),
        damage=damaged_json,
        others=lambda _: {"journal.jsonl": live.logs()[0][:SMALL]},
    ),
    "journal": Reader(
        *(6, "journal.jsonl", lambda: [live.logs()[0][:SMALL]]),
        ("len(list(read_journal('journal.jsonl')))",),
        ("live report --plan plan.json journal.jsonl",),
        others=lambda rng: {"plan.json": rng.choice(live.plans())},
    ),
    "output of squeue": Reader(
        *(3, "text", lambda: (SQUEUE, SQUEUE * 20)),
        (f"[read_job(cells) for cells in split_output({TEXT}, JOB_FIELDS, '/t/')]",),
    ),
    "output of sinfo": Reader(
        *(2, "text", lambda: (SINFO,)),
        (f"[read_node(cells) for cells in split_output({TEXT}, NODE_FIELDS, '/t/')]",),
    ),
    "batch script": Reader(2, "text", lambda: (live.SCRIPT,), (f"script_options({TEXT})",)),
}
"""The readers of files by name."""

LOSS = "Scenario.single([1, 1.8], 0.8, 4)"
SPELLINGS: dict[str, tuple[str, Sequence[str]]] = {
    "curve": ("parse_speedup({})", (*commands.CURVES, *commands.NASTY_CURVES)),
    "size": ("SizeLaw.parse({})", (*commands.LAWS, *commands.NASTY_LAWS)),
    "arrivals": ("parse_arrivals({})", (*commands.ARRIVALS, "times.csv")),
    "regime": ("parse_regime({})", ("1/2,0.1", "0,0.2", "2/3,0.5")),
    "policy": (f"build_policy({{}}, {LOSS})", (*commands.POLICIES, *commands.NASTY_POLICIES)),
    "duration": ("parse_duration({}, 'hours', 'd', InputError)", ("6h", "90 min", "1.5 days")),
    "rate": ("parse_rate({}, 'hours', 'r', InputError)", ("5/h", "120 per day", "3 jobs/min")),
    "waiting": ("checked_waiting({})", ("unlimited", "0", "12")),
    "start": ("read_start({})", ("equilibrium", "1=3,2=4")),
    "class rule": ("ClassRule.parse({})", (*logs.RULES, *logs.NASTY_RULES)),
    "comment of a job": ("Mark.parse({})", ("moldable:jobs", "moldable:a;width=2;idle=4;plan=6b")),
}
"""Short texts: the call that reads them, and valid and difficult ones."""
ODD_SHARE = 0.2

OPTIONS = {
    "optimum": ("--workload", "--servers", "--load", "--regime", "--plot"),
    "evaluate": ("--workload", "--servers", "--policy", "--method", "--precision", "--waiting"),
    "compare": ("--workload", "--policies", "--seed", "--threads", "--arrivals", "--size"),
    "simulate": ("--workload", "--jobs", "--replications", "--warmup", "--start", "--estimator"),
    "tune": ("--workload", "--max-blocking", "--blocking-cost", "--max-time", "--max-mean-wait"),
    "tradeoff": ("--workload", "--costs", "--out", "--load"),
    "plan": ("--servers", "--class-by", "--max-wait", "--growth", "--report", "--count"),
    "trace": ("--class-by", "--columns", "--format", "--count", "--draft", "--curve"),
    "replay": ("--servers", "--policies", "--class-by", "--seed"),
    "fit": ("--width", "--value", "--select", "--load", "--servers", "--plot"),
    "live report": ("--plan", "--grace", "--count"),
    "slurm status": ("--plan", "--partition", "--hours"),
}
"""Options of commands; the files that they name are not there, so that the commands end early."""


def reader_input(rng: Rng) -> Case:
    """Return an input for one of the readers, the spellings or the options."""
    chance = rng.random()
    if chance < 0.15:
        return _spelling(rng)
    if chance < 0.22:
        return _options(rng)
    (name,) = rng.choices(list(READERS), weights=[each.weight for each in READERS.values()])
    return READERS[name].case(rng, name)


def _spelling(rng: Rng) -> Case:
    name = rng.choice(list(SPELLINGS))
    call, texts = SPELLINGS[name]
    text = odd_text(rng) if rng.random() < ODD_SHARE else rng.choice(texts)
    for _ in range(rng.choice((0, 1, 1, 2, 4))):
        text = typo(rng, text)
    files = _beside(rng) if ".csv" in text else {}
    return Case(f"spelling: {name}", call=call.format(repr(text)), files=files)


def _options(rng: Rng) -> Case:
    """Return a command line whose options are read before a file that is missing."""
    command = rng.choice(list(OPTIONS))
    words = [*command.split(), *(["missing.txt"] if command not in commands.OPTIONS else [])]
    for option in rng.choices(OPTIONS[command], k=rng.choice((1, 2, 3))):
        value = rng.choice((rng.choice(NUMBERS), rng.choice(PLAIN), odd_text(rng), "missing"))
        words += rng.choice(([option, value], [option, value], [f"{option}={value}"], [option]))
    if rng.random() < 0.1:
        words = [typo(rng, word) for word in words]
    if "--workload" not in words and command in commands.OPTIONS:
        words += ["--workload", "missing.toml"]
    return Case("options", tuple(word.replace("\0", "") for word in words))
