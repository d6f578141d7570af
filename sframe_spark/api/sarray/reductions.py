"""Members of SArray that compute one value from all rows, such as sums and means."""

from __future__ import annotations

import array
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from sframe_spark.api import aggregate
from sframe_spark.api.class_registry import ClassRegistry, SArray, make_array
from sframe_spark.api.error_hints import call_example
from sframe_spark.api.index_argument_checks import degrees_of_freedom, is_row_index
from sframe_spark.api.node_value_conversion import literal_of, reduce_values, require_pairs, row_count
from sframe_spark.errors import SchemaError, UnsupportedOperationError
from sframe_spark.images import Image
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.message_text import text_for_message
from sframe_spark.operators.project_zip_arrange import zip_columns
from sframe_spark.operators.row_selection import filter_by_mask
from sframe_spark.operators.sort_top_rows_and_assumed_order import SORTABLE
from sframe_spark.planner.node import PlannerNode
from sframe_spark.types import ARRAY_KIND, DATETIME_KIND, IMAGE_KIND, NDARRAY, NDARRAY_KIND

with lazy_imports(globals()):
    from sframe_spark.api.aggregates.requests import AggregateRequest
    from sframe_spark.api.sarray.number_search_by_rank import Ranks
    from sframe_spark.api.sarray.sketch import Sketch
    from sframe_spark.expressions.image_functions import PixelsOfImage
    from sframe_spark.operators.elementwise import apply_function, apply_lambda
    from sframe_spark.operators.groupby.aggregation_and_spark_lowering import Aggregation
    from sframe_spark.operators.row_number import row_number
    from sframe_spark.operators.window.shift import shift_rows


