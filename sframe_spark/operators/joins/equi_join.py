"""The join on equal keys, lowered to Spark, and the base class of all joins on equal keys. Missing keys are equal to each other, as in SFrame."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

import attrs

from sframe_spark.errors import SchemaError
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.operators.project_zip_arrange import new_positions
from sframe_spark.planner.length_and_order_inference import properties_of
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.node_facts import Facts, Length, Schema, require_columns
from sframe_spark.planner.operator import Need, Operator, Origin
from sframe_spark.planner.operator_capabilities import Joining
from sframe_spark.planner.operator_declarations import QueryWork, SparkCost
from sframe_spark.planner.operator_parameters import column_positions, one_of
from sframe_spark.planner.registry import planner_node_name_to_type, register
from sframe_spark.planner.row_sizes import Sizes
from sframe_spark.types import DATETIME, DICT_KIND, INT, ColumnType

with lazy_imports(globals()):
    from sframe_spark.compute.key_equality_and_codes import comparable_column
    from sframe_spark.operators.sort_top_rows_and_assumed_order import sort_rows
    from sframe_spark.order import derive
    from sframe_spark.order.properties import RelationProperties
    from sframe_spark.planner.operator_capabilities import PartitionJoining
    from sframe_spark.planner.spark_relation import KeyColumn, LoweringContext, Relation

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


KINDS = ("inner", "left", "right", "outer")
# Kinds of joins that a search can compute: it finds the matches of left rows, but not the right rows without a match.
SEARCHED = ("inner", "left")
IS_LEFT = "is_left"


@attrs.frozen
class EquiJoin(Operator):
    """Base class of joins on equal keys: what follows from the keys and the kind of join, however the join is computed."""

    arity: ClassVar[int | None] = 2
    deterministic: ClassVar[bool] = True

    if TYPE_CHECKING:
        left_keys: tuple[int, ...]
        right_keys: tuple[int, ...]
        how: str

    @property
    def filtered_slots(self) -> Sequence[int]:
        """The input whose rows are all kept by a left or right join, both inputs of an inner join, and none of an outer join."""
        return {"inner": (0, 1), "left": (0,), "right": (1,)}.get(self.how, ())

    def column_origins(self, inputs: Sequence[Facts]) -> Sequence[Sequence[Origin]]:
        """Return the origins of the left columns, then of the right columns that are not keys."""
        left = [[(0, position)] for position in range(inputs[0].width)]
        return [*left, *([(1, position)] for position in self.right_values(inputs[1].width))]

    @property
    def joining(self) -> Joining:
        """Rows match by equal keys."""
        return Joining(self.key_pairs)

    @property
    def key_pairs(self) -> Sequence[tuple[Origin, Origin]]:
        """The key columns of both inputs."""
        return [((0, left), (1, right)) for left, right in zip(self.left_keys, self.right_keys, strict=True)]

    def right_values(self, width: int) -> list[int]:
        """Return the positions of the right input's columns that are not keys."""
        return [position for position in range(width) if position not in self.right_keys]

    def infer_type(self, inputs: Sequence[Facts]) -> Schema:
        """Return the types of the left columns, followed by the types of the right columns that are not keys.

        Raises
        ------
        SchemaError
            If the kind of join is unknown, there is no key, the numbers of keys differ, or the types of a pair of keys differ.
        """
        if self.how not in KINDS:
            raise SchemaError(f"a join must be one of {', '.join(KINDS)}, not {self.how!r}")
        if not self.left_keys or len(self.left_keys) != len(self.right_keys):
            raise SchemaError(f"a join of {len(self.left_keys)} left and {len(self.right_keys)} right key(s): it needs as many, and one at least")
        left, right = inputs[0].schema, inputs[1].schema
        require_columns(left, self.left_keys)
        require_columns(right, self.right_keys)
        for a, b in zip(self.left_keys, self.right_keys, strict=True):
            if left[a] != right[b]:
                raise SchemaError(f"keys of type {left[a]} and {right[b]} cannot be joined")
        return left + tuple(right[position] for position in self.right_values(len(right)))

    def infer_length(self, inputs: Sequence[Facts]) -> Length:
        """Return zero if an empty input leaves no row; otherwise an unknown length, with an upper bound if both inputs have one."""
        left, right = inputs[0].length.at_most, inputs[1].length.at_most
        if {"inner": 0 in (left, right), "left": left == 0, "right": right == 0}.get(self.how, left == right == 0):
            return Length.exactly(0)
        if left is None or right is None:
            return Length.unknown()
        return Length.unknown(at_most=left * right + left + right)

    def column_sizes(self, inputs: Sequence[Sizes], facts: Sequence[Facts], schema: Schema) -> Sizes:
        """Return the sizes of the left columns, followed by the sizes of the right columns that are not keys."""
        return (*inputs[0], *(inputs[1][position] for position in self.right_values(facts[1].width)))

    def infer_properties(self, inputs: Sequence[RelationProperties], facts: Sequence[Facts]) -> RelationProperties:
        """Return properties: rows are in the order of the left (``right``: right) input, whose keys stay keys if each row has at most one match.

        Nothing is known about an outer join.
        """
        if self.how == "outer":
            return RelationProperties()
        width, partners = facts[0].width, dict(zip(self.left_keys, self.right_keys, strict=True))
        # Right columns are numbered after the left ones.
        left_columns, right_columns = list(range(width)), list(range(width, width + facts[1].width))
        left, right = inputs[0].order, inputs[1].order.project({column: position for position, column in enumerate(right_columns)})
        origins = [*left_columns, *(width + position for position in self.right_values(facts[1].width))]
        bounds = {} if self.how == "right" else dict(inputs[0].bounds)
        if self.how == "right":
            pairs = [(width + b, a) for a, b in partners.items()]
            order = derive.join_left(right, left, pairs, right_columns, left_columns, matches_in_order=True)
            origins[:width] = [width + partners[position] if position in partners else position for position in left_columns]
        else:
            join = derive.join_inner if self.how == "inner" else derive.join_left
            pairs = [(a, width + b) for a, b in partners.items()]
            order = join(left, right, pairs, left_columns, right_columns, matches_in_order=True)
        if self.how != "left":
            bounds |= {output: inputs[1].bounds[column - width] for output, column in enumerate(origins) if column - width in inputs[1].bounds}
        return RelationProperties(order.project(dict(enumerate(origins))), bounds=bounds)

    def input_columns(self, outputs: Sequence[int], inputs: Sequence[Facts]) -> Sequence[Sequence[int]]:
        width, values = inputs[0].width, self.right_values(inputs[1].width)
        left = sorted({*self.left_keys, *(o for o in outputs if o < width)})
        return [left, sorted({*self.right_keys, *(values[o - width] for o in outputs if o >= width)})]

    def yielded(self, kept: Sequence[Sequence[int]], inputs: Sequence[Facts]) -> Sequence[int]:
        """Return the output columns that are left if the inputs have only the columns ``kept``."""
        values = self.right_values(inputs[1].width)
        return [*kept[0], *(inputs[0].width + position for position, column in enumerate(values) if column in kept[1])]

    def plan_to_operator(self, inputs: Sequence[Relation], context: LoweringContext) -> Relation:
        """Return Spark's equi-join, null-safe if keys may be missing on both sides. The row keys of both sides form the row key of the result."""
        from pyspark.sql import functions as F

        left, right = inputs[0].rekeyed("l"), inputs[1].rekeyed("r")
        names = {name: f"d{index}" for index, name in enumerate(right.columns)}
        other = right.df.select(*[right.df[old].alias(new) for old, new in names.items()], *[c.name for c in right.key])
        # This column is missing only in unmatched right rows. Row keys cannot show that, because they may themselves be missing.
        marked = left.df.withColumn(IS_LEFT, F.lit(True)) if self.how == "outer" else left.df
        df, other = with_texts(left, marked, self.left_keys, "c"), with_texts(right, other, self.right_keys, "d")
        df = df.join(other, self._condition(left, right, df, other), {"outer": "full", "inner": "inner"}.get(self.how, self.how))
        return self._select(df, left, right)

    def _condition(self, left: Relation, right: Relation, df: DataFrame, other: DataFrame) -> Column:
        from functools import reduce
        from operator import and_

        conditions = []
        for a, b in zip(self.left_keys, self.right_keys, strict=True):
            # With plain equality Spark can hash the key itself. It differs from null-safe equality only if keys are missing on both sides.
            plain = a in left.not_missing or b in right.not_missing
            compared = "text_of_" if has_text(left.schema[a]) else ""
            first, second = df[f"{compared}c{a}"], other[f"{compared}d{b}"]
            conditions.append(first == second if plain else first.eqNullSafe(second))
        return reduce(and_, conditions)

    def _select(self, df: DataFrame, left: Relation, right: Relation) -> Relation:
        from pyspark.sql import functions as F

        partner = dict(zip(self.left_keys, self.right_keys, strict=True))
        columns = []
        for position in range(len(left.schema)):
            column = F.col(f"c{position}")
            if position in partner and self.how in ("right", "outer"):
                column = F.coalesce(column, F.col(f"d{partner[position]}"))
            columns.append(column.alias(f"c{position}"))
        values = self.right_values(len(right.schema))
        columns += [F.col(f"d{p}").alias(f"c{len(left.schema) + i}") for i, p in enumerate(values)]
        first, second = (right, left) if self.how == "right" else (left, right)
        keys, hidden = [], []
        if self.how == "outer":
            hidden.append(F.col(IS_LEFT).isNull().alias("k0"))
            keys.append(KeyColumn("k0"))
        for key in (*first.key, *second.key):
            hidden.append(F.col(key.name).alias(f"k{len(keys)}"))
            keys.append(KeyColumn(f"k{len(keys)}", key.ascending))
        schema = left.schema + tuple(right.schema[p] for p in values)
        return Relation(df.select(*columns, *hidden), schema, tuple(keys), not_missing=self._not_missing(left, right))

    def _not_missing(self, left: Relation, right: Relation) -> frozenset[int]:
        if self.how not in ("inner", "left"):
            return frozenset()
        values = enumerate(self.right_values(len(right.schema)), start=len(left.schema))
        matched = frozenset(place for place, position in values if position in right.not_missing)
        return left.not_missing | matched if self.how == "inner" else left.not_missing

    def describe(self) -> str:
        pairs = ", ".join(f"c{a} = c{b}" for a, b in zip(self.left_keys, self.right_keys, strict=True))
        return f"{self.how}; {pairs}"


