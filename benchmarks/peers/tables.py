"""What ``make bench-peers`` measured at several sizes, as tables: ``python -m benchmarks.peers.tables 1e5.json 1e6.json``."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from benchmarks.peers.chart import NAMES


def table_of(measured: dict[str, Any]) -> str:
    """Processor seconds of each program in each library, and in brackets those of its first run."""
    found = measured["found"]
    peers = [peer for peer in NAMES if peer in found]
    lines = ["| program | " + " | ".join(NAMES[peer] for peer in peers) + " |", "| --- |" + " ---: |" * len(peers)]
    for name in found["ours"]:
        cells = [f"{each['cpu']:.3f} ({first_of(each)})" if (each := found[peer].get(name)) else "" for peer in peers]
        lines.append(f"| {name.replace('_', ' ')} | " + " | ".join(cells) + " |")
    return f"## {measured['rows']:,} rows\n\n" + "\n".join(lines) + "\n"


def first_of(result: dict[str, Any]) -> str:
    """Processor seconds of a first run; a process that ended meanwhile takes its own with it."""
    seconds = result["cold"][1]
    return f"{seconds:.3f}" if seconds > 0 else "lost"


if __name__ == "__main__":
    print("\n".join(table_of(json.loads(Path(name).read_text())) for name in sys.argv[1:]))
