"""The command line: one file for each command, no mathematics.

Heavy imports happen inside the command that needs them, so that `--help` answers at once.
"""

from __future__ import annotations

import functools
import io
import os
import re
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Annotated, Any, NoReturn

import typer

from moldable.cli import output, slurm
from moldable.cli.bounds import bounds
from moldable.cli.compare import compare
from moldable.cli.curves import curves
from moldable.cli.doctor import doctor
from moldable.cli.evaluate import evaluate
from moldable.cli.examples import examples
from moldable.cli.explore import explore
from moldable.cli.fit import fit
from moldable.cli.live import report as live_report
from moldable.cli.optimum import optimum
from moldable.cli.plan import plan
from moldable.cli.replay import replay
from moldable.cli.run import run
from moldable.cli.simulate import simulate
from moldable.cli.slurm_install import install
from moldable.cli.trace import trace
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


TARGETS = re.compile(
    r"\b(max_(blocking|time|response|wait_probability|mean_wait|wait)|blocking_cost)\b"
)
"""Targets as arguments in Python, which errors about a request name."""
COMMANDS = (
    *(plan, run, trace, replay, fit, curves),
    *(optimum, evaluate, compare, simulate, tune, tradeoff, bounds, explore, examples, doctor),
)
for _command in COMMANDS:
    app.command()(_tells_interruption(_command))
slurm.app.command()(install)
app.add_typer(slurm.app)
live = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="Check a live cluster against its plan."
)
live.command("report")(_tells_interruption(live_report))
app.add_typer(live, name="live")


def _print_version(asked: bool) -> None:
    if asked:
        from moldable.installation.versions import versions

        own, *others = versions().items()
        typer.echo(f"moldable {own[1]}")
        typer.echo(", ".join(f"{name} {version}" for name, version in others))
        raise typer.Exit


@app.callback()
def moldable(
    *,
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show versions."),
    ] = False,
) -> None:
    """Choose the width of each parallel job: the number of servers that it gets when it starts.
    A job keeps its width until it ends. Jobs that find no idle server are lost, or wait if there
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


def main() -> NoReturn:
    """Run the command line: exit code 0, 2 for bad input with a message on stderr, 130 for Ctrl-C.

    A closed pipe, as in `moldable ... | head -1`, is not an error: exit code 0.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # names may not be encodable
    try:
        code = app(standalone_mode=False) or 0
        sys.stdout.flush()
    except MoldableError as error:
        code = report_error(error)
    except UsageError as error:
        # The message quotes the command line; its line breaks are those of the help.
        error.message = cut("\n".join(map(printable, error.message.split("\n"))))
        error.show()
        code = BAD_INPUT
    except MemoryError:
        code = _refused("not enough memory; ask for fewer servers, widths or classes")
    # From here on, a normal exit would try to write the rest of the answer once more.
    except (BrokenPipeError, SystemExit):  # so Typer and Rich react to a closed pipe
        os._exit(0)
    except OSError as error:  # a full disk behind a redirection, say
        os._exit(_refused(f"cannot write the output: {error.strerror}"))
    sys.exit(code)


def report_error(error: MoldableError) -> int:
    """Write an error about the options of this process to stderr, and return the exit code."""
    return _refused(_in_options(error, sys.argv[1:]))


def _in_options(error: MoldableError, words: Sequence[str]) -> str:
    """Name the option, if it was given, that an error's parameter came from, and all targets.

    An error in a load that follows from --regime does not name --load.
    """
    text = str(error)
    if error.parameter is not None:
        option = _option(error.parameter)
        if any(word.partition("=")[0] == option for word in words):
            text = f"{option} {error.message}"
    text = TARGETS.sub(lambda found: _option(found[0]), text)
    return text.replace("waiting='unlimited'", "--waiting unlimited")


def _option(parameter: str) -> str:
    return f"--{parameter.replace('_', '-')}"


def _refused(reason: str) -> int:
    with suppress(OSError):  # stderr may be closed as well
        typer.echo(f"moldable: error: {reason}", err=True)
    return BAD_INPUT
