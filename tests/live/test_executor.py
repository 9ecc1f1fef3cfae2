"""The executor on processes of this machine, and on a back end that the tests control."""

from __future__ import annotations

import logging
import math
import os
import random
import signal
import threading
import time
from concurrent.futures import (
    FIRST_COMPLETED,
    CancelledError,
    Future,
    ThreadPoolExecutor,
    as_completed,
    wait,
)
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from executor_conformance import (
    CLASSES,
    SERVERS,
    Conformance,
    check_journal,
    scenario,
)
from executor_tasks import LONGEST, nap
from moldable import Greedy, Policy, Scenario, Thresholds, Workload, greedy_p, tune
from moldable.errors import InputError, MoldableError, PolicyError, WorkloadError
from moldable.live import (
    Blocked,
    MoldableExecutor,
    Snapshot,
    WaitingJob,
    decide,
    read_plan,
    width,
    write_plan,
)
from moldable.live.backends import LocalProcesses, find_backend
from moldable.live.journal import read_journal
from moldable.live.learning import LearningPolicy
from moldable.live.task import Outcome
from moldable.policies import FixedWidth, IdleShare, QueueTable


class TestLocalProcesses(Conformance):
    tasks = 16

    @pytest.fixture
    def backend(self):
        return LocalProcesses(SERVERS)

    def test_a_process_that_dies_while_it_is_idle_is_replaced(self, backend):
        with MoldableExecutor(Greedy(), SERVERS, backend, scenario=scenario()) as executor:
            first = executor.submit(os.getpid, job_class="solver").result(LONGEST)
            (pool,) = backend._idle  # noqa: SLF001 - its process is idle
            os.kill(first, signal.SIGKILL)
            while not pool._broken:  # noqa: SLF001 - not noticed yet
                time.sleep(0.01)
            second = executor.submit(os.getpid, job_class="solver").result(LONGEST)
            assert second != first
            assert executor.idle == SERVERS


class Threads:
    """Runs calls on threads of this process."""

    servers, most = SERVERS, None

    def __init__(self):
        self.pool = ThreadPoolExecutor(SERVERS)
        self.closed = 0

    def start(self, call, width):  # noqa: ARG002 - the call has it
        return self.pool.submit(call)

    def close(self):
        self.closed += 1
        self.pool.shutdown()


class Manual:
    """Runs nothing: the test ends tasks when it likes."""

    servers, most = SERVERS, None

    def __init__(self):
        self.started: list[tuple[object, int, Future]] = []
        self.closed = 0

    def start(self, call, width):
        running = Future()
        self.started.append((call, width, running))
        return running

    def end(self, number=0, *, outcome=None, error=None):
        _, _, running = self.started.pop(number)
        if error is None:
            running.set_result(Outcome() if outcome is None else outcome)
        else:
            running.set_exception(error)

    def close(self):
        self.closed += 1


def manual(policy=None, waiting="unlimited", **options):
    backend = Manual()
    policy = Greedy() if policy is None else policy
    return backend, MoldableExecutor(policy, backend=backend, scenario=scenario(waiting), **options)


POLICIES = [
    Greedy(),
    IdleShare(),
    FixedWidth(2),
    greedy_p(scenario()),
    Thresholds({"solver": {1: 0, 3: 2}, "train": {1: 1, 4: 2}}),
    QueueTable({"solver": {0: {1: 1, 3: 3}, 2: {1: 1}}, "train": {0: {2: 2}, 1: {1: 1}}}),
]
EVENTS = st.lists(
    st.tuples(
        st.sampled_from(["arrive", "arrive", "arrive", "end", "fail", "lose", "cancel"]),
        st.integers(0, 7),
    ),
    min_size=15,
    max_size=50,
)


class Reference:
    """The same decisions, from lists and with all waiting jobs in one snapshot."""

    def __init__(self, policy, places, seed):
        self.policy, self.places, self.seed = policy, places, seed
        self.queue, self.held, self.decisions = [], {}, []

    def decide(self):
        running = {}
        for name, got in self.held.values():
            running.setdefault(name, {}).setdefault(got, 0)
            running[name][got] += 1
        snapshot = Snapshot(SERVERS, running, {}, tuple(self.queue))
        for found in decide(snapshot, self.policy, places=self.places, seed=self.seed):
            if found.action == "wait":
                continue
            self.decisions.append((found.job, found.action, found.width))
            self.queue = [job for job in self.queue if job.job != found.job]
            if found.action == "grant":
                self.held[found.job] = found.job_class, found.width

    def arrive(self, job, job_class):
        if len(self.queue) and len(self.queue) >= self.places:
            self.decisions.append((job, "block", 0))
            return
        self.queue.append(WaitingJob(job, job_class))
        if len(self.queue) == 1:
            self.decide()


