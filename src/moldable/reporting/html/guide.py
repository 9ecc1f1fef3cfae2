"""How to read a report."""

from __future__ import annotations

from typing import Final

from moldable.reporting.html.document import Bullets, Section

TERMS: Final = (
    ("Server", "One unit of the cluster: a core, a GPU or a node. It runs one job at a time."),
    ("Width", "The number of servers of a job, fixed when it starts."),
    ("Size", "The execution time of a job on one server."),
    ("Speed-up", "How many times faster a job runs on a width than on one server."),
    ("Load", "Arrival rate x mean size / servers: the work that arrives, relative to the cluster."),
    ("Server-time", "Width x execution time: what a job takes from the cluster."),
    ("Interval", "± is the half-width of a 95 % confidence interval. Exact figures have none."),
)
LOSS: Final = (
    ("Blocking", "The probability that an arriving job finds no idle servers and is lost."),
)
QUEUE: Final = (
    ("Response time", "Waiting time plus execution time."),
    ("P(wait)", "The share of the jobs that wait at all."),
)
POLICIES: Final = (
    (
        "Policies",
        (
            "Greedy gives the largest width that fits. Fixed gives each class one width. "
            "greedy(p*) draws the width from shares that are optimal on a large cluster. The value "
            "policy and the even price weigh the time of a job against the servers that it takes "
            "from later jobs."
        ),
    ),
    (
        "Sensitivity",
        (
            "A decision is robust if marks stay near the dotted line, or left of the target. If "
            "only the hollow marks do, the policy must be tuned again when the load changes."
        ),
    ),
)
LOG: Final = (
    (
        "Replay",
        (
            "The recorded schedule follows rules that a replay does not know, such as priorities "
            "and maintenance. Compare replays with each other first, then with the record."
        ),
    ),
    (
        "Bounded slowdown",
        "Response time / run time, where short run times count as 10 s; 1 is the best.",
    ),
)


def guide_section(*, log: bool, waiting: bool, plan: bool = True) -> Section:
    """Return the terms that a report uses."""
    terms = [*TERMS, *((QUEUE if waiting else LOSS) if plan else ())]
    terms += [*(POLICIES if plan else ()), *(LOG if log and plan else ())]
    return Section("guide", "How to read this report", (Bullets(tuple(terms)),))
