"""A Parquet file of others that is cut while it is read is an error: where it is mapped into memory, looking at it ends the process."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tests.interpreters import run_program

# What is left of files.
LEFT = (0, 100_000)
# Rows of several row groups, of which the first is read before the file is cut.
READER = """
import os, sys
from sframe_spark.errors import StorageError
from sframe_spark.storage.filesystem.input_files import resolve
from sframe_spark.storage.external.parquet_footers_to_manifest import manifest_of_files, natural_sort_key
from sframe_spark.storage.segments.reader import iterate_rows

for left in map(int, sys.argv[2:]):
    file = f"{sys.argv[1]}/{left}.parquet"
    batches = iterate_rows(manifest_of_files(resolve([file], natural_sort_key, "Parquet file")), [0], batch_rows=1_000)
    next(batches)
    os.truncate(file, left)
    try:
        print(sum(len(column) for column, in batches))
    except StorageError as error:
        print("refused" if file in str(error) else error)
"""


def test_a_file_that_is_cut_while_it_is_read_is_an_error(tmp_path: Path) -> None:
    for left in LEFT:
        pq.write_table(
            pa.table({"t": range(400_000)}), tmp_path / f"{left}.parquet", row_group_size=100_000, compression="NONE", use_dictionary=False
        )
    answer = run_program(READER, str(tmp_path), *map(str, LEFT))
    assert (answer.returncode, answer.stdout) == (0, "refused\n" * len(LEFT)), answer.stderr[-500:]


# Own files, too: what copies frames about may cut them.
SAVED = """
import os, sys
from sframe_spark import SFrame
from sframe_spark.errors import StorageError
from sframe_spark.storage.datasets.manifest_loading_and_open_dataset_registry import load_manifest
from sframe_spark.storage.segments.reader import iterate_rows

for left in map(int, sys.argv[2:]):
    place = f"{sys.argv[1]}/{left}"
    SFrame({"t": range(400_000), "x": [hash((place, 1)) for place in range(400_000)]}).save(place)
    batches = iterate_rows(load_manifest(place), [0, 1], batch_rows=1_000)
    next(batches)
    for name in os.listdir(place):
        if name.endswith(".parquet"):
            os.truncate(os.path.join(place, name), left)
    try:
        print(sum(len(column) for column, _ in batches))
    except StorageError as error:
        print("refused" if ".parquet" in str(error) else error)
"""


def test_a_saved_frame_that_is_cut_while_it_is_read_is_an_error(tmp_path: Path) -> None:
    answer = run_program(SAVED, str(tmp_path), *map(str, LEFT))
    assert (answer.returncode, answer.stdout) == (0, "refused\n" * len(LEFT)), (answer.stdout, answer.stderr[-500:])
