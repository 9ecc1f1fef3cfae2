"""Result types of all functions; each can be tabulated, shown in a notebook and drawn."""

from __future__ import annotations

from moldable.allocation.optimum import Optimum
from moldable.allocation.reservation import Reservation
from moldable.base_result import Result
from moldable.evaluation.compare import Compared, Comparison
from moldable.exact.exact import StationaryLaw
from moldable.fitting.decision import Decision
from moldable.fitting.fit import Fit
from moldable.model.assumptions import Violation
from moldable.optimal.control import OptimalControl
from moldable.optimal.curve import TradeoffCurve
from moldable.optimal.least import LeastTime
from moldable.optimal.queueing import OptimalQueueing
from moldable.planning.result import Plan
from moldable.system.estimate import Estimate
from moldable.system.performance import ClassPerformance, ExactDetail, Performance, SimulationDetail
from moldable.system.queueing import Queueing
from moldable.theory.fluid import FluidPath
from moldable.theory.stein import Bounds
from moldable.traces.replay_result import Replay
from moldable.traces.summary import TraceSummary
from moldable.tuning.tradeoff import ValueTradeoff
from moldable.tuning.tuned import Tuned
from moldable.tuning.tuned_queue import TunedQueue

__all__ = [
    "Bounds",
    "ClassPerformance",
    "Compared",
    "Comparison",
    "Decision",
    "Estimate",
    "ExactDetail",
    "Fit",
    "FluidPath",
    "LeastTime",
    "OptimalControl",
    "OptimalQueueing",
    "Optimum",
    "Performance",
    "Plan",
    "Queueing",
    "Replay",
    "Reservation",
    "Result",
    "SimulationDetail",
    "StationaryLaw",
    "TraceSummary",
    "TradeoffCurve",
    "Tuned",
    "TunedQueue",
    "ValueTradeoff",
    "Violation",
]
