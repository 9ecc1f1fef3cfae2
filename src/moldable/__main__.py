"""`python -m moldable`: same as the `moldable` command."""

from __future__ import annotations

from moldable.cli import main

if __name__ == "__main__":
    main()
