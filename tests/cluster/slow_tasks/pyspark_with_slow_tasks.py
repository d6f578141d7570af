"""The module that Python workers of a cluster's tasks run in tests of failures: PySpark's own, and before it what files of a directory ask for.

Spark imports it by its name (``spark.python.worker.module``), which must begin with "pyspark"; its directory is on the path of workers.
"""

from __future__ import annotations

import os
import time
import uuid
from pathlib import Path
from typing import Any

from pyspark import worker

# The directory of the files, which all machines see.
NOTES = "SFRAME_TEST_NOTES"
# A file with the seconds that each task waits before it begins.
PACE = "pace"
# Files that the first task which finds one removes; the task is then slow, or its process ends.
SLOW, END = "slow", "end"
SECONDS_OF_SLOW_TASK = 12.0
# The directory with a file for each task that has begun.
BEGUN = "begun"


def is_taken(file: Path) -> bool:
    """Return whether this task is the first that finds a file."""
    try:
        file.unlink()
    except FileNotFoundError:
        return False
    return True


def main(infile: Any, outfile: Any) -> None:
    """Run a task, as PySpark's module does."""
    notes = Path(os.environ[NOTES])
    (notes / BEGUN / uuid.uuid4().hex).touch()
    if is_taken(notes / END):
        os._exit(1)
    time.sleep(SECONDS_OF_SLOW_TASK if is_taken(notes / SLOW) else float((notes / PACE).read_text(encoding="ascii")))
    worker.main(infile, outfile)