@settings(max_examples=300)
@given(
    policy=st.sampled_from(POLICIES),
    places=st.sampled_from([0, 2, math.inf]),
    events=EVENTS,
    seed=st.integers(0, 5),
)
def test_the_decisions_are_those_of_decide_for_any_order_of_events(policy, places, events, seed):
    backend, executor = manual(policy, places, seed=seed)
    reference = Reference(policy.with_classes(scenario()), places, seed)
    futures, numbers = {}, []
    for event, number in events:
        if event == "arrive":
            job = str(len(futures) + 1)
            futures[job] = executor.submit(nap, job_class=CLASSES[number % 2].name)
            reference.arrive(job, CLASSES[number % 2])
        elif event == "cancel" and reference.queue:
            position = number % len(reference.queue)
            job = reference.queue.pop(position).job
            assert futures[job].cancel()
            if position == 0:
                reference.decide()
        elif event != "cancel" and reference.held:
            number %= len(reference.held)  # noqa: PLW2901 - the number of a running job
            job = list(reference.held)[number]
            del reference.held[job]
            ended = {"end": {}, "fail": {"outcome": Outcome(error=LookupError())}}
            backend.end(number, **ended.get(event, {"error": OSError()}))
            assert futures[job].done()
            reference.decide()
        got = [each[1] for each in backend.started]
        assert got == [each[1] for each in reference.held.values()]
        assert sum(got) <= SERVERS
        assert executor.idle == SERVERS - sum(got)
        assert executor.waiting == len(reference.queue)
        numbers.append(len(got))
    granted = {job: got for job, action, got in reference.decisions if action == "grant"}
    blocked = {job for job, action, _ in reference.decisions if action == "block"}
    for job, future in futures.items():
        refused = job in blocked
        assert refused == (
            future.done() and not future.cancelled() and isinstance(future.exception(), Blocked)
        )
        assert (job in granted) == (
            future.running() or (future.done() and not refused and not future.cancelled())
        )
    executor.shutdown(wait=False, cancel_futures=True)
    while backend.started:
        backend.end()
    executor.shutdown()
    assert executor.idle == SERVERS


def test_a_policy_that_draws_widths_draws_them_by_seed_and_job():
    widths = []
    for seed in (1, 1, 2):
        backend, executor = manual(greedy_p(scenario()), seed=seed)
        for _ in range(200):
            executor.submit(nap, job_class="solver")
            if executor.idle < 3:
                backend.end()
        widths.append([got for _, got, _ in backend.started])
        while backend.started:
            backend.end()
    assert widths[0] == widths[1]


def test_many_threads_may_submit_at_once():
    backend, busy, most, lock = Threads(), 0, 0, threading.Lock()

    def work():
        nonlocal busy, most
        with lock:
            busy += width()
            most = max(most, busy)
        time.sleep(0.001 * random.random())  # noqa: S311 - a pause
        with lock:
            busy -= width()
        return width()

    with MoldableExecutor(Greedy(), backend=backend, scenario=scenario()) as executor:

        def submit_some():
            return [executor.submit(work, job_class=CLASSES[k % 2].name) for k in range(50)]

        with ThreadPoolExecutor(8) as submitters:
            many = [submitters.submit(submit_some) for _ in range(8)]
            futures = [future for each in many for future in each.result()]
        assert all(1 <= future.result(LONGEST) <= 3 for future in as_completed(futures, LONGEST))
        assert executor.idle == SERVERS
    assert most <= SERVERS
    assert backend.closed == 1


def test_map_gives_the_results_in_order_and_takes_a_class():
    with MoldableExecutor(Greedy(), backend=Threads(), scenario=scenario()) as executor:
        assert list(executor.map(pow, [2, 3, 4], [5, 2, 1], job_class="train")) == [32, 9, 4]
        with pytest.raises(InputError, match="the plan has 2 classes"):
            executor.map(abs, [1])


def test_a_callback_that_raises_does_not_change_the_ledger(caplog):
    backend, executor = manual()
    future = executor.submit(nap, job_class="solver")
    others = [executor.submit(nap, job_class="solver") for _ in range(2)]
    future.add_done_callback(lambda _: {}["nothing"])
    with caplog.at_level(logging.CRITICAL):  # the standard library logs it
        backend.end()
    others[0].add_done_callback(lambda _: (_ for _ in ()).throw(SystemExit))
    with suppress(SystemExit):
        backend.end()
    assert (executor.idle, executor.waiting, len(backend.started)) == (3, 0, 1)
    backend.end()
    executor.shutdown()
    assert executor.idle == SERVERS


