"""One peer in a process of its own: ``python -m benchmarks.peers.worker MODULE DIRECTORY RUNS NAME...`` prints a line of JSON for each program."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

from benchmarks.peers.clock import run
from benchmarks.peers.data import Place


def main() -> None:
    """Run programs of a peer."""
    module, directory, runs, *names = sys.argv[1:]
    run(importlib.import_module(module).Programs(Place(Path(directory))), int(runs), names)


if __name__ == "__main__":
    main()
