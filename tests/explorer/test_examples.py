"""The examples in the docstrings of the explorer run."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from pathlib import Path

import pytest

from moldable import Scenario, explorer
from moldable.explorer.question import ClassInput, Question

MODULES = [each.name for each in pkgutil.iter_modules(explorer.__path__)]


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name, tmp_path, monkeypatch):
    module = importlib.import_module(f"moldable.explorer.{name}")
    monkeypatch.chdir(tmp_path)
    known = {"ClassInput": ClassInput, "Question": Question, "Path": Path, "Scenario": Scenario}
    printed: list[str] = []
    for test in doctest.DocTestFinder().find(module, extraglobs=known):
        doctest.DocTestRunner().run(test, out=printed.append)
    assert not printed, "".join(printed)
