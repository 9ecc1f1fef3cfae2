"""A scenario drafted from a log, with its assumptions as comments."""

from __future__ import annotations

import json
import math
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import numpy as np

from moldable.arrays import Floats, Ints
from moldable.checks import check_type, within
from moldable.errors import InputError, naming, printable, suggest
from moldable.files.notation import MODELS, parse_speedup
from moldable.model.speedup import SpeedUp
from moldable.model.units import SECONDS, SYMBOLS, checked_unit
from moldable.traces.class_summary import ClassSummary
from moldable.traces.size_fit import SizeFit, fit_size_law
from moldable.traces.summary import SERVERS_FROM, TraceSummary, summarise
from moldable.traces.trace import Trace

ASSUMED_CURVE: Final = "power:0.8"
"""The curve of classes without one; a power law has no width at which it saturates."""
WIDEST: Final = 0.2
"""Share of the jobs of a class that must have asked for a width, or a wider one, to allow it."""
COLUMNS: Final = 96
MOST_WIDTHS: Final = 8
"""Recorded widths that are listed."""
WIDEST_OF_ALL, ROUNDING = 2**62, 1e-9

CurveText = str | SpeedUp


def draft_scenario(
    trace: Trace,
    *,
    servers: int | None = None,
    curve: CurveText | Mapping[str, CurveText] = ASSUMED_CURVE,
    time_unit: str | None = None,
    widest: float | None = None,
) -> str:
    r"""Draft a workload file from a log.

    The size of a job is its run time x the speed-up of its recorded width under the assumed curve.
    Each class gets the arrival rate and the mean size of its jobs, and a size law with their
    coefficient of variation. Comments state every assumption.

    Args:
        trace: the log.
        servers: size of the cluster; by default what the log says, or the most servers that were
            in use at a time.
        curve: the speed-up curve, as text or a `SpeedUp`, or one for each class by name. A model
            may be written without its largest width, see `widest`.
        time_unit: unit of time of the scenario; by default it suits the run times.
        widest: the widest width of a class is the largest that at least this share of its jobs
            asked for or exceeded; 0 allows the widest recorded one. By default 0.2 for models
            without a largest width, which are guesses at widths that few jobs were run at; other
            curves are not limited.

    Examples:
        >>> _ = Path("log.csv").write_text("submit,run_time,servers\n0,60,2\n30,90,4\n60,30,1\n")
        >>> text = draft_scenario(read_trace("log.csv"), servers=8, curve="amdahl:0.95")
        >>> _ = Path("draft.toml").write_text(text)
        >>> Scenario.read("draft.toml").workload.classes[0].speedup.widths.tolist()
        [1, 2, 4]
    """
    check_type(trace, Trace, "trace", InputError, "read_trace('log.swf')")
    if widest is not None:
        widest = within(widest, "widest", InputError, 0.0, 1.0, "0.2 is 20 %")
    summary = summarise(trace, servers=servers)
    if not summary.span > 0.0:
        raise InputError(
            "all jobs were submitted at the same time, so there is no arrival rate; read a longer "
            "log"
        )
    mean = float(trace.run_time.mean())
    unit = checked_unit(time_unit) or max(
        (name for name, length in SECONDS.items() if length <= mean),
        key=SECONDS.__getitem__,
        default="seconds",
    )
    curves = _curves(curve, summary)
    lines = [*_head(summary, unit), *_arrivals(summary)]
    for part in summary.classes:
        chosen = np.flatnonzero(trace.job_class == trace.classes.index(part.name))
        text = curves.get(part.name, ASSUMED_CURVE)
        assumed = part.name not in curves or text == ASSUMED_CURVE
        lines += _class(trace.select(chosen), part, text, unit, widest, assumed=assumed)
    return "\n".join(lines) + "\n"


def speedup_at(curve: SpeedUp, widths: Ints) -> Floats:
    """Return the speed-ups of recorded widths, interpolated where the curve has gaps.

    Beyond its widest width a curve is constant; below its narrowest it is linear through 0.
    """
    found = np.interp(widths, curve.widths, curve.speedups)
    narrowest = int(curve.widths[0])
    return np.where(widths < narrowest, curve.speedups[0] * widths / narrowest, found)


def curve_for(text: CurveText, widest: int) -> SpeedUp:
    """Read a curve; a model without its largest width reaches to the widest recorded width."""
    if isinstance(text, SpeedUp):
        return text
    check_type(text, str, "curve", InputError, "text such as 'amdahl:0.95', or a SpeedUp")
    return parse_speedup(_completed(text, widest))


def widest_width(asked: Ints, text: CurveText, share: float | None) -> int:
    """Return the widest width of a class; see `draft_scenario`.

    Args:
        asked: the servers that its jobs asked for.
        text: its curve.
        share: that must have asked for this many or more; None: the default for this curve.
    """
    if share is None:
        if not isinstance(text, str) or _completed(text, 1) == text:
            return WIDEST_OF_ALL
        share = WIDEST
    rank = max(math.ceil(share * asked.size - ROUNDING), 1)
    return int(np.sort(asked)[-rank])


def _completed(text: str, widest: int) -> str:
    """Return a model with its largest width; other texts are returned as they are."""
    name, *values = text.split(":")
    model = MODELS.get(name.strip().lower())
    if model is not None and len(values) == len(model.parameters) - 1:
        return f"{text}:{widest}"
    return text


def _curves(
    curve: CurveText | Mapping[str, CurveText], summary: TraceSummary
) -> dict[str, CurveText]:
    names = [part.name for part in summary.classes]
    if not isinstance(curve, Mapping):
        return dict.fromkeys(names, curve)
    for name in curve:
        if name not in names:
            raise InputError(f"{name!r} is not a class; {suggest(str(name), names)}", "curve")
    return dict(curve)


