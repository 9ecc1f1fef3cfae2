"""Which system does a command line describe? The options that every command spells alike."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from moldable.errors import InputError

if TYPE_CHECKING:
    from moldable.files.workload_file import WorkloadFile
    from moldable.model.regime import Regime
    from moldable.model.scenario import Scenario
    from moldable.model.speedup import SpeedUp

SpeedUpOption = Annotated[
    str | None,
    typer.Option(
        "--speedup",
        metavar="CURVE",
        help="Speed-ups of widths 1, 2, ... as 1,1.8,2.5; with gaps as 1=1,2=1.9,4=3.5; a model: "
        "linear:D, amdahl:FRACTION:D, power:EXPONENT:D, usl:CONTENTION:COHERENCY:D, "
        "downey:A:SIGMA:D; or a CSV file with columns width,time or width,speedup.",
    ),
]
LoadOption = Annotated[
    float | None,
    typer.Option(
        "--load",
        metavar="L",
        help="Arrival rate x mean size / servers.",
    ),
]
RegimeOption = Annotated[
    str | None,
    typer.Option(
        "--regime",
        metavar="ALPHA,BETA",
        help="Instead of --load: load = 1 - BETA*N**-ALPHA; fractions such as 2/3 work.",
    ),
]
ServersOption = Annotated[
    int | None,
    typer.Option("--servers", metavar="N", help="Number of servers."),
]
WorkloadOption = Annotated[
    Path | None,
    typer.Option(
        "--workload",
        metavar="FILE.toml",
        help="Several classes of jobs, from a file; replaces --speedup and --load.",
    ),
]
SizeOption = Annotated[
    str | None,
    typer.Option(
        "--size",
        metavar="LAW",
        help="Law of sizes: exponential, deterministic, mixed-erlang[:P1,P2], pareto[:SHAPE], "
        "lognormal:CV, weibull:SHAPE, hyperexponential:CV, or a CSV file of sizes.",
    ),
]
JsonOption = Annotated[
    bool, typer.Option("--json", help="Print one JSON object in full double precision.")
]


@dataclass(frozen=True, slots=True)
class OneClass:
    """The paper's system: one curve at one load."""

    speedup: SpeedUp
    load: float
    servers: int | None
    regime: Regime | None


def one_class(
    speedup: str | None, load: float | None, regime: str | None, servers: int | None
) -> OneClass:
    """Read the options of a system with one class of jobs."""
    from moldable.files.spelling import parse_regime, parse_speedup

    if speedup is None:
        raise InputError("no curve: give --speedup, such as --speedup 1,1.8,2.5,3,3.4")
    _refuse_no_servers(servers)
    curve = parse_speedup(speedup)
    if load is not None and regime is None:
        return OneClass(curve, load, servers, None)
    if regime is None or load is not None:
        raise InputError("give either --load L or --regime ALPHA,BETA, one of the two")
    if servers is None:
        raise InputError("--regime needs --servers N: its load depends on n")
    parsed = parse_regime(regime)
    return OneClass(curve, parsed.load(servers), servers, parsed)


def any_scenario(
    speedup: str | None,
    load: float | None,
    regime: str | None,
    servers: int | None,
    path: Path | None,
    *,
    size: str | None = None,
) -> Scenario:
    """Read the options of a scenario with one class or several."""
    from moldable.files.workload_file import read_workload
    from moldable.model.scenario import Scenario

    if path is None:
        system = one_class(speedup, load, regime, servers)
        if system.servers is None:
            raise InputError("how large is the cluster? give --servers N")
        return _with_size(Scenario.single(system.speedup, system.load, system.servers), size)
    if speedup is not None or load is not None or regime is not None:
        raise InputError("--workload brings its own curves and rates; leave the other options out")
    _refuse_no_servers(servers)
    file = read_workload(path)
    return _with_size(Scenario(file.workload, _servers_of(file, servers, path)), size)


def _with_size(scenario: Scenario, text: str | None) -> Scenario:
    """Give every class the law of sizes named on the command line, if one is."""
    from moldable.model.sizes import SizeLaw

    if text is None:
        return scenario
    law = SizeLaw.parse(text, Path())
    classes = tuple(replace(job_class, size=law) for job_class in scenario.workload.classes)
    return replace(scenario, workload=replace(scenario.workload, classes=classes))


def _servers_of(file: WorkloadFile, servers: int | None, path: Path) -> int:
    """Return the servers named on the command line or else in the file."""
    n = file.servers if servers is None else servers
    if n is None:
        raise InputError(f"{path} names no servers; add 'servers = N' or pass --servers N")
    return n


def _refuse_no_servers(servers: int | None) -> None:
    """Refuse clusters without servers, and beyond all measure."""
    from moldable.checks import whole

    if servers is not None:
        whole(servers, "--servers", InputError)


def note_left_out(speedup: SpeedUp, servers: int | None) -> None:
    """Say that some widths do not fit."""
    from moldable.cli.output import note
    from moldable.reporting.words import count

    if servers is not None and speedup.widths[-1] > servers:
        note(f"widths above {servers} are left out: they do not fit on {count(servers)}")
