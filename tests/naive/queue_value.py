"""Naive version of the value function of a queue: enumerated outcomes and dense equations.

Kinds are tuples (class, width, mean time, weight), classes given by their arrival rates. A table is
a function (class, free servers, jobs behind) -> kind, or None where nothing fits.
"""

from __future__ import annotations

import numpy as np

STRAY = 1e-6


def outcomes(kinds, rates, table, free, waiting):
    """List (probability, kinds that start, level) of offering free servers to waiting jobs."""
    if waiting == 0:
        return [(1.0, (), free)]
    if free == 0:
        return [(1.0, (), -waiting)]
    found = []
    for j, rate in enumerate(rates):
        share, kind = rate / sum(rates), table(j, free, waiting - 1)
        if kind is None:
            kind = next(k for k, (owner, *_) in enumerate(kinds) if owner == j)
            used = free / kinds[kind][1]
            found.append((share * (1.0 - used), (), -waiting))
            share, left = share * used, 0
        else:
            left = free - kinds[kind][1]
        for chance, starts, level in outcomes(kinds, rates, table, left, waiting - 1):
            found.append((share * chance, (kind, *starts), level))
    return found


def arrivals(kinds, rates, table, level, lowest):
    """List (rate, kinds that start, next level) of the arrivals at a level."""
    if level <= 0:
        return [(sum(rates), (), max(level - 1, lowest))]
    found = []
    for j, rate in enumerate(rates):
        fitting = [k for k, (owner, width, *_) in enumerate(kinds) if owner == j and width <= level]
        for kind in fitting:
            chosen = 1.0 - STRAY if table(j, level, 0) == kind else 0.0
            found.append((rate * (chosen + STRAY / len(fitting)), (kind,), level - kinds[kind][1]))
        if not fitting:
            narrowest = next(k for k, (owner, *_) in enumerate(kinds) if owner == j)
            used = level / kinds[narrowest][1]
            found += [(rate * used, (narrowest,), 0), (rate * (1.0 - used), (), -1)]
    return found


def departures(kinds, rates, table, kind, level, top):
    """List (probability, kinds that start, next level) of a departure; none beyond the top."""
    width = kinds[kind][1]
    if level > 0:
        return [(1.0, (), level + width)] if level + width <= top else []
    return outcomes(kinds, rates, table, width, -level)


