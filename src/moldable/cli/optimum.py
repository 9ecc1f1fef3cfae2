"""`moldable optimum`: the best shares of widths, for one class or several."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from moldable.cli import output
from moldable.cli.curve_notes import note_left_out
from moldable.cli.options import (
    JsonOption,
    LoadOption,
    PlotOption,
    RegimeOption,
    ServersOption,
    SpeedUpOption,
    WorkloadOption,
)
from moldable.cli.prediction import predict
from moldable.cli.scenario_options import OneClass, one_class, read_scenario_options
from moldable.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

    from moldable.allocation.optimum import Optimum
    from moldable.allocation.phases import PhaseOptimum
    from moldable.model.scenario import Scenario
    from moldable.system.performance import Performance

PREDICTED: Final = (
    "blocking",
    "blocking_interval",
    "mean_execution_time",
    "mean_execution_time_interval",
    "method",
)
"""Keys of a performance that a prediction has."""


def optimum(
    *,
    speedup: SpeedUpOption = None,
    load: LoadOption = None,
    regime: RegimeOption = None,
    servers: ServersOption = None,
    workload: WorkloadOption = None,
    plot: PlotOption = None,
    json: JsonOption = False,
) -> None:
    """Compute optimal widths for a large cluster.

    The answer is the optimum of the paper's linear program: the shares of jobs at each width with
    the least mean execution time. With --servers it also predicts blocking and execution time on
    that many servers, where jobs that find no idle server are lost. --plot draws the frontier.

    \b
    Examples:
      moldable optimum --speedup 1,1.8,2.5,3,3.4 --load 0.8
      moldable optimum --speedup amdahl:0.95:64 \\
        --regime 1/2,0.1 --servers 4000
      moldable optimum --speedup examples/measured.csv \\
        --load 0.7 --servers 64 --plot frontier.svg
      moldable optimum --workload examples/cluster.toml
    The files are copied by: moldable examples --copy examples
    """
    if workload is None:
        _one_class(speedup, load, regime, servers, plot, json=json)
        return
    if speedup is not None or load is not None or regime is not None or plot is not None:
        raise InputError(
            "--workload has its own curves and rates; leave out --speedup, --load, --regime "
            "and --plot"
        )
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
    not_drawn = None if plot is None else _draw(solution, plot)
    predicted = None
    if system.servers is not None:
        from moldable.model.scenario import Scenario

        predicted = predict(Scenario.single(system.speedup, system.load, system.servers))
    reference = _phase_reference(_on_any_servers(system)) if system.speedup.phases else None
    if json:
        output.print_json(solution.to_dict() | _at_servers(predicted) | _reference_keys(reference))
    else:
        from moldable.reporting.optimum_text import show_optimum, show_prediction

        console = output.console()
        show_optimum(console, solution, system.regime)
        show_prediction(console, predicted, system.servers)
        _show_reference(console, reference, solution.mean_execution_time, None)
    if not_drawn is not None:
        raise not_drawn


def _draw(solution: Optimum, plot: Path) -> InputError | None:
    """Draw the frontier; without matplotlib, return the error to raise after the answer."""
    from moldable.reporting.figures import MissingMatplotlibError
    from moldable.reporting.frontier_plot import save_frontier_plot

    try:
        save_frontier_plot(solution, plot)
    except MissingMatplotlibError as error:
        return InputError(f"--plot {plot} was not written: {error}")
    return None


def _several_classes(path: Path, servers: int | None, *, json: bool) -> None:
    from moldable.allocation.division import reserve
    from moldable.allocation.whole_servers import reserve_whole

    scenario = read_scenario_options(servers=servers, workload=path)
    fluid = reserve(scenario)
    pooled = scenario.workload.sharing == "pool"
    whole = None if pooled else reserve_whole(scenario)
    predicted = predict(scenario)
    reference = _phase_reference(scenario)
    if json:
        rounded = {"rounded": whole and whole.to_dict()}
        own = rounded | _at_servers(predicted) | _reference_keys(reference)
        output.print_json(fluid.to_dict() | own)
        return
    from moldable.reporting.optimum_text import show_prediction
    from moldable.reporting.reservation_text import show_pool, show_reservation

    console = output.console()
    if whole is None:
        show_pool(console, fluid)
    else:
        show_reservation(console, fluid, whole)
    show_prediction(console, predicted, scenario.servers)
    _show_reference(console, reference, fluid.mean_execution_time, scenario.time_unit)


def _on_any_servers(system: OneClass) -> Scenario:
    """Return the scenario on its servers, or on as many as the widest phase needs.

    The optimum depends on the load only.
    """
    from moldable.model.scenario import Scenario

    widest = max(int(phase.speedup.widths[-1]) for phase in system.speedup.phases)
    return Scenario.single(system.speedup, system.load, system.servers or widest)


def _phase_reference(scenario: Scenario) -> PhaseOptimum | None:
    """Return the optimum with widths that change between phases, if a class has phases."""
    from moldable.allocation.phases import has_phases, reserve_phases

    return reserve_phases(scenario) if has_phases(scenario) else None


def _reference_keys(reference: PhaseOptimum | None) -> dict[str, Any]:
    return {} if reference is None else {"if_widths_could_change": reference.to_dict()}


def _show_reference(
    console: Console, reference: PhaseOptimum | None, fixed: float, unit: str | None
) -> None:
    if reference is not None:
        from moldable.reporting.phases_text import show_phase_optimum

        show_phase_optimum(console, reference, fixed, unit)


def _at_servers(predicted: Performance | None) -> dict[str, Any]:
    """Return the prediction for the given number of servers under a JSON key of its own."""
    if predicted is None:
        return {"at_servers": None}
    whole = predicted.to_dict()
    return {
        "at_servers": {"policy": whole["provenance"]["policy"]}
        | {key: whole[key] for key in PREDICTED}
    }
