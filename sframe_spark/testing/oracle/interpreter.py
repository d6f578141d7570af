"""The meaning of every operator: a function from its parameters and the rows of its inputs to rows, in documented order."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from sframe_spark.testing.oracle import aggregates, scalar_functions
from sframe_spark.testing.oracle.intervals import INTERVALS
from sframe_spark.testing.oracle.lookups import LOOKUPS
from sframe_spark.testing.oracle.sources import SOURCES
from sframe_spark.testing.oracle.values import Row, exact_sum, is_nan, rank, token

if TYPE_CHECKING:
    from sframe_spark.testing.oracle.evaluate import Table


def _project(operator: Any, inputs: Sequence[Table]) -> list[Row]:
    return [tuple(row[position] for position in operator.positions) for row in inputs[0].rows]


def _arrange(operator: Any, inputs: Sequence[Table]) -> list[Row]:
    shown = list(zip(operator.slots, operator.positions, strict=True))
    return [tuple(rows[slot][position] for slot, position in shown) for rows in zip(*[table.rows for table in inputs], strict=True)]


def side_by_side(inputs: Sequence[Table]) -> list[Row]:
    """Rows of all inputs, by position.

    Raises
    ------
    ValueError
        If the inputs have different numbers of rows.
    """
    return [tuple(value for row in rows for value in row) for rows in zip(*[table.rows for table in inputs], strict=True)]


def call(function: Any, arguments: Sequence[Any], parameters: Sequence[Any]) -> Any:
    """One scalar function, named or a user's, of the values of one row."""
    if not isinstance(function, str):
        return call_user(function, arguments)
    if function == "cast":
        return scalar_functions.cast(arguments[0], "" if arguments[0] is None else type(arguments[0]).__name__, parameters[0].kind)
    if function in scalar_functions.PARAMETRIC:
        return scalar_functions.PARAMETRIC[function](*arguments, *parameters)
    return scalar_functions.SCALARS[function](*arguments)


def call_user(function: Any, arguments: Sequence[Any]) -> Any:
    """A user's function of one value, or of a row as a dict."""
    if function.names is not None:
        return function.function(dict(zip(function.names, arguments, strict=True)))
    if function.skip_missing and arguments[0] is None:
        return None
    return function.function(arguments[0])


def _operands(operands: Sequence[Any], registers: Sequence[Any]) -> list[Any]:
    return [registers[operand.index] if hasattr(operand, "index") else operand.value for operand in operands]


def _transform(operator: Any, inputs: Sequence[Table]) -> list[Row]:
    return [(call(operator.function, _operands(operator.operands, row), operator.parameters),) for row in side_by_side(inputs)]


def _lambda(operator: Any, inputs: Sequence[Table]) -> list[Row]:
    return [(call_user(operator.function, row),) for row in inputs[0].rows]


def _generalized(operator: Any, inputs: Sequence[Table]) -> list[Row]:
    program = operator.computation
    result = []
    for row in inputs[0].rows:
        registers = list(row)
        for step in program.steps:
            registers.append(call(step.function, _operands(step.operands, registers), step.parameters))
        result.append(tuple(_operands(program.outputs, registers)))
    return result


def _is_set(mask: Any) -> bool:
    return mask is not None and mask != 0


def _filter(operator: Any, inputs: Sequence[Table]) -> list[Row]:
    return [row for row, mask in zip(inputs[0].rows, inputs[1].column(0), strict=True) if _is_set(mask)]


def _filter_rows(operator: Any, inputs: Sequence[Table]) -> list[Row]:
    return [row[:-1] for row in inputs[0].rows if _is_set(row[-1])]


def _slice(operator: Any, inputs: Sequence[Table]) -> list[Row]:
    return inputs[0].rows[operator.start : operator.stop : operator.step]


def _append(operator: Any, inputs: Sequence[Table]) -> list[Row]:
    return [row for table in inputs for row in table.rows]


def sorted_rows(rows: Sequence[Row], by: Sequence[tuple[int, bool]]) -> list[Row]:
    """Rows in the order of some columns, the last column first: each pass is stable, so earlier columns decide."""
    result = list(rows)
    for position, ascending in reversed(by):
        # Reversed before and after, ties keep their order in a descending pass too.
        result = result if ascending else result[::-1]
        result.sort(key=lambda row: rank(row[position]))
        result = result if ascending else result[::-1]
    return result


