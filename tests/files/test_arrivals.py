"""Arrival processes written in one line."""

from __future__ import annotations

import numpy as np
import pytest

from moldable.arrivals import ArrivalTimes, MarkovModulated, Poisson, Renewal
from moldable.errors import MoldableError
from moldable.files import parse_arrivals
from moldable.sizes import Deterministic, Lognormal, Pareto

THREE = MarkovModulated((0.5, 1, 4), ((0, 0.1, 0.2), (0.3, 0, 0.4), (0.5, 0.6, 0)))


@pytest.mark.parametrize(
    ("text", "process"),
    [
        ("poisson", Poisson()),
        (" Poisson ", Poisson()),
        ("renewal:2", Renewal(Lognormal(2.0))),
        ("renewal:0", Renewal(Deterministic())),
        ("renewal:pareto:1.5", Renewal(Pareto(1.5))),
        ("mmpp:0.5,2:0.1,0.2", MarkovModulated((0.5, 2), ((0, 0.1), (0.2, 0)))),
        ("mmpp:0.5,1,4:0.1,0.2,0.3,0.4,0.5,0.6", THREE),
    ],
)
def test_every_process_is_read_and_written_back(text, process):
    assert parse_arrivals(text) == process
    assert parse_arrivals(str(process)) == process


@pytest.mark.parametrize("variation", [0.3, 1.0, 3.0])
def test_a_renewal_process_has_the_coefficient_of_variation_that_it_names(variation):
    gap = parse_arrivals(f"renewal:{variation}").gap
    assert gap.variance == pytest.approx(variation**2)  # the mean is 1


def test_times_are_read_from_a_file(tmp_path):
    (tmp_path / "times.csv").write_text("# seconds\ntime\n3\n3.5 # later\n\n7\n")
    found = parse_arrivals("times.csv", tmp_path)
    assert isinstance(found, ArrivalTimes)
    np.testing.assert_array_equal(found.times, [3.0, 3.5, 7.0])
    assert str(found) == str(tmp_path / "times.csv")
    assert str(ArrivalTimes([0.0, 1.0])) == "2 arrival times"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("time\n3\n2\n", "line 3: time 2 must be finite and not before the time above"),
        ("inf\n", "line 1: time inf must be finite"),
        ("nan\n", "line 1: time nan must be finite"),
        ("1,2\n", "line 1: several columns '1,2'; keep only the times"),
        ("size\n1\n", "line 1: the time is not a number; .* optional header time"),
        ("", "there is no time in the file"),
    ],
)
def test_faulty_files_of_times_are_explained_with_their_line(tmp_path, content, words):
    path = tmp_path / "times.csv"
    path.write_text(content)
    with pytest.raises(MoldableError, match=words) as caught:
        parse_arrivals("times.csv", tmp_path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "unknown arrivals ''"),
        ("renewl:2", "unknown arrivals 'renewl:2'; did you mean 'renewal'?"),
        ("Trace.swf", "unknown arrivals 'Trace.swf'.*or a CSV file"),
        ("poisson:2", "Poisson arrivals take no parameter; write poisson"),
        ("renewal", "write renewal:CV"),
        ("renewal:-1", "cv=-1 must be finite and above 0 .*; write renewal:CV"),
        ("renewal:parto", "unknown size law 'parto'; did you mean 'pareto'"),
        ("mmpp", "write mmpp:LEVELS:SWITCHING"),
        ("mmpp:1,2", "write mmpp:LEVELS:SWITCHING, such as mmpp:0.5,2:0.1,0.2"),
        ("mmpp:1,2:3", "2 levels have 2 switching rates, .*; got 1"),
        ("mmpp:1,2:0,1", "cannot be reached"),
        (3, "arrivals=3 is of type int"),
    ],
)
def test_faulty_spellings_are_explained(text, words):
    with pytest.raises(MoldableError, match=words):
        parse_arrivals(text)
