"""The oracle: a second, naive implementation of the operators on plain Python rows, for comparison with the engine.

It uses no code of the planner, the laws, the kernels or the lowerings: it only reads the parameters of operators and the types of
columns. If the engine and the oracle disagree, one of them is wrong.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from fractions import Fraction
from itertools import groupby
from typing import TYPE_CHECKING, Any

import attrs

from sframe_spark.testing import oracle_values
from sframe_spark.testing.oracle_values import SOURCES, Row, exact_sum, is_nan, rank, token
from sframe_spark.values.decode import decode

if TYPE_CHECKING:
    from sframe_spark.planner.node import PlannerNode


# Cycles and intervals, computed with exact fractions.

EPOCH = datetime(1970, 1, 1)


def number_of(value: Any) -> Any:
    """Convert a time to an exact number, a datetime to microseconds since 1970; return None if it is missing, infinite or NaN."""
    if isinstance(value, datetime):
        return (value - EPOCH) // timedelta(microseconds=1)
    return None if value is None or not math.isfinite(value) else Fraction(value)


def time_of(number: Fraction, like: Any, is_float: bool) -> Any:
    """Convert a number to a datetime if ``like`` is one, otherwise to a float or an int."""
    if isinstance(like, datetime):
        return EPOCH + timedelta(microseconds=int(number))
    return float(number) if is_float else int(number)


def interval(number: Any, every: Any, closed: str) -> tuple[Fraction, Fraction]:
    """Return both ends of the interval that contains a number, among intervals of length ``every`` that start at its multiples."""
    shares = Fraction(number) / Fraction(every)
    place = math.floor(shares) if closed == "left" else math.ceil(shares) - 1
    return place * Fraction(every), (place + 1) * Fraction(every)


def between(number: Any, ticks: Sequence[Any], closed: str) -> tuple[Any, Any] | None:
    """Return the two consecutive ticks between which a number lies, or None if it is outside of all ticks."""
    pairs = itertools.pairwise(ticks)
    containing = [(a, b) for a, b in pairs if (a <= number < b if closed == "left" else a < number <= b)]
    return containing[0] if containing else None


def _assign(operator: Any, inputs: Sequence[Table]) -> list[Row]:
    grid, place = operator.grid, operator.position
    ticks = None if operator.clock is None else [number_of(tick) for tick in decode(operator.clock.columns[0], operator.clock_type)]
    is_float = inputs[0].kinds[place] == "float" or isinstance(grid.every, float) or getattr(operator.clock_type, "kind", "") == "float"
    result: list[Row] = []
    for row in inputs[0].rows:
        number = number_of(row[place])
        if number is None:
            continue
        ends = interval(number, grid.every, grid.closed) if ticks is None else between(number, ticks, grid.closed)
        if ends is not None:
            label = time_of(ends[grid.label == "right"], row[place], is_float)
            result.append((*row[:place], label, *row[place + 1 :]))
    return result


def _fill(operator: Any, inputs: Sequence[Table]) -> list[Row]:
    result: list[Row] = []
    before: Row | None = None
    is_float = inputs[0].kinds[0] == "float"
    for row in inputs[0].rows:
        width = 1 + operator.keys
        if before is not None and [token(value) for value in before[1:width]] == [token(value) for value in row[1:width]]:
            label = number_of(before[0]) + Fraction(operator.every)
            while label < number_of(row[0]):
                rest = before[width:] if operator.forward else (None,) * (len(row) - width)
                result.append((time_of(label, row[0], is_float), *before[1:width], *rest))
                label += Fraction(operator.every)
        result.append(row)
        before = row
    return result


def _map_cycles(operator: Any, inputs: Sequence[Table]) -> list[Row]:
    names = operator.function.function.names
    result: list[Row] = []
    for _, run in itertools.groupby(inputs[0].rows, lambda row: [token(row[position]) for position in operator.keys]):
        rows = list(run)
        parts: dict[Any, list[int]] = {}
        for place, row in enumerate(rows):
            parts.setdefault(tuple(token(row[position]) for position in operator.within), []).append(place)
        added: list[Any] = [None] * len(rows)
        for places in parts.values():
            found = operator.function.function.function([dict(zip(names, rows[place], strict=False)) for place in places])
            lists = [found] if operator.function.single else [found[name] for name in operator.function.columns]
            for index, place in enumerate(places):
                added[place] = tuple(values[index] for values in lists)
        result += [(*row, *new) for row, new in zip(rows, added, strict=True)]
    return result


INTERVALS: dict[str, Callable[[Any, Sequence[Table]], list[Row]]] = {
    "assign_intervals": _assign,
    "fill_intervals": _fill,
    "map_cycles": _map_cycles,
}
"""Implementations by operator name."""


# Aggregates on plain Python values.

Aggregate = Callable[..., Any]
"""``aggregate(columns, parameters, kinds)``: the values of each argument in row order, and the kinds of the arguments."""


def present(values: Sequence[Any]) -> list[Any]:
    """Return the values that are not missing."""
    return [value for value in values if value is not None]


def total(values: Sequence[Any], kind: str) -> Any:
    """Return the sum of the values that are not missing; if there are none, 0 for the kind ``int``, otherwise 0.0."""
    found = present(values)
    return exact_sum(found) if found else (0 if kind == "int" else 0.0)


def mean(values: Sequence[Any]) -> float | None:
    """Return the mean of the values that are not missing, or None if there are none."""
    found = [float(value) for value in present(values)]
    return exact_sum(found) / len(found) if found else None


def squared_deviations(values: Sequence[Any]) -> float:
    """Return the sum of squared distances from the mean of the values that are not missing; NaN if a value is not finite.

    At least one value must be present.
    """
    found = [float(value) for value in present(values)]
    if not all(map(math.isfinite, found)):
        return math.nan
    middle = math.fsum(found) / len(found)
    return math.fsum((value - middle) ** 2 for value in found)


def variance(values: Sequence[Any]) -> float:
    """Return the population variance of the values that are not missing; zero if there is at most one."""
    count = len(present(values))
    return squared_deviations(values) / count if count > 1 else 0.0


def column_variance(values: Sequence[Any], freedom: int) -> float | None:
    """Return the variance of the values that are not missing, with the divisor ``count - freedom``, or None if there are none.

    If the divisor is not positive: infinity if it is zero and the values differ, otherwise NaN.
    """
    count = len(present(values))
    if not count:
        return None
    squares = squared_deviations(values)
    if count > freedom:
        return squares / (count - freedom)
    return math.inf if count == freedom and squares > 0 else math.nan


def smallest(values: Sequence[Any], largest: bool, skip_nan: bool) -> Any:
    """Return the smallest (or largest) value that is not missing, or None if there are none.

    NaN if any value is NaN; with ``skip_nan``, only if there is no other value.
    """
    found = present(values)
    numbers = [value for value in found if not is_nan(value)]
    if len(numbers) < len(found) and not (skip_nan and numbers):
        return math.nan
    return (max(numbers) if largest else min(numbers)) if numbers else None


def value_at_extreme(values: Sequence[Any], others: Sequence[Any], largest: bool, last: bool) -> Any:
    """Return the item of ``others`` in the first (or last) row in which ``values`` is smallest (or largest), or None if all are missing.

    NaN is used only if there is no other value.
    """
    places = [place for place, value in enumerate(values) if value is not None]
    numbers = [place for place in places if not is_nan(values[place])]
    chosen = numbers or places
    if not chosen:
        return None
    best = smallest([values[place] for place in chosen], largest, True)
    ties = [place for place in chosen if is_nan(best) or values[place] == best]
    return others[ties[-1] if last else ties[0]]


def distinct(values: Sequence[Any]) -> list[Any]:
    """Return the distinct values, including the missing value, in order of first occurrence."""
    found: dict[Any, Any] = {}
    for value in values:
        found.setdefault(token(value), value)
    return list(found.values())


def quantiles(values: Sequence[Any], shares: Sequence[float]) -> list[float]:
    """Return, for each share, the value below which that share of the values lies; zeros if all are missing. NaN counts as the largest value."""
    ordered = sorted((float(value) for value in present(values)), key=lambda value: (is_nan(value), 0.0 if is_nan(value) else value))
    if not ordered:
        return [0.0] * len(shares)
    return [ordered[min(len(ordered) - 1, int(share * len(ordered)))] for share in shares]


def frequencies(values: Sequence[Any]) -> dict[Any, int]:
    """Return how often each distinct value occurs."""
    counts: dict[Any, int] = {}
    for value in values:
        counts[value] = counts.get(value, 0) + 1
    return counts


def _root(value: float | None) -> float | None:
    return None if value is None else math.sqrt(value)


AGGREGATES: dict[str, Aggregate] = {
    "sum": lambda columns, parameters, kinds: total(columns[0], kinds[0]),
    "mean": lambda columns, parameters, kinds: mean(columns[0]),
    "var": lambda columns, parameters, kinds: variance(columns[0]),
    "std": lambda columns, parameters, kinds: math.sqrt(variance(columns[0])),
    "column_var": lambda columns, parameters, kinds: column_variance(columns[0], parameters[0]),
    "column_std": lambda columns, parameters, kinds: _root(column_variance(columns[0], parameters[0])),
    "min": lambda columns, parameters, kinds: smallest(columns[0], False, False),
    "max": lambda columns, parameters, kinds: smallest(columns[0], True, False),
    "column_min": lambda columns, parameters, kinds: smallest(columns[0], False, True),
    "column_max": lambda columns, parameters, kinds: smallest(columns[0], True, True),
    "argmin": lambda columns, parameters, kinds: value_at_extreme(columns[0], columns[1], False, False),
    "argmax": lambda columns, parameters, kinds: value_at_extreme(columns[0], columns[1], True, False),
    "argmin_row": lambda columns, parameters, kinds: value_at_extreme(columns[0], columns[1], False, True),
    "argmax_row": lambda columns, parameters, kinds: value_at_extreme(columns[0], columns[1], True, True),
    "select_one": lambda columns, parameters, kinds: columns[0][0] if columns[0] else None,
    "count_missing": lambda columns, parameters, kinds: len(columns[0]) - len(present(columns[0])),
    "count_runs": lambda columns, parameters, kinds: sum(1 for _ in groupby(columns[0], token)),
    "count_distinct": lambda columns, parameters, kinds: len(distinct(columns[0])),
    "distinct": lambda columns, parameters, kinds: distinct(columns[0]),
    "concat": lambda columns, parameters, kinds: present(columns[0]),
    "quantile": lambda columns, parameters, kinds: quantiles(columns[0], parameters),
    "freq_count": lambda columns, parameters, kinds: frequencies(columns[0]),
}
"""All aggregates but ``count``, which has no argument."""


# Joins by near keys and sorted merges: every row is compared with every other row.


def is_key(value: Any) -> bool:
    """Return whether a key can match: it is neither missing nor NaN."""
    return value is not None and value == value


def gap(first: Any, second: Any) -> Any:
    """Return the distance between two keys, in microseconds for datetimes."""
    if first == second:
        return 0
    distance = abs(first - second)
    return distance // timedelta(microseconds=1) if isinstance(distance, timedelta) else distance


def match(operator: Any, row: Row, others: Sequence[Row]) -> Row | None:
    """Return the row that an as-of join finds for a row, or None if no row matches."""
    key, group = row[0], row[1 : 1 + len(operator.by)]
    if not is_key(key) or None in group:
        return None
    near = [(other[operator.on], place) for place, other in enumerate(others) if is_key(other[operator.on])]
    near = [(at, place) for at, place in near if operator.allow_exact or at != key]
    near = [(at, place) for at, place in near if all(token(others[place][p]) == token(value) for p, value in zip(operator.by, group, strict=True))]
    before = max((found for found in near if found[0] <= key), default=None)
    after = min((found for found in near if found[0] >= key), default=None)
    candidates = {"backward": [before], "forward": [after], "nearest": [before, after]}[operator.direction]
    found = min((item for item in candidates if item is not None), key=lambda item: gap(item[0], key), default=None)
    if found is None or (operator.tolerance is not None and gap(found[0], key) > operator.tolerance):
        return None
    return others[found[1]]


def asof_join(operator: Any, inputs: Sequence[Table]) -> list[Row]:
    """Return the selected columns of each left row, followed by the values of the row that matches it, or missing values."""
    result: list[Row] = []
    for row in inputs[0].rows:
        found = match(operator, row, inputs[1].rows)
        kept = [row[position] for position in operator.kept]
        result.append((*kept, *[None if found is None else found[position] for position in operator.values]))
    return result


def key_window(operator: Any, inputs: Sequence[Table]) -> list[Row]:
    """Return the selected columns of each left row, followed by aggregates of the right rows whose keys are near its key."""
    result: list[Row] = []
    for row in inputs[0].rows:
        key = row[operator.on]
        near = [other for other in inputs[1].rows if is_key(key) and is_key(other[operator.on])]
        near = [other for other in near if gap(other[operator.on], key) <= (operator.before if other[operator.on] < key else operator.after)]
        near = [other for other in near if all(token(other[position]) == token(row[position]) for position in operator.by)]
        result.append((*[row[p] for p in operator.kept], *[aggregated(item, inputs[1], near) for item in operator.aggregations]))
    return result


def aggregated(aggregation: Any, table: Table, rows: Sequence[Row]) -> Any:
    """Return one aggregate of some rows of a table."""
    if aggregation.function == "count":
        return len(rows)
    columns = [[row[position] for row in rows] for position in aggregation.positions]
    return AGGREGATES[aggregation.function](columns, aggregation.parameters, [table.kinds[p] for p in aggregation.positions])


def merge_sorted(operator: Any, inputs: Sequence[Table]) -> list[Row]:
    """Return the rows of both inputs, sorted; of rows that tie, the left ones come first."""
    rows = [*inputs[0].rows, *inputs[1].rows]
    for position, ascending in reversed(operator.by):
        # A descending pass reverses the rows before and after it, so that ties keep their order.
        rows = sorted(rows if ascending else rows[::-1], key=lambda row, place=position: rank(row[place]))  # type: ignore[misc]
        rows = rows if ascending else rows[::-1]
    return rows


LOOKUPS: dict[str, Callable[[Any, Sequence[Table]], list[Row]]] = {
    "asof_join": asof_join,
    "key_window": key_window,
    "merge_sorted": merge_sorted,
}
"""Implementations by operator name."""


def _project(operator: Any, inputs: Sequence[Table]) -> list[Row]:
    return [tuple(row[position] for position in operator.positions) for row in inputs[0].rows]


def _arrange(operator: Any, inputs: Sequence[Table]) -> list[Row]:
    shown = list(zip(operator.slots, operator.positions, strict=True))
    return [tuple(rows[slot][position] for slot, position in shown) for rows in zip(*[table.rows for table in inputs], strict=True)]


def side_by_side(inputs: Sequence[Table]) -> list[Row]:
    """Return rows with the columns of all inputs: each is made of the input rows at one position.

    Raises
    ------
    ValueError
        If the inputs have different numbers of rows.
    """
    return [tuple(value for row in rows for value in row) for rows in zip(*[table.rows for table in inputs], strict=True)]


def call(function: Any, arguments: Sequence[Any], parameters: Sequence[Any]) -> Any:
    """Call a built-in scalar function, which is given by name, or a user function, on the values of one row."""
    if not isinstance(function, str):
        return call_user(function, arguments)
    if function == "cast":
        return oracle_values.cast(arguments[0], "" if arguments[0] is None else type(arguments[0]).__name__, parameters[0].kind)
    if function in oracle_values.PARAMETRIC:
        return oracle_values.PARAMETRIC[function](*arguments, *parameters)
    return oracle_values.SCALARS[function](*arguments)


def call_user(function: Any, arguments: Sequence[Any]) -> Any:
    """Call a user function on one value, or, if it has column names, on a row as a dict; return None for a missing value that it skips."""
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
    """Return rows sorted by columns, each with whether it ascends; rows that tie keep their order.

    The rows are sorted by one column at a time, the last first: as each pass is stable, earlier columns take precedence.
    """
    result = list(rows)
    for position, ascending in reversed(by):
        # A descending pass reverses the rows before and after it, so that ties keep their order.
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
    return AGGREGATES[aggregation.function](columns, aggregation.parameters, kinds)


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
    """Return an aggregate of the values that are not missing, or None if there are none."""
    found = present(values)
    if not found:
        return None
    if kind == "sum":
        return exact_sum(found)
    if kind == "mean":
        return mean(found)
    if kind in ("min", "max"):
        return smallest(found, kind == "max", True)
    spread = squared_deviations(found) / len(found)
    return math.sqrt(spread) if kind in ("std", "stdv") else spread


def _cumulative(operator: Any, inputs: Sequence[Table]) -> list[Row]:
    values = inputs[0].column(0)
    return [(_running(values[: place + 1], operator.kind),) for place in range(len(values))]


def _window(operator: Any, values: Sequence[Any], place: int) -> Any:
    first, last = max(place + operator.before, 0), max(place + operator.after + 1, 0)
    found = present(values[first:last])
    if operator.kind == "count":
        return len(found)
    width = operator.after - operator.before + 1
    needed = width if operator.minimum is None else max(operator.minimum, 1)
    if len(found) < needed:
        return None
    if operator.kind in ("min", "max") and is_nan(found[0]):
        # Like the reference engine: the result is NaN if the first value is NaN; at other positions NaN is ignored.
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
"""Implementations by operator name."""


# Evaluation of plans, node by node.

Rows = list[Row]


@attrs.frozen(eq=False)
class Table:
    """Rows and the kinds of their columns (``int``, ``float``, ``str`` and so on)."""

    rows: Rows
    kinds: tuple[str, ...]

    def column(self, position: int) -> list[Any]:
        """Return the values of one column, in row order."""
        return [row[position] for row in self.rows]


Meaning = Callable[[Any, Sequence[Table]], Rows]


class Oracle:
    """Evaluates nodes on plain Python rows, and caches the rows of every node.

    Parameters
    ----------
    meanings
        Functions ``meaning(operator, inputs)`` that return an operator's rows, by the name of the operator. They are needed for
        the operators of other packages, and replace those of this package with the same name.

    Examples
    --------
    >>> from sframe_spark.operators.sources.in_memory import range_source
    >>> from sframe_spark.operators.row_selection import slice_rows
    >>> Oracle().rows(slice_rows(range_source(10, 5), 1, None, 2))
    [(11,), (13,)]
    """

    def __init__(self, meanings: Mapping[str, Meaning] | None = None) -> None:
        self.meanings: dict[str, Meaning] = {**MEANINGS, **(meanings or {})}
        # Tables are stored with their nodes, because an id is only unique while the node lives.
        self._known: dict[int, tuple[PlannerNode, Table]] = {}

    def rows(self, node: PlannerNode) -> Rows:
        """Return the rows of a node, in row order.

        Raises
        ------
        KeyError
            If the oracle has no implementation of the operator of the node, or of a node below it.
        """
        return self.table(node).rows

    def table(self, node: PlannerNode) -> Table:
        """Return the rows of a node and the kinds of its columns; see :meth:`rows`."""
        stack = [node]
        while stack:
            current = stack[-1]
            pending = [child for child in current.inputs if id(child) not in self._known]
            if id(current) in self._known or not pending:
                stack.pop()
                if id(current) not in self._known:
                    self._known[id(current)] = (current, self._evaluate(current))
            else:
                stack.extend(pending)
        return self._known[id(node)][1]

    def _evaluate(self, node: PlannerNode) -> Table:
        meaning = self.meanings.get(node.operator_type)
        if meaning is None:
            raise KeyError(f"the oracle has no meaning for the operator {node.operator_type!r}: give it one")
        rows = meaning(node.operator, [self._known[id(child)][1] for child in node.inputs])
        return Table(rows, tuple(column_type.kind for column_type in node.schema))
