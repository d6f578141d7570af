"""Sketch: what a column holds, in a few numbers."""

from __future__ import annotations

import datetime
import math
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from sframe_spark.api.display import table_text
from sframe_spark.api.faces import Faces, made_array
from sframe_spark.api.nodes import column_values, node_from_values, reduce_values, single_value
from sframe_spark.api.unpacked_types import merged_type, types_of_keys
from sframe_spark.engine.runs.materialize import materialize
from sframe_spark.errors import ColumnNotFoundError, SchemaError, UnsupportedOperationError
from sframe_spark.operators.functions.packing import value_parameter
from sframe_spark.operators.functions.slots import item_type
from sframe_spark.operators.grouped.aggregation import Aggregation
from sframe_spark.operators.grouped.groupby import group_by
from sframe_spark.operators.relational.explode import explode
from sframe_spark.operators.relational.rows import filter_by_mask
from sframe_spark.operators.relational.sort import sort_rows
from sframe_spark.operators.rowwise.columns import project
from sframe_spark.operators.rowwise.elementwise import apply_function, apply_program
from sframe_spark.operators.rowwise.program import Literal, Program, Register, Step
from sframe_spark.types import ARRAY_KIND, DATETIME_KIND, DICT_KIND, FLOAT, INT, LIST_KIND, STR, STR_KIND, ColumnType
from sframe_spark.values.plain import one_value

if TYPE_CHECKING:
    from sframe_spark.api.sarray import SArray
    from sframe_spark.planner.node import PlannerNode

NESTED = (LIST_KIND, ARRAY_KIND, DICT_KIND)
# Rarer values are not told as frequent.
LEAST_SHARE = 0.0001
MOST_SHOWN = 10
# As Python reads it, but for the letters before an offset.
_WITH_OFFSET = "%Y-%m-%dT%H:%M:%S%F%ZP"
QUANTILES = (0.0, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1.0)


