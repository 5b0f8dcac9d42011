"""`python -m migrator.sandbox`: the sandbox in the foreground, also what a detached one runs."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from migrator.errors import MigratorError
from migrator.sandbox.detached import forget, record
from migrator.sandbox.faults import read_file
from migrator.sandbox.serving import INDEX_BUILD, PORT, Info, serve


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser("python -m migrator.sandbox", description=__doc__)
    parser.add_argument("--port", type=int, default=PORT, help="0 takes a free one (default %(default)s)")
    parser.add_argument("--index-build", type=float, default=INDEX_BUILD, help="seconds (default %(default)s)")
    parser.add_argument("--faults", type=Path, help="a TOML file of faults")
    parser.add_argument("--state-folder", type=Path, help="where to tell others of this process")
    given = parser.parse_args(arguments)
    folder: Path | None = given.state_folder

    def ready(info: Info) -> None:
        sys.stderr.write(f"DynamoDB sandbox at {info.endpoint_url}\n")
        if folder is not None:
            record(folder, info)

    def ended(info: Info) -> None:
        if folder is not None:
            forget(folder, info)

    try:
        faults = () if given.faults is None else read_file(given.faults)
        serve(given.port, given.index_build, faults=faults, ready=ready, ended=ended)
    except MigratorError as error:
        sys.stderr.write(f"{error}\n" + (f"  hint: {error.hint}\n" if error.hint else ""))
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
