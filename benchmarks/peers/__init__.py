"""How quickly, and how rightly, do other programs simulate the same loss system?

The model, in `benchmarks.peers.model`, is M/G/800/800 with 798.74 erlangs offered; Erlang's formula
gives its blocking for every law of sizes. Each module here holds one peer, the laws it can draw
in `LAWS`, and `run(law, arrivals, seed)`; `python -m benchmarks.peers` runs them all.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PeerResult:
    """What a peer made of the model, in CPU time of one core.

    Attributes:
        name: The program and, where it has several, its engine.
        arrivals_per_second: Arrivals, blocked or not, over the CPU seconds of the simulation.
        blocking: The share of the arrivals that found no room.
        arrivals: How many arrivals were simulated.
    """

    name: str
    arrivals_per_second: float
    blocking: float
    arrivals: int
