"""What is given: speed-up curves, size laws, arrivals, classes and workloads."""
