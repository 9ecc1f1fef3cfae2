"""Ciw, with a fixed width: the closest model that it can express.

A customer of Ciw is served by one server, so jobs cannot hold several, nor as many as the state
suggests. Here each of its servers stands for a fixed number of real ones: pairs, or single servers
where pairs would be overloaded. Completed services and departed customers are not recorded. The
time is that of `simulate_until_max_customers`. A first call, which is not timed, places the jobs
that run at the start as one batch of a separate class. Ciw checks every server at every event, so
its speed decreases with their number.
"""

from __future__ import annotations

import math
import time

import ciw
import numpy as np

from benchmarks.peers import model, queue_model
from benchmarks.peers.with_ciw import ForgetfulExit, UnrecordedNode

LAWS = ("exponential",)


def width_for(load: float) -> int:
    """Return 2 unless pairs of servers would be overloaded."""
    return 2 if load * 2 / queue_model.SPEED_UPS[1] < 1 else 1


def delay_system(load: float, running: list[float]) -> ciw.Simulation:
    """Build the node, with a batch of jobs already running at time zero."""
    width = width_for(load)
    network = ciw.create_network(
        arrival_distributions={
            "Job": [ciw.dists.Exponential(queue_model.SERVERS * load)],
            "Found": [ciw.dists.Sequential([0.0, math.inf])],
        },
        batching_distributions={
            "Job": [ciw.dists.Deterministic(1)],
            "Found": [ciw.dists.Deterministic(len(running))],
        },
        service_distributions={
            "Job": [ciw.dists.Exponential(queue_model.SPEED_UPS[width - 1])],
            "Found": [ciw.dists.Sequential(running)],
        },
        number_of_servers=[queue_model.SERVERS // width],
    )
    return ciw.Simulation(network, node_class=UnrecordedNode, exit_node_class=ForgetfulExit)


def run(law: str, load: float, arrivals: int, seed: int) -> queue_model.QueueResult:
    """Simulate the arrivals, starting with the mean number of running jobs.

    The response is not measured: the model is another one.
    """
    model.refuse_unless(law, LAWS, "Ciw")
    ciw.seed(seed)
    width = width_for(load)
    speed_up = queue_model.SPEED_UPS[width - 1]
    jobs = round(queue_model.SERVERS * load / speed_up)
    running = np.random.default_rng(seed).exponential(1 / speed_up, jobs).tolist()
    simulation = delay_system(load, running)
    # The batch and one more arrival: Ciw divides by the time at the end of every call.
    placed = len(running) + 1
    simulation.simulate_until_max_customers(placed, method="Arrive")
    started = time.process_time()
    simulation.simulate_until_max_customers(placed + arrivals, method="Arrive")
    seconds = time.process_time() - started
    name = f"Ciw, fixed width {width}"
    return queue_model.QueueResult(name, arrivals / seconds, math.nan, arrivals)
