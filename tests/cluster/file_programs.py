"""Programs that expect that all machines see their files, that some do not, or that none does; `run.py` runs them by `file_programs:NAME`.

Those of `programs.py` expect nothing: they are right or refused anywhere.
"""

from __future__ import annotations

import json
import logging
import math
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import fsspec
import numpy as np

from sframe_spark import SFrame, aggregate, config, load_sframe
from sframe_spark.engine import costs
from sframe_spark.engine.runtime import external_file_import
from sframe_spark.engine.runtime.task_runners import SparkTaskRunner
from sframe_spark.errors import StorageError
from tests.cluster.programs import ROWS, Place, key, table

# Few bytes are many parts.
SMALL_PARTS = {
    **dict.fromkeys(("MAX_BYTES_IMPORTED_AT_ONCE", "MAX_BYTES_IMPORTED_LOCALLY_ON_CLUSTER", "MAX_FILES_IMPORTED_AT_ONCE"), 0),
    "MAX_BYTES_OF_SHORT_REMOTE_FILE": 0,
    "MIN_BYTES_OF_IMPORTED_PART": 5_000,
    "MAX_BYTES_OF_IMPORTED_PART": 10_000,
}
TEXTS = {"csv": [f"a\n{n},b" for n in range(ROWS)], "json": [f"text {n}" for n in range(ROWS)]}


@contextmanager
def small_parts_counted() -> Iterator[dict[str, int]]:
    """Let files be read in small parts; how many tasks ran last for each purpose."""
    tasks_of: dict[str, int] = {}
    run = SparkTaskRunner.run

    def counted(self: SparkTaskRunner, works: Any, description: str, tasks: Any = ()) -> Any:
        tasks_of[description] = len(works)
        return run(self, works, description, tasks)

    with patch.multiple(costs, **SMALL_PARTS), patch.object(SparkTaskRunner, "run", counted):
        yield tasks_of


@contextmanager
def messages() -> Iterator[list[str]]:
    """What is logged meanwhile."""
    told: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: told.append(record.getMessage())  # type: ignore[method-assign]
    logger = logging.getLogger("sframe_spark")
    logger.addHandler(handler)
    try:
        yield told
    finally:
        logger.removeHandler(handler)


def write_text_files(place: Place) -> None:
    """Write a CSV file whose texts hold line ends, one with a line that is no row, and a JSON file."""
    rows = "".join(f'{n},"{text}"\n' for n, text in enumerate(TEXTS["csv"]))
    lines = "".join(json.dumps({"n": n, "t": text}) + "\n" for n, text in enumerate(TEXTS["json"]))
    for name, text in (("odd.csv", f"n,t\n{rows}"), ("bad.csv", f"n,t\n{rows}no row\n{rows}"), ("odd.json", lines)):
        with place.open(name, "wb") as file:
            file.write(text.encode("ascii"))


def read(place: Place, kind: str) -> SFrame:
    """The rows of a file."""
    if kind == "csv":
        return SFrame.read_csv(place.path("odd.csv"), verbose=False)
    return SFrame.read_json(place.path("odd.json"), orient="lines")


def require_rows(place: Place, kind: str) -> None:
    """Let a function of each row run, and compare the texts."""
    frame = read(place, kind)
    assert list(frame["n"].apply(lambda n: n + 1, dtype=int)) == list(range(1, ROWS + 1))
    assert list(frame["t"]) == TEXTS[kind]


def read_by_tasks(place: Place) -> tuple[Any, Any]:
    """Text files that all machines see are read by tasks, and what is wrong with a line is told."""
    write_text_files(place)
    with small_parts_counted() as tasks_of, messages() as told, config.using(temporary_directory=place.notes):
        for kind in TEXTS:
            require_rows(place, kind)
        assert tasks_of["reading CSV files"] > 5 and tasks_of["reading JSON files"] > 5 and not alone(told), (tasks_of, told)
        try:
            SFrame.read_csv(place.path("bad.csv"), verbose=False, error_bad_lines=True)
        except StorageError as error:
            said = str(error)
        found, left_out = SFrame.read_csv_with_errors(place.path("bad.csv"), verbose=False)
        return (
            ["/bad.csv: line 'no row' does not have the same number of fields as 2" in said, len(found), list(left_out[place.path("bad.csv")])],
            [True, 2 * ROWS, ["no row"]],
        )


