"""Naive version of the splitting kernel: a run of the chain of counts, job by job."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate


@dataclass
class Followed:
    slots: list[int]
    idle: int
    passed: float
    lowest: int
    lost: float


def follow_one(rng, slots, idle, floor, ceiling, end, model):
    """Follow one run; `slots` has an entry for every running job."""
    run = Followed(sorted(slots), idle, 0.0, idle, 0.0)
    while floor < run.idle < ceiling and run.passed < end:
        rates = [model.rates[slot] for slot in run.slots]
        total = model.arrival_rate + sum(rates)
        outcomes = model.outcomes[min(run.idle, len(model.outcomes) - 1)]
        kinds = len(model.rates)
        stay = min(rng.standard_exponential() / total, end - run.passed)
        run.lost += stay * sum(outcomes[kinds:])
        run.passed += stay
        if run.passed >= end:
            break
        u = rng.random() * total
        if u < model.arrival_rate:
            _arrive(run, u / model.arrival_rate, outcomes[:kinds], model)
        else:
            _complete(run, u - model.arrival_rate, rng, model)
        run.lowest = min(run.lowest, run.idle)
    return run


def _arrive(run, u, chances, model):
    for slot, chance in enumerate(chances):
        if u < chance:
            run.slots = sorted([*run.slots, slot])
            run.idle -= int(model.widths[slot])
            return
        u -= chance


def _complete(run, u, rng, model):
    ends = list(accumulate(model.rates[slot] for slot in run.slots))
    slot = run.slots.pop(bisect_right(ends, u))
    phase = model.phases
    if model.phases > 1:
        u = rng.random()
        row = model.jumps.reshape(-1, model.phases)[slot]
        phase = next((p for p, reach in enumerate(row) if u < reach), model.phases)
    if phase < model.phases:
        run.slots = sorted([*run.slots, slot - slot % model.phases + phase])
    else:
        run.idle += int(model.widths[slot])
