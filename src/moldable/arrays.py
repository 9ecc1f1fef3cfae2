"""Array types of arguments and results."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Whole = NDArray[np.integer[Any]]
Mask = NDArray[np.bool_]
