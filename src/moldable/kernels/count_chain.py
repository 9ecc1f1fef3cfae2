"""Simulate the counts of running jobs when sizes are exponential or phase-type.

The chain is uniformised: every tick of a clock of fixed rate is an arrival, a completed phase, or
nothing, so averages over ticks are averages over time. Several replications run in lock step, one
in each lane; lanes are independent, so their number changes no result. Everything a tick touches
stands in one buffer, at offsets known at compile time: this lets LLVM vectorise the loops over
lanes without any fastmath flag, so the results are the same with the JIT off.

Rows of the buffer, one column for each lane: four words of the generator's state (read as
integers), a uniform number, the chosen table entry, the idle servers, then for each slot (a kind of
job in a phase) its jobs, for each slot the jobs granted into it, and for each class its blocked
jobs.
"""

from __future__ import annotations

import numpy as np
from numba import njit

CODES = 64  # an entry of the table packs two outcomes below this into one number
UNIFORM, PICKED, IDLE, JOBS = 4, 5, 6, 7

_MANTISSA_OF_ONE = np.uint64(0x3FF0000000000000)
_A, _B, _C, _D = np.uint64(17), np.uint64(45), np.uint64(19), np.uint64(12)


@njit(nogil=True, cache=True)
def count_chain(
    words,
    buffer,
    table,
    columns,
    reach,
    rates,
    widths,
    jumps,
    lane_set,
    phases,
    classes,
    arrival_rate,
    total_rate,
    blocks,
    ticks,
    sums,
):
    """Run `blocks` x `ticks` ticks and add the jobs of each slot to `sums` after each block.

    Args:
        words: the buffer seen as unsigned integers.
        buffer: see above; all counts are integers stored as floats.
        table: packed outcomes of an arrival, `columns` to a row, a row for each idle count up to
            `reach`: the integer part holds two outcomes, the fraction the share of the first.
        columns: entries in a row, as a float.
        reach: last row, as a float.
        rates: rate at which a job in each slot completes its phase.
        widths: servers held by a job in each slot.
        jumps: for each slot, cumulative probabilities of the next phase; above the last: completed.
        lane_set: a tuple whose length is the number of lanes, known at compile time.
        phases: a tuple whose length is the number of phases.
        classes: a tuple whose length is the number of classes.
        arrival_rate: of all classes together.
        total_rate: of the clock.
        blocks: number of blocks.
        ticks: ticks in a block.
        sums: jobs of each slot and lane, summed over the ends of blocks.
    """
    slots, stages, lanes = len(rates), len(phases), len(lane_set)
    granted = JOBS + slots
    blocked = granted + slots
    scale = columns / arrival_rate
    last_column = columns - 1.0
    for _ in range(blocks):
        for _ in range(ticks):
            # xoshiro256+ (Blackman and Vigna, public domain), one generator to a lane.
            for lane in range(lanes):
                s0, s1 = words[lane], words[lanes + lane]
                s2, s3 = words[2 * lanes + lane], words[3 * lanes + lane]
                words[UNIFORM * lanes + lane] = ((s0 + s3) >> _D) | _MANTISSA_OF_ONE
                t = s1 << _A
                s2 ^= s0
                s3 ^= s1
                s1 ^= s2
                s0 ^= s3
                s2 ^= t
                s3 = (s3 << _B) | (s3 >> _C)
                words[lane], words[lanes + lane] = s0, s1
                words[2 * lanes + lane], words[3 * lanes + lane] = s2, s3
            for lane in range(lanes):
                drawn = (buffer[UNIFORM * lanes + lane] - 1.0) * total_rate * scale
                row = min(buffer[IDLE * lanes + lane], reach)
                column = min(np.floor(drawn), last_column)
                buffer[PICKED * lanes + lane] = row * columns + column
            # The one step that cannot be vectorised has a loop of its own.
            for lane in range(lanes):
                entry = np.int32(buffer[PICKED * lanes + lane])
                buffer[PICKED * lanes + lane] = table[np.uint32(entry)]
            for lane in range(lanes):
                u = (buffer[UNIFORM * lanes + lane] - 1.0) * total_rate
                drawn = u * scale
                entry = buffer[PICKED * lanes + lane]
                code = np.floor(entry)
                first = np.floor(code * (1.0 / CODES))
                second = code - CODES * first
                fraction = drawn - min(np.floor(drawn), last_column)
                outcome = first if fraction < entry - code else second
                outcome = outcome if u < arrival_rate else -1.0
                left = u - arrival_rate
                idle = buffer[IDLE * lanes + lane]
                for slot in range(slots):
                    jobs = buffer[(JOBS + slot) * lanes + lane]
                    rate = rates[slot] * jobs
                    ends = (left >= 0.0) & (left < rate)
                    goes = 1.0 if ends else 0.0
                    comes = 1.0 if outcome == slot else 0.0
                    buffer[(JOBS + slot) * lanes + lane] = jobs + comes - goes
                    buffer[(granted + slot) * lanes + lane] += comes
                    freed = goes
                    if stages > 1:
                        base = slot - slot % stages
                        low = 0.0
                        for stage in range(stages):
                            high = rate * jumps[slot * stages + stage]
                            moves = 1.0 if ends & (left >= low) & (left < high) else 0.0
                            buffer[(JOBS + base + stage) * lanes + lane] += moves
                            freed -= moves
                            low = high
                        # A job that moved on must not complete its next phase in the same tick.
                        left = -1.0 if ends else left
                    left -= rate
                    idle += widths[slot] * (freed - comes)
                buffer[IDLE * lanes + lane] = idle
                for j in range(len(classes)):
                    lost = 1.0 if outcome == slots + j else 0.0
                    buffer[(blocked + j) * lanes + lane] += lost
        for k in range(slots * lanes):
            sums[k] += buffer[JOBS * lanes + k]
