"""The numbers of the paper's table, computed and compared.

Each cell of the table is computed twice. By the paper's method: an empty start, 5 million arrivals
per run, and the mean execution time of the jobs that finish before the last arrival. And without
bias (`right`): exactly if an exact answer is known, otherwise by simulation from equilibrium. The
simulation is also run if an exact answer is known, as a check.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final, final

from moldable import Scenario
from moldable.exact import stationary_law
from moldable.results import Performance
from reproduction.bias import DEFICITS, Response, predict
from reproduction.experiment import (
    Cell,
    Effort,
    Result,
    Results,
    Scale,
)
from reproduction.settings import (
    CURVES,
    HALF_A_DIGIT,
    LAWS,
    METRICS,
    SETTINGS,
    TABLE_ARRIVALS,
    TABLE_RUNS,
    TABLE_SERVERS,
    Setting,
    printed,
)
from reproduction.verdict import ALLOWED, Measured, Verdict, deviation, judge


@final
@dataclass(frozen=True)
class Size:
    """The amount of work for the table.

    Attributes:
        servers: of the cluster.
        runs: by the paper's method, for each cell.
        arrivals: of each such run; the bias depends on it.
        replications: of simulations from equilibrium.
        counted: arrivals of each replication.
    """

    servers: int
    runs: int
    arrivals: int
    replications: int
    counted: int

    def right(self, effort: Effort, scenario: Scenario, setting: Setting) -> Performance:
        """Simulate from equilibrium."""
        return effort.simulate(
            scenario,
            setting.policy(self.servers),
            jobs=self.counted,
            replications=self.replications,
            warmup=WARMUP,
        )

    def horizon(self, setting: Setting) -> float:
        """Return the end of a run by the paper's method, in mean sizes."""
        return self.arrivals / (self.servers * setting.load(self.servers))


SIZES: Final = {
    Scale.TINY: Size(100, 8, 20_000, 8, 10_000),
    Scale.QUICK: Size(TABLE_SERVERS, 8, TABLE_ARRIVALS, 48, 200_000),
    Scale.FULL: Size(TABLE_SERVERS, TABLE_RUNS, TABLE_ARRIVALS, 1000, 250_000),
}
NAMES: Final = {"mean_execution_time": "Mean execution time", "blocking": "Blocking probability"}
WARMUP: Final = 10.0
"""Warm-up of simulations from equilibrium, in mean sizes: with several widths it is not exact."""


def cells(scale: Scale) -> list[Cell]:
    """List both methods for each cell, and the response of each setting to a missing load."""
    size = SIZES[scale]
    found = []
    for setting in SETTINGS:
        found.append(Cell(f"response/{setting.key}", partial(_response, size, setting)))
        for law in LAWS:
            name = f"{setting.key}-{law}"
            found.append(Cell(f"method/{name}", partial(_by_method, size, setting, law)))
            found.append(Cell(f"right/{name}", partial(_done_right, size, setting, law)))
    return found


def _by_method(size: Size, setting: Setting, law: str, effort: Effort) -> Result:
    runs = effort.runs(
        size.runs,
        setting.scenario(size.servers, LAWS[law]),
        setting.policy(size.servers),
        jobs=size.arrivals,
        start="empty",
        estimator="completed_only",
        warmup=0.0,
    )
    return {metric: [getattr(run, metric).value for run in runs] for metric in METRICS}


def _done_right(size: Size, setting: Setting, law: str, effort: Effort) -> Result:
    scenario, policy = setting.scenario(size.servers, LAWS[law]), setting.policy(size.servers)
    simulated, exact = size.right(effort, scenario, setting), None
    if has_exact_answer(setting, law):
        exact = _plain(stationary_law(scenario, policy).performance())
    return {"simulated": _plain(simulated), "exact": exact}


def has_exact_answer(setting: Setting, law: str) -> bool:
    """Return whether an exact answer is possible at the table's number of servers.

    One width that divides n is an Erlang loss system for any size law. The widths 1 and 2 give a
    chain in two dimensions; with the widths 3 and 4, narrower ones occur and it has four.
    """
    return setting.curve == "linear" or (law == "exponential" and setting.regime != "mean-field")


def _plain(answer: Performance) -> Result:
    measured = {metric: Measured.of_estimate(getattr(answer, metric)) for metric in METRICS}
    return {
        "method": answer.method,
        **{metric: [m.value, m.standard_error] for metric, m in measured.items()},
    }


def _response(size: Size, setting: Setting, effort: Effort) -> Result:
    policy, load = setting.policy(size.servers), setting.load(size.servers)
    points = []
    for deficit in DEFICITS:
        scenario = Scenario.single(CURVES[setting.curve], load * (1.0 - deficit), size.servers)
        if has_exact_answer(setting, "exponential"):
            answer = effort.evaluate(scenario, policy)
        else:
            answer = size.right(effort, scenario, setting)
        shares = {str(width): share for width, share in answer.width_shares.items()}
        points.append(
            {"deficit": deficit, "blocking": answer.blocking.value, "width_shares": shares}
        )
    return {"points": points}


@final
@dataclass(frozen=True)
class Compared:
    """One number of the table, with the numbers that it is compared with.

    Attributes:
        setting: the row.
        law: the column.
        metric: which half of the table.
        printed: as in the paper.
        by_method: ours by the paper's method.
        printed_error: the standard error that the paper's runs should have.
        right: ours without bias.
        method: of `right`: "closed-form", "chain" or "simulate".
        simulated: ours without bias, simulated even if an exact answer is known.
        bias: predicted bias of the paper's method.
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
        """Whether the simulation from equilibrium agrees with the exact answer, if known."""
        return deviation(self.right.value, 0.0, self.simulated, HALF_A_DIGIT) <= ALLOWED

    @property
    def words(self) -> str:
        """Description of the number."""
        return f"{NAMES[self.metric].lower()} with {self.law} sizes ({self.setting.words})"


def compared(results: Results) -> list[Compared]:
    """Compare every number of the table, in order."""
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
            bias = predict(response, CURVES[setting.curve], LAWS[law], size.horizon(setting))
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
                getattr(bias, metric),
            )
