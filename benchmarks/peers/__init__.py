"""Other programs that simulate the same loss system: their speed and accuracy.

The model, in `benchmarks.peers.model`, is M/G/800/800 with 798.74 erlangs offered; Erlang's formula
gives its blocking for every size law. Each module here runs one peer. It defines the size laws that
the peer supports in `LAWS`, and `run(law, arrivals, seed)`; `python -m benchmarks.peers` runs all.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PeerResult:
    """The result of a peer, in CPU time of one core.

    Attributes:
        name: The program and, if it has several, its engine.
        arrivals_per_second: Arrivals, blocked or not, over the CPU seconds of the simulation.
        blocking: The share of arrivals that were blocked.
        arrivals: The number of simulated arrivals.
    """

    name: str
    arrivals_per_second: float
    blocking: float
    arrivals: int
