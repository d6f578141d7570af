"""Values that are JSON each as a column of the type wanted, where each of them is of its kind."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.types import ARRAY_KIND, DICT_KIND, FLOAT_KIND, INT_KIND, LIST_KIND, STR_KIND, ColumnType
from sframe_spark.values.nested.cuts import cut_arrays
from sframe_spark.values.nested.json_items import FlatItems, flat_items
from sframe_spark.values.nested.patterns import ARRAY_ITEM, BEFORE, EMPTY_ARRAY, LISTS, all_match, has_lists_of_numbers
from sframe_spark.values.nested.text_spans import OPENING
from sframe_spark.values.nested.text_writer import shown
from sframe_spark.values.nested.typed import NULL, as_floats, first_bytes, typed_items, without


def column_of(texts: pa.Array, wanted: ColumnType) -> pa.Array | None:
    """What is stored for the values, none of which is missing, in a column; None where one of them takes a conversion.

    Examples
    --------
    >>> from sframe_spark.types import ENCODED_LIST, INT
    >>> column_of(pa.array(["1", "null"]), INT).to_pylist(), column_of(pa.array(['["a",[]]']), ENCODED_LIST).to_pylist()
    ([1, None], ['["a",[]]'])
    """
    if (first_bytes(texts) == NULL).all():
        return pa.nulls(len(texts), wanted.physical)
    reader = _READERS.get(wanted.kind)
    return None if reader is None else reader(texts, wanted)


def _scalars(texts: pa.Array, wanted: ColumnType) -> pa.Array | None:
    found = typed_items(texts)
    return found[0] if found is not None and found[1] == wanted else None


def _texts(texts: pa.Array, wanted: ColumnType) -> pa.Array | None:
    found = _scalars(texts, wanted)
    return shown(texts) if found is None else found


def _floats(texts: pa.Array, wanted: ColumnType) -> pa.Array | None:
    first = first_bytes(texts)
    return as_floats(texts) if not (first == OPENING).any() else None


def _arrays(texts: pa.Array, wanted: ColumnType) -> pa.Array | None:
    if not all_match(texts, f"^(?:{ARRAY_ITEM}|null)$"):
        return None
    absent = first_bytes(texts) == NULL
    counts, items = cut_arrays(without(texts, absent).fill_null(EMPTY_ARRAY))
    numbers = as_floats(items)
    found = FlatItems(counts, absent, items)
    return None if numbers is None else pa.ListArray.from_arrays(found.offsets, numbers, type=wanted.physical)


def _nested(texts: pa.Array, wanted: ColumnType) -> pa.Array | None:
    absent = first_bytes(texts) == NULL
    opening = "[" if wanted.kind == LIST_KIND else BEFORE
    values = without(texts, absent)
    if pc.all(pc.starts_with(values, opening)).as_py() is False:
        return None
    if not wanted.is_encoded:
        found = flat_items(values, wanted.kind)
        native = None if found is None else found.natively()
        return native[0] if native is not None and native[1] == wanted else None
    is_same = wanted.kind == LIST_KIND and all_match(values, LISTS)
    return values if is_same or not has_lists_of_numbers(values) else None


_READERS: dict[str, Callable[[pa.Array, ColumnType], pa.Array | None]] = {
    INT_KIND: _scalars,
    STR_KIND: _texts,
    FLOAT_KIND: _floats,
    ARRAY_KIND: _arrays,
    LIST_KIND: _nested,
    DICT_KIND: _nested,
}
