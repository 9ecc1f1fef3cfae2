"""Make src/moldable/examples/slurm-week.txt: a week of a small GPU cluster, as sacct prints it.

Run `python -m scripts.slurm_week` in the root of the repository. The same seed gives the same file.

Users of three groups submit training runs, evaluations and solver runs in sessions, most of them on
working days. Jobs run rigidly on 64 GPUs: first come, first served, with EASY backfill by the
users' time limits. What is not finished when the week ends is still running or pending, as in a
real export, and a few jobs are cancelled, fail, time out or are requeued.

Weeks differ widely: twelve seeds gave offered loads of 0.48 to 0.81 and mean waits of 0.6 to 5.4 h.
This seed was chosen because its load is near 0.7 and some of its jobs are unfinished. Its mean wait
of 3.9 h is long for that load (another seed with load 0.68 has 1.1 h), so the log is an example of
the format, not evidence of how much a policy improves waits.
"""

from __future__ import annotations

import heapq
import itertools
import math
import random
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path

SEED = 20261111
GPUS, GPUS_IN_NODE, CPUS_FOR_GPU = 64, 8, 8
BEGIN = datetime(2026, 11, 2)  # noqa: DTZ001 - a Monday, in local time like sacct's output
WEEK = 7 * 86400
LIMITS = tuple(60 * minutes for minutes in (15, 30, 60, 120, 240, 480, 720, 1440, 2880))
HEADER = (
    "JobID|JobName|User|Account|Partition|State|Submit|Start|End|Elapsed|Timelimit|AllocCPUS|"
    "AllocNodes|AllocTRES|ExitCode"
)
TARGET = Path(__file__).resolve().parent.parent / "src" / "moldable" / "examples" / "slurm-week.txt"


@dataclass(frozen=True)
class Kind:
    """A class of jobs: sessions per day, jobs in a session, widths, run times in seconds."""

    account: str
    users: int
    names: tuple[str, ...]
    sessions: float
    batch: float
    gap: float
    widths: dict[int, float]
    mean: float
    cv: float


KINDS = {
    "train": Kind(
        *("vision", 7, ("train-resnet50", "train-bert", "train-unet"), 15.0, 2.2, 240.0),
        *({1: 0.25, 2: 0.3, 4: 0.27, 8: 0.14, 16: 0.04}, 5.5 * 3600, 1.2),
    ),
    "eval": Kind(
        *("nlp", 9, ("eval-glue", "eval-coco"), 9.0, 4.0, 5.0),
        *({1: 0.8, 2: 0.2}, 25 * 60, 1.0),
    ),
    "solve": Kind(
        *("cfd", 4, ("solve-wing", "solve-duct"), 7.0, 1.3, 900.0),
        *({8: 0.55, 16: 0.35, 32: 0.1}, 2.2 * 3600, 0.8),
    ),
}


@dataclass(frozen=True)
class Job:
    """A submitted job; times are seconds since the beginning of the week."""

    number: str
    name: str
    user: str
    account: str
    submit: int
    gpus: int
    run_time: int
    limit: int
    state: str = "COMPLETED"
    exit_code: str = "0:0"
    patience: int | None = None
    again: Job | None = None


@dataclass
class Run:
    """What became of a job: when it started and ended, if it did."""

    job: Job
    start: int | None = None
    end: int | None = None
    cancelled: int | None = None


def intensity(second: float) -> float:
    """Return how busy users are; the average over a week is 1."""
    day, hour = divmod(second / 3600, 24)
    daily = 0.3 + 2.1 * max(0.0, math.sin(math.pi * (hour - 7.5) / 12.5))
    return (0.35 if day >= 5 else 1.25) * daily  # noqa: PLR2004 - Saturday and Sunday


def sessions(rng: random.Random, kind: Kind) -> Iterator[float]:
    """Yield the times at which users sit down, by thinning."""
    most = 1.25 * 2.4
    second = 0.0
    while True:
        second += rng.expovariate(kind.sessions / 86400 * most)
        if second >= WEEK:
            return
        if rng.random() * most < intensity(second):
            yield second


def lognormal(rng: random.Random, mean: float, cv: float) -> float:
    """Draw a number with this mean and coefficient of variation."""
    variance = math.log1p(cv * cv)
    return rng.lognormvariate(math.log(mean) - variance / 2, math.sqrt(variance))


