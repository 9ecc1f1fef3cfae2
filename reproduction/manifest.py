"""The manifest of a run: versions, machines and parameters, which must agree to resume it."""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Mapping
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, NoReturn

from moldable import MoldableError
from reproduction.experiment import Scale
from reproduction.presentation import can_draw

MANIFEST: Final = "manifest.json"
PACKAGES: Final = ("moldable", "numpy", "scipy", "numba", "matplotlib")
REPORTED: Final = ("moldable", "numpy", "numba")
"""Versions that the report names."""


def fresh_manifest(parameters: Mapping[str, str | int]) -> dict[str, Any]:
    """Return the manifest of a new run."""
    packages = PACKAGES if can_draw() else [name for name in PACKAGES if name != "matplotlib"]
    return {
        "parameters": dict(parameters),
        "versions": {
            "python": platform.python_version(),
            **{package: version(package) for package in packages},
            "source": _source(),
        },
        "machines": [machine()],
    }


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read the manifest of a folder, or refuse one of another program."""
    manifest = read_json(folder / MANIFEST)
    if not all(isinstance(manifest.get(k), dict) for k in ("parameters", "versions")):
        raise MoldableError(
            f"{folder / MANIFEST} was not written by python -m reproduction: it has no parameters "
            f"and versions; choose another --out"
        )
    return manifest


def refuse_edited(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Refuse a manifest with missing entries, which must have been edited."""
    versions, parameters = manifest["versions"], manifest["parameters"]
    machines = manifest.get("machines")
    right = {
        "machines": isinstance(machines, list) and all(isinstance(m, str) for m in machines),
        "scale": parameters.get("scale") in list(Scale),
        "seed": isinstance(parameters.get("seed"), int),
        **{name: isinstance(versions.get(name), str) for name in REPORTED},
    }
    wrong = [name for name, good in right.items() if not good]
    if wrong:
        raise MoldableError(
            f"{folder / MANIFEST} has no valid {', '.join(wrong)}; undo the edit, or start again "
            f"with --overwrite"
        )


def differences(begun: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """List the parameters and versions in which two manifests differ."""
    return [
        f"{name} {begun[part].get(name)}, not {now[part].get(name)}"
        for part in ("parameters", "versions")
        for name in dict.fromkeys([*begun[part], *now[part]])
        # If a code change does not affect the results, the fingerprint may be removed by hand.
        if begun[part].get(name) != now[part].get(name)
        and not (name == "source" and name not in begun[part])
        # A run without matplotlib has no figures yet; resuming it with matplotlib draws them.
        and not (name == "matplotlib" and None in (begun[part].get(name), now[part].get(name)))
    ]


def machine() -> str:
    """Describe this machine."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    name = named[0] if named else platform.processor()
    processor = f" ({name})" if name else ""
    return f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores{processor}"


def _source() -> str:
    """Return a fingerprint of the code: all cells of a run must come from the same code."""
    digest = hashlib.sha256()
    for package in ("moldable", "reproduction"):
        home = Path(str(files(package)))
        for file in sorted(home.rglob("*.py")):
            digest.update(file.relative_to(home).as_posix().encode())
            digest.update(file.read_bytes())
    return digest.hexdigest()[:12]


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object from a file of results."""
    try:
        content = json.loads(path.read_bytes(), parse_constant=_refuse_constant)
    except OSError as error:
        raise MoldableError(
            f"{path} cannot be read: {reason(error)}; check the folder's files"
        ) from None
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        raise MoldableError(f"{path} is damaged: it is not a JSON object; delete it and resume")
    return content


def _refuse_constant(name: str) -> NoReturn:
    """Refuse NaN and Infinity, which are not JSON."""
    raise ValueError(name)


def to_json(content: Mapping[str, Any]) -> bytes:
    """Format a JSON object for the files of results."""
    text = json.dumps(content, indent=1, allow_nan=False, ensure_ascii=False)
    return f"{text}\n".encode()


def reason(error: Exception) -> str:
    """Return the reason of a file error."""
    return (getattr(error, "strerror", None) or str(error)).lower()
