"""The films of the page: the same jobs under two policies."""

from __future__ import annotations

from typing import Any, Final

from dash import ClientsideFunction, Dash, Input, Output, State, no_update
from dash.exceptions import PreventUpdate

from moldable.errors import MoldableError
from moldable.explorer.asked import Asked
from moldable.explorer.film import record
from moldable.explorer.layout import FILMS, options
from moldable.explorer.named_policies import EQUI, spellings
from moldable.explorer.question import Question
from moldable.explorer.view_callbacks import ANSWERED, Sent, asked_in, if_newest

GREEDY: Final = "greedy"


def connect_films(app: Dash, asked: Asked) -> None:
    """Connect the question with the films."""
    first, other = FILMS

    @app.callback(
        *(Output(f"{name}-choice", "children") for name in FILMS),
        *(Output(f"{name}-policy", "value") for name in FILMS),
        Input(ANSWERED, "data"),
        *(State(f"{name}-policy", "value") for name in FILMS),
        prevent_initial_call=True,
    )
    def offer(sent: Sent | None, *chosen: object) -> list[Any]:
        if not sent:
            raise PreventUpdate
        names = policies(asked_in(sent))
        usual = (GREEDY, next(name for name in names if name != GREEDY))
        kept = [str(old) if old in names else new for old, new in zip(chosen, usual, strict=True)]
        lists = [options([(name, name) for name in names], each) for each in kept]
        changed = [no_update if old == new else new for old, new in zip(chosen, kept, strict=True)]
        return [*lists, *changed]

    @app.callback(
        *(Output(f"{name}-data", "data") for name in FILMS),
        Output("film-problem", "children"),
        Input(ANSWERED, "data"),
        *(Input(f"{name}-policy", "value") for name in FILMS),
        prevent_initial_call=True,
    )
    def play(sent: Sent | None, *chosen: object) -> list[Any]:
        return if_newest(asked, sent, lambda question: _recorded(question, chosen))

    app.clientside_callback(
        ClientsideFunction("page", "film"),
        Output("film-shown", "data"),
        *(Input(f"{name}-data", "data") for name in (first, other)),
        prevent_initial_call=True,
    )


def policies(question: Question) -> list[str]:
    """Return the policies of which there are films: those that keep the width of a job."""
    found = [name for name in spellings(question) if name != EQUI]
    return list(dict.fromkeys([GREEDY, *found]))


def _recorded(question: Question, chosen: tuple[object, ...]) -> list[Any]:
    known = policies(question)
    if not all(name in known for name in chosen):
        raise PreventUpdate  # the lists of policies are about to change
    scenario = question.scenario()
    try:
        films = [record(scenario, str(name), seed=question.seed).to_data() for name in chosen]
    except MoldableError as error:
        return [None, None, str(error)]
    return [*films, ""]
