from __future__ import annotations

import math

import pytest

from moldable import read_trace
from moldable.errors import InputError
from moldable.traces.summary import summarise

LINE = (
    "JobId={job} UserId=ann(1001) GroupId=lab(100) Name={name} JobState={state} Partition=main "
    "TimeLimit={limit} StartTime={start} EndTime={end} NodeList=n1 NodeCnt={nodes} ProcCnt={cpus} "
    "WorkDir=/home/a b ReservationName= Tres=cpu=8,gres/gpu=2,node=1 Account=lab QOS=normal WcKey= "
    "Cluster=c SubmitTime=2026-11-02T10:00:00 EligibleTime=2026-11-02T10:00:00 "
    "DerivedExitCode=0:0 ExitCode=0:0 \n"
)


def line(**change) -> str:
    plain = {
        "job": 1,
        "name": "x",
        "state": "COMPLETED",
        "limit": 5,
        "start": "2026-11-02T10:01:00",
        "end": "2026-11-02T10:03:00",
        "nodes": 1,
        "cpus": 8,
    }
    return LINE.format(**{**plain, **change})


def test_a_line_is_a_job(log):
    trace = read_trace(log(line() + line(job=2, limit="UNLIMITED")), count="cpus")
    assert trace.start.tolist() == [60, 60]
    assert trace.run_time.tolist() == [120, 120]
    assert trace.servers.tolist() == [8, 8]
    assert trace.requested_time[0] == 300
    assert math.isnan(trace.requested_time[1])
    assert trace.users == ("ann",)
    assert read_trace(log(line())).servers.tolist() == [2]


@pytest.mark.parametrize("limit", ["0", "-5", "1e-320", "1e300"])
def test_impossible_time_limits_are_unknown(log, limit):
    trace = read_trace(log(line(limit=limit)))
    assert math.isnan(trace.requested_time[0])
    assert summarise(trace).classes[0].estimate_ratio is None


@pytest.mark.parametrize("name", ["a b", "a=b c=d", "x JobState=y", "JobId=3", ""])
def test_names_may_contain_spaces_and_equals_signs(log, name):
    trace = read_trace(log(line(name=name)), class_by="name:^(.*)$")
    assert trace.classes == (name or "other",)
    assert trace.states == ("completed",)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"state": "PENDING"}, "earlier run of a requeued job"),
        ({"state": "RUNNING"}, "not finished"),
        ({"state": "CANCELLED", "nodes": 0, "cpus": 0}, "cancelled before it started"),
        ({"state": "FAILED", "nodes": 0}, "never started"),
        ({"end": "2026-11-02T10:01:00"}, "run time of 0 s"),
        ({"end": "2026-11-02T10:00:30"}, "negative run time"),
        ({"end": "Unknown"}, "a time or number cannot be read"),
        ({"cpus": "many"}, "a time or number cannot be read"),
    ],
)
def test_lines_that_are_no_jobs_are_counted(log, change, reason):
    trace = read_trace(log(line() + line(job=2) + line(job=3, **change)))
    assert [(s.reason, s.count, s.examples) for s in trace.skipped] == [
        (reason, 1, ("line 3 (job 3)",))
    ]


def test_lines_that_lack_a_key_are_damaged(log):
    trace = read_trace(log(line() + line(job=2) + line(job=3).replace("SubmitTime", "Submitted")))
    assert trace.skipped[0].reason == "no SubmitTime"


def test_classes_by_what_the_format_lacks_are_refused(log):
    with pytest.raises(InputError, match="has no class; choose one of user"):
        read_trace(log(line()), class_by="class")
