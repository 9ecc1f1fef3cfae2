"""The `moldable` command, also `python -m moldable`.

`moldable run` is started for each job, so it does not wait for the import of the other commands if
its options are of the usual form. `moldable.cli` handles everything else, and reports errors.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

VALUES: Final = {
    "--plan": ("plan", Path),
    "--class": ("job_class", str),
    "--servers": ("servers", int),
    "--dir": ("folder", Path),
    "--journal": ("journal", Path),
}
FLAGS: Final = {"--no-wait": "no_wait", "--pin": "pin"}


def main() -> None:
    """Run the command line; Ctrl-C during start-up also ends it with exit code 130."""
    try:
        code = _run(sys.argv[1:])
    except KeyboardInterrupt:
        sys.stderr.write("Interrupted: the command was not started.\n")
        code = 130
    sys.exit(code)


def _run(words: Sequence[str]) -> int:
    options = plain_options(words)
    if options is None:
        from moldable.cli import main as run_any  # noqa: PLC0415 - imports all commands

        run_any()
    gc.disable()  # a collection here finds nothing and takes a tenth of the time
    from moldable.errors import MoldableError  # noqa: PLC0415 - not needed by other commands
    from moldable.live.run import RunOptions, run  # noqa: PLC0415 - the same

    gc.freeze()
    gc.enable()
    try:
        return run(RunOptions(**options))
    except MoldableError as error:
        from moldable.cli import report_error  # noqa: PLC0415 - the same

        return report_error(error)


def plain_options(words: Sequence[str]) -> dict[str, Any] | None:
    """Return the options of `moldable run OPTIONS -- COMMAND`; None if the words differ."""
    if not words or words[0] != "run" or "--" not in words:
        return None
    end = words.index("--")
    found: dict[str, Any] = {"command": tuple(words[end + 1 :])}
    left = iter(words[1:end])
    for word in left:
        name, equals, value = word.partition("=")
        if word in FLAGS:
            found[FLAGS[word]] = True
            continue
        key, kind = VALUES.get(name, ("", str))
        given = value if equals else next(left, "")
        if not key or not given or given.startswith("-") or (kind is int and not given.isdecimal()):
            return None
        found[key] = kind(given)
    return found if found["command"] and "plan" in found else None


if __name__ == "__main__":
    main()
