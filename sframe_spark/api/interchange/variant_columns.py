"""Columns of VARIANTs: which type the kinds of their values have in common, and the values in its physical form."""

from __future__ import annotations

from collections.abc import Collection

import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.errors import SchemaError
from sframe_spark.types import (
    DATETIME,
    DATETIME_KIND,
    DICT_KIND,
    ENCODED_DICT,
    ENCODED_LIST,
    FLOAT,
    FLOAT_KIND,
    INT,
    INT_KIND,
    LIST_KIND,
    STR,
    STR_KIND,
    ZONED_DATETIME,
    ColumnType,
)
from sframe_spark.values.encode import encode_plain
from sframe_spark.values.value_model import plain_dict, plain_list
from sframe_spark.values.variant import MISSING_KIND, ZONED_KIND, refuse_damaged, variant_kind, variant_value

# The kinds of VARIANTs that columns of a type have; the first type that has all that were found is theirs.
_HELD: dict[ColumnType, frozenset[str]] = {
    ENCODED_DICT: frozenset({DICT_KIND}),
    ENCODED_LIST: frozenset({LIST_KIND}),
    INT: frozenset({INT_KIND}),
    FLOAT: frozenset({INT_KIND, FLOAT_KIND}),
    STR: frozenset({STR_KIND}),
    DATETIME: frozenset({DATETIME_KIND}),
    ZONED_DATETIME: frozenset({DATETIME_KIND, ZONED_KIND}),
}
# What kinds are in messages, and what Spark's types are called that take them out of VARIANTs.
_TOLD = {
    DICT_KIND: ("dicts", "map<string,variant>"),
    LIST_KIND: ("lists", "array<variant>"),
    FLOAT_KIND: ("floats", "double"),
    INT_KIND: ("ints", "bigint"),
    STR_KIND: ("texts", "string"),
    ZONED_KIND: ("moments", "timestamp"),
    DATETIME_KIND: ("date-times", "timestamp_ntz"),
}


def variant_kinds(values: pa.Array) -> pa.Array:
    """The kind of each VARIANT of an array of Spark's, as a text; missing where it is missing or a null."""
    content, _ = values.flatten()
    starts = pc.binary_slice(content, 0, 2).dictionary_encode()
    kinds = [variant_kind(start) for start in starts.dictionary.to_pylist()]
    found = pa.DictionaryArray.from_arrays(starts.indices, pa.array([None if kind == MISSING_KIND else kind for kind in kinds], pa.string()))
    return found.dictionary_decode()


def type_of_kinds(kinds: Collection[str]) -> ColumnType:
    """The type of a column whose VARIANTs are of these kinds: dicts, lists, or values of one kind; float if there are none, as of missing values.

    Raises
    ------
    SchemaError
        If no column holds all of them, or some are those of damaged ones.

    Examples
    --------
    >>> str(type_of_kinds({"int", "float"})), str(type_of_kinds({"list"})), str(type_of_kinds(()))
    ('float', 'list', 'float')
    """
    refuse_damaged(kinds)
    if not kinds:
        return FLOAT
    for column_type, held in _HELD.items():
        if held.issuperset(kinds):
            return column_type
    raise SchemaError(f"its VARIANTs are {_words(kinds)}, and a column holds values of one kind: {_advice(kinds)}")


def may_widen(kinds: Collection[str]) -> bool:
    """Say whether VARIANTs of other kinds, beside these, would give a column another type instead of none.

    Examples
    --------
    >>> may_widen({"int"}), may_widen(()), may_widen({"dict"}), may_widen({"int", "float"})
    (True, True, False, False)
    """
    found = set(kinds)
    return len([held for held in _HELD.values() if held >= found]) > 1


def variant_column(values: pa.Array, column_type: ColumnType) -> pa.Array:
    """The values of VARIANTs in the physical form of the type that those looked at have.

    Raises
    ------
    SchemaError
        If some are of another kind, or no column holds what is in them.
    """
    expected = _HELD[column_type]
    others = set(pc.unique(variant_kinds(values)).drop_null().to_pylist()) - expected
    refuse_damaged(others)
    if others:
        told = f"some of its VARIANTs are {_words(others)}, where those that told its type were {_words(expected)}"
        raise SchemaError(f"{told}: {_advice(others | expected)}")
    parts = zip(*(part.to_pylist() for part in values.flatten()), strict=True)
    cells = [None if value is None else variant_value(value, names) for value, names in parts]
    if column_type.is_encoded:
        plain = plain_dict if column_type == ENCODED_DICT else plain_list
        cells = [None if cell is None else plain(cell) for cell in cells]
    return encode_plain(cells, column_type)


def _words(kinds: Collection[str]) -> str:
    known = [words for kind, (words, _) in _TOLD.items() if kind in kinds]
    return " and ".join([*known, *sorted(f"of kind {kind}" for kind in kinds if kind not in _TOLD)])


def _advice(kinds: Collection[str]) -> str:
    kind = next((kind for kind in _TOLD if kind in kinds), STR_KIND)
    words, ddl = _TOLD[kind]
    return f"take the {words} out of it with try_variant_get(..., '$', '{ddl}'), which misses what is no such, or the text of all with to_json()"
