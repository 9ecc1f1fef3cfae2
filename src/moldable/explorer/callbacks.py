"""What the page of the explorer asks the server, and what it does in the browser itself."""

from __future__ import annotations

from typing import Any

from dash import ClientsideFunction, Dash, Input, Output, State, no_update

from moldable.explorer.asked import Asked
from moldable.explorer.film_callbacks import connect_films
from moldable.explorer.form import OWN, field_names, read_form
from moldable.explorer.layout import points_table
from moldable.explorer.question import Question
from moldable.explorer.view_callbacks import connect_views


def connect(app: Dash, start: Question, asked: Asked) -> None:
    """Connect the fields of the page with its answers.

    Args:
        app: the application.
        start: the question that the page begins with.
        asked: counts the questions of pages.
    """
    _in_browser(app, start)
    _read_fields(app, start, asked)
    connect_views(app, asked)
    connect_films(app, asked)


def _in_browser(app: Dash, start: Question) -> None:
    """Connect what `assets/page.js` does."""

    def add(function: str, outputs: Any, *inputs: Input, first: bool = True) -> None:
        app.clientside_callback(
            ClientsideFunction("page", function), outputs, *inputs, prevent_initial_call=not first
        )

    add("dark", Output("dark", "data"), Input("page", "data"))
    add(
        "load",
        [Output("load-slider", "value"), Output("load", "value")],
        Input("load-slider", "value"),
        Input("load", "value"),
        first=False,
    )
    messages = [Input(f"{name}-problem", "children") for name in _with_messages(start)]
    add("mark", Output("marked", "data"), *messages)


def _with_messages(start: Question) -> list[str]:
    """Return the fields next to which there is a place for a message."""
    names = field_names(len(start.classes))
    if len(start.classes) > 1:
        return names
    return [name for name in names if not name.startswith(OWN[1:])]


def _read_fields(app: Dash, start: Question, asked: Asked) -> None:
    names, told = field_names(len(start.classes)), _with_messages(start)
    classes = range(len(start.classes))

    @app.callback(
        Output("question", "data"),
        *(Output(f"{name}-problem", "children") for name in told),
        *(Output(f"points-{k}", "children") for k in classes),
        State("page", "data"),
        *(Input(name, "value") for name in names),
        prevent_initial_call=True,
    )
    def read(page: object, *values: object) -> list[Any]:
        form = read_form(dict(zip(names, values, strict=True)), start)
        problems = [form.problems.get(name, "") for name in told]
        if form.question is None:
            return [no_update, *problems, *(no_update for _ in classes)]
        points = [points_table(k, part) for k, part in enumerate(form.question.classes)]
        return [asked.sent(str(page), form.question), *problems, *points]
