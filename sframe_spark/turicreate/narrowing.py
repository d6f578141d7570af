"""Types of columns that are narrower than those that an index tells: what all values of a column are is known when it is written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar

from sframe_spark.errors import NarrowTypeError, StorageError
from sframe_spark.turicreate.archive import Archive
from sframe_spark.turicreate.reader import ArchiveReader
from sframe_spark.types import ENCODED_DICT, ENCODED_LIST, ZONED_DATETIME, ColumnType
from sframe_spark.values.decode import decode
from sframe_spark.values.infer import encoding_for

Result = TypeVar("Result")

# Types of archives that others of their kind are narrower than.
WIDE = (ENCODED_LIST, ENCODED_DICT, ZONED_DATETIME)
# So many rows at so many places suggest a type.
PLACES, ROWS_LOOKED_AT = 8, 100


def suggested_types(archive: Archive, positions: Sequence[int]) -> dict[int, ColumnType]:
    """Return the types that some values of columns suggest, where they are narrower than those that the index tells."""
    found = {}
    for position in positions:
        column_type = archive.contents.columns[position].column_type
        if column_type in WIDE:
            values = [value for part in _looks(archive, position) for value in part]
            narrow = encoding_for(values, column_type) if any(value is not None for value in values) else column_type
            if narrow != column_type and narrow.kind == column_type.kind:
                found[position] = narrow
    return found


def _looks(archive: Archive, position: int) -> Iterator[list[object]]:
    reader, column_type = ArchiveReader(archive), archive.contents.columns[position].column_type
    places = sorted({archive.rows * place // PLACES for place in range(PLACES)})
    try:
        for first in places:
            (values,) = reader.read([position], first, min(first + ROWS_LOOKED_AT, archive.rows))
            yield decode(values, column_type)
    except StorageError:
        # Who reads all rows is told of it.
        return


def with_narrow_types(archive: Archive, positions: Sequence[int], write: Callable[[Archive], Result]) -> Result:
    """Write an archive with types as narrow as its values allow: begin with those that some of them suggest, and again where one does not fit."""
    types: Mapping[int, ColumnType] = suggested_types(archive, positions)
    while True:
        try:
            return write(archive.with_types(types))
        except NarrowTypeError as error:
            types = {position: kind for position, kind in types.items() if position != error.position}
