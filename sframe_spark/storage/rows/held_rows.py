"""Rows of neighbouring short segments in memory, as they are stored: in one piece they are decoded as those of a longer one."""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import pyarrow as pa

from sframe_spark.storage.manifests.manifest import Manifest
from sframe_spark.storage.manifests.physical import conform, file_column
from sframe_spark.storage.parquet.joined_files import JoinedFile, joined_file, may_join
from sframe_spark.storage.rows.reader import intersecting, read_rows


@attrs.frozen(eq=False)
class HeldRows:
    """Columns of the rows of some segments.

    Parameters
    ----------
    rows
        As they are stored, or decoded, where they cannot be joined.
    """

    rows: JoinedFile | pa.Table

    @classmethod
    def of(cls, manifest: Manifest, columns: Sequence[int], start: int, stop: int) -> HeldRows:
        """Read columns of the rows ``start`` to ``stop`` of a dataset of ours, which are those of some segments.

        Raises
        ------
        StorageError
            If a file is missing, damaged or another one.
        """
        entries = [entry for entry, _, _ in intersecting(manifest, start, stop)]
        found = joined_file(manifest.directory, entries, list(map(file_column, columns))) if all(map(may_join, entries)) else None
        return cls(read_rows(manifest, columns, start, stop).combine_chunks() if found is None else found)

    def read(self, manifest: Manifest, columns: Sequence[int], first: int, start: int, stop: int) -> list[pa.Array]:
        """Return some of its columns, of rows of the dataset from which it was read, of which ``first`` is the first one that it has."""
        names = list(map(file_column, columns))
        if isinstance(self.rows, JoinedFile):
            table = self.rows.read(names, start - first, stop - first)
            # Who reads file by file tells which of them it is.
            table = read_rows(manifest, columns, start, stop) if table is None else table
        else:
            table = self.rows.select(names).slice(start - first, stop - start)
        return [_in_one_array(conform(values, manifest.types[column])) for column, values in zip(columns, table.columns, strict=True)]


def _in_one_array(values: pa.ChunkedArray) -> pa.Array:
    return values.chunk(0) if values.num_chunks == 1 else pa.concat_arrays(values.chunks)
