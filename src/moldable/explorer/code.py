"""The lines of Python code that compute the numbers of each view, as `answer`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final

from moldable.explorer.evaluating import built_policy
from moldable.explorer.load_curves import PRECISION, curve_policies, has_optimum, possible
from moldable.explorer.named_policies import curve_cost, spellings, target_of
from moldable.explorer.question import Question
from moldable.explorer.trade_off import knows_optimum, queue_policies
from moldable.explorer.tuned_policy import tuned_policy
from moldable.model.waiting import written_waiting
from moldable.tuning.queue_reference import TOLERANCE

Lines = list[str]


def _frontier(question: Question, file: str | None) -> Lines:
    if file is not None:
        return [
            _imports("Scenario", "reserve"),
            "",
            *_scenario(question, file),
            "answer = reserve(scenario)",
        ]
    own = f"{_curve(question)}, {question.load!r}, servers={question.servers}"
    return [_imports("optimum"), "", f"answer = optimum({own})"]


def _policies(question: Question, file: str | None) -> Lines:
    tuned = f"answer = tune(scenario{_target(question)}, seed={question.seed})"
    return [_imports("Scenario", "tune"), "", *_scenario(question, file), tuned]


def _performance(question: Question, file: str | None) -> Lines:
    names = [n for n in spellings(question) if not isinstance(built_policy(question, n), str)]
    scenario = _scenario(question, file)
    if not tuned_policy(question, "quick").possible:
        compared = f"answer = compare(scenario, {_named(names)}, seed={question.seed})"
        return [_imports("Scenario", "compare"), "", *scenario, compared]
    return [
        _imports("Scenario", "compare", "tune"),
        "",
        *scenario,
        f"tuned = tune(scenario{_target(question)}, seed={question.seed})",
        f'policies = {{"tuned": tuned.policy, **{_named(names)}}}',
        f"answer = compare(scenario, policies, seed={question.seed})",
    ]


def _load_curves(question: Question, file: str | None) -> Lines:
    best = has_optimum(question)
    name = "optimal_queueing" if question.waiting else "tradeoff"
    lines = [_imports("Scenario", "compare")]
    if best:
        lines.append(f"from moldable.optimal import {name}")
    lines += ["", f"policies = {_listed(curve_policies(question))}"]
    if file is not None:
        lines += _scenario(question, file)
    lines += ["answer = {}", *(["optimum = {}"] if best else [])]
    own = "scenario.at_load(load)" if file is not None else _single(question, "load")
    for chosen, names in possible(question):
        lines += [
            f"for load in {_listed(chosen)}:",
            f"    asked = {own}",
            f"    some = {'policies' if names == curve_policies(question) else _listed(names)}",
            f"    answer[load] = compare(asked, some, precision={PRECISION}, seed={question.seed})",
        ]
        if best:
            lines.append(f"    optimum[load] = {_optimum(question)}")
    return lines


def _optimum(question: Question) -> str:
    cost = curve_cost(question)
    if not question.waiting:
        return f"tradeoff(asked, [{cost!r}])"
    given = "" if math.isinf(question.waiting) else f", {cost!r}"
    return f"optimal_queueing(asked{given}, tolerance={TOLERANCE!r})"


def _trade_off(question: Question, file: str | None) -> Lines:
    if question.waiting:
        names = _listed(queue_policies(question))
        compared = f"answer = compare(scenario, {names}, seed={question.seed})"
        return [_imports("Scenario", "compare"), "", *_scenario(question, file), compared]
    more = "" if knows_optimum(question) else ", optimum=False"
    return [
        _imports("Scenario"),
        "from moldable.tuning import value_tradeoff",
        "",
        *_scenario(question, file),
        f"answer = value_tradeoff(scenario, seed={question.seed}{more})",
    ]


def _imports(*names: str) -> str:
    return f"from moldable import {', '.join(names)}"


def _scenario(question: Question, file: str | None) -> Lines:
    if file is not None:
        return [f'scenario = Scenario.read("{file}")']
    return [f"scenario = {_single(question, repr(question.load))}"]


def _single(question: Question, load: str) -> str:
    more = ""
    if question.size != "exponential":
        more += f", size={question.size!r}"
    if question.arrivals != "poisson":
        more += f", arrivals={question.arrivals!r}"
    if question.waiting:
        more += f", waiting={written_waiting(question.waiting)!r}"
    return f"Scenario.single({_curve(question)}, {load}, {question.servers}{more})"


def _curve(question: Question) -> str:
    first = question.classes[0]
    if first.widths is None:
        return _listed(first.speedup)
    pairs = zip(first.widths, first.speedup, strict=True)
    return "{" + ", ".join(f"{width}: {speedup!r}" for width, speedup in pairs) + "}"


def _listed(items: Sequence[object]) -> str:
    return f"[{', '.join(map(repr, items))}]"


def _named(names: Sequence[str]) -> str:
    return "{" + ", ".join(f"{name!r}: {name!r}" for name in names) + "}"


def _target(question: Question) -> str:
    return "".join(f", {name}={value!r}" for name, value in target_of(question).items())


LINES: Final[dict[str, Callable[[Question, str | None], Lines]]] = {
    "frontier": _frontier,
    "policies": _policies,
    "performance": _performance,
    "load_curves": _load_curves,
    "trade_off": _trade_off,
}
