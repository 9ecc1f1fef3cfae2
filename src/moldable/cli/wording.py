"""How does a complaint of the library read on the command line?"""

from __future__ import annotations

import re
from collections.abc import Sequence


def in_options(complaint: str, words: Sequence[str]) -> str:
    """Name an option where the library names the argument that it became.

    Only what was given: a load that comes from --regime is no fault of --load.

    Args:
        complaint: such as "max_blocking=2 must be ...".
        words: of the command line.
    """
    found = re.match(r"([a-z]\w*)=", complaint)
    if found is None:
        return complaint
    option = f"--{found[1].replace('_', '-')}"
    given = any(word.partition("=")[0] == option for word in words)
    return f"{option} {complaint[found.end() :]}" if given else complaint
