"""Long experiments against independent answers, one per file: `make verify`."""

import sys
from pathlib import Path

# The naive reference implementations of the tests are used here, too.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
