"""Missing values, clipping and casting of SArray."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sframe_spark.operators.elementwise import apply_function
from sframe_spark.operators.rows import filter_by_mask
from sframe_spark.types import type_of_class

if TYPE_CHECKING:
    from sframe_spark.api.sarray import SArray
    from sframe_spark.planner.node import PlannerNode


class Missing:
    """Members about missing values and value ranges."""

    _node: PlannerNode

    def _function(self, name: str, *parameters: Any) -> SArray:
        from sframe_spark.api.sarray import SArray

        return SArray(_node=apply_function(name, self._node, parameters=parameters))

    def dropna(self) -> SArray:
        """Rows that are not missing (NaN counts as missing)."""
        from sframe_spark.api.sarray import SArray

        return SArray(_node=filter_by_mask(self._node, apply_function("is_not_missing", self._node)))

    def fillna(self, value: Any) -> SArray:
        """Missing rows get ``value``; the type stays.

        Raises
        ------
        RuntimeError
            If the value does not convert to the column's type.
        """
        return self._function("fill_missing", value)

    def clip(self, lower: Any = float("nan"), upper: Any = float("nan")) -> SArray:
        """Rows below ``lower`` become ``lower``, rows above ``upper`` become ``upper``."""
        return self._function("clip", lower, upper)

    def clip_lower(self, threshold: Any) -> SArray:
        """Rows below the threshold become the threshold."""
        return self._function("clip", threshold, float("nan"))

    def clip_upper(self, threshold: Any) -> SArray:
        """Rows above the threshold become the threshold."""
        return self._function("clip", float("nan"), threshold)

    def astype(self, dtype: Any, undefined_on_failure: bool = False) -> SArray:
        """Every row converted to another type.

        Parameters
        ----------
        dtype
            The Python class of the result.
        undefined_on_failure
            Rows that do not convert become missing instead of raising.
        """
        return self._function("cast", type_of_class(dtype), bool(undefined_on_failure))

    def is_in(self, other: Any) -> SArray:
        """1 in rows whose value is among the values of ``other`` (a list or an SArray), else 0."""
        return self._function("is_in", tuple(other))

    def contains(self, item: Any) -> SArray:
        """1 in rows whose text contains ``item``, or whose list or dict has it as element or key."""
        return self._function("contains", item)

    def hash(self, seed: int = 0) -> SArray:
        """An int hash of every row, the same for equal values."""
        return self._function("hash", int(seed))

    def item_length(self) -> SArray:
        """Number of items in every row's list, dict or array."""
        return self._function("item_length")
