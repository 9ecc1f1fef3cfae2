"""Fits of speed-up curves: coverage of intervals, a quadratic program, and curves of others.

Speed-ups of 200 random curves are measured with 1 to 5 % noise, 3, 4 or 5 times at each width. The
95 % intervals (pooled relative variance, Student's t) must contain the true speed-up in 90 to 99 %
of the cases, also if the noise is lognormal or differs between widths. Intervals from resampled
runs, the usual bootstrap, contain it less often, which is why they are not used.
"""

from __future__ import annotations

import csv
import os
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from moldable import fit
from moldable.fitting import Measurements
from moldable.fitting.models import Fitted
from moldable.fitting.noise import estimated_noise, speedup_intervals
from naive.concave_fit import by_enumeration, by_quadratic_program
from naive.synthetic_measurements import random_case
from verification.verdict import Verdict

CURVES, RESAMPLES = 200, 2000
DATA = Path(os.environ.get("MOLDABLE_DATA", Path(__file__).parents[2] / "shared" / "data"))
GROUP = ("dataset", "application", "machine", "config", "worker_unit", "metric")


def experiments() -> Iterator[Verdict]:
    """Cover the intervals, the concave fit and the published curves."""
    for common in (True, False):
        for law in ("normal", "lognormal"):
            for repeats in (3, 4, 5):
                yield from _coverage(law, repeats, common=common)
    for repeats in (3, 4, 5):
        yield _resampled_runs(repeats)
    yield from _concave()
    for name in ("sia_pollux.csv", "gavel.csv", "uob_hpc.csv"):
        if (DATA / name).is_file():
            yield from _curves_of_others(DATA / name)
        else:
            print(f"  skipped: there is no {name} in the data folder (MOLDABLE_DATA)")


def _coverage(law: str, repeats: int, *, common: bool) -> Iterator[Verdict]:
    rng = np.random.default_rng(repeats)
    held: list[bool] = []
    for _ in range(CURVES):
        case = random_case(rng, repeats, law, common=common)
        low, high = speedup_intervals(case.measured, estimated_noise(case.measured))
        held += ((low <= case.truth) & (case.truth <= high))[1:].tolist()
    share = 100.0 * float(np.mean(held))
    noise = f"{law} noise {'of one size' if common else 'that differs between widths'}"
    what = f"{noise}, {repeats} repeats: {share:.1f} % of {len(held)} intervals cover the truth"
    yield Verdict(f"{what}, per cent that do not", 100.0 - share, 10.0)
    yield Verdict(f"{what}, per cent", share, 99.0)


def _resampled_runs(repeats: int) -> Verdict:
    rng = np.random.default_rng(repeats)
    held: list[bool] = []
    longer: list[bool] = []
    for _ in range(CURVES):
        case = random_case(rng, repeats, "normal")
        measured, found = case.measured, case.measured.speedup.speedups
        runs = (rng.choice(run, (RESAMPLES, len(run))) for run in measured.runs)
        times = np.stack([run.mean(axis=1) for run in runs], axis=1)
        ends = np.quantile(measured.widths[0] * times[:, :1] / times, (0.025, 0.975), axis=0)
        held += ((ends[0] <= case.truth) & (case.truth <= ends[1]))[1:].tolist()
        wide = found * (ends / found) ** np.sqrt(repeats / (repeats - 1))
        longer += ((wide[0] <= case.truth) & (case.truth <= wide[1]))[1:].tolist()
    share, more = (100.0 * float(np.mean(part)) for part in (held, longer))
    what = f"resampled runs, {repeats} repeats: per cent of intervals that cover the truth"
    return Verdict(f"{what} ({more:.1f} if longer by sqrt(n / (n - 1)))", share, 90.0)


def _concave() -> Iterator[Verdict]:
    rng = np.random.default_rng(1)
    program = enumerated = 0.0
    for _ in range(100):
        widths = np.sort(rng.choice(np.arange(1.0, 65.0), int(rng.integers(2, 11)), replace=False))
        speed = widths ** rng.uniform(0.2, 1.2) * rng.uniform(0.5, 1.5, widths.size)
        weights = rng.integers(1, 6, widths.size).astype(float)
        found = Fitted.to("concave", widths, 1.0 / speed, weights)
        assert found is not None  # noqa: S101 - the concave fit always applies
        fitted = 1.0 / found.times(widths)
        other = by_quadratic_program(widths, speed, weights)
        program = max(program, float(np.max(np.abs(fitted / other - 1.0))))
        exact = by_enumeration(widths, speed, weights)
        enumerated = max(enumerated, float(np.max(np.abs(fitted / exact - 1.0))))
    yield Verdict("100 concave fits: difference from a quadratic program", program, 1e-6)
    yield Verdict("100 concave fits: difference from all subsets", enumerated, 1e-9)


def _curves_of_others(path: Path) -> Iterator[Verdict]:
    """Fit every curve of a file; falls of 15 % below a narrower width must be named."""
    groups: defaultdict[tuple[str, ...], list[tuple[int, float]]] = defaultdict(list)
    with path.open() as file:
        for row in csv.DictReader(file):
            key = tuple(row[column] for column in GROUP)
            groups[key].append((int(row["workers"]), float(row["value"])))
    fitted = dipping = unnamed = 0
    for key, rows in groups.items():
        if len({width for width, _ in rows}) == 1:
            continue
        answer = fit(Measurements(rows, "time" if key[-1] == "time_s" else "speed"))
        fitted, dipping = fitted + 1, dipping + bool(answer.dips)
        speedups = answer.measured.speedups
        fallen = answer.widths[speedups < 0.85 * np.maximum.accumulate(speedups)]
        named = {dip.width for dip in answer.dips}
        unnamed += bool(answer.noise.assumed and not set(fallen.tolist()) <= named)
    what = f"{path.name}: {fitted} curves fitted, {dipping} with dips"
    yield Verdict(f"{what}, curves with an unnamed fall of 15 %", unnamed, 0)
