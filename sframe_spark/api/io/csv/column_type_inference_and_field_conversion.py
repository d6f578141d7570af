"""Infers the types of CSV columns, the narrowest that hold all fields of all files, and converts fields to values of these types."""

from __future__ import annotations

import datetime
import enum
import functools
from collections.abc import Callable, Sequence
from typing import Any

import attrs
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.api.io.csv.options import CsvValues
from sframe_spark.pyarrow_versions import if_else
from sframe_spark.types import ARRAY, ENCODED_DICT, ENCODED_LIST, FLOAT, INT, STR, ZONED_DATETIME, ColumnType
from sframe_spark.values.column_cast import cast_array
from sframe_spark.values.nested.text_and_json_to_columns import read_arrays, read_stored
from sframe_spark.values.python_to_arrow import encode_plain
from sframe_spark.values.single_value_conversion import parse_array, parse_dict, parse_float, parse_int, parse_list

# Patterns of short numbers, which nearly all numbers match. Short ints fit 64 bits, and short decimals are in the range of floats, so fields that
# match need no trial conversion. Leading zeros are ignored, as in Turi Create and in
# other libraries.
SHORT_INTEGER = r"^[+-]?0*[0-9]{1,18}$"
SHORT_DECIMAL = r"^[+-]?0*[0-9]{1,18}(\.[0-9]*)?$"
INTEGER = r"^[+-]?0*[0-9]{1,19}$"
DECIMAL = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
NOT_FINITE = r"^[+-]?([iI][nN][fF]([iI][nN][iI][tT][yY])?|[nN][aA][nN])$"
# Pattern of ints with so many digits that 64 bits may not hold them.
WRITTEN_AS_TEXT = r"^[+-]?0*[1-9][0-9]{18,}$"


class CsvForm(enum.Enum):
    """The form of the fields of a column. The forms found in several blocks are combined by :func:`wider` to that of the whole column."""

    INT = "int"
    LONG_INT = "ints, at least one of which has more digits than a float preserves"
    FLOAT = "float"
    ARRAY = "array"
    LIST = "list"
    DICT = "dict"
    TEXT = "text"

    @property
    def type(self) -> ColumnType:
        """The type of a column whose fields all have this form."""
        return TYPES[self]


TYPES = {
    CsvForm.INT: INT, CsvForm.LONG_INT: INT, CsvForm.FLOAT: FLOAT, CsvForm.ARRAY: ARRAY, CsvForm.LIST: ENCODED_LIST,
    CsvForm.DICT: ENCODED_DICT, CsvForm.TEXT: STR,
}  # fmt: skip
PARSERS: tuple[tuple[CsvForm, str, str, Callable[[str, bool], Any]], ...] = (
    (CsvForm.ARRAY, "[", "]", parse_array),
    (CsvForm.LIST, "[", "]", parse_list),
    (CsvForm.DICT, "{", "}", parse_dict),
)
# All other pairs of different forms combine to TEXT.
COMBINED_FORMS = {
    frozenset({CsvForm.INT, CsvForm.LONG_INT}): CsvForm.LONG_INT,
    frozenset({CsvForm.INT, CsvForm.FLOAT}): CsvForm.FLOAT,
    frozenset({CsvForm.ARRAY, CsvForm.LIST}): CsvForm.LIST,
}


@attrs.frozen(eq=False)
class Converted:
    """One column of a block, converted to values.

    Parameters
    ----------
    values
        The values.
    failed
        A mask of the rows whose field cannot be converted; None if all were converted.
    """

    values: pa.Array
    failed: pa.Array | None = None


def narrowest(text: pa.Array, values: CsvValues) -> CsvForm | None:
    """Return the form of the narrowest type that can hold all fields; None if all fields are empty or stand for a missing value.

    Examples
    --------
    >>> narrowest(pa.array(["1", "", "2.5"]), CsvValues()).name, narrowest(pa.array(["007", "x"]), CsvValues()).name
    ('FLOAT', 'TEXT')
    """
    present = _present(text, values).drop_null()
    if not len(present):
        return None
    for form, pattern in ((CsvForm.INT, SHORT_INTEGER), (CsvForm.FLOAT, SHORT_DECIMAL)):
        if _matches(present, pattern):
            return form
    if _matches(present, INTEGER):
        return CsvForm.TEXT if _parsed(present, INT, False).null_count else CsvForm.LONG_INT
    if _matches(present, rf"{DECIMAL}|{NOT_FINITE}"):
        # Some fields may have too many digits for an int, or be too large for a float.
        is_text = pc.any(pc.match_substring_regex(present, WRITTEN_AS_TEXT)).as_py() or _parsed(present, FLOAT, False).null_count
        return CsvForm.TEXT if is_text else CsvForm.FLOAT
    for form, opening, closing, parse in PARSERS:
        bracketed = pc.and_(pc.starts_with(present, opening), pc.ends_with(present, closing))
        if pc.all(bracketed).as_py() and _all_are_read(present, form, parse):
            return form
    return CsvForm.TEXT


