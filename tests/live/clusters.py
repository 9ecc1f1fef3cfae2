"""Simulated clusters for the tests of live reports and learning."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from moldable import JobClass, Policy, Scenario, SpeedUp, Workload
from moldable.live.rehearsal import poisson_jobs, rehearse

WARM_UP = 500
"""Jobs before the journal begins, so that the cluster does not start empty."""


class Remembered(Policy):
    """A deterministic policy, whose answers are kept: simulations ask thousands of times."""

    def __init__(self, policy, most_waiting=100):
        self.policy, self.most, self.known = policy, most_waiting, {}

    def grant(self, job_class, observation=None, u=None, *, idle=None):  # noqa: ARG002
        key = job_class.name, observation.idle, min(observation.waiting, self.most)
        if key not in self.known:
            self.known[key] = self.policy.grant(job_class, observation)
        return self.known[key]


def journal(truth, policy, jobs, seed, plan=""):
    """Return the entries of a cluster that has been running for a while."""
    drawn = poisson_jobs(truth, jobs + WARM_UP, seed)
    entries = list(rehearse(truth, policy, drawn, plan))
    begin = next(k for k, each in enumerate(entries) if each.job == str(WARM_UP + 1))
    end = max(each.submitted for each in entries if each.submitted is not None)
    return [each for each in entries[begin:] if each.time <= end]


def sacct(entries, comment):
    """Write the jobs of a journal as Slurm accounts for them, in whole seconds."""
    ended = {e.job: e for e in entries if e.event == "ended"}
    lines = ["JobID|State|Submit|Start|ElapsedRaw|AllocCPUS|Comment|AdminComment"]
    for each in entries:
        if each.event == "granted" and each.job in ended:
            end = ended[each.job]
            submit, start = (
                datetime.fromtimestamp(t, UTC).strftime("%Y-%m-%dT%H:%M:%S")
                for t in (each.submitted, each.time)
            )
            run = max(round(end.time - each.time), 1)
            own = comment(each)
            lines.append(f"{each.job}|COMPLETED|{submit}|{start}|{run}|{each.width}|{own}")
    return "\n".join(lines) + "\n"


def slower(scenario, width, factor):
    """Return the scenario with one width of the first class slower than its curve."""
    first, *others = scenario.workload.classes
    curve = {w: first.speedup[w] / (factor if w == width else 1) for w in first.speedup.widths}
    return with_classes(scenario, replace(first, speedup=SpeedUp(curve)), *others)


def with_classes(scenario, *classes: JobClass) -> Scenario:
    return replace(scenario, workload=Workload(classes))
