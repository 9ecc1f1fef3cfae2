"""Speed-up curves from measurements: readers, fits, intervals and the cost of uncertainty."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
