"""How people write things down: workload files, curves, policies, spellings."""
