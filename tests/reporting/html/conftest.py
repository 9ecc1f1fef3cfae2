"""Reports of plans and of a log whose names are hostile, made once."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from hostile_log import HOSTILE, hostile_log
from moldable import JobClass, Scenario, Workload, plan, read_trace, replay
from moldable.reporting.html.plan_page import LogPart, plan_document
from moldable.reporting.html.render import write_report
from moldable.reporting.html.source import Source
from moldable.reporting.html.trace_page import trace_document
from moldable.traces import draft_scenario, summarise
from moldable.traces.calendar import week_rates

DATE = datetime(2026, 11, 18, tzinfo=UTC)


@pytest.fixture(scope="session")
def reports(tmp_path_factory) -> dict[str, Path]:
    """Reports of a plan with a log, of a plan with a queue, and of the log.

    The plans are small enough to be solved exactly, which is much faster than simulations.
    """
    folder = tmp_path_factory.mktemp("reports")
    path = hostile_log(folder)
    trace = read_trace(path, class_by="class")
    classes = [JobClass(name, 1.0, [1, 1.8], mean_size=0.9) for name in HOSTILE]
    lossy = Scenario(Workload(classes), 6, time_unit="hours")
    waiting = Scenario.single([1, 1.8, 2.4], 0.6, 6, waiting="unlimited")
    summary, week = summarise(trace, servers=6), week_rates(trace)
    past = LogPart(
        summary,
        week,
        draft_scenario(trace, servers=6),
        replay(trace, "tuned", servers=6, copies=0, seed=1),
        len(trace),
    )
    source = Source.of(path, f"moldable plan {path}", DATE)
    documents = {
        "plan": plan_document(plan(lossy, max_blocking=0.2, growth=1.2, seed=1), source, past),
        "queue": plan_document(plan(waiting, max_wait=0.2, seed=1), source),
        "trace": trace_document(summary, source, week),
    }
    found = {name: folder / f"{name}.html" for name in documents}
    for name, document in documents.items():
        write_report(document, found[name])
    return found
