"""Scenario, curve and policy files, and one-line notations."""
