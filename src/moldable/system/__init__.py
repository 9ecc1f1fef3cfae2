"""A workload under a policy, as arrays, and the performance that it has."""
