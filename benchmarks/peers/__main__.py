"""Measure and print: ``python -m benchmarks.peers [--rows N] [--peers ours,with_polars] [--only NAME] [--reference PYTHON] [--json FILE]``."""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.peers.compared import measured, parser_of, report
from benchmarks.peers.data import Place, make
from benchmarks.peers.ours import Programs

NAMES = [name for name in vars(Programs) if not name.startswith("_")]


def main() -> None:
    """Print the table."""
    parser = parser_of("The same programs in several libraries.", "with_pandas_on_spark")
    parser.add_argument("--rows", type=lambda text: int(float(text)), default=10**7)
    parser.add_argument("--reference", type=Path, help="interpreter of the reference engine, which is a peer then")
    chosen = parser.parse_args()
    names = [name for name in NAMES if chosen.only in name]
    with tempfile.TemporaryDirectory() as scratch:
        place = Place(Path(scratch))
        make(chosen.rows, place, with_csv=bool(chosen.reference))
        found = measured("benchmarks.peers", chosen.peers, place.directory, chosen.runs, names, chosen.reference)
    report(found, names, chosen, "ours", f"{chosen.rows:,} rows", {"rows": chosen.rows})


if __name__ == "__main__":
    main()
