"""Times as logs write them: dates, and durations such as `1-02:03:04`."""

from __future__ import annotations

import math
import re
from datetime import UTC, date, datetime
from typing import Final, final

NO_TIME: Final = frozenset(("", "unknown", "none", "n/a", "invalid", "nan", "null", "na"))
"""Spellings of a time that is not known."""
NO_LIMIT: Final = NO_TIME | {"unlimited", "partition_limit", "infinite", "no_val"}
EPOCH: Final = date(1970, 1, 1).toordinal()
DAY: Final = 86400
_PLAIN: Final = re.compile(r"\d{4}-\d\d-\d\d[T ](?:[01]\d|2[0-3]):[0-5]\d:(?:[0-5]\d|60)", re.ASCII)
_DURATION: Final = re.compile(
    r"(?:(?P<days>\d{1,9})-(?P<hours>\d{1,9})(?::(?P<minutes>\d{1,2})(?::(?P<seconds>[\d.]+))?)?"
    r"|(?:(?P<h>\d{1,9}):)?(?P<m>\d{1,9}):(?P<s>\d{1,2}(?:\.\d*)?))",
    re.ASCII,
)


@final
class Clock:
    """Converts dates to seconds since 1970.

    Dates without a time zone are local times, and are converted as if they were in UTC: the
    differences between them are right, except across a change of daylight saving time.

    Attributes:
        dates: whether a date was read, instead of a number.
        zoned: whether a date named its offset from UTC.
    """

    def __init__(self) -> None:
        self.dates = False
        self.zoned = False
        self._days: dict[str, int] = {}

    def seconds(self, text: str) -> float:
        """Return the seconds of a date or a number; NaN if it is not known.

        Raises:
            ValueError: the text is neither.
        """
        if len(text) == 19 and text[10:11] in ("T", " ") and _PLAIN.fullmatch(text):  # noqa: PLR2004
            day = self._days.get(text[:10])
            if day is None:
                day = (date.fromisoformat(text[:10]).toordinal() - EPOCH) * DAY
                self._days[text[:10]] = day
                self.dates = True
            return float(day + int(text[11:13]) * 3600 + int(text[14:16]) * 60 + int(text[17:19]))
        return self._other(text.strip())

    def _other(self, text: str) -> float:
        if text.lower() in NO_TIME:
            return math.nan
        try:
            found = float(text)
        except ValueError:
            moment = datetime.fromisoformat(text)
        else:
            if math.isinf(found):
                raise ValueError(text)
            return found
        self.dates = True
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        else:
            self.zoned = True
        return moment.timestamp()


def duration_seconds(text: str) -> float:
    """Return the seconds of a duration in any of Slurm's spellings; NaN if it is not known.

    `MM:SS`, `HH:MM:SS`, `D-HH:MM:SS`, `D-HH` and `D-HH:MM`; seconds may have a fraction. A number
    is in seconds.

    Raises:
        ValueError: the text is none of these.
    """
    text = text.strip()
    if len(text) == 8 and text[2] == text[5] == ":":  # noqa: PLR2004 - HH:MM:SS, nearly all of them
        return int(text[:2]) * 3600.0 + int(text[3:5]) * 60.0 + float(text[6:])
    match = _DURATION.fullmatch(text)
    if match is not None:
        days, hours, minutes, seconds, h, m, s = match.groups("0")
        clock = (int(hours) + int(h)) * 3600 + (int(minutes) + int(m)) * 60
        return int(days) * DAY + clock + float(seconds) + float(s)
    if text.lower() in NO_LIMIT:
        return math.nan
    found = float(text)
    if math.isinf(found):
        raise ValueError(text)
    return found
