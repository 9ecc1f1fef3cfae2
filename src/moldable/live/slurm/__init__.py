"""Moldable jobs on Slurm. Slurm holds all state: held jobs and their comments."""
