from __future__ import annotations

import csv
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from moldable import Trace, read_trace
from moldable.errors import InputError
from moldable.traces import write_trace

NAMES = st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "S")), min_size=1).filter(
    lambda name: name == name.strip() and not name.startswith("#")
)


@st.composite
def traces(draw, *, whole: bool) -> Trace:
    """Return a trace; with `whole`, times are whole seconds as in Standard Workload Format."""
    jobs = draw(st.integers(1, 8))
    number = st.integers(0, 10**6) if whole else st.floats(0, 1e6)
    gaps = draw(st.lists(number, min_size=jobs, max_size=jobs))
    submit = np.cumsum([0.0, *gaps[1:]])
    waits = np.array(draw(st.lists(number, min_size=jobs, max_size=jobs)), dtype=float)
    known = np.array(draw(st.lists(st.booleans(), min_size=jobs, max_size=jobs)))
    names = tuple(draw(st.lists(NAMES, min_size=1, max_size=3, unique=True)))
    index = np.sort(np.resize(np.arange(len(names)), jobs))
    names = names[: int(index.max()) + 1]
    states = ("cancelled", "completed", "failed")
    return Trace(
        submit=submit,
        start=np.where(known, submit + waits, np.nan),
        run_time=1.0 + np.array(draw(st.lists(number, min_size=jobs, max_size=jobs))),
        servers=np.array(draw(st.lists(st.integers(1, 512), min_size=jobs, max_size=jobs))),
        requested_time=np.where(~known, 1.0 + waits, np.nan),
        users=names,
        user=index,
        classes=names,
        job_class=index,
        states=states,
        state=np.resize([1, 0, 2, 1], jobs),
        capacity=draw(st.none() | st.integers(1, 10**6)),
    )


def same_jobs(found: Trace, trace: Trace) -> None:
    for name in ("submit", "start", "run_time", "servers", "requested_time"):
        np.testing.assert_array_equal(getattr(found, name), getattr(trace, name))
    for names, index in (("users", "user"), ("classes", "job_class"), ("states", "state")):
        pairs = [[getattr(each, names)[k] for k in getattr(each, index)] for each in (found, trace)]
        assert pairs[0] == pairs[1]
    assert found.capacity == trace.capacity


@given(traces(whole=False))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
def test_a_csv_file_keeps_every_digit_and_name(tmp_path, trace):
    write_trace(trace, tmp_path / "log.csv")
    same_jobs(read_trace(tmp_path / "log.csv", class_by="class", most_classes=9), trace)


@given(traces(whole=True))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
def test_standard_workload_format_keeps_whole_seconds_and_names(tmp_path, trace):
    write_trace(trace, tmp_path / "log.swf")
    found = read_trace(tmp_path / "log.swf", class_by="application", most_classes=9)
    same_jobs(found, trace)


@pytest.mark.parametrize(
    "origin",
    [
        None,
        datetime(2026, 11, 2, 8, 30),  # noqa: DTZ001
        datetime(2026, 11, 2, 8, 30, tzinfo=UTC),
        datetime(2026, 7, 2, 8, 30, tzinfo=ZoneInfo("Europe/Stockholm")),
    ],
)
def test_the_date_of_the_first_job_is_kept(log, tmp_path, origin):
    from dataclasses import replace  # noqa: PLC0415

    trace = replace(read_trace(log("submit,run_time,servers\n0,60,2\n9,60,2\n")), origin=origin)
    for name in ("log.csv", "log.swf"):
        write_trace(trace, tmp_path / name)
        found = read_trace(tmp_path / name).origin
        if origin is None:
            assert found is None
        else:
            assert (found.hour, found.minute, found.day) == (8, 30, 2)
            if origin.tzinfo is not None:
                assert found == origin


def test_other_programs_read_the_csv_file(log, tmp_path):
    trace = read_trace(log("submit,run_time,servers,user\n0,60,2,ann\n9,60.5,4,bob\n"))
    write_trace(trace, tmp_path / "log.csv")
    lines = [x for x in (tmp_path / "log.csv").read_text().splitlines() if x[0] != "#"]
    rows = list(csv.DictReader(lines))
    assert [row["run_time"] for row in rows] == ["60", "60.5"]
    assert [row["user"] for row in rows] == ["ann", "bob"]
    assert [row["start"] for row in rows] == ["", ""]


def test_other_things_are_not_written(tmp_path):
    with pytest.raises(InputError, match=r"is of type list, not Trace"):
        write_trace([1, 2], tmp_path / "log.csv")
