"""Run all experiments, or those that are named; the exit code is 1 if one fails."""

from __future__ import annotations

import argparse
import sys
import time

from verification import (
    bounds_against_exact,
    chain_against_gth,
    chain_against_simulation,
    division_against_highs,
    interval_coverage,
    kernels_agree,
    optimal_control,
    optimum_against_highs,
    paper_pareto_column,
    queue_coverage,
    queue_policies,
    random_inputs,
    simulation_against_erlang,
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
    queue_policies,
    random_inputs,
)


def main(arguments: list[str]) -> int:
    """Print one line for each verdict."""
    known = {module.__name__.rpartition(".")[2]: module for module in EXPERIMENTS}
    parser = argparse.ArgumentParser(prog="python -m verification", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=f"one of {', '.join(known)}")
    chosen = parser.parse_args(arguments).names or list(known)
    if unknown := [name for name in chosen if name not in known]:
        parser.error(f"unknown experiment {unknown[0]!r}; choose from {', '.join(known)}")
    failed = 0
    for name in chosen:
        print(f"{name}: {(known[name].__doc__ or name).splitlines()[0]}", flush=True)
        begun = time.perf_counter()
        for verdict in known[name].experiments():
            print(f"  {verdict}", flush=True)
            failed += not verdict.holds
        print(f"  ({(time.perf_counter() - begun) / 60.0:.1f} min)", flush=True)
    print("all hold" if not failed else f"{failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
