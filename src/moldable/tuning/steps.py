"""Who hears which step of a long search begins? Anyone who asks; nobody by default."""

from __future__ import annotations

from collections.abc import Callable

Say = Callable[[str], None]
"""Called with the step that begins, in words."""


def silent(step: str) -> None:
    """Say nothing."""
