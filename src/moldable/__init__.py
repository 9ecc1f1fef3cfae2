"""moldable: choose how many servers each parallel job gets.

The public names are listed in `__init__.pyi`. They are imported when first used, so that the
command line starts without loading what it does not need.
"""

import lazy_loader

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
