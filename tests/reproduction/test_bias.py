"""The predicted bias of the paper's method, against formulas and against short runs."""

from __future__ import annotations

import math

import numpy as np
import pytest

from moldable import Scenario, SpeedUp, evaluate, greedy_p
from moldable.exact import erlang_b
from moldable.sizes import Deterministic, Exponential, MixedErlang, Pareto
from reproduction.bias import DEFICITS, Response, predict
from reproduction.experiment import Effort
from reproduction.settings import CURVES, SETTINGS

LINEAR = SpeedUp([1.0, 2.0, 3.0, 4.0, 5.0])
NEVER_SHORT = Response(np.array([0.0, 1.0]), np.zeros(2), np.ones((2, 1)), (5,))


def response(curve: SpeedUp, load: float, servers: int) -> Response:
    policy = greedy_p(Scenario.single(curve, load, servers))
    points = []
    for deficit in DEFICITS:
        answer = evaluate(Scenario.single(curve, load * (1 - deficit), servers), policy)
        shares = {str(width): share for width, share in answer.width_shares.items()}
        points.append(
            {"deficit": deficit, "blocking": answer.blocking.value, "width_shares": shares}
        )
    return Response.read({"points": points})


@pytest.mark.parametrize("law", [Exponential(), MixedErlang(), Deterministic()])
def test_light_tails_lose_their_variance_over_the_horizon(law):
    """E[D (1 - D/T)+] / E[(1 - D/T)+] = E[D] - Var(D)/T + ..., D = S/5."""
    horizon = 500.0
    bias = predict(NEVER_SHORT, LINEAR, law, horizon).mean_execution_time
    expected = -law.variance / 25.0 / horizon
    assert bias == pytest.approx(expected, rel=0.01, abs=1e-9)


def test_pareto_sizes_lose_what_their_formula_says():
    """The two moments of a Pareto law cut at the horizon, by hand."""
    horizon, shape, least = 300.0, 1.5, 1.0 / 3.0
    cut = 5.0 * horizon

    def moment(k):  # E[S^k; S <= cut]
        return shape * least**shape * (cut ** (k - shape) - least ** (k - shape)) / (k - shape)

    counted = moment(0) - moment(1) / cut
    booked = moment(1) - moment(2) / cut
    bias = predict(NEVER_SHORT, LINEAR, Pareto(), horizon).mean_execution_time
    assert bias == pytest.approx(booked / counted / 5.0 - 0.2, rel=1e-4)


def test_blocking_is_the_time_average_of_erlangs_formula_under_the_load_so_far():
    servers, load, horizon = 100, 0.9, 50.0
    known = response(LINEAR, load, servers)
    # What is left of a job lasting 0.2 exponentially: the load has grown to 1 - exp(-5 t).
    times = np.linspace(0.0, horizon, 20_001)
    offered = servers * load / 5.0 * (1.0 - np.exp(-5.0 * times))
    blocking = np.array([erlang_b(servers // 5, a) if a > 0 else 0.0 for a in offered])
    expected = np.trapezoid(blocking, times) / horizon - erlang_b(servers // 5, offered[-1])
    found = predict(known, LINEAR, Exponential(), horizon).blocking
    assert found == pytest.approx(expected, rel=0.05)  # the response is known at a few loads only
    assert found < 0.0


@pytest.mark.parametrize("setting", [SETTINGS[0], SETTINGS[4]], ids=lambda setting: setting.key)
@pytest.mark.parametrize("law", [Exponential(), Pareto()], ids=str)
def test_short_runs_by_the_papers_method_show_the_predicted_bias(setting, law):
    """Within 4 standard errors and a tenth of the bias, which the approximation may be off."""
    servers, arrivals, runs = 100, 20_000, 100
    exact = evaluate(setting.scenario(servers))
    horizon = arrivals / (servers * setting.load(servers))
    known = response(CURVES[setting.curve], setting.load(servers), servers)
    bias = predict(known, CURVES[setting.curve], law, horizon)
    answers = Effort(7).runs(
        runs,
        setting.scenario(servers, law),
        setting.policy(servers),
        jobs=arrivals,
        start="empty",
        estimator="completed_only",
        warmup=0.0,
    )
    for metric in ("mean_execution_time", "blocking"):
        values = np.array([getattr(answer, metric).value for answer in answers])
        measured = values.mean() - getattr(exact, metric).value
        error = values.std(ddof=1) / math.sqrt(runs)
        predicted = getattr(bias, metric)
        assert abs(measured - predicted) < 4 * error + 0.1 * abs(predicted)
        if isinstance(law, Pareto):  # without the prediction, the test would notice
            assert abs(measured) > 4 * error + 0.1 * abs(predicted)
