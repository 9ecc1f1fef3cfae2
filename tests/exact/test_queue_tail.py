"""Bounds on long queues against the queues themselves, and queues without limit."""

from __future__ import annotations

import math

import numpy as np
import pytest

from moldable import JobClass, Scenario, SpeedUp, Workload
from moldable.errors import ChainError, UnstableError
from moldable.exact import queue_law
from moldable.exact.queue_chain import first_chain
from moldable.exact.queue_law import solve_queue, truncation
from moldable.exact.queue_model import queue_model
from moldable.exact.queue_size import predicted_queue_states
from moldable.exact.queue_tail import least_throughput, tail_bound
from moldable.exact.stationary import solve_stationary
from moldable.sizes import Hyperexponential, MixedErlang
from naive.queue_systems import even_price, even_share, fixed, greedy, queue_system, with_places

SUB_LINEAR = [1, 1.8, 2.5, 3, 3.4]
TWO_CLASSES = Scenario(
    Workload(
        (
            JobClass("narrow", 1.2, SpeedUp([1, 1.8]), 0.7),
            JobClass("wide", 0.5, SpeedUp({2: 1.7, 3: 2.4}), 1.5, size=MixedErlang()),
        )
    ),
    5,
)


def narrowest_that_fits(j, idle, behind):
    widths = ((1, 2), (2, 3))[j]
    fitting = [width for width in widths if width <= idle]
    return {fitting[0 if behind else -1]: 1.0} if fitting else {}


SYSTEMS = {
    "even price": (Scenario.single(SUB_LINEAR, 0.7, 8), even_price(SUB_LINEAR, 8)),
    "even share": (Scenario.single(SUB_LINEAR, 0.9, 4), even_share(5)),
    "one slot": (Scenario.single([1, 1.8], 0.8, 2), greedy(2)),
    "greedy": (Scenario.single(SUB_LINEAR, 0.5, 7), greedy(5)),
    "variable sizes": (
        Scenario.single([1, 1.8], 0.6, 4, size=Hyperexponential(2.0)),
        even_share(2),
    ),
    "regular sizes": (Scenario.single([1, 1.8], 0.8, 4, size=MixedErlang()), even_share(2)),
    "heads that hold": (TWO_CLASSES, narrowest_that_fits),
}


@pytest.fixture(params=SYSTEMS)
def system(request):
    scenario, choose = SYSTEMS[request.param]
    return queue_system(scenario, choose, math.inf, behind=6)


def listed(system, levels):
    """Return (chain, its solution) with levels above the first that is like the others."""
    first = first_chain(queue_model(system))
    chain = first.extended(max(first.top, first.model.level + levels))
    guess = 0.9**chain.queue
    return chain, solve_stationary(chain.chain, guess, None, chain.groups)


def test_the_bound_lies_above_the_probability_of_long_queues(system):
    chain, solution = listed(system, 500)
    level = chain.model.level
    bound = tail_bound(first_chain(chain.model).repeated, chain.model.arrival_rate, 1e-12)
    longer = np.bincount(chain.queue, solution.law)[::-1].cumsum()[::-1]
    for levels in range(0, 300, 7):
        assert bound.beyond(levels) >= longer[level + levels] - 1e-14
    # It is not just 1: after the number of levels that it asks for, it is as small as it should be.
    enough = bound.levels(1e-9)
    assert bound.beyond(enough) <= 1e-9
    assert longer[level + enough] > 1e-19


def test_the_error_by_leaving_out_long_queues_is_bounded(system):
    whole, exact = listed(system, 500)
    bound = tail_bound(first_chain(whole.model).repeated, whole.model.arrival_rate, 1e-12)
    for levels in (30, 60, 100):
        part, solution = listed(system, levels)
        apart = np.abs(exact.law[: part.states] - solution.law).sum()
        apart += exact.law[part.states :].sum()
        neglected, effect = truncation(part, bound, solution.hitting_times)
        assert exact.law[part.states :].sum() <= neglected + 1e-18
        assert apart <= effect + 1e-11
    assert part.node.tolist() == whole.node[: part.states].tolist()


def test_results_do_not_depend_on_the_number_of_levels(system, monkeypatch):
    usual = solve_queue(system)
    monkeypatch.setattr(queue_law, "TRUNCATION", 1e-20)
    longer = solve_queue(system)
    assert longer.queue_length.size > usual.queue_length.size + 10
    assert usual.mean_wait == pytest.approx(longer.mean_wait, rel=1e-9)
    assert usual.mean_response == pytest.approx(longer.mean_response, rel=1e-9)
    beyond = longer.queue_length[usual.queue_length.size :].sum()
    assert beyond <= usual.neglected_mass < 1e-12


