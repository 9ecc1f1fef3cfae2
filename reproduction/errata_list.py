"""The errors and open points of the paper.

Every point has a short program, on a system small enough to be solved exactly where possible. The
programs are run as they are shown, and the text takes its numbers from them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final


@final
@dataclass(frozen=True)
class Erratum:
    """An error or an open point of the paper.

    Args:
        key: a name for files.
        title: of the point.
        claim: what the paper says.
        program: that shows the error.
        finding: its result, with variables of the program in braces.
    """

    key: str
    title: str
    claim: str
    program: str
    finding: str


P2 = Erratum(
    "property-p2",
    "The second assumption on speed-up curves is weaker than what the proof uses",
    "Concavity and, therefore, s_i/i non-increasing; Theorem 1(iii) then gives consecutive widths.",
    """
from moldable import SpeedUp, optimum
curve = SpeedUp([1, 1.2, 1.8, 2.0])
curve.is_efficiency_non_increasing(), curve.is_concave()
support = optimum(curve, 0.8).support
support
""",
    "A curve may have s_i/i non-increasing without being concave, and its optimum then uses the "
    "widths {support}, which are not consecutive. Concavity is what the theorem needs; the "
    "frontier needs neither.",
)

UNIQUENESS = Erratum(
    "uniqueness",
    "The optimum need not be unique",
    "Theorem 1(ii): if the load is s_i/i for some i, the optimal solution is unique.",
    """
from moldable import SpeedUp, optimum
curve, load = SpeedUp([1, 1.5, 2, 2.5]), 0.75
answer = optimum(curve, load)
answer.unique, answer.scaled_jobs.tolist()
other = [0.25, 0, 0.25, 0]
served, busy = float(curve.speedups @ other), float(curve.widths @ other)
served, busy                                     # serves the load and fits the servers
times = round(answer.mean_execution_time, 12), round(sum(other) / load, 12)
times
""",
    "On the collinear curve 1, 1.5, 2, 2.5 at load 0.75 = s_2/2 there are two optimal solutions "
    "with the mean execution times {times[0]:.6f} and {times[1]:.6f}.",
)

COLLAPSE = Erratum(
    "collapse",
    "Jobs narrower than the support accumulate",
    "Lemma 2: in equilibrium there is never more than one job narrower than i1.",
    """
from moldable import Scenario, SpeedUp, simulate
from moldable.exact import stationary_law
curve = SpeedUp([1, 1.8, 2.5, 3, 3.4])
theory = stationary_law(Scenario.single(curve, 0.8, 20)).theory
theory.optimum.support
several = theory.several_narrow_jobs             # P(more than one job narrower than 3)
round(several, 6)
large = simulate(Scenario.single(curve, 0.8, 4000), jobs=100_000, warmup=10, seed=1)
narrow = 4000 * (large.mean_jobs[1] + large.mean_jobs[2])
narrow > 10                                      # on average
""",
    "The lemma holds for one width and for i1 = 1, but not for two widths with i1 >= 2: in a full "
    "system a width-4 job ends, a width-3 job arrives, one server is left, and the next arrival is "
    "a second narrow job. With 20 servers at load 0.8 (widths 3 and 4) the exact probability of "
    "more than one narrow job is {several:.4f}; with 4000 servers {narrow:.1f} narrow jobs run on "
    "average.",
)

DRIFT = Erratum(
    "drift",
    "The departure rate exceeds its bound",
    "Lemma 3: P(r > load + delta) is at most (s_d/load)(kappa + 2/(n delta)) for every kappa > 0.",
    """
from math import sqrt
from moldable import Scenario, SpeedUp
from moldable.exact import stationary_law
load, found, bound = 0.8, {}, {}
for n in (400, 4000, 40000):
    delta = 1 / sqrt(n)
    law = stationary_law(Scenario.single(SpeedUp.linear(5), load, n))
    found[n] = law.theory.departure_rate_above(load + delta)
    bound[n] = (5 / load) * (1 / n + 2 / (n * delta))       # kappa = 1/n, as the paper takes it

[round(p, 4) for p in found.values()], [round(p, 4) for p in bound.values()]
""",
    "The function V_2 jumps by order 1, not 1/n, when r crosses load + delta, so the drift lemma "
    "does not apply. Linear curve, load 0.8, delta = 1/sqrt(n): the exact probability is "
    "{found[400]:.3f}, {found[4000]:.3f}, {found[40000]:.3f} at n = 400, 4000, 40000 and does "
    "not vanish, while the bound is {bound[400]:.3f}, {bound[4000]:.3f}, {bound[40000]:.3f}.",
)

SIGN = Erratum(
    "sign",
    "States that the proof neglects contribute to the sum",
    "Proof of Proposition 2, two widths: with fewer than i1 idle servers only states with x_i <= "
    "y_i for both widths are kept, the others being bounded by zero.",
    """
