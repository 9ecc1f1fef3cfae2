"""Seeds of random cases."""

from __future__ import annotations

from typing import Any

import pytest


def seeds(count: int, few: int) -> list[Any]:
    """The first few seeds for every run of the tests, and the others for `make verify`."""
    return [
        pytest.param(seed, marks=[] if seed < few else [pytest.mark.long]) for seed in range(count)
    ]
