"""Parquet files of others as rows of a dataset, as `SFrame.read_parquet` finds them."""

from __future__ import annotations

import os
from collections.abc import Sequence

from sframe_spark.storage.external.parquet_footers_to_manifest import manifest_of_files, natural_sort_key
from sframe_spark.storage.filesystem.input_files import resolve
from sframe_spark.storage.manifest.manifest import Manifest


def foreign_manifest(paths: Sequence[str | os.PathLike[str]]) -> Manifest:
    """All rows of files: file after file, in natural order of names within a directory."""
    return manifest_of_files(resolve(list(paths), natural_sort_key, "Parquet file"))
