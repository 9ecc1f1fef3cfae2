"""Remember the last answers of a function, and compute none of them twice at the same time.

The views of a page are answered on several threads and share parts of their answers.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import wraps
from threading import Lock
from typing import Final, Generic, ParamSpec, TypeVar, final

from moldable.threads import refuse_interrupted

KEPT: Final = 16
"""Answers of a view that are remembered: a few questions, so that the memory stays small."""

P = ParamSpec("P")
R = TypeVar("R")


@final
@dataclass(slots=True)
class _Place(Generic[R]):
    """Where one answer is computed and kept."""

    lock: Lock = field(default_factory=Lock)
    answers: list[R] = field(default_factory=list)


def remembered(most: int) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator that keeps the last answers; errors are not kept.

    Nor are answers of runs that were ended (`ended_by`), which may be those of shorter simulations.

    Args:
        most: answers that are kept.

    Examples:
        >>> asked = []
        >>> double = remembered(2)(lambda x: asked.append(x) or 2 * x)
        >>> double(3), double(3), asked
        (6, 6, [3])
    """

    def decorate(run: Callable[P, R]) -> Callable[P, R]:
        places: OrderedDict[Hashable, _Place[R]] = OrderedDict()
        change = Lock()

        @wraps(run)
        def answer(*args: P.args, **options: P.kwargs) -> R:
            key = (args, tuple(sorted(options.items())))
            with change:
                place = places.setdefault(key, _Place())
                places.move_to_end(key)
                if len(places) > most:
                    places.popitem(last=False)
            with place.lock:
                if not place.answers:
                    found = run(*args, **options)
                    refuse_interrupted()
                    place.answers.append(found)
                return place.answers[0]

        return answer

    return decorate
