"""Reproduce the paper's table and figures, or write the report on a finished run.

Examples:
  python -m reproduction table
  python -m reproduction all --scale full --out results
  python -m reproduction all --scale full --out results --resume
  python -m reproduction insensitivity fluid --seed 7 --json
  python -m reproduction report results
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NoReturn

from rich.console import Console
from rich.progress import Progress

from moldable import MoldableError
from reproduction.experiment import Scale
from reproduction.presentation import can_draw
from reproduction.report import write_report
from reproduction.run import ALL, EXPERIMENTS, chosen, reproduce, suggest
from reproduction.run_folder import RunFolder, begin

BAD_INPUT, INTERRUPTED = 2, 130
OUT: Final = Path("reproduction-results")


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise MoldableError(f"{message}; see python -m reproduction --help")


def _parser(name: str = "python -m reproduction") -> _Parser:
    return _Parser(
        prog=name,
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )


def main(arguments: Sequence[str]) -> int:
    """Return the exit code: 0, 2 for bad input with a message on stderr, 130 after Ctrl-C."""
    try:
        if arguments and arguments[0] == "report":
            return _report(arguments[1:])
        return _reproduce(arguments)
    except MoldableError as error:
        sys.stderr.write(f"reproduction: error: {error}\n")
        return BAD_INPUT


def _report(arguments: Sequence[str]) -> int:
    parser = _parser("python -m reproduction report")
    parser.add_argument("results", metavar="DIR", type=Path, help="a run of all experiments")
    write_report(RunFolder.read(parser.parse_args(arguments).results), Path())
    return 0


def _reproduce(arguments: Sequence[str]) -> int:
    options = _options(arguments)
    experiments = chosen(options.experiments)
    scale = _checked(options)
    logging.basicConfig(format="reproduction: note: %(message)s")
    logging.getLogger("moldable").setLevel(logging.INFO)
    parameters = {"scale": scale.value, "seed": options.seed}
    if not can_draw():
        sys.stderr.write(
            "reproduction: note: no figures without matplotlib, only tables; install it (pip "
            "install matplotlib) and add --resume to draw them later\n"
        )
    kept = {"resume": options.resume, "overwrite": options.overwrite}
    with begin(options.out, parameters, **kept) as folder:
        try:
            with _progress() as progress:
                found = reproduce(
                    experiments,
                    scale,
                    folder,
                    seed=options.seed,
                    threads=options.threads,
                    progress=progress,
                )
        except KeyboardInterrupt:
            note = f"interrupted; finished cells are kept in {options.out}: continue with --resume"
            sys.stderr.write(f"reproduction: note: {MoldableError(note)}\n")
            return INTERRUPTED
    if options.json:
        answer = {
            "folder": str(options.out),
            **folder.manifest,
            "findings": {n: p.findings for n, p in found.items()},
        }
        print(json.dumps(answer, allow_nan=False))
        return 0
    for name, publication in found.items():
        print("\n".join(f"{name}: {sentence}" for sentence in publication.findings))
    print(f"Results{' and figures' if can_draw() else ''}: {MoldableError(str(options.out))}")
    return 0


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = _parser()
    add = parser.add_argument
    names = ", ".join(EXPERIMENTS)
    add("experiments", nargs="*", metavar="EXPERIMENT", help=f"{names} or {ALL}; default: {ALL}")
    add("--scale", default="quick", help="quick: a few minutes; full: the scale of the paper")
    add(
        "--out",
        metavar="DIR",
        type=Path,
        default=OUT,
        help=f"folder for the results; default: {OUT}",
    )
    add("--resume", action="store_true", help="continue the run in DIR and keep its finished cells")
    add("--overwrite", action="store_true", help="delete the run in DIR and start again")
    add("--seed", metavar="S", type=int, default=1, help="random seed; it determines the files")
    add("--threads", metavar="N", type=int, help="number of threads; default: all cores")
    add("--json", action="store_true", help="print one JSON object")
    return parser.parse_args(arguments)


def _checked(options: argparse.Namespace) -> Scale:
    if options.scale not in list(Scale):
        known = [Scale.QUICK.value, Scale.FULL.value]
        raise MoldableError(
            f"--scale {options.scale!r} is unknown; {suggest(options.scale, known)}"
        )
    if options.seed < 0:
        raise MoldableError(f"--seed {options.seed} must be a non-negative integer")
    if options.threads is not None and options.threads < 1:
        raise MoldableError(f"--threads {options.threads} must be at least 1")
    if options.resume and options.overwrite:
        raise MoldableError("--resume keeps the run and --overwrite deletes it; choose one of them")
    return Scale(options.scale)


@contextmanager
def _progress() -> Iterator[Callable[[float, int], None] | None]:
    """Show a bar on a terminal, and nothing when piped."""
    if not sys.stderr.isatty():
        yield None
        return
    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("cells", total=None)
        yield lambda done, planned: bar.update(task, completed=done, total=planned)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
