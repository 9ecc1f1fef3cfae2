"""The kernels, compiled and as plain Python."""

from __future__ import annotations

import importlib.util
from types import SimpleNamespace

import numba
import pytest

from kernels.control_case import SYSTEMS, ControlCase
from kernels.queue_control_case import QUEUES, QueueControlCase
from moldable.kernels import (
    aggregation,
    policy_chain,
    queue_control,
    queue_law,
    queue_states,
    replay,
    splitting,
    state_space,
    value_iteration,
)

COMPILED = SimpleNamespace(
    aggregation=aggregation,
    policy_chain=policy_chain,
    queue_control=queue_control,
    queue_law=queue_law,
    queue_states=queue_states,
    replay=replay,
    splitting=splitting,
    state_space=state_space,
    value_iteration=value_iteration,
)


def _interpreted(module):
    """Load a second copy of a module, in which nothing is compiled.

    It is a copy because replacing the helpers of the module itself would affect kernels that are
    compiled, and cached, in the meantime.
    """
    spec = importlib.util.spec_from_file_location(module.__name__, module.__file__)
    copy = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(numba.config, "DISABLE_JIT", 1)
        spec.loader.exec_module(copy)
    return copy


@pytest.fixture(scope="session")
def both_ways():
    """All kernels, compiled and as plain Python."""
    plain = {name: _interpreted(module) for name, module in vars(COMPILED).items()}
    return COMPILED, SimpleNamespace(**plain)


@pytest.fixture(params=[0, 1], ids=["compiled", "plain"])
def kernels(request, both_ways):
    return both_ways[request.param]


@pytest.fixture(params=SYSTEMS)
def case(request, kernels):
    """A system whose optimal decisions are computed by these kernels."""
    return ControlCase(kernels, *request.param)


@pytest.fixture(params=QUEUES)
def queue_case(request, kernels):
    """A system with a queue whose optimal decisions are computed by these kernels."""
    return QueueControlCase(kernels, *request.param)
