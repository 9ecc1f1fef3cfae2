"""Replay of the KTH-SP2 log: moldable jobs with EASY backfill against rigid ones.

Each job may run on half of the servers that its user asked for; policies are tuned on the first
half of the log and judged on the second. The log of the Parallel Workloads Archive is read from
../shared/data or $MOLDABLE_DATA. The expected changes were measured by an independent program, with
another random shift of the submissions; those of a good policy may be better.

`python -m verification.kth_replay` draws docs/images/replay.svg.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from moldable import read_trace, replay
from moldable.reporting.figures import BLUE, GREY, ORANGE, new_figure, rendered
from moldable.traces import Replay
from verification.verdict import Verdict

ROOT = Path(__file__).resolve().parents[1]
LOG = (
    Path(os.environ.get("MOLDABLE_DATA", ROOT.parent / "shared" / "data"))
    / "KTH-SP2-1996-2.1-cln.swf.gz"
)
SEED = 1
BASELINE = {"mean_wait": 4926.0, "mean_response": 14654.0, "bounded_slowdown": 63.8}
TUNED, RANGE_RULE = "tuned", "largest that fits"
# Per cent by which response, wait and bounded slowdown change against rigid EASY.
EXPECTED = {
    "downey:p:1": {TUNED: (-15, -71, -68), RANGE_RULE: (-9, -39, -30)},
    "downey:2p:1": {TUNED: (-10, -59, -57), RANGE_RULE: (-6, -34, -28)},
    "amdahl:0.95": {TUNED: (-20, -78, -74), RANGE_RULE: (-13, -51, -45)},
    "linear": {TUNED: (0, -32, -26), RANGE_RULE: (0, -22, -17)},
}
KEYS = ("mean_response", "mean_wait", "bounded_slowdown")
NOISE = {"mean_response": 2.0, "mean_wait": 5.0, "bounded_slowdown": 6.0}
"""Percentage points by which two sets of shifted copies differ."""
GROUPS = (
    ("below 10 minutes", 0.0, 600.0),
    ("10 minutes to 1 hour", 600.0, 3600.0),
    ("1 to 10 hours", 3600.0, 36000.0),
    ("10 hours and more", 36000.0, float("inf")),
)
"""Groups of jobs by the recorded run time in seconds."""
LABELS = {
    "downey:p:1": "Downey,\nA = p",
    "downey:2p:1": "Downey,\nA = 2p",
    "amdahl:0.95": "Amdahl\n0.95",
    "linear": "linear",
}


def experiments() -> Iterator[Verdict]:
    """Print a table for each curve, and compare its changes with the expected ones."""
    if not LOG.is_file():
        print(f"  skipped: no log at {LOG}; set MOLDABLE_DATA to its folder")
        return
    for curve, expected in EXPECTED.items():
        found = replayed(curve)
        _show(curve, found)
        if curve == "downey:p:1":
            yield from _baseline(found)
            _show_groups(found)
        for name, changes in expected.items():
            for key, change in zip(KEYS, changes, strict=True):
                own = 100.0 * found[name].changes[key].value
                # A larger reduction than expected by a tuned policy is no error.
                gap = own - change if name == TUNED else abs(own - change)
                yield Verdict(
                    f"{curve}, {name}: {key} changes by {own:+.1f} %, expected {change:+d} %",
                    gap,
                    NOISE[key],
                )
    yield from _without_a_limit()


def replayed(
    curve: str, least: float = 0.5, policies: tuple[str, ...] = ("even-price", TUNED)
) -> Replay:
    """Replay the log."""
    return replay(read_trace(LOG), policies, curves=curve, least=least, seed=SEED)


def _baseline(found: Replay) -> Iterator[Verdict]:
    for key, expected in BASELINE.items():
        own = getattr(found[found.baseline].figures, key).value
        what = f"rigid EASY: {key} {own:,.1f}, expected {expected:,.1f}"
        yield Verdict(f"{what}, relative difference", abs(own / expected - 1.0), 0.03)


def _without_a_limit() -> Iterator[Verdict]:
    """Shrinking to one server makes long jobs run for days."""
    for curve in ("downey:2p:1", "linear"):
        limited, unlimited = (
            replayed(curve, least, ("even-price",))["even-price"] for least in (0.5, 1e-9)
        )
        gap = limited.figures.mean_response / unlimited.figures.mean_response
        print(
            f"  {curve}, default even price: mean response {limited.figures.mean_response:,.0f} s "
            f"with half the request at least, {unlimited.figures.mean_response:,.0f} s without a "
            f"limit ({100 * unlimited.changes['mean_response']:+.1f} % against rigid EASY)"
        )
        yield Verdict(f"{curve}: a least width is better than none, ratio of responses", gap, 1.0)


def _show(curve: str, found: Replay) -> None:
    print(f"  {curve}: tuned policy {found.tuned.name if found.tuned else 'none'}")
    for run in found.runs:
        figures, changes = run.figures, run.changes
        changed = " / ".join(f"{100 * changes[key].value:+.1f}" for key in KEYS)
        print(
            f"    {run.name:18} wait {figures.mean_wait:9,.0f} s, response "
            f"{figures.mean_response:9,.0f} s, slowdown {figures.bounded_slowdown:7,.1f}; response "
            f"/ wait / slowdown {changed} %; {run.earlier:.0%} earlier, {run.later:.0%} later",
            flush=True,
        )


def _show_groups(found: Replay) -> None:
    """Print who gains and who loses, by the recorded run time."""
    judged = found.setting.trace.select(found.setting.judged)
    run = judged.run_time
    curve = found.setting.kinds
    kinds = curve.of_job[found.setting.judged]
    least, _, first, stretch = curve.stretches
    width = found[TUNED].width
    after = found[TUNED].start - judged.submit + run * stretch[first[kinds] + width - least[kinds]]
    before = found[found.baseline].start - judged.submit + run
    for name, low, high in GROUPS:
        own = (run >= low) & (run < high)
        print(
            f"    {name:20} {own.sum():6,} jobs: mean response {before[own].mean():8,.0f} s -> "
            f"{after[own].mean():8,.0f} s; {np.mean(after[own] < 0.9 * before[own]):.0%} earlier, "
            f"{np.mean(after[own] > 1.1 * before[own]):.0%} later"
        )


def main() -> None:
    """Draw the changes against rigid EASY for each curve."""
    figure = new_figure((9.0, 3.6))
    panels = figure.subplots(1, 3)
    results = {curve: replayed(curve) for curve in EXPECTED}
    bars = {RANGE_RULE: GREY, "even-price": ORANGE, TUNED: BLUE}
    for axes, key, title in zip(
        panels, KEYS, ("mean response time", "mean wait", "mean bounded slowdown"), strict=True
    ):
        for place, (name, colour) in enumerate(bars.items()):
            changes = [found[name].changes[key] for found in results.values()]
            heights = [100.0 * change.value for change in changes]
            ends = [change.interval or (change.value, change.value) for change in changes]
            spread = [
                [height - 100.0 * low for height, (low, _) in zip(heights, ends, strict=True)],
                [100.0 * high - height for height, (_, high) in zip(heights, ends, strict=True)],
            ]
            across = [each + 0.27 * (place - 1) for each in range(len(results))]
            label = {"even-price": "even price, default"}.get(name, name)
            axes.bar(across, heights, 0.27, yerr=spread, color=colour, label=label, capsize=2)
        axes.axhline(0.0, color="black", linewidth=0.8)
        axes.set_xticks(range(len(results)), [LABELS[curve] for curve in results], size=8)
        axes.set_title(title, size=10)
    panels[0].set_ylabel("change against rigid EASY, %")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    (ROOT / "docs/images/replay.svg").write_bytes(rendered(figure, "svg"))


if __name__ == "__main__":
    main()
