"""Naive version of the queue in front of equal slots: fractions, and a matrix exponential."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from scipy.linalg import expm


def jobs_present(slots, arrival_rate, service_rate, places):
    """Return the distribution of the number of jobs, in fractions."""
    weights = [Fraction(1)]
    for jobs in range(1, slots + places + 1):
        pace = Fraction(service_rate) * min(jobs, slots)
        weights.append(weights[-1] * Fraction(arrival_rate) / pace)
    total = sum(weights)
    return [weight / total for weight in weights]


def exceeds(slots, arrival_rate, service_rate, places, time):
    """Return the probabilities that an accepted job waits, and is present, longer than a time.

    Follow the job through the places ahead of it (0: in a slot) until it is absorbed.
    """
    law = np.array(
        [float(share) for share in jobs_present(slots, arrival_rate, service_rate, places)]
    )
    accepted = law[:-1] / law[:-1].sum()
    first = np.concatenate(((accepted[:slots].sum(),), accepted[slots:]))
    rates = np.zeros((places + 1, places + 1))
    rates[0, 0] = -service_rate
    for ahead in range(1, places + 1):
        rates[ahead, ahead], rates[ahead, ahead - 1] = -slots * service_rate, slots * service_rate
    later = first @ expm(rates * time)
    return later[1:].sum(), later.sum()
