"""Blocks of rows of CSV files, as strings and as values, and the lines that are left out because they do not fit the columns."""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import pyarrow as pa

from sframe_spark.api.io.csv.column_type_inference_and_field_conversion import CsvForm
from sframe_spark.api.io.csv.parser import NumberColumns


@attrs.frozen(eq=False)
class TextBlock:
    """A block of rows as columns of strings or numbers, and the lines that do not fit the columns.

    Parameters
    ----------
    path
        The file.
    columns
        One array per column: numbers if the column was known to be numeric, else strings.
    bad_lines
        Lines with a wrong number of fields.
    rows
        Number of rows.
    quoted_empty
        For each column a mask of the empty fields that are in quotes; None if there is none, or the column was parsed as numbers.
    is_learned
        Whether the forms of its fields were already combined with those of other blocks.
    """

    path: str
    columns: tuple[pa.Array, ...]
    bad_lines: Sequence[str]
    rows: int
    quoted_empty: tuple[pa.Array | None, ...]
    is_learned: bool = False

    def read(self, _: NumberColumns) -> TextBlock:
        """Return the block itself, which is already parsed."""
        return self


@attrs.frozen(eq=False)
class ValueBlock:
    """A block of rows converted to values, and the lines that are left out.

    Parameters
    ----------
    path
        The file.
    forms
        The forms of its fields, combined with those known before.
    values
        One array per column; None if a field does not have the expected type.
    left_out
        Lists of lines that do not fit the columns, each with the reason.
    """

    path: str
    forms: Sequence[CsvForm | None]
    values: list[pa.Array] | None
    left_out: Sequence[tuple[Sequence[str], str]]


@attrs.define(eq=False)
class LeftOut:
    """The lines of a file that do not fit the columns.

    Parameters
    ----------
    number
        Number of such lines.
    lines
        The first of these lines; as many as are stored.
    """

    number: int = 0
    lines: list[str] = attrs.Factory(list)
