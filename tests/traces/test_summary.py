from __future__ import annotations

import math
from dataclasses import replace
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from moldable import read_trace
from moldable.errors import InputError
from moldable.traces import summarise
from naive import job_logs

EXAMPLE = "examples/slurm-week.txt"


def random_trace(log, seed, jobs=300, days=9.0):
    """Return a log with the arrivals of several days, and its jobs as tuples."""
    rng = np.random.default_rng(seed)
    submit = np.sort(rng.integers(0, int(days * 86400), jobs))
    wait = rng.integers(0, 5000, jobs)
    run = rng.integers(1, 20000, jobs)
    width = rng.integers(1, 9, jobs)
    name = rng.choice(["a", "b", "b", "c"], jobs)
    rows = zip(submit, wait, run, width, name, strict=True)
    text = "submit,wait,run_time,servers,class\n" + "\n".join(",".join(map(str, r)) for r in rows)
    trace = read_trace(log(text), class_by="class")
    first = int(submit[0])
    tuples = [
        (s - first, s - first + w, r, i)
        for s, w, r, i in zip(*(x.tolist() for x in (submit, wait, run, width)), strict=True)
    ]
    return trace, tuples


@pytest.mark.parametrize("seed", range(5))
def test_load_utilisation_and_peak_are_those_of_a_naive_count(log, seed):
    trace, jobs = random_trace(log, seed)
    found = summarise(trace, servers=40)
    assert found.offered_load == pytest.approx(job_logs.offered_load(jobs, 40), rel=1e-12)
    assert found.utilisation == pytest.approx(job_logs.utilisation(jobs, 40), rel=1e-12)
    peak = summarise(trace)
    assert (peak.servers, peak.servers_from) == (job_logs.peak(jobs), "peak")


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "origin",
    [
        datetime(2026, 11, 2, 8, 30, 15),  # noqa: DTZ001
        # The clock goes back on 25 October 2026 in Stockholm, and forward on 29 March.
        datetime(2026, 10, 22, 23, 59, 59, tzinfo=ZoneInfo("Europe/Stockholm")),
        datetime(2026, 3, 27, 1, 2, 3, tzinfo=ZoneInfo("Europe/Stockholm")),
        datetime(2026, 3, 27, 1, 2, 3, tzinfo=ZoneInfo("Asia/Kolkata")),  # half an hour off
    ],
)
def test_rates_by_hour_are_those_of_a_walk_through_the_log(log, seed, origin):
    trace, jobs = random_trace(log, seed)
    found = summarise(replace(trace, origin=origin))
    rates, dispersion = job_logs.hourly(jobs, origin)
    assert [period.rate for period in found.by_hour] == pytest.approx(rates, rel=1e-9)
    assert found.dispersion == pytest.approx(dispersion, rel=1e-9)


def test_classes_have_their_own_distributions(log):
    trace, jobs = random_trace(log, 1)
    found = summarise(trace)
    assert found.classes[0].name == "b"
    assert sum(part.jobs for part in found.classes) == len(jobs)
    assert math.fsum(part.work_share for part in found.classes) == pytest.approx(1.0)
    for part in found.classes:
        chosen = [k for k, index in enumerate(trace.job_class) if trace.classes[index] == part.name]
        runs = sorted(jobs[k][2] for k in chosen)
        assert part.run_time.mean == pytest.approx(sum(runs) / len(runs))
        assert part.run_time.quantiles[0.5] == pytest.approx(np.median(runs))
        assert sum(part.run_time.counts) == len(runs)
        edges = part.run_time.edges
        bins = zip(edges, edges[1:], part.run_time.counts, strict=False)
        assert all(count == sum(low <= run < high for run in runs) for low, high, count in bins)
        widths = [jobs[k][3] for k in chosen]
        assert part.widths == {w: widths.count(w) for w in sorted(set(widths))}
        assert part.mean_width == pytest.approx(sum(widths) / len(widths))


def test_poisson_arrivals_have_variation_and_dispersion_one_and_batches_do_not(log):
    rng = np.random.default_rng(7)
    gaps = rng.exponential(60.0, 20_000)
    for batch, expected in ((1, 1.0), (5, 3.0)):
        # Batches of b at Poisson times: interarrival CV^2 = 2 b - 1, dispersion b.
        times = np.repeat(np.cumsum(gaps[: gaps.size // batch]), batch)
        text = "submit,run_time,servers\n" + "".join(f"{t},60,1\n" for t in times.tolist())
        found = summarise(read_trace(log(text)))
        assert found.interarrival_cv == pytest.approx(expected, rel=0.05)
        error = math.sqrt(2.0 / (found.span / 3600.0))  # of a ratio of variance and mean
        assert abs(found.dispersion / batch - 1.0) < 4.0 * error
        assert abs(found.dispersion - (6 - batch)) > 4.0 * error * batch


def test_waits_are_of_the_jobs_whose_start_is_known(log):
    text = "submit,start,run_time,servers\n0,10,60,1\n5,,60,1\n10,40,60,1\n"
    waits = summarise(read_trace(log(text))).waits
    assert (waits.jobs, waits.mean, waits.median, waits.longest) == (2, 20, 20, 30)
    assert summarise(read_trace(log("submit,run_time,servers\n0,6,1\n9,6,1\n"))).waits is None


def test_a_log_without_dates_has_no_hours_of_the_day(log):
    found = summarise(read_trace(log("submit,run_time,servers\n0,6,1\n9,6,1\n")))
    assert found.by_hour == found.by_weekday == ()
    assert found.begins is None


def test_one_job_or_one_time_of_submission_gives_no_rates_but_an_answer(log):
    for rows in ("0,6,1\n", "0,6,1\n0,7,2\n"):
        found = summarise(read_trace(log("submit,run_time,servers\n" + rows)))
        assert math.isnan(found.offered_load)
        assert found.to_dict()["arrival_rate"] is None
        assert found.utilisation is None


def test_the_size_of_the_cluster_is_given_or_in_the_log_or_the_peak(log):
    text = "# servers: 9\nsubmit,run_time,servers\n0,60,2\n9,60,4\n"
    trace = read_trace(log(text))
    assert summarise(trace).servers == 9
    assert summarise(trace, servers=12).servers_from == "given"
    with pytest.raises(InputError, match=r"servers=3 is less than the 4 servers of the widest job"):
        summarise(trace, servers=3)
    assert summarise(replace(trace, capacity=3)).servers_from == "peak"


def test_a_part_of_a_log_keeps_its_clock(log):
    trace, _ = random_trace(log, 3)
    dated = replace(trace, origin=datetime(2026, 11, 2))  # noqa: DTZ001
    later = dated.select(slice(100, None))
    found = summarise(later)
    assert found.jobs == 200
    begins = dated.origin + timedelta(seconds=float(later.submit[0]))
    assert found.begins == begins.isoformat()
    with pytest.raises(InputError, match=r"no jobs"):
        summarise(trace.select(slice(0, 0)))


def test_the_summary_says_what_it_is_of():
    found = summarise(read_trace(EXAMPLE), servers=64)
    assert repr(found).startswith("TraceSummary('examples/slurm-week.txt': 512 jobs in 1 classes")
    assert found.classes[0].estimate_ratio < 1.0
