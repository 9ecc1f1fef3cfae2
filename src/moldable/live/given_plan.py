"""Plans from a plan, its file, a result, or a policy and a scenario."""

from __future__ import annotations

from pathlib import Path

from moldable.checks import checked_int
from moldable.errors import PolicyError, shown
from moldable.files.policy_file import Rule, as_policy, policy_data
from moldable.live.plan_data import plan_digest
from moldable.live.plan_file import LivePlan, read_plan
from moldable.model.scenario import Scenario, ScenarioOrFile, checked_scenario
from moldable.planning.result import Plan
from moldable.policies.greedy import greedy_p
from moldable.policies.observation import Observation
from moldable.policies.policy import Policy
from moldable.tuning.tuned import Tuned
from moldable.tuning.tuned_queue import TunedQueue

Given = LivePlan | Plan | Tuned | TunedQueue | Rule
"""What `live_plan` takes as a plan or, together with a scenario, as a policy."""


def live_plan(given: Given, scenario: ScenarioOrFile | None = None) -> LivePlan:
    """Return the plan for any of the accepted inputs.

    Args:
        given: a plan, the file of one, a result of `plan` or `tune`, or a policy.
        scenario: for a policy: the servers, classes and waiting places it is used with.
    """
    if isinstance(given, Plan | Tuned | TunedQueue):
        return live_plan(given.policy, given.performance.scenario)
    if isinstance(given, LivePlan):
        return given
    if scenario is not None:
        return _with_scenario(given, checked_scenario(scenario))
    if isinstance(given, Path) or (isinstance(given, str) and given.endswith(".json")):
        return read_plan(given)
    raise PolicyError(
        f"{shown(given)} has no classes and waiting places; pass scenario=..., or a "
        f"plan file written by moldable plan FILE.toml --policy-out",
        "policy",
    )


def checked_servers(plan: LivePlan, servers: int | None, available: int | None) -> int:
    """Return the number of servers, checked against the plan and the back end."""
    planned = plan.scenario.servers
    found = planned if servers is None else checked_int(servers, "servers", PolicyError)
    if found < planned:
        raise PolicyError(
            f"{found}, but the plan is for {planned} servers; plan again for {found}", "servers"
        )
    if available is not None and found > available:
        raise PolicyError(
            f"{found}, but there are only {available}; plan again for {available}, or pass "
            f"servers={found} without a back end to oversubscribe this machine",
            "servers",
        )
    return found


def _with_scenario(given: Rule, scenario: Scenario) -> LivePlan:
    if scenario.workload.sharing != "pool" and len(scenario.workload.classes) > 1:
        raise PolicyError(
            "the classes have reserved servers (sharing='reserved'), but live decisions need one "
            "pool; use one executor for each class, or let them share (sharing='pool')",
            "scenario",
        )
    policy = as_policy(given, scenario)
    if policy is None:
        policy = greedy_p(scenario)
    if not isinstance(policy, Policy):
        raise PolicyError("equi moves servers between jobs; choose another policy", "policy")
    for job_class in scenario.workload.classes:  # errors about a class now, not at its first job
        policy.granted_shares(job_class, Observation(scenario.servers, 0, {}))
    return LivePlan(policy.with_classes(scenario), scenario, {}, _digest(policy, scenario))


def _digest(policy: Policy, scenario: Scenario) -> str:
    try:
        data = policy_data(policy)
    except PolicyError:  # code of the user
        data = {"policy": policy.name}
    return plan_digest(data, scenario.to_dict())
