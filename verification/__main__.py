"""Run every experiment; the exit code is 1 if one fails."""

from __future__ import annotations

import sys

from verification import (
    bounds_against_exact,
    chain_against_simulation,
    division_against_highs,
    kernels_agree,
    optimal_control,
    optimum_against_highs,
    paper_pareto_column,
    price_at_4000,
    price_forms,
    price_gap,
    price_robustness,
    price_scaling,
    price_sight,
    price_tail,
    price_variants,
    simulation_against_erlang,
)

EXPERIMENTS = (
    optimum_against_highs,
    division_against_highs,
    simulation_against_erlang,
    kernels_agree,
    chain_against_simulation,
    bounds_against_exact,
    paper_pareto_column,
    optimal_control,
    price_forms,
    price_at_4000,
    price_robustness,
    price_scaling,
    price_sight,
    price_tail,
    price_variants,
    price_gap,
)


def main() -> int:
    """Print one line for each verdict."""
    failed = 0
    for module in EXPERIMENTS:
        print((module.__doc__ or "").strip(), flush=True)
        for verdict in module.experiments():
            print(f"  {verdict}", flush=True)
            failed += not verdict.holds
    print("all hold" if not failed else f"{failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
