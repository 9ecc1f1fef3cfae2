"""The answers to a question, one function for each view of the explorer.

They are pure functions of the question and remember their last answers. With the effort "quick"
they answer in a moment: exactly where that is possible, otherwise with short simulations, whose
intervals are given, and `refined` is false. With "full" the numbers are those of the commands that
`reproduce.command` gives.
"""

from moldable.explorer.bounds import Bound
from moldable.explorer.frontier import ClassFrontier, FrontierAnswer, frontier
from moldable.explorer.load_curves import LoadCurve, LoadCurvesAnswer, load_curves
from moldable.explorer.measures import Effort, Measure, Value
from moldable.explorer.performance import PerformanceAnswer, PolicyRow, performance
from moldable.explorer.policy_tables import PoliciesAnswer, PolicyTable, policies
from moldable.explorer.trade_off import TradeOffAnswer, TradeOffPoint, TradeOffSeries, trade_off

__all__ = [
    "Bound",
    "ClassFrontier",
    "Effort",
    "FrontierAnswer",
    "LoadCurve",
    "LoadCurvesAnswer",
    "Measure",
    "PerformanceAnswer",
    "PoliciesAnswer",
    "PolicyRow",
    "PolicyTable",
    "TradeOffAnswer",
    "TradeOffPoint",
    "TradeOffSeries",
    "Value",
    "frontier",
    "load_curves",
    "performance",
    "policies",
    "trade_off",
]
