"""The log of Slurm's job completion plugin jobcomp/filetxt: `JobId=1 UserId=... ExitCode=0:0`."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Final

from moldable.errors import InputError
from moldable.traces.class_rule import ONE_CLASS, ClassRule
from moldable.traces.clock import Clock, duration_seconds
from moldable.traces.records import (
    CANCELLED_EARLY,
    EARLIER_RUN,
    LOCAL_EPOCH,
    NEVER_STARTED,
    NOT_FINISHED,
    JobRecords,
)
from moldable.traces.sacct import count_by
from moldable.traces.slurm import UNFINISHED, UNITS, Resources, parse_tres, state_name
from moldable.traces.trace import Trace

START: Final = "JobId="
SORTED_BY: Final = {
    "user": "UserId",
    "group": "GroupId",
    "account": "Account",
    "partition": "Partition",
    "queue": "Partition",
    "application": "Name",
    "name": "Name",
}
NEEDED: Final = ("JobId", "JobState", "StartTime", "EndTime", "SubmitTime", "NodeCnt", "ProcCnt")
# Names of jobs contain spaces and equals signs.
_NAME: Final = re.compile(r" Name=(.*) JobState=")
_PAIR: Final = re.compile(r"(?:^|\s)(\w+)=(\S*)")


def read_jobcomp(
    lines: Iterable[tuple[int, str]], source: str, rule: ClassRule, *, count: str, most_classes: int
) -> Trace:
    """Read the lines of a log."""
    if rule.field is not None and rule.field not in SORTED_BY:
        raise InputError(
            f"{rule.text!r} cannot be used: the log has no {rule.field}; choose one of "
            f"{', '.join(SORTED_BY)}",
            "class_by",
        )
    records, clock = JobRecords(source, UNITS, requeues=True), Clock()
    for line, text in lines:
        if not text.strip():
            continue
        records.rows += 1
        pairs = parse_pairs(text)
        missing = [key for key in NEEDED if key not in pairs]
        if missing:
            records.damaged(f"no {missing[0]}", line)
            continue
        try:
            _add(records, clock, line, pairs, rule)
        except InputError:  # too many jobs
            raise
        except (ValueError, OverflowError):
            records.damaged("a time or number cannot be read", line, pairs["JobId"])
    return records.trace(
        unit=count_by(records, count), most_classes=most_classes, origin=LOCAL_EPOCH
    )


def parse_pairs(text: str) -> dict[str, str]:
    """Return the values of a line by key."""
    name = _NAME.search(text)
    if name is not None:
        text = text[: name.start()] + text[name.end(1) :]
    pairs = dict(_PAIR.findall(text))
    if name is not None:
        pairs["Name"] = name[1]
    return pairs


def _add(
    records: JobRecords, clock: Clock, line: int, pairs: dict[str, str], rule: ClassRule
) -> None:
    job, state = pairs["JobId"], state_name(pairs["JobState"])
    if state in UNFINISHED:  # a job that is put back into the queue is logged as pending
        records.skip(EARLIER_RUN if state == "pending" else NOT_FINISHED, line, job)
        return
    nodes, cpus = int(pairs["NodeCnt"]), int(pairs["ProcCnt"])
    start, end = clock.seconds(pairs["StartTime"]), clock.seconds(pairs["EndTime"])
    if math.isnan(start) or nodes == 0 or cpus == 0:
        early = state == "cancelled"
        records.skip(CANCELLED_EARLY if early else NEVER_STARTED, line, job)
        return
    submit = clock.seconds(pairs["SubmitTime"])
    if math.isnan(submit) or math.isnan(end):
        raise ValueError(job)
    limit = 60.0 * duration_seconds(pairs.get("TimeLimit", ""))
    gpus = parse_tres(pairs.get("Tres", "")).gpus
    widths = Resources(cpus, gpus, nodes)
    label = ONE_CLASS
    if rule.field is not None:
        label = rule.label(_plain(pairs.get(SORTED_BY[rule.field], "")))
    user = _plain(pairs.get("UserId", ""))
    records.add(line, job, submit, start, end - start, widths, limit, user, label, state)


def _plain(value: str) -> str:
    """Return a name without its number: `alice(1001)`."""
    return re.sub(r"\(\d+\)$", "", value)
