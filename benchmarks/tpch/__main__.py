"""Measure and print: ``python -m benchmarks.tpch [--scale 0.01] [--peers ours,with_polars] [--only q05] [--json FILE]``."""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.peers.compared import measured, parser_of, report
from benchmarks.tpch.tables import make
from benchmarks.tpch.texts import TEXTS


def main() -> None:
    """Print the table."""
    parser = parser_of("The shapes of TPC-H's queries in several libraries.")
    parser.add_argument("--scale", type=float, default=0.1, help="the scale factor: at 1 there are six million lines of orders")
    parser.add_argument("--data", type=Path, help="a directory for the rows, which is kept and used again; without, one that is removed")
    chosen = parser.parse_args()
    names = [name for name in TEXTS if chosen.only in name]
    with tempfile.TemporaryDirectory() as scratch:
        directory = chosen.data or Path(scratch, "rows")
        if not directory.exists():
            make(chosen.scale, directory)
        found = measured("benchmarks.tpch", chosen.peers, directory, chosen.runs, names)
    report(found, names, chosen, "with_duckdb", f"Scale {chosen.scale:g}", {"scale": chosen.scale})


if __name__ == "__main__":
    main()
