"""The scenario that the options of a command describe."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from moldable.cli.curve_notes import note_curve, note_powers_of_two
from moldable.cli.options import (
    ArrivalsOption,
    GrowthOption,
    LoadOption,
    RegimeOption,
    ServersOption,
    SizeOption,
    SpeedUpOption,
    WaitingOption,
    WorkloadOption,
    takes,
)
from moldable.errors import InputError, MoldableError
from moldable.policies.registry import build_policy

if TYPE_CHECKING:
    from moldable.model.arrivals import Arrivals
    from moldable.model.regime import Regime
    from moldable.model.scenario import Scenario
    from moldable.model.speedup import SpeedUp
    from moldable.policies.equi import Equi
    from moldable.policies.policy import Policy

SCENARIO_OPTIONS: dict[str, Any] = {
    "speedup": SpeedUpOption,
    "load": LoadOption,
    "regime": RegimeOption,
    "growth": GrowthOption,
    "servers": ServersOption,
    "workload": WorkloadOption,
    "size": SizeOption,
    "arrivals": ArrivalsOption,
    "waiting": WaitingOption,
}


def takes_scenario(*left_out: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of a scenario; it receives the scenario itself.

    Args:
        left_out: names of scenario options that the command does not have.
    """
    shared = {name: kind for name, kind in SCENARIO_OPTIONS.items() if name not in left_out}
    return takes("scenario", shared, read_scenario_options)


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
    """Read the options that describe one class of jobs."""
    from moldable.files.notation import parse_regime, parse_speedup

    if speedup is None:
        raise InputError("no curve: give --speedup, such as --speedup 1,1.8,2.5,3,3.4")
    _refuse_no_servers(servers)
    curve = parse_speedup(speedup)
    note_curve(curve)
    if "," in speedup and not any(mark in speedup for mark in "=:*"):
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
    growth: float | None = None,
    servers: int | None = None,
    workload: Path | None = None,
    size: str | None = None,
    arrivals: str | None = None,
    waiting: str | None = None,
) -> Scenario:
    """Build the scenario that the options describe, with one class or several."""
    from moldable.checks import positive
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
    if growth is not None:
        scenario = scenario.at_load(
            scenario.load * positive(growth, "growth", InputError, "such as 1.2")
        )
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
    """Give every class a size distribution.

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
