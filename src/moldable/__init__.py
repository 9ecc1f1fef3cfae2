"""moldable: how many servers should each parallel job get the moment it arrives?

The public names, grouped by stage. They are imported when first used, so that the command line
starts without loading what it does not need.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from moldable.assumptions import Violation
    from moldable.certificate import Certificate
    from moldable.errors import MoldableError
    from moldable.frontier import Frontier, Mix, frontiers
    from moldable.inputs.curve_csv import read_curve
    from moldable.inputs.spelling import parse_regime, parse_speedup
    from moldable.inputs.workload_file import WorkloadFile, read_workload
    from moldable.limits.fluid import FluidPath
    from moldable.limits.stein import Bounds, bounds
    from moldable.optimal_widths import Optimum, optimum
    from moldable.regime import Regime
    from moldable.reservation import ClassAllocation, Reservation, reserve
    from moldable.sizes import SizeLaw
    from moldable.speedup import SpeedUp
    from moldable.whole_servers import reserve_whole
    from moldable.workload import JobClass, Workload

_STAGES = {
    "errors": ("MoldableError",),
    "assumptions": ("Violation",),
    "speedup": ("SpeedUp",),
    "regime": ("Regime",),
    "sizes": ("SizeLaw",),
    "workload": ("JobClass", "Workload"),
    "inputs.curve_csv": ("read_curve",),
    "inputs.spelling": ("parse_regime", "parse_speedup"),
    "inputs.workload_file": ("WorkloadFile", "read_workload"),
    "frontier": ("Frontier", "Mix", "frontiers"),
    "certificate": ("Certificate",),
    "optimal_widths": ("Optimum", "optimum"),
    "reservation": ("ClassAllocation", "Reservation", "reserve"),
    "whole_servers": ("reserve_whole",),
    "limits.fluid": ("FluidPath",),
    "limits.stein": ("Bounds", "bounds"),
}
_HOME = {name: stage for stage, names in _STAGES.items() for name in names}

__all__ = [
    "Bounds",
    "Certificate",
    "ClassAllocation",
    "FluidPath",
    "Frontier",
    "JobClass",
    "Mix",
    "MoldableError",
    "Optimum",
    "Regime",
    "Reservation",
    "SizeLaw",
    "SpeedUp",
    "Violation",
    "Workload",
    "WorkloadFile",
    "bounds",
    "frontiers",
    "optimum",
    "parse_regime",
    "parse_speedup",
    "read_curve",
    "read_workload",
    "reserve",
    "reserve_whole",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'moldable' has no attribute {name!r}")
    value = getattr(import_module(f"moldable.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(_HOME)
