"""One column of a CSV file, as other programs write it."""

from __future__ import annotations

import pytest

from moldable.csv_columns import read_column
from moldable.errors import InputError

NAMES = ("size", "duration")


@pytest.mark.parametrize(
    "content",
    [
        b"1.5\n2\n",
        b"size\n1.5\n2\n",
        b'"Size"\r\n1.5\r\n2\r\n',
        b"\xef\xbb\xbfSize (h)\n# a comment\n1.5\n\n2 # another\n",
        b"job;duration\nx;1,5\ny;2\n",
        b"duration\tjob\n1,5\tx\n2\ty\n",
        b"job,size\nx,1.5\n'y',2\n",
    ],
)
def test_a_column_is_found_in_every_usual_format(tmp_path, content):
    path = tmp_path / "sizes.csv"
    path.write_bytes(content)
    assert [number for _, number in read_column(path, NAMES)] == [1.5, 2.0]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "there is no size in the file"),
        ("job;size\n", "there is no size in the file"),
        ("1;2\n", "line 1: several columns '1;2'; keep only the sizes, or name the columns"),
        ("size\n1,5\n", "line 2: several columns '1,5'; keep only the sizes"),
        ("job;size\n1;2\n3\n", "line 3: 1 columns instead of 2"),
        ("size;duration\n1;2\n", "line 1: several columns are sizes; keep one"),
        (
            "job;size\n1;x\n",
            r"line 2: the size is not a number; .* size \(also accepted: duration\)",
        ),
        ("job;sise\n1;2\n", "line 1: several columns; keep only the sizes, or name the columns"),
        ('size\n"1\n', "line 2: quotes are not closed"),
    ],
)
def test_other_files_are_refused_with_the_line(tmp_path, content, message):
    path = tmp_path / "sizes.csv"
    path.write_text(content)
    with pytest.raises(InputError, match=rf"sizes\.csv.*{message}"):
        read_column(path, NAMES)