class Sketch:
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
            raise SchemaError(f"a Sketch is made of an SArray, not of a {type(array).__name__}: Sketch(SArray(values))")
        self._source = array._node
        self._keys = _keys_to_sum_up(sub_sketch_keys, self._source.schema[0])
        self._sub_sketches: dict[Any, Sketch] = {}
        if not background:
            _ = self._found

    @cached_property
    def _node(self) -> PlannerNode:
        """The values that are counted: texts of those that hold others, and instants of date-times with an offset."""
        column_type = self._source.schema[0]
        if column_type.kind in NESTED:
            return apply_function("cast", self._source, parameters=(STR, False))
        if column_type.is_zoned:
            return apply_function("moment_text", self._source, parameters=(_WITH_OFFSET,))
        return self._source

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
        """Number of rows."""
        return int(self._found["rows"])

    def num_elements_processed(self) -> int:
        """Number of rows that were looked at: all, or none yet."""
        return self.size() if self.sketch_ready() else 0

    def sketch_ready(self) -> bool:
        """Whether the rows have been looked at."""
        return "_found" in vars(self)

    def cancel(self) -> None:
        """Nothing: what is not asked for is not computed."""

    def num_missing(self) -> int:
        """Number of missing values."""
        return int(self._found["missing"])

    def num_unique(self) -> int:
        """Number of different values that are neither missing nor NaN: exact up to 65,536 of them, else with a standard error of 0.8%."""
        return int(self._found["distinct"])

    def min(self) -> float:
        """The least number; NaN where there is none.

        Raises
        ------
        RuntimeError
            If the values are no numbers.
        """
        return self._if_any("minimum", "min")

    def max(self) -> float:
        """The largest number; NaN where there is none.

        Raises
        ------
        RuntimeError
            If the values are no numbers.
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
        """
        return float(self._of_numbers("mean")["mean"])

    def sum(self) -> float:
        """The sum of all numbers, as a float.

        Raises
        ------
        RuntimeError
            If the values are no numbers.
        """
        found = self._of_numbers("sum")
        return float(found["mean"]) * int(found["numbers"]) if found["counted"] is None else math.fsum(map(math.prod, _counted(found)))

    def var(self) -> float:
        """The variance of all numbers, of the whole population; 0 where there is none.

        Raises
        ------
        RuntimeError
            If the values are no numbers.
        """
        found = self._of_numbers("variance")
        return float(found["squares"]) / found["numbers"] if found["numbers"] else 0.0

    def std(self) -> float:
        """The standard deviation of all numbers, of the whole population; 0 where there is none.

        Raises
        ------
        RuntimeError
            If the values are no numbers.
        """
        self._of_numbers("standard deviation")
        return math.sqrt(self.var())

    def quantile(self, quantile_val: float) -> float:
        """The number below which that share of all numbers lies.

        Parameters
        ----------
        quantile_val
            The share, between 0 and 1; 0 is the least number, 1 the largest.

        Raises
        ------
        RuntimeError
            If the values are no numbers, or there is none.
        TypeError
            If the share is no number.
        """
        share = one_value(quantile_val)
        found = self._of_numbers("quantiles")
        if not isinstance(share, (int, float, np.integer, np.floating)) or share != share:
            raise SchemaError(f"a quantile is a share between 0 and 1, not {share!r:.60}")
        if not found["numbers"]:
            raise UnsupportedOperationError("there is no number, so there are no quantiles")
        place = min(int(found["numbers"] * min(max(float(share), 0.0), 1.0)), found["numbers"] - 1)
        if found["counted"] is None:
            return float(single_value(self._in_order, place))
        values, counts = zip(*sorted(_counted(found)), strict=True)
        return float(values[int(np.searchsorted(np.cumsum(counts), place, side="right"))])

    @cached_property
    def _in_order(self) -> PlannerNode:
        """The numbers in order, which are kept: quantiles are asked for one by one."""
        present = filter_by_mask(self._node, apply_function("is_not_missing", self._node))
        ordered = sort_rows(present, [(0, True)])
        materialize(ordered)
        return ordered

    def frequency_count(self, element: Any) -> int:
        """Number of rows that hold a value.

        Raises
        ------
        RuntimeError
            If the value is none that the column can hold.
        """
        element = one_value(element)
        column_type = self._node.schema[0]
        if not self.size():
            return 0
        if self._source.schema[0].is_zoned:
            wanted: Any = made_array(node_from_values([element])).datetime_to_str(_WITH_OFFSET)[0]
        elif column_type.kind == STR_KIND:
            wanted = str(element)
        elif column_type.kind == DATETIME_KIND or isinstance(element, (int, float, np.integer, np.floating)):
            wanted = element
        else:
            raise UnsupportedOperationError(f"{element!r:.60} is no value of a column of {column_type.kind}")
        is_it = apply_function("is_in", self._node, parameters=((wanted,),))
        return int(reduce_values(is_it, [Aggregation("sum", (0,))])[0])

    def frequent_items(self) -> dict[Any, int]:
        """How often each value occurs that is in at least one of 10,000 rows, the most frequent first."""
        found = self._found
        least = found["rows"] * LEAST_SHARE
        pairs = self._all_frequent(least) if found["counted"] is None else _counted(found)
        frequent = sorted((pair for pair in pairs if pair[1] >= least), key=lambda pair: -pair[1])
        if self._source.schema[0].is_zoned:
            return {datetime.datetime.fromisoformat(text.replace("GMT", "")): count for text, count in frequent}
        return dict(frequent)

    def _all_frequent(self, least: float) -> list[tuple[Any, int]]:
        counted = group_by(self._node, [0], [Aggregation("count")])
        frequent = filter_by_mask(counted, apply_function("greater_equal", project(counted, [1]), Literal(math.ceil(least), INT)))
        values, counts = (column_values(project(frequent, [place])) for place in (0, 1))
        return [(value, count) for value, count in zip(values, counts, strict=True) if value is not None and value == value]

    def element_length_summary(self) -> Sketch:
        """A sketch of how many items the lists, arrays or dicts have.

        Raises
        ------
        RuntimeError
            If the values are none of these.
        """
        self._require(NESTED, "lengths")
        lengths = apply_function("item_length", self._source)
        return _sketch_of(filter_by_mask(lengths, apply_function("is_not_missing", lengths)))

    def element_summary(self) -> Sketch:
        """A sketch of the items of all lists or arrays.

        Raises
        ------
        RuntimeError
            If the values are neither.
        """
        self._require((LIST_KIND, ARRAY_KIND), "items in an order")
        return _sketch_of(_items(self._source, item_type(self._source.schema[0]) or STR))

    def dict_key_summary(self) -> Sketch:
        """A sketch of the keys of all dicts, as texts.

        Raises
        ------
        RuntimeError
            If the values are no dicts.
        """
        self._require((DICT_KIND,), "keys")
        return _sketch_of(_items(apply_function("dict_keys", self._source), STR))

    def dict_value_summary(self) -> Sketch:
        """A sketch of the values of all dicts: as numbers where all are, else as texts.

        Raises
        ------
        RuntimeError
            If the values are no dicts.
        """
        self._require((DICT_KIND,), "values of keys")
        kinds = {kind.kind for kind in types_of_keys(self._source).values()}
        return _sketch_of(_items(apply_function("dict_values", self._source), FLOAT if merged_type(kinds).is_numeric else STR))

    def element_sub_sketch(self, keys: Any = None) -> Any:
        """Sketches of the values of some keys, or at some places: a dict of them, or one for one key.

        Parameters
        ----------
        keys
            Some of the ``sub_sketch_keys`` of this sketch; all when not given.

        Raises
        ------
        KeyError
            If a key is none of these.
        """
        several = isinstance(keys, (list, tuple, set))
        wanted = list(self._keys) if keys is None else list(keys) if several else [keys]
        for key in wanted:
            if key not in self._keys:
                raise ColumnNotFoundError(key, self._keys)
        found = {key: self._sub_sketch(key) for key in wanted}
        return found if keys is None or several else found[keys]

    def _sub_sketch(self, key: Any) -> Sketch:
        if key not in self._sub_sketches:
            self._sub_sketches[key] = _sketch_of(_values_of_key(self._source, key))
        return self._sub_sketches[key]

    def _require(self, kinds: tuple[str, ...], what: str) -> None:
        if self._source.schema[0].kind not in kinds:
            raise UnsupportedOperationError(f"values of {self._source.schema[0].kind} have no {what}: this takes {' or '.join(kinds)}")

    def __str__(self) -> str:
        parts = [f"\n{self._numbers_text()}\n\nMost frequent items:\n{self._frequent_text()}\n"]
        if self._is_numeric and self._found["numbers"]:
            texts = [f"{share:.0%}" for share in QUANTILES]
            parts.append(f"Quantiles: \n{table_text(texts, [[self.quantile(share) for share in QUANTILES]])}\n")
        kind = self._source.schema[0].kind
        if kind == DICT_KIND:
            parts.append(f"\n******** Dictionary Element Key Summary ********\n{self.dict_key_summary()}")
            parts.append(f"\n******** Dictionary Element Value Summary ********\n{self.dict_value_summary()}")
        elif kind in NESTED:
            parts.append(f"\n******** Element Summary ********\n{self.element_summary()}")
        return "\n".join(parts)

    def __repr__(self) -> str:
        return str(self)

    def _numbers_text(self) -> str:
        rows: list[tuple[str, Any, str]] = [("Length", self.size(), "Yes")]
        if self._is_numeric:
            members = (
                ("Min", self.min),
                ("Max", self.max),
                ("Mean", self.mean),
                ("Sum", self.sum),
                ("Variance", self.var),
                ("Standard Deviation", self.std),
            )
            rows += [(name, member(), "Yes") for name, member in members]
        exact = "No" if self._found["counted"] is None else "Yes"
        rows += [("# Missing Values", self.num_missing(), "Yes"), ("# unique values", self.num_unique(), exact)]
        return table_text(["item", "value", "is exact"], rows)

    def _frequent_text(self) -> str:
        items = list(self.frequent_items().items())[:MOST_SHOWN]
        return table_text(["value", "count"], items) if items else " -- No item is in one of 10,000 rows -- "


