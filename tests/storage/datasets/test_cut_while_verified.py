"""A file that is cut, or cannot be read, while it is verified is an error; it does not end the process."""

from __future__ import annotations

from pathlib import Path

from tests.interpreters import run_program

SCRIPT = """
import os, sys
import pyarrow as pa
from sframe_spark.errors import StorageError
from sframe_spark.storage.parquet import checksums
from sframe_spark.storage.datasets import dataset_verification as content
from sframe_spark.storage.datasets.manifest_publication import publish
from sframe_spark.storage.segments.writer import write_segment
from sframe_spark.types import INT

for cut_by, (home, name) in {"check": (checksums, "page_headers"), "decode": (content, "conform")}.items():
    directory = f"{sys.argv[1]}/{cut_by}"
    os.makedirs(directory)
    rows = pa.array(range(1_000_000)).cast(pa.float64()).cast(pa.int64())
    manifest = publish(directory, [INT], [write_segment(directory, 0, [INT], [[rows]])])
    plain = getattr(home, name)

    def cutting(*given, **named):
        os.truncate(os.path.join(directory, manifest.segments[0].file), 1000)
        return plain(*given, **named)

    setattr(home, name, cutting)
    (error,) = content.damage_in(manifest)
    assert isinstance(error, StorageError), error
    setattr(home, name, plain)
    print("told", cut_by)
"""


def test_a_file_that_is_cut_while_it_is_verified(tmp_path: Path) -> None:
    run = run_program(SCRIPT, str(tmp_path))
    assert (run.returncode, run.stdout) == (0, "told check\ntold decode\n"), run.stderr[-1000:]
