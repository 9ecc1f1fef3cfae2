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
    "text",
    [
        "width;time\n1;10,5\n2;5,25\n",
        "width\ttime\n1\t10,5\n2\t5.25\n",
        "\ufeffcores,runtime\r\n1,10.5\r\n2,5.25\r\n",
        '"GPUs","Time (s)"\n"1","10.5"\n"2","5.25"\n',
        "host,seconds,nodes\na,10.5,1\nb,5.25,2\n",
        "ranks,samples per s\n1,100\n2,200\n",
        "threads;throughput\n1;0,5\n2;1,0\n",
        "servers,speed-up\n1,1\n2,2\n",
    ],
)
def test_other_separators_decimal_commas_and_column_names_are_read(tmp_path, text):
    curve = read_curve(write(tmp_path, text))
    assert curve.widths.tolist() == [1, 2]
    assert curve.speedups.tolist() == pytest.approx([1, 2])


def test_text_that_is_no_header_is_not_repeated(tmp_path):
    path = write(tmp_path, "alice:x:1000,hunter2\n")
    with pytest.raises(InputError) as caught:
        read_curve(path)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("# nothing\n", "is empty"),
        ("a,b\n1,2\n", "line 1: this is not a header of a curve; the columns must be width,time"),
        ("cores,tiem\n1,2\n", "its columns are cores, tiem; .* did you mean 'time'?"),
        ("wdth,tiem\n1,2\n", "its columns are wdth, tiem; .* did you mean 'width'?"),
        (
            "nodes,ranks,time\n1,2,3\n",
            "several columns are widths or values, its columns are nodes",
        ),
        ("width,time,speedup\n1,2,1\n", "several columns are widths or values"),
        ("width;time\n1;2,5;3\n", "line 2: 3 columns instead of 2; separate them"),
        ("width;time\n1;1.234,5\n", "line 2: time '1.234,5' is not a number"),
        ('width,time\n1,"1,234"\n', "line 2: time '1,234' is not a number; write it like 1250.5"),
        ("width,time\n", "no run time"),
        ("width,time\n1,2,3\n", "line 2: 3 columns instead of 2; separate them"),
        ("width,time\n1,10\nx,5\n", "line 3: width is not a whole number"),
        ("width,time\n1.5,5\n", "line 2: width '1.5'"),
        ("width,time\n0,5\n", "line 2: width=0 must be a whole number from 1"),
        ("width,time\n1,ten\n", "line 2: time is not a number"),
        ("width,time\n1,nan\n", "line 2: time nan must be finite"),
        ("width,speedup\n1,1\n2,-1\n", "line 3: speedup -1 must be finite and above 0"),
        ("width,speedup\n1,1\n2,2\n2,2.1\n", "line 4: width 2 is already in line 3"),
        ("width,speedup\n1,2\n", r"s\(1\)=2"),
        ("width,speedup\n", "empty"),
        ('width,time\n1,"10\n', "line 2: quotes are not closed"),
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