class Dense:
    """The equations of one table and one mix, an array by kind and level."""

    def __init__(self, kinds, rates, servers, table, lowest, mix):
        self.kinds, self.rates, self.table = kinds, rates, table
        self.levels = list(range(lowest, servers + 1))
        self.mix = mix
        self.lowest, self.top = lowest, servers
        self.widths = np.array([kind[1] for kind in kinds], dtype=float)
        self.times = np.array([kind[2] for kind in kinds])
        self.coming = [arrivals(kinds, rates, table, y, lowest) for y in self.levels]
        self.going = [
            [departures(kinds, rates, table, k, y, servers) for y in self.levels]
            for k in range(len(kinds))
        ]
        self.spread = np.maximum(self.widths**2 @ mix, 1e-12)

    def generator(self, weights):
        """Return the generator where kind k ends at the rates weights[k] by level.

        Where few jobs run, a sum of weights may be negative, which counts as 0.
        """
        size = len(self.levels)
        rates = np.zeros((size, size))
        for i in range(size):
            for k, going in enumerate(self.going):
                for chance, _, to in going[i]:
                    rates[i, to - self.lowest] += weights[k][i] * chance
        rates = np.maximum(rates, 0.0)
        for i in range(size):
            for rate, _, to in self.coming[i]:
                rates[i, to - self.lowest] += rate
        return rates - np.diag(rates.sum(axis=1))

    def law(self):
        generator = self.generator(self.mix / self.times[:, None])
        equations = np.vstack([generator.T, np.ones(len(self.levels))])
        right = np.append(np.zeros(len(self.levels)), 1.0)
        return np.linalg.lstsq(equations, right, rcond=None)[0]

    def expected(self, law):
        """Return E[number of running jobs of each kind; level], before it is scaled."""
        size, ends = len(self.levels), self.mix / self.times[:, None]
        starts = np.zeros((len(self.kinds), size))
        for i in range(size):
            moves = list(self.coming[i])
            for k, going in enumerate(self.going):
                moves += [(ends[k, i] * chance, begun, to) for chance, begun, to in going[i]]
            for rate, begun, to in moves:
                for kind in begun:
                    starts[kind, to - self.lowest] += law[i] * rate
        found = []
        for k, width in enumerate(self.widths):
            others = ends * (1.0 - np.outer(self.widths * width, 1.0 / self.spread))
            matrix = self.generator(others) - np.eye(size) / self.times[k]
            found.append(np.linalg.solve(matrix.T, -starts[k]))
        return np.array(found)

    def value(self, law, waiting_cost, lost):
        """Return g, the a_k, b and the mean cost from one dense system."""
        size, count = len(self.levels), len(self.kinds)
        unknowns = size + count + 2  # g, a, b, mean cost
        pair = [[self.coefficient(k, i) for i in range(size)] for k in range(count)]
        rows = []
        for i, y in enumerate(self.levels):
            row = np.zeros(unknowns + 1)
            for rate, begun, to in self.coming[i]:
                row += rate * self.change(i, to, begun, self.mix[:, i])
            for k, going in enumerate(self.going):
                present = self.mix[:, i] * self.others(k, i)
                for chance, begun, to in going[i]:
                    rate = self.mix[k, i] / self.times[k] * chance
                    row += rate * (self.change(i, to, begun, present) - self.own(k, i))
                if not going[i]:
                    row -= self.mix[k, i] / self.times[k] * self.own(k, i)
            weights = np.array([kind[3] for kind in self.kinds])
            mean_weight = sum(
                rate * next(kind[3] for kind in self.kinds if kind[0] == j)
                for j, rate in enumerate(self.rates)
            ) / sum(self.rates)
            row[-1] += weights @ self.mix[:, i] + waiting_cost * mean_weight * max(-y, 0)
            row[-1] += lost * sum(self.rates) if i == 0 else 0.0
            row[unknowns - 1] -= 1.0
            rows.append(row)
        held = self.widths * self.times
        for v in [*np.eye(count), None]:
            row = np.zeros(unknowns + 1)
            for i, y in enumerate(self.levels):
                project = held * max(-y, 0) if v is None else v
                rent = (
                    sum(self.mix[k, i] * self.widths[k] * pair[k][i] for k in range(count))
                    / self.spread[i]
                )
                for k in range(count):
                    weight = law[i] * self.mix[k, i] * project[k]
                    row += weight * (pair[k][i] - self.widths[k] * rent)
            rows.append(row / max(abs(row[:-1]).max(), 1e-300))
        gauge, origin = np.zeros((2, unknowns + 1))
        gauge[size : size + count] = self.mix @ law
        origin[-self.lowest] = 1.0
        system = np.array([*rows, gauge, origin])
        found = np.linalg.lstsq(system[:, :-1], -system[:, -1], rcond=None)[0]
        return found[:size], found[size : size + count], found[-2], found[-1]

    def coefficient(self, k, i):
        """Return c_k at a level as coefficients of the unknowns, the constant part last."""
        found = np.zeros(len(self.levels) + len(self.kinds) + 3)
        found[-1] = self.kinds[k][3]
        alone = np.zeros(len(self.kinds))
        alone[k] = 1.0
        for rate, _, to in self.coming[i]:
            found += rate * (self.change(i, to, (), alone) - self.change(i, to, (), 0.0 * alone))
        for j, going in enumerate(self.going):
            seen = self.mix[j, i] / self.times[j] * self.others(j, i)[k]
            for chance, _, to in going[i]:
                found += seen * chance * self.change(i, to, (), alone)
                found -= seen * chance * self.change(i, to, (), 0.0 * alone)
        present = self.mix[:, i] * self.others(k, i)
        found -= self.own(k, i) / self.times[k]
        for chance, begun, to in self.going[k][i]:
            found += chance / self.times[k] * self.change(i, to, begun, present)
        return found

    def others(self, k, i):
        return 1.0 - self.widths * self.widths[k] / self.spread[i]

    def own(self, k, i):
        """Return a_k + b q s_k as coefficients of the unknowns."""
        size = len(self.levels)
        found = np.zeros(size + len(self.kinds) + 3)
        found[size + k] = 1.0
        found[-3] = max(-self.levels[i], 0) * self.widths[k] * self.times[k]
        return found

    def change(self, i, to, begun, present):
        """Return the change of h by a move, with `present` jobs that run on, as coefficients."""
        found = np.zeros(len(self.levels) + len(self.kinds) + 3)
        j = to - self.lowest
        found[j] += 1.0
        found[i] -= 1.0
        for kind in begun:
            found += self.own(kind, j)
        for k, number in enumerate(np.asarray(present)):
            found += number * (self.own(k, j) - self.own(k, i))
        return found
