"""Valid inputs: the examples, the files in the documentation, and a small reproduction."""

from __future__ import annotations

import functools
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"^```(toml|csv|json)( title=.*)?\n(.*?)^```", re.MULTILINE | re.DOTALL)

WORKLOADS = (
    b"""servers = 8
[[class]]
name = "a"
arrival_rate = 3.0
speedup = [1, 1.8]
""",
    b"""servers = 6
sharing = "reserved"
[[class]]
name = "a"
arrival_rate = 2
mean_size = 0.5
weight = 2
size = "pareto:1.5"
speedup = "amdahl:0.9:3"
[[class]]
name = "b"
arrival_rate = 1
size = "sizes.csv"
speedup = { measured = "curve.csv" }
""",
    b"""servers = 5
arrivals = "mmpp:0.5,2:0.1,0.2"
[[class]]
arrival_rate = 1
speedup = { model = "power", exponent = 0.8, d = 2 }
[[class]]
arrival_rate = 1e-3
size = "lognormal:2"
speedup = { 2 = 1.5 }
""",
    b"""servers = 4
time_unit = "hours"
[[class]]
arrival_rate = "48 jobs/day"
mean_size = "90 min"
speedup = [1, 1.8]
""",
    b"""servers = 4
waiting = "unlimited"
[[class]]
arrival_rate = 3
speedup = [1, 1.8]
[[class]]
arrival_rate = 0.4
speedup = { 2 = 1.5 }
""",
    b"""servers = 3
waiting = 2
[[class]]
arrival_rate = 3
speedup = [1, 1.8]
[[class]]
arrival_rate = 1
[[class.phase]]
share = 0.4
speedup = [1, 1.8, 2]
[[class.phase]]
share = 0.6
speedup = "linear:2"
""",
)
CURVES = (
    b"width,time\n1,10\n2,6\n",
    b"width,speedup\n1,1\n2,1.9\n",
    b"# c\nwidth,time\n2,3\n2,4\n",
)
TIMES = (b"0\n1\n1\n2.5\n", b"time\n3\n4\n", b"# times\n-1e3\n2e3\n")
SIZES = (b"1\n2\n3.5\n0.25\n", b"size\n10\n20\n5\n", b"# sizes\n1e3\n2e3\n")
POLICIES = (
    {"policy": "greedy"},
    {"policy": "greedy-p", "classes": {"jobs": {"1": 0.5, "2": 0.5}}},
    {"policy": "fixed", "width": 2, "strict": False},
    {"policy": "rigid", "classes": {"jobs": 2}},
    {"policy": "thresholds", "classes": {"jobs": {"1": 1, "4": 2}}},
    {"policy": "thresholds", "classes": {"jobs": {"4": {"1": 0.5, "2": 0.5}}}},
    {"policy": {"policy": "fixed", "width": 1}, "blocking": 0.1},
    {"policy": "even-price", "q0": 0.4, "ell": 8.0},
    {"policy": "queue-table", "classes": {"jobs": {"0": {"1": 1, "4": 2}, "3": {"1": 1}}}},
)


@functools.cache
def _documented(language: str) -> tuple[bytes, ...]:
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return tuple(
        block[3].encode()
        for page in pages
        for block in BLOCK.finditer(page.read_text(encoding="utf-8"))
        if block[1] == language
    )


@functools.cache
def workloads() -> tuple[bytes, ...]:
    """Return workload files."""
    examples = (path.read_bytes() for path in sorted((ROOT / "examples").glob("*.toml")))
    return (*WORKLOADS, *WORKLOADS, *examples, *_documented("toml"))


def curves() -> tuple[bytes, ...]:
    """Return CSV files of measurements."""
    return (*CURVES, *_documented("csv"))


def policies() -> tuple[bytes, ...]:
    """Return policy files."""
    own = (json.dumps(policy).encode() for policy in POLICIES)
    return (*own, *(block for block in _documented("json") if b'"policy"' in block))


@functools.cache
def finished_run() -> dict[str, bytes]:
    """Return the files of a finished reproduction that are read when it is resumed."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "run"
        words = [sys.executable, "-m", "reproduction", "errata", "--out", str(home)]
        subprocess.run(words, cwd=ROOT, check=True, capture_output=True)
        paths = [home / "manifest.json", home / "timings.json", *home.glob("cells/*/*.json")]
        files = {f"run/{path.relative_to(home)}": path.read_bytes() for path in sorted(paths)}
    # Without a fingerprint of the source, a saved input can be replayed after code changes.
    manifest = json.loads(files["run/manifest.json"])
    del manifest["versions"]["source"]
    return files | {"run/manifest.json": json.dumps(manifest).encode()}
