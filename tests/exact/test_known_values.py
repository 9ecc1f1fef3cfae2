"""Values known before the program was written, to the digits given."""

from __future__ import annotations

from fractions import Fraction

import pytest

from moldable import Greedy, JobClass, Regime, Scenario, SpeedUp, Workload
from moldable.exact.closed_forms import erlang_b
from moldable.exact.exact import stationary_law
from moldable.policies import Rigid

LINEAR, SUB_LINEAR = SpeedUp.linear(5), SpeedUp([1, 1.8, 2.5, 3, 3.4])


def greedy_p_star(curve, servers, alpha, beta, policy=None):
    load = Regime(alpha, beta).load(servers)
    scenario = Scenario.single(curve, load, servers)
    return stationary_law(scenario, policy).performance()


@pytest.mark.parametrize(
    ("servers", "alpha", "beta", "blocking", "digit"),
    [
        (4000, 1 / 2, 0.1, 0.026722726846, 1e-12),
        (4000, 2 / 3, 0.1, 0.027442996804, 1e-12),
        (4000, 0.0, 0.2, 1.28359061e-10, 1e-18),
        (400, 0.0, 0.2, 0.00715753, 1e-8),
    ],
)
def test_a_linear_curve_whose_widest_width_divides_the_servers(
    servers, alpha, beta, blocking, digit
):
    found = greedy_p_star(LINEAR, servers, alpha, beta)
    assert found.blocking.value == pytest.approx(blocking, rel=0, abs=0.6 * digit)
    assert found.mean_execution_time.value == pytest.approx(0.2, rel=1e-15)


def test_greedy_on_the_sub_linear_curve_wastes_servers():
    found = greedy_p_star(SUB_LINEAR, 4000, 0.0, 0.2, Greedy())
    assert found.blocking.value == pytest.approx(0.155548746118, rel=0, abs=6e-13)


def test_greedy_blocks_what_the_widest_width_cannot_carry_in_the_limit():
    servers = 4_000_000
    found = greedy_p_star(SUB_LINEAR, servers, 0.0, 0.2, Greedy())
    limit = 1 - (3.4 / 5) / 0.8
    # The excess over the limit falls like 1/n: at n = 4000 it is 0.0055487.
    assert found.blocking.value - limit == pytest.approx(0.0055487 / 1000, rel=0.1)


@pytest.mark.parametrize(
    ("servers", "alpha", "blocking", "time"),
    [
        (4000, 1 / 2, 0.012586284643, 0.993745039294),
        (4000, 2 / 3, 0.012529435607, 0.998432046616),
        (100, 1 / 2, 0.078091211194, 0.962734232349),
    ],
)
def test_greedy_p_star_on_widths_1_and_2(servers, alpha, blocking, time):
    found = greedy_p_star(SUB_LINEAR, servers, alpha, 0.1)
    assert found.blocking.value == pytest.approx(blocking, rel=0, abs=6e-13)
    assert found.mean_execution_time.value == pytest.approx(time, rel=0, abs=6e-13)


@pytest.mark.parametrize(
    ("slots", "offered", "exact"),
    [
        (1, Fraction(1), Fraction(1, 2)),
        (2, Fraction(1), Fraction(1, 5)),
        (5, Fraction(3), Fraction(81, 736)),
        (10, Fraction(5), Fraction(390625, 21247437)),
    ],
)
def test_erlangs_formula_in_fractions(slots, offered, exact):
    terms = [Fraction(1)]
    for k in range(1, slots + 1):
        terms.append(terms[-1] * offered / k)
    assert terms[-1] / sum(terms) == exact  # the fraction written above is Erlang's
    assert erlang_b(slots, float(offered)) == pytest.approx(float(exact), rel=1e-15)


def test_three_rigid_classes_in_fractions():
    """Kaufman's product form, summed over every state that fits, with no rounding at all."""
    servers, widths = 12, (1, 3, 4)
    offered = (Fraction(5, 2), Fraction(2, 3), Fraction(3, 4))
    weights: dict[int, Fraction] = {}
    for a in range(servers + 1):
        for b in range(servers // 3 + 1):
            for c in range(servers // 4 + 1):
                busy = a + 3 * b + 4 * c
                if busy <= servers:
                    weight = Fraction(1)
                    for jobs, mean in zip((a, b, c), offered, strict=True):
                        for k in range(1, jobs + 1):
                            weight = weight * mean / k
                    weights[busy] = weights.get(busy, Fraction(0)) + weight
    total = sum(weights.values())
    exact = [
        float(sum(w for busy, w in weights.items() if busy > servers - width) / total)
        for width in widths
    ]
    workload = Workload(
        tuple(
            # On w servers at speed-up w a job of mean size w takes one unit of time.
            JobClass(f"{width} wide", float(mean), SpeedUp({width: float(width)}), float(width))
            for width, mean in zip(widths, offered, strict=True)
        )
    )
    found = stationary_law(Scenario(workload, servers), Rigid()).performance()
    assert found.method == "closed-form"
    assert [part.blocking.value for part in found.classes] == pytest.approx(exact, rel=1e-14)
