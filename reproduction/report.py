"""Write REPRODUCTION.md and docs/paper/ from a folder of results.

Every number comes from the results.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Final

from moldable import MoldableError
from reproduction.experiment import Publication, Scale
from reproduction.manifest import reason
from reproduction.presentation import KINDS
from reproduction.run import EXPERIMENTS, results_of
from reproduction.run_folder import RunFolder

_SUMMARY: Final = """\
# Reproduction of the paper

Every figure and table of *On Optimal Server Allocation for Moldable Jobs with Concave Speed-Up*,
reproduced with `python -m reproduction all --scale {scale} --seed {seed}`
(moldable {version}, numpy {numpy}, numba {numba}; {machine}).
{effort}

This page and the pages that it links to are generated from the results by `make paper`."""

_OVERVIEW: Final = """\
# The paper, reproduced

`python -m reproduction` computes every figure and table of the paper at its original scale, and
states for each number whether it agrees. These pages come from one run (scale {scale}, seed
{seed})."""

WHERE: Final = Path("docs/paper")
FENCE: Final = "```"


def write_report(folder: RunFolder, target: Path) -> None:
    """Write REPRODUCTION.md and docs/paper/ to the target folder."""
    scale = Scale(str(folder.manifest["parameters"]["scale"]))
    _refuse_unfinished(folder, scale)
    made = {e.name: e.publish(results_of(e, scale, folder)) for e in EXPERIMENTS.values()}
    for figure in (figure for publication in made.values() for figure in _figures(publication)):
        if not (folder.path / "figures" / figure).exists():
            raise MoldableError(
                f"{folder.path} has no figure {figure}; install matplotlib and run again with "
                f"--resume"
            )
    try:
        _write_pages(folder, made, target)
    except OSError as error:
        raise MoldableError(
            f"the report cannot be written: {reason(error)}: {error.filename}; make room there"
        ) from None


def _figures(publication: Publication) -> list[str]:
    return [f"{drawing.name}.{kind}" for drawing in publication.drawings for kind in KINDS]


def _write_pages(folder: RunFolder, made: dict[str, Publication], target: Path) -> None:
    pages = target / WHERE
    if pages.exists():
        shutil.rmtree(pages)
    (pages / "figures").mkdir(parents=True)
    for name, publication in made.items():
        _write(pages / f"{name}.md", f"# {EXPERIMENTS[name].title}\n\n{publication.page}\n")
        for figure in _figures(publication):
            shutil.copyfile(folder.path / "figures" / figure, pages / "figures" / figure)
    overview = _OVERVIEW.format(**folder.manifest["parameters"])
    _write(pages / "index.md", _listed(overview, made, ""))
    manifest = folder.manifest
    summary = _SUMMARY.format(
        **manifest["parameters"],
        version=manifest["versions"]["moldable"],
        numpy=manifest["versions"]["numpy"],
        numba=manifest["versions"]["numba"],
        machine="; ".join(_distinct(manifest["machines"])),
        effort=_effort(folder),
    )
    _write(target / "REPRODUCTION.md", _listed(summary, made, f"{WHERE.as_posix()}/"))


def _distinct(machines: list[str]) -> list[str]:
    """Leave out shorter descriptions of the same machine."""
    return [m for m in machines if not any(n != m and n.startswith(m) for n in machines)]


def _effort(folder: RunFolder) -> str:
    """Return the times of the run, of the table, and of its cells by the paper's method."""
    timings = folder.timings
    used = [t for key, t in timings.items() if key.startswith(("response/", "method/", "right/"))]
    method = [timing for key, timing in timings.items() if key.startswith("method/")]
    arrivals, seconds = (sum(timing[what] for timing in method) for what in ("arrivals", "seconds"))
    return (
        f"The run took {sum(t['seconds'] for t in timings.values()) / 60:.1f} minutes, Table 1 "
        f"{sum(t['seconds'] for t in used) / 60:.1f} of them. Its {len(method)} simulations by the "
        f"paper's method ({arrivals / 1e9:.2f} billion arrivals) took {seconds / 60:.1f} minutes."
    )


def _listed(beginning: str, made: dict[str, Publication], base: str) -> str:
    parts = [beginning]
    for name, publication in made.items():
        sentences = "\n".join(f"- {s}" for s in publication.findings)
        parts.append(f"## [{EXPERIMENTS[name].title}]({base}{name}.md)\n\n{sentences}")
        if publication.overview is not None:
            parts.append(publication.overview)
    return "\n\n".join(parts) + "\n"


def _write(path: Path, text: str) -> None:
    """Write a page; the star of D* and greedy(p*) is escaped because it would mean emphasis."""
    parts = text.split(FENCE)
    parts[::2] = [re.sub(r"\b([A-Za-z])\*(?!\*)", r"\1\\*", prose) for prose in parts[::2]]
    path.write_text(FENCE.join(parts), encoding="utf-8")


def _refuse_unfinished(folder: RunFolder, scale: Scale) -> None:
    keys = [cell.key for e in EXPERIMENTS.values() for cell in e.cells(scale)]
    missing = [key for key in keys if not folder.has(key)]
    if missing:
        raise MoldableError(
            f"{folder.path} misses {len(missing)} cells, such as {missing[0]}; finish it with: "
            f"python -m reproduction all --scale {scale} --out {folder.path} --resume"
        )