def submitted(rng: random.Random) -> list[Job]:
    """Return the jobs in the order of submission, numbered like Slurm's."""
    drafts = []
    for name, kind in KINDS.items():
        for begin in sessions(rng, kind):
            user = f"{kind.account[0]}{rng.randrange(kind.users) + 1:02d}"
            size = min(12, 1 + int(rng.expovariate(1.0) * (kind.batch - 0.5)))
            title, gpus = rng.choice(kind.names), pick(rng, kind.widths)
            second = begin
            jobs = []
            for _ in range(size):
                jobs.append(draw(rng, kind, (title, user, int(second), gpus)))
                second += 0.0 if name == "eval" else rng.expovariate(1 / kind.gap)
            drafts.append((name == "eval" and size > 1, jobs))
    groups = sorted(drafts, key=lambda group: group[1][0].submit)
    numbers = itertools.count(48210)
    found = []
    for is_array, jobs in groups:
        if is_array:
            first = next(numbers)
            named = [replace(job, number=f"{first}_{k}") for k, job in enumerate(jobs, start=1)]
            for _ in jobs[1:]:
                next(numbers)
        else:
            named = [replace(job, number=str(next(numbers))) for job in jobs]
        found += named
    return awkward(sorted(found, key=lambda job: job.submit))


def pick(rng: random.Random, shares: dict[int, float]) -> int:
    """Draw a width."""
    return rng.choices(list(shares), weights=list(shares.values()))[0]


