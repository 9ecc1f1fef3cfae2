from __future__ import annotations

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from moldable import read_trace
from moldable.errors import InputError

HEADER = """\
; Version: 2.2
; MaxNodes: 50
; MaxProcs: 100
; UnixStartTime: 843480031
; TimeZone: 3600
; TimeZoneString: Europe/Stockholm
; Queue: 1 batch
"""


def row(
    job=1, submit=0, wait=5, run=60, procs=4, requested=4, limit=90, status=1, rest="7 2 3 1 1"
):
    return (
        f"{job} {submit} {wait} {run} {procs} -1 -1 {requested} {limit} -1 {status} {rest} -1 -1\n"
    )


def test_fields_are_those_of_the_standard(log):
    trace = read_trace(log(HEADER + row(submit=10) + row(2, submit=40, run=61, status=0), "a.swf"))
    assert trace.submit.tolist() == [0, 30]
    assert trace.start.tolist() == [5, 35]
    assert trace.run_time.tolist() == [60, 61]
    assert trace.servers.tolist() == [4, 4]
    assert trace.requested_time.tolist() == [90, 90]
    assert [trace.users[k] for k in trace.user] == ["user 7", "user 7"]
    assert [trace.states[k] for k in trace.state] == ["completed", "failed"]
    assert trace.capacity == 100
    # 23 September 1996, 14:00:31 in Stockholm (the header of KTH-SP2 says so), and ten seconds.
    zone = ZoneInfo("Europe/Stockholm")
    assert trace.origin == datetime(1996, 9, 23, 14, 0, 41, tzinfo=zone)
    assert trace.origin.hour == 14


def test_the_format_is_recognised_without_its_name_and_compressed(log):
    for text in (HEADER + row(), row()):
        assert len(read_trace(log(text, "log.txt"))) == 1
        assert len(read_trace(log(text, "log.gz", compressed=True))) == 1


def test_minus_one_is_unknown(log):
    trace = read_trace(log(row(wait=-1, limit=-1, status=-1, rest="-1 -1 -1 -1 -1")))
    assert np.isnan(trace.start[0])
    assert np.isnan(trace.requested_time[0])
    assert trace.users == trace.states == ("unknown",)
    assert trace.origin is None
    assert trace.capacity is None


def test_requested_processors_stand_in_for_allocated_ones(log):
    assert read_trace(log(row(procs=-1, requested=16))).servers.tolist() == [16]


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (row(9, run=-1, status=5), "cancelled before it started"),
        (row(9, run=0), "run time of 0 s"),
        (row(9, run=-1), "run time of 0 s"),
        (row(9, run=-7), "negative run time"),
        (row(9, procs=-1, requested=-1), "no servers recorded"),
        (row(9, status=2), "part of a job, whose whole is another row"),
        (row(9, wait=-20), "starts before its submission"),
        (row(9, run="long"), "text where a number is expected"),
        (row(9, run="nan"), "a number that is not finite"),
        (row(9, procs=10**30), "a number that is too large"),
        ("9 0 5 60\n", "not 18 numbers"),
    ],
)
def test_rows_that_are_no_jobs_are_counted_with_their_line(log, bad, reason):
    trace = read_trace(log(HEADER + row() + row(2) + bad))
    assert len(trace) == 2
    (skipped,) = trace.skipped
    assert (skipped.reason, skipped.count) == (reason, 1)
    line = len(HEADER.splitlines()) + 3
    assert skipped.examples[0].startswith(f"line {line}")


def test_rows_out_of_order_are_sorted_and_a_note_says_so(log):
    trace = read_trace(log(row(submit=50, run=1) + row(2, submit=10, run=2)))
    assert trace.submit.tolist() == [0, 40]
    assert trace.run_time.tolist() == [2, 1]
    assert "not in the order of submission" in trace.notes[0]


def test_queues_have_the_names_of_the_header(log):
    text = HEADER + row() + row(2, rest="7 2 3 8 1")
    assert read_trace(log(text), class_by="queue").classes == ("batch", "queue 8")
    assert read_trace(log(text), class_by="application").classes == ("application 3",)


@pytest.mark.parametrize("rule", ["account", "name:x"])
def test_classes_by_what_the_format_lacks_are_refused(log, rule):
    with pytest.raises(InputError, match=r"has no (account|name); choose one of user, group"):
        read_trace(log(row()), class_by=rule)


def test_a_file_that_is_mostly_damaged_is_refused_with_an_example(log):
    text = row() + "1 2 3\n" * 2
    with pytest.raises(
        InputError, match=r"2 of 3 rows are damaged \(not 18 numbers: 2 rows, the first line 2\)"
    ):
        read_trace(log(text))


def test_time_zones_that_are_not_known_fall_back_to_the_offset(log):
    text = HEADER.replace("Europe/Stockholm", "Nowhere/Atlantis") + row()
    assert read_trace(log(text)).origin.utcoffset().total_seconds() == 3600


@pytest.mark.parametrize("text", ["9" * 5000, "9" * 16, "many", "0", "-4"])
def test_a_capacity_that_is_no_usual_number_is_not_known(tmp_path, text):
    path = tmp_path / "log.swf"
    path.write_text(f"; MaxProcs: {text}\n{row(1)}\n")
    assert read_trace(path).capacity is None


@pytest.mark.parametrize("zone", ["a/" * 3000, "../" * 50 + "etc/passwd", "/etc/passwd", "x" * 300])
def test_names_that_no_time_zone_has_mean_utc(tmp_path, zone):
    path = tmp_path / "log.swf"
    path.write_text(f"; UnixStartTime: 843480031\n; TimeZoneString: {zone}\n{row(1)}\n")
    origin = read_trace(path).origin
    assert origin is not None
    assert origin.utcoffset() == timedelta(0)
