"""The only home of numba: arrays and scalars in, arrays out."""
