"""A job log whose names would be markup, mathematics, a template or a control code."""

from __future__ import annotations

from pathlib import Path

HOSTILE = (
    "<script>document.title='owned'</script>",
    "\"'><img src=x onerror=alert(1)>&amp;",
    "_$\\frac{a$ {{7*7}} \x07\x1b[31m",
)
"""Names that would be markup, mathematics, a template or a control code."""


def hostile_log(folder: Path) -> Path:
    """Write a log of a few days with dates and hostile names."""
    rows = ["submit,start,run_time,servers,class,user"]
    for k in range(120):
        day, hour = 2 + k // 24, k % 24
        submit = f"2026-11-{day:02d}T{hour:02d}:{7 * k % 60:02d}:00"
        start = f"2026-11-{day:02d}T{hour:02d}:{7 * k % 60:02d}:30"
        name = HOSTILE[k % 3].replace('"', '""')
        rows.append(f'{submit},{start},{900 + 613 * (k % 7)},{1 + k % 2},"{name}","{name}"')
    path = folder / "week <b>.csv"
    path.write_text("\n".join(rows) + "\n")
    return path
