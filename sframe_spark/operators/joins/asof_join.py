"""The as-of join: for each row the row of a sorted table with the nearest time (or other key); and the base class of operators on near keys."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING, Any, ClassVar

import attrs
import numpy as np

from sframe_spark.compute.exact_float_distances import first_from, is_from, is_until, last_until
from sframe_spark.compute.key_equality_and_codes import comparable_column
from sframe_spark.errors import SchemaError
from sframe_spark.operators.lookup.cached_reader import as_lookup
from sframe_spark.operators.lookup.key_numbers_and_group_codes import (
    WIDE,
    GroupCodes,
    Numbers,
    Positions,
    check_distances,
    check_keys,
    compare_as_float,
    distance_column,
    distances,
    key_column,
    key_numbers,
)
from sframe_spark.operators.lookup.nearest_key_search import KeySearch, ProbeKeys, ascending_by, known_ascending
from sframe_spark.operators.project_zip_arrange import Project, new_positions, project, zip_columns
from sframe_spark.operators.row_number import row_number
from sframe_spark.operators.sort_top_rows_and_assumed_order import sort_rows
from sframe_spark.order.properties import RelationProperties
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.node_facts import Facts, Schema
from sframe_spark.planner.operator import Need, Operator, Origin
from sframe_spark.planner.operator_capabilities import Joining
from sframe_spark.planner.operator_parameters import at_least, column_positions, one_of
from sframe_spark.planner.registry import register
from sframe_spark.planner.spark_relation import LoweringContext, Relation
from sframe_spark.types import FLOAT_KIND

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


# Lowering to Spark: a window over the union of both sides, in key order.


def asof_relation(left: Relation, right: Relation, join: AsofJoin) -> Relation:
    """Return the left rows with the values of their matches.

    Each right row carries a struct of key and values. A left row takes the struct of the last right row before it, or of the first one after it.
    """
    from pyspark.sql import functions as F

    left, right = left.rekeyed("l"), right.with_position()
    as_float = left.schema[0].kind != right.schema[join.on].kind
    names = [f"b{i}" for i in range(len(join.by))]
    probes = left.df.select(
        *left.hidden,
        *[left.df[f"c{position}"].alias(f"kept{i}") for i, position in enumerate(join.kept)],
        normal(key_column(left.df["c0"], left.schema[0], as_float)).alias("at"),
        *[comparable_column(left.df[f"c{i + 1}"], left.schema[i + 1]).alias(name) for i, name in enumerate(names)],
        F.lit(True).alias("asks"),
    )
    key = normal(key_column(right.df[f"c{join.on}"], right.schema[join.on], as_float))
    answer = F.struct(key.alias("at"), *[right.df[f"c{position}"].alias(f"v{i}") for i, position in enumerate(join.values)])
    candidates = right.df.select(
        key.alias("at"),
        *[comparable_column(right.df[f"c{p}"], right.schema[p]).alias(name) for name, p in zip(names, join.by, strict=True)],
        F.lit(False).alias("asks"),
        F.col(str(right.position)).alias("number"),
        answer.alias("answer"),
    )
    candidates = candidates.where(reduce(and_, [candidates[name].isNotNull() for name in ("at", *names)]))
    both = probes.unionByName(candidates, allowMissingColumns=True)
    result = matched(both, names, join, as_float or left.schema[0].kind == FLOAT_KIND)
    columns = [result[f"kept{i}"] for i in range(len(join.kept))] + [result["found"][f"v{i}"] for i in range(len(join.values))]
    schema = (*[left.schema[position] for position in join.kept], *[right.schema[position] for position in join.values])
    return Relation(result.select(*[column.alias(f"c{i}") for i, column in enumerate(columns)], *left.hidden), schema, left.key, left.position)


def matched(both: DataFrame, names: Sequence[str], join: AsofJoin, is_float: bool) -> DataFrame:
    """Return the left rows, each with the struct of its match in the column ``found``."""
    from pyspark.sql import functions as F

    before = window_answer(names, after=False, equal=join.allow_exact)
    after = window_answer(names, after=True, equal=join.allow_exact)
    if join.direction == "nearest":
        # Spark cannot compare window expressions directly, so they become columns first.
        both = both.withColumn("before", before).withColumn("after", after)
        closer = distance(F.col("after.at"), F.col("at"), is_float) < distance(F.col("at"), F.col("before.at"), is_float)
        result = F.when(F.col("before").isNull() | closer, F.col("after")).otherwise(F.col("before"))
    else:
        result = after if join.direction == "forward" else before
    both = both.withColumn("found", result).where("asks")
    allowed = F.col("at").isNotNull()
    for name in names:
        allowed &= F.col(name).isNotNull()
    if join.tolerance is not None and is_float:
        at, found = F.col("at"), F.col("found.at")
        allowed &= is_from(found, at, -join.tolerance) & is_until(found, at, join.tolerance)
    elif join.tolerance is not None:
        allowed &= F.abs(distance(F.col("at"), F.col("found.at"), is_float)) <= distance_column(join.tolerance, WIDE)
    return both.withColumn("found", F.when(allowed, F.col("found")))


def window_answer(names: Sequence[str], after: bool, equal: bool) -> Column:
    """Return the struct of the last right row before each row in key order (``after``: of the first one after it)."""
    from pyspark.sql import Window, functions as F

    # The match is sought before the left row, or after it with ``after``. So right rows with the key of the left row are on the side that is searched
    # if an equal key is a match, and otherwise on the other side.
    asks = F.col("asks").asc() if equal != after else F.col("asks").desc()
    window = Window.partitionBy(*names).orderBy(F.col("at").asc_nulls_first(), asks, "number")
    if after:
        return F.first("answer", ignorenulls=True).over(window.rowsBetween(Window.currentRow, Window.unboundedFollowing))
    return F.last("answer", ignorenulls=True).over(window.rowsBetween(Window.unboundedPreceding, Window.currentRow))


def distance(above: Column, below: Column, is_float: bool) -> Column:
    """Return how far one key is above another, without overflow of ints; zero for equal infinities."""
    from pyspark.sql import functions as F

    difference = above - below if is_float else above.cast(WIDE) - below.cast(WIDE)
    return F.when(above == below, F.lit(0)).otherwise(difference)


def normal(key: Column) -> Column:
    """Return the key with -0.0 replaced by 0.0."""
    from pyspark.sql import functions as F

    return F.when(key == 0, F.lit(0)).otherwise(key)


DIRECTIONS = ("backward", "forward", "nearest")
# A right side of at most this many rows stays in memory, so left rows may come in any order.
MAX_RIGHT_ROWS_IN_MEMORY = 4_000_000
# Fewer left rows than this, in any order, read each block of the right side a few times at most.
MAX_ROWS_OUT_OF_ORDER = 524_288
GROUPS = ("int", "float", "str", "datetime")


@attrs.frozen
class NearKeys(Operator):
    """Base class of operators that compute values for each row of the first input from the rows of the second input with a near key.

    The output has the columns ``kept`` of the first input, followed by the values.
    """

    arity: ClassVar[int | None] = 2
    deterministic: ClassVar[bool] = True
    has_kernel: ClassVar[bool] = True
    keeps_dense: ClassVar[bool] = True
    keeps_domain: ClassVar[bool] = True

    if TYPE_CHECKING:
        kept: tuple[int, ...]

    @property
    def filtered_slots(self) -> Sequence[int]:
        """The first input: the values of each of its rows do not depend on its other rows."""
        return (0,)

    def column_origins(self, inputs: Sequence[Facts]) -> Sequence[Sequence[Origin]]:
        """Return the origins of the kept columns."""
        return [[(0, position)] for position in self.kept]

    def infer_properties(self, inputs: Sequence[RelationProperties], facts: Sequence[Facts]) -> RelationProperties:
        """Return properties: rows keep their order, and kept columns keep their properties."""
        return inputs[0].project([*self.kept, *[None] * (len(self.infer_type(facts)) - len(self.kept))])

    def requires(self, slot: int) -> Need:
        """Return ``LOOKUP`` for the second input, whose rows are searched by key, and ``INHERITED`` for the first."""
        return Need.LOOKUP if slot else Need.INHERITED

    def in_key_order(self, node: PlannerNode, key: int, right: PlannerNode | None = None) -> PlannerNode:
        """Return the values for the rows of a node, which are sorted by a key and then sorted back; without ``right`` the node is both inputs."""
        width = node.facts.width
        ordered = sort_rows(zip_columns(node, row_number(node)), [(key, True)])
        values = attrs.evolve(self, kept=(width,)).make_planner_node(ordered, right or ordered)  # type: ignore[call-arg]
        return project(sort_rows(values, [(0, True)]), range(1, values.facts.width))


@register
@attrs.frozen
class AsofJoin(NearKeys):
    """For each row of the first input, values of the row of the second input with the nearest key; missing if there is none.

    The first input has the key as its first column, then the group columns. The second input is in ascending order of its key column. Rows with a
    missing (or NaN) key or a missing group value match no row.

    Parameters
    ----------
    on
        Position of the key in the second input.
    by
        Positions of the group columns in the second input, in the order of the group columns of the first.
    values
        Positions of the columns to take from the second input.
    direction
        ``backward``: the last row whose key is not larger. ``forward``: the first row whose key is not smaller. ``nearest``: the nearer of these two
        rows; if they are equally near, the row before.
    tolerance
        Greatest distance between the keys, in the unit of the key (microseconds for date-times); None: any.
    allow_exact
        Whether a row with an equal key is a match.
    kept
        Positions of the columns of the first input that come before the values in the output.
    """

    name: ClassVar[str] = "asof_join"
    on: int = attrs.field(validator=column_positions)
    by: tuple[int, ...] = attrs.field(validator=column_positions)
    values: tuple[int, ...] = attrs.field(validator=column_positions)
    direction: str = attrs.field(default="backward", validator=one_of("backward", "forward", "nearest"))
    tolerance: int | float | None = attrs.field(default=None, validator=at_least(0))
    allow_exact: bool = True
    kept: tuple[int, ...] = attrs.field(default=(), validator=column_positions)

    def column_origins(self, inputs: Sequence[Facts]) -> Sequence[Sequence[Origin]]:
        """Return the origins of the kept columns of the first input, then of the values of the second."""
        return [*super().column_origins(inputs), *([(1, position)] for position in self.values)]

    @property
    def joining(self) -> Joining:
        """Rows match by near keys and equal group columns."""
        return Joining([((0, place), (1, position)) for place, position in enumerate((self.on, *self.by))])

    def infer_type(self, inputs: Sequence[Facts]) -> Schema:
        """Return the types of the kept columns, followed by the types of the values.

        Raises
        ------
        SchemaError
            If the keys have no distance or cannot be compared, if the group columns cannot be compared, or if the tolerance is negative.
        """
        check_distances(self.tolerance)
        left, right = inputs[0].schema, inputs[1].schema
        check_keys(left[0], right[self.on])
        for a, b in zip(left[1 : 1 + len(self.by)], [right[position] for position in self.by], strict=True):
            if a != b or a.kind not in GROUPS:
                raise SchemaError(f"rows cannot be grouped by columns of {a} and {b}: both must have the same type, {', '.join(GROUPS)}")
        return (*[left[position] for position in self.kept], *[right[position] for position in self.values])

    def input_columns(self, outputs: Sequence[int], inputs: Sequence[Facts]) -> Sequence[Sequence[int]]:
        """Return keys and required columns; no column of the second input if no value is required."""
        width = len(self.kept)
        left, values = [self.kept[o] for o in outputs if o < width], [self.values[o - width] for o in outputs if o >= width]
        if not values:
            return [sorted(set(left)), []]
        return [sorted({*range(1 + len(self.by)), *left}), sorted({self.on, *self.by, *values})]

    def over_columns(self, outputs: Sequence[int], kept: Sequence[Sequence[int]], inputs: Sequence[Facts]) -> tuple[Operator, Sequence[int]]:
        width = len(self.kept)
        positions = new_positions(kept[0])
        left = tuple(positions[self.kept[o]] for o in outputs if o < width)
        if not kept[1]:
            return Project(left), outputs
        right = new_positions(kept[1])
        values = tuple(right[self.values[o - width]] for o in outputs if o >= width)
        return attrs.evolve(self, on=right[self.on], by=tuple(right[p] for p in self.by), values=values, kept=left), outputs

    def kernel(self, inputs: Sequence[Any], facts: Sequence[Facts]) -> Chunk:
        """Search the key of each left row, then read the matching rows."""
        left, lookup = inputs[0], as_lookup(inputs[1], facts[1].schema)
        as_float = compare_as_float(facts[0].schema[0], facts[1].schema[self.on])
        groups = facts[0].schema[1 : 1 + len(self.by)]
        search = lookup.note(self, lambda: KeySearch(lookup, self.on, self.by, GroupCodes(groups), as_float))
        keys, present = key_numbers(left.columns[0], facts[0].schema[0], as_float)
        codes, grouped = search.groups.of(left.columns[1 : 1 + len(self.by)], left.rows)
        result = self._nearest(search, ProbeKeys(keys, codes, present & grouped))
        return Chunk((*left.select(self.kept).columns, *lookup.take(result, self.values).columns), left.rows)

    def _nearest(self, search: KeySearch, probes: ProbeKeys) -> Positions:
        """Return the row of each match; -1 if there is none."""
        if self.direction != "nearest":
            return self._matches(search, probes, self.direction == "forward")
        before, after = (self._matches(search, probes, side) for side in (False, True))
        below, above = gaps(search, probes.keys, before, False), gaps(search, probes.keys, after, True)
        return np.where((after >= 0) & ((before < 0) | (above < below)), after, before)

    def _matches(self, search: KeySearch, probes: ProbeKeys, after: bool) -> Positions:
        """Return the row of the match before each key (``after``: of the match after it) within the tolerance; -1 if there is none."""
        rows = search.nearest(probes, after, self.allow_exact, self.tolerance)
        if self.tolerance is not None:
            matched = keys_of_matches(search, probes.keys, rows)
            if matched.dtype.kind == "f":
                is_far = matched > last_until(probes.keys, self.tolerance) if after else matched < first_from(probes.keys, -self.tolerance)
            else:
                is_far = (distances(matched, probes.keys) if after else distances(probes.keys, matched)) > self.tolerance
            rows[is_far] = -1
        return rows

    def plan_to_operator(self, inputs: Sequence[Relation], context: LoweringContext) -> Relation:
        """Return a window over the union of both sides. It shuffles both sides, so it only serves to test the kernel."""
        return asof_relation(inputs[0], inputs[1], self)


def gaps(search: KeySearch, keys: Numbers, result: Positions, after: bool) -> Numbers:
    """Return the distance between each key and the key of its match; zero if there is none."""
    matched = keys_of_matches(search, keys, result)
    return distances(matched, keys) if after else distances(keys, matched)


def keys_of_matches(search: KeySearch, keys: Numbers, result: Positions) -> Numbers:
    """Return the key of each match, or the key itself if there is none."""
    column = search.lookup.take(result, [search.on]).columns[0]
    matched, present = key_numbers(column, search.lookup.schema[search.on], search.as_float)
    return np.where(present, matched, keys)


def asof_join(left: PlannerNode, right: PlannerNode, join: AsofJoin) -> PlannerNode:
    """Return a node that has, for each row of ``left``, the values of the nearest row of ``right``.

    The first column of ``left`` is the key; the group columns follow it.

    The right side is sorted if necessary. A left side that is not in key order is sorted, and the results are sorted back, only if both sides are
    large: otherwise most blocks of the right side would be read again and again.
    """
    return searched_in_order(join, left, 0, ascending_by(right, join.on))


def searched_in_order(operator: NearKeys, left: PlannerNode, key: int, right: PlannerNode) -> PlannerNode:
    """Return a node that searches the rows of a sorted node for the keys of ``left``, which is sorted, and sorted back, only if that pays off."""
    limits = ((right, MAX_RIGHT_ROWS_IN_MEMORY), (left, MAX_ROWS_OUT_OF_ORDER))
    has_few_rows = any(node.length.at_most is not None and node.length.at_most <= max_rows for node, max_rows in limits)
    if known_ascending(left, key) or has_few_rows:
        return operator.make_planner_node(left, right)
    return operator.in_key_order(left, key, right)
