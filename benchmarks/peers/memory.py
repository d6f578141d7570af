"""Memory of our programs, each in a process of its own: ``python -m benchmarks.peers.memory [--rows N] [--budget BYTES]``."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.peers.__main__ import NAMES
from benchmarks.peers.data import Place, make

MIB = 1 << 20
PAUSE = 0.01


def resident_bytes(root: int) -> dict[str, int]:
    """Bytes of a process and of all that it has started, by the name of the program."""
    parents, sizes = {}, {}
    for entry in os.listdir("/proc"):
        if entry.isdecimal():
            try:
                name, rest = Path("/proc", entry, "stat").read_text().split("(", 1)[1].rsplit(")", 1)
            except (OSError, IndexError):
                continue
            fields = rest.split()
            parents[int(entry)], sizes[int(entry)] = int(fields[1]), (name, int(fields[21]) * os.sysconf("SC_PAGE_SIZE"))
    own, size = {root}, 0
    while size < len(own):
        size = len(own)
        own |= {process for process, parent in parents.items() if parent in own}
    found: dict[str, int] = {}
    for process in own & sizes.keys():
        kind = "itself" if process == root else "java" if sizes[process][0] == "java" else "workers"
        found[kind] = found.get(kind, 0) + sizes[process][1]
    return found


def peaks_of(name: str, place: Place, budget: int | None) -> tuple[dict[str, int], float]:
    """The most that the processes of a program took at a time, and seconds, of one run in a process of its own."""
    settings = {} if budget is None else {"SFRAME_SPARK_WORK_MEMORY": str(budget), "SFRAME_SPARK_KEPT_MEMORY": str(budget)}
    command = [sys.executable, "-m", "benchmarks.peers.worker", "benchmarks.peers.ours", str(place.directory), "0", name]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "SFRAME_SPARK_PROGRESS": "off", **settings})
    found: dict[str, int] = {}
    most = 0
    while process.poll() is None:
        now = resident_bytes(process.pid)
        if sum(now.values()) > most:
            found, most = now, sum(now.values())
        time.sleep(PAUSE)
    assert process.stdout is not None
    lines = [json.loads(line) for line in process.stdout if line.startswith("{")]
    if process.returncode or not lines:
        raise SystemExit(f"{name} ended with {process.returncode}")
    return found, lines[0]["cold"][0]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Memory of our programs.")
    parser.add_argument("--rows", type=lambda text: int(float(text)), default=10**7)
    parser.add_argument(
        "--budget", type=lambda text: int(float(text)), help="config.work_memory and config.kept_memory; else what they are by default"
    )
    parser.add_argument("--only", default="", help="only programs whose names contain this")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        place = Place(Path(scratch))
        make(chosen.rows, place)
        print(f"{chosen.rows:,} rows; MiB at the same time, and seconds of the first run in a process of its own\n")
        print("| program | all | itself | Java | workers | seconds |\n| --- | ---: | ---: | ---: | ---: | ---: |")
        for name in NAMES:
            if chosen.only in name:
                found, seconds = peaks_of(name, place, chosen.budget)
                cells = [sum(found.values()), *(found.get(kind, 0) for kind in ("itself", "java", "workers"))]
                print(f"| {name.replace('_', ' ')} | " + " | ".join(f"{cell / MIB:,.0f}" for cell in cells) + f" | {seconds:.1f} |", flush=True)


if __name__ == "__main__":
    main()
