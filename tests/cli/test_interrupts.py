"""Ctrl-C ends every command soon, with exit code 130."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from commands import begun

EXAMPLES = Path(__file__).parents[2] / "examples"
CURVE = ("--load", "0.8", "--speedup", "1,1.8,2.5,3,3.4")
COMMANDS = {
    "lock-step chain": ("simulate", "--servers", "64", *CURVE, "--jobs", "1e10"),
    "ring": ("simulate", "--servers", "64", *CURVE, "--jobs", "1e10", "--size", "pareto"),
    "pilot": ("simulate", "--servers", "4000000", *CURVE, "--size", "lognormal:3"),
    "evaluate": (
        # Sizes without phases: the lock-step chain would reach the precision within seconds.
        *("evaluate", "--servers", "64", *CURVE, "--size", "lognormal:2"),
        *("--method", "simulate", "--precision", "1e-6"),
    ),
    "compare": (
        *("compare", "--servers", "64", *CURVE, "--size", "lognormal:2"),
        *("--policies", "greedy,greedy-p", "--precision", "1e-6"),
    ),
    "tune": ("tune", "--servers", "200", *CURVE, "--max-blocking", "0.05"),
    "tune, long sizes": (
        *("tune", "--servers", "30", *CURVE),
        *("--max-blocking", "0.08", "--size", "hyperexponential:100"),
    ),
    "tradeoff": ("tradeoff", "--servers", "60", *CURVE),
    "plan": ("plan", EXAMPLES / "slurm-week.txt", "--servers", "64", "--class-by", "account"),
    "replay": ("replay", EXAMPLES / "slurm-week.txt", "--servers", "64", "--copies", "60"),
    "fit": ("fit", EXAMPLES / "repeats.csv", "--load", "0.8", "--resamples", "100000"),
    "optimum": ("tune", "--servers", "60", *CURVE, "--blocking-cost", "4", "--optimum"),
}


# Runs a command that receives SIGINT when it begins to import the module.
EARLY = """
import os, signal, sys
from moldable.__main__ import main
class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == module:
            os.kill(os.getpid(), signal.SIGINT)
module = sys.argv.pop(1)
sys.meta_path.insert(0, Interrupt())
main()
"""


@pytest.mark.parametrize("name", COMMANDS)
def test_an_interrupt_ends_a_command_within_seconds(name):
    command = [str(Path(sys.executable).with_name("moldable")), *COMMANDS[name]]
    # The work begins when compiled code, or what draws resamples, has been imported.
    sign = r"moldable\.fitting\.decision" if name == "fit" else r"moldable\.kernels\."
    with begun(command, sign) as process:
        time.sleep(0.5)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        began = time.monotonic()
        _, notes = process.communicate(timeout=300)
    assert time.monotonic() - began < 20  # the work would take minutes
    assert process.returncode == 130
    assert b"Traceback" not in notes
    assert b"Interrupted: " in notes


@pytest.mark.parametrize(
    ("module", "words"),
    [
        ("moldable.cli", COMMANDS["plan"]),
        ("typer", COMMANDS["plan"]),
        ("numpy", COMMANDS["plan"]),
        ("moldable.live.run", ("run", "--plan", "plan.json", "--", "true")),
    ],
)
def test_an_interrupt_during_the_imports_ends_the_command_in_the_same_way(module, words):
    command = [sys.executable, "-c", EARLY, module, *map(str, words)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 130
    assert re.fullmatch("Interrupted: .*\n", ended.stderr)
    assert ended.stdout == ""
