"""The player of films in real Chromium: what it shows is what was recorded."""

from __future__ import annotations

import json
import time
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from explorer.film_states import State
from moldable import JobClass, Scenario, Workload
from moldable.explorer.film import Film, record

PAGE = Path(__file__).with_name("film.html")
HOSTILE = "<img src=x onerror=\"document.title='owned'\">"
CLASSES = [JobClass(HOSTILE, 8.0, [1, 1.8, 2.5]), JobClass("b", 2.0, {2: 1.7, 4: 3.0})]
LOSS = Scenario(Workload(CLASSES), 12, time_unit="hours")
QUEUE = Scenario(Workload(CLASSES), 12, waiting=3)
ALARM = {False: (195, 79, 0), True: (255, 140, 75)}
LONGEST = 60.0
"""Seconds after which the browser counts as hanging."""
NARROWEST, WIDEST = (68, 1, 84), (253, 231, 37)
"""Viridis at its ends, as in the picture of the policy."""


@cache
def film(policy: str = "greedy", *, queue: bool = False) -> Film:
    return record(QUEUE if queue else LOSS, policy, seed=7, events=600)


def load(browser, shown: Film, canvas: str = "film", **options: str) -> None:
    data = json.dumps(shown.to_data())
    assert browser.evaluate(f"moldableFilm.load({data}, {canvas!r}, {json.dumps(options)})")


def state(browser, canvas: str = "film") -> dict:
    return browser.evaluate(f"moldableFilm.state({canvas!r})")


def wait_for(browser, script: str) -> None:
    ends = time.monotonic() + LONGEST
    while not browser.evaluate(script):
        assert time.monotonic() < ends, script
        time.sleep(0.05)


def colours(browser, canvas: str = "film") -> np.ndarray:
    """Return the pixels of a canvas, in a row for each of its rows."""
    script = """(() => { const c = document.getElementById('%s');
      const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
      return [c.width, [...d]]; })()"""
    wide, numbers = browser.evaluate(script % canvas)
    return np.array(numbers).reshape(-1, wide, 4)


def has(pixels: np.ndarray, colour: tuple[int, int, int]) -> bool:
    return bool((pixels == (*colour, 255)).all(axis=-1).any())


def is_shown(browser, colour: tuple[int, int, int]) -> bool:
    """Wait until a colour is drawn: the canvas is drawn in the next frame."""
    ends = time.monotonic() + LONGEST
    while not has(colours(browser), colour) and time.monotonic() < ends:
        time.sleep(0.05)
    return has(colours(browser), colour)


@pytest.fixture
def page(browser):
    """The page with films, where nothing moves until it is started."""
    browser.open(PAGE, 1280, still=True)
    return browser


@pytest.mark.parametrize("queue", [False, True])
def test_the_state_shown_is_the_one_of_the_events_at_any_time(page, queue):
    shown = film(queue=queue)
    load(page, shown)
    rng = np.random.default_rng(1)
    times = [event.time for event in shown.events]
    moments = [*rng.choice(times, 15), *rng.uniform(times[0], times[-1], 15)]  # back and forth
    for moment in map(float, moments):
        page.evaluate(f"moldableFilm.seek({moment!r})")
        expected, found = State.of(shown, moment), state(page)
        assert found["time"] == moment
        assert found["servers"] == expected.servers
        assert found["queue"] == expected.queue
        figures = (expected.busy, len(expected.queue), expected.blocked, expected.arrived)
        assert tuple(found[k] for k in ("busy", "waiting", "blocked", "arrived")) == figures
        waiting = f"{figures[1]} waiting, " if queue else ""
        assert found["summary"] == (
            f"{figures[0]} of 12 servers busy, {waiting}{figures[2]} of {figures[3]} "
            f"job{'s' * (figures[3] != 1)} blocked"
        )
    assert any(event.kind == "block" for event in shown.events)
    assert any(event.kind == "wait" for event in shown.events) == queue


def test_steps_stop_at_every_event_and_say_what_happens(page):
    shown = film(queue=True)
    load(page, shown)
    times = sorted({event.time for event in shown.events})
    told = []
    for moment in times[1:200]:
        page.evaluate("moldableFilm.step()")
        assert state(page)["time"] == moment
        told.append(page.evaluate("document.querySelector('[role=status]').textContent"))
        assert told[-1].startswith(state(page)["summary"])
    for words in ("starts on 1 server.", "after waiting", " waits: ", "is blocked: ", " ends and"):
        assert any(words in text for text in told), words
    assert any(f"({HOSTILE})" in text for text in told)
    assert page.evaluate("document.title") == "Film"
    assert page.evaluate("document.images.length") == 0


