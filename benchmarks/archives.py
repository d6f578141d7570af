"""An archive of Turi Create converted here, beside the reference that loads it and writes it as CSV.

``python -m benchmarks.archives REFERENCE [--rows 1e7] [--runs 3]``, where REFERENCE is the reference's Python, which also makes the archive. Each run
is a process of its own, whose peak of memory is told beside its seconds.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

MAKE = """
import sys
import numpy as np
import turicreate as tc
rows, place = int(sys.argv[1]), sys.argv[2]
random = np.random.RandomState(1)
words = np.array(["value %d" % number for number in range(1000)])
frame = tc.SFrame()
frame["few"] = tc.SArray(random.randint(0, 10**6, rows).tolist(), int)
frame["rising"] = tc.SArray((np.arange(rows) + random.randint(0, 5, rows)).tolist(), int)
frame["word"] = tc.SArray(words[random.randint(0, 1000, rows)].tolist(), str)
frame["text"] = tc.SArray(["row %09d of all" % (number * 7919 % rows) for number in range(rows)], str)
frame.save(place)
"""
TO_CSV = "import sys\nimport turicreate as tc\ntc.load_sframe(sys.argv[1]).export_csv(sys.argv[2])"
# The reference does its work in a process that its Python starts, so its peak is that of the larger one.
TO_NOWHERE = "import sys\nimport turicreate as tc"


def run(command: list[str]) -> tuple[float, float]:
    """Seconds that a command takes, and the largest peak of a process of it so far, in MiB."""
    began = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024


def measured(name: str, commands: list[list[str]]) -> None:
    """Tell the median of some runs, and their peak, in a process that has no other children."""
    reading, writing = os.pipe()
    if not (child := os.fork()):
        results = [run(command) for command in commands]
        told = f"{statistics.median(seconds for seconds, _ in results):.1f} s, at most {max(peak for _, peak in results):.0f} MiB"
        os.write(writing, told.encode())
        os._exit(0)
    os.waitpid(child, 0)
    print(f"{name}: {os.read(reading, 1000).decode()}", flush=True)


def main() -> None:
    """Make the archive, and time both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("reference")
    parser.add_argument("--rows", type=float, default=1e7)
    parser.add_argument("--runs", type=int, default=3)
    chosen = parser.parse_args()
    place = tempfile.mkdtemp(prefix="archives")
    try:
        old = os.path.join(place, "old")
        subprocess.run([chosen.reference, "-c", MAKE, str(int(chosen.rows)), old], check=True, stderr=subprocess.DEVNULL)
        here = [sys.executable, "-m", "sframe_spark", "convert", old]
        for again in range(2):
            measured("convert", [[*here, os.path.join(place, f"new{again}{number}")] for number in range(chosen.runs)])
            measured("reference: load, export_csv", [[chosen.reference, "-c", TO_CSV, old, os.path.join(place, "old.csv")]] * chosen.runs)
        measured("reference: start", [[chosen.reference, "-c", TO_NOWHERE]] * chosen.runs)
        measured("convert --verify", [[*here, os.path.join(place, f"newer{number}"), "--verify"] for number in range(chosen.runs)])
    finally:
        shutil.rmtree(place)


if __name__ == "__main__":
    main()
