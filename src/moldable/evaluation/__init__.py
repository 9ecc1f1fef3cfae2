"""Performance of a policy, and of several side by side."""
