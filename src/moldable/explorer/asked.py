"""The newest question of each open page, so that older ones are not answered any more."""

from __future__ import annotations

import itertools
import threading
from collections import OrderedDict
from typing import Final, final

MOST_PAGES: Final = 64
"""Open pages whose newest question is remembered."""


@final
class Asked:
    """Counts the questions of pages.

    Examples:
        >>> asked = Asked()
        >>> first, second = asked.add("page"), asked.add("page")
        >>> asked.is_newest("page", first), asked.is_newest("page", second)
        (False, True)
    """

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._newest: OrderedDict[str, int] = OrderedDict()
        self._lock = threading.Lock()

    def add(self, page: str) -> int:
        """Return the number of a new question of a page."""
        with self._lock:
            number = next(self._numbers)
            self._newest[page] = number
            self._newest.move_to_end(page)
            while len(self._newest) > MOST_PAGES:
                self._newest.popitem(last=False)
            return number

    def is_newest(self, page: object, number: object) -> bool:
        """Return whether the page has asked nothing since."""
        with self._lock:
            return isinstance(page, str) and self._newest.get(page, 0) == number
