"""The command line: one file for each command, no mathematics.

Heavy imports happen inside the command that needs them, so that `--help` answers at once.
"""

from __future__ import annotations

import io
import os
import sys
from typing import Annotated

import typer

from moldable.cli.bounds import bounds
from moldable.cli.compare import compare
from moldable.cli.evaluate import evaluate
from moldable.cli.optimum import optimum
from moldable.cli.reproduce import reproduce
from moldable.cli.simulate import simulate
from moldable.cli.tradeoff import tradeoff
from moldable.cli.tune import tune
from moldable.cli.wording import in_options
from moldable.errors import MoldableError

BAD_INPUT = 2

app = typer.Typer(
    name="moldable",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help: Rich's would take half of the start-up time
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(optimum)
app.command()(evaluate)
app.command()(compare)
app.command()(simulate)
app.command()(tune)
app.command()(tradeoff)
app.command()(bounds)
app.command()(reproduce)


def _print_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        typer.echo(f"moldable {version('moldable')}")
        raise typer.Exit


@app.callback()
def moldable(
    *,
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """How many servers should each parallel job get the moment it arrives?

    Start with: moldable optimum --speedup 1,1.8,2.5,3,3.4 --load 0.8
    """


def main() -> None:
    """Run the command line; bad input ends with exit code 2 and a message on stderr."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # names may not fit a terminal's alphabet
    try:
        app()
    except MoldableError as error:
        typer.echo(f"moldable: error: {in_options(str(error), sys.argv[1:])}", err=True)
        sys.exit(BAD_INPUT)
    except OSError as error:
        # A full disk behind a redirection, say; Typer itself deals with closed pipes.
        typer.echo(f"moldable: error: cannot write the answer: {error.strerror}", err=True)
        os._exit(BAD_INPUT)  # a normal exit would try to write the rest once more
