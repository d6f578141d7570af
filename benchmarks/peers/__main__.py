"""Measure and print: ``python -m benchmarks.peers [--rows N] [--peers ours,with_polars] [--only NAME] [--json FILE]``."""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.peers.data import Place, make
from benchmarks.peers.ours import Programs

PEERS = ("ours", "with_polars", "with_duckdb", "with_pyspark")
NAMES = [name for name in vars(Programs) if not name.startswith("_")]
TOLERANCE = 1e-4


def arguments() -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser(description="The same programs in several libraries.")
    parser.add_argument("--rows", type=lambda text: int(float(text)), default=10**7)
    parser.add_argument("--peers", type=lambda text: text.split(","), default=list(PEERS))
    parser.add_argument("--only", default="", help="only programs whose names contain this")
    parser.add_argument("--runs", type=int, default=2, help="runs of each program after the first")
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def measured(peer: str, directory: Path, runs: int, names: list[str]) -> dict[str, Any]:
    """Results of a peer by the names of programs."""
    command = [sys.executable, "-m", "benchmarks.peers.worker", peer, str(directory), str(runs), *names]
    output = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env={**os.environ, "SFRAME_SPARK_PROGRESS": "off"}).stdout
    lines = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    return {line["name"]: line for line in lines}


def is_same(one: Any, other: Any) -> bool:
    """True for equal results; numbers with fractions may differ by how they were added up."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(is_same, one, other))
    if isinstance(one, float) or isinstance(other, float):
        return math.isclose(one, other, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    return bool(one == other)


def line_of(name: str, found: dict[str, dict[str, Any]]) -> str:
    """A line of the table: seconds, and those of the processors behind them."""
    cells = [f"{each['wall']:.2f} ({each['cpu']:.2f})" if (each := results.get(name)) else "" for results in found.values()]
    return f"| {name.replace('_', ' ')} | " + " | ".join(cells) + " |"


def mean_ratio(found: dict[str, dict[str, Any]], peer: str, what: str) -> float:
    """Our time by that of a peer, in the geometric mean over the programs that both have."""
    both = [name for name in found["ours"] if name in found[peer]]
    return statistics.geometric_mean(max(found["ours"][name][what], 0.01) / max(found[peer][name][what], 0.01) for name in both)


def main() -> None:
    """Print the table."""
    chosen = arguments()
    names = [name for name in NAMES if chosen.only in name]
    with tempfile.TemporaryDirectory() as scratch:
        place = Place(Path(scratch))
        make(chosen.rows, place)
        found = {peer: measured(peer, place.directory, chosen.runs, names) for peer in chosen.peers}
    for peer, results in found.items():
        different = [name for name in results if "ours" in found and not is_same(results[name]["found"], found["ours"][name]["found"])]
        if different:
            raise SystemExit(f"{peer} gives something else than we do: {', '.join(different)}")
    print(f"{chosen.rows:,} rows; seconds, and in brackets those of the processors, best of {chosen.runs} runs after a first one\n")
    print("| program | " + " | ".join(peer.removeprefix("with_") for peer in found) + " |")
    print("| --- |" + " ---: |" * len(found))
    print("\n".join(line_of(name, found) for name in names))
    for peer in found:
        if peer != "ours" and "ours" in found:
            print(
                f"\nours by {peer.removeprefix('with_')}: {mean_ratio(found, peer, 'wall'):.2f} wall, {mean_ratio(found, peer, 'cpu'):.2f} processors"
            )
    if chosen.json:
        chosen.json.write_text(json.dumps({"rows": chosen.rows, "found": found}, indent=1))


if __name__ == "__main__":
    main()
