"""Headless Chromium, driven by its DevTools protocol over a pipe: no port, no driver program."""

from __future__ import annotations

import base64
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from select import select
from typing import Any, Self

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--disable-dev-shm-usage", "--hide-scrollbars", "--remote-debugging-pipe"),
)
LONGEST = 60.0
"""Seconds after which the browser counts as hanging."""
# Chromium reads commands from file descriptor 3 and writes answers to 4.
LAUNCH = (
    "import fcntl, os, sys; a, b = (fcntl.fcntl(int(f), fcntl.F_DUPFD, 10) for f in sys.argv[1:3]);"
    "os.dup2(a, 3); os.dup2(b, 4); os.execv(sys.argv[3], sys.argv[3:])"
)


def chromium() -> str | None:
    """Return the path of Chromium; None if it is not installed."""
    return next(filter(None, map(shutil.which, PROGRAMS)), None)


class Browser:
    """One headless browser with one page; every network request and console message is kept."""

    def __init__(self, program: str) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="moldable-chromium-")
        commands, own_commands = os.pipe()
        own_answers, answers = os.pipe()
        launch = [sys.executable, "-c", LAUNCH, str(commands), str(answers), program, *FLAGS]
        self._process = subprocess.Popen(
            [*launch, f"--user-data-dir={self._folder.name}", "about:blank"],
            pass_fds=(commands, answers),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(commands)
        os.close(answers)
        self._write, self._read = own_commands, own_answers
        self._buffer, self._last, self._session = b"", 0, ""
        self.requests: list[str] = []
        self.problems: list[str] = []
        self._loaded = False
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the browser and its own processes, and remove its folder."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)  # its session has no other processes
        self._process.wait()
        os.close(self._write)
        os.close(self._read)
        for _ in range(50):  # its processes may still be writing
            try:
                self._folder.cleanup()
            except OSError:
                time.sleep(0.1)
            else:
                return

    def open(
        self,
        path: Path | str,
        width: int,
        *,
        dark: bool = False,
        media: str = "",
        still: bool = False,
    ) -> None:
        """Open a file or an address in a window of this width; `still`: with reduced motion."""
        self.requests.clear()
        self.problems.clear()
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=900,
            deviceScaleFactor=1,
            mobile=False,
        )
        features = [
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
            {"name": "prefers-reduced-motion", "value": "reduce" if still else "no-preference"},
        ]
        self.call("Emulation.setEmulatedMedia", media=media, features=features)
        self._loaded = False
        url = path if isinstance(path, str) else path.resolve().as_uri()
        self.call("Page.navigate", url=url)
        ends = time.monotonic() + LONGEST
        while not self._loaded:
            self._handle(self._receive(ends))

    def evaluate(self, script: str) -> Any:
        """Return the value of an expression in the page."""
        found = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def wait_for(self, script: str) -> Any:
        """Wait until an expression is true, and return its value."""
        ends = time.monotonic() + LONGEST
        while not (found := self.evaluate(script)):
            assert time.monotonic() < ends, script
            time.sleep(0.02)
        return found

    def press(self, key: str, code: int, text: str = "") -> None:
        """Press and release a key; `code` is its Windows virtual key code."""
        event = {"key": key, "code": key, "windowsVirtualKeyCode": code, "text": text}
        self.call("Input.dispatchKeyEvent", type="keyDown", **event)
        self.call("Input.dispatchKeyEvent", type="keyUp", **event)

    def screenshot(self, path: Path) -> None:
        """Save a picture of the whole page."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        found = self.call("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
        path.write_bytes(base64.b64decode(found["data"]))

    def pdf(self) -> bytes:
        """Return the printed page."""
        return base64.b64decode(self.call("Page.printToPDF")["data"])

    def call(self, method: str, **parameters: object) -> dict[str, Any]:
        """Send a command and return its answer."""
        self._last += 1
        message: dict[str, Any] = {"id": self._last, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._write, data) :]
        ends = time.monotonic() + LONGEST
        while True:
            answer = self._receive(ends)
            if answer.get("id") == self._last:
                assert "error" not in answer, f"{method}: {answer['error']}"
                return answer["result"]
            self._handle(answer)

    def _receive(self, ends: float) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select([self._read], [], [], max(0.0, ends - time.monotonic()))
            if not ready:
                raise TimeoutError("Chromium does not answer")
            data = os.read(self._read, 1 << 20)
            if not data:
                raise ConnectionError("Chromium has ended")
            self._buffer += data
        message, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(message)

    def _handle(self, event: dict[str, Any]) -> None:
        """Keep what tests look at: requests, console messages, errors, and the end of loading."""
        name, given = event.get("method"), event.get("params", {})
        if name == "Network.requestWillBeSent":
            self.requests.append(given["request"]["url"])
        elif name == "Runtime.consoleAPICalled":
            self.problems.append(str(given["args"]))
        elif name == "Runtime.exceptionThrown":
            self.problems.append(str(given["exceptionDetails"]))
        elif name == "Log.entryAdded":
            self.problems.append(given["entry"]["text"])
        elif name == "Page.loadEventFired":
            self._loaded = True
