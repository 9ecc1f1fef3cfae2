"""Marks in comments, and what must not pass for one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moldable.errors import InputError
from moldable.live.slurm.marks import Mark, checked_class

NAMES = st.from_regex(r"[A-Za-z0-9_.-]{1,64}", fullmatch=True)
KEYS = st.from_regex(r"[a-z]{1,16}", fullmatch=True)


@given(NAMES, st.dictionaries(KEYS, NAMES, max_size=6))
def test_a_mark_is_read_as_it_was_written(name, fields):
    mark = Mark(name, fields)
    assert Mark.parse(str(mark)) == mark


@pytest.mark.parametrize(
    "text",
    [
        *("", "moldable", "moldable:", "moldable:a b", "moldable:a;", "moldable:a;Width=3"),
        *("moldable:a\n", "x moldable:a", "moldable:a;width=3 JobId=7", f"moldable:{'a' * 65}"),
        "moldable:a;width=3\nupdate JobId=7",
    ],
)
def test_other_texts_are_no_marks(text):
    assert Mark.parse(text) is None


@pytest.mark.parametrize("text", ["", "-3", "3.0", "\u0663", "1" * 10, "x"])
def test_a_width_is_a_short_row_of_digits(text):
    assert Mark("a", {"width": text}).number("width") is None


def test_a_state_replaces_the_one_before_and_keeps_the_shape_in_front():
    mark = Mark("a", {"shape": "gpus"}).stated("granting", 4, idle=9, waiting=None)
    assert str(mark) == "moldable:a;shape=gpus;granting=4;idle=9"
    assert str(mark.stated("width", 4)) == "moldable:a;shape=gpus;width=4;idle=9"


def test_classes_that_no_comment_can_hold_are_refused():
    assert checked_class("solver-2.1") == "solver-2.1"
    for name in ("", "my class", "a;width=3", "a\nb", "klass=1"):
        with pytest.raises(InputError, match="cannot be written into comments"):
            checked_class(name)
