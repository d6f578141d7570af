"""Types of CSV columns, the narrowest that hold every value of the whole file, and the blocks of rows that are typed."""

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
from sframe_spark.api.io.csv.parser import NumberColumns
from sframe_spark.types import ARRAY, ENCODED_DICT, ENCODED_LIST, FLOAT, INT, STR, ZONED_DATETIME, ColumnType
from sframe_spark.values.cast import cast_array
from sframe_spark.values.convert import parse_array, parse_dict, parse_float, parse_int, parse_list
from sframe_spark.values.encode import encode_plain
from sframe_spark.values.nested.text_reader import read_arrays, read_stored

# Nearly all numbers: short enough for any numeric column. Leading zeros are ignored, as in the reference and in other libraries.
SHORT_INTEGER = r"^[+-]?0*[0-9]{1,18}$"
SHORT_DECIMAL = r"^[+-]?0*[0-9]{1,18}(\.[0-9]*)?$"
INTEGER = r"^[+-]?0*[0-9]{1,19}$"
DECIMAL = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
NOT_FINITE = r"^[+-]?([iI][nN][fF]([iI][nN][iI][tT][yY])?|[nN][aA][nN])$"
# Numbers with too many digits for 64 bits.
WRITTEN_AS_TEXT = r"^[+-]?0*[1-9][0-9]{18,}$"


class CsvForm(enum.Enum):
    """The form of the fields of a column; the forms of several blocks combine to the type of the whole column."""

    INT = "int"
    LONG_INT = "ints, one of which no float would show again"
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
# Any other two different forms combine to text.
COMBINED_FORMS = {
    frozenset({CsvForm.INT, CsvForm.LONG_INT}): CsvForm.LONG_INT,
    frozenset({CsvForm.INT, CsvForm.FLOAT}): CsvForm.FLOAT,
    frozenset({CsvForm.ARRAY, CsvForm.LIST}): CsvForm.LIST,
}


@attrs.frozen(eq=False)
class Converted:
    """One column of a block as values.

    Parameters
    ----------
    values
        The values.
    failed
        True in rows whose text cannot be converted; None if there are none.
    """

    values: pa.Array
    failed: pa.Array | None = None


def narrowest(text: pa.Array, values: CsvValues) -> CsvForm | None:
    """Return the form of the narrowest type that holds all fields; None if all are missing or empty.

    Examples
    --------
    >>> narrowest(pa.array(["1", "", "2.5"]), CsvValues()).name, narrowest(pa.array(["007", "x"]), CsvValues()).name
    ('FLOAT', 'TEXT')
    """
    present = present_texts(text, values)
    if not len(present):
        return None
    for form, pattern in ((CsvForm.INT, SHORT_INTEGER), (CsvForm.FLOAT, SHORT_DECIMAL)):
        if _matches(present, pattern):
            return form
    if _matches(present, INTEGER):
        return CsvForm.TEXT if _parsed(present, INT, False).null_count else CsvForm.LONG_INT
    if _matches(present, rf"{DECIMAL}|{NOT_FINITE}"):
        # Some written numbers are too large for a float.
        is_text = _any(pc.match_substring_regex(present, WRITTEN_AS_TEXT)) or _parsed(present, FLOAT, False).null_count
        return CsvForm.TEXT if is_text else CsvForm.FLOAT
    for form, opening, closing, parse in PARSERS:
        bracketed = pc.and_(pc.starts_with(present, opening), pc.ends_with(present, closing))
        if pc.all(bracketed).as_py() and _all_are_read(present, form, parse):
            return form
    return CsvForm.TEXT


def _all_are_read(present: pa.Array, form: CsvForm, parse: Callable[[str, bool], Any]) -> bool:
    """Return whether all texts are arrays, lists or dicts: common ones are checked together, others one by one."""
    known = (read_arrays(present) if form is CsvForm.ARRAY else read_stored(present, form.type.kind))[1]
    return all(parse(value, True) is not None for value in present.filter(pc.invert(known)).to_pylist())


def wider(one: CsvForm | None, other: CsvForm | None) -> CsvForm | None:
    """Return the form of two sets of fields together; combining is associative and commutative.

    Examples
    --------
    >>> wider(CsvForm.INT, CsvForm.FLOAT).name, wider(CsvForm.LONG_INT, CsvForm.FLOAT).name, wider(None, CsvForm.INT).name
    ('FLOAT', 'TEXT', 'INT')
    """
    if one is None or other is None or one == other:
        return one if other is None else other
    return COMBINED_FORMS.get(frozenset({one, other}), CsvForm.TEXT)


