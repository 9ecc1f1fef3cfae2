"""Arrivals and sizes do not depend on the length of the blocks or on who draws them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import gamma, kstest, weibull_min

from moldable import JobClass, Scenario, SizeLaw, SpeedUp, Workload, simulate
from moldable.arrivals import ArrivalTimes, MarkovModulated, Poisson, Renewal
from moldable.kernels.bucket_ring import bucket_ring
from moldable.model.arrivals import Arrivals
from moldable.simulation.arrival_source import BLOCK, ArrivalSource
from moldable.simulation.ring_run import RingState, ring_model
from moldable.sizes import Exponential, FromScipy, Lognormal
from moldable.system.loss_system import build_system


class OwnLaw(SizeLaw):
    """A law that no kernel knows."""

    name = "own"
    parameters = ()
    variance = 0.5

    def sample(self, rng, count):
        return rng.gamma(2.0, 0.5, count)

    def sample_residual(self, rng, count):
        return rng.gamma(2.0, 0.5, count) * rng.random(count)

    def cdf(self, x):
        return gamma(2.0, scale=0.5).cdf(x)


class OwnArrivals(Arrivals):
    """Arrivals in pairs, which no kernel knows."""

    def stream(self, rate, rng, scale=1.0):
        class Pairs:
            now = 0.0

            def take(self, count):
                gaps = np.repeat(rng.exponential(2 * scale / rate, count // 2), 2)
                gaps[1::2] = 0.0
                times = self.now + np.cumsum(gaps)
                self.now = times[-1]
                return times

        return Pairs()


STEEP, OWN = FromScipy(weibull_min(0.02)), OwnLaw()
LIST = np.cumsum(np.random.default_rng(1).exponential(size=3 * BLOCK))
LABELS = np.random.default_rng(2).integers(0, 3, LIST.size)
ARRIVALS = {
    "Poisson": Poisson(),
    "renewal": Renewal(Lognormal(1.5)),
    "renewal of its own": Renewal(OWN),
    "modulated": MarkovModulated((0.5, 1.5), ((0, 1.0), (1.0, 0))),
    "listed": ArrivalTimes(LIST),
    "listed with classes": ArrivalTimes(LIST, LABELS),
    "of its own": OwnArrivals(),
}
LAWS = {
    "known": (Lognormal(1.0), STEEP, Exponential()),
    "partly known": (Lognormal(1.0), OWN, Exponential()),
    "one unknown": (OWN,),
}


def system_of(laws, arrivals):
    classes = tuple(
        JobClass(f"c{j}", 1.0 + j, SpeedUp([1, 1.8]), size=law) for j, law in enumerate(laws)
    )
    return build_system(Scenario(Workload(classes), 20, arrivals), None)


def source_of(laws, arrivals):
    rng = np.random.Generator(np.random.SFC64(3))
    return ArrivalSource(system_of(laws, arrivals), rng, scale=1.0, draws=True)


def taken(source, counts):
    """Return all that is handed out, as bytes of each column."""
    parts = [
        [column.copy() for column in block] for count in counts for block in source.take(count)
    ]
    return [np.concatenate(columns).tobytes() for columns in zip(*parts, strict=True)]


@pytest.mark.parametrize("arrivals", ARRIVALS)
@pytest.mark.parametrize("laws", LAWS)
def test_jobs_are_the_same_however_they_are_asked_for(arrivals, laws):
    total, case = 2 * BLOCK + 100, (LAWS[laws], ARRIVALS[arrivals])
    whole = taken(source_of(*case), [total])
    assert taken(source_of(*case), [1, 99, BLOCK, total - BLOCK - 100]) == whole
    source = source_of(*case)
    early = [[column.copy() for column in block] for block in source.take(end=300.0)]
    assert 0 < source.arrived.sum() < total
    rest = [
        [column.copy() for column in block]
        for block in source.take(total - int(source.arrived.sum()))
    ]
    columns = zip(*early, *rest, strict=True)
    assert [np.concatenate(parts).tobytes() for parts in columns] == whole
    assert source.arrived.sum() == total


@pytest.mark.parametrize("arrivals", ["Poisson", "renewal", "modulated"])
def test_the_kernel_draws_by_itself_what_it_would_be_handed(arrivals):
    system = system_of(LAWS["known"], ARRIVALS[arrivals])
    model = ring_model(system)
    found = []
    for by_itself in (False, True):
        rng = np.random.Generator(np.random.SFC64(3))
        source = ArrivalSource(system, rng, scale=model.buckets_per_time, draws=model.draws)
        state = RingState.empty(model, durations=False)
        tallies = np.zeros(model.widths.size, np.int64), np.zeros(model.widths.size)
        arrays = (*model.tables(), *state, *tallies, np.zeros(3, np.int64))
        if by_itself:
            assert source.by_kernel
            source.run(2 * BLOCK, arrays)
            source.run(BLOCK, arrays)
        else:
            for block in source.take(3 * BLOCK):
                bucket_ring(*block, *arrays)
        found.append((source.now, source.arrived.tolist(), [a.tolist() for a in arrays[-3:]]))
    assert found[0] == found[1]


def test_only_what_is_known_is_left_to_the_kernel():
    assert not source_of(LAWS["partly known"], Poisson()).by_kernel
    assert not source_of(LAWS["known"], ARRIVALS["listed"]).by_kernel
    assert not source_of(LAWS["known"], ARRIVALS["renewal of its own"]).by_kernel


@pytest.mark.parametrize("arrivals", ["Poisson", "modulated", "listed with classes", "of its own"])
def test_sizes_follow_the_law_of_their_class_whoever_draws_them(arrivals):
    laws = LAWS["partly known"]
    block = next(source_of(laws, ARRIVALS[arrivals]).take(BLOCK))
    if arrivals == "listed with classes":
        assert np.array_equal(block.labels, LABELS[:BLOCK])
    for j, law in enumerate(laws):
        own = block.sizes[block.labels == j]
        assert kstest(own, law.cdf).pvalue > 1e-4
        assert kstest(own * 1.25, law.cdf).pvalue < 1e-4


def test_classes_with_one_law_of_their_own_share_its_draws():
    source = source_of((OWN, OWN), Poisson())
    block = next(source.take(BLOCK))
    assert kstest(block.sizes, OWN.cdf).pvalue > 1e-4
    assert set(block.labels.tolist()) == {0, 1}


def test_own_laws_and_arrivals_give_the_same_results():
    classes = tuple(
        JobClass(f"c{j}", 10.0, SpeedUp([1, 1.8]), size=law)
        for j, law in enumerate((OWN, Lognormal(1.0)))
    )
    options = {"jobs": 20_000, "replications": 8, "seed": 2}
    own = simulate(Scenario(Workload(classes), 24), **options)
    alike = tuple(
        JobClass(job_class.name, 10.0, SpeedUp([1, 1.8]), size=law)
        for job_class, law in zip(classes, (FromScipy(gamma(2.0)), Lognormal(1.0)), strict=True)
    )
    drawn = simulate(Scenario(Workload(alike), 24), **options)
    error = np.hypot(own.blocking.half_width, drawn.blocking.half_width)
    assert abs(own.blocking.value - drawn.blocking.value) < 2 * error
    pairs = simulate(Scenario(Workload(classes), 24, OwnArrivals()), **options)
    assert pairs.blocking.interval[0] > own.blocking.interval[1]
