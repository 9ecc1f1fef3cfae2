"""Figures and their files; the same figure always gives the same bytes."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Final

from moldable.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# From the palette of Okabe and Ito, which is safe for colour-blind readers.
BLUE, VERMILION, GREEN, ORANGE, GREY = "#0072B2", "#D55E00", "#009E73", "#E69F00", "#777777"
PURPLE, SKY = "#CC79A7", "#56B4E9"


NO_MATPLOTLIB: Final = "plots need matplotlib; install it: pip install matplotlib"


class MissingMatplotlibError(InputError):
    """A plot was asked for, but matplotlib is not installed."""


def new_figure(size: tuple[float, float]) -> Figure:
    """Return an empty figure; an error says how to install matplotlib."""
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        raise MissingMatplotlibError(NO_MATPLOTLIB) from None
    return Figure(figsize=size, layout="constrained")


def new_axes() -> Axes:
    """Return axes of a new figure of pyplot, which notebooks show."""
    try:
        from matplotlib import pyplot as plt
    except ModuleNotFoundError:
        raise InputError(NO_MATPLOTLIB) from None
    return plt.subplots(figsize=(7.0, 4.4), layout="constrained")[1]


def rendered(figure: Figure, kind: str) -> bytes:
    """Return the figure as svg, png or pdf, without a date."""
    import matplotlib as mpl

    undated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind, {})
    file = io.BytesIO()
    with mpl.rc_context({"svg.hashsalt": "moldable"}):
        figure.savefig(file, format=kind, dpi=160, metadata=undated)
    return file.getvalue()
