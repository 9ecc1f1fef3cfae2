"""The manifest of a run: versions, machines and parameters, which must agree to resume it."""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, NoReturn

from moldable.errors import InputError, ResultsError
from moldable.paper.drawing import refuse_without_matplotlib
from moldable.paper.experiment import Scale
from moldable.text_files import read_bytes

MANIFEST: Final = "manifest.json"
PACKAGES: Final = ("moldable", "numpy", "scipy", "numba", "matplotlib")
REPORTED: Final = ("moldable", "numpy", "numba")
"""Versions that the report names."""

Parameters = Mapping[str, str | int]


def fresh_manifest(parameters: Parameters) -> dict[str, Any]:
    """Return the manifest of a run that is begun here and now."""
    refuse_without_matplotlib()
    return {
        "parameters": dict(parameters),
        "versions": {
            "python": platform.python_version(),
            **{package: version(package) for package in PACKAGES},
            "source": _source(),
        },
        "machines": [machine()],
    }


def read_manifest(path: Path) -> dict[str, Any]:
    """Read the manifest of a folder, or refuse another program's."""
    manifest = read_json(path / MANIFEST)
    if not all(isinstance(manifest.get(k), dict) for k in ("parameters", "versions")):
        raise ResultsError(
            f"{path / MANIFEST} was not written by moldable reproduce: it has no parameters and "
            f"versions; choose another --out"
        )
    return manifest


def refuse_edited(path: Path, manifest: Mapping[str, Any]) -> None:
    """Refuse a manifest that lacks what is read of it: someone has edited it."""
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
        raise ResultsError(
            f"{path / MANIFEST} has no valid {', '.join(wrong)}; undo what was edited, or begin "
            f"again with --overwrite"
        )


def differences(begun: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Name the parameters and versions in which two manifests differ."""
    return [
        f"{name} {begun[part].get(name)}, not {now[part].get(name)}"
        for part in ("parameters", "versions")
        for name in dict.fromkeys([*begun[part], *now[part]])
        # Runs from before fingerprints were kept have none to compare.
        if begun[part].get(name) != now[part].get(name)
        and not (name == "source" and name not in begun[part])
    ]


def in_words(manifest: Mapping[str, Any]) -> str:
    """Return the parameters in one line."""
    return ", ".join(f"{name} {value}" for name, value in manifest["parameters"].items())


def machine() -> str:
    """Describe this machine."""
    return f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores{_processor()}"


def _processor() -> str:
    """Return the processor's name, where the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    name = named[0] if named else platform.processor()
    return f" ({name})" if name else ""


def _source() -> str:
    """Return a fingerprint of the package: cells of one run must come from one code."""
    home = Path(__file__).resolve().parents[1]
    digest = hashlib.sha256()
    for file in sorted(home.rglob("*.py")):
        digest.update(file.relative_to(home).as_posix().encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()[:12]


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object from a file of results."""
    try:
        content = json.loads(read_bytes(path), parse_constant=_refuse_constant)
    except InputError as error:
        raise ResultsError(str(error)) from None
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        raise ResultsError(f"{path} is damaged: it is not a JSON object; delete it and resume")
    return content


def _refuse_constant(name: str) -> NoReturn:
    """Refuse NaN and Infinity, which are no JSON and cannot be written again."""
    raise ValueError(name)


def to_json(content: Mapping[str, Any]) -> bytes:
    """Write a JSON object as the files of results are written."""
    text = json.dumps(content, indent=1, allow_nan=False, ensure_ascii=False)
    return f"{text}\n".encode()
