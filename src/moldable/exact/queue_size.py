"""The number of states of a cluster with a queue, before any of them is listed."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from moldable.arrays import Floats, Ints
from moldable.exact.queue_model import QueueModel, queue_model
from moldable.exact.states import LARGEST_TABLE, count_states
from moldable.system.loss_system import System
from moldable.system.saturation import saturated_throughput

DIGITS: Final = math.log(1e18)
"""Decrease of the probabilities of long queues down to which they are listed, about."""


def predicted_queue_states(system: System) -> int:
    """Predict the number of states that `solve_queue` lists, without allocating them.

    Configurations that cannot be reached are also counted. For an unlimited queue the number of
    waiting jobs that matter is estimated from the load. Systems without a chain are refused as by
    `solve_queue`.
    """
    model = queue_model(system)
    widths = model.model.slot_widths
    configurations = float(count_states(widths, system.servers))
    waiting = float(model.holds.sum(axis=1) @ _with_idle(widths, system.servers))
    levels = model.places
    if math.isinf(levels):
        levels = model.level + max(float(model.most_grants), _levels(model))
    return int(min(configurations + waiting * levels, 1e17))


def _with_idle(widths: Ints, servers: int) -> Floats:
    """Count the configurations that leave 0, 1, ... servers idle; roughly on huge clusters."""
    if servers > LARGEST_TABLE:
        return np.full(servers + 1, float(count_states(np.sort(widths)[1:], servers)))
    exact = np.zeros(servers + 1)
    exact[0] = 1.0
    for width in widths.tolist():
        for first in range(min(width, servers + 1)):
            exact[first::width] = np.minimum(np.cumsum(exact[first::width]), 1e17)
    return exact[::-1]


def _levels(model: QueueModel) -> float:
    """Estimate the number of levels that matter, from the load and the variability of sizes."""
    system = model.system
    throughput = saturated_throughput(system)
    if throughput is None:
        # At best every job takes its least server-time.
        needed = [
            (system.kind_width * system.kind_scale)[system.kind_class == j].min(initial=math.inf)
            for j in range(model.shares.size)
        ]
        throughput = system.servers / float(model.shares @ np.array(needed))
    if throughput <= model.arrival_rate:
        return 0.0  # apparently unstable: the first levels decide
    spread = np.array([job_class.size.variance for job_class in system.workload.classes])
    # The heavy-traffic approximation of the decay of a queue's probabilities.
    decay = math.log(throughput / model.arrival_rate) * 2.0 / (1.0 + float(model.shares @ spread))
    return min(DIGITS / decay, 1e15)
