"""Which price will do without any tuning? A rule fitted to many tuned ones.

The best prices were measured on grids for concave and linear curves at loads from 0.7 to 0.9, n
from 20 to 20,000 and blocked jobs that cost 2 to 64 mean sizes (docs/explanation/price.md tells of
them, `verification/price_scaling.py` measures such grids again). What was regular is used:

- ell grows as the square root of n; how fast depends on the server-time that a second server costs:
  none on a linear curve, where only a steep price holds jobs back;
- q0 falls slowly with n; it rises with what a blocked job costs, with the price from which a job is
  better off on its narrowest width, and a little with the shadow price;
- where nothing is idle, a server is worth about what a blocked job costs at most, and more than
  twice the shadow price.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from moldable.allocation.reservation import reserve
from moldable.checks import positive, whole
from moldable.errors import InfeasibleError, PolicyError
from moldable.model.scenario import Scenario
from moldable.model.workload import JobClass, Workload, checked_workload
from moldable.policies.price import PricePolicy

BLOCKED_JOB_PRICE: Final = 8.0
STEEPEST, PER_LOSS, FLATTEST = 0.35, 3.5, 0.7
"""ell over the square root of n: without loss of efficiency, by that loss, and at most."""
LEVEL, BY_SERVERS, BY_PRICE, BY_STEP, BY_SHADOW = 2.24, 0.29, 0.20, 0.63, 0.13
"""Of q0: its level, and how it moves with the logarithms."""
DEAREST_STEP: Final = 3.0
LEAST_SHADOW: Final = -2.0
ABOVE_SHADOW: Final = 0.94
MOST_BY_STEP, USUAL_STEP = 0.2, 1.4


def untuned_price(
    workload: Workload, servers: int, blocked_job_price: float = BLOCKED_JOB_PRICE
) -> PricePolicy:
    """Return a price policy that is within a few per cent of the tuned one on common curves.

    These are concave or linear, at loads from 0.7 to 0.9; elsewhere it is a place to begin.

    Args:
        workload: the classes, sharing one pool.
        servers: the size of the cluster.
        blocked_job_price: what a blocked job costs, in mean sizes.
    """
    servers = whole(servers, "servers", PolicyError)
    if checked_workload(workload).sharing != "pool" and len(workload.classes) > 1:
        raise PolicyError(
            "these classes own their servers, but an untuned price is made for one pool: let them "
            "share (sharing='pool'), or give the price its numbers"
        )
    blocked_job_price = positive(blocked_job_price, "blocked job price", PolicyError)
    offered = np.array([job_class.offered for job_class in workload.classes])
    losses, steps = np.array([_second_server(job_class) for job_class in workload.classes]).T
    loss, step = (float(np.average(part, weights=offered)) for part in (losses, steps))
    shadow = _log_shadow_price(workload, servers)
    q0 = (
        LEVEL
        - BY_SERVERS * math.log(servers)
        + BY_PRICE * math.log(blocked_job_price)
        + BY_STEP * step
        + BY_SHADOW * max(shadow, LEAST_SHADOW)
    )
    most = math.log(blocked_job_price) + MOST_BY_STEP * (step - USUAL_STEP)
    q0 = min(most, max(q0, shadow + ABOVE_SHADOW))
    stretch = min(STEEPEST + PER_LOSS * loss, FLATTEST)
    return PricePolicy.exponential(q0, stretch * math.sqrt(servers))


def _second_server(job_class: JobClass) -> tuple[float, float]:
    """Return what the step from the narrowest width costs: server-time, and from which price.

    The first is a share of the server-time, for a doubling of the width; the second the logarithm
    of the price of a server at which both widths cost a job the same.
    """
    curve = job_class.speedup
    if len(curve) == 1:
        return 0.0, DEAREST_STEP
    wider = float(curve.widths[1] / curve.widths[0])
    faster = float(curve.speedups[1] / curve.speedups[0])
    loss = max(math.pow(wider / faster, math.log(2.0) / math.log(wider)) - 1.0, 0.0)
    saved = faster - 1.0
    added = float(curve.widths[0]) * (wider - faster)
    if saved <= 0.0 or added <= saved * math.exp(-DEAREST_STEP):
        return loss, DEAREST_STEP
    return loss, math.log(saved / added)


def _log_shadow_price(workload: Workload, servers: int) -> float:
    """Return the logarithm of the shadow price; infinite where the load cannot be carried."""
    try:
        shadow_price = reserve(Scenario(workload, servers)).shadow_price
    except InfeasibleError:
        return math.inf
    return math.log(shadow_price) if shadow_price > 0.0 else -math.inf