def draw(rng: random.Random, kind: Kind, given: tuple[str, str, int, int]) -> Job:
    """Draw the run time of a job, its limit and its end."""
    name, user, submit, gpus = given
    run_time = max(5, int(lognormal(rng, kind.mean, kind.cv)))
    wanted = run_time * rng.uniform(1.1, 4.0)
    limit = next((each for each in LIMITS if each >= wanted), LIMITS[-1])
    job = Job("", name, user, kind.account, submit, gpus, min(run_time, limit), limit)
    chance = rng.random()
    if run_time > limit or chance < 0.02:  # noqa: PLR2004 - estimates that are too short
        limit = max((each for each in LIMITS if each <= run_time), default=LIMITS[0])
        if run_time >= limit:
            return replace(job, run_time=limit, limit=limit, state="TIMEOUT", exit_code="0:0")
    if chance < 0.07:  # noqa: PLR2004
        early = max(2, int(run_time * rng.random() * 0.3))
        return replace(job, run_time=early, state="FAILED", exit_code="1:0")
    if chance < 0.09:  # noqa: PLR2004
        early = max(2, int(run_time * rng.random()))
        return replace(job, run_time=early, state=f"CANCELLED by {1000 + len(user)}")
    if chance < 0.1:  # noqa: PLR2004
        early = max(2, run_time // 3)
        return replace(job, run_time=early, state="OUT_OF_MEMORY", exit_code="0:125")
    if chance < 0.16:  # noqa: PLR2004
        return replace(job, patience=600)
    return job


def awkward(jobs: list[Job]) -> list[Job]:
    """Give one job a name with the delimiter in it, and requeue two."""
    plain = [k for k, job in enumerate(jobs) if job.state == "COMPLETED" and "_" not in job.number]
    named = plain[len(plain) // 3]
    jobs[named] = replace(jobs[named], name="train-bert|large")
    for k in (plain[len(plain) // 4], plain[len(plain) // 2]):
        first = replace(jobs[k], run_time=max(60, jobs[k].run_time // 4), patience=None)
        jobs[k] = replace(first, state="REQUEUED", again=replace(jobs[k], patience=None))
    return jobs


@dataclass
class Easy:
    """First come, first served with EASY backfill on one pool of GPUs."""

    free: int = GPUS
    queue: list[Run] = field(default_factory=list)
    running: list[Run] = field(default_factory=list)

    def start(self, now: int) -> list[Run]:
        """Start what may start, and return it."""
        started = []
        while self.queue and self.queue[0].job.gpus <= self.free:
            started.append(self._begin(self.queue[0], now))
        if self.queue:
            shadow, extra = self._reservation()
            for run in self.queue[1:]:
                gpus, ends = run.job.gpus, now + run.job.limit
                if gpus <= self.free and (ends <= shadow or gpus <= extra):
                    extra -= 0 if ends <= shadow else gpus
                    started.append(self._begin(run, now))
        return started

    def _begin(self, run: Run, now: int) -> Run:
        self.queue = [other for other in self.queue if other is not run]
        self.running.append(run)
        self.free -= run.job.gpus
        run.start = now
        return run

    def _reservation(self) -> tuple[int, int]:
        """Return when the head starts by the limits, and the GPUs that it leaves then."""
        free = self.free
        needed = self.queue[0].job.gpus
        for run in sorted(self.running, key=lambda each: (each.start or 0) + each.job.limit):
            free += run.job.gpus
            if free >= needed:
                return (run.start or 0) + run.job.limit, free - needed
        raise AssertionError(needed)

    def end(self, run: Run) -> None:
        """Release the GPUs of a job."""
        self.running = [other for other in self.running if other is not run]
        self.free += run.job.gpus


def simulate(jobs: list[Job]) -> list[Run]:
    """Run the jobs through the queue until the week ends."""
    cluster, runs = Easy(), []
    order = itertools.count()
    events = [(job.submit, 1, next(order), job) for job in jobs]
    heapq.heapify(events)
    while events and events[0][0] < WEEK:
        now = events[0][0]
        while events and events[0][0] == now:
            _, _, _, what = heapq.heappop(events)
            if isinstance(what, Job):
                run = Run(what)
                runs.append(run)
                cluster.queue.append(run)
                if what.patience is not None:
                    heapq.heappush(events, (now + what.patience, 2, next(order), run))
            elif what.start is None:  # patience has run out
                what.cancelled = now
                cluster.queue = [other for other in cluster.queue if other is not what]
            elif what.end is None and now == what.start + what.job.run_time:
                what.end = now
                cluster.end(what)
                if what.job.again is not None:
                    again = replace(what.job.again, submit=now)
                    heapq.heappush(events, (now, 1, next(order), again))
        for run in cluster.start(now):
            heapq.heappush(events, (now + run.job.run_time, 0, next(order), run))
    return runs


def rows(run: Run) -> Iterator[str]:
    """Yield the row of a job, and those of its steps."""
    job = run.job
    state, code, nodes = job.state, job.exit_code, -(-job.gpus // GPUS_IN_NODE)
    start, end = moment(run.start), moment(run.end)
    elapsed = 0 if run.start is None else (run.end or WEEK) - run.start
    if run.cancelled is not None:
        state, start, end = f"CANCELLED by {1000 + len(job.user)}", "None", moment(run.cancelled)
    elif run.start is None:
        state = "PENDING"
    elif run.end is None:
        state, code = "RUNNING", "0:0"
    cpus = job.gpus * CPUS_FOR_GPU
    tres = f"billing={cpus},cpu={cpus},gres/gpu={job.gpus},node={nodes}"
    if run.start is None:
        cpus, nodes, tres = 0, 0, ""
    front = f"{job.user}|{job.account}|gpu|{state}|{moment(job.submit)}|{start}|{end}"
    back = f"{duration(elapsed)}|{duration(job.limit)}|{cpus}|{nodes}|{tres}|{code}"
    yield f"{job.number}|{job.name}|{front}|{back}"
    if job.account == "cfd" and run.end is not None:
        for step in ("batch", "0"):
            title = "batch" if step == "batch" else "solver"
            front = f"|{job.account}||{state.split()[0]}|{start}|{start}|{end}"
            back = f"{duration(elapsed)}||{cpus}|{nodes}||{code}"
            yield f"{job.number}.{step}|{title}|{front}|{back}"


def moment(second: int | None) -> str:
    """Write a date."""
    return "Unknown" if second is None else (BEGIN + timedelta(seconds=second)).isoformat()


def duration(seconds: int) -> str:
    """Write a duration as D-HH:MM:SS."""
    days, rest = divmod(seconds, 86400)
    clock = f"{rest // 3600:02d}:{rest // 60 % 60:02d}:{rest % 60:02d}"
    return f"{days}-{clock}" if days else clock


def week_log(seed: int = SEED) -> str:
    """Return the log."""
    runs = simulate(submitted(random.Random(seed)))  # noqa: S311 - not secret
    return "\n".join([HEADER, *(row for run in runs for row in rows(run))]) + "\n"


if __name__ == "__main__":
    TARGET.write_text(week_log())
    print(f"{TARGET}: {TARGET.stat().st_size} bytes")
