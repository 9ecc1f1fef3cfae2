"""`moldable doctor` with a real Slurm."""

from __future__ import annotations

from moldable.installation.checks import slurm_check


def test_the_controller_of_a_real_slurm_answers(small_nodes):
    assert small_nodes.run("scontrol", "ping")
    found = slurm_check()
    assert found.state == "ok"
    assert found.detail.endswith("the controller answers")
