"""Fluid limit, Stein bounds, and what they say about a finite cluster."""
