"""What a person at a terminal sees of a command."""

from __future__ import annotations

import subprocess
import sys

import pytest

# In a process of its own: a pseudo-terminal whose other end nobody reads would block the command.
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
    """Run a command whose standard error is a terminal; return what appears there."""

    def shown(*arguments: str) -> str:
        command = [sys.executable, "-c", CODE, *arguments]
        done = subprocess.run(command, capture_output=True, check=True)
        return done.stdout.decode(errors="replace")

    return shown
