"""The web application of the explorer: its page, its callbacks and what it refuses."""

from __future__ import annotations

import threading
import uuid
from contextlib import suppress
from typing import Any, final

from dash import Dash
from dash.development.base_component import Component
from flask import Flask

from moldable.errors import MoldableError
from moldable.explorer.asked import Asked
from moldable.explorer.callbacks import connect
from moldable.explorer.layout import FIRST_ROWS, INDEX, page
from moldable.explorer.question import Question
from moldable.explorer.security import protect, refuse_or_tell
from moldable.explorer.shown import PARTS, show
from moldable.explorer.view_callbacks import SUMMARY, summary


def build_app(question: Question, token: str, source: str = "") -> tuple[Flask, FirstAnswer]:
    """Return the application, and the answer that it sends with its page.

    Args:
        question: that the page begins with.
        token: the secret part of the address.
        source: the file that the question was read from; empty without one.
    """
    first, asked = FirstAnswer(question), Asked()
    server = Flask("moldable.explorer", static_folder=None)
    protect(server, token, lambda: app)  # before Dash, so that it is asked first
    app = Dash(
        __package__,
        server=server,
        routes_pathname_prefix=f"/{token}/",
        requests_pathname_prefix=f"/{token}/",
        serve_locally=True,
        title="moldable explorer",
        index_string=INDEX,
        update_title="",
        add_log_handler=False,
        enable_mcp=False,
        on_error=refuse_or_tell,
    )

    def layout() -> Component:
        return first.shown_on(page(question, source, asked.sent(uuid.uuid4().hex, question)))

    app.layout = layout
    connect(app, question, asked)
    return server, first


@final
class FirstAnswer:
    """The answer to the first question, computed while the page is opened."""

    def __init__(self, question: Question) -> None:
        self._question = question
        self._contents: list[Any] = []
        self._known = threading.Event()
        threading.Thread(target=self._work, daemon=True).start()

    def wait(self, seconds: float) -> None:
        """Wait until it is known."""
        self._known.wait(seconds)

    def shown_on(self, tree: Component) -> Component:
        """Write it into its places on a page if it is known; otherwise the page will ask."""
        for (name, place), content in zip(SUMMARY, self._contents, strict=False):
            rows = name == SUMMARY[0][0]
            setattr(tree[FIRST_ROWS if rows else name], place, content)
        return tree

    def _work(self) -> None:
        """Answer the summarised view, then the others, so that compiled code is loaded."""
        with suppress(MoldableError):
            self._contents = summary(self._question)
        self._known.set()
        for view in PARTS:
            with suppress(MoldableError):
                show(view, self._question, "quick").figure()
