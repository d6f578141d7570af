"""Lines of CSV files as they were read, and those of them that are no rows."""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import pyarrow as pa

from sframe_spark.api.io.csv.column_types import CsvForm
from sframe_spark.api.io.csv.parser import NumberColumns


@attrs.frozen(eq=False)
class TextBlock:
    """Rows as columns of text, or of numbers, and the lines that are no rows.

    Parameters
    ----------
    path
        The file.
    columns
        One array per column: of text, or of numbers where these were known to be some.
    bad_lines
        Lines with another number of fields.
    rows
        Number of rows.
    is_learned
        Whether the forms of its fields are known already.
    """

    path: str
    columns: tuple[pa.Array, ...]
    bad_lines: Sequence[str]
    rows: int
    is_learned: bool = False

    def read(self, _: NumberColumns) -> TextBlock:
        """The block: it is read."""
        return self


@attrs.frozen(eq=False)
class ValueBlock:
    """Rows as values, and what is left out.

    Parameters
    ----------
    path
        The file.
    forms
        Of the fields, and of those that were known before.
    values
        One array per column; None where some field has another type than was known.
    left_out
        Lines that are no rows, and why so.
    """

    path: str
    forms: Sequence[CsvForm | None]
    values: list[pa.Array] | None
    left_out: Sequence[tuple[Sequence[str], str]]


@attrs.define(eq=False)
class LeftOut:
    """Lines of a file that are no rows.

    Parameters
    ----------
    number
        How many there are.
    lines
        The first ones: as many as are kept.
    """

    number: int = 0
    lines: list[str] = attrs.Factory(list)
