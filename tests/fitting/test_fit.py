"""Fits, recommendations and dips."""

from __future__ import annotations

import csv
from collections import defaultdict

import numpy as np
import pytest

from moldable import SpeedUp, fit, read_curve
from moldable.allocation import Frontier
from moldable.errors import InputError, SpeedUpError
from moldable.files import parse_speedup, published_curves
from moldable.fitting import Measurements
from moldable.fitting.models import Fitted
from naive.synthetic_measurements import random_case

KINDS = {"time": "time", "throughput": "speed", "speedup": "speedup"}
METRICS = {
    "time_s": "time",
    "ns_per_day": "speed",
    "samples_per_s": "speed",
    "steps_per_s_total": "speed",
}
GROUP = ("dataset", "application", "machine", "config", "worker_unit", "metric")


def measured(curve: SpeedUp, noise: float = 0.02, repeats: int = 4, seed: int = 1) -> dict:
    rng = np.random.default_rng(seed)
    return {
        width: (400.0 / speedup * (1.0 + noise * rng.standard_normal(repeats))).tolist()
        for width, speedup in zip(curve.widths.tolist(), curve.speedups, strict=True)
    }


@pytest.mark.parametrize(
    ("curve", "models"),
    [
        (SpeedUp.amdahl(0.9, 12), {"amdahl"}),
        (SpeedUp.power_law(0.7, 12), {"power"}),
        (SpeedUp.usl(0.02, 0.01, 16), {"usl"}),
        (SpeedUp.downey(6.0, 0.5, 12), {"downey", "concave"}),  # Downey's curves are concave
        (SpeedUp([1, 1.9, 2.8, 3.0, 3.2, 3.4, 3.6, 3.8, 4.0, 4.2]), {"concave"}),
        (SpeedUp([1, 1.9, 2.7, 1.5, 2.9, 3.5]), {"measured"}),
    ],
)
def test_the_recommended_model_is_the_one_behind_the_measurements(curve, models):
    assert fit(measured(curve, noise=0.01)).chosen in models


def test_cross_validation_leaves_out_each_inner_width_in_turn():
    runs = measured(SpeedUp.amdahl(0.9, 6))
    answer = fit(runs)
    widths = np.arange(1.0, 7.0)
    times = np.array([np.mean(run) for run in runs.values()])
    for part in answer.models:
        errors = []
        for k in range(1, 5):
            kept = [j for j in range(6) if j != k]
            found = Fitted.to(part.model, widths[kept], times[kept], np.ones(5))
            errors.append(np.log(found.times(widths[[k]])[0] / times[k]))
        expected = np.sqrt(np.mean(np.square(errors)))
        assert part.cross_validated_error == pytest.approx(expected, rel=1e-6)


def test_a_wrong_model_is_rejected_and_a_true_one_accepted_at_its_level():
    rng = np.random.default_rng(8)
    rejected = {"amdahl": 0, "power": 0}
    for _ in range(40):
        runs = {
            w: (100.0 / SpeedUp.amdahl(0.9, 8)[w] * (1 + 0.02 * rng.standard_normal(3))).tolist()
            for w in range(1, 9)
        }
        answer = fit(runs)
        for name in rejected:
            rejected[name] += answer.model(name).p_value < 0.05
    assert rejected["amdahl"] <= 7  # 2 expected; above 7 has a probability below 1 in 500
    assert rejected["power"] == 40


def test_dips_are_named_only_beyond_the_noise():
    clear = fit({1: [10.0, 10.1], 2: [6.0, 6.1], 3: [7.0, 7.1], 4: [5.0, 5.1]})
    assert [(dip.width, dip.narrower) for dip in clear.dips] == [(3, 2)]
    assert clear.dips[0].slowdown == pytest.approx(7.05 / 6.05 - 1.0)
    assert str(clear.dips[0]) == "width 3 takes 17 % longer than width 2"
    assert not fit({1: [10.0, 12.0], 2: [6.0, 7.5], 3: [6.2, 7.7]}).dips


def test_few_flat_curves_have_dips_by_chance():
    rng = np.random.default_rng(9)
    found = sum(
        bool(fit({w: (1.0 + 0.03 * rng.standard_normal(3)).tolist() for w in (1, 2, 4, 8)}).dips)
        for _ in range(100)
    )
    assert found <= 16  # at most 2.5 % for each of three widths


def test_the_curve_is_written_for_other_commands_and_spelled_on_one_line(tmp_path):
    answer = fit(measured(SpeedUp.amdahl(0.9, 8)))
    (tmp_path / "curve.csv").write_text(answer.to_csv())
    assert read_curve(tmp_path / "curve.csv") == answer.curve
    assert parse_speedup(answer.notation).speedups == pytest.approx(
        answer.curve_at_every_width().speedups, rel=1e-7
    )