def _all_are_read(present: pa.Array, form: CsvForm, parse: Callable[[str, bool], Any]) -> bool:
    """Return whether all fields are arrays, lists or dicts; simple ones are checked together, the others one by one."""
    are_simple = (read_arrays(present) if form is CsvForm.ARRAY else read_stored(present, form.type.kind))[1]
    return all(parse(value, True) is not None for value in present.filter(pc.invert(are_simple)).to_pylist())


def wider(one: CsvForm | None, other: CsvForm | None) -> CsvForm | None:
    """Return the form of the fields of two blocks together; blocks may be combined in any order.

    Examples
    --------
    >>> wider(CsvForm.INT, CsvForm.FLOAT).name, wider(CsvForm.LONG_INT, CsvForm.FLOAT).name, wider(None, CsvForm.INT).name
    ('FLOAT', 'TEXT', 'INT')
    """
    if one is None or other is None or one == other:
        return one if other is None else other
    return COMBINED_FORMS.get(frozenset({one, other}), CsvForm.TEXT)


def converted(text: pa.Array, kind: ColumnType, values: CsvValues, hinted: bool) -> Converted:
    """Return fields as values of a type; if the user requested the type (``hinted``), floats in a column of ints are truncated."""
    if kind == STR:
        return Converted(_replaced(text, values.missing, None))
    present = _present(text, values)
    result = _parsed(present, kind, hinted)
    if result.null_count == present.null_count:
        return Converted(result)
    return Converted(result, pc.and_(present.is_valid(), result.is_null()))


def misfits(columns: Sequence[pa.Array], kinds: Sequence[ColumnType | None], values: CsvValues) -> pa.Array | None:
    """Return a mask of the rows in which a field does not have its requested type; None if all have it."""
    return failed_rows([converted(text, kind, values, True) for text, kind in zip(columns, kinds, strict=True) if kind is not None])


def failed_rows(cells: Sequence[Converted]) -> pa.Array | None:
    """Return a mask of the rows in which at least one field could not be converted; None if all were converted."""
    masks = [cell.failed for cell in cells if cell.failed is not None]
    return functools.reduce(pc.or_, masks) if masks else None


def _present(text: pa.Array, values: CsvValues) -> pa.Array:
    """Return fields with ``1`` and ``0`` for those that mean true and false, and null for those that are empty or stand for a missing value."""
    for words, digit in ((values.true_values, "1"), (values.false_values, "0"), (("", *values.missing), None)):
        text = _replaced(text, words, digit)
    return text


def _parsed(present: pa.Array, kind: ColumnType, hinted: bool) -> pa.Array:
    """Return fields as values of a type; null where a field cannot be converted."""
    if kind == ZONED_DATETIME:
        return encode_plain([None if value is None else parse_datetime(value) for value in present.to_pylist()], kind)
    result = cast_array(present, STR, kind, undefined_on_failure=True)
    if kind == INT and hinted and result.null_count > present.null_count:
        return pa.array([None if value is None else _cut(value) for value in present.to_pylist()], pa.int64())
    return result


def _cut(text: str) -> int | None:
    """Return a number without its fraction as an int; None if the text is not a number or the int does not fit 64 bits."""
    whole, number = parse_int(text), parse_float(text)
    if whole is None and number is not None and "." in text and abs(number) < 2.0**63:
        return int(number)
    return whole


def parse_datetime(text: str) -> datetime.datetime | None:
    """Return the date-time that a string gives in ISO 8601, with or without separators; None for any other string.

    Examples
    --------
    >>> parse_datetime("20110102T030405"), parse_datetime("7")
    (datetime.datetime(2011, 1, 2, 3, 4, 5), None)
    """
    try:
        return datetime.datetime.fromisoformat(text)
    except ValueError:
        return None


def _replaced(text: pa.Array, words: tuple[str, ...], replacement: str | None) -> pa.Array:
    """Return strings with each that is one of some words replaced by a string, or by null."""
    matches = pc.is_in(text, value_set=pa.array(words, pa.string())) if words else None
    return text if matches is None or not matches.true_count else if_else(matches, pa.scalar(replacement, pa.string()), text)


def _matches(text: pa.Array, pattern: str) -> bool:
    """Return whether all strings match a pattern; the first 100 are tested first, because they usually show it if some do not."""
    return all(pc.all(pc.match_substring_regex(part, pattern), min_count=0).as_py() for part in (text[:100], text[100:]))
