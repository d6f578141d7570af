"""Measure and print: ``python -m benchmarks.large [--rows 100000000] [--peers ours,with_polars] [--only join] [--json FILE]``."""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.large.tables import PROGRAMS, make
from benchmarks.peers.compared import measured, parser_of, report

PEERS = ["ours", "with_polars", "with_duckdb"]


def main() -> None:
    """Print the table."""
    parser = parser_of("Groups, joins and distinct values of very many rows: ours and DuckDB with 2 GB, and the streaming engine of Polars.")
    parser.set_defaults(peers=PEERS)
    parser.add_argument("--rows", type=lambda text: int(float(text)), default=100_000_000, help="the number of rows of the largest tables")
    parser.add_argument("--data", type=Path, help="a directory for the rows, which is kept and used again; without, one that is removed")
    chosen = parser.parse_args()
    names = [name for name in PROGRAMS if chosen.only in name]
    with tempfile.TemporaryDirectory() as scratch:
        directory = chosen.data or Path(scratch, "rows")
        if not directory.exists():
            make(chosen.rows, directory)
        found = measured("benchmarks.large", chosen.peers, directory, chosen.runs, names)
    peaks = {peer: max(each["peak"] for each in results.values()) / 2**20 for peer, results in found.items()}
    report(found, names, chosen, "with_duckdb", f"{chosen.rows:,} rows", {"rows": chosen.rows})
    print("\nmost memory in use, MiB: " + ", ".join(f"{peer.removeprefix('with_')} {peak:,.0f}" for peer, peak in peaks.items()))


if __name__ == "__main__":
    main()
