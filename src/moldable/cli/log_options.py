"""Options of commands that read a job log, declared once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from moldable.cli import output
from moldable.cli.options import parse_share, takes
from moldable.cli.scenario_options import read_scenario_options
from moldable.errors import InputError

if TYPE_CHECKING:
    from moldable.model.scenario import Scenario
    from moldable.planning.from_log import Drafted
    from moldable.traces.trace import Trace

LogArgument = Annotated[
    Path,
    typer.Argument(
        metavar="LOG",
        help="Job log: Standard Workload Format, output of sacct --parsable2 with its header, "
        "jobcomp/filetxt or CSV, also compressed by gzip; '-': standard input.",
        show_default=False,
    ),
]
CurveOption = Annotated[
    str | None,
    typer.Option(
        "--curve",
        metavar="CURVE",
        help="Speed-up curve assumed for the jobs of a log, as for --speedup; a model may be "
        "written without its largest width: power:0.8 (default), amdahl:0.95.",
    ),
]
WidestOption = Annotated[
    float | None,
    typer.Option(
        "--widest",
        metavar="SHARE",
        parser=parse_share,
        help="Limit each class of a log to the largest width that at least this share of its jobs "
        "requested or exceeded; 0 allows the widest recorded (default: 20% for curves without a "
        "largest width; no limit for others).",
    ),
]
CountOption = Annotated[
    str | None,
    typer.Option(
        "--count",
        metavar="UNIT",
        help="What counts as a server: cpus, gpus or nodes (default: GPUs if at least half of "
        "the jobs have them, otherwise CPUs).",
    ),
]
LOG_OPTIONS: dict[str, Any] = {
    "class_by": Annotated[
        str | None,
        typer.Option(
            "--class-by",
            metavar="RULE",
            help="How jobs are assigned to classes: none (one class), user, group, account, "
            "partition, queue, application, class (CSV only), name:REGEX or comment:REGEX (sacct "
            "and CSV), where the class is the first group of the expression, or the whole match "
            "(default: none).",
        ),
    ],
    "most_classes": Annotated[
        int | None,
        typer.Option(
            "--most-classes",
            metavar="N",
            help="Number of classes; the rarest are merged into 'other' (default: 8).",
        ),
    ],
    "columns": Annotated[
        str | None,
        typer.Option(
            "--columns",
            metavar="ROLE=NAME,...",
            help="Columns of a CSV log, such as submit=queued_at,run_time=secs,servers=slots.",
        ),
    ],
    "format": Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help="swf, sacct, jobcomp or csv (default: recognised by the content).",
        ),
    ],
    "count": CountOption,
}


@dataclass(frozen=True, slots=True)
class LogOptions:
    """The options that were given, as arguments of `read_trace`."""

    given: dict[str, Any]

    @classmethod
    def of(cls, **options: Any) -> LogOptions:
        """Keep the options that were given."""
        given = {name: value for name, value in options.items() if value is not None}
        if "columns" in given:
            given["columns"] = _parsed_columns(given["columns"])
        return cls(given)

    def read(self, log: Path, progress: Callable[[str], None]) -> Trace:
        """Read a job log."""
        from moldable.traces.read import read_trace

        progress(f"reading {log}")
        return read_trace(log, **self.given)


def takes_log(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of a job log; it receives them as `options`."""
    return takes("options", LOG_OPTIONS, LogOptions.of)(command)


def _parsed_columns(text: str) -> dict[str, str]:
    """Read `role=name,role=name`."""
    pairs = [part.partition("=") for part in text.split(",")]
    if not all(role.strip() and equals and name.strip() for role, equals, name in pairs):
        raise InputError(f"--columns {text}: write ROLE=NAME,..., such as submit=queued_at")
    return {role.strip(): name.strip() for role, _, name in pairs}


@dataclass(frozen=True, slots=True)
class Guesses:
    """Options of what a log does not say; a scenario file says all but the first two.

    Attributes:
        servers: number of servers.
        waiting: waiting places.
        curve: speed-up curve.
        widest: share of the jobs that must have asked for a width.
    """

    servers: int | None
    waiting: str | None
    curve: str | None
    widest: float | None


def read_scenario_or_log(
    file: Path, options: LogOptions, guesses: Guesses, progress: Callable[[str], None]
) -> tuple[Scenario | Drafted, tuple[Trace, Drafted] | None]:
    """Read a scenario file, or a job log and draft its scenario.

    Returns:
        The scenario or the draft, and the log with its draft if the file is one.
    """
    if str(file) == "-" or file.suffix.lower() == ".toml":
        refuse_options_of_logs(options, guesses)
        found = read_scenario_options(
            workload=file, servers=guesses.servers, waiting=guesses.waiting
        )
        return found, None
    trace = options.read(file, progress)
    for told in trace.notes:
        output.note(told)
    draft = _drafted(trace, guesses)
    return draft, (trace, draft)


def refuse_options_of_logs(options: LogOptions, guesses: Guesses) -> None:
    """Refuse what says how to read a log where none is read."""
    own = {"curve": guesses.curve, "widest": guesses.widest}
    for name in [*options.given, *(n for n, value in own.items() if value is not None)]:
        raise InputError(
            f"--{name.replace('_', '-')} is for job logs only; a scenario file has its own "
            f"classes and curves: leave it out"
        )


def _drafted(trace: Trace, guesses: Guesses) -> Drafted:
    """Draft the scenario of a log."""
    from moldable.model.waiting import checked_waiting
    from moldable.planning.from_log import drafted

    found = drafted(trace, servers=guesses.servers, curve=guesses.curve, widest=guesses.widest)
    if guesses.waiting is None:
        return found
    scenario = replace(found.scenario, waiting=checked_waiting(guesses.waiting))
    return replace(found, scenario=scenario)
