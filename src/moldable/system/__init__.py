"""A scenario under a policy as arrays, and its performance."""
