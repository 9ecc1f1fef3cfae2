"""How does every number of the paper's table compare with ours?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

from moldable.paper.bias import Bias, Response, predict
from moldable.paper.experiment import Results
from moldable.paper.settings import (
    CURVES,
    HALF_A_DIGIT,
    LAWS,
    METRICS,
    SETTINGS,
    TABLE_RUNS,
    Setting,
    printed,
)
from moldable.paper.table_cells import SIZES, Size
from moldable.paper.verdict import ALLOWED, Measured, Verdict, deviation, judge


@final
@dataclass(frozen=True)
class Compared:
    """One number of the table, with everything it is compared to.

    Attributes:
        setting: the row.
        law: the column.
        metric: which half of the table.
        printed: as it stands in the paper.
        by_method: ours by the paper's method.
        printed_error: the standard error that the paper's runs should have.
        right: ours done right.
        method: how: "closed-form", "chain" or "simulate".
        simulated: ours done right, simulated even where an exact answer is known.
        bias: of the paper's method, as predicted.
    """

    setting: Setting
    law: str
    metric: str
    printed: str
    by_method: Measured
    printed_error: float
    right: Measured
    method: str
    simulated: Measured
    bias: float

    @property
    def verdict(self) -> Verdict:
        """Whether the printed number agrees."""
        return judge(
            float(self.printed), self.printed_error, self.by_method, self.right, HALF_A_DIGIT
        )

    @property
    def method_deviation(self) -> float:
        """Standard errors between the printed number and ours by the same method."""
        return deviation(float(self.printed), self.printed_error, self.by_method, HALF_A_DIGIT)

    @property
    def simulation_holds(self) -> bool:
        """Whether the simulation done right meets the exact answer, where one is known."""
        return deviation(self.right.value, 0.0, self.simulated, HALF_A_DIGIT) <= ALLOWED


def compared(results: Results) -> list[Compared]:
    """Compare every number of the table, in its order."""
    return [each for metric in METRICS for each in _compared(results, metric)]


def _compared(results: Results, metric: str) -> Iterator[Compared]:
    size = SIZES[results.scale]
    for setting in SETTINGS:
        response = Response.read(results[f"response/{setting.key}"])
        for law in LAWS:
            name = f"{setting.key}-{law}"
            by_method = Measured.of_runs(results[f"method/{name}"][metric])
            answers = results[f"right/{name}"]
            best = answers["exact"] or answers["simulated"]
            yield Compared(
                setting,
                law,
                metric,
                printed(setting, law, metric),
                by_method,
                by_method.rescaled(size.runs, TABLE_RUNS),
                Measured(*best[metric]),
                best["method"],
                Measured(*answers["simulated"][metric]),
                getattr(_bias(size, setting, law, response), metric),
            )


def horizon(size: Size, setting: Setting) -> float:
    """Return when a run by the paper's method ends, in mean sizes."""
    return size.arrivals / (size.servers * setting.load(size.servers))


def _bias(size: Size, setting: Setting, law: str, response: Response) -> Bias:
    return predict(response, CURVES[setting.curve], LAWS[law], horizon(size, setting))