@register
@attrs.frozen
class Join(EquiJoin):
    """Pairs of rows of two inputs that are equal in the key columns.

    The output has all columns of the left input, followed by the columns of the right input that are not keys; for an unmatched right row the key
    columns hold the right keys. Row order: left rows in order, each with its matches in right order, then unmatched right rows. For ``right``:
    right rows in order, each with its matches in left order.

    Parameters
    ----------
    left_keys, right_keys
        Positions of the key columns; each pair has one type.
    how
        ``inner``, ``left``, ``right`` or ``outer``.
    """

    name: ClassVar[str] = "join"
    left_keys: tuple[int, ...] = attrs.field(validator=column_positions)
    right_keys: tuple[int, ...] = attrs.field(validator=column_positions)
    how: str = attrs.field(validator=one_of(*KINDS))

    @property
    def spark_cost(self) -> SparkCost:
        """The cost of shuffling and sorting both sides by their keys."""
        return SparkCost(QueryWork(2, 2), forgets_one_partition=self.how == "outer")

    @property
    def joining(self) -> Joining:
        """Rows match by equal keys, which a hash join numbers, or for which a sorted join searches."""
        return HashedOrSearched(self.key_pairs, self)

    def has_key_to_search(self, left: PlannerNode, right: PlannerNode) -> bool:
        """Return whether there is only one key, it is an int or a date-time without offset, and it is never missing on at least one side."""
        if len(self.left_keys) != 1:
            return False
        a, b = self.left_keys[0], self.right_keys[0]
        if left.schema[a] not in (INT, DATETIME):
            return False
        # Missing keys on both sides would have to match, which a search does not support.
        return properties_of(left).order.is_not_null(a) or properties_of(right).order.is_not_null(b)

    def useful_orders(self, inputs: Sequence[Facts]) -> Sequence[tuple[int, Sequence[int]]]:
        """Return the order of each key, on both sides."""
        return [*((0, [column]) for column in self.left_keys), *((1, [column]) for column in self.right_keys)]

    def over_columns(self, outputs: Sequence[int], kept: Sequence[Sequence[int]], inputs: Sequence[Facts]) -> tuple[Operator, Sequence[int]]:
        left, right = new_positions(kept[0]), new_positions(kept[1])
        left_keys, right_keys = tuple(left[key] for key in self.left_keys), tuple(right[key] for key in self.right_keys)
        return attrs.evolve(self, left_keys=left_keys, right_keys=right_keys), self.yielded(kept, inputs)

    def requires(self, slot: int) -> Need:
        """Return ``INHERITED``: the order of the inputs matters only if the order of the output is observed."""
        return Need.INHERITED


