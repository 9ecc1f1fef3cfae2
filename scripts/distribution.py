"""Build the wheel and the sdist, check them, and try them in an empty environment.

`make dist` runs this. The files are built in a temporary folder, and copied to `dist/` once every
check has passed:

- the sdist is built from the checkout, and the wheel from the sdist; a wheel that is built from the
  checkout directly must have the same bytes;
- the wheel has the manual page, and exactly those files of the package that git tracks;
- twine and check-wheel-contents find nothing;
- the wheel is installed into an empty environment, where the first examples of the README run;
- all extras can be resolved for every supported version of Python, from wheels only.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from moldable import __version__

ROOT: Final = Path(__file__).resolve().parents[1]
PROJECT: Final = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
CONSTRAINTS: Final = ROOT / "constraints.txt"
MAN_PAGE: Final = "share/man/man1/moldable.1"
IN_SDIST: Final = ("pyproject.toml", "README.md", "LICENSE", "CITATION.cff", "man/moldable.1")
UNWANTED: Final = re.compile(r"(^|/)(tests|__pycache__|\.[a-z_]+_cache|\.venv)(/|$)")
METADATA: Final = re.compile(r"moldable-[^/]+\.(dist-info|data)/")
COLUMNS: Final = "92"
"""Width of the outputs in the README."""
QUIET: Final = ("--disable-pip-version-check", "--quiet")


class DistributionError(Exception):
    """A built file is not what it must be."""


def main() -> None:
    """Build, check, try, and write the files."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="folder for the files")
    out = parser.parse_args().out
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wheel, sdist = build(folder)
        check_wheel(wheel, tracked_files())
        check_sdist(sdist)
        run([sys.executable, "-m", "twine", "check", "--strict", wheel, sdist])
        run([sys.executable, "-m", "check_wheel_contents", wheel])
        print("built; the wheel is the same from the checkout and from the sdist", flush=True)
        try_wheel(wheel, folder / "environment")
        print("installed into an empty environment; the examples work there", flush=True)
        for version in python_versions():
            count = resolve(wheel, version, folder / "unused")
            print(f"Python {version}: all extras resolve to {count} wheels", flush=True)
        publish(out, wheel, sdist)


def build(folder: Path) -> tuple[Path, Path]:
    """Build the sdist, and from it the wheel; the wheel from the checkout must be the same."""
    # The requirements of the build are installed into an environment of their own.
    environment = os.environ | {"PIP_CONSTRAINT": str(CONSTRAINTS)}
    words = [sys.executable, "-m", "build", "--outdir"]
    run([*words, folder / "both", ROOT], environment=environment)
    run([*words, folder / "direct", "--wheel", ROOT], environment=environment)
    (sdist,), (wheel,) = (folder / "both").glob("*.tar.gz"), (folder / "both").glob("*.whl")
    if (folder / "direct" / wheel.name).read_bytes() != wheel.read_bytes():
        raise DistributionError(f"{wheel.name} from the sdist is not that from the checkout")
    return wheel, sdist


def tracked_files() -> set[str]:
    """Return the files of the package that git tracks, relative to src."""
    listed = run(["git", "ls-files", "-z", "src/moldable"])
    return {name.removeprefix("src/") for name in listed.split("\0") if name}


def check_wheel(wheel: Path, expected: set[str]) -> None:
    """Compare the files of the wheel with those of the package."""
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    metadata = {name for name in names if METADATA.match(name)}
    if differing := sorted((names - metadata) ^ expected):
        raise DistributionError(
            f"either in {wheel.name} or in the checkout, but not in both: "
            f"{', '.join(differing[:10])}; add new files to git before make dist"
        )
    if not any(name.endswith(f".data/data/{MAN_PAGE}") for name in metadata):
        raise DistributionError(f"{wheel.name} has no {MAN_PAGE}")


