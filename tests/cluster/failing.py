"""Programs amid which something fails, in a session that stays as long as it can; started by `failures.py`.

    python -m tests.cluster.failing JSON

Each line of the input is JSON: the name of a program, and how its rows are exchanged. It is answered by a line of JSON: how the program ended, in
one line, the seconds that it took, and what it has left behind.
"""

from __future__ import annotations

import gc
import json
import logging
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import attrs
import fsspec
import numpy as np

from sframe_spark import SFrame, aggregate, config, load_sframe, vacuum
from sframe_spark.engine import costs
from sframe_spark.errors import SFrameError
from sframe_spark.storage.datasets import numbered_versions_of_remote_frames
from tests.cluster.run import start_session

# Prime to the factor by which numbers are spread: rows are in no order.
ROWS, FACTOR, ROWS_OF_GROUP = 24_000, 7_919, 3
NUMBERS = np.arange(ROWS)
SPREAD = NUMBERS * FACTOR % ROWS
RIGHT, INTERRUPTED = "right", "interrupted"
SECONDS_UNTIL_DELETED = 15
# Few rows are several tasks, several ranges, and more than a task keeps in memory.
FEW = {
    "MIN_ROWS_OF_TASK": 3_000,
    "MIN_BYTES_OF_TASK": 1 << 14,
    "BYTES_OF_RANGE_OF_TASK": 100_000,
    "BYTES_BUFFERED_BY_SHUFFLE_TASK": 50_000,
}
# How rows are exchanged: by tasks of this package, in files or by messages, or in Spark's queries, whose results are written or collected.
WAYS: dict[str, dict[str, Any]] = {
    "tasks": {"small_rows": 40, "memory_budget": 0},
    "query": {"small_rows": 0, "memory_budget": 0},
    "collected": {"small_rows": 0},
    # Where nothing is shared, the driver computes what is in its own files.
    "alone": {"small_rows": 0},
}
OF_SPARK = ("query", "collected")
PROGRAMS: dict[str, Callable[[Place], list[bool]]] = {}


@attrs.frozen
class Place:
    """Where a program has its rows from.

    Parameters
    ----------
    directory
        The directory or URI of saved frames.
    spark
        The user's session.
    is_of_spark
        Whether the rows are those of a DataFrame, not of a saved frame.
    """

    directory: str
    spark: Any
    is_of_spark: bool

    def path(self, name: str) -> str:
        """The place of a saved frame."""
        return f"{self.directory}/{name}"

    def prepare(self) -> None:
        """Save what programs load."""
        SFrame({"n": SPREAD, "m": SPREAD * 3}).save(self.path("many"))
        SFrame({"n": SPREAD[::-1].copy(), "q": SPREAD[::-1] * 5}).save(self.path("others"))
        SFrame({"n": NUMBERS, "turn": np.zeros(ROWS, dtype=np.int64)}).save(self.path("kept"))

    def many(self) -> SFrame:
        """Rows of numbers in no order."""
        return self._rows("m", 3) if self.is_of_spark else load_sframe(self.path("many"))

    def others(self) -> SFrame:
        """As many rows of the same numbers."""
        return self._rows("q", 5) if self.is_of_spark else load_sframe(self.path("others"))

    def _rows(self, name: str, times: int) -> SFrame:
        numbers = self.spark.range(0, ROWS, 1, 6).selectExpr(f"id * {FACTOR} % {ROWS} AS n")
        # Which rows go to which partition depends on the order in which they come: a task that runs again must not send others.
        return SFrame(numbers.mapInArrow(as_they_are, "n bigint").repartition(4).selectExpr("n", f"n * {times} AS {name}"))

    def turn(self) -> int:
        """How often the kept frame was saved; it is whole."""
        kept = load_sframe(self.path("kept"))
        (turn,) = set(kept["turn"].to_numpy().tolist())
        assert np.array_equal(np.sort(kept["n"].to_numpy()), NUMBERS)
        return int(turn)


def as_they_are(batches: Any) -> Any:
    """Rows pass a Python process, which may be slow or end."""
    yield from batches