def alone(told: list[str]) -> list[str]:
    """Messages that say which files the driver reads by itself."""
    return [text for text in told if "are read by this process alone" in text]


def read_by_the_driver(place: Place) -> tuple[Any, Any]:
    """Text files that a machine does not see are read by the driver, which says so."""
    write_text_files(place)
    with small_parts_counted() as tasks_of, messages() as told, config.using(temporary_directory=place.notes):
        for kind in TEXTS:
            require_rows(place, kind)
        reading = [purpose for purpose in tasks_of if purpose.startswith("reading")]
        first, *others = alone(told)
        return [reading, "does not see" in first and place.directory in first, len(others)], [[], True, 1]


def read_unasked(place: Place) -> tuple[Any, Any]:
    """Text files that a machine which has come later does not see give their rows, or one line that names the file."""
    write_text_files(place)
    found = []
    everybody_sees = patch.object(external_file_import, "why_not_in_tasks", lambda files: "")
    with small_parts_counted(), everybody_sees, config.using(temporary_directory=place.notes):
        for kind in TEXTS:
            try:
                require_rows(place, kind)
                found.append(True)
            except StorageError as error:
                found.append(f"/odd.{kind}" in str(error))
    return found, [True, True]


def frames_on_an_object_store(place: Place) -> tuple[Any, Any]:
    """Frames are saved, loaded and replaced there, with temporary data in a directory that no other machine sees."""
    with config.using(temporary_directory=tempfile.gettempdir()):
        table().sort("n", ascending=False).save(place.path("table"))
        loaded = load_sframe(place.path("table"), verify=True)
        assert list(loaded["n"]) == list(range(ROWS))[::-1]
        made = SFrame({"n": loaded["n"], "square": loaded["n"].apply(lambda n: n * n, dtype=int), "sum": loaded["n"].cumulative_sum()})
        made.save(place.path("made"))
        assert list(load_sframe(place.path("made"))["square"]) == [n * n for n in range(ROWS)][::-1]
        grouped = loaded.groupby("k", {"s": aggregate.SUM("n")}).sort("k")
        assert list(grouped["s"]) == [sum(n for n in range(ROWS) if key(n) == k) for k in range(7)]
        loaded.sort(["k", "n"]).save(place.path("table"))
        return (
            [list(load_sframe(place.path("table"))["n"]), list(loaded["n"])],
            [sorted(range(ROWS), key=lambda n: (key(n), n)), list(range(ROWS))[::-1]],
        )


def temporary_data_on_an_object_store(place: Place) -> tuple[Any, Any]:
    """Results are kept, exchanged, exported and read there, and nothing is anywhere else."""
    files, bucket = fsspec.url_to_fs(place.directory, **place.options)
    even = range(0, ROWS, 2)
    with small_parts_counted() as tasks_of, config.using(memory_budget=0):
        whole = table()
        made = whole[whole["n"] % 2 == 0]
        made["square"] = made["n"].apply(lambda n: n * n, dtype=int)
        made.materialize()
        files.invalidate_cache()
        assert {name.removeprefix(f"{bucket}/tmp/").split("/")[1] for name in files.find(f"{bucket}/tmp")} - {"owner"}, "nothing was written there"
        assert list(made["square"]) == [n * n for n in even]
        ordered = made.sort(["k", "n"], ascending=False)
        ordered.materialize()
        assert list(ordered["n"]) == sorted(even, key=lambda n: (key(n), n), reverse=True)
        assert list(made["n"].cumulative_sum()) == list(np.cumsum(even))
        grouped = ordered.groupby("k", {"s": aggregate.SUM("n")})
        grouped.materialize()
        sums = [sum(n for n in even if key(n) == k) for k in range(7)]
        assert list(grouped.sort("k")["s"]) == sums
        joined = made.join(grouped, on="k")
        joined.materialize()
        assert len(joined) == len(even) and sorted(joined["n"]) == list(even)
        assert sorted(made["k"].unique()) == list(range(7))
        assert list(made.append(ordered).sort("n")["n"])[:4] == [0, 0, 2, 2]
        made.export_csv(place.path("out/made.csv"))
        made.export_json(place.path("out/made.json"), orient="lines")
        made.write_parquet(place.path("out/made"))
        of_lines = SFrame.read_json(place.path("out/made.json"), orient="lines")
        for again in (SFrame.read_csv(place.path("out/*.csv"), verbose=False), of_lines, SFrame.read_parquet(place.path("out/made"))):
            assert list(again["square"].apply(lambda n: n + 1, dtype=int)) == [n * n + 1 for n in even]
            assert list(again.groupby("k", {"s": aggregate.SUM("n")}).sort("k")["s"]) == sums
        assert tasks_of["reading CSV files"] > 3 and tasks_of["reading JSON files"] > 3, tasks_of
        write_text_files(place)
        assert list(read(place, "csv")["t"]) == TEXTS["csv"]
        ordered.save(place.path("kept"))
        return list(load_sframe(place.path("kept"), verify=True)["n"]), list(ordered["n"])


