"""Exact sums and means of arrays of numpy, item by item: those of the vectors of their numbers, with the shape that all arrays have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.errors import UnsupportedOperationError
from sframe_spark.expressions.aggregates.aggregate_function import define_aggregate, require
from sframe_spark.expressions.aggregates.input_rows_and_windows import InputRows
from sframe_spark.expressions.aggregates.state_columns import ColumnAggregate, State, StateColumn
from sframe_spark.expressions.aggregates.vectors import VectorsOfRows, VectorSum, collected_vectors, sum_of_vectors
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.pyarrow_versions import if_else
from sframe_spark.types import NDARRAY, NDARRAY_KIND, ColumnType
from sframe_spark.values.ndarrays import lists_of_shapes, numbers_of, shape_texts, shaped

with lazy_imports(globals()):
    import pyarrow.compute as pc

    from sframe_spark.compute.key_runs import members
    from sframe_spark.compute.row_groups import GroupsOfRows
    from sframe_spark.compute.spark_columns import Column, fit, spark_type
    from sframe_spark.session.spark_versions import arrow_function
    from sframe_spark.udf.error_transport import error_transport

# The state of a group whose arrays have different shapes; other states are texts of shapes.
DIFFERENT = "different"


@attrs.frozen
class NdarraySum(VectorSum):
    """The exact sum of the numbers of a column of arrays, place by place; missing arrays do not count."""

    def _vectors(self, rows: InputRows) -> VectorsOfRows:
        vectors: VectorsOfRows = rows.once(("numbers of arrays", self.column), lambda: VectorsOfRows.of(numbers_of(rows.column(self.column))))
        return vectors


@attrs.frozen
class CommonShape(StateColumn):
    """The shape of the arrays of a group, as a text; missing without an array, and ``DIFFERENT`` if there are several.

    Parameters
    ----------
    column
        Position of the column.
    """

    column: int

    def empty(self, groups: int) -> State:
        return pa.nulls(groups, pa.string())

    def lift(self, rows: InputRows, groups: GroupsOfRows) -> State:
        return self.merge(shape_texts(rows.column(self.column)), groups)

    def merge(self, state: State, groups: GroupsOfRows) -> State:
        if not len(state):
            return self.empty(groups.count)
        coded = state.dictionary_encode()
        codes = coded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        entries, is_known = groups.first_where(codes >= 0)
        of_groups = np.where(is_known, codes[entries], -1)
        differ = np.zeros(groups.count, dtype=bool)
        differ[groups.codes[(codes >= 0) & (codes != of_groups[groups.codes])]] = True
        shapes = coded.dictionary.take(pa.array(of_groups, mask=~is_known))
        return if_else(pa.array(differ), DIFFERENT, shapes) if differ.any() else shapes

    def to_arrow(self, state: State) -> list[pa.Array]:
        return [state]

    def of_arrow(self, columns: Sequence[pa.Array]) -> State:
        return columns[0]


def sum_of_ndarrays(column: int, is_mean: bool = False, is_missing_of_none: bool = False) -> ColumnAggregate:
    """Return the sum or mean of arrays, item by item, each rounded once.

    Parameters
    ----------
    column
        Position of the column.
    is_mean
        Whether the result is the mean.
    is_missing_of_none
        Whether the result is missing if there is no array; otherwise it is an array without items.
    """
    of_vectors = sum_of_vectors(column, is_mean, is_missing_of_none)

    def finish(shapes: State, sums: State, *counts: Any, last: bool) -> pa.Array:
        if pc.any(pc.equal(shapes, DIFFERENT)).as_py():
            raise UnsupportedOperationError("arrays of different shapes have no sum and no mean: give all the same shape, for example with reshape()")
        vectors = of_vectors.finish(sums, *counts, last=last)
        return shaped(vectors, lists_of_shapes(shapes.fill_null("0")), vectors.is_null())

    return ColumnAggregate((CommonShape(column), NdarraySum(column), *of_vectors.states[1:]), finish)


def ndarrays_in_spark(collected: Column, is_mean: bool = False, is_missing_of_none: bool = False) -> Column:
    """Return a Spark column with the sum or mean of the collected arrays of each group."""
    aggregate, transport = sum_of_ndarrays(0, is_mean, is_missing_of_none), error_transport()

    def exact_ndarrays(lists: pa.Array) -> pa.Array:
        arrays, codes = members(fit(lists, pa.list_(NDARRAY.physical)))
        rows, groups = InputRows([arrays], len(arrays)), GroupsOfRows(codes, len(lists))
        return transport.guarded(lambda: aggregate.finish(*[state.lift(rows, groups) for state in aggregate.states], last=True))

    return arrow_function(exact_ndarrays, spark_type(NDARRAY))(collected)


# The mean of a column, which is missing without an array; that of a group has no items then.

Types = Sequence[ColumnType]
Parameters = tuple[Any, ...]


def _infer_column_mean(types: Types, parameters: Parameters) -> ColumnType:
    require("the mean of arrays", types[0], (NDARRAY_KIND,))
    return NDARRAY


def _finish_column_mean(column: Column, types: Types, parameters: Parameters) -> Column:
    return ndarrays_in_spark(column, is_mean=True, is_missing_of_none=True)


def _column_mean(types: Types, positions: Sequence[int], parameters: Parameters) -> ColumnAggregate:
    return sum_of_ndarrays(positions[0], is_mean=True, is_missing_of_none=True)


define_aggregate(
    "column_ndarray_mean",
    _infer_column_mean,
    column=collected_vectors,
    finish=_finish_column_mean,
    order_sensitive=False,
    of_columns=_column_mean,
)
