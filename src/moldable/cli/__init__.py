"""The command line: one file for each command, no mathematics.

Heavy imports happen inside the command that needs them, so that `--help` answers at once.
"""

from __future__ import annotations

import functools
import io
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Annotated, Any

import typer

from moldable.cli import output
from moldable.cli.bounds import bounds
from moldable.cli.compare import compare
from moldable.cli.evaluate import evaluate
from moldable.cli.examples import examples
from moldable.cli.optimum import optimum
from moldable.cli.simulate import simulate
from moldable.cli.tradeoff import tradeoff
from moldable.cli.tune import tune
from moldable.errors import MoldableError, cut, printable

BAD_INPUT = 2
UsageError: Any = typer.BadParameter.__base__
"""Wrong options and the like; Typer does not export it."""

app = typer.Typer(
    name="moldable",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help: Rich's would take half of the start-up time
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _tells_interruption(command: Callable[..., None]) -> Callable[..., None]:
    """Make Ctrl-C end a command with its exit code and a message that nothing was kept."""

    @functools.wraps(command)
    def wrapped(**options: object) -> None:
        try:
            command(**options)
        except KeyboardInterrupt:
            output.end_interrupted("no result was finished, and no file was written")

    return wrapped


for _command in (optimum, evaluate, compare, simulate, tune, tradeoff, bounds, examples):
    app.command()(_tells_interruption(_command))


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
    """Choose how many servers each parallel job gets when it starts, its width.
    The width is fixed when a job starts. Jobs that find no idle server are lost, or wait if there
    are waiting places.

    \b
    Start with:
      moldable optimum --speedup 1,1.8,2.5,3,3.4 --load 0.8
      moldable examples --copy examples
      moldable tune --workload examples/gpus.toml \\
        --max-blocking 0.1
      moldable tune --servers 16 --load 0.8 \\
        --speedup 1,1.8,2.5,3,3.4 --waiting unlimited
    """  # noqa: D205 - the first paragraph of the help describes the model


def main() -> None:
    """Run the command line: exit code 0, 2 for bad input with a message on stderr, 130 for Ctrl-C.

    A reader that closes the pipe, as `moldable ... | head -1` does, has what it wanted: code 0.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # names may not fit a terminal's alphabet
    try:
        code = app(standalone_mode=False) or 0
        sys.stdout.flush()
    except MoldableError as error:
        code = _refused(_in_options(error, sys.argv[1:]))
    except UsageError as error:
        # It quotes the command line; a help text has lines of its own.
        error.message = cut("\n".join(map(printable, error.message.split("\n"))))
        error.show()
        code = BAD_INPUT
    except MemoryError:
        code = _refused("not enough memory; ask for fewer servers, widths or classes")
    # From here on, a normal exit would try to write the rest of the answer once more.
    except (BrokenPipeError, SystemExit):  # Typer and Rich end so where a pipe is closed
        os._exit(0)
    except OSError as error:  # a full disk behind a redirection, say
        os._exit(_refused(f"cannot write the answer: {error.strerror}"))
    sys.exit(code)


def _in_options(error: MoldableError, words: Sequence[str]) -> str:
    """Name the option, if it was given, that an error's parameter came from.

    A load that comes from --regime is no fault of --load.
    """
    if error.parameter is None:
        return str(error)
    option = f"--{error.parameter.replace('_', '-')}"
    given = any(word.partition("=")[0] == option for word in words)
    return f"{option} {error.message}" if given else str(error)


def _refused(reason: str) -> int:
    with suppress(OSError):  # nobody may listen there either
        typer.echo(f"moldable: error: {reason}", err=True)
    return BAD_INPUT
