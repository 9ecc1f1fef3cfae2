"""The dynamic programme over all policies: the reference that no policy can beat."""
