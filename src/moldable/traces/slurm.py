"""What Slurm's accounting and its job completion logs have in common."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

UNITS: Final = ("cpus", "gpus", "nodes")
"""What may be counted as servers."""
AUTOMATIC: Final = "auto"
MOSTLY: Final = 0.5
"""Share of jobs with GPUs from which GPUs are counted."""
UNFINISHED: Final = frozenset(
    (
        *("pending", "running", "suspended", "configuring", "completing", "signaling", "stopped"),
        *("requeue_hold", "requeue_fed", "special_exit", "resv_del_hold", "stage_out"),
    )
)
REQUEUED: Final = frozenset(("requeued", "resizing"))
_GPUS: Final = re.compile(r"(?:^|,)gres/gpu(:[^=,]*)?=(\d+)")
_CPUS: Final = re.compile(r"(?:^|,)cpu=(\d+)")
_NODES: Final = re.compile(r"(?:^|,)node=(\d+)")


class Resources(NamedTuple):
    """Trackable resources of a job."""

    cpus: int
    gpus: int
    nodes: int


def parse_tres(text: str) -> Resources:
    """Read `cpu=8,gres/gpu=2,node=1`; GPUs may also be listed by type."""
    found = [(kind, int(count)) for kind, count in _GPUS.findall(text)]
    total = [count for kind, count in found if not kind]
    gpus = total[0] if total else sum(count for _, count in found)
    cpus, nodes = _CPUS.search(text), _NODES.search(text)
    return Resources(int(cpus[1]) if cpus else 0, gpus, int(nodes[1]) if nodes else 0)


def state_name(text: str) -> str:
    """Return `cancelled` for `CANCELLED by 1001` and `CANCELLED+`."""
    return text.partition(" ")[0].rstrip("+").lower()