def test_a_callback_may_submit_again():
    backend, executor = manual()
    later = []
    executor.submit(nap, job_class="solver").add_done_callback(
        lambda _: later.append(executor.submit(nap, job_class="train"))
    )
    backend.end()
    assert [got for _, got, _ in backend.started] == [2]
    backend.end()
    assert later[0].done()


def test_a_back_end_that_starts_nothing_fails_every_task_and_holds_no_server():
    class Broken(Manual):
        def start(self, call, width):  # noqa: ARG002 - as all back ends
            raise OSError("no more processes")

    executor = MoldableExecutor(Greedy(), backend=Broken(), scenario=scenario())
    futures = [executor.submit(nap, job_class="solver") for _ in range(3000)]
    assert all(isinstance(future.exception(), OSError) for future in futures)
    assert executor.idle == SERVERS


def test_a_back_end_may_answer_at_once_for_any_number_of_waiting_tasks():
    class Immediate(Manual):
        def start(self, call, width):
            if not self.started:  # the first one runs until the test ends it
                return super().start(call, width)
            done = Future()
            done.set_result(Outcome(width))
            return done

    backend = Immediate()
    executor = MoldableExecutor(Greedy(), 6, backend, scenario=scenario())
    first = executor.submit(nap, job_class="solver")
    futures = [executor.submit(nap, job_class="solver") for _ in range(3000)]
    backend.end()
    assert first.done()
    assert {future.result() for future in futures} == {3}


def test_shutdown_is_that_of_the_standard_library():
    backend, executor = manual()
    running = [executor.submit(nap, job_class="solver") for _ in range(2)]
    waiting = [executor.submit(nap, job_class="solver") for _ in range(2)]
    executor.shutdown(wait=False, cancel_futures=True)
    assert [future.cancelled() for future in waiting] == [True, True]
    assert wait(waiting, LONGEST).done == set(waiting)  # those who wait for them are woken
    with pytest.raises(RuntimeError, match="cannot schedule new futures after shutdown"):
        executor.submit(nap, job_class="solver")
    assert not backend.closed
    for _ in range(2):
        backend.end()
    assert all(future.done() for future in running)
    executor.shutdown()
    assert backend.closed >= 1


def test_shutdown_waits_for_tasks_that_wait_for_servers():
    backend, executor = manual()
    futures = [executor.submit(nap, job_class="solver") for _ in range(3)]
    ended = threading.Thread(target=executor.shutdown)
    ended.start()
    backend.end()
    backend.end()
    ended.join(0.1)
    assert ended.is_alive()
    backend.end()
    ended.join(LONGEST)
    assert not ended.is_alive()
    assert all(future.done() for future in futures)


def test_those_who_wait_for_a_cancelled_task_are_woken():
    _, executor = manual()
    futures = [executor.submit(nap, job_class="solver") for _ in range(3)]
    threading.Timer(0.05, futures[2].cancel).start()
    done, _ = wait(futures, LONGEST, return_when=FIRST_COMPLETED)
    assert done == {futures[2]}
    with pytest.raises(CancelledError):
        futures[2].result()


def test_a_task_behind_a_head_that_is_cancelled_is_offered_its_servers():
    backend, executor = manual(Thresholds({"solver": {1: 0, 3: 3}, "train": {1: 1, 4: 2}}))
    for _ in range(3):
        executor.submit(nap, job_class="train")
    head = executor.submit(nap, job_class="solver")  # needs three servers, and one is idle
    behind = executor.submit(nap, job_class="train")
    assert (executor.idle, executor.waiting) == (1, 2)
    assert head.cancel()
    assert behind.running()
    assert [got for _, got, _ in backend.started] == [2, 2, 1, 1]


class Raises(Policy):
    """Fails for one class."""

    def choose(self, job_class, observation):
        if job_class.name == "train" and observation.idle < SERVERS:
            raise ZeroDivisionError("a mistake of the policy")
        return {3: 1.0}


