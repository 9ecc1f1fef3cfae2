"""A policy for a target."""
