"""What each view of the page shows for a question."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, final

from moldable.explorer import answers, figures, tables
from moldable.explorer.answers import PerformanceAnswer
from moldable.explorer.measures import Effort
from moldable.explorer.question import Question
from moldable.explorer.reproduce import View
from moldable.explorer.tables import Table

DIGITS: Final = 6
"""Significant digits of the tables on the page; CSV files have all."""
MISSING: Final = "-"
UNSAID: Final = (None, "")
EXACT: Final = "exact"


@final
@dataclass(frozen=True)
class Parts:
    """The functions behind a view."""

    answer: Callable[..., Any]
    figure: Callable[..., Any]
    table: Callable[[Any], Table]


PARTS: Final[dict[View, Parts]] = {
    "performance": Parts(answers.performance, figures.performance_figure, tables.performance_table),
    "frontier": Parts(
        lambda question, _effort: answers.frontier(question),
        figures.frontier_figure,
        tables.frontier_table,
    ),
    "policies": Parts(answers.policies, figures.policies_figure, tables.policies_table),
    "load_curves": Parts(answers.load_curves, figures.load_curves_figure, tables.load_curves_table),
    "trade_off": Parts(answers.trade_off, figures.trade_off_figure, tables.trade_off_table),
}


@final
@dataclass(frozen=True)
class Shown:
    """A view as it is shown.

    Attributes:
        view: the view.
        answer: the answer behind it.
    """

    view: View
    answer: Any

    @property
    def rows(self) -> Table:
        """The numbers."""
        return PARTS[self.view].table(self.answer)

    @property
    def refined(self) -> bool:
        """Whether more effort gives the same numbers."""
        return bool(getattr(self.answer, "refined", True))

    def figure(self, **drawn: Any) -> dict[str, Any]:
        """Return the figure as plain data.

        Args:
            drawn: options of the figure, such as `dark`.
        """
        found: dict[str, Any] = PARTS[self.view].figure(self.answer, **drawn).to_plotly_json()
        return found


def show(view: View, question: Question, effort: Effort) -> Shown:
    """Answer a question.

    Args:
        view: what is asked.
        question: to answer.
        effort: "quick" or "full".
    """
    return Shown(view, PARTS[view].answer(question, effort))


def state(shown: Shown) -> str:
    """Return in words how certain the numbers are."""
    exact = shown.answer.exact
    if not shown.refined:
        return "Quick estimate; more precise numbers are being computed."
    if exact:
        return "Exact."
    return "Simulated: numbers are estimates with 95 % confidence intervals."


def as_table(view: View, rows: Table, caption: str) -> dict[str, Any]:
    """Return a table as `assets/page.js` draws it, without columns that say nothing.

    A thousand cells as components of Dash would slow every change of the page down.
    """
    names = list(rows[0]) if rows else []
    empty = {name for name in names if all(row[name] in UNSAID for row in rows)}
    if all(row.get(EXACT) is not False for row in rows):
        empty.add(EXACT)  # which is said above the table
    kept = [name for name in names if name not in empty]
    return {
        "place": f"{view}-table",
        "caption": caption if rows else "There are no numbers.",
        "heads": kept,
        "numeric": [any(_is_number(row[name]) for row in rows) for name in kept],
        "rows": [[_written(row[name]) for name in kept] for row in rows],
    }


def _is_number(cell: object) -> bool:
    return isinstance(cell, int | float) and not isinstance(cell, bool)


def _written(cell: object) -> str:
    if cell is None:
        return MISSING
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    return f"{cell:.{DIGITS}g}" if isinstance(cell, float) else str(cell)


def caption(shown: Shown) -> str:
    """Return the caption of a table."""
    question: Question = shown.answer.question
    return f"Load {question.load:.4g} on {question.servers} servers"


def verdict(shown: Shown) -> str:
    """Return the performance of the first policies in words."""
    answer: PerformanceAnswer = shown.answer
    told = []
    for row in answer.rows[:2]:
        numbers = [
            f"{each.label} {row.values[each.name]}" + (f" {each.unit}" if each.unit else "")
            for each in answer.measures
            if each.name in row.values
        ]
        told.append(f"{row.name}: {', '.join(numbers) or row.problem}")
    return "; ".join(told) + "."
