"""A note announces the compilation of a kernel if it takes long."""

from __future__ import annotations

import logging
import threading

import pytest

from moldable.simulation import replications
from simulation.systems import CHAIN, plan_of

KERNEL = "count-chain"


@pytest.mark.parametrize(("patience", "waits"), [(0.01, True), (600.0, False)])
def test_compiling_is_announced_if_it_takes_longer_than_patience(
    monkeypatch, caplog, patience, waits
):
    notes, noted = [], threading.Event()

    class Listener(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            notes.append(record.getMessage())
            noted.set()

    def slow(*_):
        """Compile until a note was written."""
        assert not waits or noted.wait(60)

    monkeypatch.setattr(replications, "PATIENCE", patience)
    monkeypatch.setitem(replications.RUNNERS, KERNEL, slow)
    caplog.set_level(logging.INFO, replications.LOG.name)
    listener = Listener()
    replications.LOG.addHandler(listener)
    try:
        replications.compile_kernel(plan_of(CHAIN, "empty"), KERNEL, (0,))
    finally:
        replications.LOG.removeHandler(listener)
    said = "compiling for this kind of system; the code is kept for later runs"
    assert notes == ([said] if waits else [])
