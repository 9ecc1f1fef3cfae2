"""Messages: shortened if long, and without control characters."""

from __future__ import annotations

import pickle

import pytest

from moldable import MoldableError, Scenario, SpeedUp, errors
from moldable.errors import InputError, suggest

LONGEST = 1000


def test_a_long_message_keeps_its_beginning_and_its_end():
    value = "x" * 10**6
    message = str(InputError(f"file, line 3: {value} is too long; make it shorter"))
    assert len(message) <= LONGEST
    assert message.startswith("file, line 3: xxx")
    assert message.endswith("xxx is too long; make it shorter")
    assert str(InputError(message)) == message


def test_a_message_of_the_longest_length_is_kept():
    assert str(InputError("x" * LONGEST)) == "x" * LONGEST


def test_characters_that_a_terminal_obeys_are_escaped():
    assert str(MoldableError("a\x1b[2J\x07\x9b\nb\u202e\ud800")) == (
        r"a\x1b[2J\x07\x9b\nb\u202e\ud800"
    )
    assert errors.printable("naïve größe 大 😀") == "naïve größe 大 😀"
    assert errors.printable(r"\x1b") == r"\x1b"


def test_errors_survive_being_sent_to_another_process():
    error = pickle.loads(pickle.dumps(InputError("a\nb")))  # noqa: S301 - our own bytes
    assert type(error) is InputError
    assert str(error) == r"a\nb"
    error = pickle.loads(pickle.dumps(InputError("2 is odd", "servers")))  # noqa: S301 - our own
    assert (str(error), error.parameter, error.message) == (
        "servers=2 is odd",
        "servers",
        "2 is odd",
    )


def test_values_that_python_does_not_print_are_described():
    assert errors.shown([10**5000]) == "a list too long to show"
    with pytest.raises(MoldableError, match="load=a list too long to show is not a number"):
        Scenario.single(SpeedUp([1]), [10**5000], 4)
    with pytest.raises(MoldableError, match=r"load='x{76}\.\.\. is not a number"):
        Scenario.single(SpeedUp([1]), "x" * 1000, 4)


def test_an_error_of_a_check_names_its_parameter():
    with pytest.raises(MoldableError) as caught:
        Scenario.single(SpeedUp([1]), -1, 4)
    assert caught.value.parameter == "load"
    assert str(caught.value) == f"load={caught.value.message}"
    assert MoldableError("no curve").parameter is None


def test_a_word_in_capitals_is_recognised():
    assert suggest("EQUI", ("equi", "greedy")).startswith("did you mean 'equi'?")
