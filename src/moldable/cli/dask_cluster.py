"""Connect to a Dask cluster, with clear errors."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from urllib.parse import urlsplit

from moldable.errors import InputError

SECONDS = 15.0
"""Time in which a scheduler must answer, also on a busy machine."""
LONGEST_GREETING = 1 << 20


@contextmanager
def dask_executor(address: str | None) -> Iterator[Executor | None]:
    """Return the workers of a cluster as an executor, or None without an address."""
    if address is None:
        yield None
        return
    _refuse_unreachable(address)
    try:
        from distributed import Client
    except ModuleNotFoundError:
        raise InputError("--dask needs the package distributed; install moldable[dask]") from None
    try:
        client = Client(address, timeout=SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise InputError(_unreachable(address, type(error).__name__)) from None
    try:
        yield client.get_executor(pure=False)
    finally:
        client.close()


def _refuse_unreachable(address: str) -> None:
    """Check that a scheduler answers: a client would wait forever for anything else.

    A scheduler sends a message when a connection opens; a message begins with its length.
    """
    try:
        place = urlsplit(address)
        host, port = place.hostname, place.port
    except ValueError:
        host, port = None, None
    if not host or not port:
        raise InputError(_unreachable(address, "the address has no host and port"))
    try:
        with socket.create_connection((host, port), SECONDS) as connection:
            greeting = connection.recv(8) if place.scheme == "tcp" else b"\1"
    except OSError as error:
        raise InputError(_unreachable(address, type(error).__name__)) from None
    if not 0 < int.from_bytes(greeting, "little") < LONGEST_GREETING:
        raise InputError(_unreachable(address, "another program listens there"))


def _unreachable(address: str, reason: str) -> str:
    return (
        f"no Dask scheduler answers at {address} ({reason}); check the address, such as "
        f"tcp://127.0.0.1:8786, and that the scheduler runs"
    )
