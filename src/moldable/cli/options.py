"""Options that several commands share, declared once, and the scenario that they describe."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from moldable.cli.curve_notes import note_curve, note_powers_of_two
from moldable.errors import InputError, MoldableError
from moldable.policies.registry import build_policy, policy_help

if TYPE_CHECKING:
    from moldable.model.arrivals import Arrivals
    from moldable.model.regime import Regime
    from moldable.model.scenario import Scenario
    from moldable.model.speedup import SpeedUp
    from moldable.policies.equi import Equi
    from moldable.policies.policy import Policy

SpeedUpOption = Annotated[
    str | None,
    typer.Option(
        "--speedup",
        metavar="CURVE",
        help="Speed-ups from width 1 on: 1,1.8,2.5; with gaps: 1=1,2=1.9,4=3.5; a model: "
        "linear:D, amdahl:FRACTION:D, power:EXPONENT:D, usl:CONTENTION:COHERENCY:D, "
        "downey:A:SIGMA:D; or a CSV file with columns width,time, width,speedup or "
        "width,throughput ('-': standard input).",
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
        help="Places for jobs that wait for servers: 0 (default: jobs that find no idle server are "
        "lost), a number, or unlimited. Jobs start in the order of their arrival.",
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
PrecisionOption = Annotated[
    float,
    typer.Option(
        "--precision",
        metavar="P",
        help="Target relative half-width of simulated 95 % confidence intervals.",
    ),
]
SlowdownOption = Annotated[
    str | None,
    typer.Option(
        "--slowdown-threshold",
        metavar="T",
        help="With waiting places: execution time below which a job counts as this long in the "
        "bounded slowdown (default: 10 s if the workload file has a time unit).",
    ),
]
SeedOption = Annotated[int | None, typer.Option("--seed", metavar="S", help="Random seed.")]
ThreadsOption = Annotated[
    int | None, typer.Option("--threads", metavar="N", help="Threads (default: all cores).")
]
SCENARIO_OPTIONS: dict[str, Any] = {
    "speedup": SpeedUpOption,
    "load": LoadOption,
    "regime": RegimeOption,
    "servers": ServersOption,
    "workload": WorkloadOption,
    "size": SizeOption,
    "arrivals": ArrivalsOption,
    "waiting": WaitingOption,
}


def takes_scenario(*left_out: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options that describe a scenario; it receives the scenario itself.

    Args:
        left_out: names of scenario options that the command does not have.
    """
    shared = {name: kind for name, kind in SCENARIO_OPTIONS.items() if name not in left_out}

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(command)
        def wrapped(**options: Any) -> None:
            described = {name: options.pop(name) for name in shared}
            command(scenario=read_scenario_options(**described), **options)

        # Scenario is not imported here: that would make every --help wait for numpy.
        hints = get_type_hints(command, localns={"Scenario": object}, include_extras=True)
        given = inspect.signature(command).parameters.values()
        own = [p.replace(annotation=hints[p.name]) for p in given if p.name != "scenario"]
        only = inspect.Parameter.KEYWORD_ONLY
        first = [
            inspect.Parameter(name, only, default=None, annotation=kind)
            for name, kind in shared.items()
        ]
        wrapped.__annotations__ = {p.name: p.annotation for p in (*first, *own)}
        wrapped.__signature__ = inspect.Signature([*first, *own])  # type: ignore[attr-defined]
        return wrapped

    return decorate


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
    from moldable.files.notation import parse_regime, parse_speedup

    if speedup is None:
        raise InputError("no curve: give --speedup, such as --speedup 1,1.8,2.5,3,3.4")
    _refuse_no_servers(servers)
    curve = parse_speedup(speedup)
    note_curve(curve)
    if "," in speedup and "=" not in speedup and ":" not in speedup:
        note_powers_of_two(curve)
    if load is not None and regime is None:
        return OneClass(curve, load, servers, None)
    if regime is None or load is not None:
        raise InputError("give either --load L or --regime ALPHA,BETA, one of the two")
    if servers is None:
        raise InputError("--regime needs --servers N: its load depends on n")
    parsed = parse_regime(regime)
    return OneClass(curve, parsed.load(servers), servers, parsed)


