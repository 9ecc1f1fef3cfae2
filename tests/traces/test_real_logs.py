"""Published logs and output of a real Slurm, against counts that do not use our readers."""

from __future__ import annotations

import csv
import gzip
import re
from collections import Counter
from datetime import datetime

import numpy as np
import pytest

from moldable import Scenario, read_trace
from moldable.errors import InputError
from moldable.traces import draft_scenario, summarise, write_trace

ARCHIVE = {
    "KTH-SP2-1996-2.1-cln.swf.gz": (28_476, 100, "1996-09-23", 0.70),
    "NASA-iPSC-1993-3.1-cln.swf.gz": (18_239, 128, "1993-10-01", 0.47),
}
"""Records, processors, start of the log and offered load, as the archive gives them."""


@pytest.mark.parametrize("name", ARCHIVE)
def test_logs_of_the_archive_have_all_their_jobs(real_logs, name):
    records, processors, begins, load = ARCHIVE[name]
    trace = read_trace(real_logs / name)
    lines = gzip.decompress((real_logs / name).read_bytes()).decode().splitlines()
    rows = [list(map(float, line.split())) for line in lines if not line.startswith(";")]
    assert len(rows) == records
    jobs = [row for row in rows if row[3] > 0 and max(row[4], row[7]) > 0]
    assert len(trace) == len(jobs)
    assert len(trace) + sum(each.count for each in trace.skipped) == records
    assert trace.run_time.sum() == sum(row[3] for row in jobs)
    assert trace.servers.sum() == sum(row[4] if row[4] > 0 else row[7] for row in jobs)
    assert trace.span == jobs[-1][1] - jobs[0][1]
    waits = [row[2] for row in jobs if row[2] >= 0]
    assert np.nansum(trace.wait) == sum(waits)
    assert trace.capacity == processors
    first = datetime.fromisoformat(begins)
    assert abs((trace.origin.replace(tzinfo=None) - first).total_seconds() - jobs[0][1]) < 86400
    summary = summarise(trace)
    assert summary.offered_load == pytest.approx(load, abs=0.005)
    assert (summary.waits is None) == (not waits)


def test_the_interarrival_variation_of_kth_is_the_published_one(real_logs):
    summary = summarise(read_trace(real_logs / "KTH-SP2-1996-2.1-cln.swf.gz"))
    assert summary.interarrival_cv == pytest.approx(3.3, abs=0.05)
    quiet, busy = (summary.by_hour[hour].rate for hour in (5, 14))
    assert busy > 10 * quiet  # a working day, in local time
    assert summary.by_weekday[5].rate < 0.5 * summary.by_weekday[1].rate


def test_philly_has_all_its_jobs(real_logs):
    path = real_logs / "philly.csv.gz"
    trace = read_trace(path, class_by="partition", most_classes=100)
    text = gzip.decompress(path.read_bytes()).decode()
    rows = [row for row in csv.DictReader(text.splitlines()) if row["timestamp"]]
    assert len(trace) == len(rows) == 82_247
    assert not trace.skipped
    assert trace.run_time.sum() == pytest.approx(sum(float(row["duration"]) for row in rows))
    assert (trace.run_time * trace.servers).sum() == pytest.approx(
        sum(float(row["gpu_time"]) for row in rows)
    )
    clusters = Counter(row["cluster"] for row in rows)
    sizes = np.bincount(trace.job_class)
    assert {name: sizes[k] for k, name in enumerate(trace.classes)} == clusters
    assert trace.origin.isoformat(" ") == min(row["timestamp"] for row in rows)


@pytest.mark.parametrize("name", ["sacct_jobs.txt", "sacct_all_fields.txt"])
def test_the_output_of_sacct_has_all_its_jobs(real_logs, name):
    lines = (real_logs / "slurm" / name).read_text().splitlines()
    header = lines[0].split("|")
    # Cells of the one row with a "|" in its name are shifted; its state and times are known.
    rows = [dict(zip(header, line.split("|"), strict=False)) for line in lines[1:]]
    rows = [row if row["JobID"] != "46" and "pipe" not in str(row) else None for row in rows]
    whole = [row for row in rows if row is not None and "." not in row["JobID"]]
    ran = [
        row
        for row in whole
        if row["State"] != "REQUEUED" and row["Start"] != "None" and int(row["ElapsedRaw"]) > 0
    ]
    trace = read_trace(real_logs / "slurm" / name, count="cpus")
    assert len(trace) == len(ran) == 43
    assert trace.run_time.sum() == sum(int(row["ElapsedRaw"]) for row in ran)
    assert trace.servers.sum() == sum(int(row["NCPUS"]) for row in ran)
    counts = {each.reason: each.count for each in trace.skipped}
    assert len(lines) - 1 == len(trace) + sum(counts.values())
    steps = sum(re.search(r"\|\d+\.(batch|extern|\d+)\|", line) is not None for line in lines)
    assert counts.get("job step", 0) == steps
    assert counts["earlier run of a requeued job"] == 1
    assert counts["cancelled before it started"] == 1
    assert counts["run time of 0 s"] == 2  # job 44, and job 46 with "|" in its name
    assert "wrong number of columns" not in counts
    gpus = read_trace(real_logs / "slurm" / name, count="gpus")
    assert sorted(gpus.servers) == [2, 8]


def test_the_log_of_finished_jobs_agrees_with_the_accounting(real_logs):
    folder = real_logs / "slurm"
    by_plugin = read_trace(folder / "jobcomp_filetxt.txt", count="cpus", class_by="name:.*")
    by_sacct = read_trace(folder / "sacct_jobs.txt", count="cpus", class_by="name:.*")
    lines = (folder / "jobcomp_filetxt.txt").read_text().splitlines()
    states = Counter(re.search(r"JobState=(\w+)", line)[1] for line in lines)
    assert states["PENDING"] == 1  # how a requeued job is logged
    assert len(by_plugin) + sum(each.count for each in by_plugin.skipped) == len(lines) == 52
    assert len(by_plugin) == len(by_sacct)
    np.testing.assert_array_equal(by_plugin.submit, by_sacct.submit)
    assert sorted(by_plugin.run_time) == sorted(by_sacct.run_time)
    assert sorted(by_plugin.servers) == sorted(by_sacct.servers)


@pytest.mark.parametrize(
    "name", ["slurm/sacct_default_fields.txt", "slurm/sinfo_N_O.txt", "slurm/squeue_O.txt"]
)
def test_other_output_of_slurm_is_refused(real_logs, name):
    with pytest.raises(InputError, match=r"no column for the time of submission|not recognised"):
        read_trace(real_logs / name)


@pytest.mark.parametrize("name", [*ARCHIVE, "slurm/sacct_jobs.txt", "slurm/jobcomp_filetxt.txt"])
def test_every_log_gives_a_scenario_and_survives_writing(real_logs, tmp_path, name):
    trace = read_trace(real_logs / name)
    (tmp_path / "draft.toml").write_text(draft_scenario(trace))
    scenario = Scenario.read(tmp_path / "draft.toml")
    assert 0.0 < scenario.load < 1.0
    write_trace(trace, tmp_path / "log.swf")
    again = read_trace(tmp_path / "log.swf")
    np.testing.assert_array_equal(again.run_time, trace.run_time)
    np.testing.assert_array_equal(again.start, trace.start)
