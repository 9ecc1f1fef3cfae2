"""Bounded reading of JSON files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from moldable.errors import InputError, MoldableError


def parse_json(path: Path, text: str) -> Any:
    """Parse JSON; errors name the file and, where possible, the line. Repeated keys are refused."""
    try:
        return json.loads(text, object_pairs_hook=_without_repeats)
    except json.JSONDecodeError as error:
        raise InputError(
            f"{path}, line {error.lineno}: not valid JSON: {error.msg.lower()}"
        ) from None
    except MoldableError as error:
        raise InputError(f"{path}: {error}") from None
    except (RecursionError, ValueError):  # thousands of brackets, or of digits
        raise InputError(f"{path}: the JSON is nested too deeply or has too long numbers") from None


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise InputError(f"key {key!r} is given twice; keep one of them")
        found[key] = value
    return found
