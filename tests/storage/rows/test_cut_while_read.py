"""A Parquet file of others that is cut while it is read is an error: where it is mapped into memory, looking at it ends the process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

# Rows of several row groups, of which the first is read before the file is cut.
READER = """
import os, sys
from sframe_spark.errors import StorageError
from sframe_spark.storage.files.places import resolve
from sframe_spark.storage.foreign.parquet_source import manifest_of_files, natural
from sframe_spark.storage.rows.reader import iterate_rows

manifest = manifest_of_files(resolve([sys.argv[1]], natural, "Parquet file"))
batches = iterate_rows(manifest, [0], batch_rows=1_000)
next(batches)
os.truncate(sys.argv[1], int(sys.argv[2]))
try:
    print(sum(len(column) for column, in batches))
except StorageError as error:
    print("refused" if sys.argv[1] in str(error) else error)
"""


@pytest.mark.parametrize("left", [0, 100_000])
def test_a_file_that_is_cut_while_it_is_read_is_an_error(tmp_path: Path, left: int) -> None:
    file = tmp_path / "a.parquet"
    pq.write_table(pa.table({"t": range(400_000)}), file, row_group_size=100_000, compression="NONE", use_dictionary=False)
    answer = subprocess.run([sys.executable, "-c", READER, str(file), str(left)], capture_output=True, text=True, timeout=120, check=False)
    assert (answer.returncode, answer.stdout) == (0, "refused\n"), answer.stderr[-500:]


# Own files, too: what copies frames about may cut them.
SAVED = """
import os, sys
from sframe_spark import SFrame
from sframe_spark.errors import StorageError
from sframe_spark.storage.datasets.load import load_manifest
from sframe_spark.storage.rows.reader import iterate_rows

SFrame({"t": range(400_000), "x": [hash((place, 1)) for place in range(400_000)]}).save(sys.argv[1])
batches = iterate_rows(load_manifest(sys.argv[1]), [0, 1], batch_rows=1_000)
next(batches)
for name in os.listdir(sys.argv[1]):
    if name.endswith(".parquet"):
        os.truncate(os.path.join(sys.argv[1], name), int(sys.argv[2]))
try:
    print(sum(len(column) for column, _ in batches))
except StorageError as error:
    print("refused" if ".parquet" in str(error) else error)
"""


@pytest.mark.parametrize("left", [0, 100_000])
def test_a_saved_frame_that_is_cut_while_it_is_read_is_an_error(tmp_path: Path, left: int) -> None:
    command = [sys.executable, "-c", SAVED, str(tmp_path / "frame"), str(left)]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (answer.returncode, answer.stdout) == (0, "refused\n"), (answer.stdout, answer.stderr[-500:])
