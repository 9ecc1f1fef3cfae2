"""The command line of sbatch: where its options end, and which of them a shape does not support."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Final, NamedTuple

from moldable.errors import InputError, shown

_FLAGS: Final = (
    *("contiguous", "disable-stdout-job-summary", "exclusive", "get-user-env"),
    *("help", "hold", "ignore-pbs", "nice"),
    *("no-kill", "no-requeue", "overcommit", "oversubscribe"),
    *("parsable", "propagate", "quiet", "reboot"),
    *("requeue", "share", "spread-job", "test-only"),
    *("usage", "use-min-nodes", "verbose", "version"),
    *("wait",),
)
"""Long options without a value in the next word."""
_SHORT_FLAGS: Final = "HhkOQsvVW"
_LONG: Final = {
    "c": "cpus-per-task",
    "C": "constraint",
    "F": "nodefile",
    "G": "gpus",
    "N": "nodes",
    "n": "ntasks",
    "p": "partition",
    "Q": "quiet",
    "w": "nodelist",
    "W": "wait",
}
"""Long forms of the short options that matter here."""

_COMMON: Final = {
    "comment": "the comment holds the class and the width",
    "priority": "a priority releases a held job",
    "quiet": "sbatch then prints no job number",
    "test-only": "sbatch then submits no job",
    "wait": "moldable slurm submit does not wait for the end of jobs",
    "wrap": "write the command into a script file",
    "nodelist": "Slurm must be free to choose the nodes",
    "nodefile": "Slurm must be free to choose the nodes",
    "constraint": "Slurm must be free to choose the nodes",
    "reservation": "Slurm must be free to choose the nodes",
    **dict.fromkeys(
        ("ntasks-per-node", "ntasks-per-core", "ntasks-per-socket", "ntasks-per-gpu"),
        "Slurm then keeps the number of tasks",
    ),
    **dict.fromkeys(
        ("gpus", "gpus-per-task", "gpus-per-socket", "gpus-per-node"),
        "use the shape gpus without it",
    ),
}
_SHARED: Final = _COMMON | {"exclusive": "use the shape nodes for whole nodes"}
_CPUS: Final = _SHARED | {"gres": "use the shape gpus for GPUs"}
REFUSED: Final = {
    "tasks": _CPUS
    | {
        "cpus-per-task": "each task has one CPU",
        "nodes": "its tasks may be on any number of nodes",
    },
    "threads": _CPUS,
    "nodes": _COMMON,
    "gpus": _SHARED,
}
"""Options that jobs of a shape cannot have, with the reason."""


class Command(NamedTuple):
    """The words of a command line of sbatch."""

    options: list[str]
    names: set[str]
    script: str
    arguments: list[str]


def split_command(words: Sequence[str]) -> Command:
    """Find the script among the words, as sbatch does."""
    names: set[str] = set()
    position = 0
    while position < len(words) and words[position].startswith("-") and words[position] != "-":
        word = words[position]
        position += 1
        if word == "--":
            break
        position += _option(word, names)
    if "wrap" in names:
        raise InputError(f"--wrap cannot be used: {_COMMON['wrap']}")
    if position >= len(words) or words[position] == "-":
        raise InputError(
            "there is no script; write it after the options of sbatch: "
            "moldable slurm submit --class solver --time=60 job.sh"
        )
    options = [word for word in words[:position] if word != "--"]
    return Command(options, names, words[position], list(words[position + 1 :]))


def script_options(text: str) -> set[str]:
    """Return the names of the options in the lines of a script that begin with #SBATCH."""
    names: set[str] = set()
    for line in text.split("\n"):
        if line.startswith("#SBATCH"):
            try:
                words = shlex.split(line.removeprefix("#SBATCH"), comments=True)
            except ValueError:
                raise InputError(f"{shown(line)} cannot be read; close its quotes") from None
            position = 0
            while position < len(words):
                position += 1 + _option(words[position], names)
        elif line.strip() and not line.startswith("#"):
            break
    return names


def refuse_options(names: set[str], shape: str, where: str) -> None:
    """Refuse options that jobs of a shape cannot have."""
    for name in sorted(names & REFUSED[shape].keys()):
        raise InputError(
            f"{where}: --{name} cannot be used with the shape {shape}: {REFUSED[shape][name]}"
        )


def _option(word: str, names: set[str]) -> int:
    """Note the name of an option; return how many of the next words are its value."""
    if word.startswith("--"):
        name, has_value, _ = word[2:].partition("=")
        names.add(name)
        return 0 if has_value or name in _FLAGS else 1
    for position, letter in enumerate(word[1:], start=2):
        names.add(_LONG.get(letter, letter))
        if letter not in _SHORT_FLAGS:
            return 0 if position < len(word) else 1
    return 0
