"""The class Sketch: many statistics of a column, most of them computed in one pass; and the tables in which a sketch is printed."""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from sframe_spark.api.class_registry import ClassRegistry, SArray, make_array
from sframe_spark.api.display import rows_html, table_text
from sframe_spark.api.error_hints import with_call_hints
from sframe_spark.api.io.pickling import NeverPickled
from sframe_spark.api.node_value_conversion import node_from_values, reduce_values, row_tuples
from sframe_spark.api.sarray.items import unpacked
from sframe_spark.api.sarray.number_search_by_rank import Ranks
from sframe_spark.api.unpacked_columns import merged_type, types_of_keys
from sframe_spark.cached_property_without_lock import cached_property
from sframe_spark.errors import ColumnNotFoundError, InvalidArgumentError, SchemaError, SFrameError, UnsupportedOperationError
from sframe_spark.expressions.functions.element_access import item_type
from sframe_spark.expressions.scalar_function_program import Literal
from sframe_spark.message_text import brief, visible
from sframe_spark.operators.elementwise import apply_function
from sframe_spark.operators.explode import explode
from sframe_spark.operators.groupby.aggregation_and_spark_lowering import Aggregation
from sframe_spark.operators.groupby.groupby import group_by
from sframe_spark.operators.project_zip_arrange import project
from sframe_spark.operators.row_selection import filter_by_mask
from sframe_spark.planner.node import PlannerNode
from sframe_spark.types import ARRAY_KIND, DATETIME_KIND, DICT_KIND, FLOAT, FLOAT_KIND, INT, LIST_KIND, STR, STR_KIND, ColumnType
from sframe_spark.values.plain_values import family_of, is_number, one_value, plain_number
from sframe_spark.values.single_value_conversion import construct_value
from sframe_spark.values.tagged_json_display_and_canonical_text import display_text


