"""The page of `moldable explore` in Chromium."""

from __future__ import annotations

import statistics
import sys
import time
from pathlib import Path

from benchmarks.table import Row

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from browser import Browser, chromium
from explorer.started import exploring

LOADS = [0.5 + 0.02 * k for k in range(20)]
FIRST, UPDATE, START = 2.0, 0.3, 3.0
"""Targets in seconds; the start is from the command to the address."""
ANSWERED = "!!document.querySelector('#performance-table tbody')"
DRAWN = "document.querySelectorAll('.figure .main-svg').length >= 10"
CELL = """[...document.querySelectorAll('#performance-table tbody tr')]
  .find(row => row.cells[0].textContent.startsWith('fixed:1')).cells[1].textContent"""
MOVE = """new Promise(done => {
  const old = %(cell)s, begin = performance.now();
  const slider = document.getElementById('load-slider');
  const look = () => {
    if (%(cell)s !== old) done(performance.now() - begin); else requestAnimationFrame(look);
  };
  Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set.call(slider, '%(load)s');
  slider.dispatchEvent(new Event('input', {bubbles: true}));
  requestAnimationFrame(look);
})"""
"""Moves the slider as a mouse does, and gives the milliseconds until the table has changed."""


def rows() -> list[Row]:
    """Open the page and move the slider; needs Chromium (`make engines`)."""
    program = chromium()
    if program is None:
        return [Row("the page", "not measured", "Chromium is not installed")]
    began = time.perf_counter()
    with exploring("--no-browser") as (url, _), Browser(program) as browser:
        found = [_row("from the command to the address", time.perf_counter() - began, START)]
        views = []
        for _ in range(3):
            began = time.perf_counter()
            browser.open(url, 1280, still=True)
            browser.wait_for(ANSWERED)
            views.append(time.perf_counter() - began)
            browser.wait_for(DRAWN)
        found.append(_row("first view, from the address to the table", max(views), FIRST))
        updates = [_moved(browser, load) for load in LOADS]
    found.append(_row("update of the table, exact, median", statistics.median(updates), UPDATE))
    found.append(_row("update of the table, exact, slowest of 20", max(updates), UPDATE))
    return found


def _moved(browser: Browser, load: float) -> float:
    """Return the seconds from a move of the slider to the new numbers."""
    script = MOVE % {"cell": CELL, "load": f"{load:.2f}"}
    answer = browser.call(
        "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True
    )
    time.sleep(1.0)  # until the other views are drawn, as between two moves of a person
    return answer["result"]["value"] / 1000.0


def _row(what: str, seconds: float, target: float) -> Row:
    return Row(what, f"{seconds:.2f} s", f"below {target} s", seconds < target)
