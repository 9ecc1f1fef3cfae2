"""Naive version of the ring with a queue: one event after the other, from a sorted list."""

from __future__ import annotations

import heapq
from collections import deque
from dataclasses import dataclass, field


@dataclass
class Outcome:
    """What became of the jobs.

    `starts` and `kinds` are those of each job: None if it was blocked or still waits. `waiting`
    are the jobs in the queue, `events` all changes of its length as (time, class, change).
    """

    starts: list
    kinds: list
    blocked: list = field(default_factory=list)
    waiting: list = field(default_factory=list)
    running: list = field(default_factory=list)
    events: list = field(default_factory=list)
    idle: int = 0


def run(times, sizes, labels, picks, tables, servers, places, kinds, running=()):  # noqa: C901 - all events in one place
    """Let jobs arrive.

    `tables[class]` is a list of AliasTables, by the number of jobs behind the one that is offered
    servers; the last also for more. Their rows are idle servers, the last also for more, and their
    outcome `len(kinds)` means that the job declines. `kinds` are (width, scale); `running` are
    (departure, kind) of jobs already there. Departures after the last arrival do not happen.
    """
    count = len(times)
    found = Outcome([None] * count, [None] * count)
    departures = list(running)
    heapq.heapify(departures)
    idle = servers - sum(kinds[kind][0] for _, kind in departures)
    queue = deque()

    def class_of(job):
        return int(labels[job]) if len(labels) else 0

    def offer(job, behind):
        tables_of_class = tables[class_of(job)]
        table = tables_of_class[min(behind, len(tables_of_class) - 1)]
        row = min(idle, table.threshold.shape[0] - 1)
        drawn = picks[job] * table.columns if len(picks) else 0.0
        column = min(int(drawn), table.columns - 1)
        below = drawn - column < table.threshold[row, column]
        return int((table.first if below else table.second)[row, column])

    def start(job, kind, now):
        width, scale = kinds[kind]
        heapq.heappush(departures, (now + sizes[job] * scale, kind))
        found.starts[job], found.kinds[job] = now, kind
        return width

    for i, arrival in enumerate(times):
        while departures and departures[0][0] <= arrival:
            now = departures[0][0]
            while departures and departures[0][0] == now:
                _, kind = heapq.heappop(departures)
                idle += kinds[kind][0]
            while queue:
                kind = offer(queue[0], len(queue) - 1)
                if kind == len(kinds):
                    break
                job = queue.popleft()
                found.events.append((now, class_of(job), -1))
                idle -= start(job, kind, now)
        kind = len(kinds) if queue else offer(i, 0)
        if kind < len(kinds):
            idle -= start(i, kind, arrival)
        elif len(queue) < places:
            queue.append(i)
            found.events.append((arrival, class_of(i), 1))
        else:
            found.blocked.append(i)
    found.waiting, found.running, found.idle = list(queue), departures, idle
    return found


def mean_waiting(found, classes, opened, closed):
    """Return the time average of the number of waiting jobs of each class, event by event."""
    total, now, waiting = [0.0] * classes, opened, [0] * classes
    for time, label, change in found.events:
        until = min(max(time, opened), closed)
        total = [t + w * (until - now) for t, w in zip(total, waiting, strict=True)]
        now = until
        waiting[label] += change
    total = [t + w * (closed - now) for t, w in zip(total, waiting, strict=True)]
    return [t / (closed - opened) for t in total]
