"""Simulation of a scenario under a policy, with confidence intervals."""
