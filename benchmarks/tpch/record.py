"""Write what DuckDB answers at a small scale, for the tests: ``python -m benchmarks.tpch.record FILE``."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from benchmarks.peers.data import Place
from benchmarks.tpch.tables import make
from benchmarks.tpch.texts import TEXTS
from benchmarks.tpch.with_duckdb import Programs

SCALE = 0.01


def main() -> None:
    """Write the answers, a query a line."""
    with tempfile.TemporaryDirectory() as scratch:
        make(SCALE, Path(scratch))
        programs = Programs(Place(Path(scratch)))
        lines = [f"{json.dumps(name)}: {json.dumps(getattr(programs, name)())}" for name in TEXTS]
    Path(sys.argv[1]).write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
