"""The oracle: a second, naive implementation of the operators on plain Python rows, for comparison with the engine.

It uses no code of the planner, the laws, the kernels or the lowerings: it only reads the parameters of operators and the types of
columns. If the engine and the oracle disagree, one of them is wrong.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta, timezone
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeVar

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sframe_spark.expressions.translated_function import TranslatedFunction
from sframe_spark.images import Image
from sframe_spark.testing import oracle_functions
from sframe_spark.testing.oracle_functions import Row, is_nan, present, rank, token
from sframe_spark.values.arrow_to_python import decode

if TYPE_CHECKING:
    from sframe_spark.planner.node import PlannerNode

Rows = list[Row]
Item = TypeVar("Item")


@attrs.frozen(eq=False)
class Table:
    """Rows and the kinds of their columns (``int``, ``float``, ``str`` and so on)."""

    rows: Rows
    kinds: tuple[str, ...]

    def column(self, position: int) -> list[Any]:
        """Return the values of one column, in row order."""
        return [row[position] for row in self.rows]


Meaning = Callable[[Any, Sequence[Table]], Rows]
"""``meaning(operator, inputs)`` returns the rows of an operator."""


# Rows of sources, read with pyarrow instead of the engine.


def cells(column: Any, column_type: Any) -> list[Any]:
    """Return the Python values of an Arrow column, as users see them."""
    convert: Callable[[Any], Any] = lambda value: value  # noqa: E731
    if column_type.kind == "dict":
        # Either a list of pairs (an Arrow map), or JSON with the pairs under the key ``$dict``.
        convert = lambda value: dict(json.loads(value)["$dict"] if isinstance(value, str) else value)  # noqa: E731
    elif column_type.kind == "list" and pa.types.is_string(column_type.physical):
        convert = json.loads
    elif column_type.is_zoned:
        convert = _zoned
    elif column_type.kind == "ndarray":
        convert = lambda value: np.array(value["values"], dtype=float).reshape(value["shape"])  # noqa: E731
    elif column_type.kind == "image":
        convert = lambda value: Image.of_parts(*value.values())  # noqa: E731
    return [None if value is None else convert(value) for value in column.to_pylist()]


def _zoned(stored: Mapping[str, Any]) -> datetime:
    """Return the datetime of a stored instant (UTC) and its offset in minutes; without a time zone if there is no offset."""
    instant: datetime = stored["instant"]
    if stored["offset"] is None:
        return instant
    return instant.replace(tzinfo=UTC).astimezone(timezone(timedelta(minutes=stored["offset"])))


def rows_of(columns: Sequence[Any], types: Sequence[Any]) -> Rows:
    """Return the rows of Arrow columns, as tuples of Python values."""
    return list(zip(*[cells(column, column_type) for column, column_type in zip(columns, types, strict=True)], strict=True))


def _memory(operator: Any, inputs: Sequence[Table]) -> Rows:
    if not operator.positions:
        return [()] * (operator.stop - operator.start)
    types = [operator.types[position] for position in operator.positions]
    return rows_of([operator.data.column(position, operator.start, operator.stop) for position in operator.positions], types)


def _segments(operator: Any, inputs: Sequence[Table]) -> Rows:
    """Return the rows from ``start`` to ``stop`` of all segment files together, in the order of the manifest."""
    manifest = operator.manifest
    types = [manifest.types[position] for position in operator.positions]
    in_files = manifest.column_names_in_files
    names = [f"c{position}" if in_files is None else in_files[position] for position in operator.positions]
    rows: Rows = []
    for segment in manifest.segments:
        if segment.rows:
            table = pq.read_table(f"{manifest.directory}/{segment.file}", columns=sorted(set(names)), partitioning=None)
            rows += rows_of([table.column(name) for name in names], types) if names else [()] * segment.rows
    return rows[operator.start : operator.stop]


def _segment_parts(operator: Any, inputs: Sequence[Table]) -> Rows:
    rows = _segments(attrs.evolve(operator.whole, start=0, stop=operator.manifest.rows), inputs)
    return [row for first, last in operator.ranges for row in rows[first:last]]


def _archive(operator: Any, inputs: Sequence[Table]) -> Rows:
    """Return the rows of an archive that a test wrote, read from the Parquet copy that the test stored in the archive's directory."""
    if not operator.positions:
        return [()] * (operator.stop - operator.start)
    types = operator.infer_type(())
    table = pq.read_table(f"{operator.archive.location}/written.parquet", partitioning=None)
    return rows_of([table.column(f"c{position}") for position in operator.positions], types)[operator.start : operator.stop]


