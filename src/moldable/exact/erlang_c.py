"""Closed forms for a queue with one width: Erlang's formula C, and its version with few places.

Jobs of one width on n servers are a queue with n/width slots. Unlike blocking without a queue,
waiting depends on the whole distribution of the sizes, not on its mean alone; these formulas are
for exponential sizes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Final, final

import numpy as np

from moldable.arrays import Floats
from moldable.checks import LARGEST, checked_int, fraction, positive, within
from moldable.errors import ChainError, UnstableError
from moldable.exact.closed_forms import MOST_SLOTS, occupied_slots
from moldable.exact.queue_law import QueueLaw
from moldable.exact.queue_model import behinds, tables_behind
from moldable.model.assumptions import ROUNDING
from moldable.model.sizes import Exponential
from moldable.system.loss_system import System

NEGLIGIBLE: Final = 1e-17
"""Probability of longer queues that a listed distribution leaves out."""
DEVIATIONS: Final = 12.0
"""Standard deviations of a Poisson number beyond which its probabilities are left out."""


def erlang_c(slots: int, offered: float) -> float:
    """Return the probability that a job waits: Erlang's formula C, for exponential sizes.

    Args:
        slots: number of slots, at least 1.
        offered: mean number of slots in use, less than `slots`.

    Examples:
        >>> round(erlang_c(10, 8.0), 6)
        0.40918
    """
    return SlotQueue(slots, positive(offered, "offered", ChainError), 1.0).waiting_probability


@final
@dataclass(frozen=True)
class SlotQueue:
    """A queue in front of equal slots: M/M/c, or M/M/c with a limited number of waiting places.

    Args:
        slots: number of slots, c.
        arrival_rate: of jobs.
        service_rate: of a job in a slot.
        places: number of jobs that may wait; unlimited by default.

    Examples:
        >>> queue = SlotQueue(8, arrival_rate=12.8, service_rate=1.8)
        >>> round(queue.mean_wait, 6), round(queue.wait_quantile(0.99), 4)
        (0.419799, 2.6295)
    """

    slots: int
    arrival_rate: float
    service_rate: float
    places: float = math.inf

    def __post_init__(self) -> None:
        checked_int(self.slots, "slots", ChainError, most=MOST_SLOTS)
        positive(self.arrival_rate, "arrival_rate", ChainError)
        positive(self.service_rate, "service_rate", ChainError)
        if not math.isinf(self.places):
            checked_int(self.places, "places", ChainError, least=0, most=MOST_SLOTS)
        elif self.arrival_rate >= self.slots * self.service_rate:
            raise UnstableError(
                f"jobs arrive at rate {self.arrival_rate:.6g}, and {self.slots} slots complete at "
                f"most {self.slots * self.service_rate:.6g} per unit of time, so the queue grows "
                f"without limit; lower the load or limit the waiting places"
            )

    @property
    def capacity(self) -> float:
        """Jobs completed per unit of time while all slots are in use."""
        return self.slots * self.service_rate

    @property
    def ratio(self) -> float:
        """Arrival rate relative to the capacity."""
        return self.arrival_rate / self.capacity

    @cached_property
    def _without_queue(self) -> Floats:
        return occupied_slots(self.slots, self.arrival_rate / self.service_rate)

    @cached_property
    def _total(self) -> float:
        """Sum of the weights of all states, those without a queue adding up to 1.

        It is divided by the weight of a full queue relative to an empty one if that is above 1.
        """
        full = float(self._without_queue[-1])
        if math.isinf(self.places):
            return 1.0 + full * self.arrival_rate / (self.capacity - self.arrival_rate)
        return self._scale * (1.0 - full) + full * float(self._powers.sum())

    @cached_property
    def _powers(self) -> Floats:
        """Weights of 0, 1, ... waiting jobs while all slots are in use; the largest is 1."""
        if math.isinf(self.places):
            # Adding up 1, ratio, ratio^2, ... down to the probability that is left out.
            count = math.log(NEGLIGIBLE * (1.0 - self.ratio)) / math.log(self.ratio)
            steps = np.arange(min(math.ceil(count) + 1, MOST_SLOTS))
            return np.asarray(self.ratio**steps)
        steps = np.arange(int(self.places) + 1)
        # The power of a rounded ratio would multiply its error by the number of places.
        growth = math.log1p((self.arrival_rate - self.capacity) / self.capacity)
        return np.asarray(np.exp(growth * (steps if growth < 0.0 else steps - steps[-1])))

    @property
    def _scale(self) -> float:
        """Weight of states without a queue relative to the formulas' own."""
        return float(self._powers[0]) if not math.isinf(self.places) else 1.0

    @cached_property
    def queue_states(self) -> Floats:
        """Probabilities that all slots are in use and 0, 1, ... jobs wait."""
        return np.asarray(self._without_queue[-1] * self._powers / self._total)

    @cached_property
    def slots_in_use(self) -> Floats:
        """Probabilities of 0, 1, ... slots in use."""
        found = self._without_queue * (self._scale / self._total)
        found[-1] = self.arrivals_waiting + self.blocking
        return np.asarray(found)

    @property
    def queue_length(self) -> Floats:
        """Probabilities of 0, 1, ... waiting jobs; of an unlimited queue all but 1e-17 of them."""
        lengths = self.queue_states.copy()
        lengths[0] += float(self.slots_in_use[:-1].sum())
        return lengths

    @property
    def blocking(self) -> float:
        """Probability that an arriving job is blocked."""
        return 0.0 if math.isinf(self.places) else float(self.queue_states[-1])

    @property
    def arrivals_waiting(self) -> float:
        """Probability that an arriving job waits."""
        if math.isinf(self.places):
            spare = (self.capacity - self.arrival_rate) / self.capacity
            return float(self._without_queue[-1]) / (spare * self._total)
        return float(self.queue_states[:-1].sum())

    @property
    def waiting_probability(self) -> float:
        """Probability that an accepted job waits."""
        return self.arrivals_waiting / (1.0 - self.blocking)

    @property
    def mean_queue(self) -> float:
        """Mean number of waiting jobs."""
        if math.isinf(self.places):
            return self.arrivals_waiting * self.arrival_rate / (self.capacity - self.arrival_rate)
        return float(self.queue_states @ np.arange(self.queue_states.size))

    @property
    def mean_wait(self) -> float:
        """Mean waiting time of accepted jobs, zeros included."""
        return self.mean_queue / (self.arrival_rate * (1.0 - self.blocking))

    @property
    def mean_response(self) -> float:
        """Mean response time of accepted jobs."""
        return self.mean_wait + 1.0 / self.service_rate

    def wait_exceeds(self, time: float) -> float:
        """Return the probability that an accepted job waits longer than a time, which is >= 0."""
        time = within(time, "time", ChainError, 0.0, LARGEST)
        if math.isinf(self.places):
            fall = (self.capacity - self.arrival_rate) * time
            return self.waiting_probability * math.exp(-fall)
        return self._after(time, self._still_waiting, lambda ahead: np.zeros(ahead.size))

    def response_exceeds(self, time: float) -> float:
        """Return the probability that an accepted job's response takes longer than a time."""
        time = within(time, "time", ChainError, 0.0, LARGEST)
        if math.isinf(self.places):
            wait, service = self.capacity - self.arrival_rate, self.service_rate
            slow, fast = min(wait, service), max(wait, service)
            # The sum of two exponential times, without cancellation where their rates agree.
            gap = (fast - slow) * time
            share = -math.expm1(-gap) / gap if gap > 0.0 else 1.0
            both = math.exp(-slow * time) * (1.0 + slow * time * share)
            waits = self.waiting_probability
            return (1.0 - waits) * math.exp(-service * time) + waits * both
        stays = 1.0 - 1.0 / self.slots
        return self._after(
            time,
            self._still_waiting + self._still_running,
            lambda ahead: self._still_running[-1] * stays**ahead,
        )

    def wait_quantile(self, level: float) -> float:
        """Return the waiting time that a share `level` of the accepted jobs do not exceed."""
        level = fraction(level, "level", ChainError)
        if 1.0 - level >= self.waiting_probability:
            return 0.0
        if math.isinf(self.places):
            excess = math.log(self.waiting_probability / (1.0 - level))
            return excess / (self.capacity - self.arrival_rate)
        return _root(self.wait_exceeds, 1.0 - level, self.mean_wait)

    def response_quantile(self, level: float) -> float:
        """Return the response time that a share `level` of the accepted jobs do not exceed."""
        level = fraction(level, "level", ChainError)
        return _root(self.response_exceeds, 1.0 - level, self.mean_response)

    # With a limited queue, let a clock tick at the rate of the capacity. At each tick a waiting job
    # advances by one place, and a running one ends with probability 1/slots. The number of ticks up
    # to a time is Poisson. All terms are positive, so nothing cancels.

    @cached_property
    def _still_waiting(self) -> Floats:
        """Probability that an accepted job still waits after 0, 1, ..., places ticks."""
        tails = np.cumsum(self.queue_states[-2::-1])[::-1] / (1.0 - self.blocking)
        return np.append(tails, 0.0)

    @cached_property
    def _still_running(self) -> Floats:
        """Probability that an accepted job runs after 0, 1, ..., places ticks."""
        from scipy.signal import lfilter

        share = self.queue_states[:-1] / (1.0 - self.blocking)
        starting = np.append(1.0 - self.waiting_probability, share)
        return np.asarray(lfilter((1.0,), (1.0, 1.0 / self.slots - 1.0), starting))

    def _after(self, time: float, early: Floats, late: Callable[[Floats], Floats]) -> float:
        """Return the mean of a function of the number of ticks up to a time.

        Args:
            time: the time.
            early: its values for 0, 1, ..., places ticks.
            late: the function of the number of further ticks.
        """
        mean = self.capacity * time
        spread = DEVIATIONS * math.sqrt(mean) + 50.0
        first, last = max(0, math.floor(mean - spread)), math.ceil(mean + spread)
        mode = math.floor(mean)
        up = np.cumprod(mean / np.arange(mode + 1, last + 1))
        down = np.cumprod(np.arange(mode, first, -1) / mean)[::-1] if mean > 0.0 else np.empty(0)
        chances = np.concatenate((down, (1.0,), up))
        ticks = np.arange(first, last + 1)
        within = ticks < early.size
        values = np.concatenate(
            (early[ticks[within]], late((ticks[~within] - early.size + 1).astype(np.float64)))
        )
        return float(chances @ values / chances.sum())


