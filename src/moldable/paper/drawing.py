"""How do figures look, and how do they become files that are the same every time?"""

from __future__ import annotations

from io import BytesIO
from typing import Any, Final

from moldable.errors import InputError
from moldable.paper.experiment import Drawing

# Okabe and Ito's palette: told apart by every kind of colour vision.
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
    "svg.hashsalt": "moldable",  # names inside an SVG would be random otherwise
}
_METADATA: Final[dict[str, dict[str, Any]]] = {"png": {"Software": None}, "svg": {"Date": None}}


def refuse_without_matplotlib() -> None:
    """Say so before any work if figures could not be drawn after it."""
    try:
        import matplotlib  # noqa: F401, ICN001
    except ImportError:
        raise InputError("figures need matplotlib; install it: pip install matplotlib") from None


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
