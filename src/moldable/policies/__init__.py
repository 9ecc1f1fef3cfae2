"""Policies: rules that choose the width of an arriving job by its class and the idle servers."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
