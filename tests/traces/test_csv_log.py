from __future__ import annotations

import math

import pytest

from moldable import read_trace
from moldable.errors import InputError


def test_common_names_are_known_in_any_spelling(log):
    text = "Job ID,Submit Time,Run-Time (s),GPUs,User\n1,0,60,2,ann\n2,30,1:30,4,bob\n"
    trace = read_trace(log(text), class_by="user")
    assert trace.submit.tolist() == [0, 30]
    assert trace.run_time.tolist() == [60, 90]
    assert trace.servers.tolist() == [2, 4]
    assert trace.server_unit == "gpus"
    assert trace.classes == ("ann", "bob")
    assert trace.origin is None


@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_columns_are_separated_by_commas_semicolons_or_tabs(log, mark):
    text = "submit,run_time,servers\n0,60,2\n1,90,4\n".replace(",", mark)
    assert read_trace(log(text)).run_time.tolist() == [60, 90]


def test_semicolons_allow_decimal_commas(log):
    trace = read_trace(log("submit;run_time;servers\n0,5;60,25;2\n1;2;3\n"))
    assert trace.run_time.tolist() == [60.25, 2]
    assert trace.submit.tolist() == [0, 0.5]


def test_columns_are_named_by_the_caller(log):
    text = "queued,ran,slots,what\n2026-11-02 10:00:00,60,2,a\n2026-11-02 10:01:00,60,2,b\n"
    names = {"submit": "queued", "run_time": "ran", "servers": "slots", "application": "what"}
    trace = read_trace(log(text), columns=names, class_by="application")
    assert trace.submit.tolist() == [0, 60]
    assert trace.classes == ("a", "b")
    assert trace.origin.isoformat() == "2026-11-02T10:00:00"


@pytest.mark.parametrize(
    ("text", "start", "run"),
    [
        ("submit,start,end,servers\n0,10,70,1\n", 10, 60),
        ("submit,wait,run_time,servers\n5,10,60,1\n", 10, 60),
        ("submit,start,run_time,servers\n5,,60,1\n", math.nan, 60),
        ("submit,run_time,servers\n5,60,1\n", math.nan, 60),
    ],
)
def test_starts_and_run_times_follow_from_what_there_is(log, text, start, run):
    trace = read_trace(log(text))
    assert trace.run_time.tolist() == [run]
    assert trace.start[0] == start or (math.isnan(start) and math.isnan(trace.start[0]))


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("9,60", "wrong number of columns"),
        ("9;60;2;completed", "wrong number of columns"),
        ("9,soon,2,completed", "text where a number or a time is expected"),
        ("9,60,two,completed", "text where a number or a time is expected"),
        ("9,60,1.5,completed", "text where a number or a time is expected"),
        (",60,2,completed", "text where a number or a time is expected"),
        ("9,-60,2,completed", "negative run time"),
        ("9,60,1e300,completed", "a number that is too large"),
        ("9,1e308,2,completed", "a number that is too large"),
        ("1e308,60,2,completed", "a number that is too large"),
        ("9,60,-1e300,completed", "a number that is too large"),
        ("9,0,2,completed", "run time of 0 s"),
        ("9,,2,cancelled", "cancelled before it started"),
        ("9,,2,failed", "never started"),
        ("9,60,0,completed", "no servers recorded"),
        ("9,60,2,running", "not finished"),
    ],
)
def test_rows_that_are_no_jobs_are_counted_with_their_line(log, row, reason):
    text = f"submit,run_time,servers,state\n0,60,2,completed\n1,60,2,done\n{row}\n"
    trace = read_trace(log(text))
    assert len(trace) == 2
    (skipped,) = trace.skipped
    assert (skipped.reason, skipped.count, skipped.examples) == (reason, 1, ("line 4",))


def test_mixed_delimiters_are_an_error(log):
    text = "submit,run_time,servers\n0;60;2\n1;60;2\n"
    with pytest.raises(
        InputError, match=r"2 of 2 rows are damaged \(wrong number of columns: 2 rows, the first l"
    ):
        read_trace(log(text))


