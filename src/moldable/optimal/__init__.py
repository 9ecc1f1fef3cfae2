"""The dynamic programme over all policies: the reference that no policy can beat."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
