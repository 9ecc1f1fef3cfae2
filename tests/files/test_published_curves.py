"""The published curves against their sources."""

from __future__ import annotations

import pytest

from moldable.errors import InputError
from moldable.files import parse_speedup, published_curve, published_curves

NAMES = {
    "bert-aws-t4": "bert AWS T4 4/node",
    "gamer-amr": "GAMER AMR Hybrid",
    "lm-p100": "Gavel LM b5 P100",
    "ncf-azure-v100": "ncf Azure V100",
    "nemo-skylake": "NEMO Skylake",
    "openfoam-broadwell": "OpenFOAM Broadwell",
    "resnet18-rtx": "cifar10 RTX 4-GPU quad",
    "resnet50-dgx-a100": "imagenet (ResNet-50) DGX-A100",
    "rotation-forest-spark": "Rotation Forest Spark",
    "tealeaf-broadwell": "TeaLeaf Broadwell",
    "transformer-p100": "Gavel Transformer b64 P100",
    "vasp-skylake": "VASP Skylake UoB",
}


def test_the_speed_ups_are_those_of_the_sources(real_curves):
    known = {curve["name"]: curve for curve in real_curves}
    for curve in published_curves():
        source = known[NAMES[curve.name]]
        assert curve.speedup.widths.tolist() == source["workers"]
        assert curve.speedup.speedups == pytest.approx(source["speedup"], abs=6e-4)
        assert curve.speedup.is_increasing() == source["increasing"]
        assert curve.speedup.is_concave() == (source["concave_with_origin"])


def test_there_are_a_dozen_and_some_break_the_assumptions():
    curves = published_curves()
    assert len(curves) == len(NAMES) == 12
    assert sum(curve.within_assumptions for curve in curves) == 4
    assert any(curve.speedup.speedups.max() > curve.speedup.widths[-1] for curve in curves)
    assert all(curve.repository.count("/") == 1 and len(curve.commit) >= 8 for curve in curves)


def test_names_are_case_insensitive_and_unknown_ones_refused():
    assert parse_speedup("Curve:VASP-Skylake") == published_curve("vasp-skylake").speedup
    with pytest.raises(InputError, match=r"unknown curve 'xyz'; known: bert-aws-t4"):
        published_curve("xyz")
    with pytest.raises(InputError, match=r"is of type int, not str"):
        published_curve(3)
