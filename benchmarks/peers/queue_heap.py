"""A simple C++ program with a priority queue of departures and a deque of waiting jobs.

`queue_heap.cpp` is compiled with `g++ -O3 -march=native`; compilation is not timed. The time is CPU
time measured inside the program: arrivals and random numbers, without the warm-up. It sums waiting
and execution times; it makes no histograms.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from benchmarks.peers import model, queue_model
from benchmarks.peers.priority_queue import compiled

LAWS = queue_model.LAWS


def run(law: str, load: float, arrivals: int, seed: int) -> queue_model.QueueResult:
    """Simulate the arrivals after a warm-up."""
    model.refuse_unless(law, LAWS, "The C++ program")
    program, _ = compiled(Path(__file__).with_suffix(".cpp"))
    words = [str(program), *map(str, (queue_model.SERVERS, load, law, arrivals, seed))]
    found = json.loads(subprocess.run(words, check=True, capture_output=True).stdout)
    return queue_model.QueueResult(
        "C++ std::priority_queue and std::deque",
        found["arrivals"] / found["seconds"],
        found["response"],
        found["arrivals"],
    )
