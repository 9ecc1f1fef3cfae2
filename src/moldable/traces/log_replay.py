"""Replay a log: its arrivals and sizes under other policies, compared with the recorded schedule.

The size of a job is its run time times the speed-up of the recorded servers under the assumed
curve. A policy chooses the width within a range around what the user asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np

from moldable.errors import PolicyError
from moldable.files.policy_file import Rule, as_policy, named_policies
from moldable.policies.equi import Equi
from moldable.policies.even_price import even_price
from moldable.policies.greedy import Greedy
from moldable.policies.policy import Policy
from moldable.policies.rigid import Rigid
from moldable.system.estimate import Estimate
from moldable.traces.decision_rows import DecisionRows
from moldable.traces.read import read_trace
from moldable.traces.replay_figures import (
    Times,
    by_class,
    median,
    share_earlier,
    share_later,
    summarise,
    times,
)
from moldable.traces.replay_result import Replay, Replayed
from moldable.traces.replay_setting import ReplayOptions, ReplaySetting, prepare
from moldable.traces.replay_tuning import tune_on_first_part
from moldable.traces.request_curves import Curves
from moldable.traces.request_kinds import RequestKinds
from moldable.traces.schedule import Schedule, schedule
from moldable.traces.trace import Trace

RECORDED: Final = "recorded"
RIGID: Final = {"fcfs": "rigid FCFS", "easy": "rigid EASY"}
RANGE_RULE: Final = "largest that fits"
"""Slurm's rule for a job that asks for a range of nodes."""
TUNED: Final = "tuned"
DEFAULT: Final = ("even-price", TUNED)
CHANGES: Final = ("mean_wait", "mean_response", "bounded_slowdown")
Report = Callable[[str], None]


def replay(
    trace: Trace | Path | str,
    policies: Rule | Iterable[Rule] | Mapping[str, Rule] = DEFAULT,
    *,
    servers: int | None = None,
    curves: Curves = "downey:p:1",
    least: float = 0.5,
    most: float = 1.0,
    discipline: str = "easy",
    judged_from: float = 0.5,
    copies: int = 6,
    shift: float = 900.0,
    seed: int | None = None,
    report: Report | None = None,
) -> Replay:
    r"""Replay a log under policies, compared with the recorded schedule and rigid jobs.

    Jobs are not killed, and memory is not modelled. The curve is an assumption, because a log
    seldom shows a job at several widths.

    Args:
        trace: the log, or the name of its file.
        policies: a policy, a list, or a mapping by name: policies, their spellings or files.
            "tuned" is the policy with the least mean response time on the jobs that are not
            judged: the even price, whose parameters are searched, the idle share or the largest
            width that fits.
        servers: of the cluster; by default those of the log.
        curves: one curve for all jobs, or one for each class by name; text may be relative to the
            servers p that a job asked for, such as "downey:2p:1".
        least: narrowest width as a share of the servers that the user asked for.
        most: widest width as a multiple of them.
        discipline: "easy", EASY backfill with the users' estimates, or "fcfs", first come, first
            served.
        judged_from: share of the jobs before the first that is judged.
        copies: copies of the log whose times of submission are shifted at random. Figures are
            medians over the log and its copies, and their intervals show how much the results
            depend on chance; with less than 5 copies there are no intervals.
        shift: largest shift in seconds.
        seed: random seed; if not given, a new one, which the result reports.
        report: called with a description of each step.

    Examples:
        >>> _ = Path("log.csv").write_text("submit,run_time,servers\n0,60,4\n9,90,4\n9,90,2\n")
        >>> trace = read_trace("log.csv")
        >>> found = replay(trace, "greedy", servers=6, curves="linear", judged_from=0, seed=1)
        >>> found["greedy"].width.tolist()
        [4, 2, 2]
    """
    options = ReplayOptions(servers, least, most, discipline, judged_from, copies, shift, seed)
    log = read_trace(trace) if isinstance(trace, Path | str) else trace
    setting = prepare(log, curves, options)
    tell = report or (lambda _: None)
    chosen, tuned = _policies(policies, setting, tell)
    plans = [
        *((RIGID[each], Rigid(), setting.rigid, each) for each in ("fcfs", "easy")),
        (RANGE_RULE, Greedy(), setting.kinds, discipline),
        *((name, policy, setting.kinds, discipline) for name, policy in chosen.items()),
    ]
    found: dict[str, list[Schedule]] = {}
    for name, policy, kinds, order in plans:
        found[name] = _schedules(setting, policy, kinds, order, partial(_tell, tell, name))
    baseline = RIGID[discipline]
    before = _all_times(setting, found[baseline])
    runs = [_replayed(name, policy, setting, found[name], before) for name, policy, _, _ in plans]
    past = _recorded(setting, before[0])
    return Replay(
        (*([past] if past else []), *runs),
        baseline,
        len(setting.trace) - setting.first_judged,
        setting.left_out,
        tuned,
        setting,
    )