def package_of_executors(place: Place) -> tuple[Any, Any]:
    """A function of each row runs from the package that is sent, where executors have none, and from this one otherwise."""
    before = list(sys.path)
    frame = SFrame(place.spark.range(0, ROWS, 1, 3)).sort("id")
    frame["place"] = frame["id"].apply(lambda n: sys.modules["sframe_spark"].__file__, dtype=str)
    frame["total"] = frame["id"].cumulative_sum()
    (origin,) = frame["place"].unique()
    is_sent = "bare" in Path(os.environ["PYSPARK_PYTHON"]).parts
    return [list(frame["total"])[-1], ".zip/sframe_spark/" in origin, sys.path == before], [sum(range(ROWS)), is_sent, True]


def plugin_of_executors(place: Place) -> tuple[Any, Any]:
    """The functions, the aggregate and the operator of a package give the right rows, whether or not executors have the package."""
    # The environments of `make versions` have no plug-ins.
    from sframe_lag import HARMONIC_MEAN, fahrenheit, lag

    frame = SFrame(place.spark.range(0, ROWS, 1, 3)).sort("id")
    frame["lagged"] = lag(frame["id"], 2)
    frame["warm"] = fahrenheit(frame["lagged"])
    frame["parity"] = frame["id"] % 2
    means = frame.groupby("parity", {"mean": HARMONIC_MEAN("warm")}).sort("parity")["mean"]
    warm = [None, None, *(n * 1.8 + 32.0 for n in range(ROWS - 2))]
    expected = [len(warm[parity + 2 :: 2]) / math.fsum(1 / value for value in warm[parity + 2 :: 2]) for parity in (0, 1)]
    return [list(frame["warm"]), [round(mean, 6) for mean in means]], [warm, [round(mean, 6) for mean in expected]]


def origin_of_plugins(place: Place) -> tuple[Any, Any]:
    """A function and an operator of a package run from the archive that is sent to executors, whose Python lacks it.

    The package says itself where it is from: a function of the program would be sent with the modules that it names.
    """
    import sframe_origin

    frame = SFrame(place.spark.range(0, ROWS, 1, 3)).sort("id")
    frame["function"] = sframe_origin.module_file(frame["id"])
    frame["operator"] = sframe_origin.module_files(frame["id"])
    origins = {str(origin) for name in ("function", "operator") for origin in frame[name].unique()}
    of_archive = [origin for origin in origins if re.fullmatch(r".*/sframe_spark_plugins-[0-9a-f]{16}\.zip/sframe_origin\.py", origin)]
    return [len(frame), sorted(origins), sframe_origin.__file__ in origins], [ROWS, sorted(of_archive), False]


def temporary_data_on_the_object_store_of_the_cluster(place: Place) -> tuple[Any, Any]:
    """What is too large to be collected goes where the cluster's warehouse is; nobody has named a place for temporary data."""
    found: list[Any] = []
    with config.using(temporary_directory=None, memory_budget=20_000):
        few = SFrame(place.spark.range(0, 100, 1, 2))
        few.materialize()
        found += [type(few._node.operator).__name__, few["id"].sum()]
        many = place.from_spark()
        many.materialize()
        manifest = many._node.operator.manifest
        found += [manifest.directory.startswith(f"{place.path('warehouse')}/_sframe_spark_temporary/"), sorted(many["n"])]
        made = many.sort("n")
        made["square"] = made["n"].apply(lambda n: n * n, dtype=int)
        found += [list(made["square"]), list(made["k"].cumulative_sum())[-1]]
    sums = [ROWS * (ROWS - 1) // 2, sum(map(key, range(ROWS)))]
    return [found, sum(found[3])], [["MemorySource", 4950, True, list(range(ROWS)), [n * n for n in range(ROWS)], sums[1]], sums[0]]
