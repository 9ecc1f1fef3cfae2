"""Run all experiments, or those that are named; the exit code is 1 if one fails."""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path

from verification import (
    bounds_against_exact,
    chain_against_gth,
    chain_against_simulation,
    division_against_highs,
    fits,
    interval_coverage,
    kernels_agree,
    kth_replay,
    learning,
    optimal_control,
    optimum_against_highs,
    paper_pareto_column,
    plan_predictions,
    plan_sizes,
    queue_coverage,
    queue_limits,
    queue_policies,
    random_inputs,
    report_coverage,
    results_page,
    simulation_against_erlang,
    slurm_stream,
    value_costs,
    value_large,
    value_limits,
)

EXPERIMENTS = (
    optimum_against_highs,
    division_against_highs,
    simulation_against_erlang,
    interval_coverage,
    kernels_agree,
    chain_against_gth,
    chain_against_simulation,
    bounds_against_exact,
    paper_pareto_column,
    optimal_control,
    value_costs,
    value_limits,
    value_large,
    queue_coverage,
    queue_limits,
    queue_policies,
    kth_replay,
    learning,
    report_coverage,
    plan_sizes,
    plan_predictions,
    random_inputs,
    fits,
    slurm_stream,
)


KNOWN = {module.__name__.rpartition(".")[2]: module for module in EXPERIMENTS}
ALONE = ("slurm_stream",)
"""Experiments in real time, which other work would disturb."""


def main(arguments: list[str]) -> int:
    """Print one line for each verdict."""
    parser = argparse.ArgumentParser(prog="python -m verification", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=f"one of {', '.join(KNOWN)}")
    parser.add_argument(
        "--processes", type=int, default=1, metavar="N", help="experiments that run at once"
    )
    page = results_page.PAGE.name
    parser.add_argument("--write", action="store_true", help=f"write {page}; runs all experiments")
    parser.add_argument("--log", type=Path, help=f"write {page} from the saved output of a run")
    given = parser.parse_args(arguments)
    if given.log:
        results_page.write(given.log.read_text(), KNOWN)
        return 0
    if given.write and given.names:
        parser.error("--write needs the verdicts of all experiments: name none")
    chosen = given.names or list(KNOWN)
    if unknown := [name for name in chosen if name not in KNOWN]:
        parser.error(f"unknown experiment {unknown[0]!r}; choose from {', '.join(KNOWN)}")
    if given.processes > 1 or given.write:
        failed = run_at_once(chosen, given.processes, write=given.write)
    else:
        failed = sum(not run_experiment(name) for name in chosen)
    print("all hold" if not failed else f"experiments that failed: {failed}")
    return 1 if failed else 0


def run_experiment(name: str) -> bool:
    """Print the verdicts of an experiment; return whether all hold."""
    print(f"{name}: {(KNOWN[name].__doc__ or name).splitlines()[0]}", flush=True)
    begun, all_hold = time.perf_counter(), True
    for verdict in KNOWN[name].experiments():
        print(f"  {verdict}", flush=True)
        all_hold &= verdict.holds
    print(f"  ({(time.perf_counter() - begun) / 60.0:.1f} min)", flush=True)
    return all_hold


def run_at_once(names: list[str], processes: int, *, write: bool) -> int:
    """Run each experiment in a process of its own; return how many fail."""
    alone = [name for name in names if name in ALONE]
    failed, printed = 0, []
    with ThreadPoolExecutor(processes) as pool:
        together = pool.map(run_apart, [name for name in names if name not in ALONE])
        for code, text in chain(together, map(run_apart, alone)):
            print(text, end="", flush=True)
            printed.append(text)
            failed += code != 0
    if write:
        results_page.write("".join(printed), KNOWN)
    return failed


def run_apart(name: str) -> tuple[int, str]:
    """Return the exit code and the output of an experiment in a process of its own."""
    command = [sys.executable, "-m", "verification", name]
    print(f"{name} begins", file=sys.stderr, flush=True)
    found = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)  # noqa: S603
    return found.returncode, found.stdout


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