def _spark(operator: Any, inputs: Sequence[Table]) -> Rows:
    """Return the rows that Spark collects; their order is only defined if the DataFrame is sorted."""
    rows = operator.df.collect()
    return [tuple(value.replace(tzinfo=None) if isinstance(value, datetime) else value for value in row) for row in rows]


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


def interval(number: Any, grid: Any) -> tuple[Fraction, Fraction]:
    """Return both ends of the interval that contains a number, among intervals of one length that start at its multiples after an origin."""
    every, origin = Fraction(grid.every), Fraction(grid.origin)
    quotient = (Fraction(number) - origin) / every
    multiple = math.floor(quotient) if grid.closed == "left" else math.ceil(quotient) - 1
    return origin + multiple * every, origin + (multiple + 1) * every


def between(number: Any, ticks: Sequence[Any], closed: str) -> tuple[Any, Any] | None:
    """Return the two consecutive ticks between which a number lies, or None if it is outside of all ticks."""
    pairs = itertools.pairwise(ticks)
    return next(((a, b) for a, b in pairs if (a <= number < b if closed == "left" else a < number <= b)), None)


def _assign(operator: Any, inputs: Sequence[Table]) -> Rows:
    grid, position = operator.grid, operator.position
    ticks = None if operator.clock is None else [number_of(tick) for tick in decode(operator.clock.columns[0], operator.clock_type)]
    is_float = inputs[0].kinds[position] == "float" or grid.is_float or getattr(operator.clock_type, "kind", "") == "float"
    result: Rows = []
    for row in inputs[0].rows:
        number = number_of(row[position])
        if number is None:
            continue
        ends = interval(number, grid) if ticks is None else between(number, ticks, grid.closed)
        if ends is not None:
            label = time_of(ends[grid.label == "right"], row[position], is_float)
            result.append((*row[:position], label, *row[position + 1 :]))
    return result


def _fill(operator: Any, inputs: Sequence[Table]) -> Rows:
    result: Rows = []
    is_float, width = inputs[0].kinds[0] == "float", 1 + operator.keys
    for row in inputs[0].rows:
        before = result[-1] if result else None
        if before is not None and _key(before, range(1, width)) == _key(row, range(1, width)):
            label = number_of(before[0]) + Fraction(operator.grid.every)
            while label < number_of(row[0]):
                rest = before[width:] if operator.forward else (None,) * (len(row) - width)
                result.append((time_of(label, row[0], is_float), *before[1:width], *rest))
                label += Fraction(operator.grid.every)
        result.append(row)
    return result


def _map_cycles(operator: Any, inputs: Sequence[Table]) -> Rows:
    mapped = operator.function
    result: Rows = []
    for _, run in itertools.groupby(inputs[0].rows, lambda row: _key(row, operator.keys)):
        rows = list(run)
        added: list[Any] = [None] * len(rows)
        for members in _grouped(enumerate(rows), lambda item: _key(item[1], operator.within)):
            values = mapped.function.function([dict(zip(mapped.function.names, row, strict=False)) for _, row in members])
            columns = [values] if mapped.single else [values[name] for name in mapped.columns]
            for (index, _), new in zip(members, zip(*columns, strict=True), strict=False):
                added[index] = new
        result += [(*row, *new) for row, new in zip(rows, added, strict=True)]
    return result


# Joins by near keys: every row is compared with every other row.


def is_key(value: Any) -> bool:
    """Return whether a key can match: it is neither missing nor NaN."""
    return value is not None and value == value


def gap(first: Any, second: Any) -> Any:
    """Return the exact distance between two keys, in microseconds for datetimes."""
    if first == second:
        return 0
    if isinstance(first, datetime):
        return abs(first - second) // timedelta(microseconds=1)
    return abs(exact(first) - exact(second))


def exact(number: Any) -> Any:
    """Return a number as a fraction, unless it is infinite."""
    return Fraction(number) if math.isfinite(number) else number


