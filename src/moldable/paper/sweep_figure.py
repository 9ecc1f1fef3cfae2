"""How do blocking and mean execution time against n look?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, final

import numpy as np

from moldable.paper import drawing, sweep
from moldable.paper.experiment import Result, Results
from moldable.paper.settings import CURVES, REGIMES, Setting

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

SIZE: Final = (9.2, 4.9)


@final
@dataclass(frozen=True)
class Quantity:
    """What is drawn against n.

    Args:
        name: of the estimate in a result.
        label: of the axis.
        zero: whether the axis begins at 0.
    """

    name: str
    label: str
    zero: bool


BLOCKING: Final = Quantity("blocking", "blocking probability", zero=True)
TIME: Final = Quantity("mean_execution_time", "mean execution time (mean sizes)", zero=False)


def draw(figure: Figure, results: Results, quantity: Quantity) -> None:
    """Draw the linear curve on the left and the sub-linear one on the right."""
    left, right = figure.subplots(1, 2)
    for axes, curve in zip((left, right), CURVES, strict=True):
        for place, regime in enumerate(REGIMES):
            for policy in sweep.POLICIES if axes is right else (sweep.GREEDY_P,):
                parts = sweep.along(results, Setting(curve, regime), policy)
                _series(axes, place, policy, parts, quantity)
        axes.set_xscale("log")
        axes.set_xlabel("servers n")
        axes.set_ylabel(quantity.label)
        if quantity.zero:
            axes.set_ylim(bottom=-0.01)
    left.set_title("linear speed-up: greedy is greedy(p*)")
    right.set_title("sub-linear speed-up 1, 1.8, 2.5, 3, 3.4")
    if not quantity.zero:
        left.set_ylim(0.198, 0.214)  # or rounding would fill the panel
    figure.legend(handles=_legend(left), loc="outside lower center", ncols=3)


def _series(axes: Axes, place: int, policy: str, parts: list[Result], quantity: Quantity) -> None:
    colour, marker = drawing.COLOURS[place], drawing.MARKERS[place]
    mixed = policy == sweep.GREEDY_P
    n = [part["servers"] for part in parts]
    values = np.array([part[quantity.name] for part in parts])
    intervals = np.array([part[f"{quantity.name}_interval"] for part in parts])
    axes.plot(n, [part[f"{quantity.name}_limit"] for part in parts], color=colour, ls=":", lw=1.2)
    axes.errorbar(
        n,
        values,
        np.abs(intervals.T - values),
        color=colour,
        marker=marker,
        ms=5,
        mfc=colour if mixed else "white",
        ls="-" if mixed else "--",
        lw=1.0,
        capsize=2.5,
    )


def _legend(axes: Axes) -> list[Line2D]:
    """Return a line for each entry; without points they are not seen in the panel."""
    regimes = [
        axes.plot([], [], drawing.MARKERS[k], color=drawing.COLOURS[k], label=_words(name))[0]
        for k, name in enumerate(REGIMES)
    ]
    lines = [
        axes.plot([], [], "ko-", label=sweep.GREEDY_P)[0],
        axes.plot([], [], "ko--", mfc="white", label=sweep.GREEDY)[0],
        axes.plot([], [], "k:", label="limit at the load of n")[0],
    ]
    # The legend fills column by column.
    return [line for pair in zip(regimes, lines, strict=True) for line in pair]


def _words(name: str) -> str:
    regime = REGIMES[name]
    power = {0.0: "", 0.5: " $n^{-1/2}$"}.get(regime.alpha, " $n^{-2/3}$")
    return f"{name}: load 1 - {regime.beta:g}{power}"
