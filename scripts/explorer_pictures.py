"""Take the pictures of the explorer that the documentation shows, in Chromium.

Run `PYTHONPATH=tests python -m scripts.explorer_pictures` in the root of the repository.
"""

from __future__ import annotations

import sys
from pathlib import Path

from PIL import Image

from browser import Browser, chromium
from explorer.started import exploring

IMAGES = Path(__file__).parents[1] / "docs" / "images"
MOMENT = 2.5
"""Time of the films."""
COLUMNS, GAP = 4, 24
"""Columns side by side in the picture of a phone, and pixels between them."""
COMPLETE = """document.querySelectorAll('.figure .main-svg').length >= 10
  && document.querySelectorAll('canvas.moldable-film').length === 2
  && [...document.querySelectorAll('p.state')].every(e => e.textContent
    && !e.textContent.startsWith('Quick'))"""


def main() -> None:
    """Write the pictures of three widths of the window."""
    program = chromium()
    if program is None:
        sys.exit("Chromium is not installed; install it with: make engines")
    with exploring("--no-browser") as (url, _), Browser(program) as browser:
        for name, width in (("explore", 1920), ("explore-1280", 1280), ("explore-375", 375)):
            browser.open(url, width, still=True)
            browser.wait_for(COMPLETE)
            browser.evaluate(f"moldableFilm.seek({MOMENT})")
            path = IMAGES / f"{name}.png"
            browser.screenshot(path)
            with Image.open(path) as taken:
                shown = _arranged(taken.convert("RGB"), width)
            # Other methods change the colours of small areas, such as marks.
            shown.quantize(256, Image.Quantize.FASTOCTREE, dither=0).save(path, optimize=True)


def _arranged(page: Image.Image, width: int) -> Image.Image:
    """Return a page as it is shown: smaller, cut off, or in columns."""
    if width > 1280:  # noqa: PLR2004 - the whole page
        return page.resize((1280, page.height * 1280 // width), Image.Resampling.LANCZOS)
    scaled = page.resize((width * 3 // 4, page.height * 3 // 4), Image.Resampling.LANCZOS)
    if width > 375:  # noqa: PLR2004 - the beginning of the page
        return scaled.crop((0, 0, scaled.width, 1500))
    high = -(-scaled.height // COLUMNS)
    found = Image.new("RGB", (COLUMNS * (scaled.width + GAP) - GAP, high), "white")
    for k in range(COLUMNS):
        part = scaled.crop((0, k * high, scaled.width, min((k + 1) * high, scaled.height)))
        found.paste(part, (k * (scaled.width + GAP), 0))
    return found


if __name__ == "__main__":
    main()
