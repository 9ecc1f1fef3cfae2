"""Every published file of measurements is read and fitted, and its dips are named.

The files are long tables of several programs. They are split here into one file for each curve, and
curves, speed-ups and dips are computed again without our readers.
"""

from __future__ import annotations

import csv
import math
from collections import defaultdict

import numpy as np
import pytest
from scipy.stats import norm

from moldable.files.curve_csv import read_curve
from moldable.fitting import fit, read_measurements
from moldable.fitting.noise import ASSUMED
from moldable.model.speedup import SpeedUp

COLUMNS = {
    "samples_per_s": "samples_per_s",
    "steps_per_s_total": "steps_per_s",
    "ns_per_day": "throughput",
    "time_s": "time_s",
}
"""The column of values in the files that are written, by metric."""
FILES = {"sia_pollux.csv": (455, 6, 6), "gavel.csv": (111, 4, 6), "uob_hpc.csv": (80, 7, 8)}
"""Curves of at least two widths, programs and machines, counted by awk:

awk -F, 'NR>1{k=$5 FS $6 FS $7 FS $10; if(!((k,$9) in s)){s[k,$9]; n[k]++}; p[k]=$5; m[k]=$6}
END{for(k in n) if(n[k]>1){c++; P[p[k]]; M[m[k]]}; print c, length(P), length(M)}' FILE
"""


def curves_of(path):
    """Return {(program, machine, configuration, metric): [(width, value), ...]}."""
    found = defaultdict(list)
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            key = tuple(row[name] for name in ("application", "machine", "config", "metric"))
            found[key].append((int(row["workers"]), float(row["value"])))
    return {key: pairs for key, pairs in found.items() if len({w for w, _ in pairs}) > 1}


def times_of(metric, pairs):
    """Return the mean time at each width."""
    runs = defaultdict(list)
    for width, value in pairs:
        runs[width].append(value if metric == "time_s" else 1.0 / value)
    return {width: sum(runs[width]) / len(runs[width]) for width in sorted(runs)}


def naive_dips(times):
    """Return the widths that are slower than a narrower one beyond 3 % noise of single runs."""
    widths = list(times)
    dips = set()
    for k, width in enumerate(widths[1:], start=1):
        reach = norm.ppf(1.0 - 0.025 / k) * ASSUMED * math.sqrt(2.0)
        if any(math.log(times[width] / times[other]) > reach for other in widths[:k]):
            dips.add(width)
    return dips


@pytest.mark.parametrize("name", FILES)
def test_every_curve_of_a_published_table_is_read(real_data, tmp_path, name):
    curves = curves_of(real_data / name)
    programs, machines = ({key[k] for key in curves} for k in (0, 1))
    assert (len(curves), len(programs), len(machines)) == FILES[name]
    path, dipping = tmp_path / "curve.csv", 0
    for (_, _, _, metric), pairs in curves.items():
        rows = "".join(f"{width},{value!r}\n" for width, value in pairs)
        path.write_text(f"workers,{COLUMNS[metric]}\n{rows}")
        curve, times = read_curve(path), times_of(metric, pairs)
        assert curve.widths.tolist() == list(times)
        narrowest = min(times)
        expected = [narrowest * times[narrowest] / time for time in times.values()]
        assert curve.speedups == pytest.approx(expected)
        assert read_measurements(path).mean_times == pytest.approx(list(times.values()))
        steps = np.diff([times[width] for width in sorted(times)])
        assert curve.is_increasing() == bool((steps < 0).all())
        dipping += bool((steps > 0).any())
    assert dipping > 0


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.long] * (name != "gavel.csv")) for name in FILES],
)
def test_one_curve_of_every_program_and_machine_is_fitted(real_data, tmp_path, run, name):
    chosen = {key[:2]: (key, pairs) for key, pairs in curves_of(real_data / name).items()}
    path, named = tmp_path / "curve.csv", 0
    for (_, _, _, metric), pairs in chosen.values():
        rows = "".join(f"{width},{value!r}\n" for width, value in pairs)
        path.write_text(f"workers,{COLUMNS[metric]}\n{rows}")
        answer = fit(path)
        if len(pairs) == len({width for width, _ in pairs}):
            assert {dip.width for dip in answer.dips} == naive_dips(times_of(metric, pairs))
        assert np.isfinite(answer.curve.speedups).all()
        named += len(answer.dips)
        result = run("fit", str(path))
        assert result.returncode == 0, result.stderr
        shown = " ".join(result.stdout.split())
        assert all(str(dip) in shown for dip in answer.dips[:3])
    assert named > 0


def test_every_representative_curve_is_fitted(real_curves, tmp_path):
    assert len(real_curves) == 25
    path = tmp_path / "curve.csv"
    for entry in real_curves:
        pairs = list(zip(entry["workers"], entry["speedup"], strict=True))
        path.write_text("width,speedup\n" + "".join(f"{w},{s!r}\n" for w, s in pairs))
        curve = read_curve(path)
        assert curve == SpeedUp(dict(pairs))
        assert curve.is_increasing() == entry["increasing"]
        answer = fit(path)
        speeds = dict(pairs)
        relative = {w: 1.0 / s for w, s in speeds.items()}
        assert {dip.width for dip in answer.dips} == naive_dips(relative)
