"""How do answers reach a person or a script?"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console


PIECE = 4096


def print_json(answer: dict[str, Any]) -> None:
    """Print exactly one JSON object; floats keep every digit."""
    text = json.dumps(answer, allow_nan=False) + "\n"
    # Python drops the rest of a large write without a word when a pipe closes in the middle of it.
    for begin in range(0, len(text), PIECE):
        sys.stdout.write(text[begin : begin + PIECE])
        sys.stdout.flush()


def note(text: str) -> None:
    """Tell a person something that is not part of the answer."""
    sys.stderr.write(f"moldable: note: {text}\n")


def console() -> Console:
    """Return the console for plain answers, plain text when piped."""
    from rich.console import Console

    # What people call their classes is text, not markup.
    return Console(highlight=False, markup=False, emoji=False)
