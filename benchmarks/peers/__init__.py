"""Other programs that simulate the same systems: their speed and accuracy.

The loss system, in `benchmarks.peers.model`, is M/G/800/800 with 798.74 erlangs offered; Erlang's
formula gives its blocking for every size law. Each module here runs one peer. It defines the size
laws that the peer supports in `LAWS`, and `run(law, arrivals, seed)`; `python -m benchmarks.peers`
runs all. Modules whose name begins with `queue` simulate the cluster that queues jobs, of
`benchmarks.peers.queue_model`, at a load: `run(law, load, arrivals, seed)`.
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
