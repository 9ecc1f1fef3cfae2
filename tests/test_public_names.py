"""The public names and errors."""

from __future__ import annotations

import inspect

import pytest

import moldable
from moldable import errors


def test_every_public_name_is_there_and_documented():
    for name in moldable.__all__:
        assert inspect.getdoc(getattr(moldable, name)), name


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="fair_share"):
        moldable.fair_share  # noqa: B018


def test_every_error_descends_from_one_root():
    kinds = [
        value
        for value in vars(errors).values()
        if inspect.isclass(value) and value.__module__ == errors.__name__
    ]
    assert len(kinds) == 14
    assert all(issubclass(kind, errors.MoldableError) for kind in kinds)
    assert issubclass(errors.MoldableError, ValueError)
    assert all(kind.__name__ in errors.__doc__ for kind in kinds)
