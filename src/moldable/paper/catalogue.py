"""Which experiments are there, and where?"""

from __future__ import annotations

from importlib import import_module
from typing import Final

from moldable.errors import InputError, nearest
from moldable.paper.experiment import Experiment

MODULES: Final = {
    "table": "table",
    "blocking": "sweep_experiments:BLOCKING",
    "time": "sweep_experiments:TIME",
    "collapse": "collapse",
    "fluid": "fluid_paths",
    "rates": "rates",
    "heterogeneous": "heterogeneous",
    "insensitivity": "insensitivity",
    "errata": "errata",
}
"""The module of each experiment, in the order of the report, and its name there unless that is
EXPERIMENT; names like those of the standard library or of other rooms are avoided."""

ALL: Final = "all"


def experiments(name: str) -> list[Experiment]:
    """Return the experiment of this name, or all of them."""
    if name == ALL:
        return [_load(each) for each in MODULES]
    if name not in MODULES:
        raise InputError(f"experiment {name!r} is unknown; {nearest(name, [*MODULES, ALL])}")
    return [_load(name)]


def _load(name: str) -> Experiment:
    module, _, attribute = MODULES[name].partition(":")
    found = getattr(import_module(f"moldable.paper.{module}"), attribute or "EXPERIMENT")
    assert isinstance(found, Experiment)  # noqa: S101 - the table above says so
    return found
