"""Random mutations of text, bytes and JSON."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from typing import Any

from fuzz.values import BYTES, NUL, NUMBERS, PLAIN, TEXTS

NUMBER = re.compile(r"(?<![\w.])-?\d+(\.\d+)?(e-?\d+)?")
QUOTED = re.compile(r'"[^"\n]*"')
NAME = re.compile(r"[A-Za-z_]\w+")
MOST_BYTES = 2_000_000
DEEP = "[" * 2000 + "]" * 2000
DOTTED = b".".join([b"a"] * 20_000) + b" = 1"

Rng = random.Random


def damaged(rng: Rng, content: bytes, times: int | None = None) -> bytes:
    """Apply a few random mutations, sometimes none."""
    for _ in range(rng.choice((0, 1, 1, 1, 2, 3)) if times is None else times):
        content = rng.choice(MUTATIONS)(rng, content)[:MOST_BYTES]
    return content


def odd_text(rng: Rng) -> str:
    """Return an unusual text or number."""
    return rng.choice(rng.choice((TEXTS, NUMBERS, NUL)))


def typo(rng: Rng, text: str) -> str:
    """Change, insert or drop a character."""
    at = rng.randrange(len(text) + 1)
    return text[:at] + rng.choice(("", *"0,.:=- xe\u0663\u00e9")) + text[at + rng.randint(0, 1) :]


def _replace(pattern: re.Pattern[str], choose: Callable[[Rng, str], str]) -> Callable[..., bytes]:
    def mutation(rng: Rng, content: bytes) -> bytes:
        text = content.decode(errors="surrogateescape")
        found = list(pattern.finditer(text))
        if not found:
            return content
        where = rng.choice(found)
        text = text[: where.start()] + choose(rng, where[0]) + text[where.end() :]
        return text.encode(errors="surrogateescape")

    return mutation


def _on_lines(change: Callable[[Rng, list[bytes]], object]) -> Callable[..., bytes]:
    def mutation(rng: Rng, content: bytes) -> bytes:
        lines = content.split(b"\n")
        change(rng, lines)
        return b"\n".join(lines)

    return mutation


def _insert(rng: Rng, content: bytes) -> bytes:
    at = rng.randrange(len(content) + 1)
    piece = rng.choice((*BYTES, odd_text(rng).encode(), bytes([rng.randrange(256)])))
    return content[:at] + piece + content[at:]


def _delete(rng: Rng, content: bytes) -> bytes:
    at = rng.randrange(len(content) + 1)
    return content[:at] + content[at + rng.choice((1, 1, 2, 10)) :]


def _flip(rng: Rng, content: bytes) -> bytes:
    if not content:
        return content
    at = rng.randrange(len(content))
    return content[:at] + bytes([content[at] ^ (1 << rng.randrange(8))]) + content[at + 1 :]


def _repeat(rng: Rng, content: bytes) -> bytes:
    begin = rng.randrange(len(content) + 1)
    end = begin + rng.choice((1, 4, 20, 100))
    return content[:end] + content[begin:end] * rng.choice((1, 10, 1000)) + content[end:]


def _encode(rng: Rng, content: bytes) -> bytes:
    text = content.decode(errors="replace")
    return rng.choice(
        (
            lambda: text.encode("utf-16"),
            lambda: b"\xef\xbb\xbf" + content,
            lambda: content.replace(b"\n", b"\r\n"),
            lambda: content.replace(b"\n", b"\r"),
            lambda: content + b"\0",
            lambda: b"",
            lambda: content[: len(content) // 2],
        )
    )()


def _delete_line(rng: Rng, lines: list[bytes]) -> None:
    del lines[rng.randrange(len(lines))]


def _repeat_line(rng: Rng, lines: list[bytes]) -> None:
    lines.insert(rng.randrange(len(lines) + 1), rng.choice((*lines, DOTTED)))


MUTATIONS: tuple[Callable[[Rng, bytes], bytes], ...] = (
    *[_replace(NUMBER, lambda rng, _: rng.choice(rng.choice((NUMBERS, NUMBERS, PLAIN))))] * 6,
    *[_replace(QUOTED, lambda rng, _: '"' + odd_text(rng) + '"')] * 2,
    _replace(QUOTED, lambda rng, _: json.dumps(odd_text(rng))),
    _replace(QUOTED, lambda rng, _: rng.choice(NUMBERS)),
    _replace(NUMBER, lambda rng, _: rng.choice(("[]", '"1"', "[1, 2]", "true", "{ a = 1 }", DEEP))),
    _replace(NAME, typo),
    _replace(NAME, lambda rng, _: odd_text(rng)),
    _on_lines(_delete_line),
    _on_lines(_repeat_line),
    _on_lines(lambda rng, lines: rng.shuffle(lines)),
    _insert,
    _delete,
    _flip,
    _repeat,
    _encode,
)


ODD_JSON: tuple[Any, ...] = (
    *(None, True, 0, -1, -0.0, 1.5, 1e308, 1e-320, 10**30, 2**63, "", "x", "1", "\0", "\x1b[31m"),
    *([], {}, [1, 2], [[]], {"a": 1}, {"1": None}, {"": 1}, {"1": [1]}, {"01": 1}, {"1e3": 1}),
    *(float("nan"), float("inf"), "a" * 100_000, list(range(2000)), "\ud800", "\u0663"),
)


def damaged_json(rng: Rng, content: bytes) -> bytes:
    """Replace, drop or rename parts of a JSON document, or damage its text."""
    if rng.random() < 0.25:
        return damaged(rng, content)
    data = json.loads(content)
    for _ in range(rng.choice((1, 1, 2, 3))):
        data = _changed(rng, data)
    return json.dumps(data).encode()


def _changed(rng: Rng, data: Any) -> Any:
    if not isinstance(data, dict | list) or not data or rng.random() < 0.15:
        return rng.choice((*ODD_JSON, [data], {"policy": data}))
    key = rng.choice(list(data)) if isinstance(data, dict) else rng.randrange(len(data))
    copy = data.copy()
    if rng.random() < 0.6:
        copy[key] = _changed(rng, copy[key])
    elif rng.random() < 0.5:
        del copy[key]
    elif isinstance(copy, dict):
        copy[rng.choice((typo(rng, key), odd_text(rng), rng.choice(NUMBERS)))] = copy.pop(key)
    else:
        copy += [copy[key]] * rng.choice((1, 100))
    return copy
