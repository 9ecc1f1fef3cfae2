"""The reproduction is an application of the public names."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import moldable
import reproduction
from reproduction.errata_list import ERRATA

SOURCES = {path.name: path.read_text() for path in Path(reproduction.__path__[0]).glob("*.py")}
SOURCES |= {erratum.key: erratum.program for erratum in ERRATA}


def private_imports(source: str) -> Iterator[str]:
    """Name what is imported from `moldable` other than public names and those of sub-packages."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names if each.name.split(".")[0] == "moldable")
        elif isinstance(node, ast.ImportFrom) and node.module == "moldable":
            yield from (each.name for each in node.names if each.name not in moldable.__all__)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("moldable."):
            package = node.module.removeprefix("moldable.")
            public = getattr(getattr(moldable, package, None), "__all__", ())
            yield from (f"{package}.{each.name}" for each in node.names if each.name not in public)


@pytest.mark.parametrize("name", SOURCES)
def test_nothing_private_is_imported(name):
    assert list(private_imports(SOURCES[name])) == []


@pytest.mark.parametrize(
    "line",
    [
        "import moldable.errors",
        "from moldable.errors import cut",
        "from moldable.exact.pool import PoolLaw",
        "from moldable.exact import PoolLaw",
        "from moldable import cli",
    ],
)
def test_a_private_import_would_be_noticed(line):
    assert list(private_imports(f"def late():\n    {line}"))
