"""What do blocking and mean execution time against n come to, in words?"""

from __future__ import annotations

from moldable.paper import markdown, sweep
from moldable.paper.experiment import Result, Results
from moldable.paper.settings import CURVES, SETTINGS, Setting

LINEAR, SUB_LINEAR = CURVES


def how(results: Results) -> str:
    """Say how the numbers were found."""
    parts = [
        part
        for setting in SETTINGS
        for policy in sweep.POLICIES
        for part in sweep.along(results, setting, policy)
    ]
    simulated = [part for part in parts if part["method"] == "simulate"]
    sizes = sweep.SIZES[results.scale]
    text = (
        f"{len(sizes)} sizes from {sizes[0]:,} to {sizes[-1]:,} servers, exponential sizes. "
        f"{len(parts) - len(simulated)} of {len(parts)} points are exact."
    )
    if not simulated:
        return text
    arrivals = sum(part["arrivals"] for part in simulated)
    return (
        f"{text} The other {len(simulated)}, greedy(p*) with widths 3 and 4 from "
        f"n = {simulated[0]['servers']} on, come from {arrivals / 1e6:,.0f} million simulated "
        f"arrivals in all; their 95 % intervals are shown."
    )


def table(results: Results, quantity: str) -> str:
    """Return a few sizes of every setting and policy, with the limit."""
    sizes = sweep.SIZES[results.scale]
    shown = sorted({0, len(sizes) // 3, 2 * len(sizes) // 3, len(sizes) - 1})
    header = ["setting", "policy", *(f"n = {sizes[k]:,}" for k in shown), "limit at the last n"]
    body = []
    for setting in SETTINGS:
        for policy in sweep.POLICIES:
            parts = sweep.along(results, setting, policy)
            values = [markdown.estimate(parts[k], quantity) for k in shown]
            last = f"{parts[-1][f'{quantity}_limit']:.6g}"
            body.append([setting.words, policy, *values, last])
    return markdown.table(header, body)


def remainder(results: Results) -> str:
    """Say what happens where the widest width does not divide n."""
    widest = int(CURVES[LINEAR].widths[-1])
    odd = [n for n in sweep.SIZES[results.scale] if n % widest]
    setting = Setting(LINEAR, "Halfin-Whitt")
    part = results[sweep.key(setting, odd[0])][sweep.GREEDY_P]
    return (
        f"Where {widest} does not divide n ({', '.join(f'{n:,}' for n in odd)}) the servers left "
        f"over are granted to one narrower job at a time. On the linear curve, Halfin-Whitt, "
        f"n = {odd[0]}, that raises the mean execution time to "
        f"{markdown.estimate(part, 'mean_execution_time')} from "
        f"{part['mean_execution_time_limit']:g}, which holds exactly at every multiple."
    )


def _last(results: Results, setting: Setting, policy: str) -> Result:
    return sweep.along(results, setting, policy)[-1]


def blocking_finding(results: Results) -> str:
    """Compare both schemes at the largest n."""
    regimes = [s for s in SETTINGS if s.curve == SUB_LINEAR]
    ours = [_last(results, s, sweep.GREEDY_P) for s in regimes]
    greedy = [_last(results, s, sweep.GREEDY) for s in regimes]
    return (
        f"Blocking of greedy(p*) vanishes as the paper shows, but slowly: on the sub-linear curve "
        f"it is still {_each(ours, 'blocking')} at n = {ours[0]['servers']:,} (regimes in the "
        f"paper's order); greedy stays at {_each(greedy, 'blocking')}, the limits being "
        f"{_each(greedy, 'blocking_limit')}."
    )


def time_finding(results: Results) -> str:
    """Compare both schemes at the largest n."""
    regimes = [s for s in SETTINGS if s.curve == SUB_LINEAR]
    ours = [_last(results, s, sweep.GREEDY_P) for s in regimes]
    greedy = [_last(results, s, sweep.GREEDY) for s in regimes]
    return (
        f"Mean execution time of greedy(p*) on the sub-linear curve reaches "
        f"{_each(ours, 'mean_execution_time')} at n = {ours[0]['servers']:,}, D* there being "
        f"{_each(ours, 'mean_execution_time_limit')}; greedy is faster, "
        f"{_each(greedy, 'mean_execution_time')}, and pays with blocking."
    )


def _each(parts: list[Result], name: str) -> str:
    return " / ".join(f"{part[name]:.4f}" for part in parts)
