"""Columns of partitioned tables whose values are in the names of directories: typed as Spark types them, the same for all rows of a file."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Sequence

import attrs
import pyarrow as pa

from sframe_spark.storage.files.places import DataFile, values_of_partitions
from sframe_spark.storage.manifests.column_statistics import ColumnStatistics, Scalar
from sframe_spark.types import DATETIME, FLOAT, INT, STR, ColumnType
from sframe_spark.values.plain import LARGEST_INT, SMALLEST_INT
from sframe_spark.values.temporal import to_microseconds

_INT = re.compile(r"[+-]?[0-9]{1,19}")
_FLOAT = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


@attrs.frozen
class PartitionColumn:
    """A column with one value for each file.

    Parameters
    ----------
    name
        Its name.
    type
        Its type.
    values
        The value in each file, None for a missing one, as :class:`~sframe_spark.storage.manifests.manifest.ColumnStatistics` has them.
    """

    name: str
    type: ColumnType
    values: tuple[Scalar, ...]


def partition_columns(files: Sequence[DataFile]) -> list[PartitionColumn]:
    """Return the columns that the directories of some files name.

    The type is the first of int, float, date-time (of dates) and text that all values have; without a value it is text.
    """
    return [_typed(name, texts) for name, texts in values_of_partitions(files)]


def _typed(name: str, texts: Sequence[str | None]) -> PartitionColumn:
    given = {text for text in texts if text is not None}
    for column_type, read in _READERS:
        found = {text: read(text) for text in given}
        if given and None not in found.values():
            return PartitionColumn(name, column_type, tuple(None if text is None else found[text] for text in texts))
    return PartitionColumn(name, STR, tuple(texts))


def _int(text: str) -> int | None:
    value = int(text) if _INT.fullmatch(text) else None
    return value if value is not None and SMALLEST_INT <= value <= LARGEST_INT else None


def _float(text: str) -> float | None:
    return float(text) if _FLOAT.fullmatch(text) else None


def _date(text: str) -> int | None:
    if not _DATE.fullmatch(text):
        return None
    try:
        return to_microseconds(datetime.datetime.fromisoformat(text))[0]
    except ValueError:
        return None


_READERS: tuple[tuple[ColumnType, Callable[[str], Scalar]], ...] = ((INT, _int), (FLOAT, _float), (DATETIME, _date))


def facts_of(value: Scalar, rows: int) -> ColumnStatistics:
    """Return what is known of a column with one value in all rows of a file."""
    single = rows == 1
    return ColumnStatistics(
        ascending=True, descending=True, strictly_ascending=single, strictly_descending=single, constant=True, has_missing=value is None,
        has_nan=False, edges_known=True, first=value, last=value, bounds_known=True, minimum=value, maximum=value,
    )  # fmt: skip


def repeated(value: Scalar, column_type: ColumnType, rows: int) -> pa.Array:
    """Return a column with one value in all rows.

    Examples
    --------
    >>> repeated(0, DATETIME, 1).to_pylist()
    [datetime.datetime(1970, 1, 1, 0, 0)]
    """
    return pa.nulls(rows, column_type.physical) if value is None else pa.repeat(pa.scalar(value, column_type.physical), rows)
