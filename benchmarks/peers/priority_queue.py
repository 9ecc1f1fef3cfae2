"""A simple C++ program with a priority queue of departures.

`priority_queue.cpp` is compiled with `g++ -O3 -march=native`; compilation is not timed. The time is
CPU time measured inside the program: arrivals and random numbers, without start-up, the jobs placed
at the start and the warm-up of `run_mixed`.
"""

from __future__ import annotations

import functools
import json
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.peers import PeerResult, model

LAWS = model.LAWS
# Without a closed form there is no equilibrium start, and no warm-up is long enough for sizes of
# infinite variance.
MIXED_LAWS = ("exponential", "deterministic", "lognormal")
SOURCE = Path(__file__).with_suffix(".cpp")


@functools.cache
def compiled(source: Path = SOURCE) -> tuple[Path, TemporaryDirectory[str]]:
    """Return the program and its temporary folder, which is removed with the last reference."""
    compiler = shutil.which("g++")
    if compiler is None:
        raise FileNotFoundError("g++ is not on the path; install it (Debian: apt-get install g++)")
    folder = TemporaryDirectory(prefix="moldable-peer-")
    program = Path(folder.name) / source.stem
    options = ["-O3", "-march=native", "-std=c++20", "-Wall", "-Wextra"]
    subprocess.run([compiler, *options, "-o", str(program), str(source)], check=True)
    return program, folder


def _run(mode: str, law: str, arrivals: int, seed: int) -> PeerResult:
    program, _ = compiled()
    words = [str(program), mode, law, str(arrivals), str(seed)]
    found = json.loads(subprocess.run(words, check=True, capture_output=True).stdout)
    return PeerResult(
        "C++ std::priority_queue",
        found["arrivals"] / found["seconds"],
        found["blocked"] / found["arrivals"],
        found["arrivals"],
    )


def run(law: str, arrivals: int, seed: int) -> PeerResult:
    """Simulate the arrivals from equilibrium."""
    model.refuse_unless(law, LAWS, "The C++ program")
    return _run("fixed", law, arrivals, seed)


def run_mixed(law: str, arrivals: int, seed: int) -> PeerResult:
    """Simulate jobs that get 3 or 4 servers, or what is idle, after a warm-up.

    The shares are 0.625 and 0.375, the speed-ups 1, 1.8, 2.5 and 3, the load 0.8 on 4,000 servers:
    the blocking is about 0.0203 with exponential sizes, and depends on their law.
    """
    model.refuse_unless(law, MIXED_LAWS, "The C++ program with mixed widths")
    return _run("mixed", law, arrivals, seed)
