"""How many jobs a cluster completes per unit of time while jobs always wait."""

from __future__ import annotations

import numpy as np

from moldable.arrays import Floats, Ints
from moldable.exact.queue_model import class_shares, idle_step, occurring_rows, tables_behind
from moldable.model.assumptions import ROUNDING
from moldable.system.loss_system import System

ENDLESS = 2**62
"""Number of waiting jobs that no table of a policy exceeds."""


def saturated_throughput(system: System) -> float | None:
    """Return the jobs completed per unit of time with an endless queue, from an empty cluster on.

    It is known where no head holds while servers are idle: then freed servers are divided by the
    policy's tables, and never joined again. Jobs that arrive at this rate or faster let the queue
    grow without limit. Where some configurations never divide, other ones than those that an empty
    cluster leads to may have another throughput; the chain looks at all that can occur.

    Args:
        system: of classes that share servers; sizes of any distribution.

    Returns:
        The throughput; None if a head may hold while servers are idle.
    """
    from moldable.kernels.blocks import block_throughput

    tables, shares, step = tables_behind(system, ENDLESS), class_shares(system), idle_step(system)
    rows = max(table.shape[0] for table in tables)
    reached = occurring_rows(system, rows)
    mixed = np.zeros((rows, system.kind_width.size))
    for table, share in zip(tables, shares, strict=True):
        granted = table[np.minimum(np.arange(rows), table.shape[0] - 1)]
        if np.any(granted[reached[reached > 0]].sum(axis=1) < 1.0 - ROUNDING):
            return None
        mixed += share * granted
    widths = np.unique(system.kind_width)
    chances, times = _by_width(system, mixed, widths)
    kept = np.zeros(int(widths[-1]) // step + 1)
    place = np.minimum(widths, rows - 1)
    own = times[place, np.arange(widths.size)]
    kept[widths // step] = np.divide(1.0, own, out=np.zeros(widths.size), where=own > 0.0)
    # Numbers of idle servers are multiples of the step.
    steps = np.minimum(np.arange(0, rows - 1 + step, step), rows - 1)
    return float(block_throughput(system.servers // step, widths // step, chances[steps], kept))


def _by_width(system: System, mixed: Floats, widths: Ints) -> tuple[Floats, Floats]:
    """Return the probability of each width, and its part of the mean execution time, by row."""
    chances = np.zeros((mixed.shape[0], widths.size))
    times = np.zeros_like(chances)
    for kind, column in enumerate(np.searchsorted(widths, system.kind_width).tolist()):
        chances[:, column] += mixed[:, kind]
        times[:, column] += mixed[:, kind] * system.kind_scale[kind]
    return chances, times
