"""The terms of the paper's proof under the exact stationary distribution.

Section 5 of the paper bounds the distance of the scaled state x = X/n from the optimum y*. This
module evaluates the distance itself, the identity of generators (Lemma 1), the collapse of the
state space (Lemma 2) and the drift of the departure rate (Lemma 3).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from moldable.allocation.optimum import Optimum, optimum
from moldable.arrays import Floats
from moldable.checks import check_type
from moldable.errors import ChainError
from moldable.exact.pool import PoolLaw
from moldable.model.sizes import Exponential
from moldable.system.loss_system import System


@final
@dataclass(frozen=True)
class GeneratorIdentity:
    """Lemma 1 with all constants 1: squared_distance = noise + mismatch.

    Attributes:
        squared_distance: E[sum over the support of s_i (x_i - y_i)^2].
        noise: load/n times the share of arrivals granted a width of the support.
        mismatch: E[sum over the support of (x_i - y_i)(load A_i(x) - s_i y_i)].

    Examples:
        >>> identity = stationary_law(Scenario.single([1, 1.8], 0.8, 8)).theory.generator_identity
        >>> abs(identity.squared_distance - identity.noise - identity.mismatch) < 1e-12
        True
    """

    squared_distance: float
    noise: float
    mismatch: float


@final
class Theory:
    """The paper's quantities for one class on one pool, in mean sizes.

    Examples:
        >>> round(stationary_law(Scenario.single([1, 1.8], 0.8, 8)).theory.narrow_jobs, 4)
        0.0
    """

    def __init__(self, system: System, pools: tuple[PoolLaw, ...]) -> None:
        check_type(system, System, "system", ChainError, "the system of stationary_law(...)")
        if len(system.workload.classes) != 1:
            raise ChainError(
                f"the paper's lemmas are about one class; this workload has "
                f"{len(system.workload.classes)}: evaluate each class on its own servers"
            )
        if not isinstance(system.workload.classes[0].size, Exponential):
            raise ChainError(
                f"the paper's lemmas are about exponential sizes; these are "
                f"{system.workload.classes[0].size}: use the distribution itself instead"
            )
        self.system = system
        self.joint = pools[0].counts_known()

    @cached_property
    def optimum(self) -> Optimum:
        """The optimum at the system's load."""
        job_class = self.system.workload.classes[0]
        load = job_class.offered / self.system.servers
        return optimum(job_class.speedup, load, servers=self.system.servers)

    @cached_property
    def _target(self) -> Floats:
        """Return y* at the kinds that occur."""
        place = np.searchsorted(self.optimum.widths, self.system.kind_width)
        return np.asarray(self.optimum.scaled_jobs[place])

    @cached_property
    def _scaled(self) -> Floats:
        return np.asarray(self.joint.counts / self.system.servers)

    @cached_property
    def _speeds(self) -> Floats:
        """Return s_i of the kinds that occur."""
        return np.asarray(self.system.workload.classes[0].mean_size / self.system.kind_scale)

    @property
    def distance(self) -> float:
        """E||x - y*||, the expected l1 distance of the scaled state from the optimum."""
        apart = np.abs(self._scaled - self._target[:, None]).sum(axis=0)
        never = float(self.optimum.scaled_jobs.sum() - self._target.sum())
        return float(apart @ self.joint.weights) + never

    @property
    def generator_identity(self) -> GeneratorIdentity:
        """Both sides of Lemma 1; widths of the support that never occur are left out of both."""
        kinds = np.isin(self.system.kind_width, self.optimum.support)
        load, weights = self.optimum.load, self.joint.weights
        apart = self._scaled[kinds] - self._target[kinds, None]
        speeds = self._speeds[kinds]
        rows = self.system.wishes[0]
        idle = self.system.servers - self.system.kind_width @ self.joint.counts
        granted = rows[np.minimum(idle, rows.shape[0] - 1)][:, kinds].T
        surplus = load * granted - (speeds * self._target[kinds])[:, None]
        return GeneratorIdentity(
            float(speeds @ (apart**2 @ weights)),
            load / self.system.servers * float((granted @ weights).sum()),
            float((apart * surplus).sum(axis=0) @ weights),
        )

    @property
    def narrow_jobs(self) -> float:
        """E[sum of x_i over i < i1], at most 1/n by Lemma 2."""
        narrow = self.system.kind_width < self.optimum.i1
        return float(self._scaled[narrow].sum(axis=0) @ self.joint.weights)

    @property
    def several_narrow_jobs(self) -> float:
        """P(more than one job narrower than i1), 0 by Lemma 2."""
        narrow = self.system.kind_width < self.optimum.i1
        several = self.joint.counts[narrow].sum(axis=0) > 1
        return float(self.joint.weights[several].sum())

    def departure_rate_above(self, threshold: float) -> float:
        """P(r > threshold), where r = sum of s_i x_i; Lemma 3 bounds it at load + delta."""
        rate = self._speeds @ self._scaled
        return float(self.joint.weights[rate > threshold].sum())
