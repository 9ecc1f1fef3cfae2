"""Coverage of confidence intervals, over many seeds."""

from __future__ import annotations

from moldable import JobClass, Policy, Scenario, SpeedUp, Workload, evaluate, simulate

RARE_CLASS = Workload(
    (JobClass("a", 8.0, SpeedUp([1, 1.8])), JobClass("b", 0.002, SpeedUp({6: 6})))
)
RARE_WIDTH = Workload((JobClass("jobs", 0.5, SpeedUp({1: 1, 8: 1e5})),))
OWN = Workload((JobClass("jobs", 60.0, SpeedUp({2: 1.8, 64: 4.0})),))


class Reserve(Policy):
    """Grants width 2 while 24 servers are idle and blocks all jobs otherwise."""

    strict = True

    def decide(self, job_class, idle):  # noqa: ARG002 - the interface
        return {2: 1.0} if idle >= 24 else {64: 1.0}


def held(seeds, workload, servers, policy, *, figure=lambda answer: answer.blocking, **options):
    """Return the number of intervals that contain the exact answer, and of all intervals.

    Args:
        seeds: of the runs.
        workload: the classes.
        servers: the number of servers.
        policy: the policy.
        figure: returns the estimate to check from an answer.
        options: of the simulation.
    """
    answer = evaluate(Scenario(workload, servers), policy)
    assert answer.method != "simulate"
    exact = figure(answer).value
    margin = 1e-9 * exact  # an interval may have no width where there is only one width of jobs
    intervals = [
        figure(
            simulate(Scenario(workload, servers), policy, seed=seed, threads=1, **options)
        ).interval
        for seed in seeds
    ]
    given = [interval for interval in intervals if interval is not None]
    return sum(low - margin <= exact <= high + margin for low, high in given), len(given)
