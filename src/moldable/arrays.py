"""Array types, and the conversion of arguments to arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Whole = NDArray[np.integer[Any]]
Mask = NDArray[np.bool_]


def as_array(values: Any, error: Exception, dtype: type = np.float64) -> NDArray[Any]:
    """Return a new array of the values; raise the error if they cannot be converted."""
    try:
        return np.array(values, dtype=dtype)
    except (TypeError, ValueError, OverflowError):
        raise error from None
