"""The answers of the page: each view is computed quickly first, then precisely if that differs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, TypeVar

from dash import ClientsideFunction, Dash, Input, Output, State, no_update
from dash.exceptions import PreventUpdate

from moldable.errors import MoldableError
from moldable.explorer.asked import Asked, Asking
from moldable.explorer.layout import FIRST_ROWS, options
from moldable.explorer.measures import Effort, measures
from moldable.explorer.question import Question
from moldable.explorer.reproduce import FILE, View, command, python
from moldable.explorer.shown import PARTS, Shown, as_table, caption, show, state, verdict
from moldable.explorer.tables import csv_text
from moldable.threads import Deadline, ended_by

T = TypeVar("T")
Sent = dict[str, Any]
"""A question with the page that asked it and its number."""
SUMMARISED: Final[View] = "performance"
"""The view whose answer is also said in words."""
WITH_MEASURE: Final[View] = "load_curves"
LOOK: Final = 0.1
"""Seconds between looks whether a waiting answer is still needed."""
AT_ONCE: Final[tuple[View, ...]] = ("frontier", "policies")
"""Views that take a moment only. The others begin when the summarised view is answered."""
LONGEST: Final = 60.0
"""Seconds after which an answer is given up. Simulations near saturation could take hours."""
LEAD: Final = 0.2
"""Seconds for which the views that take a moment leave the CPU to the summarised one."""
ANSWERED: Final = "answered"
"""The store of the question whose summarised view is answered."""
TOO_LONG: Final[dict[Effort, str]] = {
    "quick": f"No answer within {LONGEST:g} seconds; copy the command, which has no limit.",
    "full": f"Quick estimate; precise numbers take longer than {LONGEST:g} seconds. Copy the "
    f"command, which has no limit.",
}
"""What is said about a view whose answer was given up."""
SUMMARY: Final = (
    *((f"{SUMMARISED}-rows", "data"), (f"{SUMMARISED}-state", "children"), ("verdict", "children")),
    *((f"{SUMMARISED}-command", "children"), (f"{SUMMARISED}-python", "children")),
)
"""Where the numbers of the summarised view are shown."""


def connect_views(app: Dash, asked: Asked) -> None:
    """Connect the question with all views."""
    # Precise answers use all cores, so that one after the other is no slower.
    turn = threading.Lock()
    _connect_summary(app, asked)
    for view in PARTS:
        _connect_view(app, view, asked, turn)
        _connect_numbers(app, view, asked)
    for place in (FIRST_ROWS, *(f"{view}-rows" for view in PARTS)):
        app.clientside_callback(
            ClientsideFunction("page", "table"),
            Input(place, "data"),
            prevent_initial_call=place != FIRST_ROWS,
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
    """Work on a question until the page asks another one."""
    asking = asking_of(asked, sent)
    try:
        with ended_by(asking.superseded):
            found = work(asked_in(sent))
    except KeyboardInterrupt:
        if not asking.superseded.is_set():
            raise
        raise PreventUpdate from None
    if asking.superseded.is_set():
        raise PreventUpdate
    return found


def asking_of(asked: Asked, sent: Sent | None) -> Asking:
    """Return the question that a page sent if it is its newest."""
    found = asked.newest(sent.get("page"), sent.get("number")) if isinstance(sent, dict) else None
    if found is None:
        raise PreventUpdate
    return found


def in_time(work: Callable[[], T]) -> T | None:
    """Return a result; None if it takes too long."""
    deadline = Deadline(LONGEST)
    try:
        with ended_by(deadline):
            return work()
    except KeyboardInterrupt:
        if not deadline.is_set():
            raise
        return None


@contextmanager
def in_turn(turn: threading.Lock, asked: Asked, sent: Sent | None) -> Iterator[None]:
    """Wait for the turn of a question; one that is no longer the newest gives up.

    Otherwise answers that nobody needs would hold the few connections of a browser.
    """
    while not turn.acquire(timeout=LOOK):
        asking_of(asked, sent)
    try:
        yield
    finally:
        turn.release()


def _connect_summary(app: Dash, asked: Asked) -> None:
    """Connect the question with the numbers of the view that comes first."""

    @app.callback(
        *(Output(*place) for place in SUMMARY), Output(ANSWERED, "data"), Input("question", "data")
    )
    def summarise(sent: Sent | None) -> list[Any]:
        asking = asking_of(asked, sent)
        found = if_newest(asked, sent, summary)
        asking.answered.set()
        return [*found, sent]


def summary(question: Question) -> list[Any]:
    """Return what is in the places of `SUMMARY` for a question."""
    found = _shown(SUMMARISED, question, "quick")
    reproduced = command(question, SUMMARISED), python(question, SUMMARISED)
    return [*(found[name] for name in ("rows", "state", "verdict")), *reproduced]


def _connect_view(app: Dash, view: View, asked: Asked, turn: threading.Lock) -> None:
    """Connect a view; the numbers of the summarised one are shown before its figure."""
    listed = _places(view)
    first = ("figure",) if view == SUMMARISED else ("figure", "rows", "state")
    reproduced = [] if view == SUMMARISED else [f"{view}-command", f"{view}-python"]
    extra = [Input("measure", "value")] if view == WITH_MEASURE else []

    @app.callback(
        *(Output(*listed[name]) for name in first),
        Output(f"{view}-pending", "data"),
        *(Output(name, "children") for name in reproduced),
        Input("question" if view in AT_ONCE else ANSWERED, "data"),
        Input("dark", "data"),
        *extra,
        prevent_initial_call=view not in AT_ONCE,
    )
    def answer_quickly(sent: Sent | None, dark: object, *chosen: object) -> list[Any]:
        def work(question: Question) -> list[Any]:
            found = _shown(view, question, "quick", dark, chosen)
            pending = no_update if found["refined"] else sent
            texts = (command(question, view), python(question, view)) if reproduced else ()
            return [*(found[name] for name in first), pending, *texts]

        asking_of(asked, sent).answered.wait(LEAD)
        return if_newest(asked, sent, work)

    @app.callback(
        *(Output(*place, allow_duplicate=True) for place in listed.values()),
        Input(f"{view}-pending", "data"),
        State("dark", "data"),
        *(State(each.component_id, each.component_property) for each in extra),
        prevent_initial_call=True,
    )
    def answer_precisely(sent: Sent | None, dark: object, *chosen: object) -> list[Any]:
        def work(question: Question) -> list[Any]:
            found = _shown(view, question, "full", dark, chosen)
            return [found[name] for name in listed]

        with in_turn(turn, asked, sent):
            return if_newest(asked, sent, work)


def _places(view: View) -> dict[str, tuple[str, str]]:
    """Return where the parts of an answer are shown."""
    found = {
        "figure": (f"{view}-figure", "figure"),
        "rows": (f"{view}-rows", "data"),
        "state": (f"{view}-state", "children"),
    }
    return found | ({"verdict": ("verdict", "children")} if view == SUMMARISED else {})


def _shown(
    view: View,
    question: Question,
    effort: Effort,
    dark: object = None,
    chosen: Sequence[object] | None = None,
) -> dict[str, Any]:
    """Return the parts of an answer, and whether more effort gives the same.

    Without `chosen` there is no figure.
    """
    try:
        found = in_time(lambda: show(view, question, effort))
    except MoldableError as error:
        missing = {"figure": no_update, "rows": no_update, "refined": True}
        return missing | {"state": f"No answer: {error}", "verdict": str(error)}
    if found is None:
        kept = dict.fromkeys(("figure", "rows", "verdict"), no_update)
        return kept | {"state": TOO_LONG[effort], "refined": effort == "full"}
    parts = {
        "rows": as_table(view, found.rows, caption(found)),
        "state": state(found),
        "refined": found.refined,
    }
    if view == SUMMARISED:
        parts["verdict"] = verdict(found)
    if chosen is not None:
        parts["figure"] = found.figure(dark=dark is True, **_measure(question, chosen))
    return parts


def _measure(question: Question, chosen: Sequence[object]) -> dict[str, str]:
    """Return the measure of the figure that has a choice of them."""
    if not chosen:
        return {}
    known = [each.name for each in measures(question)]
    return {"measure": str(chosen[0]) if chosen[0] in known else known[0]}


def _connect_numbers(app: Dash, view: View, asked: Asked) -> None:
    @app.callback(
        Output("download", "data", allow_duplicate=True),
        Input(f"{view}-csv", "n_clicks"),
        State("question", "data"),
        prevent_initial_call=True,
    )
    def download_numbers(_clicks: object, sent: Sent | None) -> dict[str, Any]:
        def work(question: Question) -> Shown | None:
            precise = in_time(lambda: show(view, question, "full"))
            return precise or in_time(lambda: show(view, question, "quick"))

        found = if_newest(asked, sent, work)
        if found is None:
            raise PreventUpdate
        return {"content": csv_text(found.rows), "filename": f"{view}.csv"}


def _connect_measures(app: Dash) -> None:
    @app.callback(
        Output("measure-choice", "children"),
        Output("measure", "value"),
        Input(ANSWERED, "data"),
        State("measure", "value"),
        prevent_initial_call=True,
    )
    def offer(sent: Sent | None, chosen: object) -> list[Any]:
        if not sent:
            raise PreventUpdate
        names = [(each.name, each.heading) for each in measures(asked_in(sent))]
        kept = next((name for name, _ in names if name == chosen), names[0][0])
        return [options(names, kept), no_update if kept == chosen else kept]
