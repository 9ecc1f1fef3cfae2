"""The stationary law in the plane."""

from __future__ import annotations

import numpy as np
import pytest

from moldable.exact import stationary_law
from reproduction import collapse
from tiny_results import tiny


def test_the_plane_holds_nearly_all_mass_below_full_capacity():
    _, results = tiny("collapse")
    for part in results.cells.values():
        mass = np.array(part["plane"]["mass"])
        assert 1.0 - 4 * collapse.OUTSIDE - 1e-9 <= mass.sum() <= 1.0 + 1e-9
        narrow, wide = (np.array(edges[:-1]) + 0.5 for edges in part["plane"]["edges"])
        first, second = part["support"]
        busy = first * narrow[:, None] + second * wide[None, :]
        assert mass[busy > part["servers"]].sum() == 0.0


def test_summaries_are_those_of_the_exact_law():
    _, results = tiny("collapse")
    (part,) = collapse.FROM_THREE.along(results)
    setting, n = collapse.FROM_THREE.setting, part["servers"]
    theory = stationary_law(setting.scenario(n)).theory
    several = sum(part["narrow_jobs"][2:])
    assert part["distance"] == pytest.approx(theory.distance)
    assert several == pytest.approx(theory.several_narrow_jobs)
    assert several > 0.1  # the collapse lemma says 0


def test_the_lemma_holds_from_width_1_on():
    _, results = tiny("collapse")
    (part,) = collapse.FROM_ONE.along(results)
    assert part["narrow_jobs"] == pytest.approx([1.0])


def test_tables_and_texts_say_what_was_found():
    experiment, results = tiny("collapse")
    made = experiment.publish(results)
    assert [row["widths"] for row in made.tables["collapse"]] == ["1-2", "3-4"]
    assert len(made.drawings) == 2
    assert "the lemma states 0" in made.findings[0]