@with_call_hints
class Sketch(NeverPickled):
    """Statistics of a column: size, missing values, mean and variance, quantiles, distinct and frequent values.

    All are exact, except :meth:`num_unique` if there are more than 65,536 distinct values; then its standard error is 0.8%. Most are computed in one
    pass. For columns with more distinct values, quantiles and frequent values need further passes when they are requested. NaN counts as a row, but
    in no other statistic. Lists, arrays and dicts are counted as strings; there are separate sketches of their items.

    Parameters
    ----------
    array
        The column.
    background
        Whether to compute the statistics only when one is requested; otherwise they are computed now.
    sub_sketch_keys
        Keys of dicts, or indices in arrays, for which :meth:`element_sub_sketch` returns sketches.

    Raises
    ------
    TypeError
        If ``array`` is not an SArray.

    Examples
    --------
    >>> from sframe_spark import SArray, Sketch
    >>> sketch = Sketch(SArray([1, 2, 2, None]))
    >>> sketch.mean(), sketch.num_missing(), sketch.frequency_count(2), sketch.quantile(0.5)
    (1.6666666666666667, 1, 2, 2.0)
    """

    def __init__(self, array: SArray | None = None, background: bool = False, sub_sketch_keys: Any = ()) -> None:
        if not isinstance(array, ClassRegistry.array):
            raise SchemaError(f"a Sketch must be made of an SArray, not of {type(array).__name__}: write Sketch(SArray(values))")
        # The column is kept as the handle of its node.
        self._array, self._source = array, array._node
        self._keys = keys_to_sum_up(sub_sketch_keys, self._source.schema[0])
        self._sub_sketches: dict[Any, Sketch] = {}
        self._node = counted_node(self._source)
        if not background:
            _ = self._statistics

    @cached_property
    def _statistics(self) -> dict[str, Any]:
        statistics: dict[str, Any] = reduce_values(self._node, [Aggregation("summary", (0,))])[0]
        return statistics

    def _of_numbers(self, what: str) -> dict[str, Any]:
        if not self._source.schema[0].is_numeric:
            raise UnsupportedOperationError(f"values of {self._source.schema[0].kind} have no {what}: only numbers have one")
        return self._statistics

    def size(self) -> int:
        """Return the number of rows.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> SArray([20, 25, 25, None]).summary().size()
        4
        """
        return int(self._statistics["rows"])

    def num_elements_processed(self) -> int:
        """Return the number of rows that were processed: all of them, or zero if the statistics have not been computed yet.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> column = SArray([20, 25, 25, None])
        >>> column.summary().num_elements_processed(), column.summary(background=True).num_elements_processed()
        (4, 0)
        """
        return self.size() if self.sketch_ready() else 0

    def sketch_ready(self) -> bool:
        """Return whether the statistics have been computed.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> sketch = SArray([20, 25, 25, None]).summary(background=True)
        >>> sketch.sketch_ready(), sketch.max(), sketch.sketch_ready()
        (False, 25.0, True)
        """
        return "_statistics" in vars(self)

    def cancel(self) -> None:
        """Do nothing; exists for compatibility. Statistics are computed only when they are requested.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> sketch = SArray([20, 25, 25, None]).summary(background=True)
        >>> sketch.cancel()
        >>> sketch.max()
        25.0
        """

    def num_missing(self) -> int:
        """Return the number of missing values.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> SArray([20, 25, 25, None]).summary().num_missing()
        1
        """
        return int(self._statistics["missing"])

    def num_unique(self) -> int:
        """Return the number of distinct values that are neither missing nor NaN: exact up to 65,536, above with a standard error of 0.8%.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> SArray([20, 25, 25, None]).summary().num_unique()
        2
        """
        return int(self._statistics["distinct"])

    def min(self) -> float:
        """Return the smallest number; NaN if there are none.

        Raises
        ------
        RuntimeError
            If the values are not numbers.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> SArray([20, 25, 25, None]).summary().min()
        20.0
        """
        return self._if_any("minimum", "min")

    def max(self) -> float:
        """Return the largest number; NaN if there are none.

        Raises
        ------
        RuntimeError
            If the values are not numbers.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> SArray([20, 25, 25, None]).summary().max()
        25.0
        """
        return self._if_any("maximum", "max")

    def _if_any(self, what: str, name: str) -> float:
        statistics = self._of_numbers(what)
        return float(statistics[name]) if statistics["numbers"] else math.nan

    def mean(self) -> float:
        """Return the mean of all numbers; 0 if there are none.

        Raises
        ------
        RuntimeError
            If the values are not numbers.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> SArray([20, 25, None]).summary().mean()
        22.5
        """
        return float(self._of_numbers("mean")["mean"])

    def sum(self) -> float:
        """Return the sum of all numbers, as a float.

        Raises
        ------
        RuntimeError
            If the values are not numbers.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> SArray([20, 25, 25, None]).summary().sum()
        70.0
        """
        statistics = self._of_numbers("sum")
        counted = statistics["counted"]
        if counted and all(isinstance(value, int) for value in counted):
            # Add up ints exactly, because they may have more digits than a float holds.
            return float(sum(map(math.prod, counted.items())))
        return float(statistics["sum"])

    def var(self) -> float:
        """Return the population variance of all numbers; 0 if there are none.

        Raises
        ------
        RuntimeError
            If the values are not numbers.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> SArray([2, 4, None]).summary().var()
        1.0
        """
        statistics = self._of_numbers("variance")
        return float(statistics["squares"]) / statistics["numbers"] if statistics["numbers"] else 0.0

    def std(self) -> float:
        """Return the population standard deviation of all numbers; 0 if there are none.

        Raises
        ------
        RuntimeError
            If the values are not numbers.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> SArray([2, 4, None]).summary().std()
        1.0
        """
        self._of_numbers("standard deviation")
        return math.sqrt(self.var())

    def quantile(self, quantile_val: float) -> float:
        """Return a quantile: the number at a given share of the way through all numbers in sorted order; NaN if there are none.

        Parameters
        ----------
        quantile_val
            The share: 0 gives the smallest number, 0.5 the median, 1 the largest number.

        Raises
        ------
        RuntimeError
            If the values are not numbers, or there are no rows.
        TypeError
            If the share is not a number.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> sketch = SArray(range(100)).summary()
        >>> sketch.quantile(0.25), sketch.quantile(0.5), sketch.quantile(1)
        (25.0, 50.0, 99.0)
        """
        share = one_value(quantile_val)
        statistics = self._of_numbers("quantiles")
        if not is_number(share) or share != share:
            raise SchemaError(f"a quantile must be a number between 0 and 1, not {share!r:.60}")
        if not self.size():
            raise UnsupportedOperationError("there are no rows, so there are no quantiles")
        if not statistics["numbers"]:
            return math.nan
        rank = self._rank(float(plain_number(share)))
        if statistics["counted"] is None:
            return float(self._ranks.number_at(rank))
        values, counts = zip(*sorted(statistics["counted"].items()), strict=True)
        return float(values[int(np.searchsorted(np.cumsum(counts), rank, side="right"))])

    def _rank(self, share: float) -> int:
        numbers = int(self._statistics["numbers"])
        return min(int(numbers * min(max(share, 0.0), 1.0)), numbers - 1)

    def _quantiles(self, shares: Sequence[float]) -> list[float]:
        """Return several quantiles, which are found in the same passes."""
        if self._statistics["counted"] is None:
            self._ranks.numbers_at([self._rank(share) for share in shares])
        return [self.quantile(share) for share in shares]

    @cached_property
    def _ranks(self) -> Ranks:
        """The object that finds numbers by rank; cached, because quantiles are requested one at a time."""
        return Ranks(self._node)

    def frequency_count(self, element: Any) -> int:
        """Return the number of rows with a given value.

        Parameters
        ----------
        element
            The value.

        Raises
        ------
        TypeError
            If no column can hold values of its class.
        RuntimeError
            If the value cannot be converted to the class of the column.

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
        counted = as_counted(element, self._source.schema[0])
        if counted is None:
            raise UnsupportedOperationError(f"{visible(brief(element))} cannot be a value of a column of {self._source.schema[0].kind}")
        is_element = apply_function("is_in", self._node, parameters=((counted,),))
        return int(reduce_values(is_element, [Aggregation("sum", (0,))])[0])

    def frequent_items(self) -> dict[Any, int]:
        """Return a dict from each value that is in at least one of 10,000 rows to its number of rows, most frequent first.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> SArray(["milk", "tea", None, "tea"]).summary().frequent_items()
        {'tea': 2, 'milk': 1}
        """
        frequent = frequent_values(self._node, self._statistics)
        if self._source.schema[0].is_zoned:
            return {datetime.datetime.fromisoformat(text.replace("GMT", "")): count for text, count in frequent}
        return dict(frequent)

    def __str__(self) -> str:
        return sketch_text(self)

    def _repr_html_(self) -> str:
        return sketch_html(self)

    def __repr__(self) -> str:
        return str(self)

    def element_length_summary(self) -> Sketch:
        """Return a sketch of the numbers of items in the lists, arrays or dicts.

        Raises
        ------
        RuntimeError
            If the values are not lists, arrays or dicts.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> sketch = SArray([["tea", "milk"], ["tea"], []]).summary().element_length_summary()
        >>> sketch.size(), sketch.max(), sketch.mean()
        (3, 2.0, 1.0)
        """
        self._require(NESTED, "lengths")
        lengths = apply_function("item_length", self._source)
        return sketch_of(filter_by_mask(lengths, apply_function("is_not_missing", lengths)))

    def element_summary(self) -> Sketch:
        """Return a sketch of the items of all lists or arrays.

        Raises
        ------
        RuntimeError
            If the values are neither lists nor arrays.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> SArray([["tea", "milk"], ["tea"], []]).summary().element_summary().frequent_items()
        {'tea': 2, 'milk': 1}
        """
        self._require((LIST_KIND, ARRAY_KIND), "items in an order")
        return sketch_of(_items(self._source, item_type(self._source.schema[0]) or STR))

    def dict_key_summary(self) -> Sketch:
        """Return a sketch of the keys of all dicts, as strings.

        Raises
        ------
        RuntimeError
            If the values are not dicts.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> sketch = SArray([{"tea": 2, "milk": 1}, {"tea": 4}]).summary()
        >>> sketch.dict_key_summary().frequent_items()
        {'tea': 2, 'milk': 1}
        """
        self._require((DICT_KIND,), "keys")
        return sketch_of(_items(apply_function("dict_keys", self._source), STR))

    def dict_value_summary(self) -> Sketch:
        """Return a sketch of the values of all dicts: as numbers if all are numbers, else as strings.

        Raises
        ------
        RuntimeError
            If the values are not dicts.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> sketch = SArray([{"tea": 2, "milk": 1}, {"tea": 4}]).summary()
        >>> sketch.dict_value_summary().max(), sketch.dict_value_summary().sum()
        (4.0, 7.0)
        """
        self._require((DICT_KIND,), "values of keys")
        kinds = {column_type.kind for column_type in types_of_keys(self._source).values()}
        return sketch_of(_items(apply_function("dict_values", self._source), FLOAT if merged_type(kinds).is_numeric else STR))

    def element_sub_sketch(self, keys: Any = None) -> Any:
        """Return sketches of the values with given keys or at given indices: a dict from key to sketch, or the sketch if a single key is given.

        Parameters
        ----------
        keys
            One or several of the ``sub_sketch_keys`` of this sketch; None: all of them.

        Raises
        ------
        KeyError
            If a key is not one of the ``sub_sketch_keys``.
        RuntimeError
            If the values are neither arrays nor dicts.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> sketch = SArray([{"tea": 2, "milk": 1}, {"tea": 4}]).summary(sub_sketch_keys=["tea", "milk"])
        >>> sketch.element_sub_sketch("tea").sum(), sorted(sketch.element_sub_sketch())
        (6.0, ['milk', 'tea'])
        """
        self._require((ARRAY_KIND, DICT_KIND), "keys or positions that values have in common")
        several = self._keys if keys is None else keys if isinstance(keys, (list, tuple, set)) else None
        requested = [keys] if several is None else several
        for key in requested:
            if key not in self._keys:
                raise ColumnNotFoundError(key, self._keys)
            if key not in self._sub_sketches:
                self._sub_sketches[key] = sketch_of(_values_of_key(self._source, key))
        return self._sub_sketches[keys] if several is None else {key: self._sub_sketches[key] for key in requested}

    def _require(self, kinds: tuple[str, ...], what: str) -> None:
        if self._source.schema[0].kind not in kinds:
            raise UnsupportedOperationError(f"values of {self._source.schema[0].kind} have no {what}: this takes {' or '.join(kinds)}")


NESTED = (LIST_KIND, ARRAY_KIND, DICT_KIND)


def sketch_of(node: PlannerNode) -> Sketch:
    """Return the sketch of a one-column node."""
    return make_array(node).summary()


def _values_of_key(node: PlannerNode, key: Any) -> PlannerNode:
    """Return a column of the values with a key, or at an index, of each row: numbers if all are numbers, else strings."""
    column_type = node.schema[0]
    if column_type.kind == DICT_KIND:
        values_type = types_of_keys(apply_function("dict_trim_keys", node, parameters=((key,), False))).get(key, FLOAT)
    else:
        values_type = FLOAT if column_type.kind == ARRAY_KIND else item_type(column_type) or STR
    return unpacked(node, [(key, FLOAT if values_type.is_numeric else STR)])


def _items(node: PlannerNode, target: ColumnType) -> PlannerNode:
    """Return all items of lists or arrays as one column of the type ``target``."""
    natural = item_type(node.schema[0])
    items = explode(node, 0, (natural or target,), keeps_empty=False)
    return items if natural in (None, target) else apply_function("cast", items, parameters=(target, False))


def keys_to_sum_up(keys: Any, column_type: ColumnType) -> tuple[Any, ...]:
    """Check the ``sub_sketch_keys`` that a user gives, and return them as a tuple.

    Raises
    ------
    SchemaError
        If the values are neither dicts nor arrays, or a key has an unsuitable class.
    InvalidArgumentError
        If the keys are not all of one class.
    """
    several = (keys,) if isinstance(keys, (str, int)) else tuple(keys or ())
    if several and column_type.kind not in (DICT_KIND, ARRAY_KIND):
        raise SchemaError(f"sub_sketch_keys are keys of dicts or positions in arrays, but the values are of {column_type.kind}")
    if len({type(key) for key in several}) > 1:
        raise InvalidArgumentError(f"sub_sketch_keys must all be of one class, not {several!r:.60}")
    if column_type.kind == DICT_KIND and not all(isinstance(key, str) for key in several):
        raise SchemaError(f"sub_sketch_keys of dicts must be texts, not {several!r:.60}")
    if column_type.kind == ARRAY_KIND and not all(isinstance(key, int) and key >= 0 for key in several):
        raise SchemaError(f"sub_sketch_keys must be positions in arrays, counted from 0, not {several!r:.60}")
    return several


MAX_FREQUENT_ITEMS = 10
QUANTILES = (0.0, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1.0)


def sketch_text(sketch: Sketch) -> str:
    """Return the text of a sketch: tables of the statistics, the frequent values and the quantiles, then the same for the items.

    Examples
    --------
    >>> from sframe_spark import SArray
    >>> print(sketch_text(SArray(["tea", "tea", "milk"]).summary()).split("items:")[1].strip())
    +-------+-------+
    | value | count |
    +-------+-------+
    |  tea  |   2   |
    |  milk |   1   |
    +-------+-------+
    """
    parts = [f"\n{_numbers_text(sketch)}\n\nMost frequent items:\n{_frequent_text(sketch)}\n"]
    if sketch._source.schema[0].is_numeric and sketch._statistics["numbers"]:
        texts = [f"{share:.0%}" for share in QUANTILES]
        parts.append(f"Quantiles: \n{table_text(texts, [sketch._quantiles(QUANTILES)])}\n")
    kind = sketch._source.schema[0].kind
    if kind == DICT_KIND:
        parts.append(f"\n******** Dictionary Element Key Summary ********\n{sketch.dict_key_summary()}")
        parts.append(f"\n******** Dictionary Element Value Summary ********\n{sketch.dict_value_summary()}")
    elif kind in NESTED:
        parts.append(f"\n******** Element Summary ********\n{sketch.element_summary()}")
    return "\n".join(parts)


def sketch_html(sketch: Sketch) -> str:
    """Return a sketch as HTML for a notebook: tables side by side of the statistics, the quantiles and the frequent values, then those of the items.

    Examples
    --------
    >>> from sframe_spark import SArray
    >>> page = sketch_html(SArray([1, 2, 2]).summary())
    >>> page.count("<table>"), "Standard Deviation" in page, "<th>50%</th>" in page
    (3, True, True)
    """
    kind, numeric = sketch._source.schema[0].kind, sketch._source.schema[0].is_numeric and sketch._statistics["numbers"]
    tables = [rows_html("", [(f"{name}{'' if exact == 'Yes' else ' (about)'}", value) for name, value, exact in _numbers(sketch)])]
    if numeric:
        tables.append(rows_html("quantiles", zip([f"{share:.0%}" for share in QUANTILES], sketch._quantiles(QUANTILES), strict=True)))
    tables.append(rows_html("most frequent", list(sketch.frequent_items().items())[:MAX_FREQUENT_ITEMS]))
    below: dict[str, Sketch] = {}
    if kind == DICT_KIND:
        below = {"keys": sketch.dict_key_summary(), "values": sketch.dict_value_summary()}
    elif kind in NESTED:
        below = {"items": sketch.element_summary()}
    parts = [f'<div style="display:flex;flex-wrap:wrap;gap:12px 32px;align-items:flex-start">{"".join(tables)}</div>']
    parts += [f"<div><strong>{name}</strong>{sketch_html(items)}</div>" for name, items in below.items()]
    return "".join(parts)


def _numbers_text(sketch: Sketch) -> str:
    return table_text(["item", "value", "is exact"], _numbers(sketch))


def _numbers(sketch: Sketch) -> list[tuple[str, Any, str]]:
    """Return the name and the value of each statistic, and whether it is exact, in words."""
    rows: list[tuple[str, Any, str]] = [("Length", sketch.size(), "Yes")]
    if sketch._source.schema[0].is_numeric:
        names = ["Min", "Max", "Mean", "Sum", "Variance", "Standard Deviation"]
        members = [sketch.min, sketch.max, sketch.mean, sketch.sum, sketch.var, sketch.std]
        rows += [(name, member(), "Yes") for name, member in zip(names, members, strict=True)]
    exact = "No" if sketch._statistics["counted"] is None else "Yes"
    rows += [("# Missing Values", sketch.num_missing(), "Yes"), ("# unique values", sketch.num_unique(), exact)]
    return rows


def _frequent_text(sketch: Sketch) -> str:
    items = list(sketch.frequent_items().items())[:MAX_FREQUENT_ITEMS]
    return table_text(["value", "count"], items) if items else " -- No item is in one of 10,000 rows -- "


# Values in a smaller share of the rows than this are not frequent.
MIN_SHARE = 0.0001
# A format that ``datetime.fromisoformat`` can parse after removing the letters GMT before an offset.
_WITH_OFFSET = "%Y-%m-%dT%H:%M:%S%F%ZP"


def counted_node(source: PlannerNode) -> PlannerNode:
    """Return the values in the form in which they are counted: lists, arrays, dicts and date-times with an offset as strings."""
    column_type = source.schema[0]
    if column_type.kind in NESTED:
        return apply_function("cast", source, parameters=(STR, False))
    if column_type.is_zoned:
        return apply_function("moment_text", source, parameters=(_WITH_OFFSET,))
    return source


def as_counted(element: Any, column_type: ColumnType) -> Any:
    """Return a value in the form in which the values of a column are counted; None if it cannot be converted."""
    if column_type.kind == DATETIME_KIND:
        moment = _constructed(element, DATETIME_KIND)
        is_counted_as_text = column_type.is_zoned and moment is not None
        return make_array(node_from_values([moment])).datetime_to_str(_WITH_OFFSET)[0] if is_counted_as_text else moment
    if column_type.kind != STR_KIND and column_type.kind not in NESTED:
        return element if is_number(element) else _constructed(element, FLOAT_KIND)
    if element is None or isinstance(element, str):
        return element or ""
    same = _constructed(element, column_type.kind)
    return _constructed(element, STR_KIND) if same is None else display_text(same)


def frequent_values(node: PlannerNode, statistics: dict[str, Any]) -> list[tuple[Any, int]]:
    """Return pairs of a value that is in at least one of 10,000 rows and its number of rows, most frequent first.

    Parameters
    ----------
    node
        The values, in the form in which they are counted.
    statistics
        The result of the first pass. If it could not count all values, the rows are read again.
    """
    min_count = statistics["rows"] * MIN_SHARE
    if statistics["counted"] is not None:
        pairs = [pair for pair in statistics["counted"].items() if pair[1] >= min_count]
    else:
        counted = group_by(node, [0], [Aggregation("count")])
        frequent = filter_by_mask(counted, apply_function("greater_equal", project(counted, [1]), Literal(math.ceil(min_count), INT)))
        pairs = [(value, count) for value, count in row_tuples(frequent) if value is not None and value == value]
    return sorted(pairs, key=lambda pair: -pair[1])


def _constructed(element: Any, kind: str) -> Any:
    """Return a value converted to a kind; None if it cannot be converted."""
    try:
        return construct_value(element, kind)
    except SFrameError:
        return None
