"""One explorer for all tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from explorer.started import exploring


@pytest.fixture(scope="session")
def explorer() -> Iterator[str]:
    """The address of an explorer without a file."""
    with exploring("--no-browser") as (url, _):
        yield url
