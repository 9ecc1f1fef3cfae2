"""Ciw, with 800 servers and no waiting room.

Departed and rejected customers and completed services are not recorded; Ciw has hooks for this. The
time is that of `simulate_until_max_customers`. A first call, which is not timed, places the jobs
that run at the start as one batch of a separate class. Ciw checks every server at every event, so
its speed decreases with their number.
"""

from __future__ import annotations

import math
import random
import time

import ciw
import numpy as np

from benchmarks.peers import PeerResult, model

LAWS = model.LAWS


class UnrecordedNode(ciw.Node):
    """A node that writes no record of a completed service."""

    def write_individual_record(self, individual: ciw.Individual) -> None:
        """Write nothing."""


class ForgetfulExit(ciw.ExitNode):
    """An exit that counts customers without keeping them."""

    def accept(self, next_individual: ciw.Individual, completed: bool = True) -> None:  # noqa: FBT001, FBT002 - Ciw's signature
        """Count the customer."""
        next_individual.node = self.id_number
        self.number_of_individuals += 1
        self.number_of_completed_individuals += completed


class Pareto(ciw.dists.Distribution):
    """The Pareto distribution, which Ciw does not provide."""

    def sample(self, t: float | None = None, ind: ciw.Individual | None = None) -> float:  # noqa: ARG002 - Ciw's signature
        """Draw an execution time, from the generator that Ciw seeds."""
        return model.PARETO_LEAST / model.SPEED_UP * random.paretovariate(model.PARETO_SHAPE)


def service(law: str) -> ciw.dists.Distribution:
    """Return the distribution of the execution times."""
    log_mean = -model.LOGNORMAL_VARIANCE / 2 - math.log(model.SPEED_UP)
    return {
        "exponential": ciw.dists.Exponential(model.SPEED_UP),
        "deterministic": ciw.dists.Deterministic(1 / model.SPEED_UP),
        "lognormal": ciw.dists.Lognormal(log_mean, math.sqrt(model.LOGNORMAL_VARIANCE)),
        "pareto": Pareto(),
    }[law]


def loss_system(law: str, running: list[float]) -> ciw.Simulation:
    """Build the node, with a batch of jobs already running at time zero."""
    network = ciw.create_network(
        arrival_distributions={
            "Job": [ciw.dists.Exponential(model.ARRIVAL_RATE)],
            "Found": [ciw.dists.Sequential([0.0, math.inf])],
        },
        batching_distributions={
            "Job": [ciw.dists.Deterministic(1)],
            "Found": [ciw.dists.Deterministic(len(running))],
        },
        service_distributions={
            "Job": [service(law)],
            "Found": [ciw.dists.Sequential(running)],
        },
        number_of_servers=[model.PLACES],
        queue_capacities=[0],
    )
    return ciw.Simulation(network, node_class=UnrecordedNode, exit_node_class=ForgetfulExit)


def run(law: str, arrivals: int, seed: int) -> PeerResult:
    """Simulate the arrivals from equilibrium."""
    model.refuse_unless(law, LAWS, "Ciw")
    ciw.seed(seed)
    running = model.running_at_start(law, np.random.default_rng(seed))
    simulation = loss_system(law, running)
    # The batch and one more arrival: Ciw divides by the time at the end of every call.
    placed = len(running) + 1
    simulation.simulate_until_max_customers(placed, method="Arrive")
    started = time.process_time()
    simulation.simulate_until_max_customers(placed + arrivals, method="Arrive")
    seconds = time.process_time() - started
    entrance = simulation.nodes[0]
    blocked = 1 - entrance.number_accepted_individuals_per_class["Job"] / (arrivals + 1)
    return PeerResult("Ciw", arrivals / seconds, blocked, arrivals)
