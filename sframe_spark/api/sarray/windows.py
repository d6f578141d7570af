"""Members of SArray that depend on rows before or around each row: running, rolling and shifted values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sframe_spark.api.class_registry import ClassRegistry, make_array
from sframe_spark.api.hints import call_example
from sframe_spark.api.indexing import is_row_index, whole
from sframe_spark.api.node_values import literal_of, recoded
from sframe_spark.engine.execution.materialize import materialize
from sframe_spark.engine.physical.placement import is_at_hand
from sframe_spark.errors import InvalidArgumentError, SchemaError
from sframe_spark.expressions.program import Literal
from sframe_spark.operators.elementwise import apply_function
from sframe_spark.operators.groupby.aggregation import Aggregation
from sframe_spark.operators.window.cumulative import cumulative
from sframe_spark.operators.window.rolling import rolling
from sframe_spark.operators.window.running import running
from sframe_spark.operators.window.shift import shift_rows
from sframe_spark.types import ARRAY_KIND, FLOAT, INT, ColumnType, common_encoding, type_of_class
from sframe_spark.values.infer import encoding_for
from sframe_spark.values.value_model import one_value

if TYPE_CHECKING:
    from sframe_spark.api.class_registry import SArray
    from sframe_spark.planner.node import PlannerNode


# Aggregates that are zero for a window without values if none are required.
KINDS_OF_NOTHING = ("sum", "var", "stdv")


class Windows:
    """Values that depend on the rows before, or around, each row. Missing values are left out."""

    _node: PlannerNode

    def _cumulative(self, kind: str) -> SArray:
        if self._node.schema[0].is_zoned and kind in ("min", "max"):
            return make_array(running(self._node, [], [Aggregation(kind, (0,))]))
        node = cumulative(self._node, kind)
        if self._node.schema[0].kind == ARRAY_KIND and is_at_hand(node):
            # Arrays of different lengths are refused by this call, as in the reference.
            materialize(node)
        return make_array(node)

    def _rolling(self, kind: str, start: int, end: int, minimum: int | None) -> SArray:
        if not all(is_row_index(bound) for bound in (start, end)):
            raise SchemaError(f"a window is given by two row offsets, ints, got {start!r} and {end!r}")
        minimum = None if minimum is None else whole(minimum, "min_observations")
        if minimum is not None and minimum < 0:
            raise InvalidArgumentError(f"min_observations is a number of rows, not negative, got {minimum!r}")
        # A window has no more values than rows.
        needed = None if minimum is None else min(minimum, max(end - start + 1, 0))
        node = rolling(self._node, kind, start, end, needed)
        if minimum == 0 and kind in KINDS_OF_NOTHING and self._node.schema[0].is_numeric:
            values = rolling(self._node, "count", start, end)
            node = ClassRegistry.array.where(make_array(values), make_array(node), 0)._node
        return make_array(node, typed_by_values=True)

    def cumulative_sum(self) -> SArray:
        """Sum of all rows up to and including each row.

        Raises
        ------
        RuntimeError
            If the values are no numbers, nor arrays of one length.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray([5, None, 3, 4]).cumulative_sum())
        [5, 5, 8, 12]
        """
        return self._cumulative("sum")

    def cumulative_mean(self) -> SArray:
        """Mean of all rows up to and including each row.

        Raises
        ------
        RuntimeError
            If the values are no numbers, nor arrays of one length.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray([2, None, 4]).cumulative_mean())
        [2.0, 2.0, 3.0]
        """
        return self._cumulative("mean")

    def cumulative_min(self) -> SArray:
        """Smallest of all rows up to and including each row.

        Raises
        ------
        RuntimeError
            If the values are no numbers.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray([5, 7, None, 3]).cumulative_min())
        [5, 5, 5, 3]
        """
        return self._cumulative("min")

    def cumulative_max(self) -> SArray:
        """Largest of all rows up to and including each row.

        Raises
        ------
        RuntimeError
            If the values are no numbers.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray([5, 7, None, 3]).cumulative_max())
        [5, 7, 7, 7]
        """
        return self._cumulative("max")

    def cumulative_std(self) -> SArray:
        """Standard deviation of all rows up to and including each row.

        Raises
        ------
        RuntimeError
            If the values are no numbers.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray([2, 4, None]).cumulative_std())
        [0.0, 1.0, 1.0]
        """
        return self._cumulative("std")

    def cumulative_var(self) -> SArray:
        """Variance of all rows up to and including each row.

        Raises
        ------
        RuntimeError
            If the values are no numbers.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray([2, 4, None]).cumulative_var())
        [0.0, 1.0, 1.0]
        """
        return self._cumulative("var")

    @call_example("sf['a'].rolling_mean(-2, 0), of a row and the two before")
    def rolling_mean(self, window_start: int, window_end: int, min_observations: int | None = None) -> SArray:
        """Mean over the rows from ``window_start`` to ``window_end`` (offsets from each row, both included).

        Missing where the window reaches beyond the rows or holds a missing value, unless it holds ``min_observations`` values.

        Raises
        ------
        TypeError
            If an offset or ``min_observations`` is no whole number.
        ValueError
            If ``min_observations`` is negative.
        RuntimeError
            If the values are no numbers, or the window ends before it starts.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray([2, 4, 6]).rolling_mean(-1, 0)), list(SArray([2, 4, 6]).rolling_mean(-1, 0, min_observations=1))
        ([None, 3.0, 5.0], [2.0, 3.0, 5.0])
        """
        return self._rolling("mean", window_start, window_end, min_observations)

    @call_example("sf['a'].rolling_sum(-2, 0), of a row and the two before")
    def rolling_sum(self, window_start: int, window_end: int, min_observations: int | None = None) -> SArray:
        """Sum over the rows from ``window_start`` to ``window_end`` (offsets from each row, both included).

        Missing where the window reaches beyond the rows or holds a missing value, unless it holds ``min_observations`` values.

        Raises
        ------
        TypeError
            If an offset or ``min_observations`` is no whole number.
        ValueError
            If ``min_observations`` is negative.
        RuntimeError
            If the values are no numbers, or the window ends before it starts.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray([5, 3, 4]).rolling_sum(-1, 0)), list(SArray([5, 3, 4]).rolling_sum(-1, 0, min_observations=1))
        ([None, 8, 7], [5, 8, 7])
        """
        return self._rolling("sum", window_start, window_end, min_observations)

    @call_example("sf['a'].rolling_max(-2, 0), of a row and the two before")
    def rolling_max(self, window_start: int, window_end: int, min_observations: int | None = None) -> SArray:
        """Largest of the rows from ``window_start`` to ``window_end`` (offsets from each row, both included).

        Missing where the window reaches beyond the rows or holds a missing value, unless it holds ``min_observations`` values.

        Raises
        ------
        TypeError
            If an offset or ``min_observations`` is no whole number.
        ValueError
            If ``min_observations`` is negative.
        RuntimeError
            If the values are no numbers, or the window ends before it starts.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray([5, 3, 4]).rolling_max(-1, 0)), list(SArray([5, 3, 4]).rolling_max(-1, 0, min_observations=1))
        ([None, 5, 4], [5, 5, 4])
        """
        return self._rolling("max", window_start, window_end, min_observations)

    @call_example("sf['a'].rolling_min(-2, 0), of a row and the two before")
    def rolling_min(self, window_start: int, window_end: int, min_observations: int | None = None) -> SArray:
        """Smallest of the rows from ``window_start`` to ``window_end`` (offsets from each row, both included).

        Missing where the window reaches beyond the rows or holds a missing value, unless it holds ``min_observations`` values.

        Raises
        ------
        TypeError
            If an offset or ``min_observations`` is no whole number.
        ValueError
            If ``min_observations`` is negative.
        RuntimeError
            If the values are no numbers, or the window ends before it starts.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray([5, 3, 4]).rolling_min(-1, 0)), list(SArray([5, 3, 4]).rolling_min(-1, 0, min_observations=1))
        ([None, 3, 3], [5, 3, 3])
        """
        return self._rolling("min", window_start, window_end, min_observations)

    @call_example("sf['a'].rolling_var(-2, 0), of a row and the two before")
    def rolling_var(self, window_start: int, window_end: int, min_observations: int | None = None) -> SArray:
        """Variance of the rows from ``window_start`` to ``window_end`` (offsets from each row, both included).

        Missing where the window reaches beyond the rows or holds a missing value, unless it holds ``min_observations`` values.

        Raises
        ------
        TypeError
            If an offset or ``min_observations`` is no whole number.
        ValueError
            If ``min_observations`` is negative.
        RuntimeError
            If the values are no numbers, or the window ends before it starts.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray([2, 4, 8]).rolling_var(-1, 0)), list(SArray([2, 4, 8]).rolling_var(-1, 0, min_observations=1))
        ([None, 1.0, 4.0], [0.0, 1.0, 4.0])
        """
        return self._rolling("var", window_start, window_end, min_observations)

    @call_example("sf['a'].rolling_stdv(-2, 0), of a row and the two before")
    def rolling_stdv(self, window_start: int, window_end: int, min_observations: int | None = None) -> SArray:
        """Standard deviation of the rows from ``window_start`` to ``window_end`` (offsets from each row, both included).

        Missing where the window reaches beyond the rows or holds a missing value, unless it holds ``min_observations`` values.

        Raises
        ------
        TypeError
            If an offset or ``min_observations`` is no whole number.
        ValueError
            If ``min_observations`` is negative.
        RuntimeError
            If the values are no numbers, or the window ends before it starts.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray([2, 4, 8]).rolling_stdv(-1, 0)), list(SArray([2, 4, 8]).rolling_stdv(-1, 0, min_observations=1))
        ([None, 1.0, 2.0], [0.0, 1.0, 2.0])
        """
        return self._rolling("stdv", window_start, window_end, min_observations)

    def rolling_count(self, window_start: int, window_end: int) -> SArray:
        """Number of values in the rows from ``window_start`` to ``window_end`` (offsets from each row, both included).

        Raises
        ------
        TypeError
            If an offset is no whole number.
        RuntimeError
            If the window ends before it starts.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray([5, None, 4]).rolling_count(-1, 0))
        [1, 1, 1]
        """
        return self._rolling("count", window_start, window_end, None)

    @call_example("sf['a'].shift(1)")
    def shift(self, n: int = 1, fill: Any = None) -> SArray:
        """Move the values by ``n`` rows towards the end; rows that get none are missing, or hold ``fill``.

        Parameters
        ----------
        n
            Number of rows; negative: towards the beginning, so that a row gets the value of a later one.
        fill
            Value of rows whose source lies outside, of the column's type (an int in a column of floats is a float).

        Raises
        ------
        TypeError
            If ``n`` is not an int, or ``fill`` has another type than the column.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray([1, 2, 3]).shift(1)), list(SArray([1, 2, 3]).shift(-1, fill=0))
        ([None, 1, 2], [2, 3, 0])
        """
        if not is_row_index(n):
            raise SchemaError(f"shift takes a number of rows, an int, got {n!r}")
        node = self._node
        if fill is None:
            return make_array(shift_rows(node, int(n)))
        literal = fill_literal(fill, node.schema[0])
        return make_array(shift_rows(recoded(node, literal.type), int(n), literal))

    @call_example("sf['a'].diff(1)")
    def diff(self, n: int = 1) -> SArray:
        """Subtract from each row the value ``n`` rows earlier (negative: later); missing where there is none.

        Date-times give seconds as floats, as their subtraction does. Ints wrap around at 64 bits.

        Parameters
        ----------
        n
            Number of rows between the two values.

        Raises
        ------
        TypeError
            If ``n`` is not an int, or the values cannot be subtracted: only int, float, datetime and array can.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray([1, 4, 9]).diff())
        [None, 3, 5]
        """
        kind = self._node.schema[0].kind
        if kind not in SUBTRACTABLE:
            raise SchemaError(f"diff takes a column of {', '.join(SUBTRACTABLE)}, not of {kind}")
        if not is_row_index(n):
            raise SchemaError(f"diff takes a number of rows, an int, got {n!r}")
        return make_array(apply_function("subtract", self._node, shift_rows(self._node, int(n))))


SUBTRACTABLE = ("int", "float", "datetime", "array")


def fill_literal(fill: Any, column_type: ColumnType) -> Literal:
    """Return a fill value in an encoding that holds it and the column's values.

    Raises
    ------
    TypeError
        If it is not of the column's kind.
    """
    fill = one_value(fill)
    literal = literal_of(fill)
    if (column_type, literal.type) == (FLOAT, INT):
        return Literal(float(fill), FLOAT)
    if column_type.kind == "list" and literal.type.kind == "array":
        literal = Literal(list(fill), encoding_for([list(fill)], type_of_class(list)))
    if literal.type.kind != column_type.kind:
        raise SchemaError(f"shift: the column holds {column_type.kind}, fill={fill!r} is {literal.type.kind}: they must agree")
    return Literal(literal.value, common_encoding(column_type, literal.type))
