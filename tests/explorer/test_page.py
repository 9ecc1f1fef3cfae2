"""The page of the explorer in real Chromium, as a person uses it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from moldable import Scenario, evaluate

CURVE = [1, 1.8, 2.5, 3, 3.4]
TIME = "mean execution time (mean sizes)"
WIDTHS = (375, 768, 1280, 1920)
ARROW_RIGHT, TAB, ENTER, END = 39, 9, 13, 35
READY = "document.querySelectorAll('canvas.moldable-film').length === 2 && " + " && ".join(
    f"document.getElementById('{key}-state').textContent.length > 0"
    for key in ("performance", "frontier", "policies", "load_curves", "trade_off")
)
NUMBER = """(() => {
  const table = document.querySelector('#performance-table table');
  if (!table) return null;
  const column = [...table.querySelectorAll('thead th')].findIndex(e => e.textContent === '%s');
  const row = [...table.querySelectorAll('tbody tr')].find(e => e.cells[0].textContent === '%s');
  return row ? row.cells[column].textContent : null;
})()"""


UNCHANGED = "window.unchanged"


@pytest.fixture
def _only_looks():
    """Mark a test that changes nothing, so that the next one need not open the page again."""


@pytest.fixture
def page(browser, explorer, request):
    """The page, with the answers of its first question."""
    if not browser.evaluate(UNCHANGED):
        browser.open(explorer, 1280, still=True)
        browser.wait_for(READY)
    yield browser
    unchanged = "_only_looks" in request.fixturenames
    browser.evaluate(f"{UNCHANGED} = {str(unchanged).lower()}")


def text(page, name: str) -> str:
    return page.evaluate(f"document.getElementById({name!r}).textContent")


def focus(page, name: str) -> None:
    page.evaluate(f"document.getElementById({name!r}).focus()")


def write(page, name: str, value: str) -> None:
    """Type into a field in place of what it holds."""
    page.evaluate(f"document.getElementById({name!r}).select()")
    page.call("Input.insertText", text=value)


def number(page, policy: str, measure: str) -> str:
    return page.evaluate(NUMBER % (measure, policy))


def pasted(command: str, folder: Path) -> list[dict]:
    """Run a command as pasted into a shell, and return the JSON objects that it prints."""
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    shell = ["bash", "-euc", command]
    found = subprocess.run(
        shell, cwd=folder, env=os.environ | {"PATH": path}, capture_output=True, check=True
    )
    return [json.loads(line) for line in found.stdout.splitlines()]


def wait_for_number(page, policy: str, measure: str, wanted: float) -> None:
    script = NUMBER % (measure, policy)
    page.wait_for(f"{script} === {f'{wanted:.6g}'!r}")


def test_a_moved_slider_shows_what_evaluate_says_and_the_command_says_the_same(page, tmp_path):
    before = number(page, "greedy-p", "blocking")
    assert float(before) == pytest.approx(0.255292, abs=1e-6)  # README: `evaluate` at this load
    focus(page, "load-slider")
    for _ in range(5):
        page.press("ArrowRight", ARROW_RIGHT)
    page.wait_for("document.getElementById('load').value === '0.85'")
    expected = evaluate(Scenario.single(CURVE, 0.85, 16), "greedy-p")
    wait_for_number(page, "greedy-p", "blocking", expected.blocking.value)
    wait_for_number(page, "greedy-p", TIME, expected.mean_execution_time.value)
    found = pasted(text(page, "performance-command"), tmp_path)
    rows = {row["name"]: row for row in found[-1]["policies"]}
    assert rows["greedy-p"]["blocking"] == expected.blocking.value
    assert f"{rows['tuned.json']['blocking']:.6g}" == number(page, "tuned", "blocking")
    assert page.problems == []


def test_the_first_numbers_are_shown_before_any_script_of_the_figures(browser, explorer):
    browser.open(explorer, 1280, still=True)
    browser.wait_for("!!document.querySelector('#performance-table tbody')")
    shown = number(browser, "greedy-p", "blocking")
    browser.wait_for(READY)
    assert shown == number(browser, "greedy-p", "blocking")
    held = "performance.getEntriesByType('resource').filter(e => e.name.endsWith('plotly.min.js'))"
    assert browser.evaluate(f"{held}.length") == 1
    browser.open(explorer, 1280, still=True)
    browser.wait_for(READY)
    assert browser.evaluate(f"{held}[0].transferSize") == 0  # the browser has kept it


def test_a_slider_moved_quickly_ends_at_the_numbers_of_its_last_place(page):
    focus(page, "load-slider")
    for _ in range(12):
        page.press("ArrowRight", ARROW_RIGHT)
    expected = evaluate(Scenario.single(CURVE, 0.92, 16), "greedy-p")
    wait_for_number(page, "greedy-p", "blocking", expected.blocking.value)
    page.wait_for("document.querySelector('#load_curves-figure').textContent.includes('0.92')")
    assert page.problems == []


@pytest.mark.usefixtures("_only_looks")
def test_the_program_of_a_view_computes_its_numbers(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    exec(text(page, "performance-python"), names)  # noqa: S102 - the page's own program
    assert names


@pytest.mark.usefixtures("_only_looks")
def test_all_requests_stay_on_the_machine(page, explorer):
    assert len(page.requests) > 15
    for url in page.requests:
        assert url.startswith((explorer, "data:", "blob:")), url
    assert page.problems == []


@pytest.mark.parametrize("width", WIDTHS)
def test_the_page_fits_every_window(browser, explorer, width):
    browser.open(explorer, width, still=True)
    browser.wait_for(READY)
    root = "document.documentElement"
    assert browser.evaluate(f"{root}.scrollWidth") <= browser.evaluate(f"{root}.clientWidth")
    outside = f"""[...document.querySelectorAll('input, button, select, canvas, .main-svg')]
      .filter(e => e.getBoundingClientRect().right > {width} + 1).map(e => e.id || e.outerHTML)"""
    assert browser.evaluate(outside) == []
    assert browser.problems == []


NAMED = """[...document.querySelectorAll('input, select, button, canvas, [role=img]')]
  .filter(e => e.type !== 'hidden' && !e.closest('.js-plotly-plot'))
  .filter(e => !(e.getAttribute('aria-label') || e.textContent.trim()
    || (e.labels && e.labels.length && e.labels[0].textContent.trim())))
  .map(e => e.outerHTML)"""
REACHED = """(e => e === document.body ? null : e.id || e.textContent)(document.activeElement)"""
OUTLINE = """(() => { const s = getComputedStyle(document.activeElement);
  return parseFloat(s.outlineWidth) > 0 && s.outlineStyle !== 'none'; })()"""


def test_everything_has_a_name_and_is_reached_by_keyboard(browser, explorer):
    page = browser
    page.open(explorer, 1280, still=True)  # where no element has had the focus
    page.wait_for(READY)
    assert page.evaluate(NAMED) == []
    page.evaluate("document.body.focus()")
    reached = []
    for _ in range(120):
        page.press("Tab", TAB)
        found = page.evaluate(REACHED)
        if found is None:  # after the last one
            break
        reached.append(found)
        assert page.evaluate(OUTLINE), found
    assert reached[0] == "Skip to the answers"
    fields = {"speedup-0", "published-0", "load-slider", "load", "servers", "waiting", "size"}
    fields |= {"arrivals", "target-choice", "limit", "seed", "toml", "measure-choice"}
    fields |= {"film-choice", "film-other-choice", "performance-csv", "frontier-csv"}
    assert fields <= set(reached)
    for words in ("PNG", "SVG", "Numbers", "Play", "Step", "Edit as a table"):
        assert words in reached


@pytest.mark.usefixtures("_only_looks")
def test_landmarks_and_headings_are_in_order(page):
    levels = page.evaluate("[...document.querySelectorAll('h1,h2,h3')].map(e => +e.tagName[1])")
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert page.evaluate("document.querySelectorAll('main').length") == 1
    assert page.evaluate("document.documentElement.lang") == "en"
    duplicates = """(() => { const ids = [...document.querySelectorAll('[id]')]
      .filter(e => !e.closest('svg')).map(e => e.id);
      return ids.filter((id, k) => ids.indexOf(id) !== k); })()"""
    assert page.evaluate(duplicates) == []


def test_a_wrong_field_is_marked_and_changes_nothing_else(page):
    before = text(page, "performance-table")
    write(page, "servers", "many")
    page.wait_for("document.getElementById('servers-problem').textContent.length > 0")
    assert text(page, "servers-problem") == "'many' is not a whole number; write one like 16"
    page.wait_for("document.getElementById('servers').getAttribute('aria-invalid') === 'true'")
    described = page.evaluate("document.getElementById('servers').getAttribute('aria-describedby')")
    assert "servers-problem" in described
    assert text(page, "performance-table") == before
    write(page, "servers", "8")
    page.wait_for("document.getElementById('servers').getAttribute('aria-invalid') === 'false'")
    expected = evaluate(Scenario.single(CURVE, 0.8, 8), "greedy-p")
    wait_for_number(page, "greedy-p", "blocking", expected.blocking.value)


def test_a_curve_is_edited_as_a_table_and_picked_from_the_list(page):
    page.evaluate("document.querySelector('#points-details-0 summary').click()")
    write(page, "point-0-6", "3.6")
    page.press("Enter", ENTER, "\r")
    page.wait_for("document.getElementById('speedup-0').value === '1,1.8,2.5,3,3.4,3.6'")
    page.wait_for("!!document.getElementById('point-0-7')")
    page.evaluate(
        """(() => { const list = document.getElementById('published-0');
        list.value = 'vasp-skylake';
        list.dispatchEvent(new Event('change', {bubbles: true})); })()"""
    )
    page.wait_for("document.getElementById('speedup-0').value === 'curve:vasp-skylake'")
    expected = evaluate(Scenario.single("curve:vasp-skylake", 0.8, 16), "greedy")
    wait_for_number(page, "greedy", "blocking", expected.blocking.value)


@pytest.mark.usefixtures("_only_looks")
def test_numbers_figures_and_the_question_are_saved(page, tmp_path):
    page.call("Page.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
    for key in ("performance-csv", "toml"):
        page.evaluate(f"document.getElementById('{key}').click()")
    for kind in ("png", "svg"):
        page.evaluate(
            f"document.querySelector('[data-picture=frontier-figure][data-kind={kind}]').click()"
        )
    names = ("performance.csv", "question.toml")
    names += tuple(f"moldable-frontier-figure.{kind}" for kind in ("png", "svg"))
    ends = time.monotonic() + 60.0
    while not all((tmp_path / name).is_file() for name in names):
        assert time.monotonic() < ends, list(tmp_path.iterdir())
        page.evaluate("1")
        time.sleep(0.05)
    assert (tmp_path / "performance.csv").read_text().startswith("policy")
    assert Scenario.read(tmp_path / "question.toml").servers == 16
    assert (tmp_path / names[2]).read_bytes().startswith(b"\x89PNG")
    assert b"<svg" in (tmp_path / names[3]).read_bytes()
    assert page.problems == []


@pytest.mark.usefixtures("_only_looks")
def test_the_command_is_copied(page, explorer):
    origin = f"http://{urlsplit(explorer).netloc}"
    page.call(
        "Browser.grantPermissions",
        origin=origin,
        permissions=["clipboardReadWrite", "clipboardSanitizedWrite"],
    )
    page.call("Emulation.setFocusEmulationEnabled", enabled=True)
    page.evaluate("document.querySelector('[data-copy=performance-command]').click()")
    page.wait_for("document.getElementById('performance-command-copied').textContent !== ''")
    page.evaluate("navigator.clipboard.readText().then(t => { window.copied = t; })")
    page.wait_for("window.copied !== undefined")
    assert page.evaluate("window.copied") == text(page, "performance-command")


CONTRAST = """
(() => {
  const light = c => {
    const v = c.match(/[\\d.]+/g).slice(0, 3).map(x => x / 255)
      .map(x => x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
    return 0.2126 * v[0] + 0.7152 * v[1] + 0.0722 * v[2];
  };
  const back = e => { while (e) { const c = getComputedStyle(e).backgroundColor;
    if (!c.endsWith(', 0)')) return c; e = e.parentElement; } };
  const colour = e => { const s = getComputedStyle(e);
    return e instanceof SVGElement ? s.fill : s.color; };
  const texts = [...document.querySelectorAll(
    'p, th, td, a, label, legend, summary, button, pre, input, select, .main-svg text')]
    .filter(e => !e.closest('#policies-figure') && e.getClientRects().length);
  return Math.min(...texts.map(e => {
    const [a, b] = [light(colour(e)), light(back(e))];
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  }));
})()
"""
"""The least contrast of a text; those in the picture of the policy have cells as background."""


def test_texts_are_readable_in_both_colour_schemes(page):
    script = "document.querySelector('#frontier-figure .xtick text').style.fill"
    light = page.evaluate(script)
    page.wait_for(f"{CONTRAST.strip()} >= 4.5")
    features = [{"name": "prefers-color-scheme", "value": "dark"}]
    page.call("Emulation.setEmulatedMedia", media="", features=features)
    page.wait_for(f"{script} !== {light!r}")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 26)"
    page.wait_for(f"{CONTRAST.strip()} >= 4.5")  # when all figures are drawn anew


def test_films_of_the_question_are_played(page):
    state = page.wait_for("window.moldableFilm && moldableFilm.state('film')")
    assert len(state["servers"]) == 16
    for name in ("film", "film-other"):
        page.evaluate(f"moldableFilm.seek(moldableFilm.state('{name}').end, '{name}')")
    assert page.evaluate("moldableFilm.state('film').arrived") > 100
    write(page, "servers", "401")
    page.wait_for("document.getElementById('film-problem').textContent.includes('400')")