def _values_of_key(node: PlannerNode, key: Any) -> PlannerNode:
    """The value of a key, or at a place, of each row: as a number where all are, else as text."""
    column_type = node.schema[0]
    if column_type.kind == DICT_KIND:
        kind = types_of_keys(apply_function("dict_trim_keys", node, parameters=((key,), False))).get(key, FLOAT)
    else:
        kind = FLOAT if column_type.kind == ARRAY_KIND else item_type(column_type) or STR
    wanted = FLOAT if kind.is_numeric else STR
    slots = Step("slots", (Register(0),), ((key,),))
    slot = Step("slot", (Register(1),), (0, wanted, item_type(column_type) is None, value_parameter(None)))
    return apply_program(node, Program(1, (slots, slot), (Register(2),)))


def _sketch_of(node: PlannerNode) -> Sketch:
    return Sketch(made_array(node))


def _items(node: PlannerNode, wanted: ColumnType) -> PlannerNode:
    """All items of lists or arrays as one column."""
    natural = item_type(node.schema[0])
    items = explode(node, 0, (natural or STR,), keeps_empty=False)
    return items if natural in (None, wanted) else apply_function("cast", items, parameters=(wanted, False))


def _counted(found: dict[str, Any]) -> list[tuple[Any, int]]:
    return list(found["counted"].items())


def _keys_to_sum_up(keys: Any, column_type: ColumnType) -> tuple[Any, ...]:
    """The keys that a user asks for.

    Raises
    ------
    SchemaError
        If the values have no keys, or a key is none of them.
    """
    chosen = (keys,) if isinstance(keys, (str, int)) else tuple(keys or ())
    if chosen and column_type.kind not in NESTED:
        raise SchemaError(f"sub_sketch_keys are keys of dicts or places in arrays, and the values are of {column_type.kind}")
    if column_type.kind in (LIST_KIND, ARRAY_KIND) and not all(isinstance(key, int) and key >= 0 for key in chosen):
        raise SchemaError(f"sub_sketch_keys are places in arrays, counted from 0, not {chosen!r:.60}")
    return chosen
