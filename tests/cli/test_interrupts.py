"""Ctrl-C ends every command soon, with exit code 130."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

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
    "optimum": ("tune", "--servers", "60", *CURVE, "--blocking-cost", "4", "--optimum"),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_an_interrupt_ends_a_command_within_seconds(name):
    command = [str(Path(sys.executable).with_name("moldable")), *COMMANDS[name]]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        time.sleep(2)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        began = time.monotonic()
        _, notes = process.communicate(timeout=60)
    assert time.monotonic() - began < 5
    assert process.returncode == 130
    assert b"Traceback" not in notes
    assert b"Interrupted: " in notes