def _tell(tell: Report, name: str, step: str) -> None:
    tell(f"{name}: {step}")


def _policies(
    given: Rule | Iterable[Rule] | Mapping[str, Rule], setting: ReplaySetting, tell: Report
) -> tuple[dict[str, Policy], Policy | None]:
    """Return the policies by name, and the tuned one if it was asked for."""
    if given is None or isinstance(given, str | Path | Policy | Equi):
        given = [given]
    named = named_policies(given, "even-price")
    built: dict[str, Policy] = {}
    tuned: Policy | None = None
    for name, rule in named.items():
        if name in (RECORDED, RANGE_RULE, *RIGID.values()):
            raise PolicyError(f"{name!r} is the name of a baseline; give the policy another name")
        tell(f"preparing {name}")
        if rule == TUNED:
            tuned = policy = tune_on_first_part(setting, tell)
        else:
            policy = _policy(rule, setting)
        built[str(name)] = policy
    return built, tuned


def _policy(rule: Rule, setting: ReplaySetting) -> Policy:
    if rule is None or rule == "even-price":
        return even_price(setting.scenario)
    found = as_policy(rule, setting.scenario)
    if isinstance(found, Equi):
        raise PolicyError(
            "equi moves servers between running jobs, which a replay cannot do; choose a policy "
            "that fixes the width when a job starts, such as even-price"
        )
    if found is None:
        raise PolicyError(f"{rule!r} cannot be replayed; choose another policy, such as even-price")
    return found


def _schedules(
    setting: ReplaySetting, policy: Policy, kinds: RequestKinds, discipline: str, tell: Report
) -> list[Schedule]:
    rows = DecisionRows(policy, kinds, setting.servers, len(setting.trace))
    found = []
    for copy, jobs in enumerate(setting.copies()):
        tell(f"{copy + 1} of {setting.options.copies + 1}")
        found.append(schedule(jobs, rows, discipline))
    return found


def _all_times(setting: ReplaySetting, schedules: Sequence[Schedule]) -> list[Times]:
    return [
        times(jobs.submit, jobs.run_time, found, setting.servers, setting.judged)
        for jobs, found in zip(setting.copies(), schedules, strict=True)
    ]


def _replayed(
    name: str,
    policy: Policy,
    setting: ReplaySetting,
    schedules: Sequence[Schedule],
    before: Sequence[Times],
) -> Replayed:
    after = _all_times(setting, schedules)
    pairs = [(a.figures(), b.figures()) for a, b in zip(after, before, strict=True)]
    changes = {key: median([_change(a[key], b[key]) for a, b in pairs]) for key in CHANGES}
    labels, judged = setting.trace.job_class[setting.judged], setting.judged
    return Replayed(
        name,
        summarise(after),
        changes,
        share_earlier(after[0].response, before[0].response),
        share_later(after[0].response, before[0].response),
        by_class(setting.trace.classes, labels, after[0], before[0]),
        schedules[0].start[judged],
        schedules[0].width[judged],
        policy,
    )


def _recorded(setting: ReplaySetting, before: Times) -> Replayed | None:
    """Return the recorded schedule of the judged jobs, where the log has start times."""
    trace, known = setting.trace, setting.recorded
    if not known.any():
        return None
    start = np.where(np.isfinite(trace.start), trace.start, trace.submit)
    found = Schedule(start, trace.run_time, trace.servers, 0)
    after = times(trace.submit, trace.run_time, found, setting.servers, known)
    own = known[setting.judged]
    same = Times(
        before.wait[own], before.response[own], before.slowdown[own], before.width[own], 0.0
    )
    figures, then = after.figures(), same.figures()
    return Replayed(
        RECORDED,
        summarise([after]),
        {key: Estimate(_change(figures[key], then[key]), None) for key in CHANGES},
        share_earlier(after.response, same.response),
        share_later(after.response, same.response),
        by_class(trace.classes, trace.job_class[known], after, same),
        trace.start[setting.judged],
        trace.servers[setting.judged],
    )


def _change(after: float, before: float) -> float:
    """Return the relative change; 0 if both are 0."""
    if before == 0.0:
        return 0.0 if after == 0.0 else float("inf")
    return after / before - 1.0
