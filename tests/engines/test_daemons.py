"""Ports of private Slurms belong to one of them, and to no connection."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from engines.daemons import Ports


def test_ports_are_given_once_and_not_to_connections():
    with closing(Ports(66)) as first, closing(Ports(66)) as second:
        ports = {*first.numbers, *second.numbers}
        assert len(ports) == 132
        lowest = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
        assert max(ports) < lowest
