"""Small frames of many columns beside the reference: ``python -m benchmarks.small_frames [--reference PYTHON] [--columns 50,200,400,2000]``.

Programs that prepare columns one by one (`columns_one_by_one.py`), 50 rows, processor seconds. Both sides run in this run, in processes of their own,
and what they make is compared before a number is printed; ``--write`` writes `results/small_frames.md`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.columns_one_by_one import ONCE, PROGRAMS, ROWS
from benchmarks.run import REFERENCE, same

PAGE = Path(__file__).parent / "results" / "small_frames.md"
SCRIPT = Path(__file__).with_name("columns_one_by_one.py")
Measured = dict[str, dict[str, Any]]


def measured(interpreter: str, columns: int, only: str, most: float) -> Measured:
    """Seconds and rows by program in one interpreter; programs are left out that have not ended when the time is up."""
    process = subprocess.Popen(
        [interpreter, str(SCRIPT), str(columns), only],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "PYTHONPATH": str(SCRIPT.parent.parent)},
    )
    try:
        text, _ = process.communicate(timeout=most)
    except subprocess.TimeoutExpired:
        process.kill()
        text, _ = process.communicate()
    return dict(json.loads(line) for line in text.splitlines() if line.startswith("["))


def compared(ours: Measured, theirs: Measured) -> None:
    """Refuse to tell of programs that do not make the same.

    Raises
    ------
    SystemExit
        If one does not.
    """
    for name in ours.keys() & theirs.keys():
        if not same(ours[name]["rows"], theirs[name]["rows"]):
            raise SystemExit(f"{name}: results differ: {str(ours[name]['rows'])[:500]} and {str(theirs[name]['rows'])[:500]}")


def table(widths: Sequence[int], found: dict[int, tuple[Measured, Measured]]) -> str:
    """The page's table: of each program ours by the reference's seconds at each width, and how often these are contained."""
    lines = ["| program | " + " | ".join(f"{width:,} columns" for width in widths) + " |", "| --- |" + " ---: |" * len(widths)]
    for name in PROGRAMS:
        cells = []
        for width in widths:
            ours, theirs = (side.get(name) for side in found[width])
            if ours is None or (name in ONCE and width != widths[0]):
                cells.append("")
                continue
            of_theirs = "?" if theirs is None else f"{theirs['seconds']:.3f}"
            ratio = "" if theirs is None else f" ({ours['seconds'] / theirs['seconds']:.2f})"
            cells.append(f"{ours['seconds']:.3f} by {of_theirs}{ratio}")
        lines.append(f"| `{name}` | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    """Measure, compare and print."""
    parser = argparse.ArgumentParser(description="Columns prepared one by one, beside the reference.")
    parser.add_argument("--reference", default=REFERENCE, help="interpreter of the reference engine")
    parser.add_argument("--columns", type=lambda text: [int(item) for item in text.split(",")], default=[50, 200, 400, 2000])
    parser.add_argument("--only", default="", help="only programs whose text contains this")
    parser.add_argument("--most", type=float, default=1_200.0, help="seconds after which an interpreter is stopped at a width")
    parser.add_argument("--write", action="store_true", help="write the page of results")
    chosen = parser.parse_args()
    reference, found = os.path.expanduser(chosen.reference), {}
    for width in chosen.columns:
        ours = measured(sys.executable, width, chosen.only, chosen.most)
        theirs = measured(reference, width, chosen.only, chosen.most) if Path(reference).exists() else {}
        compared(ours, theirs)
        found[width] = ours, theirs
        print(f"{width} columns: {len(ours)} programs here, {len(theirs)} in the reference", flush=True)
    text = table(chosen.columns, found)
    print(text)
    if chosen.write:
        PAGE.write_text(INTRODUCTION + text + "\n", encoding="utf-8")


INTRODUCTION = f"""# Small frames, many columns

Made by `python -m benchmarks.small_frames --write`: processor seconds of this library, then of Turi Create (and in brackets the ratio of the two),
measured in one run on one machine, of programs that prepare columns one by one, over {ROWS} rows. Results are compared first. Frames with assigned
columns are materialized at the end, within the time. `?`: not finished when Turi Create was stopped.

Both sides are processes in one run on a shared machine; for programs of a few milliseconds, the numbers vary by a tenth from run to run.
[Why](../../docs/decisions/038-few-rows-without-a-plan.md) few rows need no plan.

"""


if __name__ == "__main__":
    main()