ALARMED = """
(() => {
  const canvas = document.getElementById('film');
  const {data} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  let found = 0;
  for (let k = 0; k < data.length; k += 4) {
    found += data[k] === 195 && data[k + 1] === 79 && data[k + 2] === 0;
  }
  return found;
})
"""


@pytest.mark.parametrize("still", [False, True])
def test_a_blocked_job_flashes_while_the_film_plays_unless_motion_is_to_be_reduced(browser, still):
    browser.open(PAGE, 1280, still=still)
    load(browser, film())
    blocked = next(event.time for event in film().events if event.kind == "block")
    browser.evaluate(f"moldableFilm.pause(), moldableFilm.seek({blocked})")
    quiet = browser.evaluate(f"{ALARMED}()")
    assert 0 < quiet < 150
    browser.evaluate(f"""(() => {{
      let frames = 0;
      window.most = 0;
      const look = () => {{
        window.most = Math.max(window.most, {ALARMED}());
        frames += 1;
        if (frames < 4) requestAnimationFrame(look); else window.looked = true;
      }};
      moldableFilm.play();
      look();
    }})()""")
    wait_for(browser, "window.looked")
    assert (browser.evaluate("window.most") > quiet + 50) == (not still)


@pytest.mark.parametrize("dark", [False, True])
def test_colours_are_those_of_the_widths_and_blocked_jobs_are_crossed(browser, dark):
    browser.open(PAGE, 1280, dark=dark, still=True)
    shown = film()
    load(browser, shown)
    widest = next(e.time for e in shown.events if len(e.servers) == 4)
    before = max(e.time for e in shown.events if e.time < widest)
    blocked = next(e.time for e in shown.events if e.kind == "block")
    browser.evaluate(f"moldableFilm.seek({before})")
    assert not has(colours(browser), WIDEST)
    browser.evaluate(f"moldableFilm.seek({widest})")
    assert has(colours(browser), WIDEST)
    assert not has(colours(browser), ALARM[dark])
    browser.evaluate(f"moldableFilm.seek({blocked})")
    assert has(colours(browser), ALARM[dark])
    swatches = browser.evaluate(
        "[...document.querySelectorAll('.moldable-film-legend li')].map(e => [e.textContent, "
        "e.firstChild.style ? e.firstChild.style.backgroundColor : ''])"
    )
    assert swatches[-2] == ["4 servers", f"rgb{WIDEST}"]
    assert swatches[-1] == ["\N{MULTIPLICATION SIGN} blocked", ""]


def test_it_plays_and_is_driven_by_the_keyboard(browser):
    browser.open(PAGE, 1280)
    load(browser, film(), controls="controls")
    wait_for(browser, "moldableFilm.state().arrived > 3")
    names = []
    for _ in range(4):
        browser.press("Tab", 9)
        names.append(browser.evaluate("document.activeElement.textContent.slice(0, 7)"))
    assert names == ["Pause", "Step", "Restart", "0.25\N{MULTIPLICATION SIGN}0."]
    browser.press("ArrowDown", 40)
    browser.press("ArrowDown", 40)
    wait_for(browser, "moldableFilm.state().speed === 4")
    browser.evaluate("document.querySelector('#controls button').focus()")
    browser.press(" ", 32, " ")
    stopped = state(browser)
    assert not stopped["playing"]
    time.sleep(0.3)
    assert state(browser)["time"] == stopped["time"]
    assert browser.evaluate("document.activeElement.textContent") == "Play"
    browser.press("Enter", 13, "\r")
    wait_for(browser, f"moldableFilm.state().time > {stopped['time']}")
    browser.press("Tab", 9)
    browser.press("Tab", 9)
    browser.press("Enter", 13, "\r")  # restart
    assert state(browser)["time"] < stopped["time"]
    assert browser.problems == []
    assets = ("film.html", "film.css", "film.js")
    assert tuple(url.rpartition("/")[2] for url in browser.requests) == assets


def test_a_film_ends_and_starts_again(page):
    load(page, film())
    page.evaluate(f"moldableFilm.seek({film().events[-1].time - 1e-6})")
    page.evaluate("moldableFilm.play()")
    wait_for(page, "!moldableFilm.state().playing")
    assert state(page)["arrived"] == film().jobs
    page.evaluate("moldableFilm.play()")
    assert state(page)["arrived"] <= 3


def test_nothing_moves_by_itself_if_motion_is_to_be_reduced(page):
    load(page, film())
    time.sleep(0.3)
    assert not state(page)["playing"]
    assert state(page)["arrived"] == 1


