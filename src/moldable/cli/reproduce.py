"""`moldable reproduce`: every figure and table of the paper, with verdicts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from moldable.checks import LARGEST, choice, whole
from moldable.cli import output
from moldable.cli.dask_cluster import dask_executor
from moldable.cli.system import JsonOption
from moldable.errors import InputError, printable

if TYPE_CHECKING:
    from moldable.paper.experiment import Scale

INTERRUPTED = 130


def reproduce(
    *,
    what: Annotated[
        str,
        typer.Argument(
            metavar="EXPERIMENT",
            help="table, blocking, time, collapse, fluid, rates, heterogeneous, insensitivity, "
            "errata or all.",
        ),
    ] = "all",
    scale: Annotated[
        str,
        typer.Option(
            "--scale", metavar="SCALE", help="quick: two minutes; full: the paper's own scale."
        ),
    ] = "quick",
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where results go.")] = Path(
        "reproduction"
    ),
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the run in DIR, keeping finished cells.")
    ] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Give up the run in DIR and begin again.")
    ] = False,
    seed: Annotated[
        int, typer.Option("--seed", metavar="S", help="The same seed, the same files.")
    ] = 1,
    threads: Annotated[
        int | None, typer.Option("--threads", metavar="N", help="Default: all cores.")
    ] = None,
    dask: Annotated[
        str | None,
        typer.Option("--dask", metavar="ADDRESS", help="Simulate on a Dask cluster."),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Do you get the paper's numbers?

    Results (CSV and JSON) and figures (PNG and SVG) go to a folder, cell by cell: a run that is
    stopped goes on with --resume, and gives the same files as one that was not.

    \b
    Examples:
      moldable reproduce table
      moldable reproduce all --scale full --out results
      moldable reproduce all --scale full --out results --resume
      moldable reproduce insensitivity --seed 7 --json
    """
    from moldable.paper.catalogue import experiments
    from moldable.paper.run_folder import RunFolder

    output.show_log()
    chosen, size = experiments(what), _scale(scale)
    _refuse_bad_numbers(seed, threads, resume=resume, overwrite=overwrite)
    parameters = {"scale": size.value, "seed": seed}
    if resume:
        folder = RunFolder.resume(out, parameters)
    else:
        folder = RunFolder.create(out, parameters, overwrite=overwrite)
    from moldable.paper.reproduction import reproduce as run

    try:
        with (
            folder,
            dask_executor(dask) as executor,
            output.progress_bar("cells") as progress,
        ):
            found = run(
                chosen,
                size,
                folder,
                seed=seed,
                threads=threads,
                executor=executor,
                progress=progress,
            )
    except KeyboardInterrupt:
        output.note(f"interrupted; finished cells are kept in {out}: go on with --resume")
        raise typer.Exit(INTERRUPTED) from None
    said = {e.name: e.findings(found[e.name]) for e in chosen}
    if json:
        output.print_json({"folder": str(out), **folder.manifest, "findings": said})
    else:
        for name, sentences in said.items():
            for sentence in sentences:
                typer.echo(f"{name}: {sentence}")
        typer.echo(f"Results and figures: {printable(str(out))}")


def _scale(text: str) -> Scale:
    from moldable.paper.experiment import Scale

    return Scale(choice(text, [scale.value for scale in Scale], "scale", InputError))


def _refuse_bad_numbers(seed: int, threads: int | None, *, resume: bool, overwrite: bool) -> None:
    whole(seed, "seed", InputError, least=0, most=LARGEST)
    if threads is not None:
        whole(threads, "threads", InputError)
    if resume and overwrite:
        raise InputError("--resume keeps what --overwrite gives up; choose one of them")