def test_missing_columns_are_named_with_those_found_and_the_nearest(log):
    with pytest.raises(
        InputError,
        match=r"no column for run_time; it has submit, runtme, gpus \(nearest: 'runtme'\); name it:"
        r" --columns run_time=NAME \(known names: run_time, runtime",
    ):
        read_trace(log("submit,runtme,gpus\n0,60,2\n"))


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"submit": "queud"}, r"columns=submit=queud: .* no such column; did you mean 'queued'"),
        ({"submitted_at": "queued"}, r"columns='submitted_at' is not a column; did you mean 'subm"),
        ("queued", r"columns='queued' is not a mapping"),
    ],
)
def test_wrong_names_of_columns_are_refused(log, columns, message):
    with pytest.raises(InputError, match=message):
        read_trace(log("queued,run_time,servers\n0,60,2\n"), columns=columns)


def test_columns_are_refused_for_other_formats(log):
    text = "1 0 5 60 4 -1 -1 4 90 -1 1 7 2 3 1 1 -1 -1\n"
    with pytest.raises(InputError, match=r"applies to CSV files only"):
        read_trace(log(text), columns={"submit": "x"})


def test_what_counts_as_a_server_is_a_choice_of_columns(log):
    text = "submit,run_time,gpus,cpus\n0,60,2,16\n1,60,0,8\n"
    gpus, cpus = read_trace(log(text)), read_trace(log(text), count="cpus")
    assert gpus.servers.tolist() == [2]
    assert gpus.skipped[0].reason == "no gpus"
    assert cpus.servers.tolist() == [16, 8]
    with pytest.raises(InputError, match=r"no column for nodes"):
        read_trace(log(text), count="nodes")


def test_quoted_cells_may_contain_the_separator(log):
    text = 'submit,run_time,servers,name\n0,60,2,"train, large"\n'
    assert read_trace(log(text), class_by="name:.*").classes == ("train, large",)


def test_seconds_since_1970_are_dates_and_milliseconds_are_refused(log):
    text = "timestamp,duration,num_gpus\n1700000000,60,2\n"
    assert read_trace(log(text)).origin.isoformat() == "2023-11-14T22:13:20+00:00"
    with pytest.raises(InputError, match=r"1700000000000 are not in seconds; divide"):
        read_trace(log(text.replace("1700000000", "1700000000000")))


def test_comments_give_the_cluster_and_the_date(log):
    text = "# servers: 64\n# origin: 2026-11-02T00:00:00\nsubmit,run_time,servers\n90,60,2\n"
    trace = read_trace(log(text))
    assert trace.capacity == 64
    assert trace.origin.isoformat() == "2026-11-02T00:01:30"


@pytest.mark.parametrize("text", ["submit,run_time,servers\n", "# nothing\n\n"])
def test_a_log_without_rows_is_refused(log, text):
    with pytest.raises(InputError, match=r"no jobs|is empty"):
        read_trace(log(text), format="csv")


@pytest.mark.parametrize(
    ("cell", "jobs"), [('"a\rb"', 3), ("a\rb", 3), ('"a\r"b\rc', 2), ('"' + "x" * 200_000 + '"', 2)]
)
def test_a_row_that_the_csv_format_forbids_is_damaged(log, cell, jobs):
    text = f"submit,run_time,servers,name\n0,60,2,x\n1,60,2,y\n9,60,2,{cell}\n"
    assert len(read_trace(log(text))) == jobs


@pytest.mark.parametrize(
    "text", ["submit,run\rtime,servers\n0,60,2\n", "submit,run_time,servers\r0,60,2\r1,90,4\r"]
)
def test_a_header_that_the_csv_format_forbids_has_no_columns(log, text):
    with pytest.raises(InputError, match="first line cannot be divided into columns; lines must"):
        read_trace(log(text))


@pytest.mark.parametrize(("days", "noted"), [(20, False), (4_000, True)])
def test_a_clock_that_was_set_wrong_leaves_a_gap_that_is_noted(log, days, noted):
    late = "".join(f"{86_400 * days + 60 * k},60,2\n" for k in range(50))
    trace = read_trace(log(f"submit,run_time,servers\n0,60,2\n{late}"))
    told = [note for note in trace.notes if "nothing was submitted for 4,000 of 4,000 days" in note]
    assert len(told) == noted
    if noted:
        assert "after 1 of 51 jobs" in told[0]
