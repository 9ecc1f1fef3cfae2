"""Sends inputs to worker processes, with limits on time."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from typing import Any

from fuzz.case import Case
from fuzz.corpus import ROOT
from fuzz.verdict import Outcome

LONGEST = 20.0
"""Seconds that an input may take without compilation; for a heavy one, after its interrupt."""
PATIENCE = 0.3
"""Seconds after which a heavy input is interrupted."""
LONGEST_START = 300.0


class Worker:
    """A worker process, started when needed and restarted after it has died.

    Args:
        longest: seconds that an input may take.
        warm: whether it first runs the inputs that load the most common code.
    """

    def __init__(self, longest: float = LONGEST, *, warm: bool = True) -> None:
        self._longest, self._options = longest, ["--warm"] if warm else []
        self._process: subprocess.Popen[bytes] | None = None
        self._events: queue.Queue[dict[str, Any] | None] = queue.Queue()

    def run(self, case: Case) -> Outcome:  # noqa: C901 - one loop over what may happen
        """Run an input and return its outcome."""
        if self._process is None:
            self._start()
        began = time.monotonic()
        self._send(case)
        allowance, interrupted, compiling = self._longest, not case.heavy, None
        while True:
            now = time.monotonic()
            spent = (now if compiling is None else compiling) - began
            if compiling is None and not interrupted and spent > PATIENCE:
                self._interrupt()
                interrupted, allowance = True, PATIENCE + self._longest
            if spent > allowance:
                self.stop()
                what = "hang after an interrupt" if case.heavy else "hang"
                return Outcome(None, seconds=spent, died=f"{what} ({case.kind})")
            try:
                event = self._events.get(timeout=0.05)
            except queue.Empty:
                continue
            if event is None:
                return self._died(spent)
            if "compiling" in event:
                if event["compiling"]:
                    compiling = time.monotonic()
                elif compiling is not None:
                    began, compiling = began + time.monotonic() - compiling, None
                continue
            if event["restart"]:
                self.stop()
            return Outcome(**event["done"], seconds=time.monotonic() - began)

    def stop(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            _close(process)

    def _start(self) -> None:
        self._events = queue.Queue()
        path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
        self._process = subprocess.Popen(
            [sys.executable, "-m", "fuzz.worker", *self._options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": path},
            start_new_session=True,  # Ctrl-C is for the runner
        )
        threading.Thread(target=_listen, args=(self._process, self._events), daemon=True).start()
        deadline = time.monotonic() + LONGEST_START
        while True:
            event = self._events.get(timeout=max(deadline - time.monotonic(), 0.01))
            if event is None:
                raise RuntimeError("the worker does not start; run python -m fuzz.worker")
            if "ready" in event:
                return

    def _send(self, case: Case) -> None:
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.write(case.to_json().encode() + b"\n")
            self._process.stdin.flush()

    def _interrupt(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)

    def _died(self, spent: float) -> Outcome:
        process, self._process = self._process, None
        code = None if process is None else _close(process)
        return Outcome(None, seconds=spent, died=f"the process died with code {code}")


def _close(process: subprocess.Popen[bytes]) -> int:
    """Wait for the end of a process and return its exit code."""
    if process.stdin is not None:
        with suppress(OSError):
            process.stdin.close()
    return process.wait()


def _listen(process: subprocess.Popen[bytes], events: queue.Queue[dict[str, Any] | None]) -> None:
    if process.stdout is not None:
        with process.stdout as lines:
            for line in lines:
                events.put(json.loads(line))
    events.put(None)