def _sort(operator: Any, inputs: Sequence[Table]) -> list[Row]:
    return sorted_rows(inputs[0].rows, operator.by)


def _top_rows(operator: Any, inputs: Sequence[Table]) -> list[Row]:
    return sorted_rows(inputs[0].rows, operator.by)[: operator.rows]


def _aggregated(aggregation: Any, table: Table, rows: Sequence[Row]) -> Any:
    if aggregation.function == "count":
        return len(rows)
    columns = [[row[position] for row in rows] for position in aggregation.positions]
    kinds = [table.kinds[position] for position in aggregation.positions]
    return aggregates.AGGREGATES[aggregation.function](columns, aggregation.parameters, kinds)


def _group_by(operator: Any, inputs: Sequence[Table]) -> list[Row]:
    groups: dict[Any, list[Row]] = {}
    for row in inputs[0].rows:
        groups.setdefault(tuple(token(row[position]) for position in operator.keys), []).append(row)
    result = []
    for rows in groups.values():
        key = tuple(rows[0][position] for position in operator.keys)
        result.append((*key, *[_aggregated(aggregation, inputs[0], rows) for aggregation in operator.aggregations]))
    return sorted(result, key=lambda row: [rank(value) for value in row[: len(operator.keys)]])


def _runs(operator: Any, inputs: Sequence[Table]) -> list[Row]:
    result: list[Row] = []
    for _, run in itertools.groupby(inputs[0].rows, lambda row: _key(row, operator.keys)):
        parts: dict[Any, list[Row]] = {}
        for row in run:
            parts.setdefault(_key(row, operator.within), []).append(row)
        for rows in parts.values():
            key = tuple(rows[0][position] for position in (*operator.keys, *operator.within))
            result.append((*key, *[_aggregated(aggregation, inputs[0], rows) for aggregation in operator.aggregations]))
    return result


def _reduce(operator: Any, inputs: Sequence[Table]) -> list[Row]:
    return [tuple(_aggregated(aggregation, inputs[0], inputs[0].rows) for aggregation in operator.aggregations)]


def _key(row: Row, positions: Sequence[int]) -> tuple[Any, ...]:
    return tuple(token(row[position]) for position in positions)


def _join(operator: Any, inputs: Sequence[Table]) -> list[Row]:
    left, right = inputs[0].rows, inputs[1].rows
    values = [position for position in range(len(inputs[1].kinds)) if position not in operator.right_keys]
    nothing = (None,) * len(values)

    def unmatched_right(row: Row) -> Row:
        filled: list[Any] = [None] * len(inputs[0].kinds)
        for a, b in zip(operator.left_keys, operator.right_keys, strict=True):
            filled[a] = row[b]
        return (*filled, *[row[position] for position in values])

    pairs = [(i, j) for i, a in enumerate(left) for j, b in enumerate(right) if _key(a, operator.left_keys) == _key(b, operator.right_keys)]
    found = [(i, j, (*left[i], *[right[j][position] for position in values])) for i, j in pairs]
    last = len(left)
    if operator.how in ("left", "outer"):
        matched = {i for i, _ in pairs}
        found += [(i, 0, (*row, *nothing)) for i, row in enumerate(left) if i not in matched]
    if operator.how in ("right", "outer"):
        matched = {j for _, j in pairs}
        found += [(last, j, unmatched_right(row)) for j, row in enumerate(right) if j not in matched]
    order = (lambda item: (item[1], item[0])) if operator.how == "right" else (lambda item: (item[0], item[1]))
    return [row for _, _, row in sorted(found, key=order)]


def _row_number(operator: Any, inputs: Sequence[Table]) -> list[Row]:
    return [(operator.start + place,) for place in range(len(inputs[0].rows))]


def _running(values: Sequence[Any], kind: str) -> Any:
    """One running value: an aggregate of the values so far that are not missing; missing while there is none."""
    found = aggregates.present(values)
    if not found:
        return None
    if kind == "sum":
        return exact_sum(found)
    if kind == "mean":
        return aggregates.mean(found)
    if kind in ("min", "max"):
        return aggregates.smallest(found, kind == "max", True)
    spread = aggregates.squared_deviations(found) / len(found)
    return math.sqrt(spread) if kind in ("std", "stdv") else spread


def _cumulative(operator: Any, inputs: Sequence[Table]) -> list[Row]:
    values = inputs[0].column(0)
    return [(_running(values[: place + 1], operator.kind),) for place in range(len(values))]


