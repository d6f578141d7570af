"""ORC files: what they hold, and their rows, a stripe at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs
import pyarrow as pa

from sframe_spark.errors import SchemaError, StorageError
from sframe_spark.message_text import visible
from sframe_spark.process.threads import raise_if_cancelled
from sframe_spark.storage.external.orc_footer import orc_footer
from sframe_spark.storage.external.parquet import common_names, common_type
from sframe_spark.storage.filesystem.file_kind import ORC, refuse_other_kind
from sframe_spark.storage.filesystem.io_errors import telling
from sframe_spark.storage.filesystem.local_files import FileState, unchanged
from sframe_spark.storage.filesystem.path_resolution import DataFiles
from sframe_spark.storage.hybrid_calendar import HybridColumns
from sframe_spark.storage.manifest.physical_types import convert_foreign
from sframe_spark.storage.manifest.statistics import Scalar
from sframe_spark.storage.parquet.spark_types import field_by_note
from sframe_spark.storage.segments.partition_columns import partition_columns, repeated
from sframe_spark.types import ColumnType
from sframe_spark.values.datetimes import lost_nanoseconds
from sframe_spark.values.from_arrow import tell_of_types
from sframe_spark.values.value_errors import column_named


@attrs.frozen
class OrcFile:
    """A file, as it was when it was looked at.

    Parameters
    ----------
    path
        Where it is.
    state
        What the file system said of it.
    stripes, rows
        How many it has.
    constants
        Values of columns that are not in it.
    meant
        Types that columns have in the eyes of their writer, by their names, where they are stored in others.
    hybrid
        Which columns are in the hybrid calendar; None where none is.
    """

    path: str
    state: FileState
    stripes: int
    rows: int
    constants: tuple[Scalar, ...] = ()
    meant: Mapping[str, pa.DataType] = {}
    hybrid: HybridColumns | None = None

    def as_meant(self, name: str, values: pa.Array) -> pa.Array:
        """Return values that pyarrow read of a column as their writer meant them."""
        if self.hybrid is not None:
            values = self.hybrid.to_gregorian(values, values.type)
        return values.cast(self.meant[name]) if name in self.meant else values


@attrs.frozen
class OrcEnd:
    """What the end of a file says of its columns.

    Parameters
    ----------
    schema
        The columns, of the types that their writer means.
    refused
        Why a column cannot be read, by its name.
    """

    schema: pa.Schema
    refused: dict[str, str]


@attrs.frozen
class StripesSeen:
    """What reading stripes shows that only all of them together tell.

    Parameters
    ----------
    rows
        How many rows were found, by the number of the file.
    lost
        How many date-times had nanoseconds that are cut off, by the name of the column.
    """

    rows: Counter[int] = attrs.field(factory=Counter)
    lost: Counter[str] = attrs.field(factory=Counter)

    def add(self, other: StripesSeen) -> None:
        """Add what others have seen, in other stripes."""
        self.rows.update(other.rows)
        self.lost.update(other.lost)


@attrs.frozen
class OrcTable:
    """Files with the same columns.

    Parameters
    ----------
    files
        The files, in row order.
    names, types
        Their columns; those that directories name come last.
    stored
        How many columns are in the files.
    """

    files: tuple[OrcFile, ...]
    names: tuple[str, ...]
    types: tuple[ColumnType, ...]
    stored: int

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return sum(file.rows for file in self.files)

    @property
    def size(self) -> int:
        """How many bytes the files have."""
        return sum(file.state.size for file in self.files)

    def arrays(self, stripes: Sequence[tuple[int, int]], seen: StripesSeen) -> Iterator[list[pa.Array]]:
        """The rows of some stripes, each by the number of its file and its own: one array for each column.

        Parameters
        ----------
        stripes
            The stripes.
        seen
            What is found in them, added to as they are read.

        Raises
        ------
        StorageError
            If a file is damaged, or another one than before.
        """
        for number, stripe in stripes:
            raise_if_cancelled()
            file = self.files[number]
            unchanged(file.path, file.state)
            with _telling(file.path):
                opened = _opened(file.path)
                batch = opened.read_stripe(stripe)
                seen.rows[number] += batch.num_rows
                places = {name: place for place, name in enumerate(opened.schema.names)}
                found = []
                for name, kind in zip(self.names[: self.stored], self.types[: self.stored], strict=True):
                    values = file.as_meant(name, batch.column(places[name]))
                    seen.lost[name] += lost_nanoseconds(values)
                    with column_named(name):
                        found.append(convert_foreign(values, kind))
            unchanged(file.path, file.state)
            kinds = self.types[self.stored :]
            yield [*found, *(repeated(value, kind, batch.num_rows) for value, kind in zip(file.constants, kinds, strict=True))]

    def require_rows(self, seen: StripesSeen) -> None:
        """Compare the rows of all stripes with what the ends of the files say: a stripe cut short is read without an error.

        Raises
        ------
        StorageError
            If a file has other rows.
        """
        for number, file in enumerate(self.files):
            if seen.rows[number] != file.rows:
                raise StorageError(
                    f"{visible(file.path)} is damaged: its stripes have {seen.rows[number]} rows, its end says {file.rows}; restore it from a copy"
                )


def orc_table(found: DataFiles) -> OrcTable:
    """Return what ORC files hold; only their ends are read.

    Raises
    ------
    StorageError
        If the files do not fit together, or one is no ORC file.
    SchemaError
        If a column is of a type that no column can have.
    """
    paths, files, partitions = found.paths, [], partition_columns(found.files)
    # What stays of a file is its columns: thousands of files are not open at once.
    ends = []
    for number, path in enumerate(paths):
        state = unchanged(path, None)
        refuse_other_kind(path, ORC, "a readable ORC file")
        footer = orc_footer(path)
        for name, reason in footer.refused.items():
            raise SchemaError(f"column {visible(name)!r} of {visible(path)}: {reason}")
        with _telling(path):
            file = _opened(path)
            end = _end(file.schema)
            meant = {field.name: field.type for field, stored in zip(end.schema, file.schema, strict=True) if field.type != stored.type}
            constants = tuple(column.values[number] for column in partitions)
            files.append(OrcFile(path, state, file.nstripes, file.nrows, constants, meant, footer.hybrid))
            ends.append(end)
    names = tuple(name for name in common_names(paths, ends) if name not in {column.name for column in partitions})
    types = tuple(common_type(name, paths, ends) for name in names)
    tell_of_types((name, ends[0].schema.field(name).type) for name in names)
    return OrcTable(tuple(files), (*names, *(column.name for column in partitions)), (*types, *(column.type for column in partitions)), len(names))


def _end(schema: pa.Schema) -> OrcEnd:
    fields, refused = [], {}
    for field in schema:
        try:
            fields.append(field_by_note(field))
        except SchemaError as error:
            refused[field.name] = str(error)
            fields.append(field)
    return OrcEnd(pa.schema(fields), refused)


def _opened(path: str) -> Any:
    from pyarrow import orc

    return orc.ORCFile(path)


class _telling:
    """Tell what pyarrow reports of a file in our words."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if isinstance(error, pa.ArrowInvalid) and "out of range for nanosecond" in str(error):
            raise StorageError(
                f"{visible(self._path)} has a date-time outside the years 1678 to 2261, which pyarrow does not read from ORC: "
                "let Spark read it, or write the table as Parquet"
            ) from error
        telling("read", self._path).__exit__(kind, error, trace)
