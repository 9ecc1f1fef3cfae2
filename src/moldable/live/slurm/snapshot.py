"""The snapshot on which decisions are based, from the queue and the nodes."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, final

from moldable.live.decisions import Instruction, Snapshot, WaitingJob, count_jobs, decide
from moldable.live.plan_file import LivePlan
from moldable.live.slurm.marks import PREFIX, Mark
from moldable.live.slurm.records import Node, QueuedJob
from moldable.live.slurm.shapes import (
    SHAPES,
    UNITS,
    Blocks,
    Shape,
    held_units,
    idle_units,
    usable_units,
)
from moldable.model.workload import JobClass
from moldable.policies.observation import held_servers

OTHERS: Final = "(others)"
"""Class name of all other jobs; names of real classes have no parentheses."""
HELD_BY_ADMIN: Final = "JobHeldAdmin"


@final
@dataclass(frozen=True, slots=True)
class Scope:
    """Which jobs the agent handles ("ours").

    Attributes:
        plan: the plan.
        shape: the shape of jobs whose mark names none; its unit is what a server is.
        user: the account whose jobs these are; None: all users' jobs, marked by an operator in a
            field that users cannot write.
    """

    plan: LivePlan
    shape: Shape
    user: str | None

    @property
    def field(self) -> str:
        """The field of a job in which marks are written."""
        return "AdminComment" if self.user is None else "Comment"

    def text_of(self, job: QueuedJob) -> str:
        """Return the comment by which the agent handles a job; "" if it does not."""
        if self.user is None:
            if job.admin_comment.startswith(PREFIX):
                return job.admin_comment
        elif job.user != self.user or job.admin_comment.startswith(PREFIX):
            return ""  # another user's, or left to the operator's agent
        return job.comment if job.comment.startswith(PREFIX) else ""

    def mark_of(self, job: QueuedJob) -> Mark | None:
        """Return the mark of a job that the agent handles."""
        mark = Mark.parse(self.text_of(job))
        if mark is None or self.user is not None or job.admin_comment.startswith(PREFIX):
            return mark
        # A comment that a user wrote gives the class, never a decision.
        shape = mark.fields.get("shape")
        return Mark(mark.job_class, {} if shape is None else {"shape": shape})

    def shape_of(self, mark: Mark) -> Shape | None:
        """Return the shape of a job; None if it is unknown."""
        return SHAPES.get(mark.fields.get("shape", self.shape.name))


@final
@dataclass(frozen=True, slots=True)
class Candidate:
    """A job that the agent handles, with its mark, class and shape."""

    job: QueuedJob
    mark: Mark
    job_class: JobClass
    shape: Shape


@final
@dataclass(slots=True)
class View:
    """The partition as the agent sees it.

    Attributes:
        waiting: our jobs that wait for a decision, in their order.
        unconfirmed: released jobs whose mark does not say so yet.
        granted: jobs that were granted servers and are still in the queue, by identifier.
        left: jobs that are left as they are, with the reason.
        idle: servers that can be granted.
        usable: servers of the partition that jobs may use.
        running, released: jobs by class and width, see `Snapshot`.
        blocks: idle servers by node, without those of released jobs.
    """

    waiting: list[Candidate] = field(default_factory=list)
    unconfirmed: list[Candidate] = field(default_factory=list)
    granted: dict[str, Candidate] = field(default_factory=dict)
    left: dict[str, str] = field(default_factory=dict)
    idle: int = 0
    usable: int = 0
    running: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    released: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    blocks: Blocks = field(default_factory=lambda: Blocks(()))

    def snapshot(self, candidates: Sequence[Candidate]) -> Snapshot:
        """Return the snapshot in which these jobs wait."""
        held = Snapshot(0, self.running, self.released)
        taken = held_servers(self.running) + held_servers(self.released)
        waiting = tuple(
            WaitingJob(
                each.job.job, each.job_class, self.blocks.largest if each.shape.one_node else None
            )
            for each in candidates
        )
        return replace(held, usable=taken + max(self.idle, 0), waiting=waiting)


def read_view(
    jobs: Iterable[QueuedJob],
    nodes: Sequence[Node],
    scope: Scope,
    *,
    now: float | None = None,
) -> View:
    """Classify the jobs of a partition.

    The jobs must have been read before the nodes, see `SlurmClient.queue`.

    Args:
        jobs: the jobs.
        nodes: the nodes.
        scope: the jobs that the agent handles.
        now: seconds since 1970.
    """
    now = time.time() if now is None else now
    view = View()
    running: list[tuple[str, int]] = []
    released: list[tuple[str, int]] = []
    ours = 0
    unit = scope.shape.unit
    view.blocks = Blocks(idle_units(node, unit) for node in nodes)
    for job in jobs:
        candidate = read_candidate(job, scope, view.left)
        width = held_units(job, unit)
        name = OTHERS if candidate is None else candidate.job_class.name
        if candidate is not None:
            _sort(candidate, view, now)
        if not job.pending:
            running.append((name, width))
        elif job.about_to_start or (candidate is not None and job.waits_for_nodes):
            released.append((name, width))
            view.blocks.take(width, one_node=candidate is not None and candidate.shape.one_node)
        else:
            continue
        ours += width if candidate is not None else 0
    for found in (view.waiting, view.unconfirmed):
        found.sort(key=lambda each: each.job.order)
    view.running, view.released = count_jobs(running), count_jobs(released)
    view.usable = sum(usable_units(node, unit) for node in nodes)
    idle = sum(idle_units(node, unit) for node in nodes)
    taken = sum(width for _, width in running)
    view.idle = min(
        min(view.usable - taken, idle) - sum(width for _, width in released),
        scope.plan.scenario.servers - ours,
    )
    return view


def read_candidate(job: QueuedJob, scope: Scope, left: dict[str, str]) -> Candidate | None:
    """Return a job with its class if the agent handles it, or give the reason in `left`."""
    text = scope.text_of(job)
    if not text:
        return None
    mark = scope.mark_of(job)
    if mark is None:
        left[job.job] = "its comment begins like a mark, but is not a valid one"
        return None
    classes = {each.name: each for each in scope.plan.scenario.workload.classes}
    if mark.job_class not in classes:
        left[job.job] = f"the plan has no class {mark.job_class}, only {', '.join(sorted(classes))}"
        return None
    shape = scope.shape_of(mark)
    if shape is None or shape.unit != scope.shape.unit:
        left[job.job] = (
            f"its shape is {mark.fields.get('shape')}, but servers are {UNITS[scope.shape.unit]} "
            f"here"
        )
        return None
    return Candidate(job, mark, classes[mark.job_class], shape)


def _sort(candidate: Candidate, view: View, now: float) -> None:
    """Add a job that the agent handles to the view."""
    job, mark = candidate.job, candidate.mark
    granting = mark.number("granting") is not None
    if job.reason == HELD_BY_ADMIN:
        others = f", or its dependency is not met: {job.dependency}" if job.dependency else ""
        view.left[job.job] = f"an administrator holds it{others}"
    elif job.held and mark.number("width") is None:
        if not _waits(job, now):
            return
        reason = candidate.shape.refusal(job)
        if reason is None:
            view.waiting.append(candidate)
        else:
            view.left[job.job] = f"{reason}, which the shape {candidate.shape.name} cannot set"
    elif job.pending and job.priority == 0 and not job.held:
        view.left[job.job] = f"Slurm cannot start it: {job.reason}"
    elif not job.held:
        if granting:
            view.unconfirmed.append(candidate)
        if granting or mark.number("width") is not None:
            view.granted[job.job] = candidate


def _waits(job: QueuedJob, now: float) -> bool:
    """Return whether only the hold keeps a job from starting."""
    begun = job.eligible is None or job.eligible <= now
    return begun and not job.dependency


def instructions(view: View, scope: Scope, *, seed: int = 0) -> list[Instruction]:
    """Return the decisions about the waiting jobs.

    Where a job must fit into one node, jobs are decided one after the other, because a grant
    changes what is left on the nodes.
    """
    policy, queue = scope.plan.policy, view.waiting
    snapshot = view.snapshot(queue)
    if not any(each.shape.one_node for each in queue):
        return list(decide(snapshot, policy, seed=seed))
    found: list[Instruction] = []
    for candidate in queue:
        head, *behind = snapshot.waiting
        if candidate.shape.one_node:
            head = replace(head, most=view.blocks.largest)
        first, *others = decide(replace(snapshot, waiting=(head, *behind)), policy, seed=seed)
        found.append(first)
        if first.action != "grant":
            return found + others
        view.blocks.take(first.width, one_node=candidate.shape.one_node)
        snapshot = _with_released(snapshot, first.job_class, first.width, behind)
    return found


def observations(
    view: View, new: Sequence[Candidate], scope: Scope, *, seed: int = 0
) -> list[Instruction]:
    """Return what would have been decided about new jobs, which take what they asked for.

    The view must not count these jobs.
    """
    snapshot = view.snapshot(new)
    found: list[Instruction] = []
    for candidate in new:
        found.append(decide(snapshot, scope.plan.policy, seed=seed)[0])
        width = min(held_units(candidate.job, scope.shape.unit), snapshot.idle)
        snapshot = _with_released(snapshot, OTHERS, width, snapshot.waiting[1:])
    return found


def _with_released(
    snapshot: Snapshot, name: str, width: int, waiting: Sequence[WaitingJob]
) -> Snapshot:
    """Return the snapshot after a job was given servers."""
    row = {**snapshot.released.get(name, {})}
    row[width] = row.get(width, 0) + 1
    return replace(snapshot, released={**snapshot.released, name: row}, waiting=tuple(waiting))
