"""Speed-up curves of the jobs of a log, which may depend on the requested servers.

A log seldom shows one job at several widths, so the curve is an assumption. Besides the notation of
all commands, `amdahl:0.95:64`, a model may be written without its last parameter, the widest width:
the curve then holds for every width. Its other parameters may be multiples of p, the servers that
the job asked for:

`linear`, `amdahl:0.95`, `power:0.8`     the same curve for every job, at any width
`downey:p:1`                             Downey's model with average parallelism p, variance 1
`downey:2p:1`                            the same with average parallelism 2p
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast, final

from moldable.errors import InputError, WorkloadError, naming, shown, suggest
from moldable.files.notation import MODELS, parse_speedup
from moldable.model.speedup import SpeedUp
from moldable.model.spelling import Curve, as_speedup
from moldable.traces.trace import Trace

Curves = Curve | Mapping[str, Curve]
"""A curve for all jobs, or one for each class by name."""


@final
@dataclass(frozen=True, slots=True)
class RequestCurve:
    """The curve of a job as a function of the servers that it asked for.

    Attributes:
        text: how it is written.
        fixed: the curve, if it is the same for all jobs and has a widest width.
    """

    text: str
    fixed: SpeedUp | None = None

    def at(self, request: int, widest: int) -> SpeedUp:
        """Return the curve of a job that asked for `request` servers, up to the widest width."""
        if self.fixed is not None:
            return self.fixed
        name, *values = self.text.split(":")
        model = MODELS[name.strip().lower()]
        numbers = (_parameter(value, request, self.text) for value in values)
        return model.build(*numbers, widest)


def as_request_curve(curve: Curve) -> RequestCurve:
    """Return the curve that a text, a list or a mapping of speed-ups stands for."""
    if not isinstance(curve, str):
        found = as_speedup(curve)
        return RequestCurve(repr(found), found)
    text = curve.strip()
    name, *values = text.split(":")
    model = MODELS.get(name.strip().lower())
    if model is not None and len(values) == len(model.parameters) - 1:
        relative = RequestCurve(text)
        relative.at(1, 1)  # checks the parameters
        return relative
    return RequestCurve(text, parse_speedup(text))


def curves_of(trace: Trace, curves: Curves) -> tuple[RequestCurve, ...]:
    """Return the curve of each class of a trace."""
    named = _by_class(curves)
    if named is None:
        return (as_request_curve(cast("Curve", curves)),) * len(trace.classes)
    for name in named:
        if name not in trace.classes:
            raise WorkloadError(
                f"curves name the class {shown(name)}, which the log does not have; "
                f"{suggest(str(name), trace.classes)}"
            )
    found = []
    for name in trace.classes:
        if name not in named:
            raise WorkloadError(
                f"class {name!r} has no curve; give one for each class of the log, or one for all"
            )
        with naming(f"class {name!r}"):
            found.append(as_request_curve(named[name]))
    return tuple(found)


def _by_class(curves: Curves) -> Mapping[str, Curve] | None:
    """Return curves by class; None if it is one curve, perhaps as {width: speed-up}."""
    if isinstance(curves, Mapping) and any(isinstance(key, str) for key in curves):
        return cast("Mapping[str, Curve]", curves)
    return None


def _parameter(value: str, request: int, text: str) -> float:
    """Return a number, or a multiple of the request such as 2p, which is at least 1."""
    word = value.strip().lower()
    try:
        if word.endswith("p"):
            return max(float(word[:-1] or "1") * request, 1.0)
        return float(word)
    except ValueError:
        raise InputError(
            f"curve {text!r}: {value.strip()!r} is neither a number nor a multiple of p, the "
            f"servers that a job asked for; write downey:2p:1 or amdahl:0.95"
        ) from None
