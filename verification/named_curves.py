"""Speed-up curves that several experiments use."""

from __future__ import annotations

from moldable import SpeedUp

SUBLINEAR = SpeedUp([1, 1.8, 2.5, 3, 3.4])
AMDAHL = SpeedUp.amdahl(0.95, 8)
LINEAR = SpeedUp.linear(5)
# CIFAR-10 on four GPUs (siasosp23/artifacts, aaf7a0de); NEMO on Skylake nodes (UoB-HPC/benchmarks,
# ee6f6d55), where two nodes run it 2.22 times and four 5.3 times as fast as one.
CIFAR = SpeedUp([1, 1.699, 2.345, 2.797])
NEMO = SpeedUp({1: 1.0, 2: 2.22, 4: 5.295, 8: 9.099})