def read_scenario_options(
    *,
    speedup: str | None = None,
    load: float | None = None,
    regime: str | None = None,
    servers: int | None = None,
    workload: Path | None = None,
    size: str | None = None,
    arrivals: str | None = None,
    waiting: str | None = None,
) -> Scenario:
    """Build the scenario that the options describe, with one class or several."""
    from moldable.files.notation import parse_arrivals
    from moldable.files.scenario_file import read_scenario
    from moldable.model.scenario import Scenario
    from moldable.model.waiting import checked_waiting

    if workload is None:
        system = one_class(speedup, load, regime, servers)
        if system.servers is None:
            raise InputError("the number of servers is missing; give --servers N")
        scenario = Scenario.single(system.speedup, system.load, system.servers)
    elif speedup is not None or load is not None or regime is not None:
        raise InputError(
            "--workload has its own curves and rates; leave out --speedup, --load and --regime"
        )
    else:
        _refuse_no_servers(servers)
        scenario = read_scenario(workload, servers)
        for job_class in scenario.workload.classes:
            note_curve(job_class.speedup, f"class {job_class.name!r}: ")
            note_powers_of_two(job_class.speedup, f"class {job_class.name!r}: ")
    if size is not None:
        scenario = _with_size(scenario, size, own_mean=workload is None)
    if arrivals is not None:
        scenario = replace(scenario, arrivals=parse_arrivals(arrivals))
    if waiting is not None:
        scenario = replace(scenario, waiting=checked_waiting(waiting))
    _note_own_rate(scenario.arrivals, scenario.time_unit)
    return scenario


def _note_own_rate(arrivals: Arrivals, unit: str | None) -> None:
    """Note that the rate of listed arrival times does not depend on the load."""
    from moldable.cli.output import note
    from moldable.model.arrivals import ArrivalTimes
    from moldable.model.units import rate

    if isinstance(arrivals, ArrivalTimes):
        lasting = float(arrivals.times[-1] - arrivals.times[0])
        own = f"{(len(arrivals.times) - 1) / lasting:.6g}" if lasting > 0.0 else "any number of"
        note(
            f"{arrivals} has {len(arrivals.times)} arrivals, {rate(own, unit)}; the load and the "
            f"rates of the classes do not change that"
        )


def _with_size(scenario: Scenario, text: str, *, own_mean: bool) -> Scenario:
    """Give every class a law of sizes.

    Measured sizes keep their mean with `own_mean`, at the same load; otherwise they are rescaled to
    the mean sizes of the classes.
    """
    from moldable.cli.output import note
    from moldable.model.sizes import Empirical, SizeLaw

    law = SizeLaw.parse(text, Path())
    classes = [replace(job_class, size=law) for job_class in scenario.workload.classes]
    if isinstance(law, Empirical) and own_mean:
        mean = law.measured_mean
        classes = [replace(c, mean_size=mean, arrival_rate=c.offered / mean) for c in classes]
        note(f"sizes in {law} have mean {mean:.6g}; times are in the same unit")
    elif isinstance(law, Empirical):
        note(f"sizes in {law} are rescaled to the mean_size of each class of the workload file")
    return replace(scenario, workload=replace(scenario.workload, classes=tuple(classes)))


def _refuse_no_servers(servers: int | None) -> None:
    """Check the number of servers, if there is one."""
    from moldable.checks import checked_int

    if servers is not None:
        checked_int(servers, "servers", InputError)


def read_policy(text: str | None, scenario: Scenario) -> Policy | Equi | None:
    """Build a policy from its spelling or its JSON file; None is the default."""
    if text is None:
        return None
    name = text.strip()
    if name != "-" and not name.lower().endswith(".json"):
        return build_policy(text, scenario)
    from moldable.files.policy_file import read_policy_file
    from moldable.system.loss_system import build_system

    policy = read_policy_file(name)
    try:
        build_system(scenario, policy)  # checks that the policy suits the scenario
    except MoldableError as error:
        raise InputError(f"{name}: {error}") from None
    return policy
