"""Reports in real Chromium: everything is visible, nothing is requested, nothing overflows."""

from __future__ import annotations

import pytest

PLAN = {
    *("policy", "widths", "comparison", "servers", "load", "sensitivity", "curves", "frontier"),
}
FIGURES = {"plan": PLAN | {"week", "jobs", "replay"}, "queue": PLAN, "trace": {"week", "jobs"}}
VISIBLE = """
[...document.querySelectorAll('%s')].map(e => {
  const box = e.getBoundingClientRect(), style = getComputedStyle(e);
  return [box.width, box.height, style.visibility, style.display, box.right];
})
"""
CONTRAST = """
(() => {
  const light = c => {
    const v = c.match(/[\\d.]+/g).slice(0, 3).map(x => x / 255)
      .map(x => x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
    return 0.2126 * v[0] + 0.7152 * v[1] + 0.0722 * v[2];
  };
  const back = light(getComputedStyle(document.body).backgroundColor);
  const ratio = c => {
    const own = light(c);
    return (Math.max(own, back) + 0.05) / (Math.min(own, back) + 0.05);
  };
  const texts = [...document.querySelectorAll('p, th, td, a, figcaption, figure svg text')]
    .filter(e => !e.closest('#figure-policy svg') && !e.closest('.verdict'));
  const colour = e => { const s = getComputedStyle(e);
    return e instanceof SVGElement ? (s.fill === 'none' ? s.color : s.fill) : s.color; };
  return Math.min(...texts.map(e => ratio(colour(e))));
})()
"""


@pytest.mark.parametrize("name", FIGURES)
@pytest.mark.parametrize("width", [375, 1280])
@pytest.mark.parametrize("dark", [False, True])
def test_a_report_is_complete_readable_and_self_contained(browser, reports, name, width, dark):
    browser.open(reports[name], width, dark=dark)
    assert browser.requests == [reports[name].resolve().as_uri()]
    assert browser.problems == []
    page = "document.documentElement"
    assert browser.evaluate(f"{page}.scrollWidth") <= browser.evaluate(f"{page}.clientWidth")
    figures = browser.evaluate("[...document.querySelectorAll('figure[id]')].map(e => e.id)")
    assert {each.removeprefix("figure-") for each in figures} == FIGURES[name]
    drawings = browser.evaluate(VISIBLE % "figure svg")
    assert len(drawings) >= len(FIGURES[name])
    for wide, high, visibility, display, right in drawings:
        assert wide > 250
        assert high > 60
        assert (visibility, display) == ("visible", "block")
        assert right <= width
    tables = browser.evaluate(VISIBLE % ".scroll")
    assert len(tables) == browser.evaluate("document.querySelectorAll('table').length")
    assert len(tables) >= 4
    assert all(box[0] > 100 and box[1] > 40 and box[4] <= width for box in tables)
    assert browser.evaluate(CONTRAST) >= 4.0
    assert browser.evaluate("document.title") != "owned"


@pytest.mark.parametrize("name", FIGURES)
def test_no_label_of_a_drawing_is_cut_off(browser, reports, name):
    browser.open(reports[name], 1280)
    script = """
    [...document.querySelectorAll('figure svg')].flatMap(svg => {
      const own = svg.getBoundingClientRect();
      return [...svg.querySelectorAll('text')].filter(t => {
        const box = t.getBoundingClientRect();
        return box.left < own.left - 2 || box.right > own.right + 2 || box.top < own.top - 2
          || box.bottom > own.bottom + 2;
      }).map(t => t.textContent);
    })
    """
    assert browser.evaluate(script) == []


def test_the_browser_reports_what_the_tests_look_for(browser, tmp_path):
    page = tmp_path / "bad.html"
    page.write_text(
        "<!DOCTYPE html><title>bad</title><img src='http://127.0.0.1:9/x.png'>"
        "<div style='width: 3000px'>wide</div><script>console.error('broken')</script>"
    )
    browser.open(page, 375)
    assert "http://127.0.0.1:9/x.png" in browser.requests
    assert any("broken" in each for each in browser.problems)
    assert browser.evaluate("document.documentElement.scrollWidth") >= 3000


def test_a_report_prints_in_dark_mode_on_white_paper(browser, reports):
    browser.open(reports["plan"], 1280, dark=True, media="print")
    colour = browser.evaluate("getComputedStyle(document.body).backgroundColor")
    assert colour == "rgb(255, 255, 255)"
    assert browser.pdf().startswith(b"%PDF")
