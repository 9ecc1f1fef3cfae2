"""`moldable optimum`: the best shares of widths, for one class or several."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from moldable.cli import output
from moldable.cli.options import (
    JsonOption,
    LoadOption,
    RegimeOption,
    ServersOption,
    SpeedUpOption,
    WorkloadOption,
    note_left_out,
    one_class,
    read_scenario_options,
)
from moldable.errors import InfeasibleError, InputError

if TYPE_CHECKING:
    from moldable.allocation.reservation import Reservation
    from moldable.model.scenario import Scenario


def optimum(
    *,
    speedup: SpeedUpOption = None,
    load: LoadOption = None,
    regime: RegimeOption = None,
    servers: ServersOption = None,
    workload: WorkloadOption = None,
    plot: Annotated[
        Path | None,
        typer.Option("--plot", metavar="FILE", help="Also draw the frontier (svg, png or pdf)."),
    ] = None,
    json: JsonOption = False,
) -> None:
    """How many servers should jobs get? The least mean execution time at vanishing blocking.

    \b
    Examples:
      moldable optimum --speedup 1,1.8,2.5,3,3.4 --load 0.8
      moldable optimum --speedup amdahl:0.95:64 --regime 1/2,0.1 --servers 4000
      moldable optimum --speedup measured.csv --load 0.7 --servers 64 --plot frontier.svg
      moldable optimum --workload examples/cluster.toml --json
    """
    if workload is None:
        _one_class(speedup, load, regime, servers, plot, json=json)
        return
    if speedup is not None or load is not None or regime is not None or plot is not None:
        raise InputError("--workload brings its own curves and rates; leave the other options out")
    _several_classes(workload, servers, json=json)


def _one_class(
    speedup: str | None,
    load: float | None,
    regime: str | None,
    servers: int | None,
    plot: Path | None,
    *,
    json: bool,
) -> None:
    from moldable.allocation.optimum import optimum as solve

    system = one_class(speedup, load, regime, servers)
    solution = solve(system.speedup, system.load, servers=system.servers)
    note_left_out(system.speedup, system.servers)
    if system.speedup.baseline:
        output.note(system.speedup.baseline)
    if plot is not None:
        from moldable.reporting.frontier_plot import save_frontier_plot

        save_frontier_plot(solution, plot)
    if json:
        output.print_json(solution.to_dict())
        return
    from moldable.reporting.optimum_text import show_optimum

    show_optimum(output.console(), solution, system.regime)


def _several_classes(path: Path, servers: int | None, *, json: bool) -> None:
    from moldable.allocation.reservation import reserve

    scenario = read_scenario_options(servers=servers, workload=path)
    for job_class in scenario.workload.classes:
        if job_class.speedup.baseline:
            output.note(f"class {job_class.name!r}: {job_class.speedup.baseline}")
    fluid = reserve(scenario)
    whole = _whole(scenario)
    for part in whole.classes if whole else ():
        if not part.holds_its_widths:
            output.note(
                f"class {part.name!r}: its {part.servers} whole servers cannot hold width "
                f"{part.support[-1]}; such jobs would get what is idle: share one pool, or reserve "
                f"at least {part.support[-1]}"
            )
    if json:
        output.print_json(fluid.to_dict() | {"rounded": whole and whole.to_dict()})
        return
    from moldable.reporting.reservation_text import show_reservation

    show_reservation(output.console(), fluid, whole)


def _whole(scenario: Scenario) -> Reservation | None:
    """Divide into whole servers; a pool does not need that, so there it may fail."""
    from moldable.allocation.whole_servers import reserve_whole

    try:
        return reserve_whole(scenario)
    except InfeasibleError as error:
        if scenario.workload.sharing == "reserved":
            raise
        output.note(f"no division into whole servers: {error}")
        return None
