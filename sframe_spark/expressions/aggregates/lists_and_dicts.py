"""The aggregate ``concat``: the values of a column as a list, or keys and values of two columns as a dict."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.errors import SchemaError
from sframe_spark.expressions.aggregates.aggregate_function import ReduceCollected, collect_rows, collect_values, define_aggregate
from sframe_spark.expressions.aggregates.collected_values import CollectedTexts, CollectedValues, item_texts_of, lists_of
from sframe_spark.expressions.aggregates.distinct_values import PLAIN, DistinctValues
from sframe_spark.expressions.aggregates.input_rows_and_windows import InputRows
from sframe_spark.expressions.aggregates.state_columns import ColumnAggregate
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.types import ARRAY, FLOAT, ColumnType, dict_of, list_of

with lazy_imports(globals()):
    import pyarrow.compute as pc

    from sframe_spark.compute.spark_columns import Column

Types = Sequence[ColumnType]
Parameters = tuple[Any, ...]


@attrs.frozen
class FirstOfEachKey(DistinctValues):
    """The distinct keys that are not missing, in order of first occurrence, each with the value in its first row.

    Parameters
    ----------
    value, value_type
        Position and type of the column of values.
    as_entries
        Whether keys and values are kept as the JSON of entries of stored dicts; otherwise just the values are kept.
    """

    value: int
    value_type: ColumnType
    as_entries: bool = False

    def chosen(self, rows: InputRows) -> np.ndarray | None:
        return rows.valid((self.column,))

    def kept(self, rows: InputRows) -> list[pa.Array]:
        if not self.as_entries:
            return [rows.column(self.value)]
        keys, values = item_texts_of(rows, self.column, self.column_type), item_texts_of(rows, self.value, self.value_type)
        return [rows.once(("entries", self.column, self.value), lambda: dict_entries(keys, values))]

    def _positions(self) -> dict[int, ColumnType]:
        return {self.column: self.column_type, self.value: self.value_type}


def dict_entries(keys: pa.Array, values: pa.Array) -> pa.Array:
    """Return entries of stored dicts, from the JSON of keys and values.

    Examples
    --------
    >>> dict_entries(pa.array(['"a"']), pa.array(["1"])).to_pylist()
    ['["a",1]']
    """
    return pc.binary_join_element_wise("[", pc.binary_join_element_wise(keys, values, ","), "]", "")


def concat(types: Types, columns: Sequence[int], parameters: Parameters) -> ColumnAggregate:
    """Return the values that are not missing, as a list; of two columns a dict from each key that is not missing to its first value."""
    result = _infer_concat(types, parameters)
    if len(types) == 1:
        form = CollectedTexts if result.is_encoded else CollectedValues
        return ColumnAggregate((form((columns[0],), tuple(types), True),), lambda views, *, last: lists_of(views, views.pool, result))
    state = FirstOfEachKey(columns[0], types[0], columns[1], types[1], result.is_encoded)
    return ColumnAggregate((state,), lambda lists, *, last: lists_of(lists, lists.pool[-1:] if result.is_encoded else lists.pool, result))


def _infer_concat(types: Types, parameters: Parameters) -> ColumnType:
    if len(types) == 1:
        return ARRAY if types[0] == FLOAT else list_of(types[0])
    if types[0].kind not in ("int", "float", "str"):
        raise SchemaError(f"CONCAT takes keys of int, float or str, not of {types[0].kind}")
    return dict_of(types[0], types[1])


def _concat_column(columns: Sequence[Column], types: Types, parameters: Parameters, order: Column) -> Column:
    if len(columns) == 1 and types[0] in PLAIN:
        return collect_values(columns[0], order, keep_missing=False)
    return collect_rows(columns, types, parameters, order)


def _finish_concat(column: Column, types: Types, parameters: Parameters) -> Column:
    if len(types) == 1 and types[0] in PLAIN:
        return column
    return ReduceCollected(_infer_concat, concat)(column, types, parameters)


define_aggregate("concat", _infer_concat, column=_concat_column, finish=_finish_concat, arguments=(1, 2), of_columns=concat)
