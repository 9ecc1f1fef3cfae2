"""Draw docs/images/learning.svg: the cumulative regret of learning and of not learning.

Run it as `python -m verification.learning_figure RUNS.jsonl`, with runs of `verification.learning`.
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

import numpy as np

from moldable.reporting.figures import BLUE, GREEN, ORANGE, VERMILION, new_figure, rendered
from verification.learning import BLOCKS, CURVES, JOBS, SEEDS, Case

COLOURS = dict(zip(CURVES, (BLUE, VERMILION, GREEN, ORANGE), strict=True))


def main(path: Path) -> None:
    """Draw a panel without a queue and one with a queue."""
    known = {each["case"]: each for each in map(json.loads, path.read_text().splitlines())}
    jobs = np.arange(1, BLOCKS + 1) * JOBS / BLOCKS
    figure = new_figure((8.4, 3.8))
    panels = figure.subplots(1, 2)
    for axes, waiting in zip(panels, (0, math.inf), strict=True):
        for curve, colour in COLOURS.items():
            runs = [known[Case(curve, waiting, seed).key] for seed in SEEDS[waiting]]
            for name, style in (("learning", "-"), ("assumed", ":")):
                regret = np.array([np.subtract(run[name], run["known"]) for run in runs])
                total = np.cumsum(regret.mean(axis=0)) * JOBS / BLOCKS
                label = curve if name == "learning" else None
                axes.plot(jobs, total, style, color=colour, label=label)
        axes.axvline(JOBS / 2, color="grey", linewidth=0.8)
        axes.axhline(0.0, color="grey", linewidth=0.8)
        axes.set(
            xlabel="jobs",
            ylabel="cumulative regret in mean sizes",
            title="with an unlimited queue" if waiting else "without a queue",
        )
    panels[0].legend(title="learning; dotted: not learning")
    target = Path(__file__).parents[1] / "docs/images/learning.svg"
    target.write_bytes(rendered(figure, "svg"))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
