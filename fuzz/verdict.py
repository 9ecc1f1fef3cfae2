"""Which outcomes of an input count as failures."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from fuzz.case import Case

CODES = {0: "answered", 2: "refused", 75: "blocked", 130: "interrupted"}
LONGEST_MESSAGE = 10_000
FRAME = re.compile(r'File ".*?(moldable/[\w/]+\.py)", line (\d+)')
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
ERROR = re.compile(r"(\w+Error): ")
WARNING = re.compile(r"\.py:\d+: (\w*Warning): ")


@dataclass(frozen=True)
class Outcome:
    """The outcome of an input.

    Attributes:
        code: the exit code; None if the process had to be killed or died.
        stdout: the end of its standard output.
        stderr: the end of its standard error.
        length: length of its standard error, in bytes.
        seconds: time without compilation.
        memory: largest resident memory of the worker until then, in bytes.
        died: why there is no exit code.
    """

    code: int | None
    stdout: str = ""
    stderr: str = ""
    length: int = 0
    seconds: float = 0.0
    memory: int = 0
    died: str = ""


def detail(outcome: Outcome) -> str:
    """Return "accepted", the class of the error that a call ended with, or the exit code."""
    if outcome.code == 0:
        return "accepted"
    found = ERROR.match(outcome.stderr)
    return found[1] if found else f"exit code {outcome.code}"


def failure(case: Case, outcome: Outcome) -> str | None:
    """Return a short text that says why the input failed, the same for equal causes."""
    if outcome.code is None:
        return outcome.died
    if "Traceback (most recent call last)" in outcome.stderr:
        return f"traceback: {_cause(outcome.stderr)}"
    wrong = (outcome.code == 130 and not case.heavy) or (outcome.code == 75 and case.kind != "run")
    if outcome.code not in CODES or wrong:
        return f"exit code {outcome.code}"
    if found := WARNING.search(outcome.stderr):
        return f"Python warning: {found[1]} in {_place(outcome.stderr) or 'a library'}"
    return _output_failure(case, outcome)


def _output_failure(case: Case, outcome: Outcome) -> str | None:
    """Check the output."""
    if outcome.length > LONGEST_MESSAGE:
        return f"message over {LONGEST_MESSAGE} bytes ({case.kind})"
    printed = outcome.stderr + (outcome.stdout if case.call is None else "")
    if case.kind != "call" and CONTROL.search(printed):
        return f"control character printed ({case.kind})"
    if outcome.code == 2 and not outcome.stderr.strip():
        return "refused without a message"
    if case.call is None and outcome.code == 0 and "--json" in case.arguments[1:]:
        return _not_json(case, outcome.stdout)
    return None


def _not_json(case: Case, text: str) -> str | None:
    if {"--help", "-h", "--version"} & set(case.arguments) or "[...]" in text:
        return None
    try:
        json.loads(text, parse_constant=int)  # NaN and Infinity are not JSON
    except ValueError:
        return "--json printed invalid JSON"
    return None


def _cause(text: str) -> str:
    """Return the exception and the last line of the package in its traceback."""
    lines = [line for line in text.strip().splitlines() if re.match(r"[\w.]+(:|$)", line)]
    name = lines[-1].partition(":")[0] if lines else "unknown"
    return f"{name} in {_place(text) or 'a library'}"


def _place(text: str) -> str | None:
    found = FRAME.findall(text)
    return ":".join(found[-1]) if found else None