def match(operator: Any, row: Row, others: Rows) -> Row | None:
    """Return the row that an as-of join finds for a row, or None if no row matches."""
    key, group = row[0], row[1 : 1 + len(operator.by)]
    if not is_key(key) or None in group:
        return None
    same_group = [other for other in others if _key(other, operator.by) == tuple(map(token, group))]
    near = [(other[operator.on], number) for number, other in enumerate(same_group) if is_key(other[operator.on])]
    near = [(time, number) for time, number in near if operator.allow_exact or time != key]
    before = max((item for item in near if item[0] <= key), default=None)
    after = min((item for item in near if item[0] >= key), default=None)
    candidates = {"backward": [before], "forward": [after], "nearest": [before, after]}[operator.direction]
    nearest = min(filter(None, candidates), key=lambda item: gap(item[0], key), default=None)
    if nearest is None or (operator.tolerance is not None and gap(nearest[0], key) > operator.tolerance):
        return None
    return same_group[nearest[1]]


def asof_join(operator: Any, inputs: Sequence[Table]) -> Rows:
    """Return the selected columns of each left row, followed by the values of the row that matches it, or missing values."""
    matches = [(row, match(operator, row, inputs[1].rows)) for row in inputs[0].rows]
    return [(*_part(row, operator.kept), *(None if other is None else other[p] for p in operator.values)) for row, other in matches]


def key_window(operator: Any, inputs: Sequence[Table]) -> Rows:
    """Return the selected columns of each left row, followed by aggregates of the right rows whose keys are in the window of its key."""
    result: Rows = []
    on, *by = operator.probe or (operator.on, *operator.by)
    for row in inputs[0].rows:
        key = row[on]
        near = [other for other in inputs[1].rows if is_key(other[operator.on]) and _key(other, operator.by) == _key(row, by)]
        near = [other for other, inside in zip(near, in_window(operator, [other[operator.on] for other in near], key), strict=True) if inside]
        result.append((*_part(row, operator.kept), *_aggregates(operator, inputs[1], near)))
    return result