def test_greedy_queues_grow_without_limit_above_its_throughput():
    def at(load):
        return queue_system(Scenario.single(SUB_LINEAR, load, 10), greedy(5), math.inf, behind=0)

    with pytest.raises(UnstableError, match=r"rate 8, but while many wait only 6\.8"):
        solve_queue(at(0.8))
    with pytest.raises(UnstableError):
        solve_queue(at(0.68))  # exactly as many as are completed
    assert solve_queue(at(0.62)).mean_queue > 1.0
    assert solve_queue(with_places(at(0.8), 30)).blocking > 0.1


def test_the_slowest_of_several_frozen_configurations_counts():
    """Servers that were granted three at a time stay so, and are slower than pairs."""

    def choose(_, idle, behind):
        if behind == 0:
            return {3: 0.5, 2: 0.5} if idle >= 3 else {idle: 1.0} if idle else {}
        return {idle: 1.0} if 0 < idle <= 3 else {2: 1.0} if idle else {}

    curve = SpeedUp([1, 1.9, 2.3])
    system = queue_system(Scenario.single(curve, 0.7, 6), choose, math.inf, behind=1)
    slowest = least_throughput(first_chain(queue_model(system)).repeated)
    assert slowest == pytest.approx(2 * 2.3, rel=1e-12)
    assert solve_queue(system).mean_queue > 0.0
    with pytest.raises(UnstableError):
        solve_queue(queue_system(Scenario.single(curve, 0.8, 6), choose, math.inf, behind=1))


def test_the_throughput_of_heads_that_hold_follows_from_their_chain():
    """Alternating at random between jobs that need all servers and jobs that need one."""
    wide = JobClass("wide", 0.1, SpeedUp({2: 1.6}), 1.6)  # for one unit of time
    narrow = JobClass("narrow", 0.1, SpeedUp({1: 1.0}), 1.0)
    scenario = Scenario(Workload((wide, narrow)), 2)

    def choose(j, idle, _):
        return {(2, 1)[j]: 1.0} if idle >= (2, 1)[j] else {}

    system = queue_system(scenario, choose, math.inf, behind=0)
    # Between two wide jobs run N narrow ones, N geometric with P(N = k) = 2^-(k + 1). With two
    # running, one ends after 1/2; the last two take 1/2 + 1, a single one takes 1.
    narrow_time = 0.25 * 1.0 + sum(0.5 ** (k + 1) * (0.5 * (k - 1) + 1.0) for k in range(2, 200))
    jobs_per_cycle, time_per_cycle = 2.0, 1.0 + narrow_time
    found = least_throughput(first_chain(queue_model(system)).repeated)
    assert found == pytest.approx(jobs_per_cycle / time_per_cycle, rel=1e-10)


def test_chains_that_are_too_large_are_refused():
    scenario = Scenario.single(SUB_LINEAR, 0.9, 12)
    system = queue_system(scenario, even_price(SUB_LINEAR, 12), math.inf)
    with pytest.raises(ChainError, match=r"states, more than the 5,000"):
        solve_queue(system, most=5000)
    with pytest.raises(ChainError, match="fewer servers"):
        solve_queue(with_places(system, 1e9))
    nearly = queue_system(Scenario.single([1, 1.8], 1.0 - 1e-6, 4), fixed(1), math.inf)
    with pytest.raises(ChainError, match="states, more than"):
        solve_queue(nearly)
    closer = queue_system(Scenario.single([1, 1.8], 1.0 - 1e-9, 4), fixed(1), math.inf)
    with pytest.raises(ChainError, match="no bound on long queues"):
        solve_queue(closer)


@pytest.mark.parametrize("places", [0, 5, 100, math.inf])
def test_the_number_of_states_is_predicted(system, places):
    system = with_places(system, float(places))
    found, predicted = solve_queue(system).states, predicted_queue_states(system)
    assert predicted >= (0.5 if math.isinf(places) else 1.0) * found
    # All configurations are counted, of which greedy reaches few.
    assert predicted < 30 * found + 500


def test_states_of_large_clusters_are_predicted_without_listing_them():
    system = queue_system(Scenario.single(SUB_LINEAR, 0.5, 2000), fixed(5), math.inf, behind=0)
    assert 400 < predicted_queue_states(system) < 1000
    system = queue_system(Scenario.single(SUB_LINEAR, 0.5, 2001), even_share(5), math.inf, behind=3)
    assert predicted_queue_states(system) > 1e12
