"""Narrower types for columns of archives: sampled values suggest them, and they are confirmed when all values are written."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from sframe_spark.errors import NarrowTypeError, StorageError
from sframe_spark.turicreate.archive import Archive
from sframe_spark.turicreate.archive_row_reader import ArchiveReader
from sframe_spark.types import ENCODED_DICT, ENCODED_LIST, ZONED_DATETIME, ColumnType
from sframe_spark.values.arrow_to_python import decode
from sframe_spark.values.python_to_arrow import encoding_for

Result = TypeVar("Result")

# Column types for which a narrower type of the same kind may fit all values.
WIDE = (ENCODED_LIST, ENCODED_DICT, ZONED_DATETIME)
# How many samples are taken of a column, and how many rows each of them has.
SAMPLES, SAMPLE_ROWS = 8, 100


def suggested_types(archive: Archive, positions: Sequence[int]) -> dict[int, ColumnType]:
    """Return, by position, the narrower types that fit sampled values of the given columns; columns without such a type are left out."""
    types = {}
    starts = sorted({archive.rows * number // SAMPLES for number in range(SAMPLES)})
    for position in positions:
        column_type = archive.contents.columns[position].column_type
        if column_type in WIDE:
            reader, values = ArchiveReader(archive), list[object]()
            # Damaged rows are reported when all rows are read.
            with contextlib.suppress(StorageError):
                for first in starts:
                    (sample,) = reader.read([position], first, min(first + SAMPLE_ROWS, archive.rows))
                    values += decode(sample, column_type)
            narrow = encoding_for(values, column_type) if any(value is not None for value in values) else column_type
            if narrow != column_type and narrow.kind == column_type.kind:
                types[position] = narrow
    return types


def with_narrow_types(archive: Archive, positions: Sequence[int], write: Callable[[Archive], Result]) -> Result:
    """Return the result of ``write``, called with the archive as read with narrower column types.

    The first call gets the types that samples suggest. After each NarrowTypeError ``write`` is called again, with the archive's own type for
    the column whose values do not fit.
    """
    types: Mapping[int, ColumnType] = suggested_types(archive, positions)
    while True:
        try:
            return write(archive.with_types(types))
        except NarrowTypeError as error:
            types = {position: kind for position, kind in types.items() if position != error.position}
