"""First answers of a process: ``python -m benchmarks.first_answers [--runs N]``, each in processes of their own.

Processor seconds of the members' import, of the first print of a frame and of the second of another one like it, and how many modules were imported
for the first; medians. A second table has the same for 10^6 rows.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

# Makes a frame of `rows` rows and an answer, twice; sys.stdlib_module_names are the interpreter's own.
PROGRAM = """
import json, sys, time
kind, rows, place = sys.argv[1], int(sys.argv[2]), sys.argv[3]
marks = [time.process_time()]
from sframe_spark import SFrame, aggregate
marks.append(time.process_time())
def frame():
    if kind == "read_csv":
        return SFrame.read_csv(place, verbose=False)
    numbers = list(range(rows))
    made = SFrame({"a": numbers} if kind == "ints" else {"a": numbers, "k": [number % 7 for number in numbers]})
    if kind == "filter":
        return made[made["a"] % 3 == 1]
    return made.groupby("k", {"sum": aggregate.SUM("a")}) if kind == "group-by" else made
for _ in range(2):
    text = str(frame())
    marks.append(time.process_time())
    if len(marks) == 3:
        names = [name for name in sys.modules if name.partition(".")[0] not in sys.stdlib_module_names]
print(json.dumps({
    "import": marks[1] - marks[0], "first": marks[2] - marks[1], "second": marks[3] - marks[2],
    "modules": len(names), "ours": sum(name.startswith("sframe_spark") for name in names), "pandas": "pandas" in names,
}))
"""
KINDS = ("ints", "read_csv", "filter", "group-by")


def once(kind: str, rows: int, place: str) -> dict[str, Any]:
    """What one process took."""
    done = subprocess.run([sys.executable, "-c", PROGRAM, kind, str(rows), place], capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description="First answers of a process.")
    parser.add_argument("--runs", type=int, default=5)
    runs = parser.parse_args().runs
    with tempfile.TemporaryDirectory(prefix="sframe-bench-") as directory:
        for rows in (2, 1_000_000):
            place = str(Path(directory, f"{rows}.csv"))
            Path(place).write_text("a,k\n" + "".join(f"{number},{number % 7}\n" for number in range(rows)), encoding="utf-8")
            found: dict[str, list[dict[str, Any]]] = {kind: [] for kind in KINDS}
            for _ in range(runs):
                for kind in KINDS:
                    found[kind].append(once(kind, rows, place))
            print(f"\n| {rows:,} rows | import | first | second | first / second | modules | of them of this package | pandas |")
            print("| --- |" + " ---: |" * 7)
            for kind, each in found.items():
                middle = {name: statistics.median(run[name] for run in each) for name in each[0]}
                seconds = " | ".join(f"{middle[name]:.3f}" for name in ("import", "first", "second"))
                print(
                    f"| {kind} | {seconds} | {middle['first'] / middle['second']:.2f} | {middle['modules']:.0f} | {middle['ours']:.0f} "
                    f"| {'yes' if middle['pandas'] else 'no'} |"
                )


if __name__ == "__main__":
    main()
