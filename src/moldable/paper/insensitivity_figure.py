"""How much does blocking change with the law of job sizes?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from moldable.paper.drawing import COLOURS, GREY, MARKERS
from moldable.paper.insensitivity_cells import LAWS, SYSTEMS, System
from moldable.paper.insensitivity_compared import Difference

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SIZE: Final = (7.2, 5.6)
_STEP: Final = 0.22


def draw(figure: Figure, differences: Mapping[System, list[Difference]]) -> None:
    """Draw a panel for each system: laws across, relative difference of blocking up."""
    axes = figure.subplots(2, 2, sharex=True, sharey=True).ravel()
    for ax, system in zip(axes, SYSTEMS, strict=True):
        _draw_system(ax, differences[system])
        ax.set_title(system.words, size=9)
    for ax in axes[2:]:
        ax.set_xticks(range(len(LAWS)), list(LAWS), rotation=35, ha="right", size=8)
    figure.supylabel("blocking relative to exponential sizes (%)", size=9)


def _draw_system(axes: Axes, differences: list[Difference]) -> None:
    axes.axhline(0.0, color=GREY, lw=0.8)
    sizes = sorted({each.servers for each in differences})
    for k, servers in enumerate(sizes):
        rows = [each for each in differences if each.servers == servers]
        axes.errorbar(
            [list(LAWS).index(each.law) + (k - (len(sizes) - 1) / 2) * _STEP for each in rows],
            [100.0 * each.blocking.value for each in rows],
            yerr=[200.0 * each.blocking.standard_error for each in rows],
            fmt=MARKERS[k],
            color=COLOURS[k],
            ms=4,
            lw=1,
            capsize=2,
            label=f"n = {servers}",
        )
    axes.legend(loc="upper left", ncols=len(sizes), columnspacing=1.0, handletextpad=0.3)
    axes.margins(y=0.2)
