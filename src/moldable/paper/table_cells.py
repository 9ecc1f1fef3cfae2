"""How is every cell of the paper's table computed?

Each cell is computed twice. By the paper's method: an empty start, 5 million arrivals a run, and
the mean execution time of the jobs that finish before the last arrival. And done right: exactly
where an exact answer is known, by simulation from equilibrium otherwise (and there too, as a
check).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Final, final

from moldable.evaluation.evaluate import evaluate
from moldable.exact.exact import stationary_law
from moldable.model.scenario import Scenario
from moldable.paper.bias import DEFICITS
from moldable.paper.experiment import Cell, Effort, Result, Scale
from moldable.paper.settings import (
    CURVES,
    LAWS,
    METRICS,
    SETTINGS,
    TABLE_ARRIVALS,
    TABLE_RUNS,
    TABLE_SERVERS,
    Setting,
)
from moldable.paper.verdict import Measured
from moldable.system.performance import Performance


@final
@dataclass(frozen=True)
class Size:
    """How much work the table takes.

    Attributes:
        servers: of the cluster.
        runs: by the paper's method, for each cell.
        arrivals: of each such run; the bias depends on it.
        replications: of simulations done right.
        counted: arrivals of each replication.
    """

    servers: int
    runs: int
    arrivals: int
    replications: int
    counted: int


SIZES: Final = {
    Scale.TINY: Size(100, 8, 20_000, 8, 10_000),
    Scale.QUICK: Size(TABLE_SERVERS, 8, TABLE_ARRIVALS, 48, 200_000),
    Scale.FULL: Size(TABLE_SERVERS, TABLE_RUNS, TABLE_ARRIVALS, 1000, 250_000),
}
WARMUP: Final = 10.0
"""Mean sizes that simulations done right leave out: their start is equilibrium but for packing."""


def cells(scale: Scale) -> list[Cell]:
    """List the work: both ways for each cell, and each setting's response to a missing load."""
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
        setting.workload(size.servers, LAWS[law]),
        size.servers,
        setting.policy(size.servers),
        jobs=size.arrivals,
        start="empty",
        estimator="completed_only",
        warmup=0.0,
    )
    return {metric: [getattr(run, metric).value for run in runs] for metric in METRICS}


def _done_right(size: Size, setting: Setting, law: str, effort: Effort) -> Result:
    workload, policy = setting.workload(size.servers, LAWS[law]), setting.policy(size.servers)
    simulated = effort.simulate(
        workload,
        size.servers,
        policy,
        jobs=size.counted,
        replications=size.replications,
        warmup=WARMUP,
    )
    exact = None
    if has_exact_answer(setting, law):
        exact = stationary_law(Scenario(workload, size.servers), policy).performance()
    return {"simulated": _plain(simulated), "exact": None if exact is None else _plain(exact)}


def has_exact_answer(setting: Setting, law: str) -> bool:
    """Tell whether an exact answer can be had at the table's size.

    One width that divides n is an Erlang loss system, whatever the law. Two widths up to 2 are a
    chain of two dimensions; the widths 3 and 4 leave narrower ones over, which makes it four.
    """
    return setting.curve == "linear" or (law == "exponential" and setting.regime != "mean-field")


def _plain(answer: Performance) -> dict[str, Any]:
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
            answer = evaluate(scenario, policy)
        else:
            answer = effort.simulate(
                scenario.workload,
                size.servers,
                policy,
                jobs=size.counted,
                replications=size.replications,
                warmup=WARMUP,
            )
        shares = {str(width): share for width, share in answer.width_shares.items()}
        points.append(
            {"deficit": deficit, "blocking": answer.blocking.value, "width_shares": shares}
        )
    return {"points": points}
