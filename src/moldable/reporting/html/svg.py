"""Matplotlib figures as inline SVG whose colours follow the page."""

from __future__ import annotations

import hashlib
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final
from xml.etree import ElementTree as ET

from moldable.errors import printable
from moldable.reporting.figures import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    VERMILION,
    new_figure,
    rendered,
)
from moldable.reporting.html.document import Panel

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SVG: Final = "http://www.w3.org/2000/svg"
XLINK: Final = "{http://www.w3.org/1999/xlink}href"
INK, FAINT, PAPER = "#010203", "#040506", "#070809"
COLOURS: Final = (BLUE, VERMILION, GREEN, ORANGE, PURPLE, GREY)
"""Series colours; the page has a lighter shade of each for dark mode."""
MARKERS: Final = "osD^vP"
_VARIABLES: Final = {
    INK: "currentColor",
    FAINT: "var(--faint)",
    PAPER: "var(--paper)",
    BLUE.lower(): "var(--blue)",
    VERMILION.lower(): "var(--vermilion)",
    GREEN.lower(): "var(--green)",
    ORANGE.lower(): "var(--orange)",
    PURPLE.lower(): "var(--purple)",
    GREY.lower(): "var(--grey)",
}
_COLOUR: Final = re.compile(r"#[0-9a-fA-F]{6}")
_REFERENCE: Final = re.compile(r"url\(#([^)]*)\)")
WIDTH: Final = 4.5
"""Inches; about the width of a telephone, so that text stays readable there."""
LONGEST: Final = 26
STYLE: Final[dict[Any, Any]] = {
    "svg.fonttype": "none",
    "text.parse_math": False,
    "font.size": 9.5,
    "axes.titlesize": 9.5,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.facecolor": "none",
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": FAINT,
    "grid.linewidth": 0.4,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "lines.markersize": 4,
}


@contextmanager
def page_style() -> Iterator[None]:
    """Set colours and fonts of the page for figures made inside."""
    import matplotlib as mpl

    with mpl.rc_context({**STYLE}), warnings.catch_warnings():
        # Names may have letters that matplotlib's font lacks; the browser's font has them.
        warnings.filterwarnings("ignore", message="Glyph")
        yield


def panel(title: str, alt: str, draw: Callable[[Axes], None], height: float = 3.0) -> Panel:
    """Draw on new axes, and return them as one drawing of a figure."""
    with page_style():
        figure = new_figure((WIDTH, height))
        draw(figure.add_subplot())
        figure.patch.set_visible(False)
        content = rendered(figure, "svg")
    return Panel(title, alt, _inline(content, alt))


def short(name: str) -> str:
    """Return a name for a drawing: printable, of limited length, and kept in legends."""
    text = printable(name)
    text = text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."
    # Matplotlib leaves labels that begin with an underscore out of legends.
    return f" {text}" if text.startswith("_") else text


def _inline(content: bytes, alt: str) -> str:
    """Return an SVG element with a title, page colours and no names that could clash."""
    root = ET.fromstring(content)  # noqa: S314 - matplotlib's own output
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in (f"{{{SVG}}}metadata", f"{{{SVG}}}style"):
                parent.remove(child)
    prefix = hashlib.sha256(content + alt.encode()).hexdigest()[:8]
    for element in root.iter():
        _restyle(element, prefix)
    for name in ("width", "height", "version"):
        root.attrib.pop(name, None)
    root.set("role", "img")
    title = ET.Element(f"{{{SVG}}}title")
    title.text = printable(alt)
    root.insert(0, title)
    ET.register_namespace("", SVG)
    return ET.tostring(root, encoding="unicode")


def _restyle(element: ET.Element, prefix: str) -> None:
    """Name page colours instead of fixed ones, and make identifiers unique on the page."""
    if element.tag == f"{{{SVG}}}g":
        element.attrib.pop("id", None)  # nothing refers to groups
    if XLINK in element.attrib:
        element.set("href", f"#{prefix}{element.attrib.pop(XLINK)[1:]}")
    for name in ("id", "clip-path", "style"):
        value = element.get(name)
        if value is None:
            continue
        if name == "id":
            element.set(name, prefix + value)
            continue
        value = _REFERENCE.sub(rf"url(#{prefix}\1)", value)
        element.set(name, _COLOUR.sub(lambda m: _VARIABLES.get(m[0].lower(), m[0]), value))
