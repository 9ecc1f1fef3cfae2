"""Run commands at a terminal."""

from __future__ import annotations

import subprocess
import sys

import pytest

# In a separate process: a pseudo-terminal that is not read would block the command.
CODE = """
import os, pty, subprocess, sys, threading
master, slave = pty.openpty()
shown = []
def read():
    try:
        while piece := os.read(master, 4096): shown.append(piece)
    except OSError:
        pass
reader = threading.Thread(target=read)
reader.start()
words = [os.path.join(os.path.dirname(sys.executable), "moldable"), *sys.argv[1:]]
done = subprocess.run(words, stdout=subprocess.DEVNULL, stderr=slave)
os.close(slave)
reader.join()
sys.stdout.buffer.write(b"".join(shown))
sys.exit(done.returncode)
"""


@pytest.fixture(scope="session")
def on_terminal():
    """Run a command whose standard error is a terminal; return its text."""

    def shown(*arguments: str) -> str:
        command = [sys.executable, "-c", CODE, *arguments]
        done = subprocess.run(command, capture_output=True, check=True)
        return done.stdout.decode(errors="replace")

    return shown
