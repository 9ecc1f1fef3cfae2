"""LINE, with its compiled simulator LDES.

LDES is a native program in LINE's wheel, so no JVM is needed. The loss system is a delay station in
a region of 800 jobs that drops further ones. A queue with 800 servers and a capacity of 800 gives
the same path at a third of the speed, because LDES searches for an idle server one by one.
Confidence intervals and the transient filter are off.

The time is CPU time of the LDES process. It includes some milliseconds of start-up and of reading
the model, but not Python's part. The run starts empty and is counted from the start, which lowers
the blocking by about 0.4 % of its value in a run of a million arrivals.
"""

from __future__ import annotations

import math
import resource

from line_solver import (
    Delay,
    Det,
    Exp,
    Lognormal,
    Network,
    OpenClass,
    Sink,
    SolverLDES,
    Source,
)

from benchmarks.peers import PeerResult, model

# LDES does not accept Pareto sizes of infinite variance.
LAWS = ("exponential", "deterministic", "lognormal")


def service(law: str) -> Exp | Det | Lognormal:
    """Return the distribution of the execution times."""
    log_mean = -model.LOGNORMAL_VARIANCE / 2 - math.log(model.SPEED_UP)
    return {
        "exponential": Exp(model.SPEED_UP),
        "deterministic": Det(1 / model.SPEED_UP),
        "lognormal": Lognormal(log_mean, math.sqrt(model.LOGNORMAL_VARIANCE)),
    }[law]


def loss_system(law: str) -> Network:
    """Build the network: source, places, sink."""
    network = Network("loss")
    source = Source(network, "Source")
    places = Delay(network, "Places")
    sink = Sink(network, "Sink")
    jobs = OpenClass(network, "Jobs")
    source.set_arrival(jobs, Exp(model.ARRIVAL_RATE))
    places.set_service(jobs, service(law))
    network.link(Network.serial_routing(source, places, sink))
    region = network.add_region(places)
    region.set_global_max_jobs(model.PLACES)
    region.set_drop_rule(jobs, True)  # noqa: FBT003 - LINE's signature
    return network


def _children_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(law: str, arrivals: int, seed: int) -> PeerResult:
    """Simulate about this number of arrivals from empty; LDES counts completions."""
    model.refuse_unless(law, LAWS, "LINE")
    completions = round(arrivals * (1 - model.erlang_b(model.OFFERED, model.PLACES)))
    solver = SolverLDES(
        loss_system(law),
        samples=completions,
        seed=seed,
        tranfilter="none",
        cimethod="none",
        verbose="silent",
    )
    started = _children_seconds()
    result = solver.runAnalyzer()
    seconds = _children_seconds() - started
    accepted, dropped = float(result.AN[1, 0]), float(result.DropRateNfcr[0, 0])
    duration = completions / float(result.TN[1, 0])
    arrived = round((accepted + dropped) * duration)
    return PeerResult("LINE LDES", arrived / seconds, dropped / (accepted + dropped), arrived)