def test_two_films_share_a_clock_and_colours(page):
    scenario = Scenario.single([1, 1.8, 2.5, 3], 0.8, 13)
    films = [record(scenario, policy, seed=2) for policy in ("greedy", "fixed:1")]
    load(page, films[0], controls="controls")
    load(page, films[1], "tuned", **{"with": "film"})
    assert page.evaluate("document.querySelectorAll('[role=group]').length") == 1
    for moment in (1.0, 2.5, 4.0):
        page.evaluate(f"moldableFilm.seek({moment}, 'tuned')")
        greedy, other = state(page), state(page, "tuned")
        assert greedy["time"] == other["time"] == moment
        assert greedy["arrived"] == other["arrived"]
    assert greedy["blocked"] > other["blocked"]
    text = page.evaluate("document.querySelector('[role=status]').textContent")
    assert f"greedy: {greedy['summary']}" in text
    assert f"{films[1].policy}: {other['summary']}" in text
    page.evaluate("moldableFilm.step()")
    times = [event.time for each in films for event in each.events]
    assert state(page)["time"] == min(t for t in times if t > moment)
    assert has(colours(page, "tuned"), NARROWEST)
    page.evaluate("moldableFilm.load(null, 'film')")
    load(page, films[1], "tuned")  # alone it has one colour, which is neither narrow nor wide
    assert not has(colours(page, "tuned"), NARROWEST)


def test_new_data_replace_the_film_and_none_removes_it(page):
    load(page, film())
    load(page, film(queue=True))
    assert state(page)["summary"].count("waiting") == 1
    assert page.evaluate("document.querySelectorAll('[role=status]').length") == 1
    # Frameworks may replace the canvas by another one of the same name.
    page.evaluate("document.getElementById('film').replaceWith(document.createElement('canvas'))")
    page.evaluate("document.querySelector('canvas').id = 'film'")
    load(page, film())
    assert page.evaluate("document.querySelectorAll('[role=status]').length") == 1
    assert colours(page).any()
    assert page.evaluate("moldableFilm.load(null)") is False
    assert page.evaluate("document.querySelectorAll('[role=status], button').length") == 0
    assert page.evaluate("moldableFilm.load(null, 'nowhere')") is False


def test_a_film_without_events_is_shown_as_such(page):
    load(page, record(LOSS, "greedy", seed=1, seconds=-1.0))
    page.evaluate("moldableFilm.step(), moldableFilm.play()")
    wait_for(page, "!moldableFilm.state().playing")
    assert state(page)["summary"] == "0 of 12 servers busy, 0 of 0 jobs blocked"
    assert state(page)["last"] == "No job has arrived yet."
    text = page.evaluate("document.querySelector('.moldable-film-now').textContent")
    assert text == "Time 0 of 0 hours; it ends early, because recording took too long"


def test_it_is_drawn_again_if_the_window_or_the_colours_of_the_page_change(page):
    load(page, film())
    blocked = next(event.time for event in film().events if event.kind == "block")
    page.evaluate(f"moldableFilm.seek({blocked})")
    assert is_shown(page, ALARM[False])
    scheme = {"name": "prefers-color-scheme", "value": "dark"}
    page.call("Emulation.setEmulatedMedia", media="", features=[scheme])
    wait_for(page, "getComputedStyle(document.body).color === 'rgb(228, 231, 234)'")
    assert is_shown(page, ALARM[True])
    before = colours(page).shape
    page.call(
        "Emulation.setDeviceMetricsOverride",
        width=500,
        height=900,
        deviceScaleFactor=2,
        mobile=False,
    )
    canvas = "document.getElementById('film')"
    wait_for(page, f"{canvas}.width === 2 * {canvas}.clientWidth")
    assert colours(page).shape != before
    assert is_shown(page, ALARM[True])


@pytest.mark.parametrize("width", [375, 1280, 1920])
@pytest.mark.parametrize("servers", [13, 399])
def test_everything_is_visible_and_named(browser, width, servers):
    browser.open(PAGE, width, still=True)
    scenario = Scenario.single([1, 1.8, 2.5, 3], 0.8, servers, waiting=2)
    load(browser, record(scenario, "greedy", seed=1))
    page = "document.documentElement"
    assert browser.evaluate(f"{page}.scrollWidth") <= browser.evaluate(f"{page}.clientWidth")
    canvas = "document.getElementById('film')"
    assert browser.evaluate(f"{canvas}.getAttribute('role')") == "img"
    named = f"Simulated cluster of {servers} servers under greedy"
    assert browser.evaluate(f"{canvas}.getAttribute('aria-label')") == named
    wide, high = browser.evaluate(f"[{canvas}.clientWidth, {canvas}.clientHeight]")
    assert 300 < wide < width
    assert 60 < high < 500
    boxes = browser.evaluate(
        "[...document.querySelectorAll('button, select')].map(e => e.getBoundingClientRect())"
        ".map(b => [b.width, b.height, b.right])"
    )
    assert len(boxes) == 4
    assert all(b[0] >= 44 and b[1] >= 36 and b[2] <= width for b in boxes)
    assert has(colours(browser), WIDEST)
