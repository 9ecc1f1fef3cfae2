"""What does an experiment conclude?"""

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
        """Is the number within its bound? Not a number never is."""
        return self.number <= self.bound

    def __str__(self) -> str:
        word = "holds" if self.holds else "FAILS"
        return f"{word}  {self.number:.3g} (bound {self.bound:.3g})  {self.what}"
