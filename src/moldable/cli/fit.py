"""`moldable fit`: a speed-up curve from measurements."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from moldable.cli import output
from moldable.cli.options import JsonOption, LoadOption, PlotOption, SeedOption, ServersOption
from moldable.errors import InputError

if TYPE_CHECKING:
    from moldable.fitting.decision import Decision
    from moldable.fitting.fit import Fit
    from moldable.fitting.measurements import Measurements
    from moldable.system.performance import Performance


def fit(
    *,
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILES",
            help="Measurements of one program: CSV (width,time or the like), or JSON of hyperfine, "
            "pytest-benchmark or ReFrame. Several files are combined.",
        ),
    ],
    model: Annotated[
        str,
        typer.Option(
            "--model",
            metavar="MODEL",
            help="auto (default), measured (no model), concave, amdahl, usl, downey or power.",
        ),
    ] = "auto",
    width: Annotated[
        str | None,
        typer.Option("--width", metavar="KEY", help="Column or parameter that holds the width."),
    ] = None,
    value: Annotated[
        str | None,
        typer.Option("--value", metavar="COLUMN", help="Column of a CSV file with the values."),
    ] = None,
    select: Annotated[
        list[str] | None,
        typer.Option(
            "--select",
            metavar="KEY=VALUE",
            help="Choose one curve of a JSON file with several; may be repeated.",
        ),
    ] = None,
    noise: Annotated[
        float | None,
        typer.Option(
            "--noise",
            metavar="SD",
            help="Relative standard deviation of a run (default: from repeats, or 0.03 if no width "
            "was measured twice).",
        ),
    ] = None,
    load: LoadOption = None,
    servers: ServersOption = None,
    resamples: Annotated[
        int,
        typer.Option("--resamples", metavar="N", help="Number of resampled curves for --load."),
    ] = 400,
    seed: SeedOption = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE.csv", help="Write the curve for --speedup FILE.csv."),
    ] = None,
    every_width: Annotated[
        bool,
        typer.Option("--every-width", help="Write all widths to --out, not only those measured."),
    ] = False,
    plot: PlotOption = None,
    json: JsonOption = False,
) -> None:
    """Fit a speed-up curve to measurements.

    Shows 95 % confidence intervals of all speed-ups, five fitted models with their cross-validated
    errors, a recommendation, and the widths that are slower than a narrower one. With --load, also
    the optimal widths at that load and how often measurement noise changes them.

    \b
    Examples:
      moldable fit examples/repeats.csv
      moldable fit examples/repeats.csv --load 0.8 \\
        --servers 64 --out curve.csv --plot fit.svg
      moldable fit examples/measured.csv --model amdahl --json
    The files are copied by: moldable examples --copy examples
    """
    from moldable.fitting.fit import fit as fit_curve

    if servers is not None and load is None:
        raise InputError("--servers needs --load L here: the decision depends on both")
    _check_names(out, plot)
    answer = fit_curve(_read(files, width, value, select or []), model=model, noise=noise)
    decision = None
    if load is not None:
        decision = _decided(answer, load, servers, resamples, 0 if seed is None else seed)
    predicted = {} if decision is None or servers is None else _predicted(decision, load, servers)
    if out is not None:
        from moldable.text_files import write_whole

        write_whole(out, answer.to_csv(every_width=every_width).encode(), "--out")
    not_drawn = None if plot is None else _draw(answer, plot)
    if json:
        output.print_json(_to_dict(answer, decision, predicted))
    else:
        from moldable.reporting.fit_text import show_decision, show_fit

        console = output.console()
        show_fit(console, answer)
        if decision is not None:
            show_decision(console, decision, predicted)
    if not_drawn is not None:
        raise not_drawn


def _check_names(out: Path | None, plot: Path | None) -> None:
    """Refuse file names with a suffix that other commands do not read."""
    from moldable.reporting.frontier_plot import KINDS

    if out is not None and out.suffix.lower() != ".csv":
        raise InputError(f"--out {out}: the name must end in .csv, as --speedup reads it")
    if plot is not None and plot.suffix.lstrip(".").lower() not in KINDS:
        raise InputError(f"--plot {plot}: the name must end in .{', .'.join(KINDS)}")


def _read(
    files: list[Path], width: str | None, value: str | None, select: list[str]
) -> Measurements:
    from moldable.fitting.read import read_measurements

    first, *others = (
        read_measurements(str(path), width=width, value=value, select=select) for path in files
    )
    for each in others:
        first = first.joined(each)
    return first


def _decided(answer: Fit, load: float, servers: int | None, resamples: int, seed: int) -> Decision:
    from moldable.fitting.decision import decision_under_uncertainty

    with output.progress_bar("resamples") as progress:
        return decision_under_uncertainty(
            answer, load, servers=servers, resamples=resamples, seed=seed, progress=progress
        )


def _predicted(
    decision: Decision, load: float | None, servers: int
) -> dict[str, Performance | None]:
    """Return the performance of the optimum and its neighbours on this number of servers."""
    from moldable.cli.prediction import predict
    from moldable.model.scenario import Scenario
    from moldable.policies.greedy import GreedyP

    assert load is not None  # noqa: S101 - a decision has a load
    scenario = Scenario.single(decision.fit.curve.up_to(servers), load, servers)
    return {step.name: predict(scenario, GreedyP({"jobs": step.widths})) for step in decision.steps}


def _draw(answer: Fit, plot: Path) -> InputError | None:
    """Draw the fit; without matplotlib, return the error to raise after the answer."""
    from moldable.reporting.figures import MissingMatplotlibError
    from moldable.reporting.fit_plot import save_fit_plot

    try:
        save_fit_plot(answer, plot)
    except MissingMatplotlibError as error:
        return InputError(f"--plot {plot} was not written: {error}")
    return None


def _to_dict(
    answer: Fit, decision: Decision | None, predicted: dict[str, Performance | None]
) -> dict[str, Any]:
    if decision is None:
        return answer.to_dict() | {"decision": None}
    found = decision.to_dict()
    found["inputs"].pop("fit")
    for step in found["steps"]:
        part = predicted.get(step["name"])
        step["at_servers"] = part and {
            "blocking": part.blocking.value,
            "blocking_interval": part.to_dict()["blocking_interval"],
            "mean_execution_time": part.mean_execution_time.value,
            "method": part.method,
        }
    return answer.to_dict() | {"decision": found}
