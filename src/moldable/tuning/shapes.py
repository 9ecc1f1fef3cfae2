"""Which shapes of a price are tried? A shape is a tail; the infinite one is the exponential's."""

from __future__ import annotations

import math
from typing import Final

from moldable.model.workload import Workload
from moldable.policies.price import PricePolicy

EXPONENTIAL: Final = math.inf
LONG: Final = 2.0
"""The long tail that is tried: of 1 to 8 the best."""


def tails_tried(workload: Workload, servers: int, *, long_tail: bool | None) -> tuple[float, ...]:
    """Return the tails to try.

    Unless it is said whether a long one shall be among them, it is where it pays: if classes share
    the servers, or a curve is not concave.
    """
    if long_tail is None:
        curves = [job_class.speedup.up_to(servers) for job_class in workload.classes]
        long_tail = len(curves) > 1 or not curves[0].is_concave()
    return (EXPONENTIAL, LONG) if long_tail else (EXPONENTIAL,)


def priced(q0: float, ell: float, tail: float) -> PricePolicy:
    """Return the price policy of a tail."""
    if math.isinf(tail):
        return PricePolicy.exponential(q0, ell)
    return PricePolicy.long_tailed(q0, ell, tail)
