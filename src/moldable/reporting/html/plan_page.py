"""The report of a plan."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, final

from rich.table import Table as RichTable

from moldable.arrays import Floats
from moldable.model.speedup import SpeedUp
from moldable.model.units import unit_in_heading, unit_name
from moldable.model.waiting import written_waiting
from moldable.planning.result import Plan
from moldable.reporting.actions_text import actions_table
from moldable.reporting.html import plan_figures as figures
from moldable.reporting.html.curve_figures import curves_figure, frontier_figure
from moldable.reporting.html.document import (
    Block,
    Column,
    Document,
    Listing,
    Section,
    Table,
    Text,
)
from moldable.reporting.html.guide import guide_section
from moldable.reporting.html.plan_words import decision, verdict
from moldable.reporting.html.policy_figure import policy_figure
from moldable.reporting.html.source import Source, provenance_section
from moldable.reporting.html.trace_figures import replay_figure
from moldable.reporting.html.trace_page import log_blocks
from moldable.reporting.noise_text import (
    SUPPORTS,
    UNCERTAIN,
    noise_lines,
    supports_table,
    uncertain_table,
)
from moldable.reporting.plan_text import (
    cases_table,
    comparison_table,
    edge_lines,
    problems,
    sizes_table,
    target_words,
    waits,
)
from moldable.reporting.replay_text import changes_table, figures_table, replay_notes
from moldable.reporting.tables import plain_table
from moldable.reporting.words import short_figure, times_are
from moldable.system.estimate import Estimate
from moldable.traces.replay_result import Replay
from moldable.traces.summary import TraceSummary

MOST_TABLES: Final = 12
"""Classes whose decisions are tabulated; the JSON output and the policy file have all."""
MOST_WIDTHS: Final = 12
"""Widths of a curve that are listed."""


@final
@dataclass(frozen=True, eq=False)
class LogPart:
    """What the report of a plan shows of the log that it was drafted from.

    Attributes:
        summary: of the log.
        week: jobs per hour by weekday and hour; None without dates.
        draft: the scenario drafted from it.
        replay: of its last jobs; None where that was not possible.
        replayed: number of the last jobs that were replayed.
        problem: why there is no replay.
    """

    summary: TraceSummary
    week: Floats | None
    draft: str
    replay: Replay | None
    replayed: int
    problem: str = ""


def plan_document(answer: Plan, source: Source, log: LogPart | None = None) -> Document:
    """Return the report of a plan: the decision first, then what it is based on."""
    scenario = answer.scenario
    sections = [
        Section("decision", "Decision", (decision(answer),)),
        _policy(answer),
        _expected(answer),
        _sizes(answer),
        _sensitivity(answer),
    ]
    if log is not None:
        sections += [
            Section("log", "The job log", log_blocks(log.summary, log.week)),
            _replayed(log),
        ]
    sections += [
        _curves(answer),
        _scenario(answer, log),
        _assumptions(answer),
        guide_section(log=log is not None, waiting=bool(scenario.waiting)),
        provenance_section(source, answer.seed, answer.performance.provenance),
    ]
    places = written_waiting(scenario.waiting)
    summary = (
        f"{len(scenario.workload.classes)} classes of jobs, {scenario.servers} servers, load "
        f"{scenario.load:.3g}, waiting places: {places}. Input: {source.name}."
    )
    return Document(
        f"Plan for {scenario.servers} servers",
        summary.replace("1 classes", "1 class"),
        verdict(answer),
        answer.choice.kept if answer.goal.limited else None,
        tuple(sections),
    )


def _policy(answer: Plan) -> Section:
    blocks: list[Block] = [policy_figure(answer)]
    for part in answer.actions[:MOST_TABLES]:
        by = "idle servers and jobs waiting behind" if answer.scenario.waiting else "idle servers"
        blocks.append(
            Table.of(
                f"Servers given to {part.job_class}, by {by}",
                actions_table(part, waits=waits(answer)),
            )
        )
    blocks.append(figures.widths_figure(answer))
    return Section("policy", "The recommended policy", tuple(blocks))


def _expected(answer: Plan) -> Section:
    blocks: list[Block] = [
        Table.of("Expected performance of each policy", comparison_table(answer)),
        figures.comparison_figure(answer),
        *(Text(line) for line in problems(answer)),
        Table.of("Classes under the recommended policy", _classes(answer)),
    ]
    return Section("comparison", "Comparison with other policies", tuple(blocks))


def _classes(answer: Plan) -> RichTable:
    unit = unit_in_heading(answer.time_unit)
    waits = bool(answer.scenario.waiting)
    names = ("mean response", "mean wait") if waits else ("mean execution",)
    lossy = math.isfinite(answer.scenario.waiting)
    lost = ("blocking",) if lossy else ()
    headings = (*lost, *(f"{name}{unit}" for name in names), "mean width")
    table = plain_table("class", right=headings)
    for part in answer.performance.classes:
        times: tuple[Estimate, ...] = (part.mean_execution_time,)
        if part.queueing is not None:
            times = (part.queueing.mean_response_time, part.queueing.mean_wait)
        width = sum(w * share for w, share in part.width_shares.items())
        blocked = (short_figure(part.blocking),) if lossy else ()
        cells = (*blocked, *map(short_figure, times), f"{width:.3g}")
        table.add_row(part.name, *cells)
    return table


def _sizes(answer: Plan) -> Section:
    blocks: list[Block] = []
    if answer.sizes:
        caption = f"Smallest cluster with {target_words(answer)}"
        blocks.append(Table.of(caption, sizes_table(answer)))
    blocks.append(figures.series_figure(answer, answer.by_servers))
    return Section("servers", "Size of the cluster", tuple(blocks))


def _sensitivity(answer: Plan) -> Section:
    blocks: list[Block] = [
        figures.series_figure(answer, answer.by_load),
        figures.sensitivity_figure(answer),
        Table.of(
            "If the assumptions fail or widths differ, with the same policy unless re-tuned",
            cases_table(answer),
        ),
        Text(" ".join(edge_lines(answer))),
    ]
    noise = answer.curve_noise
    if noise is not None:
        blocks.append(Table.of(SUPPORTS.format(noise.resamples), supports_table(noise)))
        uncertain = uncertain_table(noise)
        if uncertain.row_count:
            blocks.append(Table.of(UNCERTAIN.format(noise.tables), uncertain))
    blocks.append(Text(" ".join(noise_lines(answer))))
    return Section("sensitivity", "Sensitivity", tuple(blocks))


def _replayed(log: LogPart) -> Section:
    title = "Replay of the log"
    if log.replay is None:
        return Section("replay", title, (Text(f"The log was not replayed: {log.problem}."),))
    found, every = log.replay, log.summary.jobs
    which = "All jobs" if log.replayed == every else f"The last {log.replayed:,} of {every:,} jobs"
    first = Text(
        f"{which} of the log, with their own submissions and run times, replayed under other "
        f"rules. Jobs may run on fewer servers than their users asked for, never on more. The "
        f"curve is assumed. 'recommended' is the policy above, with the nearest width that a job "
        f"may have; 'tuned' is another, chosen on the first half of these jobs. All are judged on "
        f"the second half."
    )
    blocks = (
        first,
        replay_figure(found),
        Table.of("Judged jobs; times in seconds", figures_table(found)),
        Table.of(f"Changes against {found.baseline}", changes_table(found)),
        Text(" ".join(replay_notes(found))),
    )
    return Section("replay", title, blocks)


def _curves(answer: Plan) -> Section:
    blocks = (curves_figure(answer), frontier_figure(answer))
    return Section("curves", "Speed-up curves and frontier", blocks)


def _scenario(answer: Plan, log: LogPart | None) -> Section:
    scenario = answer.scenario
    unit = unit_in_heading(answer.time_unit)
    columns = (
        Column("class", numeric=False),
        Column(f"jobs per {unit_name(answer.time_unit)}", numeric=True),
        Column(f"mean size{unit}", numeric=True),
        Column("size law", numeric=False),
        Column("offered load", numeric=True),
        Column("speed-up by width", numeric=False),
    )
    rows = tuple(
        (
            part.name,
            f"{part.arrival_rate:.4g}",
            f"{part.mean_size:.4g}",
            str(part.size),
            f"{part.offered / scenario.servers:.3g}",
            _curve_words(part.speedup),
        )
        for part in scenario.workload.classes
    )
    words = (
        f"{scenario.servers} servers; {scenario.arrivals} arrivals; waiting places: "
        f"{written_waiting(scenario.waiting)}; load {scenario.load:.4g}. "
        f"{times_are(answer.performance)}"
    )
    blocks: list[Block] = [Text(words), Table("Classes of the scenario", columns, rows)]
    if log is not None:
        blocks.append(Listing("The scenario drafted from the log", tuple(log.draft.splitlines())))
    return Section("scenario", "The scenario", tuple(blocks))


def _curve_words(curve: SpeedUp) -> str:
    pairs = list(zip(curve.widths.tolist(), curve.speedups.tolist(), strict=True))
    listed = [f"{width}: {speedup:.3g}" for width, speedup in pairs]
    if len(listed) > MOST_WIDTHS:
        listed = [*listed[: MOST_WIDTHS - 2], "...", listed[-1]]
    return ", ".join(listed)


def _assumptions(answer: Plan) -> Section:
    lines = [
        f"The expected performance holds for {answer.assumptions}.",
        "Servers are interchangeable, and memory, licences and the network are not modelled.",
        "A job keeps its width from start to end, and jobs are served in the order of arrival.",
        *(f"{note[:1].upper()}{note[1:]}." for note in answer.notes),
        *answer.performance.warnings,
    ]
    return Section("assumptions", "Assumptions", tuple(Text(line) for line in lines))
