"""Throughput of servers that are divided among jobs and never joined again."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(nogil=True, cache=True)
def block_throughput(servers, widths, chances, kept_rate):
    """Return the jobs per unit of time on the blocks that idle servers are divided into.

    While jobs wait, a freed block of z servers goes to the next job whole, or is divided into what
    that job gets and a rest, which are freed separately from then on. So with F(z) for the final
    blocks of z servers,

        F(z) (1 - P(z | z)) = sum over w < z of P(w | z) (F(w) + F(z - w)),

    and a block that is always kept whole has the rate of its own jobs.

    Args:
        servers: size of the first block.
        widths: that occur.
        chances: probability of each width (column) by idle servers (row); each row adds up to 1;
            the last one holds for all larger numbers.
        kept_rate: for each number of servers up to the widest width, the rate of jobs that hold all
            of them, one after the other.
    """
    widest = kept_rate.size - 1
    # F of small blocks, and of the largest ones so far.
    small, recent = np.zeros(widest + 1), np.zeros(widest + 1)
    found = 0.0
    for block in range(1, servers + 1):
        row = min(block, chances.shape[0] - 1)
        found, whole = 0.0, 0.0
        for i in range(widths.size):
            chance, width = chances[row, i], widths[i]
            if chance > 0.0 and width < block:
                found += chance * (small[width] + recent[(block - width) % (widest + 1)])
            elif chance > 0.0 and width == block:
                whole = chance
        if whole > 1.0 - 1e-12:  # noqa: PLR2004 - rounding
            found = kept_rate[block]
        else:
            found /= 1.0 - whole
        recent[block % (widest + 1)] = found
        if block <= widest:
            small[block] = found
    return found
