"""The same seed gives the same numbers on threads, processes and Dask, also after failures."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context

import numpy as np
import pytest

from moldable import simulate
from moldable.arrivals import ArrivalTimes, MarkovModulated, Renewal
from moldable.simulation.chain_run import run_chain
from moldable.simulation.plan import joined
from moldable.simulation.replications import cut
from moldable.sizes import Lognormal
from simulation.systems import CHAIN, RING, TWO, numbers, plan_of


@pytest.fixture(scope="module")
def processes():
    """Start new processes: one that is forked while other threads run can deadlock."""
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        yield pool


@pytest.mark.parametrize(
    "scenario",
    [
        CHAIN,
        RING,
        replace(RING, arrivals=Renewal(Lognormal(2.0))),
        replace(TWO, arrivals=MarkovModulated((0.2, 3.0), ((0, 0.5), (1.0, 0)))),
        replace(TWO, arrivals=ArrivalTimes(np.arange(0.0, 80.0, 0.031))),
        replace(TWO, waiting=5),
    ],
    ids=["chain", "ring", "renewal", "modulated", "listed", "queue"],
)
def test_the_same_seed_gives_the_same_numbers_however_it_is_run(scenario, processes):
    options = {"jobs": 500, "replications": 40, "seed": 4}
    alone = numbers(simulate(scenario, threads=1, **options))
    assert numbers(simulate(scenario, threads=3, **options)) == alone
    assert numbers(simulate(scenario, executor=processes, **options)) == alone
    assert numbers(simulate(scenario, **{**options, "seed": 5})) != alone


@pytest.mark.parametrize(
    ("replications", "workers", "sizes"),
    [
        (16, 2, [8, 8]),
        (16, 1, [16]),
        (64, 8, [8] * 8),
        (64, 2, [32, 32]),
        (40, 3, [16, 16, 8]),
        (20, 8, [8, 8, 4]),
        (8, 2, [8]),
    ],
)
def test_every_worker_gets_a_set_of_lanes_as_far_as_they_go(replications, workers, sizes):
    chunks = cut(range(replications), "count-chain", workers)
    assert [len(chunk) for chunk in chunks] == sizes
    assert [one for chunk in chunks for one in chunk] == list(range(replications))


def test_the_number_of_lanes_changes_no_number():
    options = {"jobs": 2000, "replications": 40, "seed": 4}
    one, two, five = (numbers(simulate(CHAIN, threads=t, **options)) for t in (1, 2, 5))
    assert one == two == five
    plan = plan_of(CHAIN, "equilibrium", jobs=2000, batches=3)
    whole = run_chain(plan, tuple(range(32)))
    for workers in (2, 5):
        parts = [run_chain(plan, chunk) for chunk in cut(range(32), "count-chain", workers)]
        assert len(parts) == min(workers, 4)
        for name in ("arrived", "blocked", "granted", "mean_jobs", "time"):
            assert np.array_equal(getattr(joined(parts), name), getattr(whole, name))


@pytest.mark.long
def test_the_same_numbers_with_the_jit_off():
    code = (
        "import json\nfrom moldable import *\nfrom scipy.stats import semicircular\n"
        "from moldable.arrivals import *\nfrom moldable.sizes import *\n"
        "curve = SpeedUp([1, 1.8, 2.5])\n"
        "answers = []\n"
        "loop = PhaseType([0.5, 0.5], [[-3.0, 2.0], [1.0, -2.0]])\n"
        "round = FromScipy(semicircular(loc=1.0))\n"
        "renewal = Renewal(Lognormal(2.0))\n"
        "modulated = MarkovModulated((0.2, 3.0), ((0, 0.5), (1.0, 0)))\n"
        "poisson = Poisson()\n"
        "for arrivals, *laws in ((poisson, Exponential()), (poisson, Lognormal(1.0)),\n"
        "                        (poisson, loop), (renewal, loop),\n"
        "                        (modulated, Lognormal(1.0), round)):\n"
        "    workload = Workload(tuple(JobClass(f'c{j}', 8.0 / len(laws), curve, size=law)\n"
        "                              for j, law in enumerate(laws)))\n"
        "    answer = simulate(Scenario(workload, 10, arrivals), jobs=40, replications=8, seed=2,\n"
        "                      warmup=0.5)\n"
        "    answers.append([answer.blocking.value, answer.mean_execution_time.value,"
        " answer.busy_fraction, answer.detail.kernel])\n"
        "print(json.dumps(answers))"
    )
    results = []
    for off in ("0", "1"):
        environment = {**os.environ, "NUMBA_DISABLE_JIT": off}
        run = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            env=environment,
            check=True,
        )
        results.append(json.loads(run.stdout))
    assert results[0] == results[1]
    assert [answer[3] for answer in results[0]] == ["count-chain", *["bucket-ring"] * 4]


class Flaky(Executor):
    """Loses every third chunk, as a dying worker would."""

    def __init__(self):
        self.count = 0

    def submit(self, function, /, *arguments, **keywords):
        future = Future()
        self.count += 1
        if self.count % 3 == 0:
            future.set_exception(BrokenExecutor("the worker died"))
        else:
            future.set_result(function(*arguments, **keywords))
        return future


def test_replications_of_lost_workers_are_run_again():
    options = {"jobs": 1000, "replications": 20, "seed": 4}
    whole = simulate(RING, threads=1, **options)
    mended = simulate(RING, executor=Flaky(), **options)
    assert mended.blocking == whole.blocking
    assert mended.provenance["replications"] == 20
    assert any("lost workers were run again" in warning for warning in mended.warnings)


def test_executors_that_refuse_work_lose_nothing():
    class Refusing(Executor):
        def submit(self, function, /, *arguments, **keywords):  # noqa: ARG002
            raise RuntimeError("no more")

    options = {"jobs": 500, "replications": 8, "seed": 4}
    assert (
        simulate(RING, executor=Refusing(), **options).blocking
        == simulate(RING, **options).blocking
    )


class AtOnce(Executor):
    """Has run a chunk before it is asked for its answer."""

    def submit(self, function, /, *arguments, **keywords):
        future = Future()
        future.set_result(function(*arguments, **keywords))
        return future


def test_an_interrupt_keeps_what_has_ended_elsewhere():
    def stop(*_):
        raise KeyboardInterrupt

    answer = simulate(RING, jobs=200, replications=40, seed=1, executor=AtOnce(), progress=stop)
    assert answer.provenance["replications"] == 40
    assert not any("interrupted" in warning for warning in answer.warnings)


def test_progress_of_lost_chunks_ends_at_the_whole():
    reported = []
    simulate(
        CHAIN, jobs=500, replications=40, seed=1, executor=Flaky(),
        progress=lambda done, planned: reported.append(done / planned))  # fmt: skip
    assert reported == sorted(reported)
    assert reported[-1] == 1.0
