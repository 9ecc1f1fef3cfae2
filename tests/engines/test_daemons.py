"""Ports of private Slurms belong to one of them, and to no connection."""

from __future__ import annotations

from pathlib import Path

from engines.daemons import reserve_ports


def test_reserved_ports_are_given_once_and_not_to_connections():
    first, ports = reserve_ports(66)
    second, others = reserve_ports(66)
    with first, second:
        assert len({*ports, *others}) == 132
        lowest = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
        assert max(*ports, *others) < lowest
