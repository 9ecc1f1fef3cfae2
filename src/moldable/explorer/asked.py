"""The newest question of each open page, so that older ones are not answered any more."""

from __future__ import annotations

import itertools
import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any, Final, final

from moldable.explorer.question import Question

MOST_PAGES: Final = 64
"""Open pages whose newest question is remembered."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class Asking:
    """A question that has been asked.

    Attributes:
        number: of the question.
        superseded: set when its page asks another one.
        answered: set when the view that comes first is answered.
    """

    number: int
    superseded: threading.Event = field(default_factory=threading.Event)
    answered: threading.Event = field(default_factory=threading.Event)


@final
class Asked:
    """Counts the questions of pages.

    Examples:
        >>> asked = Asked()
        >>> first, second = asked.add("page"), asked.add("page")
        >>> asked.newest("page", first) is None, asked.newest("page", second).number == second
        (True, True)
    """

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._newest: OrderedDict[str, Asking] = OrderedDict()
        self._lock = threading.Lock()

    def add(self, page: str) -> int:
        """Return the number of a new question of a page; the one before it is superseded."""
        with self._lock:
            asking = Asking(next(self._numbers))
            if page in self._newest:
                self._newest.pop(page).superseded.set()
            self._newest[page] = asking
            while len(self._newest) > MOST_PAGES:
                self._newest.popitem(last=False)[1].superseded.set()
            return asking.number

    def sent(self, page: str, question: Question) -> dict[str, Any]:
        """Return a new question of a page as it is sent with each request for an answer."""
        return {"page": page, "number": self.add(page), "data": question.to_data()}

    def newest(self, page: object, number: object) -> Asking | None:
        """Return a question; None if the page has asked another one since."""
        with self._lock:
            found = self._newest.get(page) if isinstance(page, str) else None
            return found if found is not None and found.number == number else None