import numpy as np
from moldable import Scenario, SpeedUp
from moldable.exact import stationary_law
curve = SpeedUp([1, 1.8, 2.5, 3, 3.4])
theory = stationary_law(Scenario.single(curve, 0.8, 20)).theory
counts, weights, widths = theory.joint.counts, theory.joint.weights, theory.system.kind_width
used = np.isin(widths, theory.optimum.support)
y = theory.optimum.scaled_jobs[np.isin(theory.optimum.widths, theory.optimum.support)]
short = y[:, None] - counts[used] / 20           # y_i - x_i in every state
speeds = np.array([curve[width] for width in widths[used]])
dropped = (20 - widths @ counts < theory.optimum.i1) & (short < 0).any(axis=0)
left_out = float(((speeds * y) @ short * dropped) @ weights)
left_out > 0
""",
    "With 20 servers at load 0.8 the neglected states contribute {left_out:+.5f} to the sum, so "
    "zero is not an upper bound. With the two lemmas above, the proof of the bounds for two "
    "widths has gaps; for one width it is complete for fixed d.",
)

LOOSE = Erratum(
    "loose",
    "The bounds are trivial at the size of the paper's system",
    "Theorem 2 bounds the blocking probability at every n.",
    """
from moldable import Regime, SpeedUp
from moldable.theory import bounds
curve, n = SpeedUp([1, 1.8, 2.5, 3, 3.4]), 4000
loads = [Regime(alpha, beta).load(n) for alpha, beta in ((0, 0.2), (1 / 2, 0.1), (2 / 3, 0.1))]
stated = [bounds(curve, load, n).blocking for load in loads]
[round(bound, 2) for bound in stated], [bounds(curve, load, n).proof for load in loads]
growing = [bounds(SpeedUp.linear(d), 0.8, d * d).blocking for d in (10, 100, 1000)]
[round(bound, 1) for bound in growing]           # one width, d = sqrt(n): d = o(n) holds
""",
    "At n = 4000 on the sub-linear curve the bounds are {stated[0]:.1f}, {stated[1]:.1f} and "
    "{stated[2]:.1f} in the paper's three regimes, above 1. For growing d the stated condition "
    "d = o(n) is not sufficient for convergence to 0: for one width and d = sqrt(n) the bound "
    "increases, {growing[0]:.1f}, {growing[1]:.1f}, {growing[2]:.1f} at d = 10, 100, 1000.",
)

ESTIMATOR = Erratum(
    "estimator",
    "The table's mean execution time is biased",
    "Runs of 5 million arrivals from an empty system, averaging over completed jobs.",
    """
from moldable import Regime, Scenario, SpeedUp, simulate
from moldable.exact import stationary_law
n, arrivals = 100, 20_000                        # short runs have a larger bias
load = Regime(1 / 2, 0.1).load(n)
scenario = Scenario.single(SpeedUp([1, 1.8, 2.5, 3, 3.4]), load, n)
exact = stationary_law(scenario).performance()
shares = exact.width_shares                      # E[D^2] = sum of 2 share / s_i^2
curve = scenario.workload.classes[0].speedup
second = sum(2 * share / curve[i] ** 2 for i, share in shares.items())
mean = exact.mean_execution_time.value
predicted = -(second - mean**2) / (arrivals / (n * load))        # -Var(D)/T
options = {"jobs": arrivals, "replications": 400, "start": "empty", "warmup": 0.0, "seed": 1}
counted = simulate(scenario, estimator="completed_only", **options).mean_execution_time
measured, error = counted.value - mean, counted.half_width / 1.96
abs(measured) > 4 * error, abs(measured - predicted) < 4 * error
""",
    "Jobs that are still running at the end are not counted, and long jobs are more likely to be "
    "among them. With 100 servers "
    "and runs of 20,000 arrivals the exact mean is {mean:.5f}; the mean of the completed jobs "
    "differs by {measured:+.5f} (standard error {error:.5f}), and -Var(D)/T predicts "
    "{predicted:+.5f}. The numbers of the table have the same kind of bias.",
)

INSENSITIVITY = Erratum(
    "insensitivity",
    "Insensitivity is exact in one case only",
    "The table shows that performance is insensitive to the size law.",
    """
from moldable import Scenario, SpeedUp
from moldable.exact import stationary_law
from moldable.sizes import Exponential, Hyperexponential
def blocking(n, size):
    scenario = Scenario.single(SpeedUp.linear(5), 0.8, n, size=size)
    law = stationary_law(scenario, method="chain")
    return law.performance().blocking.value

