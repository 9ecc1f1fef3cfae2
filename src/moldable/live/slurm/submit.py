"""Submit a moldable job: held, marked, and with a line that passes the width to its script."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from moldable.errors import InputError, SlurmError, shown, suggest
from moldable.live.folders import runtime_folder
from moldable.live.slurm.lock import AgentInfo
from moldable.live.slurm.marks import Mark, checked_class
from moldable.live.slurm.programs import submit
from moldable.live.slurm.sbatch_options import (
    Command,
    refuse_options,
    script_options,
    split_command,
)
from moldable.live.slurm.shapes import SHAPES, UNITS, Shape
from moldable.text_files import open_regular

MOST_BYTES: Final = 4 * 2**20
"""Slurm's own limit for scripts."""
_SHELL: Final = re.compile(rb"#!\s*(\S*/)?(env\s+(-S\s*)?)?(ba|da|k|z)?sh\b")
_NUMBER: Final = re.compile(r"\d+")
# Slurm sets SLURM_NTASKS to what was asked for with -n, not to what the job got, so that it is
# counted: the variable is a list such as 2(x3),1.
_COUNT_TASKS: Final = (
    "MOLDABLE_WIDTH=0; "
    "for moldable_n in $(echo \"${SLURM_TASKS_PER_NODE:-1}\" | tr ',' ' '); do "
    'case $moldable_n in *x*) moldable_x=${moldable_n#*x}; moldable_x=${moldable_x%")"} ;; '
    "*) moldable_x=1 ;; esac; "
    'MOLDABLE_WIDTH=$((MOLDABLE_WIDTH + ${moldable_n%%"("*} * moldable_x)); done; '
    "export MOLDABLE_WIDTH SLURM_NTASKS=$MOLDABLE_WIDTH SLURM_NPROCS=$MOLDABLE_WIDTH"
)
PRELUDES: Final = {
    "tasks": _COUNT_TASKS,
    "threads": (
        'export MOLDABLE_WIDTH="${SLURM_CPUS_PER_TASK:-1}" '
        'OMP_NUM_THREADS="${SLURM_CPUS_PER_TASK:-1}"'
    ),
    "nodes": 'export MOLDABLE_WIDTH="${SLURM_JOB_NUM_NODES:-1}"',
    "gpus": 'export MOLDABLE_WIDTH="${SLURM_GPUS_ON_NODE:-1}"',
}
"""Shell command that tells the script its width."""


class Submitted(NamedTuple):
    """A submitted job: its identifier, and whether its script sees MOLDABLE_WIDTH."""

    job: str
    tells_width: bool


def submit_job(words: Sequence[str], job_class: str, shape: Shape) -> Submitted:
    """Submit a job with the words of a command line of sbatch.

    Slurm keeps its own copy of the script, so the changed script is removed at once.
    """
    mark = Mark(checked_class(job_class), {"shape": shape.name})
    command = split_command(words)
    refuse_options(command.names, shape.name, "options")
    content = _read_script(Path(command.script))
    refuse_options(script_options(content.decode("latin-1")), shape.name, command.script)
    tells_width = _SHELL.match(content) is not None
    folder = Path(tempfile.mkdtemp(prefix="submit-", dir=runtime_folder()))
    try:
        # The name of the file is the default name of the job.
        script = folder / Path(command.script).name
        script.write_bytes(with_prelude(content, shape.name) if tells_width else content)
        return Submitted(_submitted(command, script, shape, mark), tells_width)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def with_prelude(content: bytes, shape: str) -> bytes:
    """Return a shell script that first sets MOLDABLE_WIDTH, after the options for Slurm."""
    lines = content.split(b"\n")
    first = 1
    while first < len(lines) and (not lines[first].strip() or lines[first].startswith(b"#")):
        first += 1
    return b"\n".join([*lines[:first], PRELUDES[shape].encode(), *lines[first:]])


def class_of_agent(name: str | None, agent: AgentInfo | None) -> str:
    """Return the class of a job, checked if the running agent is known."""
    classes = () if agent is None else agent.classes
    if name is None and len(classes) == 1:
        return classes[0]
    if name is None:
        known = f": {', '.join(sorted(classes))}" if classes else ""
        raise InputError(f"name the class of the job with --class{known}")
    if classes and name not in classes:
        raise InputError(
            f"class {shown(name)} is unknown to the running agent; {suggest(name, classes)}"
        )
    return name


def refuse_unit(shape: Shape, agent: AgentInfo | None) -> None:
    """Refuse a shape whose servers are not those of the running agent."""
    if agent is None or agent.shape not in SHAPES:
        return
    unit = SHAPES[agent.shape].unit
    if shape.unit != unit:
        raise InputError(
            f"{shape.name}: your running agent decides about {UNITS[unit]}, not "
            f"{UNITS[shape.unit]}; use --shape {agent.shape}",
            "shape",
        )


def hold_note(cluster: str, agent: AgentInfo | None) -> str | None:
    """Return why a submitted job stays on hold; None if the running agent will release it."""
    start = "moldable slurm agent --plan FILE.json"
    if agent is None:
        return (
            f"no agent of yours is running on cluster {cluster}; the job stays on hold until an "
            f"agent runs: {start}"
        )
    if agent.mode != "enforce":
        return (
            f"your agent runs in mode {agent.mode}, which releases no job; this one stays on hold "
            f"until an agent runs in mode enforce: {start}"
        )
    return None


def _submitted(command: Command, script: Path, shape: Shape, mark: Mark) -> str:
    # The last of several equal options counts, so ours follow those of the user.
    own = ["--parsable", "--hold", f"--comment={mark}", *shape.options]
    found = submit(["sbatch", *command.options, *own, str(script), *command.arguments])
    number = _NUMBER.match(found.text.strip())
    if found.code or number is None:
        reason = (
            found.errors.strip().replace("sbatch: error: ", "") or "no job number in the output"
        )
        raise SlurmError(f"sbatch refused the job: {shown(reason, 300)}")
    return number[0]


def _read_script(path: Path) -> bytes:
    with open_regular(path) as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise InputError(f"{path} is larger than 4 MiB, Slurm's limit for scripts")
    if not content.startswith(b"#!"):
        raise InputError(f"{path} does not begin with #!; begin it with a line such as #!/bin/sh")
    return content
