"""Exact stationary answers: formulas, lists of states, balance equations, and their solution."""
