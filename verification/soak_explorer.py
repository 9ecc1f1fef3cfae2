"""The explorer with a page open that asks a new question every few seconds."""

from __future__ import annotations

import http.client
import importlib.util
import random
import re
import subprocess
import sys
import time
from collections import Counter
from urllib.parse import urlsplit

from explorer_page import Page

CURVES = ("1,1.8,2.5,3,3.4", "1=1,2=1.9,4=3.5", "amdahl:0.9:6", "1,1.2")
WAITING = ("0", "0", "5", "unlimited")
MOST_SERVERS = 16
LEAST_PAUSE, LONGEST_PAUSE, SHARE = 2.0, 20.0, 3.0
"""Seconds between two questions, and how many times as long as its answers the pause is."""
QUESTIONS = 40
"""Questions of a page before it is opened anew."""
TIMEOUT = 300.0


class ExplorerSubject:
    """`moldable explore` as users start it; `step` asks the questions that are due."""

    name = "explorer"

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)  # noqa: S311 - not secret
        self._due, self._asked, self._pages = time.monotonic(), 0, 0
        self._statuses: Counter[int] = Counter()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "moldable", "explore", "--no-browser"],
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            self._connect()
        except BaseException:
            self._process.kill()
            raise

    @staticmethod
    def missing() -> str | None:
        """Return why the explorer cannot run here."""
        absent = [name for name in ("dash", "waitress") if importlib.util.find_spec(name) is None]
        return f"{', '.join(absent)} not installed; install the extra explore" if absent else None

    @property
    def process(self) -> int:
        """Process id of the server."""
        return self._process.pid

    @property
    def work(self) -> str:
        """What was done."""
        requests = sum(self._statuses.values())
        return f"{self._asked} questions on {self._pages} pages, {requests} requests"

    def step(self) -> None:
        """Ask a question if one is due; fail if the server has ended or refused."""
        if self._process.poll() is not None:
            raise RuntimeError(f"the explorer ended with code {self._process.returncode}")
        begun = time.monotonic()
        if begun < self._due:
            return
        if self._asked % QUESTIONS == 0:
            self._page = Page(self._send)
            self._pages += 1
        self._page.set(
            load=f"{self._rng.uniform(0.3, 0.9):.3f}",
            servers=str(self._rng.randint(2, MOST_SERVERS)),
            waiting=self._rng.choice(WAITING),
            seed=str(self._rng.randrange(1000)),
            speedup__0=self._rng.choice(CURVES),
        )
        self._page.ask_all()
        self._asked += 1
        if bad := set(self._statuses) - {200, 204}:
            raise RuntimeError(f"the explorer answered with status {sorted(bad)}")
        now = time.monotonic()
        self._due = now + min(max(LEAST_PAUSE, SHARE * (now - begun)), LONGEST_PAUSE)
        self._connection.close()  # the server closes those that are idle

    def close(self) -> None:
        """End the server."""
        self._connection.close()
        self._process.terminate()
        self._process.communicate(timeout=30)

    def _connect(self) -> None:
        """Read the address that the server prints."""
        line = self._process.stdout.readline() if self._process.stdout else ""
        found = re.search(r"http://\S+", line)
        if found is None:
            raise RuntimeError(f"the explorer printed no address: {line!r}")
        url = urlsplit(found[0])
        self._path = url.path
        self._connection = http.client.HTTPConnection(url.hostname, url.port, timeout=TIMEOUT)

    def _send(self, path: str, body: bytes | None) -> tuple[int, bytes]:
        headers = {} if body is None else {"Content-Type": "application/json"}
        self._connection.request(
            "GET" if body is None else "POST", self._path + path, body, headers
        )
        answer = self._connection.getresponse()
        self._statuses[answer.status] += 1
        return answer.status, answer.read()
