"""How does a command reach a Dask cluster, and what does it say when it cannot?"""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from moldable.errors import InputError

SECONDS = 4.0


@contextmanager
def dask_executor(address: str | None) -> Iterator[Executor | None]:
    """Hand out the workers of a cluster as an executor; None stays None."""
    if address is None:
        yield None
        return
    _refuse_unreachable(address)
    try:
        from distributed import Client
    except ModuleNotFoundError:
        raise InputError("--dask needs the package distributed; install moldable[dask]") from None
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # one clear word is enough
    found: list[Any] = []

    def connect() -> None:
        try:
            found.append(Client(address, timeout=SECONDS, set_as_default=False))
        except Exception as error:  # noqa: BLE001 - whatever answers there is no scheduler
            found.append(error)

    # Something that listens but does not speak Dask's language may keep a client waiting for ever.
    attempt = threading.Thread(target=connect, daemon=True)
    attempt.start()
    attempt.join(2 * SECONDS)
    if not found or isinstance(found[0], Exception):
        reason = type(found[0]).__name__ if found else "no answer"
        raise InputError(_silent(address, reason))
    client = found[0]
    try:
        yield client.get_executor(pure=False)
    finally:
        client.close()


def _refuse_unreachable(address: str) -> None:
    """Knock at the door first: it is quicker than waiting for a client to give up."""
    try:
        place = urlsplit(address)
        host, port = place.hostname, place.port
        if not host or not port:
            raise InputError(_silent(address, "no host and port in it"))
        socket.create_connection((host, port), SECONDS).close()
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(_silent(address, type(error).__name__)) from None


def _silent(address: str, reason: str) -> str:
    return (
        f"no Dask scheduler answers at {address} ({reason}); check the address, such as "
        f"tcp://127.0.0.1:8786, and that the scheduler runs"
    )
