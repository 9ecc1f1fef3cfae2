"""CSV files of measurements, good and bad."""

from __future__ import annotations

import pytest

from moldable import SpeedUp, read_curve
from moldable.errors import InputError
from moldable.files import parse_speedup


def write(folder, text, name="curve.csv"):
    path = folder / name
    path.write_text(text)
    return path


def test_times_and_speedups_are_read(tmp_path):
    times = "# a comment\nWidth, Time\n1, 10\n\n2,6\n2,4\n"
    assert read_curve(write(tmp_path, times)) == SpeedUp({1: 1, 2: 2})
    assert parse_speedup("curve.csv", tmp_path) == SpeedUp({1: 1, 2: 2})
    speedups = "\ufeffwidth,speedup\n1,1\n4,3.5\n"
    assert read_curve(write(tmp_path, speedups)) == SpeedUp({1: 1, 4: 3.5})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("# nothing\n", "is empty"),
        ("a,b\n1,2\n", "line 1: this is not a header of a curve; the columns must be width,time"),
        ("width,time\n", "no run time"),
        ("width,time\n1,2,3\n", "line 2: 3 values where 2 are expected"),
        ("width,time\n1,10\nx,5\n", "line 3: width is not a whole number"),
        ("width,time\n1.5,5\n", "line 2: width '1.5'"),
        ("width,time\n0,5\n", "line 2: width=0 must be a whole number from 1"),
        ("width,time\n1,ten\n", "line 2: time is not a number"),
        ("width,time\n1,nan\n", "line 2: time nan must be finite"),
        ("width,speedup\n1,1\n2,-1\n", "line 3: speedup -1 must be finite and above 0"),
        ("width,speedup\n1,1\n2,2\n2,2.1\n", "line 4: width 2 is already in line 3"),
        ("width,speedup\n1,2\n", r"s\(1\)=2"),
        ("width,speedup\n", "empty"),
        ('width,time\n1,"10\n', "line 2|line 3"),
    ],
)
def test_faulty_files_are_explained_with_their_line(tmp_path, text, message):
    path = write(tmp_path, text)
    with pytest.raises(InputError, match=message) as caught:
        read_curve(path)
    assert str(path) in str(caught.value)


def test_unreadable_files_are_explained(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        read_curve(tmp_path / "missing.csv")
    with pytest.raises(InputError, match="is a directory"):
        read_curve(tmp_path)
    (tmp_path / "binary.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="not UTF-8"):
        read_curve(tmp_path / "binary.csv")
