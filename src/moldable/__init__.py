"""moldable: how many servers should each parallel job get the moment it arrives?

The public names, grouped by stage. They are imported when first used, so that the command line
starts without loading what it does not need.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from moldable.allocation.certificate import Certificate
    from moldable.allocation.frontier import Frontier, Mix, frontiers
    from moldable.allocation.optimum import Optimum, optimum
    from moldable.allocation.reservation import ClassAllocation, Reservation, reserve
    from moldable.allocation.whole_servers import reserve_whole
    from moldable.errors import MoldableError
    from moldable.evaluation.compare import Compared, Comparison, compare
    from moldable.evaluation.evaluate import evaluate
    from moldable.exact.closed_forms import erlang_b
    from moldable.exact.exact import StationaryLaw, stationary_law
    from moldable.exact.theory import GeneratorIdentity, Theory
    from moldable.files.curve_csv import read_curve
    from moldable.files.policy_file import read_policy_file, write_policy_file
    from moldable.files.spelling import parse_regime, parse_speedup
    from moldable.files.workload_file import WorkloadFile, read_workload
    from moldable.model.arrivals import ArrivalTimes, MarkovModulated, Poisson, Renewal
    from moldable.model.assumptions import Violation
    from moldable.model.regime import Regime
    from moldable.model.sizes import (
        Deterministic,
        Empirical,
        Exponential,
        FromScipy,
        Hyperexponential,
        Lognormal,
        MixedErlang,
        Pareto,
        PhaseType,
        SizeLaw,
        Weibull,
    )
    from moldable.model.speedup import SpeedUp
    from moldable.model.workload import JobClass, Workload
    from moldable.optimal.constrained import LeastTime, least_blocking, least_time
    from moldable.optimal.optimal_control import OptimalControl, optimal_control
    from moldable.optimal.tradeoff import TradeoffCurve, tradeoff
    from moldable.policies.equi import Equi
    from moldable.policies.fixed_width import FixedWidth
    from moldable.policies.greedy import Greedy, GreedyP, greedy_p
    from moldable.policies.policy_table import Policy
    from moldable.policies.price import PricePolicy
    from moldable.policies.rigid import Rigid
    from moldable.policies.thresholds import Thresholds
    from moldable.policies.untuned import untuned_price
    from moldable.simulation.simulate import simulate
    from moldable.system.performance import ClassPerformance, Estimate, Performance
    from moldable.theory.fluid import FluidPath
    from moldable.theory.stein import Bounds, bounds
    from moldable.tuning.families import Families, families
    from moldable.tuning.tuned import Tuned
    from moldable.tuning.tuning import tune

_STAGES = {
    "errors": ("MoldableError",),
    "model.assumptions": ("Violation",),
    "model.speedup": ("SpeedUp",),
    "model.regime": ("Regime",),
    "model.sizes": (
        "Deterministic",
        "Empirical",
        "Exponential",
        "FromScipy",
        "Hyperexponential",
        "Lognormal",
        "MixedErlang",
        "Pareto",
        "PhaseType",
        "SizeLaw",
        "Weibull",
    ),
    "model.arrivals": ("ArrivalTimes", "MarkovModulated", "Poisson", "Renewal"),
    "model.workload": ("JobClass", "Workload"),
    "files.curve_csv": ("read_curve",),
    "files.spelling": ("parse_regime", "parse_speedup"),
    "files.workload_file": ("WorkloadFile", "read_workload"),
    "allocation.frontier": ("Frontier", "Mix", "frontiers"),
    "allocation.certificate": ("Certificate",),
    "allocation.optimum": ("Optimum", "optimum"),
    "allocation.reservation": ("ClassAllocation", "Reservation", "reserve"),
    "allocation.whole_servers": ("reserve_whole",),
    "policies.policy_table": ("Policy",),
    "policies.greedy": ("Greedy", "GreedyP", "greedy_p"),
    "policies.fixed_width": ("FixedWidth",),
    "policies.rigid": ("Rigid",),
    "policies.thresholds": ("Thresholds",),
    "policies.price": ("PricePolicy",),
    "policies.untuned": ("untuned_price",),
    "policies.equi": ("Equi",),
    "files.policy_file": ("read_policy_file", "write_policy_file"),
    "system.performance": ("ClassPerformance", "Estimate", "Performance"),
    "exact.closed_forms": ("erlang_b",),
    "exact.exact": ("StationaryLaw", "stationary_law"),
    "exact.theory": ("GeneratorIdentity", "Theory"),
    "simulation.simulate": ("simulate",),
    "evaluation.evaluate": ("evaluate",),
    "evaluation.compare": ("Compared", "Comparison", "compare"),
    "optimal.constrained": ("LeastTime", "least_blocking", "least_time"),
    "tuning.families": ("Families", "families"),
    "optimal.optimal_control": ("OptimalControl", "optimal_control"),
    "optimal.tradeoff": ("TradeoffCurve", "tradeoff"),
    "tuning.tuned": ("Tuned",),
    "tuning.tuning": ("tune",),
    "theory.fluid": ("FluidPath",),
    "theory.stein": ("Bounds", "bounds"),
}
_HOME = {name: stage for stage, names in _STAGES.items() for name in names}

__all__ = [
    "ArrivalTimes",
    "Bounds",
    "Certificate",
    "ClassAllocation",
    "ClassPerformance",
    "Compared",
    "Comparison",
    "Deterministic",
    "Empirical",
    "Equi",
    "Estimate",
    "Exponential",
    "Families",
    "FixedWidth",
    "FluidPath",
    "FromScipy",
    "Frontier",
    "GeneratorIdentity",
    "Greedy",
    "GreedyP",
    "Hyperexponential",
    "JobClass",
    "LeastTime",
    "Lognormal",
    "MarkovModulated",
    "Mix",
    "MixedErlang",
    "MoldableError",
    "OptimalControl",
    "Optimum",
    "Pareto",
    "Performance",
    "PhaseType",
    "Poisson",
    "Policy",
    "PricePolicy",
    "Regime",
    "Renewal",
    "Reservation",
    "Rigid",
    "SizeLaw",
    "SpeedUp",
    "StationaryLaw",
    "Theory",
    "Thresholds",
    "TradeoffCurve",
    "Tuned",
    "Violation",
    "Weibull",
    "Workload",
    "WorkloadFile",
    "bounds",
    "compare",
    "erlang_b",
    "evaluate",
    "families",
    "frontiers",
    "greedy_p",
    "least_blocking",
    "least_time",
    "optimal_control",
    "optimum",
    "parse_regime",
    "parse_speedup",
    "read_curve",
    "read_policy_file",
    "read_workload",
    "reserve",
    "reserve_whole",
    "simulate",
    "stationary_law",
    "tradeoff",
    "tune",
    "untuned_price",
    "write_policy_file",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'moldable' has no attribute {name!r}")
    value = getattr(import_module(f"moldable.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(_HOME)
