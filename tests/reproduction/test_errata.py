"""The programs of the errata run and show what the text says."""

from __future__ import annotations

import doctest

import pytest

from reproduction.errata import transcribe
from reproduction.errata_list import DRIFT, ERRATA


def test_a_session_looks_like_an_interpreters():
    session, names = transcribe("""
# why
a = 1

def double(x):
    return 2 * x

double(
    a
)
""")
    assert session.splitlines() == [
        ">>> # why",
        ">>> a = 1",
        ">>> def double(x):",
        "...     return 2 * x",
        ">>> double(",
        "...     a",
        "... )",
        "2",
    ]
    assert names["a"] == 1


def test_a_session_can_be_repeated_as_a_doctest():
    session, _ = transcribe(DRIFT.program)
    test = doctest.DocTestParser().get_doctest(session, {}, "drift", None, None)
    assert doctest.DocTestRunner(verbose=False).run(test).failed == 0
    assert len(test.examples) > 3


@pytest.mark.parametrize("erratum", ERRATA, ids=lambda erratum: erratum.key)
def test_every_session_shows_what_is_said(erratum):
    session, names = transcribe(erratum.program)
    assert "{" not in erratum.finding.format(**names)
    # Comparisons come out as the text says, except those between assumptions.
    if erratum.key not in ("property-p2", "uniqueness"):
        assert "False" not in session
