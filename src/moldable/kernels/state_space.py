"""The states of a chain of counts, and the rates between them.

A state is the number of jobs in each slot (a kind of job in a phase) whose widths fit on the
servers. States are ordered with the first slot running fastest, so the index of a state follows
from a table of numbers of states: `table[j, m]` counts those of the first j slots on m servers.
Rates into each state are stored row by row (CSR), as solvers use them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

from moldable.arrays import Floats
from moldable.kernels.bicgstab import bicgstab


@njit(nogil=True, cache=True)
def list_states(widths, servers, counts, idle):
    """Write every state into the columns of `counts`, and its idle servers into `idle`."""
    slots = widths.size
    jobs, left = np.zeros(slots, np.int64), servers
    for state in range(idle.size):
        for j in range(slots):
            counts[j, state] = jobs[j]
        idle[state] = left
        for j in range(slots):
            if left >= widths[j]:
                jobs[j] += 1
                left -= widths[j]
                break
            left += jobs[j] * widths[j]
            jobs[j] = 0


@njit(nogil=True, cache=True)
def place(jobs, servers, widths, table):
    """Return the index of a state: it follows all that have fewer jobs in some later slot."""
    left, before = servers, 0
    for j in range(widths.size - 1, -1, -1):
        rest = left - jobs[j] * widths[j]
        before += table[j + 1, left] - table[j + 1, rest]
        left = rest
    return before


@njit(nogil=True, cache=True)
def neighbours(counts, idle, servers, widths, table, fewer, more):
    """Write the indices of the states with one job less, and one more, in each slot; -1: none."""
    slots = widths.size
    jobs = np.zeros(slots, np.int64)
    for state in range(idle.size):
        for j in range(slots):
            jobs[j] = counts[j, state]
        for j in range(slots):
            fewer[j, state] = more[j, state] = -1
            jobs[j] -= 1
            if jobs[j] >= 0:
                fewer[j, state] = place(jobs, servers, widths, table)
            jobs[j] += 2
            if idle[state] >= widths[j]:
                more[j, state] = place(jobs, servers, widths, table)
            jobs[j] -= 1


@njit(nogil=True, cache=True)
def inflow(counts, idle, servers, widths, table, rates, outcomes, moves, start, source, rate, out):
    """Fill the rates into every state and the total rates out; return how many rates there are.

    Args:
        counts: the states, as `list_states` writes them.
        idle: their idle servers.
        servers: of the pool.
        widths: servers held in each slot.
        table: numbers of states, see above.
        rates: at which a job in each slot completes its phase.
        outcomes: rate of jobs that enter each slot, by idle servers (row); the last row holds for
            all larger numbers.
        moves: probability of each next phase, by slot (row); the rest to 1: completed.
        start: to fill: where the row of each state begins.
        source: to fill: the states that lead to it.
        rate: to fill: their rates.
        out: to fill: the total rate out of each state.
    """
    slots, phases, reach = widths.size, moves.shape[1], outcomes.shape[0] - 1
    jobs = np.zeros(slots, np.int64)
    entry = 0
    for state in range(idle.size):
        start[state] = entry
        total = 0.0
        for j in range(slots):
            jobs[j] = counts[j, state]
            total += outcomes[min(idle[state], reach), j] + rates[j] * jobs[j]
        out[state] = total
        for j in range(slots):
            if jobs[j] > 0:
                enters = outcomes[min(idle[state] + widths[j], reach), j]
                if enters > 0.0:
                    jobs[j] -= 1
                    source[entry], rate[entry] = place(jobs, servers, widths, table), enters
                    jobs[j] += 1
                    entry += 1
            first = j - j % phases
            done = 1.0
            for k in range(phases):
                done -= moves[j, k]
                target = first + k
                if moves[j, k] > 0.0 and jobs[target] > 0:
                    jobs[j] += 1
                    jobs[target] -= 1
                    source[entry] = place(jobs, servers, widths, table)
                    rate[entry] = rates[j] * jobs[j] * moves[j, k]
                    jobs[j] -= 1
                    jobs[target] += 1
                    entry += 1
            if idle[state] >= widths[j] and done > 1e-14:  # noqa: PLR2004 - rounding
                jobs[j] += 1
                source[entry] = place(jobs, servers, widths, table)
                rate[entry] = rates[j] * jobs[j] * done
                jobs[j] -= 1
                entry += 1
    start[idle.size] = entry
    return entry


@njit(nogil=True, cache=True)
def window_inflow(least, most, first, servers, widths, rates, outcomes, start, source, rate, out):
    """Fill the rates between the states of a window on two slots; return how many there are.

    For the numbers first, first + 1, ... of wide jobs, the window contains the numbers of narrow
    jobs from `least` to `most`; transitions out of it are left out. The other arguments are those
    of `inflow`; slot 0 is the narrow one.
    """
    lines, reach = least.size, outcomes.shape[0] - 1
    before = np.zeros(lines + 1, np.int64)
    for line in range(lines):
        before[line + 1] = before[line] + most[line] - least[line] + 1
    out[:] = 0.0
    entry = 0
    for line in range(lines):
        wide = first + line
        for narrow in range(least[line], most[line] + 1):
            state = before[line] + narrow - least[line]
            start[state] = entry
            for step in range(4):
                slot, sign = step >> 1, 1 - 2 * (step & 1)
                other = line + (sign if slot == 1 else 0)
                if other < 0 or other >= lines:
                    continue
                jobs = narrow + (sign if slot == 0 else 0)
                if jobs < least[other] or jobs > most[other]:
                    continue
                if sign > 0:  # a completion
                    flow = rates[slot] * ((wide if slot == 1 else narrow) + 1)
                else:  # an arrival
                    idle = servers - widths[0] * jobs - widths[1] * (first + other)
                    flow = outcomes[min(idle, reach), slot]
                if flow > 0.0:
                    origin = before[other] + jobs - least[other]
                    source[entry], rate[entry] = origin, flow
                    out[origin] += flow
                    entry += 1
    start[before[lines]] = entry
    return entry


@njit(nogil=True, cache=True)
def wander(rng, servers, widths, rates, outcomes, events, jobs, moments):
    """Simulate two slots and write means and variances of wide jobs and idle servers to `moments`.

    The first quarter of the events is a warm-up. `jobs` is the state; `outcomes` as in `inflow`.
    """
    reach, time = outcomes.shape[0] - 1, 0.0
    idle = servers - jobs[0] * widths[0] - jobs[1] * widths[1]
    wide_shift, idle_shift = 0.0, 0.0
    moments[:] = 0.0
    for event in range(events):
        row = min(idle, reach)
        into = outcomes[row, 0] + outcomes[row, 1]
        ends = rates[0] * jobs[0]
        total = into + ends + rates[1] * jobs[1]
        if event == events // 4:
            # Moments are taken about this state to avoid cancellation.
            wide_shift, idle_shift = float(jobs[1]), float(idle)
        if event >= events // 4:
            x, z = jobs[1] - wide_shift, idle - idle_shift
            time += 1.0 / total
            moments[0] += x / total
            moments[1] += x * x / total
            moments[2] += z / total
            moments[3] += z * z / total
        u = rng.random() * total
        if u < into:
            slot, change = 0 if u < outcomes[row, 0] else 1, 1
        else:
            slot, change = 0 if u - into < ends else 1, -1
        jobs[slot] += change
        idle -= change * widths[slot]
    for i in range(4):
        moments[i] /= time
    moments[1] -= moments[0] * moments[0]
    moments[3] -= moments[2] * moments[2]
    moments[0] += wide_shift
    moments[2] += idle_shift


@njit(nogil=True, cache=True)
def sweep(start, source, rate, out, right, found):
    """Solve the balance equations roughly: a symmetric Gauss-Seidel sweep from zero.

    This is the preconditioner of `improve`. The sweep upwards passes information on along arrivals,
    the one downwards along completions; with one of them alone, steps are five times as many.
    """
    states = out.size
    for state in range(states):
        total = right[state]
        for entry in range(start[state], start[state + 1]):
            if source[entry] < state:
                total += rate[entry] * found[source[entry]]
        found[state] = total / out[state]
    for state in range(states - 1, -1, -1):
        total = 0.0
        for entry in range(start[state], start[state + 1]):
            if source[entry] > state:
                total += rate[entry] * found[source[entry]]
        found[state] += total / out[state]


@njit(nogil=True, cache=True)
def imbalance(start, source, rate, out, weight, gap):
    """Write rate out minus rate in of every state into `gap`."""
    for state in range(out.size):
        total = out[state] * weight[state]
        for entry in range(start[state], start[state + 1]):
            total -= rate[entry] * weight[source[entry]]
        gap[state] = total


@njit(nogil=True, cache=True)
def exact_imbalance(start, source, rate, high, low, gap):
    """Write the net rate out of every state for the weights high + low into `gap`.

    Error-free transformations (Knuth, Dekker) keep the rounding errors of all sums and products, so
    `gap` is accurate to all digits in spite of cancellation. The rates out of a state are summed
    from `rate` without rounding, too.
    """
    rest = np.zeros(gap.size)
    gap[:] = 0.0
    for state in range(gap.size):
        for entry in range(start[state], start[state + 1]):
            origin = source[entry]
            a, b = rate[entry], high[origin]
            flow = a * b
            wide = 134217729.0 * a
            a_high = wide - (wide - a)
            wide = 134217729.0 * b
            b_high = wide - (wide - b)
            a_low, b_low = a - a_high, b - b_high
            error = a_low * b_low - (((flow - a_high * b_high) - a_low * b_high) - a_high * b_low)
            error += a * low[origin]
            total = gap[origin] + flow
            part = total - gap[origin]
            rest[origin] += (gap[origin] - (total - part)) + (flow - part) + error
            gap[origin] = total
            total = gap[state] - flow
            part = total - gap[state]
            rest[state] += (gap[state] - (total - part)) - (flow + part) - error
            gap[state] = total
    for state in range(gap.size):
        gap[state] += rest[state]


def improve(
    chain: tuple[Any, ...],
    gap: Floats,
    steps: int,
    gain: float,
    step: Floats,
    correct: Callable[[Floats, Floats], None] | None = None,
) -> int:
    """Solve imbalance(step) = gap by BiCGSTAB to the relative residual `gain`; return the steps.

    `chain` is (start, source, rate, out), as `sweep` and `imbalance` take them. `correct` is called
    with (vector, solved) after each sweep and improves the preconditioned vector `solved`.
    """

    def apply(right: Floats, solved: Floats, image: Floats) -> None:
        sweep(*chain, right, solved)
        if correct is not None:
            correct(right, solved)
        imbalance(*chain, solved, image)

    step[:] = 0.0
    return bicgstab(apply, step, gap.copy(), gain, steps)[0]


@njit(nogil=True, cache=True)
def relax(start, source, rate, out, weight):
    """Apply one Gauss-Seidel sweep to the weights, in place."""
    for state in range(out.size):
        total = 0.0
        for entry in range(start[state], start[state + 1]):
            total += rate[entry] * weight[source[entry]]
        weight[state] = total / out[state]


@njit(nogil=True, cache=True)
def kaufman_roberts(servers, widths, offered):
    """Return the distribution of busy servers for rigid jobs by the Kaufman-Roberts recursion.

    Weights are scaled down when they become large, to avoid overflow; those that have been scaled
    down twice are negligible.
    """
    weight = np.zeros(servers + 1)
    weight[0] = 1.0
    older, last = 0, 0
    for busy in range(1, servers + 1):
        value = 0.0
        for k in range(widths.size):
            if widths[k] <= busy:
                value += offered[k] * widths[k] * weight[busy - widths[k]]
        weight[busy] = value / busy
        if weight[busy] > 1e250:  # noqa: PLR2004 - far from overflow, and seldom reached
            # Slices and sums of arrays would take seconds longer to compile.
            for i in range(older, last):
                weight[i] = 0.0
            for i in range(last, busy + 1):
                weight[i] *= 1e-250
            older, last = last, busy + 1
    total = 0.0
    for i in range(servers + 1):
        total += weight[i]
    for i in range(servers + 1):
        weight[i] /= total
    return weight
