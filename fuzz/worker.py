"""The process that runs inputs, one after the other, with limited memory.

It reads cases from standard input, one in each line, and writes events to standard output, one in
each line: `ready`; `compiling` true and false (the time of an input does not include compilation);
and `done` with the outcome. `runner` kills it if an input takes too long.
"""

from __future__ import annotations

import functools
import gc
import importlib
import io
import json
import os
import pkgutil
import resource
import shutil
import signal
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import typer.main
from numba.core import event

import moldable.cli
import reproduction.__main__
from fuzz.case import PREAMBLE, Case
from moldable.errors import MoldableError

MEMORY = 2 << 30
KEPT = 20_000
"""Characters kept from the beginning and from the end of each stream."""
WARM_UP = (  # load what most inputs need
    "evaluate --servers 4 --load 0.8 --speedup 1,1.8 --method chain",
    "simulate --servers 4 --load 0.8 --speedup 1,1.8 --jobs 20 --replications 2",
    "simulate --servers 4 --load 0.8 --speedup 1,1.8 --jobs 20 --replications 2 --size lognormal:2",
)


class Exited(BaseException):
    """Raised instead of `os._exit`."""


class _Compiling(event.Listener):
    """Reports the start and the end of numba's compilation."""

    def __init__(self, report: Callable[[dict[str, Any]], None]) -> None:
        self.report, self.depth = report, 0

    def on_start(self, event: event.Event) -> None:  # noqa: ARG002
        self.depth += 1
        if self.depth == 1:
            self.report({"compiling": True})

    def on_end(self, event: event.Event) -> None:  # noqa: ARG002
        self.depth -= 1
        if self.depth == 0:
            self.report({"compiling": False})


def run(case: Case) -> dict[str, Any]:
    """Run an input in a separate folder; return its exit code and its output."""
    home, folder = Path.cwd(), Path(tempfile.mkdtemp(prefix="fuzz-"))
    streams = sys.stdout, sys.stderr
    out, err = io.BytesIO(), io.BytesIO()
    captured = [io.TextIOWrapper(raw, encoding="utf-8", write_through=True) for raw in (out, err)]
    try:
        case.lay_out(folder)
        os.chdir(folder)
        os.environ["XDG_RUNTIME_DIR"] = str(folder)
        sys.stdout, sys.stderr = captured
        code = _guarded(case)
    finally:
        sys.stdout, sys.stderr = streams
        os.chdir(home)
        shutil.rmtree(folder, ignore_errors=True)
    return {"code": code, "stdout": _text(out), "stderr": _text(err), "length": err.tell()}


def _text(stream: io.BytesIO) -> str:
    text = stream.getvalue().decode(errors="replace")
    return text if len(text) <= 2 * KEPT else f"{text[:KEPT]}\n[...]\n{text[-KEPT:]}"


def _guarded(case: Case) -> int:
    """Return the exit code that a separate process would have."""
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if case.call is None:
            _command(case.arguments)
        else:
            _call(case)
        code = 0
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except Exited as stop:
        code = stop.args[0]
    except BaseException:  # noqa: BLE001 - any exception would end a process
        traceback.print_exc()
        code = 1
    finally:
        # A process waits for its threads before it ends, so a running thread is a hang.
        for thread in threading.enumerate():
            if thread is not threading.current_thread() and not thread.daemon:
                thread.join()
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    return code


def _command(arguments: tuple[str, ...]) -> None:
    if arguments[:1] == ("reproduction",):
        sys.exit(reproduction.__main__.main(arguments[1:]))
    sys.argv = ["moldable", *arguments]
    moldable.cli.main()


def _call(case: Case) -> None:
    try:
        answer = eval(case.call or "None", dict(_names()))  # noqa: S307 - the expression is ours
        print(repr(answer)[:KEPT])
    except MoldableError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception as error:
        if case.kind != "call" or any(
            "/moldable/" in frame.filename for frame in traceback.extract_tb(error.__traceback__)
        ):
            raise
        print(f"not an expression: {error}", file=sys.stderr)  # such as {{}: 1}
        sys.exit(2)
    if hasattr(answer, "to_dict"):
        print(json.dumps(answer.to_dict(), allow_nan=False))


@functools.cache
def _names() -> dict[str, Any]:
    """Return the names that expressions use."""
    names: dict[str, Any] = {}
    exec(PREAMBLE, names)  # noqa: S102
    return names


def _import_all() -> None:
    """Import what inputs may need: an interrupted import would leave an incomplete module."""
    for module in pkgutil.walk_packages(moldable.__path__, "moldable."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    for name in ("matplotlib.figure", "matplotlib.backends.backend_svg", "scipy.sparse.linalg"):
        importlib.import_module(name)
    _names()


def _follow(parent: int, leave: Callable[[int], object]) -> None:
    """End when the runner ends, even during an input that hangs."""
    while os.getppid() == parent:
        time.sleep(1.0)
    leave(1)


def _size() -> int:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    return pages * resource.getpagesize()


def main() -> None:
    """Run cases until standard input ends."""
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "w", encoding="utf-8")
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)  # inputs may read /dev/stdin; other output is discarded
    os.dup2(null, 1)
    lock = threading.Lock()

    def report(what: dict[str, Any]) -> None:
        with lock:
            answers.write(json.dumps(what) + "\n")
            answers.flush()

    def leave(code: int) -> None:
        raise Exited(code)

    threading.Thread(target=_follow, args=(os.getppid(), os._exit), daemon=True).start()
    os._exit = leave
    typer.main.get_command = functools.cache(typer.main.get_command)  # half of an input's time
    os.environ |= {"COLUMNS": "80", "NO_COLOR": "1", "MPLBACKEND": "agg"}
    os.environ["PATH"] = os.devnull  # no input may reach the programs of a real Slurm
    for category in (RuntimeWarning, UserWarning, FutureWarning):
        warnings.simplefilter("always", category)  # not only once in this process
    event.register("numba:compile", _Compiling(report))
    _import_all()
    for line in WARM_UP if "--warm" in sys.argv else ():
        run(Case("warm-up", tuple(line.split())))
    limit = _size() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    report({"ready": True})
    for line in requests:
        case = Case.from_json(line)
        done = run(case)
        if _size() > limit - MEMORY // 2:
            gc.collect()
        done["memory"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        report({"done": done, "restart": _size() > limit - MEMORY // 2})


if __name__ == "__main__":
    main()