def test_gaps_are_filled_by_the_model_only_if_asked(tmp_path):
    answer = fit(measured(SpeedUp({1: 1, 2: 1.9, 4: 3.5, 8: 6.0})), model="concave")
    assert answer.curve.widths.tolist() == [1, 2, 4, 8]
    every = answer.curve_at_every_width()
    assert every.widths.tolist() == list(range(1, 9))
    assert every[4] == pytest.approx(answer.curve[4])
    assert every[3] == pytest.approx((every[2] + every[4]) / 2)
    (tmp_path / "every.csv").write_text(answer.to_csv(every_width=True))
    assert read_curve(tmp_path / "every.csv") == every
    plain = fit(measured(SpeedUp({1: 1, 4: 3.5, 8: 6.0})), model="measured")
    assert plain.curve_at_every_width().widths.tolist() == [1, 4, 8]
    assert plain.curve == plain.measured


def test_without_width_one_the_narrowest_has_full_efficiency():
    truth = SpeedUp.amdahl(0.95, 16)
    runs = {w: [400.0 / truth[w]] * 2 for w in (4, 8, 16)}
    answer = fit(runs, noise=0.01)
    assert answer.measured.baseline.startswith("width 1 was not measured")
    assert answer.curve[4] == pytest.approx(4.0)
    assert answer.curve[16] == pytest.approx(4.0 * truth[16] / truth[4], rel=1e-6)
    assert answer.notation is None
    assert fit(runs, noise=0.01, model="amdahl").extrapolated == pytest.approx(truth[4], rel=1e-6)
    assert fit(runs, noise=0.01, model="concave").extrapolated is None
    assert answer.low[0] == answer.high[0]


def test_speed_ups_over_one_server_keep_their_scale_without_width_one():
    answer = fit(Measurements({2: 1.8, 4: 3.2, 8: 5.2}, "speedup"), model="concave")
    assert answer.curve.speedups == pytest.approx([1.8, 3.2, 5.2])
    assert answer.measured.baseline == ""


def test_two_widths_suffice_and_one_does_not():
    assert fit({1: 10.0, 2: 6.0}).curve[2] == pytest.approx(10 / 6)
    with pytest.raises(SpeedUpError, match=r"only width 3 was measured; a curve needs at least"):
        fit({3: [1.0, 2.0]})
    with pytest.raises(SpeedUpError, match=r"'cubic' is unknown"):
        fit({1: 10.0, 2: 6.0}, model="cubic")
    with pytest.raises(InputError, match=r"no such file"):
        fit("missing.csv")
    with pytest.raises(SpeedUpError, match=r"the time at width 2=-6 must be finite and above 0"):
        fit({1: 10.0, 2: -6.0})


@pytest.mark.parametrize("curve", published_curves(), ids=lambda curve: curve.name)
def test_published_curves_are_fitted_and_their_falls_named(curve):
    answer = fit(Measurements(curve.values, KINDS[curve.kind]))
    speedups = curve.speedup.speedups
    for dip in answer.dips:
        assert curve.speedup[dip.width] < curve.speedup[dip.narrower]
    # With the assumed noise of 3 %, a fall of 15 % below a narrower width is never missed.
    fallen = speedups < 0.85 * np.maximum.accumulate(speedups)
    assert set(curve.speedup.widths[fallen].tolist()) <= {dip.width for dip in answer.dips}
    assert answer.frontier == Frontier.of(answer.curve)


@pytest.mark.parametrize("name", ["sia_pollux.csv", "gavel.csv", "uob_hpc.csv"])
def test_measured_curves_of_others_are_fitted_and_their_falls_named(real_data, name):
    groups = defaultdict(list)
    with (real_data / name).open() as file:
        for row in csv.DictReader(file):
            key = tuple(row[column] for column in GROUP)
            groups[key].append((int(row["workers"]), float(row["value"])))
    several = [(key, rows) for key, rows in groups.items() if len({w for w, _ in rows}) > 1]
    assert len(several) > 50
    for key, rows in several[::17]:
        answer = fit(Measurements(rows, METRICS[key[-1]]))
        speedups = answer.measured.speedups
        fallen = speedups < 0.8 * np.maximum.accumulate(speedups)
        if answer.noise.assumed:
            assert set(answer.widths[fallen].tolist()) <= {dip.width for dip in answer.dips}
        assert np.isfinite(answer.curve.speedups).all()


def test_all_representative_curves_of_others_are_fitted(real_curves):
    for curve in real_curves:
        answer = fit(
            Measurements(dict(zip(curve["workers"], curve["speedup"], strict=True)), "speedup")
        )
        if not curve["increasing"]:
            assert answer.chosen in {"measured", "concave", "downey", "usl"}
        assert answer.measured.speedups == pytest.approx(curve["speedup"])


def test_random_measurements_always_give_a_curve():
    rng = np.random.default_rng(11)
    for _ in range(30):
        case = random_case(rng, int(rng.integers(1, 4)))
        answer = fit(case.measured)
        assert answer.to_dict()["chosen"] == answer.chosen
        assert len(answer.table()) == len(answer.widths)