def program(function: Callable[[Place], list[bool]]) -> Callable[[Place], list[bool]]:
    """Add a program, which returns what of its result is right."""
    PROGRAMS[function.__name__] = function
    return function


@program
def sort(place: Place) -> list[bool]:
    """Sort all rows."""
    frame = place.many().sort("n")
    frame.materialize()
    return [np.array_equal(frame["n"].to_numpy(), NUMBERS), np.array_equal(frame["m"].to_numpy(), NUMBERS * 3)]


@program
def groups(place: Place) -> list[bool]:
    """Add up the rows of many groups."""
    frame = place.many()
    frame["g"] = frame["n"] // ROWS_OF_GROUP
    found = frame.groupby("g", {"s": aggregate.SUM("m"), "c": aggregate.COUNT()})
    found.materialize()
    order, starts = np.argsort(found["g"].to_numpy()), np.arange(ROWS // ROWS_OF_GROUP)
    sums = 3 * (starts * ROWS_OF_GROUP * ROWS_OF_GROUP + sum(range(ROWS_OF_GROUP)))
    return [np.array_equal(found["s"].to_numpy()[order], sums), bool((found["c"].to_numpy() == ROWS_OF_GROUP).all())]


@program
def join(place: Place) -> list[bool]:
    """Join two sides of many rows."""
    found = place.many().join(place.others(), on="n")
    found.materialize()
    numbers = found["n"].to_numpy()
    return [
        np.array_equal(np.sort(numbers), NUMBERS),
        np.array_equal(found["m"].to_numpy(), numbers * 3),
        np.array_equal(found["q"].to_numpy(), numbers * 5),
    ]


@program
def save(place: Place) -> list[bool]:
    """Save a frame over itself, or rows of Spark over it: the old rows or the new ones are there, whole."""
    before, is_done = place.turn(), False
    try:
        frame = place.many()[["n"]] if place.is_of_spark else load_sframe(place.path("kept"))
        frame["turn"] = frame["n"] * 0 + (before + 1)
        frame.sort("n", ascending=bool(before % 2)).save(place.path("kept"))
        is_done = True
    finally:
        after = place.turn()
        assert after in ([before + 1] if is_done else [before, before + 1]), (before, after)
    return [list(load_sframe(place.path("kept"))["n"]) == list(NUMBERS if before % 2 else NUMBERS[::-1])]


@program
def apply(place: Place) -> list[bool]:
    """Call a function of each row."""
    frame = place.many()
    frame["square"] = frame["n"].apply(lambda n: n * n, dtype=int)
    frame.materialize()
    numbers = frame["n"].to_numpy()
    return [np.array_equal(np.sort(numbers), NUMBERS), np.array_equal(frame["square"].to_numpy(), numbers * numbers)]


def table() -> SFrame:
    """Numbers with a key of few values, in memory."""
    return SFrame({"n": NUMBERS, "k": NUMBERS % ROWS_OF_GROUP})


def remade(place: Place) -> list[bool]:
    """Temporary rows are made again when their file is gone, and what was made of them."""
    frame = table().sort("k")
    frame.materialize()
    sums = frame["n"].cumulative_sum()
    delete_one(place)
    order = np.argsort(NUMBERS % ROWS_OF_GROUP, kind="stable")
    return [list(sums) == list(np.cumsum(order)), list(frame["n"]) == list(order)]


def called(place: Place) -> list[bool]:
    """Temporary rows that a function has made, whose file is gone: it is not called again."""
    frame = table()
    frame["square"] = frame["n"].apply(lambda n: n * n, dtype=int)
    frame.materialize()
    delete_one(place)
    return [list(frame["square"]) == list(NUMBERS * NUMBERS)]


def delete_one(place: Place) -> None:
    """Delete a file of temporary rows."""
    first = next(name for name in files_below(f"{place.directory}/tmp") if name.endswith(".parquet"))
    files, _ = fsspec.url_to_fs(place.directory, **config.storage_options.get("s3://", {}))
    files.rm(first)


# Programs amid which nothing need happen.
OF_DELETED_FILES = {"remade": remade, "called": called}


def ending(name: str, way: str, directory: str, spark: Any) -> str:
    """How a program ends, in one line."""
    with config.using(**WAYS[way]):
        try:
            right = {**PROGRAMS, **OF_DELETED_FILES}[name](Place(directory, spark, way in OF_SPARK))
        except SFrameError as error:
            return f"{type(error).__name__}: {error}"
    return RIGHT if all(right) else f"wrong: {right}"


def left_behind(place: str) -> list[str]:
    """Files of temporary data that nobody refers to, and those of saved frames that no manifest names; deleting them may take a moment."""
    gc.collect()
    until = time.monotonic() + SECONDS_UNTIL_DELETED
    while (found := temporary_files(place)) and time.monotonic() < until:
        time.sleep(0.1)
    return found + unnamed_files(place)


def temporary_files(place: str) -> list[str]:
    """Files of rows in the directory of temporary data, and in that of files which no other process reads."""
    return [name for above in (f"{place}/tmp", tempfile.gettempdir()) for name in files_below(above) if "/dataset-" in name or "/shuffle-" in name]


def unnamed_files(place: str) -> list[str]:
    """Files of the saved frames, and beside them, that no manifest names."""
    found = []
    for name in files_below(place):
        frame, _, inner = name.removeprefix(place.removeprefix("s3://") + "/").partition("/")
        if frame == "tmp" or inner.endswith(".json"):
            continue
        if frame not in ("many", "others", "kept") or name.rpartition("/")[2] not in manifests_of(f"{place}/{frame}"):
            found.append(name)
    return found


def manifests_of(frame: str) -> str:
    """The texts of all manifests of a saved frame."""
    files, _ = fsspec.url_to_fs(frame, **config.storage_options.get("s3://", {}))
    return " ".join(files.cat_file(name).decode() for name in files_below(frame) if name.endswith(".json"))


def files_below(place: str) -> list[str]:
    """All files below a directory or URI."""
    files, path = fsspec.url_to_fs(place, **(config.storage_options.get("s3://", {}) if "://" in place else {}))
    files.invalidate_cache()
    return sorted(files.find(path))


def answer(request: dict[str, str], place: str, spark: Any) -> dict[str, Any]:
    """Run a program; Ctrl-C is heard until it has ended."""
    handler, start = signal.getsignal(signal.SIGINT), time.monotonic()
    try:
        try:
            said = ending(request["program"], request["way"], place, spark)
        finally:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        said = INTERRUPTED
    seconds = time.monotonic() - start
    left = left_behind(place)
    signal.signal(signal.SIGINT, handler)
    return {"said": said, "seconds": seconds, "left": left, "jobs": running_jobs(spark)}


def running_jobs(spark: Any) -> int:
    """The number of jobs that run though nobody waits for them, after a moment; a server does not tell."""
    if "connect" in type(spark).__module__:
        return 0
    until = time.monotonic() + SECONDS_UNTIL_DELETED
    try:
        tracker = spark.sparkContext.statusTracker()
        while (jobs := tracker.getActiveJobsIds()) and time.monotonic() < until:
            time.sleep(0.1)
    except Exception:
        # Without its JVM a session has no jobs.
        return 0
    return len(jobs)


def main(arguments: str) -> None:
    """Answer each line of the input."""
    url, settings, place, options, is_new = json.loads(arguments)
    logging.disable(logging.CRITICAL)
    session = start_session(url, settings)
    config.storage_options = {"s3://": options} if options else {}
    config.temporary_directory = f"{place}/tmp"
    config.single_task_rows = 0
    if "://" not in place:
        os.makedirs(f"{place}/tmp", exist_ok=True)
    if is_new:
        Place(place, session, False).prepare()
    elif options:
        # What a killed driver has left of a save to an object store goes with the next save, or before. No request is late here.
        numbered_versions_of_remote_frames.SECONDS_OF_REQUEST = 0
        vacuum(f"{place}/kept")
    for name, value in FEW.items():
        setattr(costs, name, value)
    sys.stdout.write(json.dumps({"said": "ready"}) + "\n")
    sys.stdout.flush()
    for line in sys.stdin:
        sys.stdout.write(json.dumps(answer(json.loads(line), place, session)) + "\n")
        sys.stdout.flush()
    session.stop()


if __name__ == "__main__":
    main(sys.argv[1])
