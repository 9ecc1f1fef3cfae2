"""Commands and Python code that reproduce the numbers of a view.

They give the numbers of full answers. Quick answers that are exact are the same, and the others are
estimates of them.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable
from typing import Final, Literal

from moldable.explorer import code
from moldable.explorer.evaluating import built_policy
from moldable.explorer.load_curves import PRECISION, has_optimum, possible
from moldable.explorer.named_policies import (
    TUNED,
    curve_cost,
    curve_text,
    figure_text,
    spellings,
    target_of,
)
from moldable.explorer.question import Question
from moldable.explorer.trade_off import knows_optimum, queue_policies
from moldable.explorer.tuned_policy import tuned_policy
from moldable.model.waiting import written_waiting

View = Literal["frontier", "policies", "performance", "load_curves", "trade_off"]
VIEWS: Final[tuple[View, ...]] = (
    *("frontier", "policies", "performance", "load_curves", "trade_off"),
)
FILE: Final = "question.toml"
"""The workload file that commands and code read where options do not describe the question."""
TUNED_FILE: Final = f"{TUNED}.json"


def needs_file(question: Question, view: View | None = None) -> bool:
    """Return whether the command of a view, or any, reads FILE; see `Question.to_toml`."""
    no_option = question.arrivals != "poisson" and view in {None, "trade_off"}
    return not question.one_class or (no_option and not question.waiting)


def command(question: Question, view: View) -> str:
    """Return the command line, for a POSIX shell, that prints the numbers of a view as JSON.

    Examples:
        >>> asked = Question((ClassInput("jobs", (1.0, 1.8, 2.5)),), servers=8, load=0.8)
        >>> command(asked, "frontier")
        'moldable optimum --speedup 1,1.8,2.5 --load 0.8 --servers 8 --json'
    """
    return _COMMANDS[view](question)


def python(question: Question, view: View) -> str:
    """Return Python code that computes the numbers of a view, as `answer`."""
    own = FILE if needs_file(question, view) else None
    lines = code.LINES[view](question, own)
    return "\n".join(lines) + "\n"


def _frontier(question: Question) -> str:
    if needs_file(question, "frontier"):
        return _line("optimum", "--workload", FILE)
    return _line(
        *("optimum", "--speedup", curve_text(question), "--load", figure_text(question.load)),
        *("--servers", str(question.servers)),
    )


def _policies(question: Question) -> str:
    return _line("tune", *_scenario(question, "policies"), *_target(question), *_seed(question))


def _performance(question: Question) -> str:
    scenario, seed = _scenario(question, "performance"), _seed(question)
    names = [
        name for name in spellings(question) if not isinstance(built_policy(question, name), str)
    ]
    if not tuned_policy(question, "quick").possible:  # tune would say why, and stop
        return _line("compare", *scenario, "--policies", ",".join(names), *seed)
    tuned = _line("tune", *scenario, *_target(question), *seed, "--policy-out", TUNED_FILE)
    listed = ",".join((TUNED_FILE, *names))
    return f"{tuned} && {_line('compare', *scenario, '--policies', listed, *seed)}"


def _load_curves(question: Question) -> str:
    return "; ".join(_loop(question, *each) for each in possible(question))


def _loop(question: Question, chosen: tuple[float, ...], names: tuple[str, ...]) -> str:
    """Return a shell loop over loads."""
    variable, points = "$load", list(chosen)
    if needs_file(question, "load_curves"):
        variable, points = "$growth", [load / question.load for load in chosen]
    scenario = _scenario(question, "load_curves", variable)
    precision = ("--precision", figure_text(PRECISION))
    steps = [
        _line("compare", *scenario, "--policies", ",".join(names), *precision, *_seed(question))
    ]
    if has_optimum(question):
        steps.append(_optimum(question, scenario))
    written = " ".join(map(figure_text, points))
    return f"for {variable[1:]} in {written}; do {'; '.join(steps)}; done"


def _optimum(question: Question, scenario: list[str]) -> str:
    cost = figure_text(curve_cost(question))
    if not question.waiting:
        return _line("tradeoff", *scenario, "--costs", cost, *_seed(question))
    target = [] if math.isinf(question.waiting) else ["--blocking-cost", cost]
    return _line("tune", *scenario, *target, *_seed(question))


def _trade_off(question: Question) -> str:
    scenario, seed = _scenario(question, "trade_off"), _seed(question)
    if question.waiting:
        listed = ",".join(queue_policies(question))
        return _line("compare", *scenario, "--policies", listed, *seed)
    more = [] if knows_optimum(question) else ["--no-optimum"]
    return _line("tradeoff", *scenario, *seed, *more)


def _scenario(question: Question, view: View, variable: str = "") -> list[str]:
    """Return the options that describe the scenario, with a shell variable for the load."""
    if needs_file(question, view):
        return ["--workload", FILE, *(["--growth", variable] if variable else [])]
    found = ["--speedup", curve_text(question), "--load", variable or figure_text(question.load)]
    found += ["--servers", str(question.servers)]
    if question.size != "exponential":
        found += ["--size", question.size]
    if question.arrivals != "poisson":
        found += ["--arrivals", question.arrivals]
    if question.waiting:
        found += ["--waiting", str(written_waiting(question.waiting))]
    return found


def _target(question: Question) -> list[str]:
    found = []
    for name, value in target_of(question).items():
        found += [f"--{name.replace('_', '-')}", figure_text(value)]
    return found


def _seed(question: Question) -> list[str]:
    return ["--seed", str(question.seed)]


def _line(*words: str) -> str:
    quoted = [f'"{word}"' if word in {"$load", "$growth"} else shlex.quote(word) for word in words]
    return " ".join(("moldable", *quoted, "--json"))


_COMMANDS: Final[dict[View, Callable[[Question], str]]] = {
    "frontier": _frontier,
    "policies": _policies,
    "performance": _performance,
    "load_curves": _load_curves,
    "trade_off": _trade_off,
}
