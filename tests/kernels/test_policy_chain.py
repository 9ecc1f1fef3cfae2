"""The chain of a policy that looks at all running jobs, against a dense generator."""

from __future__ import annotations

import numpy as np
import pytest

from kernels.control_case import SYSTEMS, ControlCase


def numbered(case):
    """Return how many states the kernel finds, and the number of each."""
    place, waiting = (np.empty(case.problem.states, dtype=np.int32) for _ in range(2))
    found = case.kernels.policy_chain.recurrent(*case.lines, case.target, place, waiting)
    return found, place


def inflow(case, place, states):
    """Return the kernel's rows of rates, cut to what it says it used, and the rates out."""
    p = case.problem
    row, out = np.empty(states + 1, dtype=np.int32), np.empty(states)
    most = 2 * states * p.widths.size
    source, rate = np.empty(most, dtype=np.int32), np.empty(most)
    choices = (p.after, p.room, p.rates, p.arrivals, p.owner, case.decisions)
    used = case.kernels.policy_chain.policy_inflow(
        *case.lines, *choices, place, row, source, rate, out
    )
    return row, source[:used], rate[:used], out


def test_states_met_again_and_again_are_numbered_in_order(case):
    met = case.met()
    found, place = numbered(case)
    assert 1 < found < case.problem.states  # otherwise the test would be trivial
    expected = np.full(met.size, -1)
    expected[met] = np.arange(met.sum())
    assert place.tolist() == expected.tolist()


def test_rates_into_these_states_are_those_of_the_generator(case):
    found, place = numbered(case)
    row, source, rate, out = inflow(case, place, found)
    dense = np.zeros((found, found))
    for state in range(found):
        for entry in range(row[state], row[state + 1]):
            dense[source[entry], state] += rate[entry]
    assert row[0] == 0
    assert row[-1] == rate.size
    among = case.generator[np.ix_(case.met(), case.met())]
    assert dense == pytest.approx(among - np.diag(np.diag(among)), rel=1e-12)
    assert out == pytest.approx(-np.diag(among), rel=1e-12)


@pytest.mark.parametrize("system", SYSTEMS)
def test_the_same_digits_come_out_with_the_jit_off(both_ways, system):
    compiled, plain = (digits(ControlCase(kernels, *system)) for kernels in both_ways)
    assert compiled == plain


def digits(case):
    """Return all that the kernels write for a policy, to the last bit."""
    found, place = numbered(case)
    written = (found, place, *inflow(case, place, found))
    return [np.asarray(part).tobytes() for part in written]
