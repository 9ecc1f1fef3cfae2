"""The server of the explorer: it listens on 127.0.0.1 until Ctrl-C."""

from __future__ import annotations

import ctypes
import logging
import os
import secrets
import socket
import sys
import threading
import webbrowser
from collections.abc import Callable
from typing import Final

from waitress import create_server

from moldable.errors import InputError

M_MMAP_THRESHOLD, M_ARENA_MAX = -3, -8  # of malloc.h
ADDRESS: Final = "127.0.0.1"
LARGEST_PORT: Final = 65_535
THREADS: Final = 8
"""Requests answered at a time. A browser sends six; compiled code releases the interpreter."""
TOKEN_BYTES: Final = 24
MOST_HEAPS, DIRECT_SIZE = 2, 2**20
"""Heaps of the C library, and bytes from which memory is taken from the system directly."""
SCREENS: Final = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
"""Variables that a desktop sets, or the user."""


def listen(port: int | None) -> socket.socket:
    """Return a socket that listens on this machine only.

    Args:
        port: the port; by default the operating system chooses a free one.

    Raises:
        InputError: the port is in use, reserved or out of range.
    """
    if port is not None and not 0 < port <= LARGEST_PORT:
        raise InputError(f"{port} is not a port; choose 1024 to {LARGEST_PORT}", "port")
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((ADDRESS, port or 0))
        found.listen()
    except OSError as error:
        found.close()
        reason = (error.strerror or str(error)).lower()
        raise InputError(
            f"{port} cannot be used: {reason}; choose another port, or leave out --port", "port"
        ) from None
    return found


def new_token() -> str:
    """Return the secret part of an address."""
    return secrets.token_urlsafe(TOKEN_BYTES)


def address(listening: socket.socket, token: str) -> str:
    """Return the address of the page."""
    return f"http://{ADDRESS}:{listening.getsockname()[1]}/{token}/"


def open_browser(url: str, missing: Callable[[], None]) -> None:
    """Open the page in the user's browser without waiting for it.

    Args:
        url: of the page.
        missing: called if there is no browser.
    """

    def work() -> None:
        try:
            found = _has_screen() and webbrowser.open(url)
        except (webbrowser.Error, OSError):
            found = False
        if not found:
            missing()

    threading.Thread(target=work, daemon=True).start()


def _has_screen() -> bool:
    """Return whether a browser has somewhere to show a page; those of terminals run no scripts."""
    return sys.platform != "linux" or any(os.environ.get(name) for name in SCREENS)


def serve(
    app: Callable[..., object], listening: socket.socket, ready: Callable[[], None] | None = None
) -> None:
    """Answer requests until the process ends.

    Args:
        app: the WSGI application.
        listening: the socket.
        ready: called when requests are answered.
    """
    _return_freed_memory()
    # Waitress keeps connections open, bounds requests and writes no log, unlike Flask's own server.
    logging.getLogger("waitress").setLevel(logging.ERROR)
    server = create_server(app, sockets=[listening], threads=THREADS, ident=None)
    if ready is not None:
        ready()
    server.run()


def _return_freed_memory() -> None:
    """Let glibc return the memory of old answers to the system.

    By default each thread gets a heap of its own, in which freed arrays stay.
    """
    if sys.platform != "linux":
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # other C libraries have none
    if mallopt is not None:
        mallopt(M_ARENA_MAX, MOST_HEAPS)
        mallopt(M_MMAP_THRESHOLD, DIRECT_SIZE)