class Reductions:
    """Mixin of SArray: aggregates of all rows; missing values are left out."""

    _node: PlannerNode

    def _reduce(self, function: str, *parameters: Any) -> Any:
        return reduce_values(self._node, [Aggregation(function, (0,), parameters)])[0]

    def _extreme(self, which: Literal["min", "max"]) -> Any:
        if self._node.schema[0].is_zoned:
            # Of date-times of one instant the first counts, and not that of the least or greatest offset as in a group.
            return reduce_values(self._node, [Aggregation(f"arg{which}", (0, 0))])[0]
        return self._reduce(f"column_{which}")

    @call_example("sf['a'].sum()")
    def sum(self) -> Any:
        """Return the sum of all values; zero if there are none (for arrays, the empty array). Sums of ints wrap around at 64 bits.

        The sum of floats is computed exactly and rounded once, so it does not depend on their order.

        Raises
        ------
        RuntimeError
            If the values are arrays of different lengths.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> SArray([1, None, 2]).sum(), SArray([0.1] * 10).sum()
        (3, 1.0)
        """
        return self._total("sum")

    @call_example("sf['a'].mean()")
    def mean(self) -> Any:
        """Return the mean of all values; None if there are none.

        Raises
        ------
        RuntimeError
            If the values are arrays of different lengths.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> SArray([20, None, 25]).mean()
        22.5
        """
        return self._total("mean")

    def _total(self, function: str) -> Any:
        # Arrays of different lengths are an error here; in a group, their sum or mean would be missing.
        kind = self._node.schema[0].kind
        if kind == IMAGE_KIND and function == "mean":
            return self._mean_of_images()
        if kind == NDARRAY_KIND:
            return self._reduce("column_ndarray_mean" if function == "mean" else function)
        return self._reduce(f"column_vector_{function}" if kind == ARRAY_KIND else function)

    def _mean_of_images(self) -> Image | None:
        """Return the image of the mean pixels of images of one size, which are rounded down."""
        pixels = make_array(apply_lambda(self._node, PixelsOfImage(NDARRAY_KIND), NDARRAY, skip_missing=True))
        mean = pixels._reduce("column_ndarray_mean")
        return None if mean is None else Image(np.floor(mean).astype(np.uint8))

    @call_example("sf['a'].min()")
    def min(self) -> Any:
        """Return the smallest value; None if there are no values.

        Raises
        ------
        RuntimeError
            If the values are neither numbers nor date-times.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> SArray([20, None, 19]).min()
        19
        """
        return self._extreme("min")

    @call_example("sf['a'].max()")
    def max(self) -> Any:
        """Return the largest value; None if there are no values.

        Raises
        ------
        RuntimeError
            If the values are neither numbers nor date-times.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> SArray([20, None, 19]).max()
        20
        """
        return self._extreme("max")

    @call_example("sf['a'].std()")
    def std(self, ddof: int = 0) -> float | None:
        """Return the standard deviation of all values; None if there are none.

        Parameters
        ----------
        ddof
            The sum of squares is divided by the number of values minus ``ddof``: 0 for a population, 1 for a sample.

        Raises
        ------
        RuntimeError
            If the values are not numbers, or the column has rows (missing ones count), but not more than ``ddof``.
        TypeError
            If ``ddof`` is not a number.
        ValueError
            If ``ddof`` is negative.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> SArray([2, 4, None]).std(), SArray([1, 3, 5]).std(ddof=1)
        (1.0, 2.0)
        """
        return self._spread("column_std", ddof)

    @call_example("sf['a'].var()")
    def var(self, ddof: int = 0) -> float | None:
        """Return the variance of all values; None if there are none.

        Parameters
        ----------
        ddof
            The sum of squares is divided by the number of values minus ``ddof``: 0 for a population, 1 for a sample.

        Raises
        ------
        RuntimeError
            If the values are not numbers, or the column has rows (missing ones count), but not more than ``ddof``.
        TypeError
            If ``ddof`` is not a number.
        ValueError
            If ``ddof`` is negative.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> SArray([2, 4, None]).var(), SArray([1, 3, 5]).var(ddof=1)
        (1.0, 4.0)
        """
        return self._spread("column_var", ddof)

    def _spread(self, aggregate: str, ddof: Any) -> Any:
        count = degrees_of_freedom(ddof)
        if not self._node.schema[0].is_numeric and len(self) == 0:
            return None
        return self._reduce(aggregate, count)

    def any(self) -> bool:
        """Return whether at least one value is true (not zero, empty or missing).

        Raises
        ------
        RuntimeError
            If the values are date-times, which are neither true nor false.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> SArray([0, 0, 5]).any(), SArray([0, None]).any()
        (True, False)
        """
        return self.nnz() > 0

    def all(self) -> bool:
        """Return whether all values are true (not zero, empty or missing).

        Raises
        ------
        RuntimeError
            If the values are date-times, which are neither true nor false.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> SArray([1, 2]).all(), SArray([1, None]).all()
        (True, False)
        """
        return self.nnz() == len(self)

    def nnz(self) -> int:
        """Return the number of values that are not zero, empty or missing.

        Raises
        ------
        RuntimeError
            If the values are date-times, which are neither true nor false.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> SArray([0, 5, None, 7]).nnz(), SArray(["", "tea"]).nnz()
        (2, 1)
        """
        # A column of date-times is accepted if all are missing.
        if self._node.schema[0].kind == DATETIME_KIND and self.countna() == len(self):
            return 0
        return int(make_array(apply_function("truth", self._node)).sum())

    def countna(self) -> int:
        """Return the number of missing values; NaN does not count as missing.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> SArray([20.5, None, float("nan")]).countna()
        1
        """
        return int(self._reduce("count_missing"))

    def __contains__(self, item: Any) -> bool:
        """Return whether at least one row has the given value.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> 3 in SArray([5, 3, None]), None in SArray([5, 3, None]), 4 in SArray([5, 3, None])
        (True, True, False)
        """
        literal, column_type = literal_of(item), self._node.schema[0]
        if literal.value is None:
            return self.countna() > 0
        is_same_kind = literal.type.kind == column_type.kind
        if (literal.type.is_numeric and column_type.is_numeric) or (is_same_kind and column_type.kind in SORTABLE):
            return (make_array(self._node) == item).any()
        # Lists and dicts are compared by Python's ==.
        return is_same_kind and any(row == literal.value for row in make_array(self._node))

    def argmax(self) -> int | None:
        """Return the row number of the largest value, the last if there are several; None if there are no rows.

        Raises
        ------
        TypeError
            If the values are not numbers, or all are missing.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> SArray([70, 95, None, 95]).argmax()
        3
        """
        return self._extreme_row("argmax_row")

    def argmin(self) -> int | None:
        """Return the row number of the smallest value, the last if there are several; None if there are no rows.

        Raises
        ------
        TypeError
            If the values are not numbers, or all are missing.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> SArray([70, 55, None, 80]).argmin()
        1
        """
        return self._extreme_row("argmin_row")

    def _extreme_row(self, aggregate: str) -> Any:
        if not self._node.schema[0].is_numeric:
            if len(self) == 0:
                return None
            raise SchemaError(f"values of type {self._node.schema[0].kind} have no extreme row: only int and float have one")
        numbered = zip_columns(self._node, row_number(self._node))
        row = reduce_values(numbered, [Aggregation(aggregate, (0, 1))])[0]
        if row is None and len(self):
            raise SchemaError("there is no extreme row: every value is missing")
        return row

    def summary(self, background: bool = False, sub_sketch_keys: Any = None) -> Sketch:
        """Return statistics of the column, such as quantiles and frequent items; see :class:`Sketch`.

        Parameters
        ----------
        background
            Whether to compute the statistics only when one is requested; otherwise they are computed now.
        sub_sketch_keys
            Keys of dicts, or indices in arrays, for which separate statistics are computed.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> SArray([3, 1, None]).summary().max()
        3.0
        """
        return Sketch(make_array(self._node), background, sub_sketch_keys or ())

    def quantile(self, share: float | Sequence[float], interpolate: str = "linear") -> Any:
        """Return a quantile of all values, or for a list of shares a list of quantiles; None if there are no values.

        NaN counts as the largest number.

        Parameters
        ----------
        share
            A number from 0 to 1, or a list of those.
        interpolate
            What is taken between two values: ``"linear"`` (as in pandas), ``"lower"``, ``"higher"``, ``"midpoint"`` or ``"nearest"`` (as in Polars);
            see :func:`~sframe_spark.aggregate.QUANTILE`.

        Raises
        ------
        RuntimeError
            If the values are not numbers, or a share is not from 0 to 1.
        ValueError
            If ``interpolate`` is unknown.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> SArray([1, 2, None, 4]).quantile(0.25), SArray([1, 2, 4]).quantile([0.25, 0.5], interpolate="lower")
        (1.5, [1.0, 2.0])
        """
        found = self._of_request(aggregate.QUANTILE("x", share, interpolate=interpolate))
        return list(found) if isinstance(found, array.array) else found

    def product(self) -> Any:
        """Return the product of all values; one if there are none. Products of ints wrap around at 64 bits, those of floats are rounded once.

        Raises
        ------
        RuntimeError
            If the values are not numbers.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> SArray([2, None, 3]).product(), SArray([1e200, 1e200, 1e-200]).product()
        (6, 1e+200)
        """
        return self._of_request(aggregate.PRODUCT("x"))

    def geometric_mean(self) -> float | None:
        """Return the geometric mean of all values; None if there are none, NaN if one is negative or NaN.

        Raises
        ------
        RuntimeError
            If the values are not numbers.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> SArray([2.0, None, 8.0]).geometric_mean()
        4.0
        """
        return self._of_request(aggregate.GEOMETRIC_MEAN("x"))

    def skewness(self, bias: bool = True) -> float | None:
        """Return the skewness of all values; None if there are none, NaN if they are equal or one is NaN or infinite.

        Parameters
        ----------
        bias
            True: of a whole population. False: estimated from a sample, as pandas does; None with fewer than three values.

        Raises
        ------
        RuntimeError
            If the values are not numbers.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> SArray([1, 1, None, 4]).skewness()
        0.7071067811865476
        """
        return self._of_request(aggregate.SKEWNESS("x", bias))

    def kurtosis(self, fisher: bool = True, bias: bool = True) -> float | None:
        """Return the kurtosis of all values; None if there are none, NaN if they are equal or one is NaN or infinite.

        Parameters
        ----------
        fisher
            Whether 3, that of a normal distribution, is subtracted.
        bias
            True: of a whole population. False: estimated from a sample, as pandas does; None with fewer than four values.

        Raises
        ------
        RuntimeError
            If the values are not numbers.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> SArray([1, 2, 3, 4, 10]).kurtosis()
        -0.212
        """
        return self._of_request(aggregate.KURTOSIS("x", fisher, bias))

    def correlation(self, other: SArray) -> float | None:
        """Return the Pearson correlation with another column of as many rows, over the rows in which both have a value; None with fewer than two.

        It is NaN if a column has equal values in all of these rows, or an infinity or NaN.

        Parameters
        ----------
        other
            Another column of numbers.

        Raises
        ------
        TypeError
            If ``other`` is not a column.
        RuntimeError
            If the values are not numbers, or the columns have different lengths.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> SArray([1, 2, None, 3]).correlation(SArray([8.0, 6.0, 1.0, 4.0]))
        -1.0
        """
        return self._of_request(aggregate.CORRELATION("x", "y"), other)

    def autocorrelation(self, lag: int = 1) -> float | None:
        """Return the Pearson correlation of the values with those ``lag`` rows earlier, over the rows that have both, as :meth:`correlation` does.

        Parameters
        ----------
        lag
            The number of rows. For evenly spaced times it corresponds to a duration.

        Raises
        ------
        TypeError
            If ``lag`` is not an int.
        RuntimeError
            If the values are not numbers.

        Source: ``Series.autocorr`` of pandas.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> SArray([1, 5, 1, 5, 1]).autocorrelation(), SArray([1, 2]).autocorrelation(1)
        (-1.0, None)
        """
        if not is_row_index(lag):
            raise SchemaError(f"autocorrelation() takes a number of rows, an int, got {lag!r}")
        return self.correlation(make_array(shift_rows(self._node, int(lag))))

    def covariance(self, other: SArray, ddof: int = 0) -> float | None:
        """Return the covariance with another column of the same length, over rows with both values; None if at most ``ddof`` have them.

        Parameters
        ----------
        other
            Another column of numbers.
        ddof
            The sum of products is divided by the number of rows minus ``ddof``: 0 for a population, 1 for a sample, as in pandas and Polars.

        Raises
        ------
        TypeError
            If ``other`` is not a column.
        RuntimeError
            If the values are not numbers, or the columns have different lengths.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> SArray([1, 2, None, 3]).covariance(SArray([8.0, 6.0, 1.0, 4.0]), ddof=1)
        -2.0
        """
        return self._of_request(aggregate.COVARIANCE("x", "y", ddof), other)

    def _of_request(self, wanted: AggregateRequest, other: Any = None) -> Any:
        """Return an aggregate of this column, or of it and another one."""
        node = self._node
        if len(wanted.columns) > 1:
            if not isinstance(other, ClassRegistry.array):
                raise SchemaError(f"another column is needed, such as sf['b'], got {text_for_message(other)}")
            require_pairs(node, other._node, "this column", "the other one")
            node = zip_columns(node, other._node)
        return reduce_values(node, [Aggregation(wanted.name, tuple(range(len(wanted.columns))), wanted.parameters)])[0]

    def median(self, approximate: bool = False) -> Any:
        """Return the median of the values that are neither missing nor NaN (the larger of two middle values); None if there are none.

        Parameters
        ----------
        approximate
            Whether to return the same number as a float; it is exact in both cases.

        Raises
        ------
        RuntimeError
            If the values are not numbers.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> SArray([5, 1, None, 3]).median(), SArray([1, 2, 3, 4]).median(approximate=True)
        (3, 3.0)
        >>> SArray([1.0, float("nan"), 2.0, 3.0]).median()
        2.0
        """
        if not self._node.schema[0].is_numeric:
            raise UnsupportedOperationError(f"values of type {self._node.schema[0].kind} have no median: only int and float have one")
        # NaN is left out here, although other statistics count it as a value.
        rows = row_count(filter_by_mask(self._node, apply_function("is_not_missing", self._node)))
        middle = Ranks(self._node).number_at(rows // 2) if rows else None
        return float(middle) if approximate and middle is not None else middle

    def __len__(self) -> int:
        """Return the number of rows. Where it is not known, rows are counted, but not kept.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> len(SArray([5, 3, None]))
        3
        """
        return row_count(self._node)
