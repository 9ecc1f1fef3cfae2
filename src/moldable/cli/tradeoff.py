"""`moldable tradeoff`: the trade-off between blocking and mean execution time."""

from __future__ import annotations

import json as writer
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from moldable.cli import output
from moldable.cli.options import JsonOption, PrecisionOption, SeedOption, ThreadsOption
from moldable.cli.scenario_options import takes_scenario
from moldable.errors import InputError

if TYPE_CHECKING:
    from moldable.model.scenario import Scenario
    from moldable.text_files import FolderLock
    from moldable.tuning.tradeoff import ValueTradeoff


@takes_scenario("arrivals", "waiting")
def tradeoff(
    *,
    scenario: Scenario,
    costs: Annotated[
        str,
        typer.Option("--costs", metavar="C1,C2", help="Costs of a blocked job, in mean sizes."),
    ] = "1,1.5,2,3,4,8,16,24,32,64",
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="DIR",
            help="Write tradeoff.json to this folder; with matplotlib also tradeoff.svg and "
            "tradeoff.png.",
        ),
    ] = None,
    optimum: Annotated[
        bool,
        typer.Option(
            "--optimum/--no-optimum",
            help="Also compute the true optimum, the best of all policies; takes minutes for large "
            "clusters.",
        ),
    ] = True,
    precision: PrecisionOption = 0.01,
    seed: SeedOption = None,
    threads: ThreadsOption = None,
    json: JsonOption = False,
) -> None:
    """Show the trade-off of blocking and time.

    For each cost of a blocked job it computes blocking and mean execution time of the true optimum,
    the best of all policies, where possible, and of the value policy, which `moldable tune` uses.

    \b
    Examples:
      moldable tradeoff --servers 20 --load 0.8 \\
        --speedup 1,1.8,2.5,3,3.4
      moldable tradeoff --servers 16 --load 0.8 \\
        --speedup linear:3 --costs 2,4,8 --json
    """
    from moldable.tuning.tradeoff import value_tradeoff

    output.show_log()
    asked = _costs(costs)
    with ExitStack() as held:
        if out is not None:
            held.enter_context(_make_ready(out))
        drawn = out is not None and _can_draw(out)
        progress = held.enter_context(output.status_line())
        answer = value_tradeoff(
            scenario,
            asked,
            optimum=optimum,
            precision=precision,
            seed=seed,
            threads=threads,
            progress=progress,
        )
        if out is not None:  # before anything is printed: a closed pipe ends the command
            _write(answer, out, drawn=drawn)
    for warning in answer.warnings:
        output.note(warning)
    if json:
        output.print_json(answer.to_dict())
    else:
        from moldable.reporting.tradeoff_chart import show_tradeoff_chart
        from moldable.reporting.tradeoff_text import show_tradeoff

        show_tradeoff(output.console(), answer)
        show_tradeoff_chart(output.console(narrowest=0), answer)


def _costs(text: str) -> list[float]:
    from moldable.optimal.control import LARGEST_COST

    try:
        found = [float(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"--costs {text!r} is not a list of numbers; write 2,4,8") from None
    if not all(0.0 < cost < LARGEST_COST for cost in found):
        raise InputError(
            f"--costs {text!r}: costs must be above 0 and below {LARGEST_COST:g}, in mean sizes; "
            f"write 2,4,8"
        )
    return sorted(set(found))


def _make_ready(folder: Path) -> FolderLock:
    """Check, before minutes of work, that the results can be written."""
    from moldable.text_files import FolderLock

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InputError(
            f"--out {folder} cannot be created: {reason}; choose another folder"
        ) from None
    return FolderLock(folder)


def _can_draw(folder: Path) -> bool:
    """Return whether matplotlib is installed; note what is written without it."""
    from moldable.reporting.figures import MissingMatplotlibError, new_figure

    try:
        new_figure((1.0, 1.0))
    except MissingMatplotlibError as error:
        output.note(f"{error}; only {folder / 'tradeoff.json'} will be written")
        return False
    return True


def _write(answer: ValueTradeoff, folder: Path, *, drawn: bool) -> None:
    from moldable.reporting.figures import rendered
    from moldable.reporting.tradeoff_plot import tradeoff_figure
    from moldable.text_files import write_whole

    text = writer.dumps(answer.to_dict(), indent=1, allow_nan=False)
    files = {"tradeoff.json": text.encode()}
    if drawn:
        figure = tradeoff_figure(answer)
        files |= {f"tradeoff.{kind}": rendered(figure, kind) for kind in ("svg", "png")}
    for name, content in files.items():
        write_whole(folder / name, content, "--out")
