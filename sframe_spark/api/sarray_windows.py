"""Running and rolling values of SArray."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sframe_spark.api.indexing import is_row_index, whole
from sframe_spark.errors import InvalidArgumentError, SchemaError
from sframe_spark.operators.running.cumulative import cumulative
from sframe_spark.operators.running.rolling import rolling

if TYPE_CHECKING:
    from sframe_spark.api.sarray import SArray
    from sframe_spark.planner.node import PlannerNode


# Aggregates that are zero where a window without values will do.
KINDS_OF_NOTHING = ("sum", "var", "stdv")


class Windows:
    """Values that depend on the rows before, or around, each row. Missing values are left out."""

    _node: PlannerNode

    def _cumulative(self, kind: str) -> SArray:
        from sframe_spark.api.sarray import SArray

        return SArray(_node=cumulative(self._node, kind))

    def _rolling(self, kind: str, start: int, end: int, minimum: int | None) -> SArray:
        from sframe_spark.api.sarray import SArray

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
            node = SArray.where(SArray(_node=values), SArray(_node=node), 0)._node
        return SArray(_node=node, _typed_by_values=True)

    def cumulative_sum(self) -> SArray:
        """Sum of all rows up to and including each row."""
        return self._cumulative("sum")

    def cumulative_mean(self) -> SArray:
        """Mean of all rows up to and including each row."""
        return self._cumulative("mean")

    def cumulative_min(self) -> SArray:
        """Smallest of all rows up to and including each row."""
        return self._cumulative("min")

    def cumulative_max(self) -> SArray:
        """Largest of all rows up to and including each row."""
        return self._cumulative("max")

    def cumulative_std(self) -> SArray:
        """Standard deviation of all rows up to and including each row."""
        return self._cumulative("std")

    def cumulative_var(self) -> SArray:
        """Variance of all rows up to and including each row."""
        return self._cumulative("var")

    def rolling_mean(self, window_start: int, window_end: int, min_observations: int | None = None) -> SArray:
        """Mean over the rows from ``window_start`` to ``window_end`` (offsets from each row, both included)."""
        return self._rolling("mean", window_start, window_end, min_observations)

    def rolling_sum(self, window_start: int, window_end: int, min_observations: int | None = None) -> SArray:
        """Sum over the rows from ``window_start`` to ``window_end`` (offsets from each row, both included)."""
        return self._rolling("sum", window_start, window_end, min_observations)

    def rolling_max(self, window_start: int, window_end: int, min_observations: int | None = None) -> SArray:
        """Largest of the rows from ``window_start`` to ``window_end`` (offsets from each row, both included)."""
        return self._rolling("max", window_start, window_end, min_observations)

    def rolling_min(self, window_start: int, window_end: int, min_observations: int | None = None) -> SArray:
        """Smallest of the rows from ``window_start`` to ``window_end`` (offsets from each row, both included)."""
        return self._rolling("min", window_start, window_end, min_observations)

    def rolling_var(self, window_start: int, window_end: int, min_observations: int | None = None) -> SArray:
        """Variance of the rows from ``window_start`` to ``window_end`` (offsets from each row, both included)."""
        return self._rolling("var", window_start, window_end, min_observations)

    def rolling_stdv(self, window_start: int, window_end: int, min_observations: int | None = None) -> SArray:
        """Standard deviation of the rows from ``window_start`` to ``window_end`` (offsets from each row, both included)."""
        return self._rolling("stdv", window_start, window_end, min_observations)

    def rolling_count(self, window_start: int, window_end: int) -> SArray:
        """Number of values in the rows from ``window_start`` to ``window_end`` (offsets from each row, both included)."""
        return self._rolling("count", window_start, window_end, None)
