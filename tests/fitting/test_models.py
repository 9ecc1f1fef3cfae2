"""Fitted models against independent optimisers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import least_squares, minimize

from moldable.fitting.models import MODELS, Fitted
from moldable.model.speedup import SpeedUp
from naive.concave_fit import by_enumeration, by_quadratic_program

WIDTHS = np.array([1.0, 2, 3, 4, 6, 8, 12, 16])


def noisy(curve: SpeedUp, seed: int, noise: float = 0.05) -> np.ndarray:
    rng = np.random.default_rng(seed)
    truth = np.array([curve[int(width)] for width in WIDTHS])
    return 100.0 / truth * np.exp(noise * rng.standard_normal(WIDTHS.size))


@pytest.mark.parametrize("seed", range(12))
def test_the_concave_fit_is_the_optimum_of_the_quadratic_program(seed):
    rng = np.random.default_rng(seed)
    speed = WIDTHS ** rng.uniform(0.2, 1.1) * rng.uniform(0.6, 1.4, WIDTHS.size)
    weights = rng.integers(1, 6, WIDTHS.size).astype(float)
    fitted = 1.0 / Fitted.to("concave", WIDTHS, 1.0 / speed, weights).times(WIDTHS)
    assert fitted == pytest.approx(by_quadratic_program(WIDTHS, speed, weights), rel=1e-6)
    assert fitted == pytest.approx(by_enumeration(WIDTHS, speed, weights), rel=1e-9)


def test_the_concave_fit_of_a_concave_curve_is_the_curve():
    times = 60.0 / np.array([SpeedUp.amdahl(0.9, 16)[int(width)] for width in WIDTHS])
    fitted = Fitted.to("concave", WIDTHS, times, np.ones(WIDTHS.size))
    assert fitted.times(WIDTHS) == pytest.approx(times, rel=1e-9)


@pytest.mark.parametrize(
    ("curve", "model", "expected"),
    [
        (SpeedUp.amdahl(0.93, 16), "amdahl", {"parallel_fraction": 0.93}),
        (SpeedUp.usl(0.05, 0.002, 16), "usl", {"contention": 0.05, "coherency": 0.002}),
        (SpeedUp.power_law(0.8, 16), "power", {"exponent": 0.8}),
        (SpeedUp.downey(9.0, 0.6, 16), "downey", {"average_parallelism": 9.0, "variance": 0.6}),
        (SpeedUp.downey(5.0, 1.5, 16), "downey", {"average_parallelism": 5.0, "variance": 1.5}),
    ],
)
def test_the_parameters_of_a_curve_without_noise_are_recovered(curve, model, expected):
    times = noisy(curve, 0, noise=0.0)
    fitted = Fitted.to(model, WIDTHS, times, np.ones(WIDTHS.size))
    assert fitted.parameters == pytest.approx(expected, rel=2e-5)
    assert fitted.times(WIDTHS) == pytest.approx(times, rel=1e-5)


@pytest.mark.parametrize("seed", range(6))
def test_amdahl_and_usl_reach_the_optimum_of_a_general_least_squares_solver(seed):
    times = noisy(SpeedUp.usl(0.06, 0.003, 16), seed)
    weights = np.random.default_rng(seed).integers(1, 6, WIDTHS.size).astype(float)
    formulas = {
        "amdahl": (lambda p, w: p[0] * (1.0 - p[1] + p[1] / w), [times[0], 0.9], [1.0]),
        "usl": (
            lambda p, w: p[0] * (1.0 + p[1] * (w - 1.0) + p[2] * w * (w - 1.0)) / w,
            [times[0], 0.1, 0.001],
            [1.0, np.inf],
        ),
    }
    for model, (formula, start, most) in formulas.items():
        found = least_squares(
            lambda p, f=formula: np.sqrt(weights) * (f(p, WIDTHS) / times - 1.0),
            start,
            bounds=([0.0] * len(start), [np.inf, *most]),
            x_scale=np.array(start),
            xtol=1e-14,
            ftol=1e-14,
            gtol=1e-14,
        )
        fitted = Fitted.to(model, WIDTHS, times, weights).times(WIDTHS)
        assert np.sum(weights * (fitted / times - 1.0) ** 2) <= 2.0 * found.cost * (1.0 + 1e-9)
        assert fitted == pytest.approx(formula(found.x, WIDTHS), rel=1e-4)


@pytest.mark.parametrize("seed", range(6))
def test_the_power_law_is_a_regression_line_of_logarithms(seed):
    times = noisy(SpeedUp.power_law(0.7, 16), seed)
    weights = np.random.default_rng(seed).integers(1, 6, WIDTHS.size).astype(float)
    slope, _ = np.polyfit(np.log(WIDTHS), np.log(times), 1, w=np.sqrt(weights))
    fitted = Fitted.to("power", WIDTHS, times, weights)
    assert fitted.parameters["exponent"] == pytest.approx(-slope, rel=1e-10)


@pytest.mark.parametrize("seed", range(4))
def test_no_local_search_improves_downeys_fit(seed):
    rng = np.random.default_rng(seed)
    curve = SpeedUp.downey(rng.uniform(3.0, 30.0), rng.uniform(0.1, 2.0), 16)
    times = noisy(curve, seed)
    fitted = Fitted.to("downey", WIDTHS, times, np.ones(WIDTHS.size))
    reached = np.var(np.log(fitted.times(WIDTHS) / times))

    def spread(parameters) -> float:
        a, sigma = 1.0 + abs(parameters[0]), abs(parameters[1])
        own = SpeedUp.downey(a, sigma, 16)
        speedups = np.array([own[int(width)] for width in WIDTHS])
        return float(np.var(np.log(times * speedups)))

    for _ in range(8):
        start = [rng.uniform(1.0, 40.0), rng.uniform(0.0, 2.0)]
        found = minimize(spread, start, method="Nelder-Mead", options={"maxiter": 150})
        assert reached <= found.fun * (1.0 + 1e-3) + 1e-12


@pytest.mark.parametrize("model", MODELS)
def test_a_wider_job_that_is_slower_does_not_break_a_model(model):
    times = np.array([10.0, 30.0, 20.0])
    fitted = Fitted.to(model, np.array([2.0, 3.0, 8.0]), times, np.ones(3))
    if fitted is not None:
        assert (fitted.times(np.array([2.0, 5.0, 8.0])) > 0.0).all()