def _window(operator: Any, values: Sequence[Any], place: int) -> Any:
    first, last = max(place + operator.before, 0), max(place + operator.after + 1, 0)
    found = aggregates.present(values[first:last])
    if operator.kind == "count":
        return len(found)
    width = operator.after - operator.before + 1
    needed = width if operator.minimum is None else max(operator.minimum, 1)
    if len(found) < needed:
        return None
    if operator.kind in ("min", "max") and is_nan(found[0]):
        # As the reference has it: NaN wins where it comes first, and is passed over elsewhere.
        return math.nan
    return _running(found, operator.kind)


def _rolling(operator: Any, inputs: Sequence[Table]) -> list[Row]:
    values = inputs[0].column(0)
    return [(_window(operator, values, place),) for place in range(len(values))]


def _shift(operator: Any, inputs: Sequence[Table]) -> list[Row]:
    values = inputs[0].column(0)
    fill = None if operator.fill is None else operator.fill.value
    sources = [place - operator.rows for place in range(len(values))]
    return [(values[source] if 0 <= source < len(values) else fill,) for source in sources]


def _rows_so_far(operator: Any, inputs: Sequence[Table]) -> list[Row]:
    groups: dict[Any, list[Row]] = {}
    result = []
    for row in inputs[0].rows:
        seen = groups.setdefault(_key(row, operator.keys), [])
        seen.append(row)
        result.append(tuple(_aggregated(aggregation, inputs[0], seen) for aggregation in operator.aggregations))
    return result


def _smoothed(operator: Any, inputs: Sequence[Table]) -> list[Row]:
    groups: dict[Any, list[tuple[Any, Any]]] = {}
    result: list[Row] = []
    for row in inputs[0].rows:
        seen = groups.setdefault(_key(row, operator.keys), [])
        now = row[operator.time]
        seen.append((now, row[operator.value]))
        known = [] if now is None else [(now - then, value) for then, value in seen if then is not None and value is not None]
        weights = [0.5 ** (gap / operator.half_life) for gap, _ in known]
        total = sum(weight * value for weight, (_, value) in zip(weights, known, strict=True))
        result.append((total / sum(weights) if known else None,))
    return result


def _flat_map(operator: Any, inputs: Sequence[Table]) -> list[Row]:
    names = operator.function.names
    results = [operator.function.function(dict(zip(names, row, strict=True))) for row in inputs[0].rows]
    return [tuple(item) for result in results for item in result]


def _explode(operator: Any, inputs: Sequence[Table]) -> list[Row]:
    found: list[Row] = []
    for row in inputs[0].rows:
        value, others = row[operator.position], (*row[: operator.position], *row[operator.position + 1 :])
        items: list[Any] = [] if value is None else [*value.items()] if isinstance(value, dict) else [(item,) for item in value]
        if not items and operator.keeps_empty:
            items = [(None,) * len(operator.types)]
        found += [(*others, *item) for item in items]
    return found


MEANINGS: dict[str, Callable[[Any, Sequence[Table]], list[Row]]] = {
    **SOURCES,
    **LOOKUPS,
    **INTERVALS,
    "project": _project,
    "arrange": _arrange,
    "zip": lambda operator, inputs: side_by_side(inputs),
    "transform": _transform,
    "binary_transform": _transform,
    "ternary_transform": _transform,
    "generalized_transform": _generalized,
    "lambda_transform": _lambda,
    "filter": _filter,
    "filter_rows": _filter_rows,
    "slice": _slice,
    "append": _append,
    "sort": _sort,
    "suffix_sort": _sort,
    "reverse": lambda operator, inputs: inputs[0].rows[::-1],
    "assume_order": lambda operator, inputs: list(inputs[0].rows),
    "top_rows": _top_rows,
    "group_by": _group_by,
    "streaming_group_by": _runs,
    "reduce": _reduce,
    "join": _join,
    "hash_join": _join,
    "sorted_join": lambda operator, inputs: _join(operator.as_join(), inputs),
    "row_number": _row_number,
    "cumulative": _cumulative,
    "rolling": _rolling,
    "flat_map": _flat_map,
    "explode": _explode,
    "shift": _shift,
    "running": _rows_so_far,
    "exponential_smoothing": _smoothed,
}
"""Meanings by operator name."""
