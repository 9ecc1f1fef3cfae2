"""Versions of the packages that decide what works, and the extras that are installed."""

from __future__ import annotations

import platform
import re
from importlib import metadata
from typing import Final

CORE: Final = ("numpy", "numba", "scipy")
"""Packages whose versions change results or speed."""
_NAME: Final = re.compile(r"[A-Za-z0-9._-]+")
_EXTRA: Final = re.compile(r"extra\s*==\s*['\"]([^'\"]+)['\"]")


def version_of(package: str) -> str | None:
    """Return the version of an installed package; None if it is not installed."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def versions() -> dict[str, str | None]:
    """Return the versions of moldable, Python and the packages in `CORE`."""
    return {
        "moldable": version_of("moldable"),
        "python": platform.python_version(),
        **{package: version_of(package) for package in CORE},
    }


def requirements() -> dict[str, tuple[str, ...]]:
    """Return the packages of each extra, and under "" those that moldable always needs."""
    found: dict[str, list[str]] = {"": []}
    try:
        listed = metadata.requires("moldable") or ()
    except metadata.PackageNotFoundError:  # run from its sources
        listed = ()
    for requirement in listed:
        name, extra = _NAME.match(requirement), _EXTRA.search(requirement)
        if name:
            found.setdefault(extra[1] if extra else "", []).append(name[0])
    return {extra: tuple(packages) for extra, packages in sorted(found.items())}
