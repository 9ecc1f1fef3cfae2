"""moldable: how many servers should each parallel job get the moment it arrives?

The public names, grouped by stage. They are imported when first used, so that the command line
starts without loading what it does not need.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from moldable.arrivals import ArrivalTimes, MarkovModulated, Poisson, Renewal
    from moldable.assumptions import Violation
    from moldable.certificate import Certificate
    from moldable.chain.closed_forms import erlang_b
    from moldable.chain.exact import StationaryLaw, stationary_law
    from moldable.chain.theory import GeneratorIdentity, Theory
    from moldable.comparison import Compared, Comparison, compare
    from moldable.control.constrained import LeastTime, least_blocking, least_time
    from moldable.control.families import Families, families
    from moldable.control.optimal_control import OptimalControl, optimal_control
    from moldable.control.tradeoff import TradeoffCurve, tradeoff
    from moldable.control.tuned import Tuned
    from moldable.control.tuning import tune
    from moldable.errors import MoldableError
    from moldable.evaluation import evaluate
    from moldable.frontier import Frontier, Mix, frontiers
    from moldable.inputs.curve_csv import read_curve
    from moldable.inputs.spelling import parse_regime, parse_speedup
    from moldable.inputs.workload_file import WorkloadFile, read_workload
    from moldable.limits.fluid import FluidPath
    from moldable.limits.stein import Bounds, bounds
    from moldable.optimal_widths import Optimum, optimum
    from moldable.performance import ClassPerformance, Estimate, Performance
    from moldable.policies.equi import Equi
    from moldable.policies.fixed_width import FixedWidth
    from moldable.policies.greedy import Greedy, GreedyP, greedy_p
    from moldable.policies.policy_file import read_policy_file, write_policy_file
    from moldable.policies.policy_table import Policy
    from moldable.policies.price import PricePolicy
    from moldable.policies.rigid import Rigid
    from moldable.policies.thresholds import Thresholds
    from moldable.policies.untuned import untuned_price
    from moldable.regime import Regime
    from moldable.reservation import ClassAllocation, Reservation, reserve
    from moldable.simulation.simulate import simulate
    from moldable.sizes import (
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
    from moldable.speedup import SpeedUp
    from moldable.whole_servers import reserve_whole
    from moldable.workload import JobClass, Workload

_STAGES = {
    "errors": ("MoldableError",),
    "assumptions": ("Violation",),
    "speedup": ("SpeedUp",),
    "regime": ("Regime",),
    "sizes": (
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
    "arrivals": ("ArrivalTimes", "MarkovModulated", "Poisson", "Renewal"),
    "workload": ("JobClass", "Workload"),
    "inputs.curve_csv": ("read_curve",),
    "inputs.spelling": ("parse_regime", "parse_speedup"),
    "inputs.workload_file": ("WorkloadFile", "read_workload"),
    "frontier": ("Frontier", "Mix", "frontiers"),
    "certificate": ("Certificate",),
    "optimal_widths": ("Optimum", "optimum"),
    "reservation": ("ClassAllocation", "Reservation", "reserve"),
    "whole_servers": ("reserve_whole",),
    "policies.policy_table": ("Policy",),
    "policies.greedy": ("Greedy", "GreedyP", "greedy_p"),
    "policies.fixed_width": ("FixedWidth",),
    "policies.rigid": ("Rigid",),
    "policies.thresholds": ("Thresholds",),
    "policies.price": ("PricePolicy",),
    "policies.untuned": ("untuned_price",),
    "policies.equi": ("Equi",),
    "policies.policy_file": ("read_policy_file", "write_policy_file"),
    "performance": ("ClassPerformance", "Estimate", "Performance"),
    "chain.closed_forms": ("erlang_b",),
    "chain.exact": ("StationaryLaw", "stationary_law"),
    "chain.theory": ("GeneratorIdentity", "Theory"),
    "simulation.simulate": ("simulate",),
    "evaluation": ("evaluate",),
    "comparison": ("Compared", "Comparison", "compare"),
    "control.constrained": ("LeastTime", "least_blocking", "least_time"),
    "control.families": ("Families", "families"),
    "control.optimal_control": ("OptimalControl", "optimal_control"),
    "control.tradeoff": ("TradeoffCurve", "tradeoff"),
    "control.tuned": ("Tuned",),
    "control.tuning": ("tune",),
    "limits.fluid": ("FluidPath",),
    "limits.stein": ("Bounds", "bounds"),
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
