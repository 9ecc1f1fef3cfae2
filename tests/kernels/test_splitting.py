"""Runs followed by the kernel against the same runs, job by job."""

from __future__ import annotations

import numpy as np
import pytest

from moldable import JobClass, Scenario, SpeedUp, Workload, value_policy
from moldable.sizes import MixedErlang
from moldable.system.count_model import chain_model
from moldable.system.loss_system import build_system
from naive.splitting import follow_one

SERVERS, RUNS = 12, 40
ONE = Workload((JobClass("jobs", 7.0, SpeedUp([1, 1.8, 2.5])),))
TWO = Workload(
    (
        JobClass("a", 4.0, SpeedUp([1, 1.8]), size=MixedErlang([0.4, 0.6])),
        JobClass("b", 2.0, SpeedUp({2: 1.0, 3: 1.4}), mean_size=0.5),
    )
)
LIMITS = {"floor": (2, 100, np.inf), "ceiling": (-1, 9, np.inf), "end": (-1, 100, 1.5)}


def model_of(workload):
    scenario = Scenario(workload, SERVERS)
    return chain_model(build_system(scenario, value_policy(scenario, 4.0)))


def followed(kernel, model, limits, seed):
    slots = model.rates.size
    jobs = np.zeros((RUNS, slots))
    jobs[:, 0] = 4 + np.arange(RUNS) % 4
    idle = (SERVERS - jobs @ model.widths).astype(np.int64)
    seen = (np.empty(RUNS), np.empty_like(idle), np.empty(RUNS))
    kernel.follow(
        np.random.default_rng(seed),
        jobs,
        idle,
        *seen,
        *limits,
        np.cumsum(model.outcomes, axis=1)[:, :slots].copy(),
        model.outcomes[:, slots:].sum(axis=1),
        float(model.arrival_rate),
        model.rates,
        model.widths.astype(np.int64),
        model.jumps.reshape(slots, model.phases),
    )
    return jobs, idle, *seen


@pytest.mark.parametrize("limits", LIMITS.values(), ids=LIMITS)
@pytest.mark.parametrize("workload", [ONE, TWO], ids=["one class", "two classes, two phases"])
def test_runs_are_those_of_single_jobs(kernels, workload, limits):
    model, rng = model_of(workload), np.random.default_rng(5)
    jobs, idle, passed, lowest, lost = followed(kernels.splitting, model, limits, 5)
    for run in range(RUNS):
        begin = [0] * (4 + run % 4)
        left = SERVERS - len(begin) * int(model.widths[0])
        naive = follow_one(rng, begin, left, *limits, model)
        assert np.bincount(naive.slots, minlength=model.rates.size).tolist() == jobs[run].tolist()
        assert (naive.idle, naive.lowest) == (idle[run], lowest[run])
        assert (naive.passed, naive.lost) == pytest.approx((passed[run], lost[run]))
    assert (lost.sum() > 0.0) == (limits[0] < 0)  # above the floor nothing is blocked
    assert passed.min() > 0.0


def test_the_same_digits_come_out_with_the_jit_off(both_ways):
    model = model_of(TWO)
    compiled, plain = (
        followed(kernels.splitting, model, LIMITS["end"], 9) for kernels in both_ways
    )
    for ours, theirs in zip(compiled, plain, strict=True):
        assert np.array_equal(ours, theirs)
