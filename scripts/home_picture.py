"""Draw docs/images/home.svg: the same jobs on 16 servers under two policies.

Run `python -m scripts.home_picture` in the root of the repository. The same seed gives the same
file.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.patches import Patch

from moldable import Greedy, Policy, Scenario
from moldable.live.journal import Entry
from moldable.live.rehearsal import Job, poisson_jobs, rehearse
from moldable.policies import queue_value_policy
from moldable.reporting.figures import VERMILION, new_figure, rendered

SERVERS, LOAD, SEED, JOBS = 16, 0.8, 1, 140
UNTIL = 10.0
CURVE = [1, 1.8, 2.5, 3, 3.4]
COLOURS = dict(
    zip(range(1, 6), ("#d4e6f1", "#9ecae1", "#6baed6", "#3182bd", "#08519c"), strict=True)
)
SCENARIO = Scenario.single(CURVE, LOAD, SERVERS, waiting="unlimited")
PANELS: dict[str, Policy] = {
    "Each job gets all servers that it can use": Greedy().with_classes(SCENARIO),
    "Widths from moldable": queue_value_policy(SCENARIO),
}


def main() -> None:
    """Run the jobs under both policies and draw them."""
    figure = new_figure((9.0, 4.0))
    panels = figure.subplots(2, 2, sharex=True, sharey="row", height_ratios=(2.2, 1.0))
    jobs = list(poisson_jobs(SCENARIO, JOBS, SEED))
    for k, (title, policy) in enumerate(PANELS.items()):
        entries = list(rehearse(SCENARIO, policy, jobs))
        _draw_servers(panels[0, k], entries)
        waiting = _draw_queue(panels[1, k], entries, jobs)
        panels[0, k].set_title(f"{title}\nmean number of jobs waiting: {waiting:.1f}", size=10)
        panels[1, k].set_xlabel("time in mean job sizes")
    panels[0, 0].set(ylabel="servers", xlim=(0.0, UNTIL), ylim=(0, SERVERS))
    panels[1, 0].set(ylabel="jobs waiting", ylim=(0, None))
    handles = [Patch(color=colour, label=f"{width}") for width, colour in COLOURS.items()]
    figure.legend(handles=handles, loc="outside lower center", ncols=5, title="servers of a job")
    target = Path(__file__).parents[1] / "docs/images/home.svg"
    target.write_bytes(rendered(figure, "svg"))


def _draw_servers(axes: Axes, entries: Sequence[Entry]) -> None:
    """Draw a box for each job on each run of neighbouring servers that it holds."""
    ends = {entry.job: entry.time for entry in entries if entry.event == "ended"}
    idle: set[int] = set(range(SERVERS))
    held: dict[str, list[int]] = {}
    for entry in entries:
        if entry.event == "ended":
            idle.update(held.pop(entry.job))
        elif entry.event == "granted" and entry.time < UNTIL:
            held[entry.job] = _choose(idle, entry.width)
            idle.difference_update(held[entry.job])
            colour, length = COLOURS[entry.width], ends[entry.job] - entry.time
            for first, count in _runs(held[entry.job]):
                axes.broken_barh(
                    [(entry.time, length)],
                    (first, count),
                    facecolor=colour,
                    edgecolor="white",
                    linewidth=0.4,
                )
        elif entry.event == "granted":
            held[entry.job] = []


def _choose(idle: set[int], width: int) -> list[int]:
    """Return servers for a job: neighbours if there are enough."""
    for first in range(SERVERS - width + 1):
        wanted = range(first, first + width)
        if idle.issuperset(wanted):
            return list(wanted)
    return sorted(idle)[:width]


def _runs(servers: Sequence[int]) -> list[tuple[int, int]]:
    """Return the first server and the length of each run of neighbours."""
    found: list[tuple[int, int]] = []
    for server in servers:
        if found and sum(found[-1]) == server:
            found[-1] = (found[-1][0], found[-1][1] + 1)
        else:
            found.append((server, 1))
    return found


def _draw_queue(axes: Axes, entries: Sequence[Entry], jobs: Sequence[Job]) -> float:
    """Draw the number of waiting jobs, and return its mean until the end of the picture."""
    changes = [(job.submitted, 1) for job in jobs]
    changes += [(entry.time, -1) for entry in entries if entry.event == "granted"]
    # A job that starts at once never waits.
    events = sorted((time, change) for time, change in changes if time < UNTIL)
    times, counts = [0.0], [0]
    for time, change in events:
        times.append(time)
        counts.append(counts[-1] + change)
    times.append(UNTIL)
    axes.fill_between(times, [*counts, counts[-1]], step="post", color=VERMILION, linewidth=0.0)
    return sum(map(operator.mul, counts, map(operator.sub, times[1:], times))) / UNTIL


if __name__ == "__main__":
    main()
