"""`moldable explore`: a local web page."""

from __future__ import annotations

import importlib.util
import signal
from dataclasses import replace
from pathlib import Path
from socket import socket
from typing import TYPE_CHECKING, Annotated, Final, NoReturn

import typer

from moldable.cli import output
from moldable.cli.log_options import (
    CurveOption,
    Guesses,
    LogOptions,
    WidestOption,
    read_scenario_or_log,
    refuse_options_of_logs,
    takes_log,
)
from moldable.cli.options import SeedOption, ServersOption, WaitingOption
from moldable.errors import InputError

if TYPE_CHECKING:
    from moldable.explorer.question import Question
    from moldable.model.scenario import Scenario

NEEDED: Final = ("dash", "plotly", "waitress")
HEAD_START: Final = 1.0
"""Seconds for which the address is held back until the first answer is known."""
CURVE, SERVERS, LOAD, SEED = (1.0, 1.8, 2.5, 3.0, 3.4), 16, 0.8, 1
"""The question of a page without a file."""


@takes_log
def explore(
    *,
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FILE.toml|PLAN.json|LOG]",
            help="Scenario file ('-' reads one from standard input), plan file, job log, or CSV "
            "file of a speed-up curve to begin with.",
            show_default=False,
        ),
    ] = None,
    options: LogOptions,
    servers: ServersOption = None,
    curve: CurveOption = None,
    widest: WidestOption = None,
    waiting: WaitingOption = None,
    seed: SeedOption = None,
    port: Annotated[
        int | None,
        typer.Option("--port", metavar="PORT", help="Port on 127.0.0.1 (default: a free one)."),
    ] = None,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Print the address and open no browser.")
    ] = False,
) -> None:
    """Explore policies in the browser.

    Opens a page on which curve, load, cluster and target can be changed, with the performance of
    all policies, figures, and a simulation of the cluster. Every answer has the command and the
    Python program that reproduce it. The page is served to this machine only, at an address with a
    secret token, until Ctrl-C.

    \b
    Examples:
      moldable explore
      moldable explore examples/gpus.toml
      moldable explore plan.json
      moldable explore examples/slurm-week.txt --servers 64
      moldable explore examples/measured.csv --servers 32
      moldable explore --port 8050 --no-browser
    """
    _check_installed()
    from moldable.explorer import server

    with server.listen(port) as listening:
        question = _question(file, options, Guesses(servers, waiting, curve, widest), seed)
        _serve(question, "" if file is None else file.name, listening, browser=not no_browser)


def _serve(question: Question, source: str, listening: socket, *, browser: bool) -> None:
    from moldable.explorer import server
    from moldable.explorer.app import build_app

    token = server.new_token()
    url = server.address(listening, token)
    app, first = build_app(question, token, source)

    def ready() -> None:
        first.wait(HEAD_START)
        typer.echo(f"The explorer is at {url}\nStop it with Ctrl-C.")
        if browser:
            missing = "no browser was found; open the address yourself"
            server.open_browser(url, lambda: output.note(missing))

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _stop)
    server.serve(app, listening, ready)


def _check_installed() -> None:
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise InputError(
            f"moldable explore needs {' and '.join(missing)}; install the extra: "
            f"pip install 'moldable[explore]'"
        )


def _stop(*_: object) -> NoReturn:
    output.end_now("The explorer has ended.", 0)


def _question(
    file: Path | None, options: LogOptions, guesses: Guesses, seed: int | None
) -> Question:
    """Return the question that the page begins with."""
    from moldable.explorer.class_input import ClassInput
    from moldable.explorer.question import Question, is_curve, question_of_log, read_question
    from moldable.model.scenario import Scenario
    from moldable.model.waiting import checked_waiting

    if file is None:
        refuse_options_of_logs(options, guesses)
        return Question(
            (ClassInput("jobs", CURVE),),
            SERVERS if guesses.servers is None else guesses.servers,
            LOAD,
            checked_waiting(guesses.waiting or 0),
            seed=SEED if seed is None else seed,
        )
    seed = SEED if seed is None else seed
    if file.suffix.lower() == ".json":
        refuse_options_of_logs(options, guesses)
        return Question.from_scenario(_scenario_of_plan(file, guesses), seed=seed)
    if not options.given and is_curve(file):
        refuse_options_of_logs(options, guesses)
        found = replace(read_question(file), seed=seed)
        servers = found.servers if guesses.servers is None else guesses.servers
        return replace(found, servers=servers, waiting=checked_waiting(guesses.waiting or 0))
    with output.status_line() as progress:
        read, _ = read_scenario_or_log(file, options, guesses, progress)
    if isinstance(read, Scenario):
        return Question.from_scenario(read, seed=seed)
    return question_of_log(read, seed=seed)


def _scenario_of_plan(file: Path, guesses: Guesses) -> Scenario:
    """Return the scenario of a plan; as of scenario files, the options replace its servers."""
    from moldable.live.plan_file import read_plan
    from moldable.model.waiting import checked_waiting

    found = read_plan(file).scenario
    servers = found.servers if guesses.servers is None else guesses.servers
    waiting = found.waiting if guesses.waiting is None else checked_waiting(guesses.waiting)
    return replace(found, servers=servers, waiting=waiting)
