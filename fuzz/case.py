"""One input: a command line or a Python expression, and the files it reads."""

from __future__ import annotations

import base64
import json
import os
import re
import shlex
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

SPECIAL = re.compile(r"\b(fifo|folder|loop|zero)(\.csv|\.json|\.toml)?\b")
"""Names of entries that are not regular files: FIFO, folder, circular link, link to a device."""
PREAMBLE = """\
import math
from decimal import Decimal
from fractions import Fraction
from math import inf, nan
from pathlib import Path

import numpy as np
import scipy.stats

from moldable import *
from moldable.allocation import *
from moldable.arrivals import *
from moldable.cli.simulate import read_start
from moldable.errors import InputError
from moldable.exact import *
from moldable.files import *
from moldable.fitting.read import read_measurements
from moldable.live.journal import read_journal
from moldable.live.plan_file import read_plan
from moldable.live.slurm.install import write_installation
from moldable.live.slurm.installed_files import Installation
from moldable.live.slurm.marks import Mark
from moldable.live.slurm.records import (
    JOB_FIELDS, NODE_FIELDS, read_job, read_node, split_output
)
from moldable.live.slurm.sbatch_options import script_options
from moldable.model.units import parse_duration, parse_rate
from moldable.model.waiting import checked_waiting
from moldable.optimal import *
from moldable.policies import *
from moldable.policies.registry import build_policy
from moldable.results import *
from moldable.sizes import *
from moldable.theory import *
from moldable.traces import *
from moldable.traces.class_rule import ClassRule
from moldable.tuning import *
"""


@dataclass(frozen=True)
class Case:
    """An input.

    Attributes:
        kind: the generator that made it.
        arguments: of the command line, if it is a command.
        call: a Python expression over moldable's public names, if it is a call.
        files: contents by name, to be written to the working directory.
        special: other entries of that directory by name, see SPECIAL.
        heavy: whether it may ask for hours of work. Such an input is interrupted after some
            seconds, and must then end soon.
    """

    kind: str
    arguments: tuple[str, ...] = ()
    call: str | None = None
    files: Mapping[str, bytes] = field(default_factory=dict)
    special: Mapping[str, str] = field(default_factory=dict)
    heavy: bool = False

    def to_json(self) -> str:
        """Return the case as one line of JSON."""
        files = {name: base64.b64encode(data).decode() for name, data in self.files.items()}
        return json.dumps(asdict(self) | {"files": files})

    @staticmethod
    def from_json(text: str | bytes) -> Case:
        """Parse a case."""
        data: dict[str, Any] = json.loads(text)
        files = {name: base64.b64decode(content) for name, content in data.pop("files").items()}
        arguments = tuple(data.pop("arguments"))
        return Case(arguments=arguments, files=files, **data)

    def lay_out(self, folder: Path) -> None:
        """Write the files to a folder."""
        for name, content in self.files.items():
            target = folder / name
            if "/" in name:
                target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        for name, what in self.special.items():
            if what == "fifo":
                os.mkfifo(folder / name)
            elif what == "folder":
                (folder / name).mkdir()
            else:
                (folder / name).symlink_to(name if what == "loop" else "/dev/zero")

    def script(self) -> str:
        """Return the Python program that makes the call."""
        return f"{PREAMBLE}\nprint(repr({self.call}))\n"

    def shell(self) -> str:
        """Return the shell command, to be run in the folder of the files."""
        if self.call is not None:
            return "python ../call.py"
        program = ["python", "-m"] if self.arguments[:1] == ("reproduction",) else ["moldable"]
        return " ".join([*program, *map(_quoted, self.arguments)])


def _quoted(word: str) -> str:
    if word.isprintable() and len(word) < 2000:
        return shlex.quote(word)
    escaped = "".join(
        chr(byte) if 32 <= byte < 127 and byte not in b"'\\" else f"\\x{byte:02x}"
        for byte in os.fsencode(word)
    )
    return f"$'{escaped}'"