def test_an_error_of_the_policy_is_that_of_the_task_and_the_others_go_on():
    backend, executor = manual(Raises())
    for _ in range(2):
        executor.submit(nap, job_class="solver")
    bad, good = (executor.submit(nap, job_class=name) for name in ("train", "solver"))
    backend.end()
    with pytest.raises(ZeroDivisionError):
        bad.result(0)
    assert len(backend.started) == 2
    backend.end()
    refused = executor.submit(nap, job_class="train")  # now while no task waits
    assert isinstance(refused.exception(0), ZeroDivisionError)
    while backend.started:
        backend.end()
    assert good.done()
    assert executor.idle == SERVERS


def test_a_task_that_would_wait_for_ever_is_an_error():
    _, executor = manual(Thresholds({"solver": {1: 0}, "train": {1: 1}}))
    with pytest.raises(PolicyError, match="though all 6 are idle"):
        executor.submit(nap, job_class="solver").result(0)


def test_a_journal_that_cannot_be_written_is_logged_and_the_tasks_go_on(tmp_path, caplog):
    journal = tmp_path / "folder" / "journal.jsonl"
    journal.parent.mkdir()
    backend, executor = manual(journal=journal)
    journal.unlink()
    journal.mkdir()
    future = executor.submit(nap, job_class="solver")
    backend.end()
    assert future.done()
    assert "cannot be written" in caplog.text


def test_a_policy_that_learns_is_given_every_entry_of_the_journal(tmp_path):
    one = Scenario.single([1, 1.8, 2.5], 0.6, SERVERS, waiting="unlimited")
    live, later = LearningPolicy(one, seed=1), LearningPolicy(one, seed=1)
    path = tmp_path / "journal.jsonl"
    with MoldableExecutor(live, backend=Threads(), scenario=one, journal=path) as executor:
        assert list(executor.map(abs, range(30))) == list(range(30))
    for entry in read_journal(path):
        later.observe(entry)
    assert live.draws == later.draws > 1
    assert live.learned().to_dict() == later.learned().to_dict()


def test_a_policy_that_cannot_learn_goes_on_deciding(caplog):
    class Forgetful(Greedy):
        def observe(self, entry):
            raise ValueError(entry.job)

    one = Scenario.single([1, 1.8, 2.5], 0.6, SERVERS, waiting="unlimited")
    with MoldableExecutor(Forgetful(), backend=Threads(), scenario=one) as executor:
        assert executor.submit(width).result(LONGEST) == 3
    assert "the policy cannot learn from job 1" in caplog.text


def test_a_plan_a_plan_file_and_a_result_decide_alike(tmp_path):
    one = Scenario.single([1, 1.8, 2.5], 0.6, SERVERS)
    tuned = tune(one, max_blocking=0.3)
    path = tmp_path / "plan.json"
    write_plan(path, tuned.policy, tuned.performance)
    digests = set()
    for number, given_plan in enumerate((path, str(path), read_plan(path), tuned)):
        backend, journal = Manual(), tmp_path / f"{number}.jsonl"
        executor = MoldableExecutor(given_plan, backend=backend, journal=journal)
        for _ in range(8):
            executor.submit(nap)
        while backend.started:
            backend.end()
        check_journal(journal, tuned.policy, SERVERS, one.workload.classes)
        digests.add(tuple((e.event, e.width, e.plan) for e in read_journal(journal)))
    assert len(digests) == 1


def test_what_does_not_fit_is_refused():
    one = Scenario.single([1, 1.8], 0.5, 4)
    for error, message, arguments in (
        (PolicyError, "servers=3, but the plan is for 4 servers", {"servers": 3}),
        (PolicyError, "has no classes", {"scenario": None}),
        (PolicyError, "equi moves servers", {"policy": "equi"}),
        (PolicyError, "is not known; pass a Dask client", {"backend": 3}),
        (PolicyError, "but there are only 2", {"backend": LocalProcesses(2)}),
        (WorkloadError, "scenario", {"scenario": 3}),
    ):
        with pytest.raises(error, match=message):
            MoldableExecutor(**{"policy": "greedy", "scenario": one, **arguments})
    with pytest.raises(MoldableError, match="unknown class 'sovler'; did you mean 'solver'"):
        manual()[1].submit(nap, job_class="sovler")
    reserved = Scenario(Workload(CLASSES, sharing="reserved"), SERVERS)
    with pytest.raises(PolicyError, match="reserved servers"):
        MoldableExecutor("greedy", scenario=reserved)
    assert find_backend(backend := Manual()) is backend


def test_a_forked_process_cannot_use_the_executor_of_its_parent():
    _, executor = manual()
    child = os.fork()
    if not child:
        try:
            executor.submit(nap, job_class="solver")
        except RuntimeError as error:
            os._exit(7 if "belongs to the parent process" in str(error) else 1)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