def in_window(operator: Any, keys: Sequence[Any], center: Any) -> list[bool]:
    """Return which of some keys in ascending order are in the window around a key."""
    if not is_key(center):
        return [False] * len(keys)
    if isinstance(center, datetime):
        keys, center = [(key - center) // timedelta(microseconds=1) for key in keys], 0
    else:
        keys, center = [exact(key) for key in keys], exact(center)
    start = None if operator.before is None else center - exact(operator.before)
    end = None if operator.after is None else center + exact(operator.after)
    after_start = [start is None or key > start or (key == start and operator.closed in ("both", "left")) for key in keys]
    before_end = [end is None or key < end or (key == end and operator.closed in ("both", "right")) for key in keys]
    inside = [first and last for first, last in zip(after_start, before_end, strict=True)]
    entered = [place for place, key in enumerate(keys) if start is not None and key <= start]
    if operator.prevailing and entered:
        inside[entered[-1]] = True
    return inside


def interval_join(operator: Any, inputs: Sequence[Table]) -> Rows:
    """Return the pairs of rows whose intervals meet, each pair of rows compared."""
    result: Rows = []
    rows = inputs[1].rows if operator.number is None else sorted(inputs[1].rows, key=lambda other: other[operator.number])
    for row in inputs[0].rows:
        found = [other for other in rows if _key(row, operator.left_by) == _key(other, operator.right_by) and meet(operator, row, other)]
        result += [(*row, *(other[position] for position in operator.values)) for other in found]
        if not found and operator.how == "left":
            result.append((*row, *[None] * len(operator.values)))
    return result


def meet(operator: Any, row: Row, other: Row) -> bool:
    """Return whether a point of one row is in the interval of another, or whether both intervals overlap."""
    (a, b), (c, d) = [row[p] for p in operator.left_ends], [other[p] for p in operator.right_ends]
    if not all(map(is_key, (a, b, c, d))):
        return False
    ends = (len(set(operator.left_ends)), len(set(operator.right_ends)))
    if 1 in ends:
        point, start, end = (a, c, d) if ends[0] == 1 else (c, a, b)
        after_start = start <= point if operator.closed in ("both", "left") else start < point
        return after_start and (point <= end if operator.closed in ("both", "right") else point < end)
    return (max(a, c) <= min(b, d) and a <= b and c <= d) if operator.closed == "both" else (max(a, c) < min(b, d) and a < b and c < d)


def interpolation(operator: Any, inputs: Sequence[Table]) -> Rows:
    """Return the selected columns of each left row, followed by its value, or by a point between the known values around it."""
    result: Rows = []
    for row in inputs[0].rows:
        number, value, place = (row[position] for position in (operator.on, operator.value, operator.along))
        known = [other for other in inputs[1].rows if _key(other, operator.by) == _key(row, operator.by)]
        before = [other for other in known if number is not None and other[operator.on] < number][-1:]
        after = [other for other in known if number is not None and other[operator.on] > number][:1]
        made = None if value is None else float(value)
        if not is_key(value) and is_key(place) and before and after:
            ends = [(other[operator.along], float(other[operator.value])) for other in (*before, *after)]
            is_last = operator.method == "nearest" and gap(ends[1][0], place) < gap(place, ends[0][0])
            source = (after if is_last else before)[0]
            if is_within(operator.limit, row, source, operator.measure):
                made = point_between(ends[0], place, ends[1]) if operator.method == "linear" else ends[is_last][1]
        result.append((*_part(row, operator.kept), made))
    return result


def is_within(limit: Any, row: Row, source: Row, measure: int | None) -> bool:
    """Return whether a row is within the limit of the row that it is filled from."""
    if limit is None or measure is None:
        return True
    return is_key(row[measure]) and is_key(source[measure]) and gap(row[measure], source[measure]) <= limit


def _ranks_of_sorted_rows(operator: Any, inputs: Sequence[Table]) -> Rows:
    groups: dict[Any, list[Any]] = {}
    result: Rows = []
    previous: Any = None
    for row in inputs[0].rows:
        key = _key(row, operator.keys)
        if key != previous:
            groups[key] = []
        previous, values = key, groups[key]
        if row[operator.value] is None:
            result.append((None, None, None))
            values.append(None)
            continue
        values.append(token(row[operator.value]))
        known = [value for value in values if value is not None]
        tied = next(place for place in range(len(values)) if values[place:] == values[-1:] * (len(values) - place))
        distinct = sum(value is not None and (place == 0 or values[place - 1] != value) for place, value in enumerate(values))
        result.append((len(known), len(known) - (len(values) - tied) + 1, distinct))
    return result


def _rolling_rank(operator: Any, inputs: Sequence[Table]) -> Rows:
    groups: dict[Any, Rows] = {}
    result: Rows = []
    for row in inputs[0].rows:
        group = groups.setdefault(_key(row, operator.keys), [])
        group.append(row)
        window = group[-operator.earlier - 1 :]
        result.append(tuple(_rank_of_last([other[column] for other in window], operator) for column in operator.columns))
    return result


def _rank_of_last(values: Sequence[Any], operator: Any) -> Any:
    """Return the rank of the last of some values, or None if it is missing or values are too few."""
    known = [oracle_functions.rank(value) for value in values if value is not None]
    needed = operator.earlier + 1 if operator.minimum is None else max(operator.minimum, 1)
    if values[-1] is None or len(known) < needed:
        return None
    own = known[-1]
    before, equal = sum(other < own if operator.ascending else other > own for other in known), known.count(own)
    ranked = {"average": before + (equal + 1) / 2, "min": before + 1, "max": before + equal}[operator.method]
    return ranked / len(known) if operator.percent else ranked


def _filled_forward(operator: Any, inputs: Sequence[Table]) -> Rows:
    groups: dict[Any, Rows] = {}
    result: Rows = []
    for row in inputs[0].rows:
        group = groups.setdefault(_key(row, operator.keys), [])
        values = []
        for column in operator.columns:
            known = [other for other in group if other[column] is not None and (operator.along is None or is_key(other[operator.along]))]
            is_placed = operator.along is None or is_key(row[operator.along])
            is_filled = row[column] is None and known and is_placed and is_within(operator.limit, row, known[-1], operator.along)
            values.append(known[-1][column] if is_filled else row[column])
        group.append(row)
        result.append(tuple(values))
    return result


def point_between(first: tuple[Any, float], place: Any, last: tuple[Any, float]) -> float:
    """Return the value at a position on the line between two points.

    Examples
    --------
    >>> point_between((0, 1.0), 1, (4, 3.0)), point_between((2, 1.0), 2, (2, 3.0))
    (1.5, 1.0)
    """
    share = share_between(first[0], place, last[0])
    if share == 0.0 or first[1] == last[1]:
        return first[1]
    if share == 1.0:
        return last[1]
    rise = last[1] - first[1]
    return first[1] + rise * share if math.isfinite(rise) else first[1] * (1.0 - share) + last[1] * share


def share_between(first: Any, place: Any, last: Any) -> float:
    """Return how much of the way between two positions lies before a third one; one end at infinity is left at once, two give NaN.

    Examples
    --------
    >>> share_between(-math.inf, 1.0, 2.0), share_between(1.0, 2.0, math.inf), share_between(-1e308, 0.0, 1e308)
    (1.0, 0.0, 0.5)
    """
    if place == first:
        return 0.0
    if place == last:
        return 1.0
    if isinstance(first, float) and math.inf in (-first, last):
        return math.nan if -first == last else float(last != math.inf)
    if isinstance(first, datetime):
        return gap(place, first) / gap(last, first)
    return float((Fraction(place) - Fraction(first)) / (Fraction(last) - Fraction(first)))


def _aggregates(operator: Any, table: Table, rows: Rows) -> Iterator[Any]:
    """Yield the aggregates of an operator over some rows of a table."""
    for aggregation in operator.aggregations:
        columns = [[row[position] for row in rows] for position in aggregation.positions]
        kinds = [table.kinds[position] for position in aggregation.positions]
        if aggregation.function == "count":
            yield len(rows)
        else:
            yield oracle_functions.AGGREGATES[aggregation.function](columns, aggregation.parameters, kinds)


def _key(row: Row, positions: Iterable[int]) -> tuple[Any, ...]:
    """Return a hashable key of some values of a row; rows with equal values have equal keys."""
    return tuple(token(row[position]) for position in positions)


def _part(row: Row, positions: Iterable[int]) -> Row:
    return tuple(row[position] for position in positions)


def _grouped(items: Iterable[Item], key: Callable[[Item], Any]) -> Iterable[list[Item]]:
    """Return the items with the same key, as a list for each key, in order of first occurrence."""
    groups: dict[Any, list[Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups.values()


def _arrange(operator: Any, inputs: Sequence[Table]) -> Rows:
    columns = list(zip(operator.slots, operator.positions, strict=True))
    return [tuple(rows[slot][position] for slot, position in columns) for rows in zip(*[table.rows for table in inputs], strict=True)]


def side_by_side(inputs: Sequence[Table]) -> Rows:
    """Return rows with the columns of all inputs: each is made of the input rows at one position.

    Raises
    ------
    ValueError
        If the inputs have different numbers of rows.
    """
    return [tuple(value for row in rows for value in row) for rows in zip(*[table.rows for table in inputs], strict=True)]


def call(function: Any, arguments: Sequence[Any], parameters: Sequence[Any]) -> Any:
    """Call a built-in scalar function, which is given by name, or a user function, on the values of one row."""
    if isinstance(function, TranslatedFunction):
        return call_user(function.python, arguments)
    if not isinstance(function, str):
        return call_user(function, arguments)
    if function == "cast":
        return oracle_functions.cast(arguments[0], "" if arguments[0] is None else type(arguments[0]).__name__, parameters[0].kind)
    if function in oracle_functions.PARAMETRIC:
        return oracle_functions.PARAMETRIC[function](*arguments, *parameters)
    return oracle_functions.SCALARS[function](*arguments)


def call_user(function: Any, arguments: Sequence[Any]) -> Any:
    """Call a user function on one value, or, if it has column names, on a row as a dict; return None for a missing value that it skips."""
    if function.names is not None:
        return function.function(dict(zip(function.names, arguments, strict=True)))
    if function.skip_missing and arguments[0] is None:
        return None
    return function.function(arguments[0])


def _operands(operands: Sequence[Any], registers: Sequence[Any]) -> list[Any]:
    return [registers[operand.index] if hasattr(operand, "index") else operand.value for operand in operands]


def _transform(operator: Any, inputs: Sequence[Table]) -> Rows:
    return [(call(operator.function, _operands(operator.operands, row), operator.parameters),) for row in side_by_side(inputs)]


def _generalized(operator: Any, inputs: Sequence[Table]) -> Rows:
    program = operator.computation
    result = []
    for row in inputs[0].rows:
        registers = list(row)
        for step in program.steps:
            registers.append(call(step.function, _operands(step.operands, registers), step.parameters))
        result.append(tuple(_operands(program.outputs, registers)))
    return result


def sorted_rows(rows: Sequence[Row], by: Sequence[tuple[int, bool]]) -> Rows:
    """Return rows sorted by columns, each given with whether it is ascending; ties keep their order.

    The rows are sorted by one column at a time, the last first: as each pass is stable, earlier columns take precedence.
    """
    result = list(rows)
    for position, ascending in reversed(by):
        # With ``reverse``, Python's sort keeps the order of ties too.
        result.sort(key=lambda row: rank(row[position]), reverse=not ascending)
    return result


def _group_by(operator: Any, inputs: Sequence[Table]) -> Rows:
    groups = _grouped(inputs[0].rows, lambda row: _key(row, operator.keys))
    result: Rows = [(*_part(rows[0], operator.keys), *_aggregates(operator, inputs[0], rows)) for rows in groups]
    return sorted(result, key=lambda row: list(map(rank, row[: len(operator.keys)])))


def _group_by_of_adjacent_equal_keys(operator: Any, inputs: Sequence[Table]) -> Rows:
    result: Rows = []
    for _, run in itertools.groupby(inputs[0].rows, lambda row: _key(row, operator.keys)):
        for rows in _grouped(run, lambda row: _key(row, operator.within)):
            result.append((*_part(rows[0], (*operator.keys, *operator.within)), *_aggregates(operator, inputs[0], rows)))
    return result


def _join(operator: Any, inputs: Sequence[Table]) -> Rows:
    left, right = inputs[0].rows, inputs[1].rows
    values = [position for position in range(len(inputs[1].kinds)) if position not in operator.right_keys]
    # For each left column, the right key column whose value it gets in rows without a left row.
    keys = dict(zip(operator.left_keys, operator.right_keys, strict=True))

    def unmatched_right(row: Row) -> Row:
        return (*(row[keys[column]] if column in keys else None for column in range(len(inputs[0].kinds))), *_part(row, values))

    pairs = [(i, j) for i, a in enumerate(left) for j, b in enumerate(right) if _key(a, operator.left_keys) == _key(b, operator.right_keys)]
    joined = [(i, j, (*left[i], *_part(right[j], values))) for i, j in pairs]
    if operator.how in ("left", "outer"):
        matched = {i for i, _ in pairs}
        joined += [(i, 0, (*row, *[None] * len(values))) for i, row in enumerate(left) if i not in matched]
    if operator.how in ("right", "outer"):
        matched = {j for _, j in pairs}
        joined += [(len(left), j, unmatched_right(row)) for j, row in enumerate(right) if j not in matched]
    return [row for _, _, row in sorted(joined, key=lambda item: item[1::-1] if operator.how == "right" else item[:2])]


def _statistic(values: Sequence[Any], kind: str) -> Any:
    """Return an aggregate of the values that are not missing, or None if there are none."""
    numbers = present(values)
    if not numbers:
        return None
    if kind == "sum":
        return oracle_functions.exact_sum(numbers)
    if kind == "mean":
        return oracle_functions.mean(numbers)
    if kind == "product":
        return oracle_functions.product(numbers)
    if kind in ("min", "max"):
        # As in Turi Create, the result is NaN if the first value is NaN; at other positions NaN is ignored.
        return math.nan if is_nan(numbers[0]) else oracle_functions.smallest(numbers, kind == "max", True)
    spread = oracle_functions.squared_deviations(numbers) / len(numbers)
    return math.sqrt(spread) if kind in ("std", "stdv") else spread


def _window(operator: Any, values: Sequence[Any], row: int) -> Any:
    numbers = present(values[max(row + operator.before, 0) : max(row + operator.after + 1, 0)])
    if operator.kind == "count":
        return len(numbers)
    width = operator.after - operator.before + 1
    if len(numbers) < (width if operator.minimum is None else max(operator.minimum, 1)):
        return None
    return _statistic(numbers, operator.kind)


def _shift(operator: Any, inputs: Sequence[Table]) -> Rows:
    values = inputs[0].column(0)
    fill = None if operator.fill is None else operator.fill.value
    sources = [row - operator.rows for row in range(len(values))]
    return [(values[source] if 0 <= source < len(values) else fill,) for source in sources]


def _running(operator: Any, inputs: Sequence[Table]) -> Rows:
    groups: dict[Any, Rows] = {}
    result: Rows = []
    for row in inputs[0].rows:
        group = groups.setdefault(_key(row, operator.keys), [])
        group.append(row)
        result.append(tuple(_aggregates(operator, inputs[0], group)))
    return result


def _lagged(operator: Any, inputs: Sequence[Table]) -> Rows:
    groups: dict[Any, Rows] = {}
    result: Rows = []
    for row in inputs[0].rows:
        group = groups.setdefault(_key(row, operator.keys), [])
        group.append(row)
        values = []
        for lag in operator.lags:
            source = len(group) - 1 - lag.rows
            fill = None if lag.fill is None else lag.fill.value
            values.append(group[max(source, 0)][lag.column] if source >= 0 or lag.is_clamped else fill)
        result.append(tuple(values))
    return result


def _rolling_by_key(operator: Any, inputs: Sequence[Table]) -> Rows:
    groups: dict[Any, list[int]] = {}
    rows = inputs[0].rows[::-1] if operator.is_reversed else inputs[0].rows
    for number, row in enumerate(rows):
        groups.setdefault(_key(row, operator.keys), []).append(number)
    result: dict[int, Row] = {}
    for numbers in groups.values():
        columns = [[rows[number][column] for number in numbers] for column in operator.columns]
        for place, number in enumerate(numbers):
            result[number] = tuple(_window(operator, values, place) for values in columns)
    ordered = [result[number] for number in range(len(rows))]
    return ordered[::-1] if operator.is_reversed else ordered


def _cumulative(operator: Any, inputs: Sequence[Table]) -> Rows:
    groups: dict[Any, Rows] = {}
    result: Rows = []
    for row in inputs[0].rows:
        group = groups.setdefault(_key(row, operator.keys), [])
        group.append(row)
        result.append(tuple(_statistic([other[column] for other in group], operator.kind) for column in operator.columns))
    return result


def _session_numbers(operator: Any, inputs: Sequence[Table]) -> Rows:
    latest: dict[Any, tuple[Any, int]] = {}
    result: Rows = []
    for row in inputs[0].rows:
        key, now = _key(row, operator.keys), row[operator.time]
        if now is None or now != now:
            result.append((None,))
            continue
        before, number = latest.get(key, (now, 0))
        latest[key] = (now, number + (now - before > operator.gap))
        result.append((latest[key][1],))
    return result


def _smoothed(operator: Any, inputs: Sequence[Table]) -> Rows:
    groups: dict[Any, list[tuple[Any, Any]]] = {}
    result: Rows = []
    for row in inputs[0].rows:
        known, now, value = groups.setdefault(_key(row, operator.keys), []), row[operator.time], row[operator.value]
        earlier = [*known]
        if now is not None and value is not None:
            known.append((now, value))
        result.append((None if now is None or not known else _smoothed_value(operator, earlier, known, now, value),))
    return result


def _smoothed_value(operator: Any, earlier: Sequence[tuple[Any, Any]], known: Sequence[tuple[Any, Any]], now: Any, value: Any) -> float | None:
    """Return one result from the times and values before a row, those with it, and its own."""
    kind = operator.kind
    if kind in ("mean", "sum", "total"):
        total, weight = _weighted(known, known[-1][0] if kind == "total" else now, operator.half_life)
        return total / weight if kind == "mean" else total
    if value is None or (kind == "gap" and not earlier):
        return None
    if kind == "gap":
        return float(now - earlier[-1][0])
    total, weight = _weighted(earlier, now, operator.half_life)
    if kind == "total_before":
        return float(total)
    return (value - total / weight) ** 2 * weight / (weight + 1.0) if earlier else 0.0


def _weighted(known: Sequence[tuple[Any, Any]], now: Any, half_life: float) -> tuple[float, float]:
    """Return the weighted sum of some values at a time, and the sum of their weights."""
    weights = [0.5 ** ((now - time) / half_life) for time, _ in known]
    return sum(weight * value for weight, (_, value) in zip(weights, known, strict=True)), sum(weights)


def _flat_map(operator: Any, inputs: Sequence[Table]) -> Rows:
    names = operator.function.names
    results = [operator.function.function(dict(zip(names, row, strict=True))) for row in inputs[0].rows]
    return [tuple(item) for result in results for item in result]


def _explode(operator: Any, inputs: Sequence[Table]) -> Rows:
    result: Rows = []
    for row in inputs[0].rows:
        value, others = row[operator.position], (*row[: operator.position], *row[operator.position + 1 :])
        items: list[Any] = [] if value is None else [*value.items()] if isinstance(value, dict) else [(item,) for item in value]
        if not items and operator.keeps_empty:
            items = [(None,) * len(operator.types)]
        result += [(*others, *item) for item in items]
    return result


def _source_rows(operator: Any, inputs: Sequence[Table]) -> Rows:
    rows = [row for source in operator.table.sources for row in _read_all(source, source.length(), operator)]
    return rows[operator.start : operator.stop]


def _scan_parts(operator: Any, inputs: Sequence[Table]) -> Rows:
    parts = [operator.parts[number] for (number,) in inputs[0].rows]
    return [row for part in parts for row in _read_all(operator.table.sources[part.source], part.stop, operator, part.start)]


def _read_all(source: Any, stop: int, operator: Any, start: int = 0) -> Rows:
    """Return rows of a source, of all columns and without a predicate, as Python values."""
    schema = [source.columns()[name] for name in operator.table.names]
    rows: Rows = []
    for batch in source.read(start, stop, operator.table.names, None):
        columns = [decode(batch.column(name), kind) for name, kind in zip(operator.table.names, schema, strict=True)]
        rows += [tuple(row[position] for position in operator.positions) for row in zip(*columns, strict=True)]
    return rows


MEANINGS: dict[str, Meaning] = {
    "memory_source": _memory,
    "segment_source": _segments,
    "segment_parts": _segment_parts,
    "archive_source": _archive,
    "source_rows": _source_rows,
    "source_parts": lambda operator, inputs: [(number,) for number in range(operator.start, operator.stop)],
    "scan_parts": _scan_parts,
    "range_source": lambda operator, inputs: [(operator.start + operator.step * row,) for row in range(operator.rows)],
    "constant_source": lambda operator, inputs: [(operator.literal.value,)] * operator.rows,
    "spark_source": _spark,
    "asof_join": asof_join,
    "key_window": key_window,
    "interval_join": interval_join,
    "interpolation": interpolation,
    "merge_sorted": lambda operator, inputs: sorted_rows([*inputs[0].rows, *inputs[1].rows], operator.by),
    "assign_intervals": _assign,
    "fill_intervals": _fill,
    "map_cycles": _map_cycles,
    "project": lambda operator, inputs: [_part(row, operator.positions) for row in inputs[0].rows],
    "arrange": _arrange,
    "zip": lambda operator, inputs: side_by_side(inputs),
    "transform": _transform,
    "binary_transform": _transform,
    "ternary_transform": _transform,
    "generalized_transform": _generalized,
    "lambda_transform": lambda operator, inputs: [(call_user(operator.function, row),) for row in inputs[0].rows],
    "filter": lambda operator, inputs: [row for row, mask in zip(inputs[0].rows, inputs[1].column(0), strict=True) if mask],
    "filter_rows": lambda operator, inputs: [row[:-1] for row in inputs[0].rows if row[-1]],
    "slice": lambda operator, inputs: inputs[0].rows[operator.start : operator.stop : operator.step],
    "append": lambda operator, inputs: [row for table in inputs for row in table.rows],
    "sort": lambda operator, inputs: sorted_rows(inputs[0].rows, operator.by),
    "suffix_sort": lambda operator, inputs: sorted_rows(inputs[0].rows, operator.by),
    "reverse": lambda operator, inputs: inputs[0].rows[::-1],
    "assume_order": lambda operator, inputs: list(inputs[0].rows),
    "top_rows": lambda operator, inputs: sorted_rows(inputs[0].rows, operator.by)[: operator.rows],
    "group_by": _group_by,
    "streaming_group_by": _group_by_of_adjacent_equal_keys,
    "reduce": lambda operator, inputs: [tuple(_aggregates(operator, inputs[0], inputs[0].rows))],
    "join": _join,
    "hash_join": _join,
    "sorted_join": _join,
    "row_number": lambda operator, inputs: [(operator.start + row,) for row in range(len(inputs[0].rows))],
    "cumulative": _cumulative,
    "lagged": _lagged,
    "rolling_rank": _rolling_rank,
    "ranks_of_sorted_rows": _ranks_of_sorted_rows,
    "fill_forward": _filled_forward,
    "rolling_by_key": _rolling_by_key,
    "rolling": lambda operator, inputs: [(_window(operator, inputs[0].column(0), row),) for row in range(len(inputs[0].rows))],
    "flat_map": _flat_map,
    "explode": _explode,
    "shift": _shift,
    "running": _running,
    "exponential_smoothing": _smoothed,
    "session_numbers": _session_numbers,
}
"""Implementations by operator name."""


# Evaluation of plans, node by node.


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
