"""Options that several commands share, declared once."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from moldable.errors import shown
from moldable.policies.registry import policy_help


def parse_share(text: str | float) -> float:
    """Read a number or a percentage, such as 0.02 or 2%. Defaults are passed as numbers."""
    figure = str(text).strip()
    try:
        return float(figure[:-1]) / 100.0 if figure.endswith("%") else float(figure)
    except ValueError:
        raise typer.BadParameter(
            f"{shown(text)} is not a valid number; write it like 0.02 or 2%"
        ) from None


def parse_growth(text: str | float) -> float:
    """Read a factor such as 1.2, or the same growth as a percentage: 20%."""
    factor = parse_share(text)
    return 1.0 + factor if "%" in str(text) else factor


SpeedUpOption = Annotated[
    str | None,
    typer.Option(
        "--speedup",
        metavar="CURVE",
        help="Speed-ups from width 1 on: 1,1.8,2.5; with gaps: 1=1,2=1.9,4=3.5; a model: "
        "linear:D, amdahl:FRACTION:D, power:EXPONENT:D, usl:CONTENTION:COHERENCY:D, "
        "downey:A:SIGMA:D; a published curve: curve:NAME (the command curves lists them); "
        "phases: 0.8*CURVE+0.2*CURVE; or a CSV file with columns width,time, width,speedup or "
        "width,throughput ('-': standard input).",
    ),
]
LoadOption = Annotated[
    float | None,
    typer.Option(
        "--load",
        metavar="L",
        parser=parse_share,
        help="Arrival rate x mean size / servers, such as 0.8.",
    ),
]
RegimeOption = Annotated[
    str | None,
    typer.Option(
        "--regime",
        metavar="ALPHA,BETA",
        help="Instead of --load: load = 1 - BETA*N**-ALPHA; fractions such as 2/3 are accepted.",
    ),
]
GrowthOption = Annotated[
    float | None,
    typer.Option(
        "--growth",
        metavar="G",
        parser=parse_growth,
        help="Assume G times as many jobs, such as 1.2; 20% means the same.",
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
        help="Scenario file with one or more classes of jobs; replaces --speedup and --load. "
        "'-' reads standard input here and wherever a file is read.",
    ),
]
SizeOption = Annotated[
    str | None,
    typer.Option(
        "--size",
        metavar="LAW",
        help="Size distribution: exponential, deterministic, mixed-erlang[:P1,P2], pareto[:SHAPE], "
        "lognormal:CV, weibull:SHAPE, hyperexponential:CV, or a CSV file of sizes, whose "
        "mean is then the mean size.",
    ),
]
ArrivalsOption = Annotated[
    str | None,
    typer.Option(
        "--arrivals",
        metavar="PROCESS",
        help="Arrival process: poisson (default); renewal:CV, independent lognormal times between "
        "arrivals with this coefficient of variation, or renewal:LAW with a law as for --size; "
        "mmpp:LEVELS:SWITCHING, a rate that jumps between relative levels, such as "
        "mmpp:0.5,2:0.1,0.2 (from 0.5 to 2 at rate 0.1, back at rate 0.2); or a CSV file of "
        "arrival times.",
    ),
]
WaitingOption = Annotated[
    str | None,
    typer.Option(
        "--waiting",
        metavar="PLACES",
        help="Number of jobs that may wait for servers: 0 (default: jobs that find no idle server "
        "are lost), a number, or unlimited. Jobs start first come, first served.",
    ),
]
JsonOption = Annotated[
    bool,
    typer.Option(
        "--json",
        help="Print one JSON object in full double precision; docs/reference/command-line.md "
        "describes its keys.",
    ),
]


PolicyOption = Annotated[
    str | None,
    typer.Option(
        "--policy",
        metavar="POLICY",
        help=f"{policy_help()}, or a JSON file. Default: greedy-p; with waiting places even-price.",
    ),
]
MethodOption = Annotated[
    str,
    typer.Option(
        "--method",
        metavar="METHOD",
        help="auto (a formula, else the Markov chain if it is small, else simulation), "
        "closed-form, chain or simulate.",
    ),
]
PRECISION = typer.Option(
    "--precision",
    metavar="P",
    parser=parse_share,
    help="Target relative half-width of simulated 95 % confidence intervals.",
)
PrecisionOption = Annotated[float, PRECISION]
OptionalPrecisionOption = Annotated[float | None, PRECISION]
SlowdownOption = Annotated[
    str | None,
    typer.Option(
        "--slowdown-threshold",
        metavar="T",
        help="Threshold of the bounded slowdown of jobs that wait: shorter execution times count "
        "as this long (default: 10 s if the workload file has a time unit).",
    ),
]
SEED = typer.Option("--seed", metavar="S", help="Random seed.")
SeedOption = Annotated[int | None, SEED]
ThreadsOption = Annotated[
    int | None,
    typer.Option("--threads", metavar="N", help="Number of threads (default: all cores)."),
]
MaxBlockingOption = Annotated[
    float | None,
    typer.Option(
        "--max-blocking",
        metavar="P",
        parser=parse_share,
        help="Target: at most a share P of the jobs is blocked, such as 2%.",
    ),
]
MaxWaitProbabilityOption = Annotated[
    float | None,
    typer.Option(
        "--max-wait-probability",
        metavar="P",
        parser=parse_share,
        help="Target where jobs wait: at most a share P of the jobs waits.",
    ),
]
BlockingCostOption = Annotated[
    float | None,
    typer.Option(
        "--blocking-cost",
        metavar="C",
        help="Minimise the mean cost of a job: its time in the system or, if it is blocked, C mean "
        "sizes.",
    ),
]
PolicyOutOption = Annotated[
    Path | None,
    typer.Option(
        "--policy-out",
        metavar="FILE.json",
        help="Write the policy to a plan file, for the command run and for --policy of other "
        "commands.",
    ),
]
PLAN = typer.Option(
    "--plan",
    metavar="FILE.json",
    help="Plan file, written by the commands plan and tune with --policy-out.",
    show_default=False,
)
PlanOption = Annotated[Path, PLAN]
OptionalPlanOption = Annotated[Path | None, PLAN]
ClassOption = Annotated[
    str | None,
    typer.Option(
        "--class",
        metavar="CLASS",
        help="Class of the job; may be left out if the plan has one class.",
    ),
]
JOURNAL = typer.Option(
    "--journal",
    metavar="FILE.jsonl",
    help="Append each decision and each job end to this file.",
)
JournalOption = Annotated[Path, JOURNAL]
OptionalJournalOption = Annotated[Path | None, JOURNAL]
PlotOption = Annotated[
    Path | None,
    typer.Option("--plot", metavar="FILE", help="Also draw a plot (svg, png or pdf)."),
]


def takes(
    parameter: str, shared: dict[str, Any], read: Callable[..., Any]
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command shared options; it receives what is read from them as one parameter.

    Args:
        parameter: name of the command's parameter.
        shared: types of the options by name; all are None by default.
        read: called with the options.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(command)
        def wrapped(**options: Any) -> None:
            described = {name: options.pop(name) for name in shared}
            command(**{parameter: read(**described)}, **options)

        # Scenario is not imported here: that would make every --help wait for numpy.
        hints = get_type_hints(command, localns={"Scenario": object}, include_extras=True)
        given = inspect.signature(command).parameters.values()
        own = [p.replace(annotation=hints[p.name]) for p in given if p.name != parameter]
        only = inspect.Parameter.KEYWORD_ONLY
        first = [
            inspect.Parameter(name, only, default=None, annotation=kind)
            for name, kind in shared.items()
        ]
        wrapped.__annotations__ = {p.name: p.annotation for p in (*first, *own)}
        wrapped.__signature__ = inspect.Signature([*first, *own])  # type: ignore[attr-defined]
        return wrapped

    return decorate
