"""How does a folder of results become REPRODUCTION.md and docs/paper/?

Run as `python -m moldable.paper.report RESULTS`, in the folder that is to receive them. Every
number comes from the results; nothing is copied by hand.
"""

from __future__ import annotations

import argparse
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from moldable.errors import MoldableError, ResultsError
from moldable.paper.catalogue import ALL, experiments
from moldable.paper.experiment import Experiment, Results, Scale
from moldable.paper.reproduction import results_of
from moldable.paper.run_folder import RunFolder
from moldable.text_files import read_bytes, write_whole

_SUMMARY: Final = """\
# Reproduction of the paper

Every figure and table of *On Optimal Server Allocation for Moldable Jobs with Concave Speed-Up*,
reproduced with `moldable reproduce all --scale {scale} --seed {seed}`
(moldable {version}, numpy {numpy}, numba {numba}; {machine}).
{effort}

This page and those it links to are generated from the results by `make paper`; no number was copied
by hand."""

_OVERVIEW: Final = """\
# The paper, reproduced

`moldable reproduce` computes every figure and table of the paper, at its own scale, with a verdict
on each number. These pages are generated from one run of it (scale {scale}, seed {seed})."""

WHERE: Final = Path("docs/paper")
FENCE: Final = "```"


def write_report(folder: RunFolder, target: Path) -> None:
    """Write REPRODUCTION.md and docs/paper/ into the target folder."""
    scale = Scale(str(folder.manifest["parameters"]["scale"]))
    chosen = experiments(ALL)
    _refuse_unfinished(folder, chosen, scale)
    found = {e.name: results_of(e, scale, folder) for e in chosen}
    pages = target / WHERE
    if pages.exists():
        shutil.rmtree(pages)
    (pages / "figures").mkdir(parents=True)
    for experiment in chosen:
        text = f"# {experiment.title}\n\n{experiment.report(found[experiment.name])}\n"
        _write(pages / f"{experiment.name}.md", text)
        for drawing in experiment.drawings(found[experiment.name]):
            for kind in ("png", "svg"):
                name = f"{drawing.name}.{kind}"
                figure = read_bytes(folder.path / "figures" / name)
                write_whole(pages / "figures" / name, figure, "report")
    overview = _OVERVIEW.format(**folder.manifest["parameters"])
    _write(pages / "index.md", _listed(overview, chosen, found, ""))
    summary = _listed(_summary(folder), chosen, found, f"{WHERE.as_posix()}/")
    _write(target / "REPRODUCTION.md", summary)


def _summary(folder: RunFolder) -> str:
    manifest = folder.manifest
    return _SUMMARY.format(
        **manifest["parameters"],
        version=manifest["versions"]["moldable"],
        numpy=manifest["versions"]["numpy"],
        numba=manifest["versions"]["numba"],
        machine="; ".join(manifest["machines"]),
        effort=_effort(folder),
    )


def _effort(folder: RunFolder) -> str:
    """Say what the run took, what of it the table did, and its cells by the paper's method."""
    timings, scale = folder.timings, Scale(str(folder.manifest["parameters"]["scale"]))
    (table,) = experiments("table")
    # A cell that was copied into the folder may have no time.
    used = [timings[cell.key] for cell in table.cells(scale) if cell.key in timings]
    method = [timing for key, timing in timings.items() if key.startswith("method/")]
    arrivals, seconds = (sum(timing[what] for timing in method) for what in ("arrivals", "seconds"))
    return (
        f"It took {sum(t['seconds'] for t in timings.values()) / 60:.1f} minutes in all and the "
        f"table alone {sum(t['seconds'] for t in used) / 60:.1f}; its {len(method)} cells by the "
        f"paper's method, {arrivals / 1e9:.2f} billion arrivals, took {seconds / 60:.1f} of them."
    )


def _listed(
    beginning: str, chosen: list[Experiment], found: Mapping[str, Results], base: str
) -> str:
    parts = [beginning]
    for experiment in chosen:
        results = found[experiment.name]
        sentences = "\n".join(f"- {s}" for s in experiment.findings(results))
        parts.append(f"## [{experiment.title}]({base}{experiment.name}.md)\n\n{sentences}")
        if experiment.overview is not None:
            parts.append(experiment.overview(results))
    return "\n\n".join(parts) + "\n"


def _write(path: Path, text: str) -> None:
    """Write a page; the star of D* and greedy(p*) must not be taken for emphasis."""
    parts = text.split(FENCE)
    parts[::2] = [re.sub(r"\b([A-Za-z])\*(?!\*)", r"\1\\*", prose) for prose in parts[::2]]
    write_whole(path, FENCE.join(parts).encode(), "report")


def _refuse_unfinished(folder: RunFolder, chosen: list[Experiment], scale: Scale) -> None:
    missing = [cell.key for e in chosen for cell in e.cells(scale) if not folder.has(cell.key)]
    if missing:
        raise ResultsError(
            f"{folder.path} misses {len(missing)} cells, such as {missing[0]}; finish it with: "
            f"moldable reproduce all --scale {scale} --out {folder.path} --resume"
        )


def main() -> None:
    """Write the report of the folder named on the command line into the current folder."""
    parser = argparse.ArgumentParser(prog="python -m moldable.paper.report", description=__doc__)
    parser.add_argument(
        "results", type=Path, help="a folder that moldable reproduce all has filled"
    )
    arguments = parser.parse_args()
    try:
        write_report(RunFolder.read(arguments.results), Path())
    except MoldableError as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
