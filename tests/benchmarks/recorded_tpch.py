"""Record what DuckDB answers at a hundredth of the scale: ``python -m tests.benchmarks.recorded_tpch``."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from benchmarks.peers.data import Place
from benchmarks.tpch.tables import make
from benchmarks.tpch.texts import TEXTS
from benchmarks.tpch.with_duckdb import Programs
from tests.benchmarks.test_tpch import ANSWERS_FILE, SCALE


def main() -> None:
    """Write a line for each query."""
    with tempfile.TemporaryDirectory() as scratch:
        make(SCALE, Path(scratch, "rows"))
        programs = Programs(Place(Path(scratch, "rows")))
        lines = [f"{json.dumps(name)}: {json.dumps(getattr(programs, name)())}" for name in TEXTS]
    ANSWERS_FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
