"""What counts as growth of a process, and the explorer under its load for a moment."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import numpy as np
import pytest

from verification import soak_explorer
from verification.process_sizes import Sizes, growth, sizes, verdicts
from verification.soak_explorer import ExplorerSubject

SAMPLES = 720
"""Of an hour."""


def samples(per_hour: float, *, descriptors: float = 0.0, seed: int = 1) -> list[Sizes]:
    """Return the sizes of a process of 100 MiB that grows, with noise of 1 MiB that lasts."""
    rng = np.random.default_rng(seed)
    noise, found = 0.0, []
    for k in range(SAMPLES):
        noise = 0.9 * noise + rng.normal(scale=0.4)
        hours = k / SAMPLES
        count = int(8 + descriptors * hours + rng.integers(0, 3))
        found.append(Sizes(hours, 100.0 + per_hour * hours + noise, count, 2))
    return found


def test_a_process_that_keeps_its_size_is_flat():
    assert all(verdict.holds for verdict in verdicts("x", growth(samples(0.0))))


def test_intervals_of_the_slope_cover_it():
    found = [growth(samples(5.0, seed=seed)) for seed in range(200)]
    misses = sum(abs(each.slope - 5.0) > each.half_width for each in found)
    assert misses < 200 * 0.05 + 4 * np.sqrt(200 * 0.05 * 0.95)
    assert np.mean([each.half_width for each in found]) < 5.0


@pytest.mark.parametrize(
    ("process", "failing"),
    [(samples(15.0), ["memory"]), (samples(0.0, descriptors=9.0), ["descriptors"])],
)
def test_a_leak_is_found(process, failing):
    found = [verdict.what for verdict in verdicts("x", growth(process)) if not verdict.holds]
    assert [what.split()[1] for what in found] == failing


def test_growth_before_the_warm_up_has_ended_does_not_count():
    early = [Sizes(k / SAMPLES, 100.0 + 50.0 * min(k / 200, 1.0), 8, 2) for k in range(SAMPLES)]
    assert growth(early).slope == pytest.approx(0.0, abs=1e-9)
    with pytest.raises(ValueError, match="3 samples after the warm-up"):
        growth(early[:4])


def test_the_sizes_of_a_process_are_read():
    program = "import threading, time; f = [open('/dev/null') for _ in range(9)]; x = b'1' * 2**26;"
    program += "threading.Thread(target=time.sleep, args=(60,)).start(); print(1, flush=True)"
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        found = sizes(process.pid, 0.5)
        process.kill()
    assert found.threads == 2
    assert 12 <= found.descriptors <= 14
    assert 64.0 < found.memory < 110.0


@pytest.mark.skipif(ExplorerSubject.missing() is not None, reason=str(ExplorerSubject.missing()))
def test_the_explorer_answers_the_questions_of_its_load(monkeypatch):
    for name in ("LEAST_PAUSE", "SHARE"):  # between questions
        monkeypatch.setattr(soak_explorer, name, 0.0)
    monkeypatch.setattr(soak_explorer, "MOST_SERVERS", 3)
    monkeypatch.setattr(soak_explorer, "CURVES", ("1,1.8",))
    subject = ExplorerSubject(seed=1)
    try:
        until = time.monotonic() + 300.0
        while not subject.work.startswith("2 questions") and time.monotonic() < until:
            subject.step()
            time.sleep(0.05)
        assert subject.work.startswith("2 questions on 1 pages, ")
        assert sizes(subject.process, 0.0).memory > 20.0
        assert subject.process != os.getpid()
    finally:
        subject.close()
