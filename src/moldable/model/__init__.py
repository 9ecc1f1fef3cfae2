"""Speed-up curves, size distributions, arrival processes, workloads and scenarios."""
