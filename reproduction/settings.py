"""The systems of section 7 of the paper, and the numbers of its table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

from moldable import Regime, Scenario, SizeLaw, SpeedUp, greedy_p
from moldable.policies import GreedyP
from moldable.sizes import Deterministic, Exponential, MixedErlang, Pareto

CURVES: Final = {
    "linear": SpeedUp([1.0, 2.0, 3.0, 4.0, 5.0]),
    "sub-linear": SpeedUp([1.0, 1.8, 2.5, 3.0, 3.4]),
}
REGIMES: Final = {
    "mean-field": Regime(0.0, 0.2),
    "Halfin-Whitt": Regime(1.0 / 2.0, 0.1),
    "super-Halfin-Whitt": Regime(2.0 / 3.0, 0.1),
}
LAWS: Final[dict[str, SizeLaw]] = {
    "exponential": Exponential(),
    "deterministic": Deterministic(),
    "mixed-erlang": MixedErlang(),
    "pareto": Pareto(),
}

TABLE_SERVERS: Final = 4000
TABLE_RUNS: Final = 100
TABLE_ARRIVALS: Final = 5_000_000


@final
@dataclass(frozen=True)
class Setting:
    """A curve in a regime: a row of the paper's table.

    Args:
        curve: a name among `CURVES`.
        regime: a name among `REGIMES`.
    """

    curve: str
    regime: str

    @property
    def key(self) -> str:
        """A name for files."""
        return f"{self.curve}-{self.regime}".lower()

    @property
    def words(self) -> str:
        """A name for the text."""
        return f"{self.curve}, {self.regime}"

    def load(self, servers: int) -> float:
        """Return the load for this number of servers."""
        return REGIMES[self.regime].load(servers)

    def scenario(self, servers: int, law: SizeLaw | None = None) -> Scenario:
        """Return the scenario for this number of servers, by default with exponential sizes."""
        size = Exponential() if law is None else law
        return Scenario.single(CURVES[self.curve], self.load(servers), servers, size=size)

    def policy(self, servers: int) -> GreedyP:
        """Return greedy(p*)."""
        return greedy_p(self.scenario(servers))


SETTINGS: Final = tuple(Setting(curve, regime) for curve in CURVES for regime in REGIMES)

# Table 1 as printed, in the order of LAWS; strings, because the digits show the rounding.
_MEAN_TIME: Final = """
0.2000 0.2000 0.2000 0.1973
0.2000 0.2000 0.2000 0.1970
0.2000 0.2000 0.2000 0.1971
0.3782 0.3782 0.3782 0.3708
0.9930 0.9937 0.9933 0.9621
0.9976 0.9984 0.9979 0.9669
"""
_BLOCKING: Final = """
0      0      0      0
0.0267 0.0268 0.0267 0.0209
0.0274 0.0274 0.0274 0.0219
0.0204 0.0202 0.0203 0.0149
0.0126 0.0126 0.0126 0.0041
0.0125 0.0125 0.0125 0.0041
"""
HALF_A_DIGIT: Final = 0.5e-4
"""Largest rounding error: every number has four decimals, the zeros too."""

METRICS: Final = {"mean_execution_time": _MEAN_TIME, "blocking": _BLOCKING}


def printed(setting: Setting, law: str, metric: str) -> str:
    """Return the printed number of a cell of the table."""
    row = METRICS[metric].strip().splitlines()[SETTINGS.index(setting)]
    return row.split()[list(LAWS).index(law)]
