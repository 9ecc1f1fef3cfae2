"""On which systems, with which laws of job sizes, is insensitivity looked at?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Final, final

from moldable.exact.exact import stationary_law
from moldable.model.scenario import Scenario
from moldable.model.sizes import (
    Deterministic,
    Exponential,
    Hyperexponential,
    Lognormal,
    MixedErlang,
    Pareto,
    SizeLaw,
)
from moldable.model.workload import Workload
from moldable.paper.experiment import Cell, Effort, Result, Scale
from moldable.paper.settings import CURVES
from moldable.paper.verdict import Measured
from moldable.policies.greedy import greedy_p

FAMILY: Final = "insensitivity"
REFERENCE: Final = "exponential"
LAWS: Final[dict[str, SizeLaw]] = {
    REFERENCE: Exponential(),
    "deterministic": Deterministic(),
    "mixed-erlang": MixedErlang(),
    "hyperexponential": Hyperexponential(2.0),
    "lognormal": Lognormal(2.0),
    "pareto": Pareto(),
}
"""From the least varied to the most, with the reference first."""


@final
@dataclass(frozen=True)
class System:
    """A curve at a load, on clusters of growing size.

    Args:
        key: a name for files.
        words: a name for people.
        curve: a name among `CURVES`.
        load: at every size.
        remainder: servers more than the round number.
        phases_up_to: servers up to which the chain of jobs' phases is solved.
        chain_up_to: servers up to which exponential jobs are solved exactly.
    """

    key: str
    words: str
    curve: str
    load: float
    remainder: int
    phases_up_to: int
    chain_up_to: int

    def workload(self, servers: int, law: str) -> Workload:
        """Return the workload of a cluster with this many servers."""
        single = Scenario.single(CURVES[self.curve], self.load, servers)
        return Workload((replace(single.workload.classes[0], size=LAWS[law]),))

    def exact(self, servers: int, law: str) -> bool:
        """Tell whether the answer is exact: for other laws than the reference, by the chain."""
        if law == REFERENCE:
            return servers <= self.chain_up_to
        return LAWS[law].phases is not None and servers <= self.phases_up_to


SYSTEMS: Final = (
    System("one-width", "width 5 only, 5 divides n", "linear", 0.8, 0, 400, 400),
    System("left-over", "width 5, three servers left over", "linear", 0.8, 3, 23, 403),
    System("widths-1-2", "widths 1 and 2", "sub-linear", 0.95, 0, 20, 400),
    System("widths-3-4", "widths 3 and 4", "sub-linear", 0.8, 0, 20, 100),
)
SIZES: Final = {
    Scale.TINY: (20, 50),
    Scale.QUICK: (20, 100),
    Scale.FULL: (20, 100, 400),
}
# Heavy tails want many replications rather than long ones.
REPLICATIONS: Final = {Scale.TINY: 8, Scale.QUICK: 64, Scale.FULL: 256}
ARRIVALS: Final = {Scale.TINY: 5_000, Scale.QUICK: 100_000, Scale.FULL: 400_000}
WARMUP: Final = 10.0
"""Mean sizes left out: the start is equilibrium but for how jobs of several widths pack."""


def cells(scale: Scale) -> list[Cell]:
    """List a cell for each system, size and law."""
    return [
        Cell(key(system, servers, law), partial(_compute, scale, system, servers, law))
        for system in SYSTEMS
        for servers in sizes(scale, system)
        for law in LAWS
    ]


def sizes(scale: Scale, system: System) -> tuple[int, ...]:
    """Return the sizes of the clusters."""
    return tuple(round_number + system.remainder for round_number in SIZES[scale])


def key(system: System, servers: int, law: str) -> str:
    """Return the key of a cell."""
    return f"{FAMILY}/{system.key}-n={servers}-{law}"


def _compute(scale: Scale, system: System, servers: int, law: str, effort: Effort) -> Result:
    workload = system.workload(servers, law)
    policy = greedy_p(Scenario(workload, servers))
    if system.exact(servers, law):
        # For other laws a formula would assume what is to be shown.
        method = "auto" if law == REFERENCE else "chain"
        answer = stationary_law(Scenario(workload, servers), policy, method=method).performance()
    else:
        answer = effort.simulate(
            workload,
            servers,
            policy,
            jobs=ARRIVALS[scale],
            replications=REPLICATIONS[scale],
            warmup=WARMUP,
        )
    blocking = Measured.of_estimate(answer.blocking)
    mean_time = Measured.of_estimate(answer.mean_execution_time)
    return {
        "method": answer.method,
        "blocking": [blocking.value, blocking.standard_error],
        "mean_execution_time": [mean_time.value, mean_time.standard_error],
    }
