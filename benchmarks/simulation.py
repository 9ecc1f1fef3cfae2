"""Arrivals per second on one loss model, compared with four programs, and how they scale."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from scipy.stats import weibull_min

from benchmarks.peers import PeerResult, priority_queue, with_ciw, with_line, with_simpy
from benchmarks.table import PEAK_MIB, Row
from moldable import Greedy, JobClass, Scenario, SizeLaw, SpeedUp, Workload, simulate
from moldable.arrivals import MarkovModulated, Poisson, Renewal
from moldable.model.arrivals import Arrivals
from moldable.simulation import chain_run
from moldable.sizes import FromScipy, Lognormal, Pareto, PhaseType, Weibull

N = 4000
LOAD = 1 - 0.1 / N**0.5
EXACT = 0.026722726846
LINEAR, PAPER = SpeedUp.linear(5), SpeedUp([1, 1.8, 2.5, 3, 3.4])
SPELLED = {
    "exponential": "exponential",
    "deterministic": "deterministic",
    "lognormal": "lognormal:1",
    "pareto": "pareto:1.5",
}
# Phases that a job may visit repeatedly.
LOOP = PhaseType([0.5, 0.3, 0.2], [[-3.0, 2.0, 0.5], [0.4, -1.0, 0.3], [0.0, 0.5, -2.0]])
MANY_WIDTHS = {
    "exponential": (SizeLaw.parse("exponential"),),
    "lognormal": (SizeLaw.parse("lognormal:1"),),
    "phase-type with loops": (LOOP,),
    "two classes, phase-type and lognormal": (LOOP, SizeLaw.parse("lognormal:1")),
}
# No grid of quantiles is fine enough for its sizes.
STEEP = FromScipy(weibull_min(0.02))
RENEWAL = Renewal(Lognormal(1.5))
MODULATED = MarkovModulated((0.5, 1.5), ((0, 1), (1, 0)))
MIXED_WIDTHS: dict[str, tuple[Arrivals, tuple[SizeLaw, ...]]] = {
    "renewals": (RENEWAL, (Lognormal(1.0),)),
    "renewals, two classes": (RENEWAL, (LOOP, Lognormal(1.0))),
    "modulated": (MODULATED, (Lognormal(1.0),)),
    "modulated, two classes": (MODULATED, (LOOP, Lognormal(1.0))),
    "two classes, one too steep for a grid": (Poisson(), (STEEP, Lognormal(1.0))),
    "renewals, two classes, one too steep for a grid": (RENEWAL, (STEEP, Lognormal(1.0))),
    "modulated, five classes": (
        MODULATED,
        (LOOP, Lognormal(1.0), STEEP, Weibull(0.7), Pareto(1.5)),
    ),
}
ROUNDS, TURNS = 3, 7


def workload(law: str, curve: SpeedUp = LINEAR, load: float = LOAD, n: int = N) -> Workload:
    """Return the model with this size law."""
    return Workload((JobClass("jobs", n * load, curve, size=SizeLaw.parse(SPELLED[law])),))


def ours(law: str, curve: SpeedUp = LINEAR, load: float = LOAD) -> PeerResult:
    """Run `simulate` with all its results on one thread."""
    chain = law == "exponential"
    answer = simulate(
        Scenario(workload(law, curve, load), N),
        jobs=1_000_000 if chain else 500_000,
        replications=64 if chain else 8,
        threads=1,
        seed=1,
    )
    return PeerResult(
        f"moldable, {answer.detail.kernel}",
        answer.detail.arrivals_per_second,
        answer.blocking.value,
        answer.detail.arrivals,
    )


def counts_only() -> PeerResult:
    """Run the chain without time averages: blocking and widths only."""
    usual, chain_run.TICKS = chain_run.TICKS, 1 << 16
    try:
        return ours("exponential")
    finally:
        chain_run.TICKS = usual


RUNS = {
    ("ours", "exponential"): lambda: ours("exponential"),
    ("ours", "counts only"): counts_only,
    ("ours", "mixed"): lambda: ours("exponential", PAPER, 0.8),
    ("ours", "deterministic"): lambda: ours("deterministic"),
    ("ours", "lognormal"): lambda: ours("lognormal"),
    ("ours", "pareto"): lambda: ours("pareto"),
    ("C++", "exponential"): lambda: priority_queue.run("exponential", 5_000_000, 7),
    ("C++", "mixed"): lambda: priority_queue.run_mixed("exponential", 5_000_000, 7),
    ("C++", "deterministic"): lambda: priority_queue.run("deterministic", 5_000_000, 7),
    ("C++", "lognormal"): lambda: priority_queue.run("lognormal", 5_000_000, 7),
    ("C++", "pareto"): lambda: priority_queue.run("pareto", 5_000_000, 7),
    ("LINE", "exponential"): lambda: with_line.run("exponential", 2_000_000, 7),
    ("LINE", "deterministic"): lambda: with_line.run("deterministic", 2_000_000, 7),
    ("LINE", "lognormal"): lambda: with_line.run("lognormal", 2_000_000, 7),
    ("SimPy", "exponential"): lambda: with_simpy.run("exponential", 300_000, 7),
    ("Ciw", "exponential"): lambda: with_ciw.run("exponential", 20_000, 7),
}
# Target ratios of speeds: (size law of moldable, peer, size law of the peer, factor).
TARGETS = [
    ("exponential", "LINE", "exponential", 60),
    ("exponential", "C++", "exponential", 7),
    ("mixed", "LINE", "exponential", 60),
    ("mixed", "C++", "mixed", 7),
    ("counts only", "LINE", "exponential", 100),
    ("counts only", "C++", "exponential", 10),
    ("deterministic", "LINE", "deterministic", 10),
    ("deterministic", "C++", "deterministic", 1.5),
    ("lognormal", "LINE", "lognormal", 10),
    ("lognormal", "C++", "lognormal", 1.5),
    ("pareto", "LINE", "exponential", 7),
]


def peers() -> list[Row]:
    """Run all programs in turn, several times, and keep the best time of each."""
    best: dict[tuple[str, str], PeerResult] = {}
    for _ in range(ROUNDS):
        for key, run in RUNS.items():
            found = run()
            if key not in best or found.arrivals_per_second > best[key].arrivals_per_second:
                best[key] = found
    rows = [
        Row(
            f"{result.name}, {law}",
            f"{result.arrivals_per_second / 1e6:.3g} M arrivals/s, blocking {result.blocking:.5f}",
            f"blocking {EXACT:.6f}" if law != "mixed" else "",
        )
        for (_, law), result in best.items()
    ]
    for law, peer, peer_law, factor in TARGETS:
        times = best["ours", law].arrivals_per_second / best[peer, peer_law].arrivals_per_second
        rows.append(
            Row(f"{law}: times {peer} ({peer_law})", f"{times:.3g}", f"{factor:g}", times >= factor)
        )
    return rows


def walls(*functions: Callable[[], object]) -> list[float]:
    """Return the median wall-clock seconds of each; they run in turn, as the machine is noisy."""
    seconds: list[list[float]] = [[] for _ in functions]
    for _ in range(TURNS):
        for function, spent in zip(functions, seconds, strict=True):
            started = time.perf_counter()
            function()
            spent.append(time.perf_counter() - started)
    return [statistics.median(spent) for spent in seconds]


def scaling() -> list[Row]:
    """Measure threads, numbers of servers, many widths, memory, and the command line."""
    rows = []
    # No target for 16: with AVX-512, a set of 8 lanes takes as long as one of 16.
    for law, jobs, replications, target in (
        ("exponential", 4_000_000, 128, 1.8),
        ("exponential", 8_000_000, 16, None),
        ("lognormal", 1_000_000, 32, 1.8),
    ):
        options = {"jobs": jobs, "replications": replications, "seed": 1, "warmup": 0.0}
        one, two = walls(
            *(
                partial(simulate, Scenario(workload(law), N), threads=threads, **options)
                for threads in (1, 2)
            )
        )
        rows.append(
            Row(
                f"two threads against one, {replications} replications, {law}",
                f"{one / two:.2f}",
                "" if target is None else f"{target:g}",
                None if target is None else one / two >= target,
            )
        )
    for law, most in (("exponential", 3.0), ("lognormal", 6.0)):
        small, large = (_cost(law, n) for n in (1000, 1_000_000))
        rows.append(
            Row(
                f"cost of an arrival at n = 1,000,000 against 1,000, {law}",
                f"{large / small:.2f}",
                f"at most {most:g}",
                large / small <= most,
            )
        )
    rows.extend(_many_widths(name, laws) for name, laws in MANY_WIDTHS.items())
    rows.extend(_mixed_widths(name, *case) for name, case in MIXED_WIDTHS.items())
    return [*rows, _memory(), _wait()]


def _cost(law: str, n: int) -> float:
    load = 1 - 0.1 / n**0.5
    options = {"jobs": 2_000_000, "replications": 32 if law == "exponential" else 2}
    best = max(
        simulate(
            Scenario(workload(law, load=load, n=n), n), threads=1, seed=1, warmup=0.0, **options
        ).detail.arrivals_per_second
        for _ in range(2)
    )
    return 1 / best


def _many_widths(name: str, laws: tuple[SizeLaw, ...]) -> Row:
    curve = SpeedUp.amdahl(0.999, 1024)
    classes = tuple(
        JobClass(f"class {j}", 1.5 / len(laws), curve, mean_size=400.0, size=law)
        for j, law in enumerate(laws)
    )
    options = {"jobs": 300_000, "replications": 4, "threads": 1, "seed": 1}
    answer = simulate(Scenario(Workload(classes), 5000), Greedy(), **options)
    return _speed(f"d = 1,024, {name}, {answer.detail.kernel}", answer.detail.arrivals_per_second)


def _mixed_widths(name: str, arrivals: Arrivals, laws: tuple[SizeLaw, ...]) -> Row:
    """Time greedy(p*), which uses several widths: thousands of jobs run at once."""
    curve = SpeedUp.power_law(0.8, 1024)
    classes = tuple(
        JobClass(f"class {j}", 0.8 * N / len(laws), curve, size=law) for j, law in enumerate(laws)
    )
    options = {"jobs": 1_000_000, "replications": 2, "threads": 1, "seed": 1}
    answers = [simulate(Scenario(Workload(classes), N, arrivals), **options) for _ in range(ROUNDS)]
    best = max(answer.detail.arrivals_per_second for answer in answers)
    return _speed(f"d = 1,024, mixed widths, {name}, {answers[0].detail.kernel}", best)


def _speed(what: str, speed: float) -> Row:
    return Row(what, f"{speed / 1e6:.3g} M arrivals/s", "10 M", speed >= 10e6)


def _memory() -> Row:
    code = (
        "from moldable import *\nfrom moldable.sizes import *\n"
        "w = Workload((JobClass('a', 999000.0, SpeedUp([1, 1.8]), size=Lognormal(1.0)),))\n"
        "simulate(Scenario(w, 1000000), jobs=3000000, replications=2, seed=1, warmup=0.0)\n"
        f"print({PEAK_MIB})"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    found = float(run.stdout)
    return Row(
        "memory at n = 1,000,000, widths 1 and 2, lognormal",
        f"{found:.0f} MB",
        "300 MB",
        found <= 300,
    )


def _wait() -> Row:
    program = str(Path(sys.executable).with_name("moldable"))
    words = [
        "simulate",
        "--servers",
        "4000",
        "--regime",
        "1/2,0.1",
        "--speedup",
        "linear:5",
        "--precision",
        "0.01",
    ]
    (spent,) = walls(
        lambda: subprocess.run([program, *words], stdout=subprocess.DEVNULL, check=True)
    )
    return Row(
        "moldable simulate to 1 % at n = 4000, once compiled", f"{spent:.2f} s", "5 s", spent <= 5
    )
