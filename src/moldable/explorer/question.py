"""The question of an explorer session: everything that its visitor has set."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Self, final

import numpy as np

from moldable.checks import checked_int, checked_path, choice
from moldable.csv_columns import plain_name, separator_of
from moldable.errors import ControlError, InputError, WorkloadError, shown
from moldable.explorer.class_input import (
    LONGEST_NAME,
    MOST_WIDTHS,
    ClassInput,
    checked_arrivals,
    checked_items,
    checked_size,
    checked_table,
    without_files,
)
from moldable.explorer.toml_text import scenario_toml
from moldable.files.curve_csv import MEANING, read_curve
from moldable.files.notation import parse_arrivals
from moldable.live.plan_file import read_plan
from moldable.model.arrivals import Arrivals, ArrivalTimes
from moldable.model.scenario import Scenario, checked_load
from moldable.model.sizes import Empirical, SizeLaw
from moldable.model.speedup import SpeedUp
from moldable.model.spelling import load_scenario
from moldable.model.units import checked_unit, parse_duration
from moldable.model.waiting import checked_waiting, written_waiting
from moldable.model.workload import JobClass, Workload
from moldable.planning.from_log import Drafted, drafted
from moldable.simulation.simulate import check_seed_and_threads
from moldable.text_files import data_lines, open_regular
from moldable.traces.csv_log import ALIASES
from moldable.traces.read import read_trace
from moldable.tuning.queue_target import RULES as QUEUE_TARGETS
from moldable.tuning.queue_target import QueueTarget
from moldable.tuning.targets import RULES as LOSS_TARGETS
from moldable.tuning.targets import Target as LossTarget

Target = tuple[str, float]
"""A target of `tune` and its value, such as ("max_blocking", 0.1)."""

MOST_SERVERS: Final = 10**6
MOST_CLASSES: Final = 8
"""Limits of a question, so that none takes more than moments to check."""
MOST_LISTED: Final = 40
"""Widths of a curve that options can list."""
LEAST_SERVERS, WIDEST_JOBS, LOAD = 16, 8, 0.8
"""The example cluster of a curve: fewest servers, jobs of the widest width, load."""
LONGEST_HEADER: Final = 4096
TARGETS: Final = tuple({**LOSS_TARGETS, **QUEUE_TARGETS})
TIMES: Final = ("max_time", "max_mean_wait")
"""Targets that are times."""
KEYS: Final = (
    *("classes", "servers", "load", "waiting", "size", "arrivals", "target", "time_unit", "seed"),
)


@final
@dataclass(frozen=True, slots=True)
class Question:
    """All that a visitor has set.

    Attributes:
        classes: of jobs, which share one pool of servers.
        servers: of the cluster.
        load: arrival rate x mean size / servers.
        waiting: places for jobs that wait, or infinity.
        size: size law of the classes without their own, as on the command line.
        arrivals: arrival process, as on the command line.
        target: of the tuned policy, such as ("max_blocking", 0.1); None for the least mean response
            time, or where jobs may be blocked the least cost at a common blocking cost.
        time_unit: of all times; None for mean sizes.
        seed: of simulations.
        notes: what was left out or assumed when the question was read from a file.

    Examples:
        >>> question = Question((ClassInput("jobs", (1.0, 1.8, 2.5)),), servers=16, load=0.8)
        >>> question.scenario().load, Question.from_data(question.to_data()) == question
        (0.8, True)
    """

    classes: tuple[ClassInput, ...]
    servers: int
    load: float
    waiting: float = 0
    size: str = "exponential"
    arrivals: str = "poisson"
    target: Target | None = None
    time_unit: str | None = None
    seed: int = 1
    notes: tuple[str, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        if not 1 <= len(self.classes) <= MOST_CLASSES:
            raise WorkloadError(
                f"{len(self.classes)} classes; the explorer takes 1 to {MOST_CLASSES}: merge "
                f"classes that have similar curves"
            )
        servers = checked_int(self.servers, "servers", WorkloadError, most=MOST_SERVERS)
        object.__setattr__(self, "servers", servers)
        object.__setattr__(self, "load", checked_load(self.load))
        object.__setattr__(self, "waiting", checked_waiting(self.waiting))
        object.__setattr__(self, "time_unit", checked_unit(self.time_unit))
        checked_size(self.size)
        checked_arrivals(self.arrivals)
        check_seed_and_threads(self.seed, None)
        scenario = self.scenario()
        if self.target is not None:
            object.__setattr__(self, "target", _checked_target(self.target, scenario))

    @property
    def one_class(self) -> bool:
        """Whether command-line options describe the workload, without a file."""
        first, *others = self.classes
        plain = first.mean_size == 1.0 and first.size is None
        plain &= len(first.speedup) <= MOST_LISTED
        return not others and plain and self.time_unit is None

    def scenario(self) -> Scenario:
        """Return the scenario: one pool of servers."""
        total = math.fsum(part.share for part in self.classes)
        shares = [part.share / total for part in self.classes]
        sizes = [part.mean_size for part in self.classes]
        mean = math.fsum(share * size for share, size in zip(shares, sizes, strict=True))
        rate = self.servers * self.load / mean
        classes = tuple(
            JobClass(
                part.name,
                rate * share,
                part.curve,
                part.mean_size,
                part.weight,
                SizeLaw.parse(part.size or self.size),
            )
            for part, share in zip(self.classes, shares, strict=True)
        )
        return Scenario(
            Workload(classes), self.servers, self.arrivals, self.waiting, self.time_unit
        )

    @classmethod
    def from_scenario(cls, scenario: Scenario, *, seed: int = 1) -> Self:
        """Return the question of a scenario; what it cannot hold is replaced and noted."""
        notes: list[str] = []
        parts = scenario.workload.classes
        if scenario.workload.sharing != "pool" and len(parts) > 1:
            notes.append("classes with reserved servers are explored as sharing one pool")
        laws = [_spelled(part.size, part.name, notes) for part in parts]
        common = laws[0] if len(set(laws)) == 1 else "exponential"
        total = scenario.workload.arrival_rate
        thinned = [_thinned(part.speedup) for part in parts]
        notes += [
            f"class {part.name!r}: {each}"
            for part, t in zip(parts, thinned, strict=True)
            for each in t[1]
        ]
        classes = tuple(
            ClassInput(
                part.name[:LONGEST_NAME],
                tuple(curve.speedups.tolist()),
                tuple(curve.widths.tolist()),
                part.arrival_rate / total,
                part.mean_size,
                None if law == common else law,
                part.weight,
            )
            for part, law, (curve, _) in zip(parts, laws, thinned, strict=True)
        )
        arrivals = _written_arrivals(scenario.arrivals, notes)
        return cls(
            classes,
            scenario.servers,
            scenario.load,
            scenario.waiting,
            common,
            arrivals,
            None,
            scenario.time_unit,
            seed,
            tuple(notes),
        )

    @classmethod
    def from_data(cls, data: object) -> Self:
        """Check the data of a question, such as those of a web page."""
        given = checked_table(data, KEYS, "the question")
        for key in ("classes", "servers", "load"):
            if key not in given:
                raise InputError(f"the question has no {key}; add it")
        listed = checked_items(given.pop("classes"), "classes", MOST_CLASSES)
        classes = tuple(ClassInput.from_data(part, k) for k, part in enumerate(listed, start=1))
        if (target := given.pop("target", None)) is not None:
            pair = checked_items(target, "target")
            if len(pair) != 2:  # noqa: PLR2004 - a name and a value
                raise InputError(f"{shown(target)} is not [NAME, VALUE]", "target")
            target = (pair[0], pair[1])
        return cls(classes, target=target, **given)

    def to_toml(self) -> str:
        """Return the scenario as the text of a workload file."""
        return scenario_toml(self.scenario())

    def to_data(self) -> dict[str, Any]:
        """Return plain numbers and text, ready for JSON."""
        found: dict[str, Any] = {name: getattr(self, name) for name in KEYS}
        return found | {
            "classes": [part.to_data() for part in self.classes],
            "waiting": written_waiting(self.waiting),
            "target": None if self.target is None else list(self.target),
        }


def read_question(path: Path | str, *, class_by: str = "none") -> Question:
    r"""Read a question from a workload file, a plan, a curve or a job log.

    Args:
        path: a file ending in .toml, a plan file (.json), a CSV file of a curve, or a job log.
        class_by: what decides the class of a job of a log, see `read_trace`.

    Examples:
        >>> _ = Path("curve.csv").write_text("width,time\n1,60\n2,35\n")
        >>> read_question("curve.csv").classes[0].widths is None
        True
    """
    path = checked_path(path)
    kind = path.suffix.lower()
    if kind == ".toml":
        return Question.from_scenario(load_scenario(path))
    if kind == ".json":
        return Question.from_scenario(read_plan(path).scenario)
    if is_curve(path):
        return _of_curve(read_curve(path))
    return question_of_log(drafted(read_trace(path, class_by=class_by, most_classes=MOST_CLASSES)))


def question_of_log(draft: Drafted, *, seed: int = 1) -> Question:
    """Return the question of a scenario drafted from a job log, with what was assumed."""
    question = Question.from_scenario(draft.scenario, seed=seed)
    return replace(question, notes=(*draft.notes, *question.notes))


def is_curve(path: Path) -> bool:
    """Return whether a file is a CSV file of a curve rather than a job log."""
    if path.suffix.lower() != ".csv":
        return False
    with open_regular(path) as file:
        lines = file.read(LONGEST_HEADER).decode("utf-8-sig", errors="replace").splitlines()
    _, header = next(data_lines("\n".join(lines)), (0, ""))
    names = {plain_name(cell) for cell in header.split(separator_of(header))}
    columns = {MEANING[name] for name in names & MEANING.keys()}
    return "width" in columns and len(columns) > 1 and not names & set(ALIASES["submit"])


def _of_curve(curve: SpeedUp) -> Question:
    """Return a question about a curve, on a cluster for several of its widest jobs."""
    widest = int(curve.widths[-1])
    largest = float((curve.speedups / curve.widths).max())
    notes = ("the number of servers and the load are examples",)
    limited, more = _thinned(curve)
    part = ClassInput("jobs", tuple(limited.speedups.tolist()), tuple(limited.widths.tolist()))
    servers = min(max(LEAST_SERVERS, WIDEST_JOBS * widest), MOST_SERVERS)
    load = min(float(f"{LOAD * largest:.3g}"), LOAD)
    return Question((part,), servers, load, notes=notes + more)


def _thinned(curve: SpeedUp) -> tuple[SpeedUp, tuple[str, ...]]:
    """Return the curve with at most MOST_WIDTHS widths, and a note if some are left out."""
    if len(curve) <= MOST_WIDTHS:
        return curve, ()
    places = np.unique(np.geomspace(1, len(curve), MOST_WIDTHS).round().astype(int)) - 1
    pairs = zip(curve.widths[places].tolist(), curve.speedups[places].tolist(), strict=True)
    note = f"{len(places)} of the {len(curve)} widths are explored"
    return SpeedUp(dict(pairs)), (note,)


def _checked_target(target: Target, scenario: Scenario) -> Target:
    name = choice(target[0], TARGETS, "target", ControlError)
    value: Any = target[1]
    if name in TIMES:
        value = parse_duration(value, scenario.time_unit, name, ControlError)
    given: dict[str, Any] = {name: value}
    if scenario.waiting:
        found = QueueTarget.of(scenario, **given)
        return name, found.given
    if name not in LOSS_TARGETS:
        raise ControlError(
            f"{value} has no effect: without waiting places no job waits; add some, or leave it "
            f"out",
            name,
        )
    return name, LossTarget.of(scenario.workload.mean_size, **given).value


def _spelled(law: SizeLaw, name: str, notes: list[str]) -> str:
    """Return the spelling of a size law, or of one with the same variation."""
    try:
        if not isinstance(law, Empirical) and SizeLaw.parse(checked_size(str(law))) == law:
            return str(law)
    except ValueError:
        pass
    variance = law.variance
    found = f"lognormal:{math.sqrt(variance):.6g}" if 0.0 < variance < math.inf else "exponential"
    notes.append(f"class {name!r}: sizes {law} are replaced by {found}")
    return found


def _written_arrivals(arrivals: Arrivals, notes: list[str]) -> str:
    """Return the spelling of an arrival process; others become Poisson."""
    try:
        if not isinstance(arrivals, ArrivalTimes):
            parse_arrivals(without_files(str(arrivals), "arrivals", WorkloadError))
            return str(arrivals)
    except ValueError:
        pass
    notes.append(f"arrivals {arrivals} are replaced by Poisson arrivals with the rates of the file")
    return "poisson"
