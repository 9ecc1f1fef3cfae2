"""The examples in the documentation of live reports, learning and rehearsals run."""

from __future__ import annotations

import doctest
import inspect

import pytest

import moldable
from moldable import policies
from moldable.live import learning, plan_file, rehearsal, report

MODULES = (report, learning, rehearsal)
NAMES = {
    name: getattr(module, name)
    for module in (moldable, policies, plan_file, *MODULES)
    for name in dir(module)
    if not name.startswith("_")
}


@pytest.mark.parametrize("name", [name for module in MODULES for name in module.__all__])
def test_an_example_runs(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = inspect.getdoc(NAMES[name])
    test = doctest.DocTestParser().get_doctest(text, dict(NAMES), name, None, None)
    assert test.examples
    printed: list[str] = []
    doctest.DocTestRunner().run(test, out=printed.append)
    assert not printed, "".join(printed)
