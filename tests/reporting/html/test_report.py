"""Reports as files: structure, escaping, the same bytes again, and what is refused."""

from __future__ import annotations

import hashlib
import importlib.util
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from hostile_log import HOSTILE, hostile_log
from moldable import JobClass, Scenario, Workload, plan
from moldable.reporting.html.curve_figures import curves_figure, frontier_figure
from moldable.reporting.html.document import Document, Listing, Section, Text
from moldable.reporting.html.render import to_html
from moldable.reporting.html.svg import panel, short
from moldable.traces.calendar import week_rates
from moldable.traces.read import read_trace

ONE = (
    'servers = 6\ntime_unit = "hours"\n[[class]]\nname = "jobs"\n'
    'arrival_rate = "4/h"\nspeedup = [1, 1.8]\n'
)
VOID = {"meta", "img", "br", "hr", "input", "link"}


class Page(HTMLParser):
    """The elements of a page; refuses tags that are not closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)

    def named(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]


@pytest.mark.parametrize(("curve", "panels"), [([1, 1.8], 1), ([1], 2)])
def test_classes_with_a_single_width_have_no_curve_unless_all_are_such(curve, panels):
    jobs = Workload([JobClass("one", 1.0, [1]), JobClass("two", 1.0, curve)])
    answer = plan(Scenario(jobs, 4), seed=1, precision=0.5)
    for figure in (curves_figure(answer), frontier_figure(answer)):
        assert len(figure.panels) == panels


@pytest.mark.parametrize("name", ["plan", "queue", "trace"])
def test_a_report_is_one_well_formed_page_with_anchors(reports, name):
    page = Page(reports[name].read_text())
    tags = {tag for tag, _ in page.tags}
    assert tags.isdisjoint({"script", "link", "img", "iframe", "object", "embed", "form", "image"})
    ids = [a["id"] for _, a in page.tags if "id" in a]
    assert len(ids) == len(set(ids))
    links = [a["href"] for a in page.named("a")]
    assert links
    used = [a["href"] for a in page.named("use")]
    assert all(link.startswith("#") and link[1:] in ids for link in (*links, *used))
    assert len(page.named("svg")) == len(page.named("title")) - 1
    assert all(a["role"] == "img" for a in page.named("svg"))
    assert len(page.named("caption")) == len(page.named("table"))
    policy = next(a for a in page.named("meta") if "http-equiv" in a)
    assert policy["content"].startswith("default-src 'none';")
    assert not any(key.startswith("on") for _, a in page.tags for key in a)


@pytest.mark.parametrize("name", ["plan", "trace"])
def test_names_from_a_log_are_shown_as_text(reports, name):
    text = reports[name].read_text()
    shown = "".join(Page(text).texts)
    assert "<script>document.title='owned'</script>" in shown
    assert "\"'><img src=x onerror=alert(1)>&amp;" in shown
    assert "{{7*7}} \\x07\\x1b[31m" in shown
    assert "\x07" not in text
    assert "\x1b" not in text
    assert "week <b>.csv" in shown


def test_a_report_tells_the_decision_first_and_where_it_comes_from(reports):
    text = reports["plan"].read_text()
    order = [text.index(f'id="{key}"') for key in ("decision", "policy", "comparison", "servers")]
    assert order == sorted(order)
    shown = "".join(Page(text).texts)
    log = reports["plan"].with_name("week <b>.csv")
    assert hashlib.sha256(log.read_bytes()).hexdigest() in shown
    for words in (
        "What to do",
        "blocking at most 0.2",
        "Needed:",
        "with 20 % more jobs",
        "rigid FCFS",
        "rigid EASY",
        "largest that fits",
        "tuned",
        "Drafted from week <b>.csv",
        "random seed",
        "Poisson",
    ):
        assert words in shown, words


@pytest.mark.parametrize("command", ["plan", "trace"])
def test_the_same_input_and_seed_give_the_same_bytes_except_for_the_date(
    run, run_process, tmp_path, command
):
    (tmp_path / "one.toml").write_text(ONE)
    log = hostile_log(tmp_path).name
    words = {"plan": ("one.toml", "--seed", "1"), "trace": (log, "--servers", "6")}[command]
    pages = []
    for once in (run, run_process):
        result = once(command, *words, "--report", "again.html", cwd=tmp_path)
        assert result.returncode == 0, result.stderr
        assert "Report: again.html" in result.stdout
        text = (tmp_path / "again.html").read_text()
        pages.append(re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC", "DATE", text))
    assert pages[0] == pages[1]
    assert pages[0].count("DATE") == 1


def test_a_plan_from_a_log_has_a_report_with_its_replay(run, tmp_path):
    log = hostile_log(tmp_path).name
    words = ("plan", log, "--servers", "6", "--precision", "0.5", "--seed", "1")
    result = run(*words, "--report", "log.html", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    page = Page((tmp_path / "log.html").read_text())
    figures = {a["id"] for a in page.named("figure") if "id" in a}
    assert {"figure-week", "figure-replay", "figure-policy"} <= figures
    assert "All jobs of the log" in "".join(page.texts)


def test_a_scenario_file_that_loses_jobs_has_a_report_without_a_log(run, tmp_path):
    (tmp_path / "one.toml").write_text(ONE)
    words = ("plan", "one.toml", "--max-blocking", "0.2", "--seed", "1", "--json")
    result = run(*words, "--report", "one.html", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("{")
    page = Page((tmp_path / "one.html").read_text())
    figures = {a["id"].removeprefix("figure-") for a in page.named("figure") if "id" in a}
    plan = {"policy", "widths", "comparison", "servers", "load", "sensitivity"}
    assert figures == plan | {"curves", "frontier"}
    assert "Blocking probability" in "".join(page.texts)


@pytest.mark.parametrize("command", ["plan", "trace"])
def test_reports_that_cannot_be_written_are_refused_before_the_work(run, tmp_path, command):
    log = hostile_log(tmp_path)
    before = log.read_bytes()
    (tmp_path / "folder").mkdir()
    for name, message in (
        ("folder", "is a folder"),
        ("missing/report.html", "no such folder"),
        (log.name, "would replace the input"),
        ("x" * 300, "cannot be written"),
    ):
        result = run(command, log.name, "--servers", "6", "--report", name, cwd=tmp_path)
        assert result.returncode == 2
        assert message in result.stderr
        assert "Traceback" not in result.stderr
    assert log.read_bytes() == before
    assert sorted(each.name for each in tmp_path.iterdir()) == ["folder", log.name]


@pytest.mark.parametrize("module", ["jinja2", "matplotlib"])
def test_a_missing_package_is_named_with_its_extra(run, tmp_path, monkeypatch, module):
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *a: None if name == module else find(name, *a)
    )
    log = hostile_log(tmp_path)
    result = run("plan", log.name, "--servers", "6", "--report", "r.html", cwd=tmp_path)
    assert result.returncode == 2
    assert module.lower() in result.stderr.lower()
    assert "pip install 'moldable[report]'" in result.stderr
    assert not (tmp_path / "r.html").exists()


def test_nothing_is_written_if_the_plan_fails(run, tmp_path):
    log = hostile_log(tmp_path)
    words = ("plan", log.name, "--servers", "6", "--max-blocking", "0.1", "--report", "r.html")
    assert run(*words, cwd=tmp_path).returncode == 2
    assert not (tmp_path / "r.html").exists()


def test_all_texts_of_a_document_are_escaped():
    hostile = "</title></style><script>{{x}}</script>&\x00\n"
    section = Section("s", hostile, (Text(hostile), Listing(hostile, (hostile, hostile))))
    page = Page(to_html(Document(hostile, hostile, hostile, None, (section,))))
    assert page.named("script") == []
    assert "".join(page.texts).count("<script>{{x}}</script>&\\x00\\n") == 10


def test_drawings_name_page_colours_and_never_read_mathematics():
    found = panel("t", "a < b & \x07", lambda axes: axes.set_title(short("_$\\frac{x")))
    assert "<title>a &lt; b &amp; \\x07</title>" in found.svg
    assert "$\\frac{x" in found.svg
    assert "currentColor" in found.svg
    assert "#010203" not in found.svg
    assert found == panel("t", "a < b & \x07", lambda axes: axes.set_title(short("_$\\frac{x")))


def test_rates_by_hour_of_the_week_equal_counts_by_hand(tmp_path):
    trace = read_trace(hostile_log(tmp_path))
    rates = week_rates(trace)
    # From Monday 2 November, 00:00, one job in each hour of five days; the last ends early.
    assert trace.origin.weekday() == 0
    expected = np.full((7, 24), np.nan)
    expected[:5] = 1.0
    expected[4, 23] = 60.0 / (7 * 119 % 60)
    np.testing.assert_allclose(rates, expected)
    assert np.isfinite(rates).sum() == 120


def test_a_log_without_dates_has_no_rates_by_hour_of_the_week(tmp_path):
    (tmp_path / "log.csv").write_text("submit,run_time,servers\n0,60,2\n30,90,4\n")
    assert week_rates(read_trace(tmp_path / "log.csv")) is None


def test_hostile_names_are_hostile():
    assert any("<script>" in name for name in HOSTILE)
    assert any("\x1b" in name for name in HOSTILE)