def _root(exceeds: Callable[[float], float], share: float, scale: float) -> float:
    """Return the time that a share of the jobs exceed."""
    from scipy.optimize import brentq

    upper = scale
    while exceeds(upper) > share:
        upper *= 2.0
    return float(brentq(lambda time: exceeds(time) - share, 0.0, upper, xtol=1e-14 * upper))


def slot_queue(system: System) -> SlotQueue | None:
    """Return a system as a queue in front of equal slots; None if it is something else."""
    one_kind = len(system.workload.classes) == 1 and system.kind_width.size == 1
    if not one_kind or not system.poisson:
        return None
    job_class, width = system.workload.classes[0], int(system.kind_width[0])
    if not isinstance(job_class.size, Exponential):
        return None
    for behind in (0, *behinds(system)):
        (rows,) = tables_behind(system, behind)
        granted = rows[min(width, rows.shape[0] - 1) :, 0]  # wherever it fits
        if not np.allclose(granted, 1.0, rtol=0.0, atol=ROUNDING):
            return None
    rate = 1.0 / float(system.kind_scale[0])
    return SlotQueue(system.servers // width, job_class.arrival_rate, rate, system.places)


def queue_closed_form(system: System) -> QueueLaw | None:
    """Return the distribution of a system with a queue by formula; None where none is known."""
    queue = slot_queue(system)
    if queue is None:
        return None
    width, slots = int(system.kind_width[0]), queue.slots_in_use
    busy = np.zeros(system.servers + 1)
    busy[: slots.size * width : width] = slots
    accepted = queue.arrival_rate * (1.0 - queue.blocking)
    return QueueLaw(
        system=system,
        blocking=np.array([queue.blocking]),
        arrivals_waiting=np.array([queue.arrivals_waiting]),
        waiting_jobs=np.array([queue.mean_queue]),
        mean_jobs=np.array([float(slots @ np.arange(slots.size))]),
        granted=np.array([accepted]),
        queue_length=queue.queue_length,
        busy=busy,
        states=slots.size,
        error_bound=0.0,
        neglected_mass=max(0.0, 1.0 - float(queue.queue_length.sum())),
        how="Erlang's formula C: one width, exponential sizes",
        formula=True,
    ).checked()
