"""How is a piece of Python shown so that what is shown is what was run?"""

from __future__ import annotations

import ast
from typing import Any


def transcribe(source: str) -> tuple[str, dict[str, Any]]:
    """Run a program and return the session an interpreter would show, and its variables.

    Every expression that stands alone is followed by its value, as at a prompt.
    """
    lines = [line for line in source.splitlines() if line]
    session: list[str] = []
    names: dict[str, Any] = {}
    begin = 0
    for node in ast.parse("\n".join(lines)).body:
        end = node.end_lineno or node.lineno
        shown = lines[begin:end]  # with the comments above it
        session += [_prompt(line, k) for k, line in enumerate(shown, start=begin - node.lineno + 1)]
        begin = end
        if isinstance(node, ast.Expr):
            value = eval(compile(ast.Expression(node.value), "<shown>", "eval"), names)  # noqa: S307
            session.append(repr(value))
        else:
            exec(compile(ast.Module([node], []), "<shown>", "exec"), names)  # noqa: S102
    return "\n".join(session), names


def _prompt(line: str, place: int) -> str:
    """Prefix a line; the first of a statement, and comments above it, have the full prompt."""
    return f"{'>>>' if place <= 0 else '...'} {line}".rstrip()
