"""What do reserved servers and one pool come to, in words?"""

from __future__ import annotations

from collections.abc import Mapping

from moldable.paper import markdown
from moldable.paper.convergence import power_law
from moldable.paper.experiment import Drawing, Result

Found = Mapping[str, Mapping[str, list[Result]]]
"""By example and way of sharing, by growing n."""


def page(found: Found, curves: Mapping[str, Mapping[str, str]], figure: Drawing) -> str:
    """Write the page."""
    parts = [
        (
            "Exponential sizes, Poisson arrivals of every class in proportion to n. Reserved "
            "servers are whole, the exact integer optimum; the pool uses the shares of (Q)."
        ),
        figure.link,
    ]
    for example, ways in found.items():
        parts += [
            f"## {example.replace('-', ' ').capitalize()}",
            _reservation(ways["reserved"][-1], curves[example]),
            _fates(ways),
        ]
    parts += ["## What to see", "\n".join(f"- {sentence}" for sentence in sentences(found))]
    return "\n\n".join(parts)


def _reservation(part: Result, curves: Mapping[str, str]) -> str:
    body = [
        [
            one["name"],
            curves[one["name"]],
            f"{one['reserved_fraction']:.4f}",
            f"{one['whole_servers']:,}",
            _shares(one),
            f"{one['limit']:.4f}",
        ]
        for one in part["classes"]
    ]
    whole = f"whole servers at n = {part['servers']:,}"
    return markdown.table(["class", "speed-up", "b*", whole, "widths", "D*"], body)


def _shares(one: Result) -> str:
    pairs = zip(one["support"], one["shares"], strict=True)
    return ", ".join(f"{width} for {100 * share:.3g} %" for width, share in pairs)


def _fates(ways: Mapping[str, list[Result]]) -> str:
    header = ["class", "n", "blocking, reserved", "pool", "mean time, reserved", "pool"]
    count = len(ways["reserved"])
    body = []
    for k, one in enumerate(ways["reserved"][0]["classes"]):
        for place in sorted({0, count // 2, count - 1}):
            pair = [ways[sharing][place]["classes"][k] for sharing in ("reserved", "pool")]
            body.append(
                [
                    one["name"],
                    f"{ways['reserved'][place]['servers']:,}",
                    *(markdown.estimate(each, "blocking") for each in pair),
                    *(markdown.estimate(each, "mean_execution_time") for each in pair),
                ]
            )
    return markdown.table(header, body)


def sentences(found: Found) -> list[str]:
    """Return what stands out."""
    spread = [max(_blocking(w["pool"][-1])) - min(_blocking(w["pool"][-1])) for w in found.values()]
    alike = (
        f"In one pool every class is blocked alike (within {max(spread):.1g} here, which is the "
        f"noise of simulation): any idle server will do, and all see the same law; reserved "
        f"classes are not."
    )
    return [*(_sentence(e.replace("-", " "), ways) for e, ways in found.items()), alike]


def _blocking(part: Result) -> list[float]:
    return [one["blocking"] for one in part["classes"]]


def _sentence(example: str, ways: Mapping[str, list[Result]]) -> str:
    reserved, pool = ways["reserved"], ways["pool"]
    n = [part["servers"] for part in reserved]
    slopes = [
        power_law(n, [part["blocking"] for part in parts]).slope for parts in (reserved, pool)
    ]
    worst = max(
        abs(one["mean_execution_time"] / one["limit"] - 1.0) for one in reserved[-1]["classes"]
    )
    return (
        f"{example.capitalize()} at n = {n[-1]:,}: every class on reserved servers is within "
        f"{100 * worst:.2g} % of its D*; jobs are blocked with probability "
        f"{reserved[-1]['blocking']:.4f} there and {pool[-1]['blocking']:.4f} in one pool, and "
        f"blocking falls like n to the {slopes[0]:.2f} and {slopes[1]:.2f}."
    )
