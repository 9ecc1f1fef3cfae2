"""Versions, machine and parameters, stored with every result."""

from __future__ import annotations

import os
import platform
from functools import cache
from importlib import metadata
from typing import Any

from moldable.model.scenario import Scenario

version = cache(metadata.version)
"""Cached, because looking up a version takes milliseconds."""


def provenance(scenario: Scenario, policy: str, **more: object) -> dict[str, Any]:
    """Return versions, machine and parameters."""
    return {
        "moldable": version("moldable"),
        "numpy": version("numpy"),
        "numba": version("numba"),
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "policy": policy,
        "servers": scenario.servers,
        "arrivals": str(scenario.arrivals),
        "sizes": [str(job_class.size) for job_class in scenario.workload.classes],
        "mean_sizes": [job_class.mean_size for job_class in scenario.workload.classes],
        **more,
    }
