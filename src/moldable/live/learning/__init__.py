"""Arrival rates and speed-up curves learned from the jobs of a live cluster."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
