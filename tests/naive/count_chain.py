"""Naive version of the lock-step chain: one replication, one event at a time."""

from __future__ import annotations

MASK = 2**64 - 1


class Xoshiro:
    """xoshiro256+ after its published description, in Python integers."""

    def __init__(self, words):
        self.s = [int(word) for word in words]

    def uniform(self) -> float:
        """Return the next number in [0, 1) with 52 random bits."""
        s = self.s
        result = (s[0] + s[3]) & MASK
        t = (s[1] << 17) & MASK
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= t
        s[3] = ((s[3] << 45) | (s[3] >> 19)) & MASK
        return (result >> 12) / 2**52


def run(uniforms, model, table, servers, jobs, ticks):
    """Run ticks; `jobs` maps slots to counts.

    Returns (jobs, idle, granted by slot, blocked by class).
    """
    slots, phases = len(model.rates), model.phases
    idle = servers - sum(int(w) * x for w, x in zip(model.widths, jobs, strict=True))
    granted, blocked = [0] * slots, [0] * (model.outcomes.shape[1] - slots)
    for _ in range(ticks):
        u = next(uniforms) * model.total_rate
        if u < model.arrival_rate:
            outcome = _outcome(table, min(idle, table.threshold.shape[0] - 1), u, model)
            if outcome >= slots:
                blocked[outcome - slots] += 1
            else:
                granted[outcome] += 1
                jobs[outcome] += 1
                idle -= int(model.widths[outcome])
            continue
        left = u - model.arrival_rate
        for slot in range(slots):
            rate = model.rates[slot] * jobs[slot]
            if left < rate:
                jobs[slot] -= 1
                target = _next_phase(model, slot, left, rate)
                if target is None:
                    idle += int(model.widths[slot])
                else:
                    jobs[slot - slot % phases + target] += 1
                break
            left -= rate
    return jobs, idle, granted, blocked


def _outcome(table, row, u, model):
    drawn = u * (table.columns / model.arrival_rate)
    column = min(int(drawn), table.columns - 1)
    below = drawn - column < table.threshold[row, column]
    return int((table.first if below else table.second)[row, column])


def _next_phase(model, slot, left, rate):
    for phase in range(model.phases):
        if left < rate * model.jumps[slot * model.phases + phase]:
            return phase
    return None
