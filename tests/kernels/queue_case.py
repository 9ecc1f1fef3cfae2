"""Small random clusters that queue jobs, for the kernel and for its naive twin."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np

from moldable.kernels.queue_ring import BINS, queue_ring
from moldable.simulation.alias_table import alias_table
from moldable.simulation.queue_run import Fifo
from naive.queueing import run

COLUMNS = 3
UNLIMITED = 1 << 62


@dataclass(frozen=True)
class QueueCase:
    """A cluster, the jobs that arrive, and the jobs that run at time 0.

    `tables[class]` are AliasTables by jobs behind; `kinds` are (width, scale).
    """

    servers: int
    places: int
    tables: list
    kinds: list
    times: np.ndarray
    sizes: np.ndarray
    labels: np.ndarray
    picks: np.ndarray
    running: list
    bound: float = 0.0

    def naive(self):
        """Run the twin."""
        jobs = (self.times, self.sizes, self.labels, self.picks)
        return run(*jobs, self.tables, self.servers, self.places, self.kinds, self.running)

    def kernel(self, function=queue_ring, *, buckets=64, capacity=1024, block=10**9):
        """Run the kernel, block after block, and double the queue when it is full."""
        ring, table = self._ring(buckets), self._table()
        classes, count = len(self.tables), len(self.times)
        draws = self.picks.size > 0
        fifo = Fifo.empty(classes=classes, draws=draws, numbers=True, capacity=capacity)
        found = SimpleNamespace(
            granted=np.zeros(len(self.kinds), np.int64),
            booked=np.zeros(len(self.kinds)),
            blocked=np.zeros(classes, np.int64),
            waited=np.zeros(classes, np.int64),
            wait=np.zeros(classes),
            slowdown=np.zeros(classes),
            bounded=np.zeros(classes),
            waits=np.zeros((classes, BINS), np.int64),
            responses=np.zeros((classes, BINS), np.int64),
            starts=np.full(count, np.nan),
            kinds=np.full(count, -2),
        )
        begin = doublings = 0
        while begin < count:
            part = slice(begin, min(begin + block, count))
            jobs = (self.times[part], self.sizes[part], self.labels[part], self.picks[part])
            done = function(*jobs, *table, *vars(ring).values(), *fifo, *vars(found).values())
            if done < jobs[0].size:
                assert fifo.ends[1] == fifo.times.size
                fifo = fifo.doubled()
                doublings += 1
            begin += done
        found.fifo, found.ring, found.doublings = fifo, ring, doublings
        return found

    def _table(self):
        """Return the constant arguments of the kernel."""
        last, start, entries = len(self.kinds), [], [[], [], []]
        for tables in self.tables:
            start.append(sum(map(len, entries[0])))
            for table in tables:
                for rows, part in zip(entries, table, strict=True):
                    rows.append(part.ravel())
        threshold, first, second = map(np.concatenate, entries)
        reach = np.array([tables[0].threshold.shape[0] - 1 for tables in self.tables])
        behind = np.array([len(tables) - 1 for tables in self.tables])
        queue_idle = np.array([tables[-1].threshold.shape[0] - 1 for tables in self.tables])
        widths, scales = map(np.array, zip(*self.kinds, strict=True))
        outcomes = [np.where(part == last, -1, part) for part in (first, second)]
        columns = self.tables[0][0].columns
        lists = (np.array(start), columns, reach, behind, queue_idle, widths, scales * 1.0)
        return (threshold, *outcomes, *lists, self.places, self.bound)

    def _ring(self, buckets):
        """Return the running jobs as the kernel keeps them."""
        most = self.servers
        ring = SimpleNamespace(
            heads=np.full(buckets, -1, np.int32),
            following=np.zeros(most, np.int32),
            departure=np.zeros(most),
            kind=np.zeros(most, np.int32),
            free=np.arange(most, dtype=np.int32),
            cursors=np.array([0, most]),
            idle=np.array([self.servers]),
        )
        for departure, kind in self.running:
            ring.cursors[1] -= 1
            job = ring.free[ring.cursors[1]]
            slot = int(departure) % buckets
            ring.departure[job], ring.kind[job] = departure, kind
            ring.following[job], ring.heads[slot] = ring.heads[slot], job
            ring.idle[0] -= self.kinds[kind][0]
        return ring


def jobs_in(ring):
    """Return (departure, kind) of all jobs in the ring."""
    found = []
    for head in ring.heads.tolist():
        job = head
        while job >= 0:
            found.append((float(ring.departure[job]), int(ring.kind[job])))
            job = int(ring.following[job])
    return found


def random_case(seed, *, places=None, draws=None, grid=None, jobs=200):
    """Return a random cluster; on a grid of times, many events happen at the same time."""
    rng = np.random.default_rng(seed)
    servers, classes = int(rng.integers(1, 13)), int(rng.integers(1, 4))
    grid = bool(rng.random() < 0.4) if grid is None else grid
    draws = bool(rng.random() < 0.6) if draws is None else draws
    kind_class, kinds = [], []
    for j in range(classes):
        # Without width 1 the head may have to wait although servers are idle.
        widths = np.flatnonzero(rng.random(4) < 0.5) + 1
        widths = widths[widths <= servers] if rng.random() < 0.9 else widths
        for width in widths.tolist() or [1]:
            kind_class.append(j)
            scale = 2.0 ** -int(rng.integers(0, 3)) if grid else float(rng.uniform(0.3, 1.0))
            kinds.append((width, scale * rng.choice([1.0, 8.0])))
    # Few heads decline all servers and so stop everybody for good.
    surely = servers if rng.random() < 0.85 else UNLIMITED
    tables = []
    for j in range(classes):
        own = np.array(kind_class) == j
        least = min(width for (width, _), ok in zip(kinds, own, strict=True) if ok)
        last, queue_idle = rng.integers(min(least, servers), servers + 3, 2).tolist()
        rows = [last, *[queue_idle] * int(rng.integers(0, 4))]
        tables.append([_table(rng, last, kinds, own, surely, draws=draws) for last in rows])
    load = rng.choice([0.5, 0.9, 2.0])
    gap = max(width * scale for width, scale in kinds) / servers / load
    times = np.cumsum(rng.exponential(gap, jobs))
    sizes = rng.exponential(1.0, jobs) if rng.random() < 0.5 else rng.pareto(1.3, jobs)
    if grid:
        times, sizes = np.floor(4.0 * times) / 4.0, np.floor(4.0 * sizes) / 4.0
    running = _running(rng, servers, kinds, grid=grid)
    return QueueCase(
        servers,
        int(rng.choice([0, 1, 3, UNLIMITED])) if places is None else places,
        tables,
        kinds,
        times,
        sizes,
        rng.integers(0, classes, jobs) if classes > 1 else np.zeros(0, np.int64),
        rng.random(jobs) if draws else np.zeros(0),
        running,
        float(rng.choice([0.0, 0.5, 2.0])),
    )


def _table(rng, last, kinds, own, surely, *, draws):
    """Return random rows for 0 to `last` idle servers; some decline what others take.

    From `surely` idle servers on, or in the last row if that is earlier, none decline.
    """
    rows = np.zeros((last + 1, len(kinds) + 1))
    rows[0, -1] = 1.0
    for idle in range(1, last + 1):
        allowed = np.flatnonzero([ok and w <= idle for (w, _), ok in zip(kinds, own, strict=True)])
        sure = surely < UNLIMITED and idle >= min(surely, last)
        if allowed.size == 0 or (rng.random() < 0.15 and not sure):
            rows[idle, -1] = 1.0
        elif draws:
            outcomes = allowed if sure else np.append(allowed, len(kinds))[: COLUMNS + 1]
            rows[idle, outcomes] = rng.dirichlet(np.ones(outcomes.size))
        else:
            rows[idle, rng.choice(allowed)] = 1.0
    return alias_table(rows, COLUMNS if draws else 1)


def _running(rng, servers, kinds, *, grid):
    """Return (departure, kind) of some jobs that fit on the servers."""
    found, idle = [], servers
    while rng.random() < 0.7:
        kind = int(rng.integers(len(kinds)))
        if kinds[kind][0] > idle:
            break
        idle -= kinds[kind][0]
        left = float(rng.exponential(3.0))
        found.append((np.floor(4.0 * left) / 4.0 if grid else left, kind))
    return found