def _head(summary: TraceSummary, unit: str) -> list[str]:
    source = printable(Path(summary.source).name)
    begins = "" if summary.begins is None else f", from {summary.begins}"
    return [
        f"# Drafted from {source}: {summary.jobs} jobs in {summary.span / 86400:.3g} days{begins}.",
        *_comment(
            f"Recorded: offered load {summary.offered_load:.3g}, utilisation "
            f"{or_unknown(summary.utilisation)}. Jobs ran at the widths that users asked for."
        ),
        *_comment(
            "Speed-up curves are assumptions: a log does not show one job at several widths. "
            "Replace them by measurements. Sizes, times on one server, depend on them: size = run "
            "time x speed-up of the recorded width."
        ),
        f"servers = {summary.servers}".ljust(31)
        + f"# {summary.server_unit}, {SERVERS_FROM[summary.servers_from]}",
        'waiting = "unlimited"          # jobs wait for servers; none is lost',
        f'time_unit = "{unit}"'.ljust(31) + "# results are in the same unit",
    ]


def _arrivals(summary: TraceSummary) -> list[str]:
    cv, dispersion = summary.interarrival_cv, summary.dispersion
    lines = _comment(
        f"Arrivals are taken to be Poisson. In the log the times between them have a coefficient "
        f"of variation of {or_unknown(cv)} (Poisson: 1) and the jobs in an hour an index of "
        f"dispersion of {or_unknown(dispersion)} (Poisson: 1): waits will be longer than "
        f"computed if these are well above 1."
    )
    if math.isfinite(cv) and cv > 1.0:
        lines.append("# Burstier, with the same variation, is the following instead:")
        lines.append(f'# arrivals = "renewal:{cv:.3g}"')
    return [*lines, 'arrivals = "poisson"']


def _class(
    part: Trace,
    summary: ClassSummary,
    text: CurveText,
    unit: str,
    share: float | None,
    *,
    assumed: bool,
) -> list[str]:
    with naming(f"class {summary.name!r}"):
        curve = curve_for(text, int(part.servers.max()))
    sizes = part.run_time * speedup_at(curve, part.servers)
    fit, symbol, length = fit_size_law(sizes), SYMBOLS[unit], SECONDS[unit]
    mean = float(sizes.mean()) / length
    lines = [
        "",
        "[[class]]",
        f"name = {_quoted(summary.name)}",
        *_comment(_recorded(summary, symbol, length)),
        f'arrival_rate = "{summary.arrival_rate * length:.6g}/{symbol}"',
        f'mean_size = "{mean:.6g} {symbol}"',
        *_size(fit),
    ]
    widest = max(widest_width(part.servers, text, share), int(curve.widths[0]))
    return [*lines, *_speedup(summary, text, curve, widest, assumed=assumed)]


def _recorded(summary: ClassSummary, symbol: str, length: float) -> str:
    time = summary.run_time
    return (
        f"{summary.jobs} jobs with {100 * summary.work_share:.3g} % of the server-time; mean run "
        f"time {time.mean / length:.3g} {symbol}, coefficient of variation {time.cv:.3g}; "
        f"interarrival coefficient of variation {or_unknown(summary.interarrival_cv)}."
    )


def _size(fit: SizeFit) -> list[str]:
    told = (
        f"Sizes have a coefficient of variation of {fit.cv:.3g}; of the laws with it this one is "
        f"nearest (largest difference of the distribution functions {fit.distance:.2g})."
    )
    return [*_comment(told), f'size = "{fit.law}"']


def _speedup(
    summary: ClassSummary, text: CurveText, curve: SpeedUp, widest: int, *, assumed: bool
) -> list[str]:
    widths = sorted(summary.widths)
    common = sorted(widths, key=lambda w: -summary.widths[w])[:MOST_WIDTHS]
    shares = ", ".join(f"{w} ({100 * summary.widths[w] / summary.jobs:.3g} %)" for w in common)
    told = f"Recorded widths: {shares}{', and others' if len(widths) > MOST_WIDTHS else ''}."
    if len(widths) > 1:
        told += " Jobs of different widths are different jobs; no curve was inferred from them."
    if assumed:
        told += f" The curve {ASSUMED_CURVE} is a guess."
    more = sum(count for width, count in summary.widths.items() if width > widest)
    if more:
        told += (
            f" The widest planned width is {widest}: {100 * more / summary.jobs:.3g} % of the jobs "
            f"asked for more."
        )
    limited = curve.up_to(widest)
    powers = all(w & (w - 1) == 0 for w in widths) and widths[-1] > 2  # noqa: PLR2004
    allowed = limited.widths.tolist()
    if powers and allowed[0] == 1 and {2, 4} <= set(allowed):
        told += " All are powers of two, so only these are allowed."
        allowed = [w for w in allowed if w & (w - 1) == 0]
    elif isinstance(text, str) and not text.lower().endswith(".csv"):
        written = _completed(text, min(widest, widths[-1]))
        if limited is curve or written != text:
            return [*_comment(told), f"speedup = {_quoted(written)}"]
    at = dict(zip(curve.widths.tolist(), curve.speedups.tolist(), strict=True))
    pairs = ", ".join(f"{w} = {at[w]:.6g}" for w in allowed)
    return [*_comment(told), f"speedup = {{ {pairs} }}"]


def _comment(text: str) -> list[str]:
    return textwrap.wrap(text, COLUMNS, initial_indent="# ", subsequent_indent="# ")


def _quoted(text: str) -> str:
    """Return text as a TOML string."""
    return json.dumps(printable(text), ensure_ascii=False)


def or_unknown(value: float | None) -> str:
    """Return a number as text."""
    return "unknown" if value is None or math.isnan(value) else f"{value:.3g}"
