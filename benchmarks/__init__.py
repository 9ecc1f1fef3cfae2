"""Benchmarks, compared with other programs: `make bench`."""
