"""The picture of what ``make bench-peers`` measured: ``python -m benchmarks.peers.chart measured/1e7.json docs/pictures/peers.svg``."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

COLOURS = {
    "ours": "#1f6f5c",
    "with_polars": "#8a8f98",
    "with_duckdb": "#b9bec6",
    "with_pyspark": "#d98e3a",
    "with_pandas_on_spark": "#e8c07d",
    "with_reference": "#7a5ea8",
}
NAMES = {
    "ours": "sframe_spark",
    "with_polars": "Polars",
    "with_duckdb": "DuckDB",
    "with_pyspark": "PySpark by hand",
    "with_pandas_on_spark": "pandas on Spark",
    "with_reference": "Turi Create",
}
LEFT, WIDTH, ROW, BAR, TOP = 190, 760, 16, 5, 60
LEAST, MOST = 0.01, 60.0


def location_of(seconds: float) -> float:
    """Where a number of seconds is drawn, on a scale of powers of ten."""
    part = math.log10(min(max(seconds, LEAST), MOST) / LEAST) / math.log10(MOST / LEAST)
    return LEFT + part * (WIDTH - LEFT - 20)


def drawn(measured: dict[str, Any]) -> str:
    """The picture as SVG."""
    found = measured["found"]
    peers, programs = [peer for peer in NAMES if peer in found], list(found["ours"])
    height = TOP + len(programs) * (ROW + BAR * len(peers)) + 40
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
        f'<text x="10" y="20" font-size="14">Processor seconds, {measured["rows"]:,} rows, two cores; a scale of powers of ten</text>',
    ]
    for number, peer in enumerate(peers):
        x = 10 + number * 125
        lines.append(f'<rect x="{x}" y="30" width="12" height="12" fill="{COLOURS[peer]}"/><text x="{x + 18}" y="41">{NAMES[peer]}</text>')
    for tick in (0.01, 0.1, 1, 10):
        x = location_of(tick)
        lines.append(f'<line x1="{x:.1f}" y1="{TOP - 8}" x2="{x:.1f}" y2="{height - 28}" stroke="#ddd"/>')
        lines.append(f'<text x="{x:.1f}" y="{height - 12}" text-anchor="middle">{tick:g}</text>')
    for number, name in enumerate(programs):
        y = TOP + number * (ROW + BAR * len(peers))
        lines.append(f'<text x="{LEFT - 8}" y="{y + 12}" text-anchor="end">{name.replace("_", " ")}</text>')
        for place, peer in enumerate(peers):
            if name in found[peer]:
                end = location_of(found[peer][name]["cpu"])
                lines.append(f'<rect x="{LEFT}" y="{y + place * BAR}" width="{end - LEFT:.1f}" height="{BAR - 1}" fill="{COLOURS[peer]}"/>')
    return "\n".join([*lines, "</svg>", ""])


def main() -> None:
    """Draw."""
    measured, picture = map(Path, sys.argv[1:])
    picture.write_text(drawn(json.loads(measured.read_text())))


if __name__ == "__main__":
    main()
