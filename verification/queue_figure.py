"""Draw docs/images/response.svg: the mean response time of all policies against the load.

Run it as `python -m verification.queue_figure`.
"""

from __future__ import annotations

import math
from pathlib import Path

from moldable import Scenario, evaluate
from moldable.errors import UnstableError
from moldable.optimal import optimal_queueing
from moldable.reporting.figures import BLUE, GREEN, GREY, ORANGE, VERMILION, new_figure, rendered
from verification.named_curves import SUBLINEAR

SERVERS = 16
LOADS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.55, 0.6, 0.65, 0.69, 0.75, 0.8, 0.85, 0.88, 0.92)
POLICIES = {
    "greedy": (VERMILION, "--"),
    "fixed:1": (GREY, "-."),
    "fixed:2": (GREY, "--"),
    "idle-share": (ORANGE, "-"),
    "even-price": (GREEN, "-"),
    "value": (BLUE, "-"),
    "equi": ("black", ":"),
}


def main() -> None:
    """Compute every curve exactly and draw them."""
    figure = new_figure((7.0, 4.4))
    axes = figure.subplots()
    for policy, (colour, style) in POLICIES.items():
        points = [(load, found) for load in LOADS if (found := _response(load, policy))]
        label = "preemptive bound (EQUI)" if policy == "equi" else policy
        axes.plot(*zip(*points, strict=True), style, color=colour, label=label)
    best = [optimal_queueing(_scenario(load), tolerance=1e-5).mean_response_time for load in LOADS]
    axes.plot(LOADS, best, "o", color="black", markersize=4, label="optimum of all policies")
    axes.set(
        xlabel="load",
        ylabel="mean response time in mean sizes",
        ylim=(0.0, 1.6),
        title=f"{SERVERS} servers, speed-ups 1, 1.8, 2.5, 3, 3.4, unlimited queue",
    )
    axes.legend()
    target = Path(__file__).parents[1] / "docs/images/response.svg"
    target.write_bytes(rendered(figure, "svg"))


def _scenario(load: float) -> Scenario:
    return Scenario.single(SUBLINEAR, load, SERVERS, waiting=math.inf)


def _response(load: float, policy: str) -> float | None:
    try:
        return evaluate(_scenario(load), policy).queueing.mean_response_time.value
    except UnstableError:
        return None


if __name__ == "__main__":
    main()
