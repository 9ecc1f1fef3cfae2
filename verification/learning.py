"""Regret of the learning policy against the policy that knows the curve and the load.

Run `python -m verification.learning RUNS.jsonl` to simulate the table and the figure of
docs/explanation/learning.md; runs that are in the file are not repeated.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from live.clusters import Remembered
from moldable import Policy, Scenario, value_policy
from moldable.live.learning import LearningPolicy
from moldable.live.rehearsal import Job, poisson_jobs, rehearse
from moldable.policies import queue_value_policy
from verification.verdict import Verdict

SERVERS = 32
CURVES = {
    "1, 1.8, 2.5, 3, 3.4": "1,1.8,2.5,3,3.4",
    "Amdahl 0.95": "amdahl:0.95:8",
    "gamer-amr": "curve:gamer-amr",
    "linear": "linear:5",
}
PRIOR = 0.8
"""Exponent of the curve that is assumed at first, a power law."""
BEFORE, AFTER = 0.6, 0.85
COST = 10.0
JOBS, BLOCKS = 100_000, 100
SEEDS = {0: range(4), math.inf: range(4)}
BOUND = 0.05
"""Excess cost over the last fifth that learning must not exceed."""


@dataclass(frozen=True)
class Case:
    """A curve, waiting places, what is believed at first, and how long it is believed."""

    curve: str
    waiting: float
    seed: int
    jobs: int = JOBS
    strength: float = 10.0
    prior: float = PRIOR

    @property
    def key(self) -> str:
        """Identifies the run."""
        return f"{self.curve}|{self.waiting:g}|{self.seed}|{self.jobs}|{self.strength}|{self.prior}"

    def scenario(self, load: float, *, assumed: bool = False) -> Scenario:
        """Return the cluster as it is, or as it is assumed to be at first."""
        found = Scenario.single(CURVES[self.curve], load, SERVERS, waiting=self.waiting)
        if not assumed:
            return found
        widths = found.workload.classes[0].speedup.widths.tolist()
        curve = {width: width**self.prior for width in widths}
        return Scenario.single(curve, load, SERVERS, waiting=self.waiting)


class Switching(Policy):
    """Two policies, of which the second one decides from a job on."""

    def __init__(self, first: Policy, second: Policy, job: int) -> None:
        self.decides, self.second, self.job = first, second, job

    def grant(self, *given: Any) -> int:
        """Ask the policy that decides by now."""
        return self.decides.grant(*given)

    def observe(self, entry: Any) -> None:
        """Look whether the second one decides from now on."""
        if entry.event != "ended" and int(entry.job) >= self.job:
            self.decides = self.second


def tuned(scenario: Scenario) -> Policy:
    """Return the value policy of a scenario."""
    made = queue_value_policy(scenario) if scenario.waiting else value_policy(scenario, COST)
    return Remembered(made)


def costs(truth: Scenario, policy: Policy, jobs: Iterable[Job]) -> list[float]:
    """Return the mean cost in each block of jobs: response times, and COST for a blocked job."""
    curve = truth.workload.classes[0].speedup
    found = [
        COST if each.event == "blocked" else each.time - each.submitted + 1.0 / curve[each.width]
        for each in rehearse(truth, policy, jobs)
        if each.submitted is not None
    ]
    return [float(np.mean(part)) for part in np.array_split(found, BLOCKS)]


def run(case: Case) -> dict[str, Any]:
    """Simulate the same jobs under three policies."""
    before, after = case.scenario(BEFORE), case.scenario(AFTER)
    half = case.jobs // 2
    seeds = np.random.SeedSequence([case.seed, list(CURVES).index(case.curve)]).spawn(2)
    jobs = list(poisson_jobs(before, half, seeds[0]))
    jobs += poisson_jobs(after, case.jobs - half, seeds[1], jobs[-1].submitted)
    assumed = case.scenario(BEFORE, assumed=True)
    learning = LearningPolicy(
        assumed, strength=case.strength, blocking_cost=COST, seed=100 + case.seed
    )
    policies = {
        "known": Switching(tuned(before), tuned(after), half + 1),
        "learning": learning,
        "assumed": tuned(assumed),
    }
    found = {name: costs(before, policy, jobs) for name, policy in policies.items()}
    return {"case": case.key, "draws": learning.draws, **found}


def excess(found: Mapping[str, Any], name: str, blocks: slice) -> float:
    """Return by how much a policy costs more than the one that knows, relatively."""
    return float(np.mean(found[name][blocks]) / np.mean(found["known"][blocks]) - 1.0)


def experiments() -> Iterator[Verdict]:
    """Check that learning comes close to the policy that knows, in shorter runs."""
    for curve in CURVES:
        found = run(Case(curve, 0, seed=50, jobs=40_000))
        yield Verdict(f"{curve}: excess cost, last fifth", excess(found, "learning", LAST), BOUND)


PARTS = {
    "first 1,000": slice(0, 1),
    "to 50,000": slice(0, 50),
    "50,000-60,000": slice(50, 60),
    "last 20,000": slice(80, 100),
    "all": slice(0, 100),
}
LAST = PARTS["last 20,000"]


def cases() -> list[Case]:
    """Return the runs of the table, those that take longest first, and those that go wrong."""
    found = [
        Case(curve, waiting, seed)
        for seed in range(4)
        for waiting, seeds in SEEDS.items()
        for curve in CURVES
        if seed in seeds
    ]
    sub_linear = next(iter(CURVES))
    wrong = [(10.0, 1.0), (10.0, 0.3), (1000.0, 1.0), (1000.0, 0.3)]
    return found + [
        Case(sub_linear, 0, seed, strength=strength, prior=prior)
        for strength, prior in wrong
        for seed in range(2)
    ]


def main(path: Path) -> None:
    """Simulate what is missing in a file of runs, and print the table."""
    known = {}
    if path.exists():
        known = {each["case"]: each for each in map(json.loads, path.read_text().splitlines())}
    missing = [case for case in cases() if case.key not in known]
    with ProcessPoolExecutor(2) as pool, path.open("a") as file:
        for found in pool.map(run, missing):
            known[found["case"]] = found
            file.write(json.dumps(found) + "\n")
            file.flush()
    print("\n".join(table(known)))


def table(known: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Yield the rows of the table: excess costs in per cent with standard errors over the seeds."""
    yield f"| case | {' | '.join(PARTS)} | assumed curve, all |"
    yield "|---|" + "---|" * (len(PARTS) + 1)
    groups: dict[Case, list[Mapping[str, Any]]] = {}
    for case in cases():
        if case.key in known:
            one = Case(case.curve, case.waiting, 0, case.jobs, case.strength, case.prior)
            groups.setdefault(one, []).append(known[case.key])
    for case, runs in groups.items():
        what = f"{case.curve}, {'queue' if case.waiting else 'loss'}"
        if (case.strength, case.prior) != (10.0, PRIOR):
            what += f", strength {case.strength:g}, prior w^{case.prior:g}"
        cells = [
            _cell([excess(each, "learning", part) for each in runs]) for part in PARTS.values()
        ]
        cells.append(_cell([excess(each, "assumed", PARTS["all"]) for each in runs]))
        yield f"| {what} | {' | '.join(cells)} |"


def _cell(values: list[float]) -> str:
    error = np.std(values, ddof=1) / math.sqrt(len(values)) if len(values) > 1 else math.nan
    return f"{100 * np.mean(values):.1f} ± {100 * error:.1f}"


if __name__ == "__main__":
    main(Path(sys.argv[1]))
