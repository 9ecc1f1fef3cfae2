"""The agent: reads the queue, decides, and updates Slurm.

Slurm holds all state. The agent writes in this order: the width together with a mark that it is
being granted, the release, and the mark that it was granted. If it is killed in between, the next
one continues from the state in Slurm.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Final, Literal, final

from moldable.errors import InputError, MoldableError
from moldable.live.decisions import Instruction
from moldable.live.journal import Decided, Journal, State
from moldable.live.slurm.client import SlurmClient
from moldable.live.slurm.marks import Mark
from moldable.live.slurm.pulse import Pulse, is_present
from moldable.live.slurm.records import Node, QueuedJob
from moldable.live.slurm.rescue import held_at_submission
from moldable.live.slurm.shapes import held_units
from moldable.live.slurm.snapshot import (
    Candidate,
    Scope,
    View,
    instructions,
    observations,
    read_candidate,
    read_view,
)

Mode = Literal["observe", "advise", "enforce", "loss"]
MODES: Final = ("observe", "advise", "enforce", "loss")
LOG: Final = logging.getLogger("moldable.slurm")
_STATES: Final[dict[str, State]] = {"CD": "completed", "CA": "cancelled"}
_LOST: Final = ("NF", "BF", "PR")
"""End states caused by a node, or by preemption."""


@final
@dataclass(slots=True)
class Agent:
    """Schedules the jobs of one partition.

    Args:
        client: Slurm.
        scope: the jobs that the agent handles.
        mode: "enforce" sets widths, "advise" only writes them into the comments of jobs,
            "observe" only logs them; with "loss" job_submit.lua sets them.
        journal: where decisions are written.
        pulse: tells job_submit.lua that the agent is alive; None: there is none.
        disable: while this file exists, nothing is decided.
        seed: for policies that draw widths.
    """

    client: SlurmClient
    scope: Scope
    mode: Mode = "enforce"
    journal: Journal = field(default_factory=lambda: Journal(None))
    pulse: Pulse | None = None
    disable: Path | None = None
    seed: int = 0
    _said: dict[str, str] = field(default_factory=dict)
    _seen: set[str] = field(default_factory=set)
    _granted: dict[str, Candidate] = field(default_factory=dict)
    _failed: set[str] = field(default_factory=set)
    _started: float = field(default_factory=time.time)
    _disabled: bool = False

    def run(self, ending: SimpleQueue[int], poll: float) -> None:
        """Decide every `poll` seconds until something is put; equal errors are logged once."""
        trouble, pause = "", 0.0
        while not _received(ending, pause):
            try:
                self.step()
                if trouble:
                    LOG.info("there are no more errors")
                trouble = ""
            except MoldableError as error:
                if str(error) != trouble:
                    LOG.warning("%s; trying again", error)
                trouble = str(error)
            pause = poll

    def step(self) -> None:
        """Read the queue once and act on it."""
        begun = time.time()
        disabled = self._is_disabled()  # first: jobs that are handed back must not be older
        jobs, nodes = self.client.queue()
        if self.mode in ("observe", "advise") and not disabled:
            view = self._watch(jobs, nodes)
        else:
            view = read_view(jobs, nodes, self.scope)
        trouble = self._note_ended(jobs, view)  # first: the grants may be of the same servers
        if self.mode in ("enforce", "loss") and not disabled:
            self._confirm(view.unconfirmed)
        if self.mode == "enforce" and not disabled:
            self._failed &= {job.job for job in jobs}
            view.waiting = [each for each in view.waiting if each.job.job not in self._failed]
            self._grant(view)
        self._say(view.left)
        LOG.debug("%d idle of %d, %d wait", view.idle, view.usable, len(view.waiting))
        self._hand_back(jobs, view, disabled=disabled)
        if self.pulse is not None:
            self.pulse.beat(jobs, self.scope, self.mode, view.idle, begun)
        if trouble is not None:
            raise trouble

    def _is_disabled(self) -> bool:
        found = self.disable is not None and is_present(self.disable)
        if found != self._disabled:
            LOG.warning("%s", f"disabled by {self.disable}" if found else "no longer disabled")
        self._disabled = found
        return found

    def _hand_back(self, jobs: Sequence[QueuedJob], view: View, *, disabled: bool) -> None:
        """Release jobs on hold by job_submit.lua that the agent does not decide about."""
        if self.scope.user is not None:
            return
        every = disabled or self.mode != "enforce"
        ready = {
            job.job: mark
            for job in jobs
            if (every or job.job in view.left or job.job in self._failed)
            and (mark := held_at_submission(job))
        }
        if not ready:
            return
        complaint = self.client.release(list(ready))
        if complaint:
            LOG.warning("release: %s", complaint)
        self.client.set_marks(
            (job, self.scope.field, mark.stated("passed", 1)) for job, mark in ready.items()
        )
        for job in ready:
            LOG.info("job %s was released as it was submitted", job)

    def _grant(self, view: View) -> None:
        """Set the widths of the jobs that get servers, release them, and mark them."""
        found = {each.job.job: each for each in view.waiting}
        grants = [
            each
            for each in instructions(view, self.scope, seed=self.seed)
            if each.action == "grant"
        ]
        if not grants:
            return
        marked = {each.job: _granting(found[each.job], each, self._digest) for each in grants}
        refused = self.client.set_widths(
            (job, each.shape.settings(each.job, width), self.scope.field, each.mark)
            for job, each in marked.items()
            if (width := each.mark.number("granting"))
        )
        ready = self._checked(marked, refused)
        complaint = self.client.release([each.job.job for each in ready])
        if complaint:
            LOG.warning("release: %s", complaint)  # the next loop sees which are still held
        else:
            self._confirm(ready)

    def _checked(self, marked: dict[str, Candidate], refused: set[str]) -> list[Candidate]:
        """Return the jobs to which Slurm has applied the width; the others stay on hold."""
        asked = [job for job in marked if job not in refused]
        now = {job.job: job for job in self.client.some_jobs(asked)} if asked else {}
        ready = []
        for name, each in marked.items():
            width = each.mark.number("granting") or 0
            if name in refused:
                self._give_up(name, f"Slurm refused width {width}")
            elif name not in now or not now[name].held:
                LOG.info("job %s has left the queue or was released by its user", name)
            elif not each.shape.has_width(now[name], width):
                self._give_up(name, f"Slurm did not apply width {width}")
            else:
                ready.append(each)
        return ready

    def _give_up(self, job: str, reason: str) -> None:
        self._failed.add(job)
        LOG.warning("job %s: %s; it stays on hold", job, reason)

    def _confirm(self, jobs: Sequence[Candidate]) -> None:
        """Mark released jobs as granted, and write the decisions to the journal."""
        final = {each.job.job: _granted(each) for each in jobs}
        refused = self.client.set_marks(
            (job, self.scope.field, mark) for job, mark in final.items()
        )
        for each in jobs:
            mark = final[each.job.job]
            if each.job.job in refused:
                LOG.info("job %s ended before it was marked", each.job.job)
            self._granted[each.job.job] = Candidate(each.job, mark, each.job_class, each.shape)
            self._write("granted", each, mark.number("width") or 0, mark)

    def _watch(self, jobs: Sequence[QueuedJob], nodes: Sequence[Node]) -> View:
        """Log or advise what would have been decided about new jobs."""
        left: dict[str, str] = {}
        new: list[Candidate] = []
        for job in jobs:
            each = read_candidate(job, self.scope, left)
            if each is not None and self._is_new(each):
                new.append(each)
        new.sort(key=lambda each: each.job.order)
        names = {each.job.job for each in new}
        view = read_view([job for job in jobs if job.job not in names], nodes, self.scope)
        view.left |= left
        unit = self.scope.shape.unit
        width = sum(held_units(each.job, unit) for each in new if not each.job.pending)
        view.idle += width
        found = observations(view, new, self.scope, seed=self.seed)
        view.idle -= width
        self._seen = (self._seen & {job.job for job in jobs}) | names
        event: Decided = "advised" if self.mode == "advise" else "observed"
        advice: list[tuple[str, str, Mark]] = []
        for each, told in zip(new, found, strict=True):
            mark = each.mark.stated("advice", told.width, idle=told.idle, waiting=told.waiting)
            advice.append((each.job.job, self.scope.field, mark))
            self._write(event, each, told.width, mark)
        if self.mode == "advise":
            for name in self.client.set_marks(advice):
                LOG.warning("job %s: Slurm refused the comment", name)
        return view

    def _is_new(self, each: Candidate) -> bool:
        known = any(each.mark.number(state) is not None for state in ("advice", "width"))
        recent = each.job.pending or each.job.submitted >= self._started - 1.0
        return recent and not known and each.job.job not in self._seen

    def _write(self, event: Decided, each: Candidate, width: int, mark: Mark) -> None:
        idle, waiting = mark.number("idle") or 0, mark.number("waiting") or 0
        asked = held_units(each.job, each.shape.unit)
        told = "" if event == "granted" else f", asked for {asked}"
        LOG.info(
            "%s: job %s (%s) %d of %d idle, %d behind%s",
            *(event, each.job.job, each.job_class.name, width, idle, waiting, told),
        )
        self.journal.decided(
            event,
            each.job.job,
            each.job_class.name,
            idle=idle,
            waiting=waiting,
            width=width,
            submitted=each.job.submitted,
            plan=mark.fields.get("plan", self._digest),
        )

    def _note_ended(self, jobs: Sequence[QueuedJob], view: View) -> InputError | None:
        """Write the ends of jobs that have left the queue, and return the journal's error."""
        present = {job.job for job in jobs}
        gone = {job: each for job, each in self._granted.items() if job not in present}
        self._granted = {**{j: c for j, c in self._granted.items() if j in present}, **view.granted}
        trouble = None
        for job, state, started, ended in self.client.ended_jobs(list(gone)):
            each, at = gone[job], ended if ended is not None else time.time()
            try:
                self.journal.ended(
                    job,
                    each.job_class.name,
                    width=each.mark.number("width") or each.mark.number("granting") or 0,
                    started=at if started is None else started,
                    state="lost" if state in _LOST else _STATES.get(state, "failed"),
                    plan=each.mark.fields.get("plan", self._digest),
                    at=at,
                )
            except InputError as error:
                trouble = error
        return trouble

    def _say(self, left: dict[str, str]) -> None:
        """Log, once for each job, why it is left unchanged."""
        for job, reason in left.items():
            if self._said.get(job) != reason:
                LOG.warning("job %s is left unchanged: %s", job, reason)
        self._said = dict(left)

    @property
    def _digest(self) -> str:
        return self.scope.plan.digest


def _received(ending: SimpleQueue[int], seconds: float) -> bool:
    try:
        ending.get(timeout=seconds)
    except Empty:
        return False
    return True


def _granting(each: Candidate, told: Instruction, digest: str) -> Candidate:
    mark = each.mark.stated(
        "granting", told.width, idle=told.idle, waiting=told.waiting, plan=digest
    )
    return Candidate(each.job, mark, each.job_class, each.shape)


def _granted(each: Candidate) -> Mark:
    return each.mark.stated("width", each.mark.number("granting") or 0)
