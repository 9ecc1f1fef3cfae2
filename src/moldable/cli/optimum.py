"""`moldable optimum`: the best shares of widths, for one class or several."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from moldable.cli import output
from moldable.cli.curve_notes import note_left_out
from moldable.cli.options import (
    JsonOption,
    LoadOption,
    RegimeOption,
    ServersOption,
    SpeedUpOption,
    WorkloadOption,
    one_class,
    read_scenario_options,
)
from moldable.errors import InputError, MoldableError

if TYPE_CHECKING:
    from moldable.allocation.optimum import Optimum
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
SHORT: Final = 120_000_000
"""Most arrivals of the simulation behind a prediction: one to three seconds of computing."""


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
    """Compute optimal widths for a large cluster.

    The answer is the optimum of the paper's linear program: the shares of jobs at each width with
    the least mean execution time. With --servers it also predicts blocking and execution time on
    that many servers, where jobs that find no idle server are lost.

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

        predicted = _predicted(Scenario.single(system.speedup, system.load, system.servers))
    if json:
        output.print_json(solution.to_dict() | _at_servers(predicted))
    else:
        from moldable.reporting.optimum_text import show_optimum, show_prediction

        console = output.console()
        show_optimum(console, solution, system.regime)
        show_prediction(console, predicted, system.servers)
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
    predicted = _predicted(scenario)
    if json:
        rounded = {"rounded": whole and whole.to_dict()}
        output.print_json(fluid.to_dict() | rounded | _at_servers(predicted))
        return
    from moldable.reporting.optimum_text import show_prediction
    from moldable.reporting.reservation_text import show_pool, show_reservation

    console = output.console()
    if whole is None:
        show_pool(console, fluid)
    else:
        show_reservation(console, fluid, whole)
    show_prediction(console, predicted, scenario.servers)


def _predicted(scenario: Scenario) -> Performance | None:
    """Return how greedy(p*) performs on these servers, exactly or from a short simulation."""
    from moldable.evaluation.evaluate import solve_exactly
    from moldable.simulation.simulate import RunOptions, simulate_system
    from moldable.system.loss_system import build_system
    from moldable.system.performance import Performance

    if scenario.waiting:
        output.note("jobs may wait here; moldable evaluate predicts their response times")
        return None
    output.show_log()
    try:
        system = build_system(scenario, None)
        exact = solve_exactly(system, "auto")
        if isinstance(exact, Performance):
            return exact
        options = RunOptions(jobs=200_000, precision=0.01, max_jobs=SHORT, seed=1)
        return exact.warn(simulate_system(system, options, exact.reason))
    except MoldableError as error:  # the optimum itself is known all the same
        output.note(f"no prediction: {error}")
        return None


def _at_servers(predicted: Performance | None) -> dict[str, Any]:
    """Return the prediction for the given number of servers under a JSON key of its own."""
    if predicted is None:
        return {"at_servers": None}
    whole = predicted.to_dict()
    return {
        "at_servers": {"policy": whole["provenance"]["policy"]}
        | {key: whole[key] for key in PREDICTED}
    }