def check_sdist(sdist: Path) -> None:
    """Check that the sdist has what a build needs, and neither tests nor caches."""
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    if missing := [name for name in IN_SDIST if name not in names]:
        raise DistributionError(f"{sdist.name} lacks {', '.join(missing)}")
    if unwanted := sorted(name for name in names if UNWANTED.search(name)):
        raise DistributionError(f"{sdist.name} has {', '.join(unwanted[:10])}")


def try_wheel(wheel: Path, environment: Path) -> None:
    """Install the wheel into an empty environment, and run the first examples of the README."""
    run([sys.executable, "-m", "venv", environment])
    programs, work = environment / "bin", environment / "work"
    install = [programs / "python", "-m", "pip", *QUIET, "install", "--no-compile"]
    run([*install, "--constraint", CONSTRAINTS, wheel])
    work.mkdir()
    # Nothing of the checkout or of the caller's environment is visible.
    clean = {"PATH": str(programs), "HOME": str(work), "LANG": "C.UTF-8"}
    clean |= {"COLUMNS": COLUMNS, "NO_COLOR": "1"}
    command, shown = first_command((ROOT / "README.md").read_text())
    (work / "quick_start.txt").write_text(first_python((ROOT / "README.md").read_text()))
    first_line = f"moldable {__version__}"
    examples = {
        "moldable --version": first_line,
        "python -m moldable --version": first_line,
        "moldable doctor": first_line,
        command: shown,
        "moldable examples --copy examples": "examples/cluster.toml",
        "moldable optimum --workload examples/gpus.toml --json": "{",
        "python -m doctest quick_start.txt": "",
    }
    for example, expected in examples.items():
        program, *options = shlex.split(example)
        lines = run([programs / program, *options], folder=work, environment=clean).splitlines()
        printed = "".join(f"{line.rstrip()}\n" for line in lines)
        if not printed.startswith(expected):
            raise DistributionError(f"{example} should print {expected}\nbut prints {printed}")
    if not (environment / MAN_PAGE).is_file():
        raise DistributionError(f"{MAN_PAGE} was not installed")


def first_command(page: str) -> tuple[str, str]:
    """Return the first command of a page, and its output."""
    block = page.partition("```console\n$ ")[2].partition("```")[0]
    command, _, shown = block.partition("\n")
    return command, shown


def first_python(page: str) -> str:
    """Return the first Python example of a page."""
    return page.partition("```python\n")[2].partition("```")[0]


def python_versions() -> list[str]:
    """Return the supported versions of Python."""
    found = (re.fullmatch(r".* :: Python :: (3\.\d+)", text) for text in PROJECT["classifiers"])
    return [match[1] for match in found if match]


def resolve(wheel: Path, version: str, unused: Path) -> int:
    """Return how many wheels moldable needs with all extras under a version of Python.

    Nothing is installed. An error means that a package has no wheel for this version.
    """
    extras = ",".join(PROJECT["optional-dependencies"])
    words = [sys.executable, "-m", "pip", *QUIET, "install", "--dry-run", "--ignore-installed"]
    words += ["--python-version", version, "--only-binary=:all:", "--target", str(unused)]
    report = run([*words, "--report", "-", f"{wheel}[{extras}]"])
    return len(json.loads(report)["install"])


def publish(out: Path, *files: Path) -> None:
    """Copy the files, and remove those of other versions."""
    out.mkdir(exist_ok=True)
    for old in (*out.glob("moldable-*.whl"), *out.glob("moldable-*.tar.gz")):
        old.unlink()
    for file in files:
        shutil.copyfile(file, out / file.name)
        print(f"{out.name}/{file.name}", flush=True)


def run(
    words: Sequence[str | Path],
    folder: Path = ROOT,
    environment: Mapping[str, str] | None = None,
) -> str:
    """Run a program that must succeed, and return what it printed."""
    result = subprocess.run(  # noqa: S603 - the commands are our own
        [str(word) for word in words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if result.returncode:
        raise DistributionError(
            f"{shlex.join(map(str, words))} failed:\n{result.stdout}{result.stderr}"
        )
    return result.stdout


if __name__ == "__main__":
    try:
        main()
    except DistributionError as problem:
        sys.exit(f"make dist: {problem}")