def converted(text: pa.Array, kind: ColumnType, values: CsvValues, hinted: bool) -> Converted:
    """Return fields as values of a type; if it is ``hinted``, that is requested by the user, a float may become an int."""
    if kind == STR:
        return Converted(_without(text, values.missing))
    present = _without(with_truth(text, values), ("", *values.missing))
    result = _parsed(present, kind, hinted)
    if result.null_count == present.null_count:
        return Converted(result)
    return Converted(result, pc.and_(present.is_valid(), result.is_null()))


def misfits(columns: Sequence[pa.Array], kinds: Sequence[ColumnType | None], values: CsvValues) -> pa.Array | None:
    """Return a mask of the rows in which a field does not have its requested type; None if there are none."""
    return failed_rows([converted(text, kind, values, True) for text, kind in zip(columns, kinds, strict=True) if kind is not None])


def failed_rows(cells: Sequence[Converted]) -> pa.Array | None:
    """Return a mask of the rows in which some field could not be converted; None if there are none."""
    masks = [cell.failed for cell in cells if cell.failed is not None]
    return functools.reduce(pc.or_, masks) if masks else None


def present_texts(text: pa.Array, values: CsvValues) -> pa.Array:
    """Return the fields that are neither empty nor missing, with truth values as digits."""
    return _without(with_truth(text, values), ("", *values.missing)).drop_null()


def with_truth(text: pa.Array, values: CsvValues) -> pa.Array:
    """Return fields with truth values as digits."""
    for words, digit in ((values.true_values, "1"), (values.false_values, "0")):
        if words:
            text = pc.if_else(pc.is_in(text, value_set=pa.array(words, pa.string())), digit, text)
    return text


def _parsed(present: pa.Array, kind: ColumnType, hinted: bool) -> pa.Array:
    """Return the values of texts; missing where a text cannot be converted."""
    if kind == ZONED_DATETIME:
        return encode_plain([None if value is None else parse_datetime(value) for value in present.to_pylist()], kind)
    result = cast_array(present, STR, kind, undefined_on_failure=True)
    if kind == INT and hinted and result.null_count > present.null_count:
        return pa.array([None if value is None else _cut(value) for value in present.to_pylist()], pa.int64())
    return result


def _cut(text: str) -> int | None:
    """Return a number without its fraction."""
    whole = parse_int(text)
    if whole is not None:
        return whole
    number = parse_float(text)
    fits = number is not None and "." in text and abs(number) < 2.0**63
    return int(number) if fits and number is not None else None


def parse_datetime(text: str) -> datetime.datetime | None:
    """Return a date and time in ISO 8601, with or without separators; None for any other text.

    Examples
    --------
    >>> parse_datetime("20110102T030405"), parse_datetime("7")
    (datetime.datetime(2011, 1, 2, 3, 4, 5), None)
    """
    try:
        return datetime.datetime.fromisoformat(text)
    except ValueError:
        return None


def _without(text: pa.Array, words: tuple[str, ...]) -> pa.Array:
    matches = pc.is_in(text, value_set=pa.array(words, pa.string())) if words else None
    return text if matches is None or not matches.true_count else pc.if_else(matches, pa.scalar(None, pa.string()), text)


def _matches(text: pa.Array, pattern: str) -> bool:
    """Return whether all texts match; the first ones are tested first, which rules most columns out quickly."""
    return all(pc.all(pc.match_substring_regex(part, pattern), min_count=0).as_py() for part in (text[:100], text[100:]))


def _any(mask: pa.Array) -> bool:
    return bool(pc.any(mask).as_py())


# Blocks of rows


@attrs.frozen(eq=False)
class TextBlock:
    """Rows as columns of text or numbers, and the lines that are no rows.

    Parameters
    ----------
    path
        The file.
    columns
        One array per column: of numbers where the column was known to be numeric, otherwise of text.
    bad_lines
        Lines with another number of fields.
    rows
        Number of rows.
    is_learned
        Whether the forms of its fields were taken into account already.
    """

    path: str
    columns: tuple[pa.Array, ...]
    bad_lines: Sequence[str]
    rows: int
    is_learned: bool = False

    def read(self, _: NumberColumns) -> TextBlock:
        """Return the block itself, which is parsed already."""
        return self


@attrs.frozen(eq=False)
class ValueBlock:
    """Rows as values, and the lines that are left out.

    Parameters
    ----------
    path
        The file.
    forms
        The forms of its fields, combined with those known before.
    values
        One array per column; None if some field has another type than expected.
    left_out
        Lines that are no rows, with the reason.
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
        The first of them, as many as are retained.
    """

    number: int = 0
    lines: list[str] = attrs.Factory(list)
