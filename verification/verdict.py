"""The outcome of an experiment."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Verdict:
    """A number, the bound it must stay below, and what was measured."""

    what: str
    number: float
    bound: float

    @property
    def holds(self) -> bool:
        """Whether the number is within its bound; a NaN never is."""
        return self.number <= self.bound

    def __str__(self) -> str:
        word = "holds" if self.holds else "FAILS"
        return f"{word}  {self.number:.3g} (bound {self.bound:.3g})  {self.what}"
