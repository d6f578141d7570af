"""The interpolation operator: missing values between two known ones with the same key become points of the straight line between them.

The known values are rows of a second input, in which those before and after each missing value are searched by row number. So each range of rows is
computed alone, whatever lies between a missing value and its neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.compute.key_equality_and_codes import comparable_column
from sframe_spark.compute.key_runs import plain_numbers
from sframe_spark.errors import ExecutionError, SchemaError
from sframe_spark.expressions.functions.datetimes import raised
from sframe_spark.operators.elementwise import apply_function
from sframe_spark.operators.joins.asof_join import NearKeys, distance, window_answer
from sframe_spark.operators.lookup.cached_reader import Lookup, as_lookup
from sframe_spark.operators.lookup.key_numbers_and_group_codes import (
    WIDE,
    Flags,
    GroupCodes,
    Numbers,
    Positions,
    check_keys,
    distance_column,
    distances,
    key_column,
    key_numbers,
)
from sframe_spark.operators.lookup.nearest_key_search import KeySearch, ProbeKeys
from sframe_spark.operators.project_zip_arrange import Project, column_of, columns_of, new_positions, zip_columns
from sframe_spark.operators.row_number import row_number
from sframe_spark.operators.row_selection import filter_by_mask
from sframe_spark.operators.window.filling import rows_of_key
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.node_facts import Facts, Schema, require_columns
from sframe_spark.planner.operator import Operator
from sframe_spark.planner.operator_parameters import at_least, column_positions, one_of
from sframe_spark.planner.registry import register
from sframe_spark.planner.spark_relation import LoweringContext, Relation
from sframe_spark.types import DATETIME_KIND, FLOAT, FLOAT_KIND, INT
from sframe_spark.values.datetimes import from_microseconds

if TYPE_CHECKING:
    from pyspark.sql import Column

METHODS = ("linear", "nearest")


@attrs.frozen(eq=False)
class Points:
    """Known points: their positions along the line, and their values."""

    places: Numbers
    values: Numbers


@register
@attrs.frozen
class Interpolation(NearKeys):
    """The values of the first input as floats, with those that are missing or NaN replaced by points between the nearest known values.

    Both inputs have the same columns. The second input has the rows of the first whose value and position are known, and ascends by row number. A
    value without a known one before and after it, or without a position, stays unchanged. Missing key values are equal to each other.

    Parameters
    ----------
    on
        Position of the column with row numbers.
    value
        Position of the column with the values.
    along
        Position of the column with the positions of the values, which do not go backwards within a key; ``on`` for row numbers.
    by
        Positions of the key columns.
    kept
        Positions of the columns of the first input that come before the values in the output.
    method
        ``linear``: points on the straight line between both neighbours; ``nearest``: the value of the nearer one, of two equally near ones the one
        before.
    measure
        Position of the column along which ``limit`` is counted.
    limit
        How far from the value before it (of ``nearest``: from the value it takes) a value is filled; None: as far as there are rows.
    """

    name: ClassVar[str] = "interpolation"
    on: int = attrs.field(validator=column_positions)
    value: int = attrs.field(validator=column_positions)
    along: int = attrs.field(validator=column_positions)
    by: tuple[int, ...] = attrs.field(default=(), validator=column_positions)
    kept: tuple[int, ...] = attrs.field(default=(), validator=column_positions)
    method: str = attrs.field(default="linear", validator=one_of(*METHODS))
    measure: int | None = attrs.field(default=None, validator=at_least(0))
    limit: int | float | None = attrs.field(default=None, validator=at_least(0))

    @property
    def _searched(self) -> tuple[int, ...]:
        """Positions of the columns of the second input that are read."""
        measures = () if self.measure is None else (self.measure,)
        return tuple(sorted({self.on, self.value, self.along, *self.by, *measures}))

    def infer_type(self, inputs: Sequence[Facts]) -> Schema:
        """Return the types of the kept columns, followed by float.

        Raises
        ------
        SchemaError
            If the values are not numbers, or positions have no distances.
        """
        schema = inputs[0].schema
        require_columns(schema, [*self._searched, *self.kept])
        require_columns(inputs[1].schema, self._searched)
        if not schema[self.value].is_numeric:
            raise SchemaError(f"interpolation takes numbers, not values of type {schema[self.value].kind}")
        if schema[self.on] != INT:
            raise SchemaError(f"row numbers must be ints, not values of type {schema[self.on].kind}")
        for position in (self.along, self.along if self.measure is None else self.measure):
            check_keys(schema[position], inputs[1].schema[position], "interpolation")
        if any(schema[position] != inputs[1].schema[position] for position in self._searched):
            raise SchemaError("both inputs of an interpolation have the same columns")
        return (*[schema[position] for position in self.kept], FLOAT)

    def input_columns(self, outputs: Sequence[int], inputs: Sequence[Facts]) -> Sequence[Sequence[int]]:
        """Return the same columns for both inputs; none of the second input if the values are not required."""
        left = [self.kept[output] for output in outputs if output < len(self.kept)]
        if len(self.kept) not in outputs:
            return [sorted(set(left)), []]
        used = sorted({*self._searched, *left})
        return [used, used]

    def over_columns(self, outputs: Sequence[int], kept: Sequence[Sequence[int]], inputs: Sequence[Facts]) -> tuple[Operator, Sequence[int]]:
        positions = new_positions(kept[0])
        left = tuple(positions[self.kept[output]] for output in outputs if output < len(self.kept))
        if not kept[1]:
            return Project(left), outputs
        by = tuple(positions[position] for position in self.by)
        measure = None if self.measure is None else positions[self.measure]
        on, value, along = positions[self.on], positions[self.value], positions[self.along]
        return attrs.evolve(self, on=on, value=value, along=along, by=by, kept=left, measure=measure), outputs

    def kernel(self, inputs: Sequence[Any], facts: Sequence[Facts]) -> Chunk:
        """Search the known values around each value that is missing."""
        left, schema = inputs[0], facts[0].schema
        lookup = as_lookup(inputs[1], facts[1].schema)
        column = left.columns[self.value]
        values, missing = plain_numbers(column).astype(np.float64), column.is_null().to_numpy(zero_copy_only=False)
        places, placed = key_numbers(left.columns[self.along], schema[self.along])
        _, numbered = key_numbers(left.columns[self.on], INT)
        rows = np.flatnonzero((missing | np.isnan(values)) & placed & numbered)
        before, after = self._neighbours(left.rows_at(rows), schema, lookup)
        between = (before >= 0) & (after >= 0)
        rows, before, after = rows[between], before[between], after[between]
        first, last = (self._points(lookup, found) for found in (before, after))
        self._check_order(left.columns[self.on].take(pa.array(rows)), first.places, places[rows], last.places, facts[0])
        made, takes_last = self._made(first, places[rows], last)
        if self.measure is not None and self.limit is not None:
            near = self._are_near(left.rows_at(rows), schema, lookup, np.where(takes_last, after, before))
            rows, made = rows[near], made[near]
        values = values.copy()
        values[rows] = made
        missing = missing.copy()
        missing[rows] = False
        return Chunk((*left.select(self.kept).columns, pa.array(values, mask=missing, from_pandas=False)), left.rows)

    def _made(self, first: Points, places: Numbers, last: Points) -> tuple[Numbers, Flags]:
        """Return the values at some positions between known ones, and which of them are those of the points after them."""
        if self.method == "linear":
            return points_between(first, places, last), np.zeros(len(places), dtype=bool)
        with np.errstate(all="ignore"):
            takes_last = distances(last.places, places) < distances(places, first.places)
        return np.where(takes_last, last.values, first.values), takes_last

    def _are_near(self, rows: Chunk, schema: Schema, lookup: Lookup, known: Positions) -> Flags:
        """Return which of some rows are within the limit of known ones.

        Raises
        ------
        ExecutionError
            If positions go backwards.
        """
        assert self.measure is not None
        wanted, present = key_numbers(rows.columns[self.measure], schema[self.measure])
        found, _ = key_numbers(lookup.take(known, [self.measure]).columns[0], schema[self.measure])
        with np.errstate(all="ignore"):
            apart = distances(np.maximum(found, wanted), np.minimum(found, wanted))
        return present & ((found == wanted) | (apart <= self.limit))

    def _neighbours(self, rows: Chunk, schema: Schema, lookup: Lookup) -> tuple[Positions, Positions]:
        """Return the row of the known value before and of the one after each of some rows; -1 where there is none."""
        types = tuple(schema[position] for position in self.by)
        search = lookup.note(self, lambda: KeySearch(lookup, self.on, self.by, GroupCodes(types, keep_missing=True)))
        codes, _ = search.groups.of([rows.columns[position] for position in self.by], rows.rows)
        probes = ProbeKeys(*key_numbers(rows.columns[self.on], INT)[:1], codes, np.ones(rows.rows, dtype=bool))
        before, after = (search.nearest(probes, side, False, None) for side in (False, True))
        return before, after

    def _points(self, lookup: Lookup, rows: Positions) -> Points:
        chunk = lookup.take(rows, [self.along, self.value])
        places, _ = key_numbers(chunk.columns[0], lookup.schema[self.along])
        return Points(places, plain_numbers(chunk.columns[1]).astype(np.float64))

    def _check_order(self, numbers: pa.Array, before: Numbers, places: Numbers, after: Numbers, facts: Facts) -> None:
        """Raise if a row does not lie between its neighbours."""
        wrong = (places < before) | (places > after)
        if wrong.any():
            row = int(wrong.argmax())
            is_late = bool(places[row] < before[row])
            one, other = (before, places) if is_late else (places, after)
            raise self._out_of_order(numbers[row].as_py(), one[row].item(), other[row].item(), facts)

    def _out_of_order(self, row: Any, one: Any, other: Any, facts: Facts) -> ExecutionError:
        if facts.schema[self.along].kind == DATETIME_KIND:
            one, other = from_microseconds(one), from_microseconds(other)
        what = f"but beside row {row} {other} comes after {one}: sort by position first"
        return ExecutionError(f"interpolation needs positions that do not go backwards, {what}")

    def plan_to_operator(self, inputs: Sequence[Relation], context: LoweringContext) -> Relation:
        """Return windows over the union of both inputs, in the order of row numbers. They only serve to test the kernel."""
        from pyspark.sql import functions as F

        left, right = inputs[0].rekeyed("l"), inputs[1].with_position()
        schema, names = left.schema, [f"b{i}" for i in range(len(self.by))]

        def searched(relation: Relation) -> list[Column]:
            keys = [
                comparable_column(relation.df[f"c{position}"], schema[position]).alias(name) for name, position in zip(names, self.by, strict=True)
            ]
            place = key_column(relation.df[f"c{self.along}"], schema[self.along]).alias("place")
            if self.measure is not None:
                keys.append(key_column(relation.df[f"c{self.measure}"], schema[self.measure]).alias("measure"))
            return [relation.df[f"c{self.on}"].alias("at"), place, relation.df[f"c{self.value}"].cast("double").alias("value"), *keys]

        kept = [left.df[f"c{position}"].alias(f"kept{i}") for i, position in enumerate(self.kept)]
        probes = left.df.select(*left.hidden, *kept, *searched(left), F.lit(True).alias("asks"))
        candidates = right.df.select(*searched(right), F.lit(False).alias("asks"), F.col(str(right.position)).alias("number"))
        candidates = candidates.withColumn("answer", F.struct("place", "value", *(["measure"] if self.measure is not None else [])))
        both = probes.unionByName(candidates, allowMissingColumns=True)
        both = both.withColumn("before", window_answer(names, after=False, equal=False))
        both = both.withColumn("after", window_answer(names, after=True, equal=False)).where("asks")
        value = F.col("value")
        is_between = F.col("place").isNotNull() & F.col("before").isNotNull() & F.col("after").isNotNull()
        is_float = schema[self.along].kind == FLOAT_KIND
        takes_last = self._takes_last_column(is_float)
        point = self._point_column(is_float, takes_last)
        if self.measure is not None and self.limit is not None:
            known = F.when(takes_last, F.col("after.measure")).otherwise(F.col("before.measure"))
            measured_in_floats = schema[self.measure].kind == FLOAT_KIND
            apart = distance(F.greatest(F.col("measure"), known), F.least(F.col("measure"), known), measured_in_floats)
            reach = distance_column(self.limit, "double" if measured_in_floats else WIDE)
            is_between = is_between & ((known == F.col("measure")) | (apart <= reach))
        made = F.when((value.isNull() | F.isnan(value)) & is_between, point).otherwise(value)
        columns = [*[F.col(f"kept{i}") for i in range(len(self.kept))], made]
        result = both.select(*[column.alias(f"c{i}") for i, column in enumerate(columns)], *left.hidden)
        return Relation(result, (*[schema[position] for position in self.kept], FLOAT), left.key, left.position)

    def _takes_last_column(self, is_float: bool) -> Column:
        """Return a Spark column that says whether a value is that of the point after it."""
        from pyspark.sql import functions as F

        if self.method == "linear":
            return F.lit(False)
        place = F.col("place")
        return distance(F.col("after.place"), place, is_float) < distance(place, F.col("before.place"), is_float)

    def _point_column(self, is_float: bool, takes_last: Column) -> Column:
        """Return a Spark column that does the same as :func:`points_between`, or gives the value of one of both points."""
        from pyspark.sql import functions as F

        place, before, after = F.col("place"), F.col("before.place"), F.col("after.place")
        first, last = F.col("before.value"), F.col("after.value")

        def apart(above: Column, below: Column) -> Column:
            return distance(above, below, is_float).cast("double")

        passed, left, whole = apart(place, before), apart(after, place), apart(after, before)
        infinity = F.lit(float("inf"))
        halves = (place / 2 - before / 2) / (after / 2 - before / 2)
        share = F.when(whole == 0, 0.0).when(whole != infinity, passed / whole)
        share = share.when((passed == infinity) & (left != infinity) & (before == -infinity), 1.0).otherwise(halves) if is_float else share
        share = F.when(place == before, 0.0).when(place == after, 1.0).otherwise(share)
        rise = last - first
        line = F.when(F.abs(rise) < infinity, first + rise * share).otherwise(first * (1 - share) + last * share)
        made = F.when((first == last) | (share == 0), first).when(share == 1, last).otherwise(line)
        made = made if self.method == "linear" else F.when(takes_last, last).otherwise(first)
        message = "interpolation needs positions that do not go backwards: sort by position first"
        return F.when((place < before) | (place > after), raised(ExecutionError(message)).cast("double")).otherwise(made)


def points_between(first: Points, places: Numbers, last: Points) -> Numbers:
    """Return the values at some positions on the straight lines between two points each.

    Of points at one position it is the value of the first. A point at an infinite position has no influence: the value is that of the other point.

    Examples
    --------
    >>> points_between(Points(np.array([0]), np.array([1.0])), np.array([3]), Points(np.array([4]), np.array([5.0]))).tolist()
    [4.0]
    """
    with np.errstate(all="ignore"):
        shares = shares_passed(first.places, places, last.places)
        rises = last.values - first.values
        lines = np.where(np.isfinite(rises), first.values + rises * shares, first.values * (1.0 - shares) + last.values * shares)
    result = np.where(shares == 1.0, last.values, lines)
    return np.where((first.values == last.values) | (shares == 0.0), first.values, result)


def shares_passed(first: Numbers, places: Numbers, last: Numbers) -> Numbers:
    """Return how much of the way from one position to another lies before a third one: from 0 to 1; NaN between two infinite positions.

    Examples
    --------
    >>> shares_passed(np.array([0, 7]), np.array([1, 7]), np.array([4, 7])).tolist()
    [0.25, 0.0]
    >>> infinite, large = np.inf, 1e308
    >>> shares_passed(np.array([-infinite, 0.0, -large]), np.array([1.0, 1.0, 0.0]), np.array([2.0, infinite, large])).tolist()
    [1.0, 0.0, 0.5]
    """
    passed, left, whole = (distances(above, below).astype(np.float64) for above, below in ((places, first), (last, places), (last, first)))
    with np.errstate(all="ignore"):
        shares = passed / whole
        if first.dtype.kind == "f":
            shares = np.where(np.isinf(whole), (places / 2 - first / 2) / (last / 2 - first / 2), shares)
            shares = np.where(np.isneginf(first) & np.isfinite(last), 1.0, shares)
    return np.where(passed == 0.0, 0.0, np.where(left == 0.0, 1.0, shares))


def interpolated(
    node: PlannerNode,
    value: int,
    along: int | None,
    keys: Sequence[int],
    method: str = "linear",
    limit: int | float | None = None,
    limit_in_rows: bool = False,
) -> PlannerNode:
    """Return a node with the interpolated values of a column; without ``along``, the number of rows so far within each key is the position.

    ``limit_in_rows``: the limit is a number of rows of the key, not a distance along the column.
    """
    columns = columns_of(node, [value, *keys, *([] if along is None else [along])])
    is_numbered = bool(keys) and (along is None or limit_in_rows)
    if is_numbered:
        columns = zip_columns(columns, rows_of_key(columns, range(1, 1 + len(keys))))
    rows = zip_columns(row_number(columns), columns)
    numbers = rows.facts.width - 1 if is_numbered else 0
    place = numbers if along is None else 2 + len(keys)
    known = filter_by_mask(rows, apply_function("is_not_missing", column_of(rows, 1)))
    if along is not None:
        known = filter_by_mask(known, apply_function("is_not_missing", column_of(known, place)))
    measure = None if limit is None else numbers if limit_in_rows else place
    by = tuple(range(2, 2 + len(keys)))
    return Interpolation(0, 1, place, by, method=method, measure=measure, limit=limit).make_planner_node(rows, known)
