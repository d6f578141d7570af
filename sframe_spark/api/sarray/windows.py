"""Members of SArray whose values depend on preceding or surrounding rows: cumulative and rolling aggregates, shifts, differences, interpolation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sframe_spark.api.class_registry import ClassRegistry, SArray, make_array
from sframe_spark.api.error_hints import call_example
from sframe_spark.api.index_argument_checks import is_row_index, whole
from sframe_spark.api.node_value_conversion import literal_of, recoded
from sframe_spark.engine.execution.materialize_count_and_read_rows import materialize
from sframe_spark.engine.physical.placement_and_blocking_inputs import is_at_hand
from sframe_spark.engine.physical.site import Site
from sframe_spark.errors import InvalidArgumentError, SchemaError, listed
from sframe_spark.expressions.scalar_function_program import Literal
from sframe_spark.message_text import brief
from sframe_spark.operators.elementwise import apply_function
from sframe_spark.operators.joins.interpolation import METHODS, interpolated
from sframe_spark.operators.window.cumulative import cumulative
from sframe_spark.operators.window.filling import filled
from sframe_spark.operators.window.ranks_of_sorted_rows import METHODS as RANK_METHODS, quantile_bins, ranked
from sframe_spark.operators.window.rolling import rolling
from sframe_spark.operators.window.rolling_rank import METHODS as ROLLING_RANK_METHODS, rolling_rank
from sframe_spark.operators.window.shift import shift_rows
from sframe_spark.planner.node import PlannerNode
from sframe_spark.types import ARRAY_KIND, DATETIME_KIND, FLOAT, INT, ColumnType, common_encoding, type_of_class
from sframe_spark.values.duration_parsing import parse_duration
from sframe_spark.values.plain_values import one_value
from sframe_spark.values.python_to_arrow import encoding_for

# With `min_observations=0`, these aggregates of a window without values are zero instead of missing.
KINDS_ZERO_IF_EMPTY = ("sum", "var", "stdv")


class Windows:
    """Mixin of SArray: values that depend on preceding or surrounding rows. Missing values are left out of aggregates."""

    _node: PlannerNode

    def _cumulative(self, kind: str) -> SArray:
        node = cumulative(self._node, kind)
        if self._node.schema[0].kind == ARRAY_KIND and is_at_hand(node, Site.now()):
            # Compute the result now, so that this call raises an error if arrays have different lengths, as in Turi Create.
            materialize(node)
        return make_array(node)

    def _rolling(self, kind: str, start: int, end: int, minimum: int | None) -> SArray:
        node = rolling(self._node, kind, start, end, needed_values(start, end, minimum))
        if minimum == 0 and kind in KINDS_ZERO_IF_EMPTY and self._node.schema[0].is_numeric:
            values = rolling(self._node, "count", start, end)
            node = ClassRegistry.array.where(make_array(values), make_array(node), 0)._node
        return make_array(node, typed_by_values=True)

    def cumulative_sum(self) -> SArray:
        """Return, for each row, the sum of all values up to and including it.

        Raises
        ------
        RuntimeError
            If the values are neither numbers nor arrays of equal length.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray([5, None, 3, 4]).cumulative_sum())
        [5, 5, 8, 12]
        """
        return self._cumulative("sum")

    def cumulative_mean(self) -> SArray:
        """Return, for each row, the mean of all values up to and including it.

        Raises
        ------
        RuntimeError
            If the values are neither numbers nor arrays of equal length.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray([2, None, 4]).cumulative_mean())
        [2.0, 2.0, 3.0]
        """
        return self._cumulative("mean")

    def cumulative_min(self) -> SArray:
        """Return, for each row, the smallest of all values up to and including it.

        Raises
        ------
        RuntimeError
            If the values are neither numbers nor date-times.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray([5, 7, None, 3]).cumulative_min())
        [5, 5, 5, 3]
        """
        return self._cumulative("min")

    def cumulative_max(self) -> SArray:
        """Return, for each row, the largest of all values up to and including it.

        Raises
        ------
        RuntimeError
            If the values are neither numbers nor date-times.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray([5, 7, None, 3]).cumulative_max())
        [5, 7, 7, 7]
        """
        return self._cumulative("max")

    def cumulative_std(self) -> SArray:
        """Return, for each row, the population standard deviation of all values up to and including it.

        Raises
        ------
        RuntimeError
            If the values are not numbers.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray([2, 4, None]).cumulative_std())
        [0.0, 1.0, 1.0]
        """
        return self._cumulative("std")

    def cumulative_var(self) -> SArray:
        """Return, for each row, the population variance of all values up to and including it.

        Raises
        ------
        RuntimeError
            If the values are not numbers.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray([2, 4, None]).cumulative_var())
        [0.0, 1.0, 1.0]
        """
        return self._cumulative("var")

    def cumulative_product(self) -> SArray:
        """Return, for each row, the product of all values up to and including it.

        Products of ints wrap around at 64 bits; those of floats are rounded once.

        Raises
        ------
        RuntimeError
            If the values are not numbers.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray([None, 2, 3, None, 4]).cumulative_product())
        [None, 2, 6, 6, 24]
        """
        return self._cumulative("product")

    @call_example("sf['a'].rolling_mean(-2, 0), of a row and the two before")
    def rolling_mean(self, window_start: int, window_end: int, min_observations: int | None = None) -> SArray:
        """Return, for each row, the mean over a window of rows around it.

        Parameters
        ----------
        window_start, window_end
            First and last row of the window, as offsets from the row: -1 is the row before, 0 the row itself.
        min_observations
            Number of values that a window must contain; otherwise the result is missing. None: a window must be within the column and contain no
            missing value.

        Raises
        ------
        TypeError
            If an offset or ``min_observations`` is not an int.
        ValueError
            If ``min_observations`` is negative.
        RuntimeError
            If the values are neither numbers nor arrays, or ``window_end`` is before ``window_start``.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray([2, 4, 6]).rolling_mean(-1, 0)), list(SArray([2, 4, 6]).rolling_mean(-1, 0, min_observations=1))
        ([None, 3.0, 5.0], [2.0, 3.0, 5.0])
        """
        return self._rolling("mean", window_start, window_end, min_observations)

    @call_example("sf['a'].rolling_sum(-2, 0), of a row and the two before")
    def rolling_sum(self, window_start: int, window_end: int, min_observations: int | None = None) -> SArray:
        """Return, for each row, the sum over a window of rows around it.

        Parameters
        ----------
        window_start, window_end, min_observations
            As in :meth:`rolling_mean`.

        Raises
        ------
        TypeError
            If an offset or ``min_observations`` is not an int.
        ValueError
            If ``min_observations`` is negative.
        RuntimeError
            If the values are neither numbers nor arrays, or ``window_end`` is before ``window_start``.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray([5, 3, 4]).rolling_sum(-1, 0)), list(SArray([5, 3, 4]).rolling_sum(-1, 0, min_observations=1))
        ([None, 8, 7], [5, 8, 7])
        """
        return self._rolling("sum", window_start, window_end, min_observations)

    @call_example("sf['a'].rolling_max(-2, 0), of a row and the two before")
    def rolling_max(self, window_start: int, window_end: int, min_observations: int | None = None) -> SArray:
        """Return, for each row, the largest value in a window of rows around it.

        Parameters
        ----------
        window_start, window_end, min_observations
            As in :meth:`rolling_mean`.

        Raises
        ------
        TypeError
            If an offset or ``min_observations`` is not an int.
        ValueError
            If ``min_observations`` is negative.
        RuntimeError
            If the values are neither numbers nor date-times, or ``window_end`` is before ``window_start``.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray([5, 3, 4]).rolling_max(-1, 0)), list(SArray([5, 3, 4]).rolling_max(-1, 0, min_observations=1))
        ([None, 5, 4], [5, 5, 4])
        """
        return self._rolling("max", window_start, window_end, min_observations)

    @call_example("sf['a'].rolling_min(-2, 0), of a row and the two before")
    def rolling_min(self, window_start: int, window_end: int, min_observations: int | None = None) -> SArray:
        """Return, for each row, the smallest value in a window of rows around it.

        Parameters
        ----------
        window_start, window_end, min_observations
            As in :meth:`rolling_mean`.

        Raises
        ------
        TypeError
            If an offset or ``min_observations`` is not an int.
        ValueError
            If ``min_observations`` is negative.
        RuntimeError
            If the values are neither numbers nor date-times, or ``window_end`` is before ``window_start``.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray([5, 3, 4]).rolling_min(-1, 0)), list(SArray([5, 3, 4]).rolling_min(-1, 0, min_observations=1))
        ([None, 3, 3], [5, 3, 3])
        """
        return self._rolling("min", window_start, window_end, min_observations)

    @call_example("sf['a'].rolling_var(-2, 0), of a row and the two before")
    def rolling_var(self, window_start: int, window_end: int, min_observations: int | None = None) -> SArray:
        """Return, for each row, the population variance over a window of rows around it.

        Parameters
        ----------
        window_start, window_end, min_observations
            As in :meth:`rolling_mean`.

        Raises
        ------
        TypeError
            If an offset or ``min_observations`` is not an int.
        ValueError
            If ``min_observations`` is negative.
        RuntimeError
            If the values are not numbers, or ``window_end`` is before ``window_start``.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray([2, 4, 8]).rolling_var(-1, 0)), list(SArray([2, 4, 8]).rolling_var(-1, 0, min_observations=1))
        ([None, 1.0, 4.0], [0.0, 1.0, 4.0])
        """
        return self._rolling("var", window_start, window_end, min_observations)

    @call_example("sf['a'].rolling_stdv(-2, 0), of a row and the two before")
    def rolling_stdv(self, window_start: int, window_end: int, min_observations: int | None = None) -> SArray:
        """Return, for each row, the population standard deviation over a window of rows around it.

        Parameters
        ----------
        window_start, window_end, min_observations
            As in :meth:`rolling_mean`.

        Raises
        ------
        TypeError
            If an offset or ``min_observations`` is not an int.
        ValueError
            If ``min_observations`` is negative.
        RuntimeError
            If the values are not numbers, or ``window_end`` is before ``window_start``.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray([2, 4, 8]).rolling_stdv(-1, 0)), list(SArray([2, 4, 8]).rolling_stdv(-1, 0, min_observations=1))
        ([None, 1.0, 2.0], [0.0, 1.0, 2.0])
        """
        return self._rolling("stdv", window_start, window_end, min_observations)

    def rolling_count(self, window_start: int, window_end: int) -> SArray:
        """Return, for each row, the number of values that are not missing in a window of rows around it.

        Parameters
        ----------
        window_start, window_end
            As in :meth:`rolling_mean`.

        Raises
        ------
        TypeError
            If an offset is not an int.
        RuntimeError
            If ``window_end`` is before ``window_start``.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray([5, None, 4]).rolling_count(-1, 0))
        [1, 1, 1]
        """
        return self._rolling("count", window_start, window_end, None)

    @call_example("sf['a'].shift(1)")
    def shift(self, n: int = 1, fill: Any = None) -> SArray:
        """Return the values moved by ``n`` rows towards the end; the first ``n`` rows are missing or have the value ``fill``.

        Parameters
        ----------
        n
            Number of rows; if negative, values move towards the beginning, and the last rows are filled.
        fill
            Value of the rows that get none, of the column's class (in a column of floats, an int is converted); None: missing.

        Raises
        ------
        TypeError
            If ``n`` is not an int, or the class of ``fill`` differs from the column's.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray([1, 2, 3]).shift(1)), list(SArray([1, 2, 3]).shift(-1, fill=0))
        ([None, 1, 2], [2, 3, 0])
        """
        if not is_row_index(n):
            raise SchemaError(f"shift() takes a number of rows, an int, got {n!r}")
        node = self._node
        if fill is None:
            return make_array(shift_rows(node, int(n)))
        literal = fill_literal(fill, node.schema[0])
        return make_array(shift_rows(recoded(node, literal.type), int(n), literal))

    @call_example("sf['a'].diff(1)")
    def diff(self, n: int = 1) -> SArray:
        """Return, for each row, its value minus the value ``n`` rows before; missing where there is no such row.

        Differences of date-times are in seconds, as floats. Differences of ints wrap around at 64 bits.

        Parameters
        ----------
        n
            Number of rows between the two values; if negative, the value of a later row is subtracted.

        Raises
        ------
        TypeError
            If ``n`` is not an int, or the values are not of class int, float, datetime or array.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray([1, 4, 9]).diff())
        [None, 3, 5]
        """
        require_kind("diff", self._node.schema[0], SUBTRACTABLE)
        if not is_row_index(n):
            raise SchemaError(f"diff() takes a number of rows, an int, got {n!r}")
        return make_array(apply_function("subtract", self._node, shift_rows(self._node, int(n))))

    @call_example("sf['a'].pct_change(1)")
    def pct_change(self, n: int = 1) -> SArray:
        """Return, for each row, its value divided by the value ``n`` rows before, minus one; missing where there is no such row.

        A missing value stays missing, and so does the change after it: nothing is filled before.

        Parameters
        ----------
        n
            Number of rows between the two values; if negative, the value is divided by that of a later row.

        Raises
        ------
        TypeError
            If ``n`` is not an int, or the values are not of class int or float.

        Source: ``pct_change`` of pandas with ``fill_method=None``.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray([4, 5, 10]).pct_change())
        [None, 0.25, 1.0]
        """
        require_kind("pct_change", self._node.schema[0], NUMBERS)
        if not is_row_index(n):
            raise SchemaError(f"pct_change() takes a number of rows, an int, got {n!r}")
        return make_array(relative_change(self._node, shift_rows(self._node, int(n))))

    @call_example("sf['a'].rank()")
    def rank(self, method: str = "average", ascending: bool = True, percent: bool = False) -> SArray:
        """Return the rank of each value among all, from 1; missing values have none.

        Parameters
        ----------
        method
            The rank of equal values: ``"average"``, ``"min"`` or ``"max"`` of their places in order; ``"dense"``: as ``"min"``, but ranks have no
            gaps; ``"first"``: their places, in row order.
        ascending
            Whether the smallest value has rank 1. NaN is above all numbers, and equal to itself.
        percent
            Whether ranks are divided by the number of values (``"dense"``: by the largest rank).

        Returns
        -------
        SArray
            Floats for ``"average"`` and with ``percent``, ints otherwise.

        Raises
        ------
        TypeError
            If the values are not of class int, float, str or datetime.
        ValueError
            If there is no such method.

        Source: ``rank`` of pandas and Polars.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray([30, 10, None, 10]).rank()), list(SArray([30, 10, None, 10]).rank("dense", ascending=False))
        ([3.0, 1.5, None, 1.5], [1, 2, None, 2])
        """
        method = rank_options("rank", self._node.schema[0], method)
        return make_array(ranked(self._node, 0, (), method, bool(ascending), bool(percent)))

    @call_example("sf['a'].rolling_rank(-9), of a row and the nine before")
    def rolling_rank(
        self, window_start: int, min_observations: int | None = None, method: str = "average", ascending: bool = True, percent: bool = False
    ) -> SArray:
        """Return, for each row, the rank of its value among those of a window of rows that ends with it, from 1; missing values have none.

        Parameters
        ----------
        window_start
            First row of the window, as an offset from the row: -9 is the ninth row before. The row itself is the last one.
        min_observations
            As in :meth:`rolling_mean`.
        method
            The rank of equal values: ``"average"``, ``"min"`` or ``"max"`` of their places in order.
        ascending, percent
            As in :meth:`rank`; ``percent`` divides by the number of values in the window.

        Raises
        ------
        TypeError
            If ``window_start`` or ``min_observations`` is not an int, or the values are neither numbers nor date-times.
        ValueError
            If ``window_start`` is after the row, ``min_observations`` is negative, or there is no such method.

        Source: ``rolling(n).rank()`` of pandas.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray([3, 1, 2, 2]).rolling_rank(-2)), list(SArray([3, 1, 2]).rolling_rank(-2, 1, percent=True))
        ([None, None, 2.0, 2.5], [1.0, 0.5, 0.6666666666666666])
        """
        options = rolling_rank_options(window_start, min_observations, method)
        return make_array(rolling_rank(self._node, [0], [], *options, bool(ascending), bool(percent)))

    @call_example("sf['a'].cut([0, 10, 100], labels=['low', 'high'])")
    def cut(self, edges: Sequence[int | float], labels: Sequence[str] | None = None, closed: str = "right") -> SArray:
        """Return the number of the bin of each value, from 0, or its label; missing for missing values, NaN, and values outside of all bins.

        Parameters
        ----------
        edges
            Ascending numbers: each bin lies between two of them.
        labels
            A text for each bin.
        closed
            Whether a bin holds its ``"right"`` edge, not its left one, or its ``"left"`` edge, not its right one.

        Returns
        -------
        SArray
            Ints, or texts if there are labels.

        Raises
        ------
        TypeError
            If the values or the edges are not numbers.
        ValueError
            If the edges do not ascend, labels are too many or too few, or ``closed`` is something else.

        Source: ``cut`` of pandas, and of Polars, which has two more bins for values outside.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray([0, 1, 10, 11]).cut([0, 10, 20])), list(SArray([5, 15]).cut([0, 10, 20], ["low", "high"]))
        ([None, 0, 0, 1], ['low', 'high'])
        """
        numbers = [one_value(edge) for edge in edges] if isinstance(edges, (list, tuple, range, np.ndarray)) else None
        if numbers is None or not all(isinstance(edge, (int, float)) and not isinstance(edge, bool) for edge in numbers):
            raise SchemaError(f"the edges of bins must be a list of numbers, got {brief(edges)}")
        if isinstance(labels, str) or not (labels is None or isinstance(labels, (list, tuple))):
            raise SchemaError(f"labels must be a list of texts, got {brief(labels)}")
        return make_array(apply_function("bin_between", self._node, parameters=(tuple(numbers), closed, None if labels is None else tuple(labels))))

    @call_example("sf['a'].qcut(4)")
    def qcut(self, q: int) -> SArray:
        """Return the number of the quantile bin of each value, from 0 to ``q`` - 1: bins between the quantiles 0, 1/q, 2/q ... 1 of the values.

        A bin holds its upper end, the first one its lower end, too. Equal values are in one bin, so bins may differ in size, or be empty. Missing
        values are in none. NaN is above all numbers.

        Parameters
        ----------
        q
            The number of bins.

        Raises
        ------
        TypeError
            If the values are not of class int, float, str or datetime, or ``q`` is not an int.
        ValueError
            If ``q`` is below one.

        Source: ``qcut(labels=False)`` of pandas, which refuses quantiles that are equal; quantiles are interpolated linearly.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray([5, 1, 3, None, 2]).qcut(2))
        [1, 0, 1, None, 0]
        """
        require_kind("qcut", self._node.schema[0], ORDERED)
        return make_array(quantile_bins(self._node, 0, (), bin_count(q)))

    @call_example("sf['a'].fill_forward()")
    def fill_forward(self, limit: int | None = None) -> SArray:
        """Return the values, with missing ones replaced by the last known value before them.

        NaN is a value: it is not replaced, and fills what is missing after it. Values before the first known one stay missing.

        Parameters
        ----------
        limit
            How many missing values in a row are filled at most; None: all.

        Raises
        ------
        TypeError
            If ``limit`` is not an int.
        ValueError
            If ``limit`` is negative.

        Source: ``ffill`` of pandas, which fills NaN too; ``forward_fill`` of Polars.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray([None, 1, None, None, 4]).fill_forward()), list(SArray([None, 1, None, None, 4]).fill_forward(limit=1))
        ([None, 1, 1, 1, 4], [None, 1, 1, None, 4])
        """
        return make_array(filled(self._node, [0], None, (), *limit_of(limit, None), backward=False))

    @call_example("sf['a'].fill_backward()")
    def fill_backward(self, limit: int | None = None) -> SArray:
        """Return the values, with missing ones replaced by the next known value after them.

        NaN is a value: it is not replaced, and fills what is missing before it. Values after the last known one stay missing.

        Parameters
        ----------
        limit
            How many missing values in a row are filled at most, the nearest to the known one; None: all.

        Raises
        ------
        TypeError
            If ``limit`` is not an int.
        ValueError
            If ``limit`` is negative.

        Source: ``bfill`` of pandas, which fills NaN too; ``backward_fill`` of Polars.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray([None, 1, None, None, 4]).fill_backward(limit=1))
        [1, 1, None, 4, 4]
        """
        return make_array(filled(self._node, [0], None, (), *limit_of(limit, None), backward=True))

    @call_example("sf['a'].interpolate(), or sf.interpolate('a', on='time', by='key') of a frame")
    def interpolate(self, method: str = "linear", limit: int | None = None) -> SArray:
        """Return the values, with missing ones replaced by points on the straight line between the known values before and after them.

        NaN counts as missing, as in :meth:`fillna`. Values without a known value on both sides stay unchanged. All values become floats.

        Parameters
        ----------
        method
            ``"linear"``, or ``"nearest"``: the nearer of both known values, the one before if they are equally near.
        limit
            Fill only values at most this many rows after the known value before them (``"nearest"``: from the value they take); None: all.

        Raises
        ------
        TypeError
            If the values are not of class int or float, or ``limit`` is not an int.
        ValueError
            If there is no such method, or ``limit`` is negative.

        Source: ``interpolate`` of pandas and Polars.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray([1, None, None, 7, None]).interpolate())
        [1.0, 3.0, 5.0, 7.0, None]
        """
        return make_array(interpolated(self._node, 0, None, (), interpolation_method(method), *limit_of(limit, None)))


def limit_of(limit: Any, along: ColumnType | None) -> tuple[int | float | None, bool]:
    """Return the limit of a filling, in rows or in the unit of a column of positions, and whether it is a number of rows.

    An int is a number of rows, unless positions are numbers.

    Raises
    ------
    TypeError
        If the limit has an unsuitable type.
    ValueError
        If it is negative, or a string is not a duration.
    """
    if limit is None:
        return None, False
    if along is None or (along.kind == DATETIME_KIND and is_row_index(limit)):
        if not is_row_index(limit) or isinstance(limit, bool):
            raise SchemaError(f"limit must be a number of rows, an int, or a duration along the column on, got {brief(limit)}")
        if limit < 0:
            raise InvalidArgumentError(f"limit must be a number of rows, not negative, got {brief(limit)}")
        return int(limit), True
    distance = parse_duration(limit, along, "limit")
    if distance < 0:
        raise InvalidArgumentError(f"limit must be a distance, not negative, got {limit!r}")
    return distance, False


def interpolation_method(method: Any) -> str:
    """Return the name of a method of interpolation.

    Raises
    ------
    ValueError
        If there is no such method.
    """
    if method not in METHODS:
        raise InvalidArgumentError(f"method must be one of {listed(METHODS)}, got {brief(method)}")
    return str(method)


def needed_values(start: int, end: int, minimum: int | None) -> int | None:
    """Return how many values a rolling window must contain; None if it must be whole.

    Raises
    ------
    TypeError
        If an argument is not an int.
    ValueError
        If ``minimum`` is negative.
    """
    if not all(is_row_index(bound) for bound in (start, end)):
        raise SchemaError(f"a window needs two row offsets, ints, got {start!r} and {end!r}")
    minimum = None if minimum is None else whole(minimum, "min_observations")
    if minimum is not None and minimum < 0:
        raise InvalidArgumentError(f"min_observations must be a number of rows, not negative, got {minimum!r}")
    # A window cannot contain more values than rows, so more need not be required.
    return None if minimum is None else min(minimum, max(end - start + 1, 0))


def rank_options(member: str, column_type: ColumnType, method: Any) -> str:
    """Return the method of a ranking of a column.

    Raises
    ------
    TypeError
        If values of the column have no order.
    ValueError
        If there is no such method.
    """
    require_kind(member, column_type, ORDERED)
    if method not in RANK_METHODS:
        raise InvalidArgumentError(f"method must be one of {listed(RANK_METHODS)}, got {brief(method)}")
    return str(method)


def rolling_rank_options(window_start: int, minimum: int | None, method: Any) -> tuple[int, int | None, str]:
    """Return how many rows before a row a window has, how many values it must contain, and the method of a rolling rank.

    Raises
    ------
    TypeError
        If a number is not an int.
    ValueError
        If the window begins after its row, a number is negative, or there is no such method.
    """
    needed = needed_values(window_start, 0, minimum)
    if window_start > 0:
        raise InvalidArgumentError(f"the window of a rank ends with its row, so window_start must be zero or negative, got {brief(window_start)}")
    if method not in ROLLING_RANK_METHODS:
        raise InvalidArgumentError(f"method must be one of {listed(ROLLING_RANK_METHODS)}, got {brief(method)}")
    return -int(window_start), needed, str(method)


def bin_count(q: Any) -> int:
    """Return a number of quantile bins.

    Raises
    ------
    TypeError
        If it is not an int.
    ValueError
        If it is below one or above 2**31.
    """
    if not is_row_index(q) or isinstance(q, bool):
        raise SchemaError(f"qcut() takes a number of bins, an int, got {brief(q)}")
    if not 1 <= q <= 2**31:
        raise InvalidArgumentError(f"qcut() takes one bin or more, up to 2**31, got {brief(q)}")
    return int(q)


ORDERED = ("int", "float", "str", "datetime")
SUBTRACTABLE = ("int", "float", "datetime", "array")
NUMBERS = ("int", "float")


def require_kind(member: str, column_type: ColumnType, kinds: Sequence[str]) -> None:
    """Raise an error if a column has another class than a member takes.

    Raises
    ------
    TypeError
        If it has.
    """
    if column_type.kind not in kinds:
        raise SchemaError(f"{member} takes a column of {', '.join(kinds)}, not of {column_type.kind}")


def relative_change(values: PlannerNode, earlier: PlannerNode) -> PlannerNode:
    """Return a node with values divided by earlier ones, minus one."""
    return apply_function("subtract", apply_function("divide", values, earlier), Literal(1, INT))


def fill_literal(fill: Any, column_type: ColumnType) -> Literal:
    """Return a fill value as a literal in an encoding that can also hold the column's values.

    Raises
    ------
    TypeError
        If the class of the value differs from the column's.
    """
    fill = one_value(fill)
    literal = literal_of(fill)
    if (column_type, literal.type) == (FLOAT, INT):
        return Literal(float(fill), FLOAT)
    if column_type.kind == "list" and literal.type.kind == "array":
        literal = Literal(list(fill), encoding_for([list(fill)], type_of_class(list)))
    if literal.type.kind != column_type.kind:
        raise SchemaError(f"shift(): the column holds {column_type.kind}, but fill={fill!r} is {literal.type.kind}: they must have the same type")
    return Literal(literal.value, common_encoding(column_type, literal.type))
