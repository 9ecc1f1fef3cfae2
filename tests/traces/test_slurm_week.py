"""The bundled log: made by its generator, and a schedule that EASY backfill could have made."""

from __future__ import annotations

import csv
from datetime import datetime
from pathlib import Path

import pytest

from moldable import read_trace
from moldable.traces import summarise
from scripts import slurm_week

LOG = Path(__file__).parents[2] / "src" / "moldable" / "examples" / "slurm-week.txt"


@pytest.fixture(scope="module")
def rows() -> list[dict]:
    """The rows of jobs, without our readers; the name with a delimiter is joined by hand."""
    lines = LOG.read_text().replace("train-bert|large", "train-bert/large").splitlines()
    found = list(csv.DictReader(lines, delimiter="|"))
    return [row for row in found if "." not in row["JobID"]]


def seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def gpus(row: dict) -> int:
    return int(row["AllocTRES"].partition("gres/gpu=")[2].partition(",")[0])


def test_the_file_is_what_its_generator_writes():
    assert LOG.read_text() == slurm_week.week_log()
    assert LOG.stat().st_size < 150_000


def test_another_seed_gives_another_log():
    assert slurm_week.week_log(1) != LOG.read_text()


def test_no_more_gpus_are_used_than_there_are(rows):
    changes = []
    for row in rows:
        if row["AllocTRES"]:
            changes.append((seconds(row["Start"]), gpus(row)))
            if row["End"] != "Unknown":
                changes.append((seconds(row["End"]), -gpus(row)))
    used = peak = 0
    for _, change in sorted(changes):
        used += change
        peak = max(peak, used)
    assert 56 < peak <= 64


def test_a_job_waits_only_while_others_hold_what_it_needs(rows):
    """When a job is at the head of the queue and its GPUs are free, it starts."""
    ran = [row for row in rows if row["AllocTRES"]]
    times = sorted(
        {seconds(row[end]) for row in ran for end in ("Start", "End") if row[end][0] == "2"}
    )
    waited = 0
    for now in times:
        held = sum(
            gpus(row)
            for row in ran
            if seconds(row["Start"]) <= now and (row["End"][0] != "2" or seconds(row["End"]) > now)
        )
        queue = [row for row in ran if seconds(row["Submit"]) <= now < seconds(row["Start"])]
        if queue:
            head = min(queue, key=lambda row: (seconds(row["Submit"]), rows.index(row)))
            waited += 1
            assert gpus(head) > 64 - held
    assert waited > 50


def test_the_awkward_rows_are_all_there(rows):
    trace = read_trace(LOG, class_by="name:^(train|eval|solve)")
    assert trace.server_unit == "gpus"
    assert sorted(trace.classes) == ["eval", "solve", "train"]
    counts = {each.reason: each.count for each in trace.skipped}
    steps = sum("." in line.partition("|")[0] for line in LOG.read_text().splitlines())
    assert counts == {
        "job step": steps,
        "cancelled before it started": sum(row["Start"] == "None" for row in rows),
        "not finished": sum(row["State"] in ("RUNNING", "PENDING") for row in rows),
        "earlier run of a requeued job": sum(row["State"] == "REQUEUED" for row in rows),
    }
    assert all(counts.values())
    assert any("_" in row["JobID"] for row in rows)
    assert sum(row["JobName"] == "train-bert/large" for row in rows) == 1
    names = read_trace(LOG, class_by="name:.*", most_classes=99).classes
    assert "train-bert|large" in names


def test_the_log_looks_like_a_busy_cluster():
    summary = summarise(read_trace(LOG), servers=64)
    assert 0.65 < summary.offered_load < 0.75
    assert summary.interarrival_cv > 2.0
    assert summary.dispersion > 3.0
    assert summary.by_weekday[6].rate < 0.5 * summary.by_weekday[2].rate
    assert summary.by_hour[14].rate > 3.0 * summary.by_hour[3].rate
    assert summary.waits.mean > 600.0
    assert 0.1 < summary.classes[0].estimate_ratio < 0.9
