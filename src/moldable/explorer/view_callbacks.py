"""The answers of the page: each view is computed quickly first, then precisely if that differs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, TypeVar

from dash import ClientsideFunction, Dash, Input, Output, State, no_update
from dash.exceptions import PreventUpdate

from moldable.errors import MoldableError
from moldable.explorer.asked import Asked
from moldable.explorer.layout import options
from moldable.explorer.measures import Effort, measures
from moldable.explorer.question import Question
from moldable.explorer.reproduce import FILE, View, command, python
from moldable.explorer.shown import PARTS, as_table, caption, show, state, verdict
from moldable.explorer.tables import csv_text

T = TypeVar("T")
Sent = dict[str, Any]
"""A question with the page that asked it and its number."""
SUMMARISED: Final[View] = "performance"
"""The view whose answer is also said in words."""
WITH_MEASURE: Final[View] = "load_curves"
LOOK: Final = 0.1
"""Seconds between looks whether a waiting answer is still needed."""
LATER: Final[tuple[View, ...]] = ("load_curves", "trade_off")
"""Views that take longer. They begin when the summarised view is answered, to leave it the CPU."""
ANSWERED: Final = "answered"
"""The store of the question whose summarised view is answered."""


def connect_views(app: Dash, asked: Asked) -> None:
    """Connect the question with all views."""
    # Precise answers use all cores, so that one after the other is no slower.
    turn = threading.Lock()
    for view in PARTS:
        _connect_view(app, view, asked, turn)
        _connect_numbers(app, view)
        app.clientside_callback(
            ClientsideFunction("page", "table"),
            Input(f"{view}-rows", "data"),
            prevent_initial_call=True,
        )
    _connect_measures(app)

    @app.callback(
        Output("download", "data", allow_duplicate=True),
        Input("toml", "n_clicks"),
        State("question", "data"),
        prevent_initial_call=True,
    )
    def download_question(_clicks: object, sent: Sent) -> dict[str, Any]:
        return {"content": asked_in(sent).to_toml(), "filename": FILE}


def asked_in(sent: object) -> Question:
    """Return the question that a page sent."""
    return Question.from_data(sent.get("data") if isinstance(sent, dict) else sent)


def if_newest(asked: Asked, sent: Sent | None, work: Callable[[Question], T]) -> T:
    """Work on a question unless the page has asked another one, before or in the meantime."""
    if not isinstance(sent, dict):
        raise PreventUpdate
    page, number = sent.get("page"), sent.get("number")
    if not asked.is_newest(page, number):
        raise PreventUpdate
    found = work(asked_in(sent))
    if not asked.is_newest(page, number):
        raise PreventUpdate
    return found


@contextmanager
def in_turn(turn: threading.Lock, asked: Asked, sent: Sent | None) -> Iterator[None]:
    """Wait for the turn of a question; one that is no longer the newest gives up.

    Otherwise answers that nobody needs would hold the few connections of a browser.
    """
    while not turn.acquire(timeout=LOOK):
        if not isinstance(sent, dict) or not asked.is_newest(sent.get("page"), sent.get("number")):
            raise PreventUpdate
    try:
        yield
    finally:
        turn.release()


def _connect_view(app: Dash, view: View, asked: Asked, turn: threading.Lock) -> None:
    places = [(f"{view}-figure", "figure"), (f"{view}-rows", "data")]
    places += [(f"{view}-state", "children")]
    places += [("verdict", "children")] if view == SUMMARISED else []
    extra = [Input("measure", "value")] if view == WITH_MEASURE else []

    @app.callback(
        *(Output(*place) for place in places),
        Output(f"{view}-command", "children"),
        Output(f"{view}-python", "children"),
        Output(f"{view}-pending", "data"),
        *([Output(ANSWERED, "data")] if view == SUMMARISED else []),
        Input(ANSWERED if view in LATER else "question", "data"),
        Input("dark", "data"),
        *extra,
        prevent_initial_call=True,
    )
    def answer_quickly(sent: Sent | None, dark: object, *chosen: object) -> list[Any]:
        def work(question: Question) -> list[Any]:
            parts, refined = _shown(view, question, "quick", dark, chosen)
            reproduced = command(question, view), python(question, view)
            answered = [sent] if view == SUMMARISED else []
            return [*parts, *reproduced, no_update if refined else sent, *answered]

        return if_newest(asked, sent, work)

    @app.callback(
        *(Output(*place, allow_duplicate=True) for place in places),
        Input(f"{view}-pending", "data"),
        State("dark", "data"),
        *(State(each.component_id, each.component_property) for each in extra),
        prevent_initial_call=True,
    )
    def answer_precisely(sent: Sent | None, dark: object, *chosen: object) -> list[Any]:
        with in_turn(turn, asked, sent):
            return if_newest(
                asked, sent, lambda question: _shown(view, question, "full", dark, chosen)[0]
            )


def _shown(
    view: View, question: Question, effort: Effort, dark: object, chosen: Sequence[object]
) -> tuple[list[Any], bool]:
    """Return the contents of the places of a view, and whether more effort gives the same."""
    drawn: dict[str, Any] = {"dark": dark is True}
    if chosen:
        known = [each.name for each in measures(question)]
        drawn["measure"] = chosen[0] if chosen[0] in known else known[0]
    try:
        found = show(view, question, effort, **drawn)
    except MoldableError as error:
        told = [no_update, no_update, f"No answer: {error}"]
        return [*told, *([str(error)] if view == SUMMARISED else [])], True
    parts = [found.figure, as_table(view, found.rows, caption(found)), state(found)]
    return [*parts, *([verdict(found)] if view == SUMMARISED else [])], found.refined


def _connect_numbers(app: Dash, view: View) -> None:
    @app.callback(
        Output("download", "data", allow_duplicate=True),
        Input(f"{view}-csv", "n_clicks"),
        State("question", "data"),
        prevent_initial_call=True,
    )
    def download_numbers(_clicks: object, sent: Sent) -> dict[str, Any]:
        rows = show(view, asked_in(sent), "full").rows
        return {"content": csv_text(rows), "filename": f"{view}.csv"}


def _connect_measures(app: Dash) -> None:
    @app.callback(
        Output("measure-choice", "children"),
        Output("measure", "value"),
        Input("question", "data"),
        State("measure", "value"),
        prevent_initial_call=True,
    )
    def offer(sent: Sent | None, chosen: object) -> list[Any]:
        if not sent:
            raise PreventUpdate
        names = [(each.name, each.heading) for each in measures(asked_in(sent))]
        kept = next((name for name, _ in names if name == chosen), names[0][0])
        return [options(names, kept), no_update if kept == chosen else kept]
