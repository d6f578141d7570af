"""Sketch: what a column holds, in a few numbers."""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from sframe_spark.api.class_registry import Faces
from sframe_spark.api.files.serialization import NeverPickled
from sframe_spark.api.hints import with_answers
from sframe_spark.api.node_values import reduce_values
from sframe_spark.api.sarray.counted_values import as_counted, counted_node, counted_values, frequent_values
from sframe_spark.api.sarray.rank_selection import Ranks
from sframe_spark.api.sarray.sketch_items import SketchesOfItems, keys_to_sum_up
from sframe_spark.api.sarray.sketch_text import sketch_text
from sframe_spark.errors import SchemaError, UnsupportedOperationError
from sframe_spark.operators.grouped.aggregation import Aggregation
from sframe_spark.operators.rowwise.elementwise import apply_function
from sframe_spark.values.plain import family_of, is_number, one_value, plain_number
from sframe_spark.visible import brief, visible

if TYPE_CHECKING:
    from sframe_spark.api.sarray import SArray


@with_answers
class Sketch(SketchesOfItems, NeverPickled):
    """What a column holds: its size, missing values, moments, quantiles, different and frequent values.

    Everything is exact but :meth:`num_unique` of more than 65,536 different values, whose standard error is 0.8%. One pass over the rows tells most
    of it; quantiles and frequent values of columns with more different values take another one, when they are asked for. NaN counts as a row and
    for nothing else. Values of lists, arrays and dicts are summed up as texts; their items have sketches of their own.

    Parameters
    ----------
    array
        The column.
    background
        Whether nothing is computed before it is asked for.
    sub_sketch_keys
        Keys of dicts, or places in arrays, to be summed up by :meth:`element_sub_sketch`.

    Raises
    ------
    TypeError
        If ``array`` is no SArray.

    Examples
    --------
    >>> from sframe_spark import SArray, Sketch
    >>> sketch = Sketch(SArray([1, 2, 2, None]))
    >>> sketch.mean(), sketch.num_missing(), sketch.frequency_count(2), sketch.quantile(0.5)
    (1.6666666666666667, 1, 2, 2.0)
    """

    def __init__(self, array: SArray | None = None, background: bool = False, sub_sketch_keys: Any = ()) -> None:
        if not isinstance(array, Faces.array):
            raise SchemaError(f"a Sketch is made of an SArray, not of {type(array).__name__}: Sketch(SArray(values))")
        self._source = array._node
        self._keys = keys_to_sum_up(sub_sketch_keys, self._source.schema[0])
        self._sub_sketches: dict[Any, Sketch] = {}
        self._node = counted_node(self._source)
        if not background:
            _ = self._found

    @cached_property
    def _found(self) -> dict[str, Any]:
        found: dict[str, Any] = reduce_values(self._node, [Aggregation("summary", (0,))])[0]
        return found

    @property
    def _is_numeric(self) -> bool:
        return self._source.schema[0].is_numeric

    def _of_numbers(self, what: str) -> dict[str, Any]:
        if not self._is_numeric:
            raise UnsupportedOperationError(f"values of {self._source.schema[0].kind} have no {what}: it is one of numbers")
        return self._found

    def size(self) -> int:
        """Number of rows.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> SArray([20, 25, 25, None]).summary().size()
        4
        """
        return int(self._found["rows"])

    def num_elements_processed(self) -> int:
        """Number of rows that were looked at: all, or none yet.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> column = SArray([20, 25, 25, None])
        >>> column.summary().num_elements_processed(), column.summary(background=True).num_elements_processed()
        (4, 0)
        """
        return self.size() if self.sketch_ready() else 0

    def sketch_ready(self) -> bool:
        """Whether the rows have been looked at.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> sketch = SArray([20, 25, 25, None]).summary(background=True)
        >>> sketch.sketch_ready(), sketch.max(), sketch.sketch_ready()
        (False, 25.0, True)
        """
        return "_found" in vars(self)

    def cancel(self) -> None:
        """Nothing: what is not asked for is not computed.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> sketch = SArray([20, 25, 25, None]).summary(background=True)
        >>> sketch.cancel()
        >>> sketch.max()
        25.0
        """

    def num_missing(self) -> int:
        """Number of missing values.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> SArray([20, 25, 25, None]).summary().num_missing()
        1
        """
        return int(self._found["missing"])

    def num_unique(self) -> int:
        """Number of different values that are neither missing nor NaN: exact up to 65,536 of them, else with a standard error of 0.8%.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> SArray([20, 25, 25, None]).summary().num_unique()
        2
        """
        return int(self._found["distinct"])

    def min(self) -> float:
        """The least number; NaN where there is none.

        Raises
        ------
        RuntimeError
            If the values are no numbers.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> SArray([20, 25, 25, None]).summary().min()
        20.0
        """
        return self._if_any("minimum", "min")

    def max(self) -> float:
        """The largest number; NaN where there is none.

        Raises
        ------
        RuntimeError
            If the values are no numbers.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> SArray([20, 25, 25, None]).summary().max()
        25.0
        """
        return self._if_any("maximum", "max")

    def _if_any(self, what: str, name: str) -> float:
        found = self._of_numbers(what)
        return float(found[name]) if found["numbers"] else math.nan

    def mean(self) -> float:
        """The mean of all numbers; 0 where there is none.

        Raises
        ------
        RuntimeError
            If the values are no numbers.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> SArray([20, 25, None]).summary().mean()
        22.5
        """
        return float(self._of_numbers("mean")["mean"])

    def sum(self) -> float:
        """The sum of all numbers, as a float.

        Raises
        ------
        RuntimeError
            If the values are no numbers.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> SArray([20, 25, 25, None]).summary().sum()
        70.0
        """
        found = self._of_numbers("sum")
        counted = found["counted"]
        if counted and all(isinstance(value, int) for value in counted):
            # Ints have more digits than floats.
            return float(sum(map(math.prod, counted_values(found))))
        return float(found["sum"])

    def var(self) -> float:
        """The variance of all numbers, of the whole population; 0 where there is none.

        Raises
        ------
        RuntimeError
            If the values are no numbers.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> SArray([2, 4, None]).summary().var()
        1.0
        """
        found = self._of_numbers("variance")
        return float(found["squares"]) / found["numbers"] if found["numbers"] else 0.0

    def std(self) -> float:
        """The standard deviation of all numbers, of the whole population; 0 where there is none.

        Raises
        ------
        RuntimeError
            If the values are no numbers.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> SArray([2, 4, None]).summary().std()
        1.0
        """
        self._of_numbers("standard deviation")
        return math.sqrt(self.var())

    def quantile(self, quantile_val: float) -> float:
        """The number below which that share of all numbers lies; NaN where there is none.

        Parameters
        ----------
        quantile_val
            The share, between 0 and 1; 0 is the least number, 1 the largest.

        Raises
        ------
        RuntimeError
            If the values are no numbers, or there are no rows.
        TypeError
            If the share is no number.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> sketch = SArray(range(100)).summary()
        >>> sketch.quantile(0.25), sketch.quantile(0.5), sketch.quantile(1)
        (25.0, 50.0, 99.0)
        """
        share = one_value(quantile_val)
        found = self._of_numbers("quantiles")
        if not is_number(share) or share != share:
            raise SchemaError(f"a quantile is a share between 0 and 1, not {share!r:.60}")
        if not self.size():
            raise UnsupportedOperationError("there are no rows, so there are no quantiles")
        if not found["numbers"]:
            return math.nan
        place = self._place_of(float(plain_number(share)))
        if found["counted"] is None:
            return float(self._ranks.number_at(place))
        values, counts = zip(*sorted(counted_values(found)), strict=True)
        return float(values[int(np.searchsorted(np.cumsum(counts), place, side="right"))])

    def _place_of(self, share: float) -> int:
        numbers = int(self._found["numbers"])
        return min(int(numbers * min(max(share, 0.0), 1.0)), numbers - 1)

    def _quantiles(self, shares: Sequence[float]) -> list[float]:
        """Several quantiles, found together."""
        if self._found["counted"] is None:
            self._ranks.numbers_at([self._place_of(share) for share in shares])
        return [self.quantile(share) for share in shares]

    @cached_property
    def _ranks(self) -> Ranks:
        """What was counted, which is kept: quantiles are asked for one by one."""
        return Ranks(self._node)

    def frequency_count(self, element: Any) -> int:
        """Number of rows that hold a value.

        Parameters
        ----------
        element
            The value, as a column of this type takes it.

        Raises
        ------
        TypeError
            If no column holds values of its class.
        RuntimeError
            If the value is none that the column can hold.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> sketch = SArray(["tea", "milk", "tea"]).summary()
        >>> sketch.frequency_count("tea"), sketch.frequency_count("juice")
        (2, 0)
        """
        element = one_value(element)
        family_of(type(element))
        if not self.size():
            return 0
        wanted = as_counted(element, self._source.schema[0])
        if wanted is None:
            raise UnsupportedOperationError(f"{visible(brief(element))} is no value of a column of {self._source.schema[0].kind}")
        is_it = apply_function("is_in", self._node, parameters=((wanted,),))
        return int(reduce_values(is_it, [Aggregation("sum", (0,))])[0])

    def frequent_items(self) -> dict[Any, int]:
        """How often each value occurs that is in at least one of 10,000 rows, the most frequent first.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> SArray(["milk", "tea", None, "tea"]).summary().frequent_items()
        {'tea': 2, 'milk': 1}
        """
        frequent = frequent_values(self._node, self._found)
        if self._source.schema[0].is_zoned:
            return {datetime.datetime.fromisoformat(text.replace("GMT", "")): count for text, count in frequent}
        return dict(frequent)

    def __str__(self) -> str:
        return sketch_text(self)

    def __repr__(self) -> str:
        return str(self)
