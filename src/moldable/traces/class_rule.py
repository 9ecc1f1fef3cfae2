"""Rules that sort the jobs of a log into classes."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

import numpy as np

from moldable.arrays import Ints
from moldable.errors import InputError, shown, suggest

FIELDS: Final = ("user", "group", "account", "partition", "queue", "application", "class")
"""Fields by which jobs may be sorted, besides their name."""
SEARCHED: Final = ("name", "comment")
"""Texts in which a regular expression is searched; only sacct and CSV files have comments."""
ONE_CLASS: Final = "jobs"
OTHER: Final = "other"
UNKNOWN: Final = "unknown"
MOST_CLASSES: Final = 8


@final
@dataclass(frozen=True, slots=True)
class ClassRule:
    """How jobs are sorted into classes.

    Attributes:
        text: the rule as it was given.
        field: what decides, one of FIELDS or of SEARCHED; None if all jobs are one class.
        pattern: what is searched in the name or the comment.
    """

    text: str
    field: str | None
    pattern: re.Pattern[str] | None = None

    @staticmethod
    def parse(text: object) -> ClassRule:
        """Read `none`, a field, `name:REGEX` or `comment:REGEX`."""
        if not isinstance(text, str):
            raise InputError(
                f"{shown(text)} is not a rule; write 'user' or 'name:REGEX'", "class_by"
            )
        rule, colon, expression = text.partition(":")
        rule = rule.strip().lower()
        if rule in SEARCHED and colon:
            try:
                with warnings.catch_warnings():  # of Python, about sets such as [a--b]
                    warnings.simplefilter("ignore", FutureWarning)
                    return ClassRule(text, rule, re.compile(expression))
            except (re.error, RecursionError, OverflowError) as error:
                raise InputError(
                    f"{shown(text)}: not a regular expression ({error}); write one such as "
                    f"'name:^(train|solve)'",
                    "class_by",
                ) from None
        if rule == "none" and not colon:
            return ClassRule(text, None)
        if rule not in FIELDS or colon:
            known = ("none", *FIELDS, *(f"{each}:REGEX" for each in SEARCHED))
            raise InputError(f"{shown(text)} is unknown; {suggest(rule, known)}", "class_by")
        return ClassRule(text, rule)

    def label(self, value: str) -> str:
        """Return the class of a job whose field has this value.

        The first group of a pattern is the class, or the whole match without groups.
        """
        if self.pattern is None:
            return value.strip() or UNKNOWN
        match = self.pattern.search(value)
        if match is None:
            return OTHER
        found = match[1] if self.pattern.groups else match[0]
        return found or OTHER


def merge_rare(labels: Sequence[str], index: Ints, most: int) -> tuple[tuple[str, ...], Ints]:
    """Keep the most frequent classes and merge the rest into "other", which comes last.

    Args:
        labels: names of the classes.
        index: the class of each job.
        most: number of classes to keep, "other" included.
    """
    counts = Counter(dict(enumerate(np.bincount(index, minlength=len(labels)).tolist())))
    order = sorted(
        (k for k in counts if counts[k]), key=lambda k: (labels[k] == OTHER, -counts[k], labels[k])
    )
    if len(order) > most:
        order = [k for k in order if labels[k] != OTHER][: most - 1]
    kept = [labels[k] for k in order]
    place = np.full(len(labels), len(kept), dtype=np.int64)
    place[order] = np.arange(len(order))
    found = place[index]
    if (found == len(kept)).any():
        kept.append(OTHER)
    return tuple(kept), found
