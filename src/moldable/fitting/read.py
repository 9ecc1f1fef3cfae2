"""Readers of measurements: CSV files, and JSON files of benchmark programs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from moldable.checks import checked_path
from moldable.errors import InputError, SpeedUpError
from moldable.files.curve_csv import parse_rows
from moldable.files.json_text import parse_json
from moldable.fitting.benchmark_files import records_of
from moldable.fitting.measurements import Measurements
from moldable.fitting.records import one_curve
from moldable.text_files import read_text


def read_measurements(
    path: Path | str,
    *,
    width: str | None = None,
    value: str | None = None,
    select: Sequence[str] = (),
) -> Measurements:
    r"""Read measurements of one program; repeats are kept.

    CSV files have columns of widths and of times, throughputs or speed-ups, as for `read_curve`.
    JSON files are those of hyperfine (`--export-json`), pytest-benchmark (`--benchmark-json`) and
    ReFrame (run reports).

    Args:
        path: name of the file.
        width: the column, parameter or note that holds the width; by default the one that is
            called width, cores, gpus, nodes, ranks, threads or the like.
        value: the column of a CSV file that holds the values; by default the one that is called
            time, throughput, speedup or the like.
        select: conditions "KEY=VALUE" on the labels of a JSON file that holds several curves.

    Examples:
        >>> _ = Path("runs.csv").write_text("threads,seconds\n1,60.2\n1,59.8\n2,35\n")
        >>> read_measurements("runs.csv").mean_times.tolist()
        [60.0, 35.0]
    """
    path = checked_path(path)
    text = read_text(path)
    try:
        if text.lstrip()[:1] in {"{", "["}:
            if value is not None:
                raise InputError(f"{path}: --value names a column of a CSV file; use --select")
            return one_curve(path, records_of(path, parse_json(path, text)), width, select)
        if select:
            raise InputError(f"{path}: --select applies to JSON files; keep one curve in the file")
        kind, rows = parse_rows(path, text, width, value)
        return Measurements([(row.width, row.value) for row in rows], kind, str(path))
    except SpeedUpError as error:
        raise InputError(f"{path}: {error}") from None
