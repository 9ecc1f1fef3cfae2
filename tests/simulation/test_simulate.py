"""Simulations: progress, interruption, options and results."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from moldable import Greedy, JobClass, Scenario, SpeedUp, Workload, simulate
from moldable.arrivals import ArrivalTimes, MarkovModulated, Renewal
from moldable.errors import MoldableError
from moldable.simulation.chain_run import kernel_arguments, run_chain
from moldable.simulation.ring_run import run_ring
from moldable.sizes import Deterministic, Lognormal, Pareto
from moldable.system.count_model import chain_model
from moldable.system.loss_system import build_system
from naive.erlang import erlang_b
from simulation.systems import CHAIN, PAPER, RING, plan_of


@pytest.mark.parametrize("run", [run_chain, run_ring])
@pytest.mark.parametrize("sharing", ["pool", "reserved"])
def test_progress_never_falls_and_ends_at_the_whole(run, sharing):
    classes = (JobClass("a", 16.0, PAPER), JobClass("b", 16.0, PAPER))
    plan = plan_of(
        Scenario(Workload(classes, sharing=sharing), 40), "empty", jobs=20_000, batches=3
    )
    reported: list[float] = []
    run(plan, tuple(range(40)), reported.append)
    assert len(reported) > 3
    assert reported == sorted(reported)
    assert 0.0 < reported[0] < 0.5
    assert reported[-1] == 1.0


def test_an_interrupted_run_says_what_it_is():
    def stop(done, planned):
        assert planned == 64
        if done >= 32:
            raise KeyboardInterrupt

    # Long enough that the second half cannot end before the end of the first is noticed.
    answer = simulate(CHAIN, jobs=500_000, replications=64, seed=1, threads=1, progress=stop)
    assert answer.provenance["replications"] == 32
    assert not answer.converged
    assert answer.interrupted
    assert "interrupted: these are the 32 of 64 replications finished" in answer.warnings


def test_precision_is_reached_or_said_not_to_be():
    tight = simulate(CHAIN, precision=0.01, seed=1)
    assert tight.converged
    assert tight.blocking.half_width <= 0.01 * tight.blocking.value
    assert tight.mean_execution_time.half_width <= 0.01 * tight.mean_execution_time.value
    loose = simulate(CHAIN, jobs=1000, precision=0.0001, max_jobs=50_000, seed=1)
    assert not loose.converged
    assert loose.detail.arrivals < 60_000
    assert "max_jobs=50000 was reached before the precision 0.0001" in loose.warnings


def test_progress_goes_on_from_round_to_round():
    reported: list[tuple[float, int]] = []
    answer = simulate(
        CHAIN,
        jobs=1000,
        precision=0.005,
        seed=1,
        progress=lambda *now: reported.append(now),
    )
    done, planned = zip(*reported, strict=True)
    assert len(set(planned)) > 1
    assert list(done) == sorted(done)
    assert done[-1] == planned[-1] == answer.provenance["replications"]


def test_no_blocked_job_is_not_no_blocking():
    n = 1000
    answer = simulate(Scenario.single(SpeedUp.linear(5), 0.6, n), jobs=100_000, seed=1)
    assert answer.blocking.value == 0
    low, high = answer.blocking.interval
    assert low == 0
    # A trial is a mean execution time, not a job: far more than three in all jobs.
    assert high > 20 * 3 / answer.detail.arrivals


def test_infinite_variance_has_no_normal_interval():
    workload = Workload((JobClass("jobs", 32.0, PAPER, size=Pareto(1.5)),))
    realised = simulate(Scenario(workload, 40), jobs=2000, seed=1, estimator="realised")
    assert realised.mean_execution_time.interval is None
    assert any("no normal interval" in warning for warning in realised.warnings)
    assert (
        simulate(Scenario(workload, 40), jobs=2000, seed=1).mean_execution_time.interval is not None
    )


def test_counting_completed_jobs_only_is_biased_as_predicted():
    workload = Workload((JobClass("jobs", 32.0, PAPER, size=Pareto(1.5)),))
    options = {"jobs": 2000, "replications": 200, "seed": 1, "start": "empty", "warmup": 0}
    biased = simulate(Scenario(workload, 40), estimator="completed_only", **options)
    honest = simulate(Scenario(workload, 40), estimator="assigned", **options)
    assert biased.mean_execution_time.value < 0.97 * honest.mean_execution_time.value
    assert any("biased" in warning for warning in biased.warnings)


def test_bursty_arrivals_block_more():
    options = {"jobs": 20_000, "replications": 40, "seed": 3}
    poisson = simulate(RING, **options)
    renewal = simulate(replace(RING, arrivals=Renewal(Lognormal(3.0))), **options)
    modulated = simulate(
        replace(RING, arrivals=MarkovModulated((0.2, 3.0), ((0, 0.05), (0.1, 0)))), **options
    )
    even = simulate(replace(RING, arrivals=Renewal(Deterministic())), **options)
    assert even.blocking.interval[1] < poisson.blocking.interval[0]
    assert poisson.blocking.interval[1] < renewal.blocking.interval[0]
    assert poisson.blocking.interval[1] < modulated.blocking.interval[0]


def test_arrival_processes_keep_their_rate():
    rng = np.random.default_rng(2)
    for process in (Renewal(Lognormal(2.0)), MarkovModulated((1.0, 5.0), ((0, 1.0), (2.0, 0)))):
        stream = process.stream(4.0, rng)
        times = np.concatenate([stream.take(5000) for _ in range(40)])
        assert np.all(np.diff(times) >= 0)
        assert times.size / times[-1] == pytest.approx(4.0, rel=0.03)


def test_a_list_of_arrival_times_is_followed_exactly():
    # Two servers, jobs of width 1 that last 1: the third and fourth find both busy.
    workload = Workload((JobClass("a", 1.0, SpeedUp([1]), size=Deterministic()),))
    arrivals = ArrivalTimes([0.0, 0.1, 0.2, 0.9, 1.05, 2.5])
    answer = simulate(
        Scenario(workload, 2, arrivals), Greedy(), jobs=6, replications=2, start="empty", warmup=0
    )
    assert answer.detail.arrivals == 12
    assert answer.blocking.value == pytest.approx(2 / 6)
    labelled = ArrivalTimes([0.0, 0.1, 0.2], classes=[0, 1, 1])
    two = Workload((workload.classes[0], JobClass("b", 1.0, SpeedUp([1]), size=Deterministic())))
    answer = simulate(
        Scenario(two, 2, labelled), Greedy(), jobs=3, replications=2, start="empty", warmup=0
    )
    assert [part.blocking.value for part in answer.classes] == [0, 0.5]


def test_large_clusters_are_evaluated():
    n = 1_000_000
    for workload in (
        Scenario.single(SpeedUp.linear(5), 0.999, n).workload,
        Workload((JobClass("a", 0.999 * n, SpeedUp.linear(5), size=Lognormal(1.0)),)),
    ):
        answer = simulate(Scenario(workload, n), jobs=20_000, replications=2, seed=1, warmup=0.0)
        assert answer.detail.arrivals == pytest.approx(40_000, rel=0.05)


def test_shares_within_rounding_of_one_are_packed_safely():
    """Three classes whose alias shares come to 1 but for rounding once corrupted memory."""
    classes = (
        JobClass("a", 1.0, SpeedUp([1])),
        JobClass("b", 5.0, SpeedUp([1, 1.6])),
        JobClass("c", 9.0, SpeedUp([1, 1.6, 2.1])),
    )
    options = {"seed": 1, "jobs": 20_000, "replications": 32}
    chain = simulate(Scenario(Workload(classes), 17), **options)
    ring = simulate(Scenario(Workload(classes), 17), estimator="realised", **options)
    assert (chain.detail.kernel, ring.detail.kernel) == ("count-chain", "bucket-ring")
    error = np.hypot(chain.blocking.half_width, ring.blocking.half_width) / 2
    assert abs(chain.blocking.value - ring.blocking.value) < 4 * error


def test_packed_tables_decode_to_the_outcomes_they_were_made_from():
    rng = np.random.default_rng(4)
    for _ in range(300):
        rates = rng.integers(1, 10, 3).astype(float)
        classes = tuple(
            JobClass(f"c{j}", rates[j], SpeedUp([1, 1.6, 2.1][: j + 1])) for j in range(3)
        )
        policy = Greedy() if rng.random() < 0.5 else None
        system = build_system(Scenario(Workload(classes), int(rng.integers(28, 60))), policy)
        model = chain_model(system)
        packed, columns = kernel_arguments(model, 8, 3)[:2]
        decoded = np.zeros_like(model.outcomes)
        for place, entry in enumerate(packed):
            code, share = divmod(entry, 1.0)
            row = place // int(columns)
            decoded[row, int(code) // 64] += share / columns
            decoded[row, int(code) % 64] += (1 - share) / columns
        assert decoded == pytest.approx(model.outcomes, abs=1e-10)


def test_a_run_that_accepts_no_job_still_ends():
    workload = Workload((JobClass("a", 1.0, SpeedUp([1]), size=Deterministic()),))
    answer = simulate(
        Scenario(workload, 1, ArrivalTimes([0.0])),
        Greedy(),
        jobs=1,
        replications=2,
        start={1: 1},
        warmup=0,
        seed=1,
    )
    assert answer.blocking.value == 1
    assert set(answer.to_dict()["quantiles"].values()) == {None}
    assert answer.to_dict()["mean_execution_time"] is None
    with pytest.raises(MoldableError, match="the warm-up leaves nothing"):
        simulate(Scenario(workload, 1, ArrivalTimes([0.0, 0.1])), Greedy(), jobs=2, warmup=9)


def test_classes_without_arrivals_are_null_in_json_and_named():
    classes = (JobClass("often", 20.0, PAPER), JobClass("never", 1e-9, PAPER))
    answer = simulate(Scenario(Workload(classes), 40), jobs=1000, seed=1, warmup=0)
    text = json.dumps(answer.to_dict(), allow_nan=False)
    assert json.loads(text)["classes"][1]["mean_execution_time"] is None
    assert "no job of class 'never' arrived: run longer" in answer.warnings


def test_a_departure_makes_room_for_an_arrival_of_the_same_moment():
    workload = Workload((JobClass("a", 1.0, SpeedUp([1]), size=Deterministic()),))
    for offset in (0.0, 1.7e9):
        for count in (999, 1000, 1001):
            arrivals = ArrivalTimes(offset + np.arange(count))
            answer = simulate(
                Scenario(workload, 1, arrivals),
                Greedy(),
                jobs=count,
                replications=2,
                start="empty",
                warmup=0,
            )
            assert answer.blocking.value == 0
            assert answer.busy_fraction == pytest.approx(1, rel=2e-3)


def test_one_arrival_needs_no_gigabytes():
    workload = Workload((JobClass("a", 1.0, SpeedUp([1]), size=Deterministic()),))
    answer = simulate(
        Scenario(workload, 1, ArrivalTimes([5.0])),
        Greedy(),
        jobs=1,
        replications=2,
        start="empty",
        warmup=0,
    )
    assert answer.detail.arrivals == 2


def test_reserved_pools_are_watched_over_one_common_time():
    classes = (JobClass("a", 10.0, SpeedUp([1])), JobClass("b", 0.4, SpeedUp([1]), mean_size=5.0))
    answer = simulate(
        Scenario(Workload(classes, "reserved"), 16), jobs=20_000, replications=64, seed=2
    )
    assert answer.detail.kernel == "count-chain"
    assert answer.warnings == ()
    weighted = sum(
        c.arrival_rate * part.blocking.value
        for c, part in zip(classes, answer.classes, strict=True)
    )
    assert answer.blocking.value == pytest.approx(weighted / 10.4, rel=0.01)


def test_few_replications_raise_no_false_alarms():
    alarms = sum(
        bool(simulate(CHAIN, jobs=2000, replications=2, warmup=2, seed=seed).warnings)
        for seed in range(60)
    )
    assert alarms == 0


def test_intervals_for_rare_blocking_do_not_miss_on_the_low_side():
    n = 200
    exact = erlang_b(160.0, n)
    missed = 0
    for seed in range(60):
        answer = simulate(
            Scenario.single(SpeedUp([1]), 0.8, n), jobs=2000, replications=20, seed=seed
        )
        missed += not answer.blocking.interval[0] <= exact <= answer.blocking.interval[1]
    assert missed <= 6  # 5 % of 60 is 3; 7 or more has a chance of 3 %


def test_max_jobs_is_kept():
    answer = simulate(CHAIN, precision=1e-4, max_jobs=5000, seed=1)
    assert answer.detail.arrivals < 6000
    assert not answer.converged


def test_the_kernel_suits_the_number_of_replications():
    assert simulate(CHAIN, jobs=500, replications=2, seed=1).detail.kernel == "bucket-ring"
    assert simulate(CHAIN, jobs=500, replications=8, seed=1).detail.kernel == "count-chain"


@pytest.mark.parametrize("shape", [1.01, 1.001])
def test_endless_jobs_do_not_disturb_the_times_of_others(shape):
    """Residual sizes go up to 1e308 and beyond there; jobs held 0.2 % of the time once, or nan."""
    workload = Workload((JobClass("jobs", 16.0, SpeedUp([1, 1.8]), size=Pareto(shape)),))
    answer = simulate(Scenario(workload, 20), jobs=20_000, replications=16, seed=1)
    assert 0.5 < answer.busy_fraction < 0.9
    json.dumps(answer.to_dict(), allow_nan=False)
