"""`python -m migrator`."""

from __future__ import annotations

import sys

from migrator.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
