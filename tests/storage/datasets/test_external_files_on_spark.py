"""Parquet files that others wrote elsewhere, read in Spark's tasks and queries: rows of a local copy, and a file that changed is told."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sframe_spark import SFrame, config, load_sframe
from sframe_spark.errors import StorageError
from sframe_spark.storage.filesystem.temporary_datasets import scratch_store
from sframe_spark.storage.parquet.footer import _load
from tests.storage.datasets.conftest import Bucket
from tests.storage.datasets.test_external_files import CHANGES, LAYOUTS, PROGRAMS, files_in, put, put_here

pytestmark = pytest.mark.spark

ON_SPARK = {"small_rows": 0, "single_task_rows": 0, "memory_budget": 0, "work_memory": 0}


LAYOUTS_ON_SPARK = ("a directory", "partitioned", "no rows in one")


@pytest.mark.spark
@pytest.mark.sampled(2)
@pytest.mark.parametrize("layout", LAYOUTS_ON_SPARK)
@pytest.mark.parametrize("temporary", ["here", "elsewhere"])
def test_rows_are_those_of_a_local_copy(bucket: Bucket, tmp_path: Path, layout: str, temporary: str) -> None:
    put(bucket, LAYOUTS[layout])
    put_here(tmp_path, LAYOUTS[layout])
    here = SFrame.read_parquet(str(tmp_path / "t"))
    # Each program with some layout, half of them with each place of temporary data.
    programs = dict(list(PROGRAMS.items())[(2 * LAYOUTS_ON_SPARK.index(layout) + (temporary == "here")) % 4 :: 4])
    expected = {name: repr(program(here)) for name, program in programs.items()}
    settings = ON_SPARK if temporary == "here" else {**ON_SPARK, "temporary_directory": f"{bucket.uri}/tmp"}
    with config.using(**settings):
        elsewhere = SFrame.read_parquet(f"{bucket.uri}/t")
        for name, program in programs.items():
            assert repr(program(elsewhere)) == expected[name], name
        # Copies have numbers before their names.
        assert not [path for path in files_in(Path(scratch_store().directory)) if re.match(r"\d{6}-", path.name)]
        elsewhere.sort(["k", "n"]).save(f"{bucket.uri}/sorted")
    assert list(load_sframe(f"{bucket.uri}/sorted", verify=True)) == list(here.sort(["k", "n"]))


@pytest.mark.parametrize("change", CHANGES)
def test_a_file_that_changes_is_told_by_tasks_and_queries(bucket: Bucket, change: str) -> None:
    put(bucket, LAYOUTS["a directory"])
    with config.using(**ON_SPARK):
        frame = SFrame.read_parquet(f"{bucket.uri}/t")
        assert frame.sort("k")["n"].sum() == frame["n"].apply(lambda n: n, dtype=int).sum()
        works = (frame.sort("k"), frame["n"].apply(lambda n: n + 1, dtype=int), frame.groupby("s", {}), frame["n"].cumulative_sum())
        CHANGES[change](bucket)
        _load.cache_clear()
        for work in works:
            with pytest.raises(StorageError, match=r"t/part-1\.parquet") as raised:
                list(work)
            assert "\n" not in str(raised.value)
