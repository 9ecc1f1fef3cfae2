"""Simulations against exact answers, in standard errors, with the power of each test shown.

Those against a published value run twice: as it is, where |z| must stay below 4, and with arrivals
1 % too frequent, where the same comparison must fail.
"""

from __future__ import annotations

import dataclasses

import pytest
from scipy.special import stdtrit

from moldable import Greedy, JobClass, Scenario, SpeedUp, Workload, greedy_p, simulate
from moldable.sizes import Deterministic, Lognormal, MixedErlang, Pareto
from naive.erlang import erlang_b

LINEAR, PAPER = SpeedUp.linear(5), SpeedUp([1, 1.8, 2.5, 3, 3.4])


def halfin_whitt(n, alpha=0.5):
    return 1 - 0.1 * n**-alpha


def z_score(estimate, exact, replications):
    standard_error = estimate.half_width / stdtrit(replications - 1, 0.975)
    return (estimate.value - exact) / standard_error


def both(curve, n, load, policy=None, size=None, **options):
    """Simulate the system, and the system whose arrival rate is 1 % wrong."""
    workload = Scenario.single(curve, load, n).workload
    if size is not None:
        job_class = dataclasses.replace(workload.classes[0], size=size)
        workload = Workload((job_class,))
    policy = policy or greedy_p(Scenario(workload, n))
    wrong = dataclasses.replace(
        workload.classes[0], arrival_rate=1.01 * workload.classes[0].arrival_rate
    )
    return (
        simulate(Scenario(workload, n), policy, seed=11, **options),
        simulate(Scenario(Workload((wrong,)), n), policy, seed=11, **options),
    )


