"""`python -m fuzz`: run a number of random inputs, or for a time; exit code 1 if one fails."""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

from fuzz.case import Case
from fuzz.runner import LONGEST, Worker
from fuzz.session import Session, numbers
from fuzz.verdict import failure
from moldable.text_files import write_whole


def main(arguments: list[str]) -> int:
    """Run inputs and print counts by outcome."""
    options = _parser().parse_args(arguments)
    if options.replay is not None:
        return _replay(options.replay)
    session = Session(
        *(options.seed, options.save, lambda text: print(text, flush=True)),
        readers=options.readers,
        longest=options.longest,
        state=options.resume,
    )
    until = session.began + options.seconds
    count = options.inputs if options.only is None else 1
    first = options.only or 0
    try:
        session.run(numbers(first, count), options.workers, lambda: time.monotonic() > until)
    except KeyboardInterrupt:
        print("interrupted")
    print(session.summary())
    if options.table is not None:
        write_whole(options.table, session.tally.table().encode(), "table")
    return 1 if session.tally.failures else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="seed of the inputs (default 1)")
    parser.add_argument("--inputs", type=int, help="stop after N inputs")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after N seconds")
    parser.add_argument(
        "--workers",
        type=int,
        default=os.cpu_count() or 1,
        help="number of processes (default: all cores)",
    )
    parser.add_argument(
        "--readers", action="store_true", help="inputs for single readers, about 500 a second"
    )
    parser.add_argument(
        "--longest", type=float, default=LONGEST, help="seconds that an input may take (default 20)"
    )
    parser.add_argument(
        "--resume", type=Path, metavar="FILE.json", help="keep the counts, and go on from them"
    )
    parser.add_argument("--table", type=Path, metavar="FILE.md", help="write the counts by kind")
    parser.add_argument("--only", type=int, metavar="I", help="run only input I of the seed")
    parser.add_argument("--replay", type=Path, metavar="CASE.json", help="run a saved input")
    parser.add_argument("--save", type=Path, default=Path("fuzz-failures"), metavar="DIR")
    return parser


def _replay(path: Path) -> int:
    worker = Worker(warm=False)
    case = Case.from_json(path.read_bytes())
    outcome = worker.run(case)
    worker.stop()
    cause = failure(case, outcome)
    print(outcome.stdout, outcome.stderr, sep="", end="")
    print(f"exit code {outcome.code}, {outcome.seconds:.1f} s: {cause or 'passed'}")
    return 0 if cause is None else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