@attrs.frozen
class HashedOrSearched(Joining):
    """The matches of a join of any kind: the planner computes them by a hash join, whole or by partitions, or by a sorted join."""

    join: Join

    def in_memory(self) -> Operator:
        """Return the hash join."""
        hash_join: Callable[..., Operator] = planner_node_name_to_type("hash_join")
        return hash_join(self.join.left_keys, self.join.right_keys, self.join.how)

    def searching(self, known: Sequence[PlannerNode], inputs: Sequence[PlannerNode]) -> PlannerNode | None:
        """Return the sorted join, with the right input sorted by key; None if no search is possible."""
        if self.join.how not in SEARCHED or not self.join.has_key_to_search(*known):
            return None
        (left_key,), (right_key,) = self.join.left_keys, self.join.right_keys
        search: Callable[..., Operator] = planner_node_name_to_type("sorted_join")
        return search(left_key, right_key, self.join.how).make_planner_node(inputs[0], sort_rows(inputs[1], [(right_key, True)]))

    @property
    def by_partitions(self) -> PartitionJoining | None:
        """How the hash join computes its rows from hash partitions."""
        joining = self.in_memory().joining
        return None if joining is None else joining.by_partitions


def has_text(column_type: ColumnType) -> bool:
    """Return whether keys are compared as strings: dicts, which Spark does not compare, and lists stored as JSON (not unique)."""
    return column_type.kind == DICT_KIND or column_type.is_encoded


def with_texts(relation: Relation, df: DataFrame, keys: Sequence[int], prefix: str) -> DataFrame:
    """Add a column with the comparable string of each key column that is compared as a string."""
    for key in keys:
        name, column_type = f"{prefix}{key}", relation.schema[key]
        if has_text(column_type):
            df = df.withColumn(f"text_of_{name}", comparable_column(df[name], column_type))
    return df


def join(left: PlannerNode, right: PlannerNode, left_keys: Sequence[int], right_keys: Sequence[int], how: str) -> PlannerNode:
    """Return a node with the join of two nodes on equal keys."""
    return Join(tuple(left_keys), tuple(right_keys), how).make_planner_node(left, right)
