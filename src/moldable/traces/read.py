"""Read a job log of any supported format."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from moldable.checks import checked_int, checked_path, choice
from moldable.errors import InputError, shown
from moldable.traces.class_rule import MOST_CLASSES, ClassRule
from moldable.traces.csv_log import DELIMITERS, column_name, read_csv
from moldable.traces.jobcomp import START, read_jobcomp
from moldable.traces.sacct import read_sacct
from moldable.traces.sacct_columns import SacctColumns
from moldable.traces.slurm import AUTOMATIC, UNITS
from moldable.traces.stream import LogLines
from moldable.traces.swf import FIELDS, read_swf
from moldable.traces.trace import Trace

SWF, SACCT, JOBCOMP, CSV = "swf", "sacct", "jobcomp", "csv"
FORMATS: Final = (SWF, SACCT, JOBCOMP, CSV)
COUNTS: Final = (AUTOMATIC, *UNITS)
LOOKED_AT: Final = 200
"""Lines that are looked at to recognise the format."""

Lines = Iterator[tuple[int, str]]


def read_trace(
    path: Path | str,
    *,
    class_by: str = "none",
    columns: Mapping[str, str] | None = None,
    format: str | None = None,  # noqa: A002 - the usual word
    count: str = AUTOMATIC,
    most_classes: int = MOST_CLASSES,
) -> Trace:
    r"""Read a job log.

    The Standard Workload Format, the output of Slurm's `sacct --parsable2` (any delimiter, with its
    header), Slurm's jobcomp/filetxt log and CSV files are recognised. Files may be compressed by
    gzip. Rows that are not jobs that ran, such as job steps, unfinished jobs and jobs cancelled
    before they started, are left out and counted in `Trace.skipped`, and so are a few damaged rows.
    A file of which more than half is damaged is an error.

    Args:
        path: name of the file; "-" is standard input.
        class_by: what decides the class of a job: "none" (one class), "user", "group", "account",
            "partition", "queue", "application", "class" (CSV only), "name:REGEX" or
            "comment:REGEX" (sacct and CSV), where the first group of the expression, or all that
            matches, is the class; other jobs are "other".
        columns: names of the columns of a CSV file, such as {"submit": "queued_at"}.
        format: "swf", "sacct", "jobcomp" or "csv"; by default the content decides.
        count: what is counted as servers of a Slurm job, "cpus", "gpus" or "nodes"; by default
            GPUs if at least half of the jobs have them, otherwise CPUs.
        most_classes: number of classes; the rarest are merged into "other".

    Examples:
        >>> _ = Path("log.csv").write_text("submit,duration,gpus,user\n0,60,2,ann\n9,90,4,bob\n")
        >>> trace = read_trace("log.csv", class_by="user")
        >>> trace.classes, trace.run_time.tolist()
        (('ann', 'bob'), [60.0, 90.0])
    """
    path, rule = checked_path(path), ClassRule.parse(class_by)
    most = checked_int(most_classes, "most_classes", InputError, most=1000)
    choice(count, COUNTS, "count", InputError)
    if format is not None:
        choice(format, FORMATS, "format", InputError)
    names = _checked_columns(columns)
    source = LogLines(path)
    lines = iter(source)
    first = list(itertools.islice(lines, LOOKED_AT))
    found = format or recognised(path, [text for _, text in first])
    whole = itertools.chain(first, lines)
    if columns and found != CSV:
        told = f"applies to CSV files only, and {path} is {found}; leave it out"
        raise InputError(f"{shown(columns)} {told}", "columns")
    trace = _read(found, whole, str(path), rule, names, count, most)
    if source.undecodable:
        told = f"bytes that are not UTF-8 were replaced in {source.undecodable:,} of the lines"
        trace = replace(trace, notes=(*trace.notes, told))
    return trace


def _read(  # noqa: PLR0917 - one argument for each option
    found: str,
    lines: Lines,
    source: str,
    rule: ClassRule,
    columns: Mapping[str, str],
    count: str,
    most: int,
) -> Trace:
    if found == SWF:
        return read_swf(lines, source, rule, most)
    if found == JOBCOMP:
        return read_jobcomp(lines, source, rule, count=count, most_classes=most)
    if found == CSV:
        return read_csv(lines, source, rule, columns, count=count, most_classes=most)
    header = next((text for _, text in lines if text.strip()), "")
    names = SacctColumns.of(header)
    if names is None:
        raise InputError(
            f"{source}: the first line is not a header of sacct; write the log with sacct "
            f"--parsable2 --format=JobID,... without --noheader"
        )
    return read_sacct(lines, names, source, rule, count=count, most_classes=most)


def recognised(path: Path, lines: list[str]) -> str:
    """Return the format of a log, given its first lines."""
    filled = [line for line in lines if line.strip()]
    if not filled:
        raise InputError(f"{path} is empty; check that this is a job log")
    data = next((line for line in filled if not line.startswith((";", "#"))), "")
    header = filled[0]
    if header.startswith(";") or re.search(r"\.swf(\.gz)?$", path.name) or _is_swf(data):
        return SWF
    if data.startswith(START) and " JobState=" in data:
        return JOBCOMP
    if SacctColumns.of(data) is not None:
        return SACCT
    if re.match(r"\s*JobID\s+\S", data, re.IGNORECASE) and any(
        "---" in each for each in filled[:3]
    ):
        raise InputError(
            f"{path} has cells truncated by sacct; write the log with sacct --parsable2"
        )
    separators = max(map(data.count, DELIMITERS))
    if separators > 0 and separators >= data.count("|") and not _is_number(data):
        return CSV
    raise InputError(
        f"{path} is not recognised as a job log; Standard Workload Format, sacct --parsable2 with "
        f"its header, jobcomp/filetxt and CSV with a header are read (--format names one)"
    )


def _checked_columns(columns: object) -> dict[str, str]:
    if columns is None:
        return {}
    if not isinstance(columns, Mapping) or not all(
        isinstance(each, str) for pair in columns.items() for each in pair
    ):
        raise InputError(
            f"{shown(columns)} is not a mapping; write {{'submit': 'name of the column'}}",
            "columns",
        )
    return {column_name(role): name for role, name in columns.items()}


def _is_swf(line: str) -> bool:
    cells = line.split()
    return len(cells) == FIELDS and all(map(_is_number, cells))


def _is_number(cell: str) -> bool:
    return re.fullmatch(r"[-+.,;eE\d\s]+", cell, re.ASCII) is not None
