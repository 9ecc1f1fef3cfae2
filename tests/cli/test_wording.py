"""Complaints name what was written on the command line."""

from __future__ import annotations

import pytest

from moldable.cli.wording import in_options


@pytest.mark.parametrize("words", [("--max-blocking", "2"), ("--max-blocking=2",)])
def test_an_argument_is_named_as_the_option_it_came_from(words):
    said = in_options("max_blocking=2 must be below 1", words)
    assert said == "--max-blocking 2 must be below 1"


def test_what_was_not_given_is_left_alone():
    complaint = "load=1.3 is too much"
    assert in_options(complaint, ("--regime", "0,0.2")) == complaint
    assert in_options(complaint, ("--loads", "1.3")) == complaint


@pytest.mark.parametrize("complaint", ["jobs.toml: servers=0", "s(4)=2.9 is below", "no curve"])
def test_only_the_beginning_of_a_complaint_is_an_argument(complaint):
    assert in_options(complaint, ("--servers", "0")) == complaint