divides = blocking(20, Exponential()), blocking(20, Hyperexponential(2.0))
remainder = blocking(23, Exponential()), blocking(23, Hyperexponential(2.0))
[round(p, 10) for p in (*divides, *remainder)]
""",
    "With 20 servers and width 5 blocking is {divides[0]:.8f} for exponential and "
    "{divides[1]:.8f} for hyperexponential sizes (coefficient of variation 2), both by the "
    "chain. With 23 servers, which width 5 does not divide, it is {remainder[0]:.8f} and "
    "{remainder[1]:.8f}.",
)

START = Erratum(
    "start",
    "With heavy tails, runs from an empty start do not reach equilibrium",
    "The Pareto column of the table differs from the others; the paper does not say why.",
    """
from moldable import Scenario, SpeedUp, simulate
from moldable.exact import erlang_b
from moldable.sizes import Pareto
n, load = 100, 0.8
scenario = Scenario.single(SpeedUp.linear(5), load, n, size=Pareto())
exact = erlang_b(n // 5, n * load / 5)           # one width that divides n: every size law
found, off = {}, {}
for start in ("equilibrium", "empty"):
    options = {"jobs": 5000, "replications": 500, "warmup": 0.0, "seed": 1}
    answer = simulate(scenario, start=start, **options).blocking
    found[start] = answer.value
    off[start] = (answer.value - exact) / (answer.half_width / 1.96)

abs(off["equilibrium"]) < 4, off["empty"] < -4
""",
    "The residual time of a running Pareto job has infinite mean, so a cluster that starts empty "
    "has too few long jobs throughout the run. With 100 servers and width 5 only, blocking is "
    "Erlang's {exact:.6f} for every law; runs of 5,000 arrivals give {found[equilibrium]:.5f} from "
    "equilibrium ({off[equilibrium]:+.1f} standard errors) and {found[empty]:.5f} from an empty "
    "start ({off[empty]:+.1f}).",
)

RATE = Erratum(
    "rate",
    "In Section 6, mu_j is a rate, not a mean size",
    "Class j has mean size mu_j, and rho_j = lambda_j/mu_j.",
    """
from moldable import JobClass, Scenario, SpeedUp, Workload, evaluate
from moldable.policies import FixedWidth
long_jobs = JobClass("long", arrival_rate=10.0, speedup=SpeedUp.linear(5), mean_size=2.0)
answer = evaluate(Scenario(Workload((long_jobs,)), 100), FixedWidth(1))
running = 100 * answer.mean_jobs[1]
round(running, 6)                                # 10 x 2, not 10 / 2
""",
    "Ten jobs of mean size 2 per unit of time keep {running:.3f} servers busy: rho_j is rate x "
    "mean size, so mu_j must be 1 / mean size. The classes of this library have both, as "
    "`arrival_rate` and `mean_size`.",
)

MIXED_ERLANG = Erratum(
    "mixed-erlang",
    "The mixed-Erlang law of the table is not specified",
    "Two exponential phases with probabilities 0.4 and 0.6.",
    """
from moldable import Regime, Scenario, SpeedUp
from moldable.exact import stationary_law
from moldable.sizes import MixedErlang
law = MixedErlang((0.4, 0.6))                    # one phase or two, of a common rate
rate, variance = law.rate, law.variance
round(rate, 12), round(variance, 12)
n = 4000
load = Regime(1 / 2, 0.1).load(n)
scenario = Scenario.single(SpeedUp([1, 1.8, 2.5, 3, 3.4]), load, n)
exact = stationary_law(scenario).performance().mean_execution_time.value
by_method = exact - variance / (5e6 / (n * load))
round(by_method, 4)
""",
    "With one phase with probability 0.4 and two with 0.6, all of rate {rate:g}, the variance is "
    "{variance:.5f}. The paper's method then changes the mean execution time in the Halfin-Whitt "
    "regime from {exact:.5f} to {by_method:.5f}; the paper prints 0.9933.",
)

FLUID = Erratum(
    "fluid",
    "The fluid equations ignore capacity",
    "The scaled process converges to the solution of dx_i/dt = s_i (y_i - x_i) from any start.",
    """
import numpy as np
from moldable import SpeedUp, optimum
from moldable.theory import FluidPath
path = FluidPath(optimum(SpeedUp([1, 1.8, 2.5, 3, 3.4]), 0.8), [1, 0, 0, 0, 0])
busiest = float(path.busy_fraction(np.linspace(0, 10, 10001)).max())
round(busiest, 4)
""",
    "From x = (1, 0, 0, 0, 0) at load 0.8 the busy fraction of their solution increases to "
    "{busiest:.3f}. The solution is the limit only while it stays below 1.",
)

ERRATA: Final = (
    P2,
    UNIQUENESS,
    COLLAPSE,
    DRIFT,
    SIGN,
    LOOSE,
    ESTIMATOR,
    INSENSITIVITY,
    START,
    RATE,
    MIXED_ERLANG,
    FLUID,
)
