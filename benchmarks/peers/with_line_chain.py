"""LINE's Markov chain solver, with two rigid classes.

Both classes share a region of n servers that drops jobs that do not fit. LINE enumerates the states
up to a cutoff for each class. It is set to the largest number that fits, so nothing is truncated;
LINE's warning about truncation is therefore suppressed.
"""

from __future__ import annotations

import contextlib
import io
import time
import warnings
from dataclasses import dataclass

import numpy as np
from line_solver import Delay, Exp, Network, OpenClass, Sink, SolverCTMC, Source

WIDTHS = (1, 5)


@dataclass(frozen=True)
class ChainResult:
    """The result of a chain solver and its time.

    Attributes:
        seconds: CPU time of the solver, without building the model.
        blocking: of each class.
    """

    seconds: float
    blocking: tuple[float, ...]


def loss_system(servers: int, rates: tuple[float, float], speeds: tuple[float, float]) -> Network:
    """Build the network: source, servers, sink."""
    network = Network("rigid")
    source, places, sink = (
        Source(network, "Source"),
        Delay(network, "Servers"),
        Sink(network, "Sink"),
    )
    classes = [OpenClass(network, f"{width} wide") for width in WIDTHS]
    for job_class, rate, speed in zip(classes, rates, speeds, strict=True):
        source.set_arrival(job_class, Exp(rate))
        places.set_service(job_class, Exp(speed))
    network.link(Network.serial_routing(source, places, sink))
    region = network.add_region(places)
    region.set_linear_constraints(np.array([WIDTHS], dtype=float), np.array([float(servers)]))
    for job_class in classes:
        region.set_drop_rule(job_class, True)  # noqa: FBT003 - LINE's signature
    return network


def run(servers: int, rates: tuple[float, float], speeds: tuple[float, float]) -> ChainResult:
    """Solve the chain once."""
    network = loss_system(servers, rates, speeds)
    most = np.array([[servers // width for width in WIDTHS]])
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        started = time.process_time()
        done = np.asarray(SolverCTMC(network, cutoff=most, verbose=False).getAvgTput())[1]
        seconds = time.process_time() - started
    blocking = tuple(1.0 - float(x) / rate for x, rate in zip(done, rates, strict=True))
    return ChainResult(seconds, blocking)
