"""How do answers reach a person or a script?"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console


def print_json(answer: dict[str, Any]) -> None:
    """Print exactly one JSON object; floats keep every digit."""
    sys.stdout.write(json.dumps(answer, allow_nan=False) + "\n")


def note(text: str) -> None:
    """Tell a person something that is not part of the answer."""
    sys.stderr.write(f"moldable: note: {text}\n")


def console() -> Console:
    """Return the console for plain answers, plain text when piped."""
    from rich.console import Console

    return Console(highlight=False, soft_wrap=False)