@pytest.mark.parametrize(
    ("n", "load", "exact"),
    [
        (400, 0.8, 0.0071575281),
        (4000, halfin_whitt(4000), 0.026722726846),
        (4000, halfin_whitt(4000, 2 / 3), 0.027442996804),
    ],
)
def test_the_linear_curve_is_erlangs_loss_system(n, load, exact):
    assert erlang_b(n * load / 5, n // 5) == pytest.approx(exact, rel=1e-5)
    right, wrong = both(LINEAR, n, load, jobs=1_000_000, replications=32)
    assert right.detail.kernel == "count-chain"
    assert abs(z_score(right.blocking, exact, 32)) < 4
    assert abs(z_score(wrong.blocking, exact, 32)) > 4
    assert right.mean_execution_time.value == pytest.approx(0.2, rel=1e-12)


def test_greedy_on_the_sub_linear_curve():
    exact = erlang_b(4000 * 0.8 / 3.4, 800)
    assert exact == pytest.approx(0.155548746118, rel=1e-9)
    right, wrong = both(PAPER, 4000, 0.8, Greedy(), jobs=500_000, replications=32)
    assert abs(z_score(right.blocking, exact, 32)) < 4
    assert abs(z_score(wrong.blocking, exact, 32)) > 4


@pytest.mark.parametrize(
    ("n", "alpha", "blocking", "time"),
    [
        (4000, 1 / 2, 0.012586284643, 0.993745039294),
        pytest.param(4000, 2 / 3, 0.012529435607, 0.998432046616, marks=pytest.mark.long),
        (100, 1 / 2, 0.078091211194, 0.962734232349),
    ],
)
def test_two_widths_agree_with_the_exact_chain(n, alpha, blocking, time):
    load = halfin_whitt(n, alpha)
    right, wrong = both(PAPER, n, load, jobs=1_000_000, replications=64)
    assert abs(z_score(right.blocking, blocking, 64)) < 4
    assert abs(z_score(wrong.blocking, blocking, 64)) > 4
    assert abs(z_score(right.mean_execution_time, time, 64)) < 4
    assert abs(z_score(wrong.mean_execution_time, time, 64)) > 4


@pytest.mark.parametrize(
    "law",
    [
        Deterministic(),
        pytest.param(MixedErlang(), marks=pytest.mark.long),
        pytest.param(Lognormal(1.5), marks=pytest.mark.long),
        Pareto(1.5),
    ],
)
def test_one_width_is_insensitive_to_the_law_of_sizes(law):
    n, load = 400, 0.8
    exact = erlang_b(n * load / 5, n // 5)
    options = {"jobs": 50_000, "replications": 120, "estimator": "realised"}
    right, wrong = both(LINEAR, n, load, size=law, **options)
    assert right.detail.kernel == "bucket-ring"
    assert right.detail.warmup == 0  # the start is stationary
    assert abs(z_score(right.blocking, exact, 120)) < 4
    assert abs(z_score(wrong.blocking, exact, 120)) > 4


def test_phases_run_in_the_chain_too():
    n, load = 400, 0.8
    right, wrong = both(
        LINEAR, n, load, size=MixedErlang((0.4, 0.6)), jobs=300_000, replications=32
    )
    assert right.detail.kernel == "count-chain"
    exact = erlang_b(n * load / 5, n // 5)
    assert abs(z_score(right.blocking, exact, 32)) < 4
    assert abs(z_score(wrong.blocking, exact, 32)) > 4


def test_both_kernels_agree_on_mixed_widths():
    n, load = 64, 0.8
    scenario = Scenario.single(PAPER, load, n)
    chain = simulate(scenario, seed=3, jobs=500_000, replications=32)
    ring = simulate(scenario, seed=3, jobs=100_000, replications=40, estimator="realised")
    assert (chain.detail.kernel, ring.detail.kernel) == ("count-chain", "bucket-ring")
    for name in ("blocking", "mean_execution_time"):
        a, b = getattr(chain, name), getattr(ring, name)
        error = (a.half_width**2 + b.half_width**2) ** 0.5 / 1.96
        assert abs(a.value - b.value) < 4 * error
    for width, share in chain.width_shares.items():
        assert ring.width_shares[width] == pytest.approx(share, rel=0.05)
        assert ring.mean_jobs[width] == pytest.approx(chain.mean_jobs[width], rel=0.05)


def test_time_averages_and_rates_match_the_loss_system():
    n, load = 400, 0.8
    exact = erlang_b(n * load / 5, n // 5)
    answer = simulate(Scenario.single(LINEAR, load, n), seed=5, jobs=1_000_000, replications=32)
    carried = load * (1 - exact)
    assert answer.mean_jobs[5] == pytest.approx(carried / 5, rel=1e-3)
    assert answer.busy_fraction == pytest.approx(carried, rel=1e-3)
    assert answer.departure_rate == pytest.approx(carried, rel=1e-3)
    assert answer.warnings == ()
    # Exponential sizes five times faster: quantiles of an exponential of mean 0.2.
    assert answer.quantiles[0.5] == pytest.approx(0.2 * 0.6931471805599453)
    assert answer.quantiles[0.99] == pytest.approx(0.2 * 4.605170185988091)


@pytest.mark.parametrize("sharing", ["pool", "reserved"])
def test_several_classes_share_or_own_servers(sharing):
    classes = (
        JobClass("a", 30.0, SpeedUp({4: 4.0}), mean_size=1.5),
        JobClass("b", 20.0, SpeedUp({4: 4.0}), mean_size=0.5, size=Deterministic()),
    )
    n = 60
    answer = simulate(
        Scenario(Workload(classes, sharing), n), seed=8, jobs=200_000, replications=40
    )
    if sharing == "pool":
        exact = [erlang_b((45 + 10) / 4, 15)] * 2
    else:
        pools = answer.provenance["pools"]
        assert sum(pools) == n
        exact = [erlang_b(45 / 4, pools[0] // 4), erlang_b(10 / 4, pools[1] // 4)]
    for part, wanted in zip(answer.classes, exact, strict=True):
        assert abs(z_score(part.blocking, wanted, 40)) < 4
    assert answer.classes[0].mean_execution_time.value == pytest.approx(1.5 / 4)


def test_reserved_servers_in_the_chain_agree_with_erlang():
    classes = (
        JobClass("a", 30.0, SpeedUp({4: 4.0}), mean_size=1.5),
        JobClass("b", 20.0, SpeedUp({2: 2.0}), mean_size=0.5),
    )
    answer = simulate(
        Scenario(Workload(classes, "reserved"), 64), seed=8, jobs=300_000, replications=32
    )
    assert answer.detail.kernel == "count-chain"
    pools = answer.provenance["pools"]
    exact = [erlang_b(45 / 4, pools[0] // 4), erlang_b(10 / 2, pools[1] // 2)]
    for part, wanted in zip(answer.classes, exact, strict=True):
        assert abs(z_score(part.blocking, wanted, 32)) < 4
