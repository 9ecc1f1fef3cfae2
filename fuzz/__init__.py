"""Random and damaged inputs for every reader, command and public function.

`python -m fuzz --inputs 2000 --seed 1` runs 2000 inputs, `python -m fuzz --seconds 600` runs inputs
for 600 s. Input i of seed s is always the same. An input fails if it ends in a traceback, takes
over 20 s, needs more than 2 GB, has an exit code other than 0, 2 or 130, or has invalid output (see
`verdict`).
"""
