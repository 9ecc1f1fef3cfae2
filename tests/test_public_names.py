"""The public names are pinned: adding or losing one is a decision, not an accident."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import pytest

import moldable
from moldable import errors

PUBLIC = [
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


def test_the_public_names_are_these():
    assert sorted(moldable.__all__) == PUBLIC
    assert dir(moldable) == PUBLIC


def test_every_public_name_is_there_and_documented():
    for name in PUBLIC:
        assert inspect.getdoc(getattr(moldable, name)), name


def test_type_checkers_see_the_same_names():
    tree = ast.parse(Path(moldable.__file__).read_text())
    block = next(node for node in tree.body if isinstance(node, ast.If))
    seen = [alias.name for node in block.body for alias in node.names]
    assert sorted(seen) == PUBLIC
    for node in block.body:
        for alias in node.names:
            assert f"moldable.{moldable._HOME[alias.name]}" == node.module  # noqa: SLF001


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="no attribute 'fair_share'"):
        moldable.fair_share  # noqa: B018


def test_every_error_descends_from_one_root():
    kinds = [
        value
        for value in vars(errors).values()
        if inspect.isclass(value) and value.__module__ == errors.__name__
    ]
    assert len(kinds) == 14
    assert all(issubclass(kind, errors.MoldableError) for kind in kinds)
    assert issubclass(errors.MoldableError, ValueError)
    assert all(kind.__name__ in errors.__doc__ for kind in kinds)
