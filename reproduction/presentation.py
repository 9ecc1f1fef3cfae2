"""Style of figures and tables, and reproducible figure files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from moldable.results import Estimate
from reproduction.experiment import Drawing, Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

# The palette of Okabe and Ito can be distinguished with every kind of colour vision.
BLACK, GREY = "#000000", "#777777"
BLUE, SKY, GREEN, ORANGE = "#0072B2", "#56B4E9", "#009E73", "#E69F00"
VERMILION, PURPLE, YELLOW = "#D55E00", "#CC79A7", "#F0E442"
COLOURS: Final = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY)
MARKERS: Final = ("o", "s", "^", "D", "v", "P")

KINDS: Final = ("png", "svg")
_STYLE: Final[dict[Any, Any]] = {
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "svg.hashsalt": "moldable",  # otherwise identifiers in an SVG would be random
}
_METADATA: Final[dict[str, dict[str, Any]]] = {"png": {"Software": None}, "svg": {"Date": None}}


def can_draw() -> bool:
    """Return whether matplotlib is installed; without it there are tables but no figures."""
    try:
        import matplotlib  # noqa: F401, ICN001
    except ImportError:
        return False
    return True


def render(drawing: Drawing) -> dict[str, bytes]:
    """Return the files of a figure by their names."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    files = {}
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=drawing.size, layout="constrained")
        drawing.draw(figure)
        for kind in KINDS:
            content = BytesIO()
            figure.savefig(content, format=kind, dpi=200, metadata=_METADATA[kind])
            files[f"{drawing.name}.{kind}"] = content.getvalue()
    return files


def draw_intervals(
    axes: Axes, parts: Sequence[Result], name: str, *, unit: float = 1.0, **style: Any
) -> None:
    """Draw an estimate of results against their numbers of servers, with 95 % intervals."""
    values = np.array([part[name] for part in parts]) / unit
    intervals = np.array([part[f"{name}_interval"] for part in parts]) / unit
    axes.errorbar(
        [part["servers"] for part in parts], values, np.abs(intervals.T - values), **style
    )


def legend_entries(axes: Axes, styles: dict[str, dict[str, Any]]) -> list[Line2D]:
    """Return a line for each label; the lines have no points, so they are invisible."""
    return [axes.plot([], [], label=label, **style)[0] for label, style in styles.items()]


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown; every row has as many entries as the header."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def estimate(part: Result, name: str) -> str:
    """Return a value with no more digits than its interval supports."""
    interval = part[f"{name}_interval"]
    return str(Estimate(part[name], None if interval is None else tuple(interval)))
