"""What do the rates of convergence come to, in words?"""

from __future__ import annotations

from moldable.paper import markdown
from moldable.paper.experiment import Drawing
from moldable.paper.rates_points import BLOCKING, DISTANCE, QUANTITIES, Series


def page(every: list[Series], figure: Drawing) -> str:
    """Write the page."""
    header = ["setting", "widths", *(f"{words}: fitted / stated" for words in QUANTITIES.values())]
    body = [
        [
            one.words,
            " and ".join(map(str, one.support)),
            *(f"{one.fit(q).slope:.2f} / {one.theorem[q]:.2f}" for q in QUANTITIES),
        ]
        for one in every
    ]
    return "\n\n".join(
        [
            (
                "greedy(p*), exponential sizes. A slope is the exponent of n of the power law "
                "fitted to the larger half of the sizes; beside it is the exponent of Theorem 2. "
                "The theorem asks for alpha > 0; its exponent at alpha = 0 is put beside the "
                "mean-field regime. Distance is E||x - y*|| in jobs per server, and the gap in "
                "time |E[D] - D*| in mean sizes, where D* belongs to the load of each n. The sizes "
                "with one width are no multiples of 5: at multiples every job that is admitted "
                "gets width 5, and the gap in time is exactly 0."
            ),
            figure.link,
            "## Slopes",
            markdown.table(header, body),
            _how_exact(every),
            "## Bounds",
            markdown.table(
                ["setting", "n", "distance", "its bound", "blocking", "its bound", "proof"],
                [_bound_row(one) for one in every],
            ),
            "\n".join(f"- {sentence}" for sentence in sentences(every)),
        ]
    )


def _how_exact(every: list[Series]) -> str:
    notes = []
    for one in every:
        exact = [p.servers for p in one.points[DISTANCE] if p.exact]
        others = [p.servers for p in one.points[DISTANCE] if not p.exact]
        if others:
            notes.append(
                f"For {one.words} the distance is exact only up to n = {max(exact):,}, where the "
                f"chain in as many dimensions as widths can be solved; from n = {min(others):,} on "
                f"it is the time average of a path followed event by event, with its interval."
            )
    return " ".join([*notes, "All other distances are exact at every n."])


def _bound_row(one: Series) -> list[str]:
    distance = max(one.points[DISTANCE], key=lambda point: point.servers)
    blocking = next(p for p in one.points[BLOCKING] if p.servers >= distance.servers)
    proof = "complete" if one.proof == "complete" else f"gap: {', '.join(one.gaps)}"
    return [
        one.words,
        f"{distance.servers:,}",
        f"{distance.value:.4f}",
        f"{distance.bound:.3g}",
        f"{blocking.value:.4f}",
        f"{blocking.bound:.3g}",
        proof,
    ]


def sentences(every: list[Series]) -> list[str]:
    """Return what stands out."""
    two = [one for one in every if len(one.support) > 1]
    fitted = ", ".join(f"{one.fit(DISTANCE).slope:.2f}" for one in two)
    stated = ", ".join(f"{one.theorem[DISTANCE]:.2f}" for one in two)
    blocking = ", ".join(f"{one.fit(BLOCKING).slope:.2f}" for one in two)
    bound = ", ".join(f"{one.points[BLOCKING][-1].bound:.3g}" for one in two)
    n = two[0].points[BLOCKING][-1].servers
    return [
        (
            f"With two widths the distance falls like n to the {fitted}, faster than the stated "
            f"{stated}, and blocking like n to the {blocking}: the theorem's orders are upper "
            f"bounds, far from sharp here."
        ),
        (
            f"The stated bounds on blocking with two widths, whose proof has a gap, are {bound} at "
            f"n = {n:,}: a probability is never above 1, so they say nothing at any size here."
        ),
    ]
