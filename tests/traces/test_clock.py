from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moldable.traces.clock import Clock, duration_seconds


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("00:00", 0),
        ("01:30", 90),
        ("90:00", 5400),
        ("02:03:04", 7384),
        ("1-02:03:04", 93784),
        ("365-00:00:00", 31_536_000),
        ("00:01.500", 1.5),
        ("00:00:01.25", 1.25),
        ("1-12", 129_600),
        ("1-12:30", 131_400),
        ("77", 77),
        ("0.5", 0.5),
        (" 00:10 ", 10),
    ],
)
def test_durations_are_read_in_all_spellings_of_slurm(text, seconds):
    assert duration_seconds(text) == seconds


@pytest.mark.parametrize("text", ["UNLIMITED", "Partition_Limit", "", "INVALID", "Unknown"])
def test_a_limit_that_is_none_is_not_a_number(text):
    assert math.isnan(duration_seconds(text))


@pytest.mark.parametrize("text", ["soon", "1:2:3:4", "--1", "inf", "1e999", "1-", "00:00:1e"])
def test_other_durations_are_refused(text):
    with pytest.raises(ValueError, match=r"."):
        duration_seconds(text)


@given(
    st.datetimes(datetime(1971, 1, 1), datetime(2200, 1, 1)).map(  # noqa: DTZ001
        lambda moment: moment.replace(microsecond=0)
    ),
    st.sampled_from("T "),
)
def test_dates_are_counted_as_the_standard_library_counts_them(moment, mark):
    seconds = (moment - datetime(1970, 1, 1)) / timedelta(seconds=1)  # noqa: DTZ001
    assert Clock().seconds(moment.isoformat(mark)) == seconds


def test_dates_with_an_offset_and_numbers_are_seconds_since_1970():
    clock = Clock()
    assert clock.seconds("1970-01-02T01:00:00+01:00") == 86400
    assert clock.zoned
    assert clock.seconds("1970-01-02T00:00:00.5") == 86400.5
    other = Clock()
    assert other.seconds("1700000000") == datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC).timestamp()
    assert not other.dates


@pytest.mark.parametrize("text", ["Unknown", "None", "", "N/A"])
def test_a_time_that_is_not_known_is_not_a_number(text):
    assert math.isnan(Clock().seconds(text))


@pytest.mark.parametrize(
    "text", ["2026-13-01T00:00:00", "2026-11-31T00:00:00", "2026-11-01T99:00:00", "later", "inf"]
)
def test_dates_that_do_not_exist_are_refused(text):
    with pytest.raises(ValueError, match=r"."):
        Clock().seconds(text)
