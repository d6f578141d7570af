"""Row operators: filter, slice, append."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.errors import LengthMismatchError
from sframe_spark.operators.relational.append_properties import appended_properties
from sframe_spark.operators.rowwise.columns import Zip, side_by_side
from sframe_spark.operators.rowwise.properties import filtered_properties
from sframe_spark.order.relation import RelationProperties
from sframe_spark.planner.chunk import Chunk, concatenate
from sframe_spark.planner.facts import Facts, Length, Schema, sum_of_bounds
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.operator import Need, Operator
from sframe_spark.planner.parameters import at_least
from sframe_spark.planner.registry import register
from sframe_spark.planner.relation import KeyColumn, LoweringContext, Relation
from sframe_spark.planner.traits import RowsTaken


def at_most(inputs: Sequence[Facts]) -> int | None:
    """Upper bound of the first input's length."""
    return inputs[0].length.at_most


@register
@attrs.frozen
class FilterRows(Operator):
    """Rows whose last column is not zero (and not missing), without that column."""

    name: ClassVar[str] = "filter_rows"
    deterministic: ClassVar[bool] = True
    has_kernel: ClassVar[bool] = True
    chooses_rows: ClassVar[bool] = True
    filters: ClassVar[bool] = True
    streams: ClassVar[bool] = True
    spark_inlines: ClassVar[bool] = True

    def infer_type(self, inputs: Sequence[Facts]) -> Schema:
        """All types but the mask's."""
        return inputs[0].schema[:-1]

    def infer_length(self, inputs: Sequence[Facts]) -> Length:
        """Unknown, bounded by the input."""
        return Length.unknown(at_most=at_most(inputs))

    def infer_properties(self, inputs: Sequence[RelationProperties], facts: Sequence[Facts]) -> RelationProperties:
        """All of the input's, and what the mask says."""
        return filtered_properties(inputs[0], facts[0].width)

    def input_columns(self, outputs: Sequence[int], inputs: Sequence[Facts]) -> Sequence[Sequence[int]]:
        """Those read, and the mask."""
        return [[*outputs, inputs[0].width - 1]]

    def over_columns(self, outputs: Sequence[int], kept: Sequence[Sequence[int]], inputs: Sequence[Facts]) -> tuple[Operator, Sequence[int]]:
        """The same filter of fewer columns."""
        return self, kept[0][:-1]

    def beside_one_more(self, inputs: Sequence[Facts]) -> Operator | None:
        """The same: the mask is the last column."""
        return self

    def requires(self, slot: int) -> Need:
        """Nothing: surviving rows keep their order."""
        return Need.INHERITED

    def plan_to_operator(self, inputs: Sequence[Relation], context: LoweringContext) -> Relation:
        """``where`` on the mask column; a known position is no longer dense."""
        relation = inputs[0]
        mask = relation.df[relation.columns[-1]]
        key = relation.key
        df = relation.df.where(mask != 0).select(*relation.columns[:-1], *[column.name for column in key])
        return Relation(df, relation.schema[:-1], key, not_missing=relation.not_missing - {len(relation.schema) - 1})

    def kernel(self, inputs: Sequence[Chunk], facts: Sequence[Facts]) -> Chunk:
        """Arrow's filter."""
        chunk = inputs[0]
        mask = pc.fill_null(pc.not_equal(chunk.columns[-1], 0), False)
        return Chunk(chunk.columns[:-1], chunk.rows).take(mask)

    def describe(self) -> str:
        """Nothing to say."""
        return ""


@register
@attrs.frozen
class Filter(Operator):
    """Rows of the first input where the second, an aligned int column, is not zero and not missing."""

    name: ClassVar[str] = "filter"
    arity: ClassVar[int | None] = 2
    deterministic: ClassVar[bool] = True
    has_kernel: ClassVar[bool] = True
    chooses_rows: ClassVar[bool] = True
    filters: ClassVar[bool] = True
    streams: ClassVar[bool] = True

    def infer_type(self, inputs: Sequence[Facts]) -> Schema:
        """The first input's types.

        Raises
        ------
        LengthMismatchError
            If the lengths are known and differ.
        """
        if inputs[0].length.provably_equals(inputs[1].length) is False:
            raise LengthMismatchError(f"a mask of {inputs[1].length} rows cannot filter {inputs[0].length} rows: make the lengths equal")
        return inputs[0].schema

    def infer_length(self, inputs: Sequence[Facts]) -> Length:
        """Unknown, bounded by the input."""
        return Length.unknown(at_most=at_most(inputs))

    def infer_properties(self, inputs: Sequence[RelationProperties], facts: Sequence[Facts]) -> RelationProperties:
        """All of the first input's; any part of the rows keeps them."""
        rows, schema = side_by_side(inputs, facts)
        return filtered_properties(rows, len(schema))

    def input_columns(self, outputs: Sequence[int], inputs: Sequence[Facts]) -> Sequence[Sequence[int]]:
        """Those read of the first input, and the mask."""
        return [outputs, [0]]

    def over_columns(self, outputs: Sequence[int], kept: Sequence[Sequence[int]], inputs: Sequence[Facts]) -> tuple[Operator, Sequence[int]]:
        """The same filter of fewer columns."""
        return self, kept[0]

    def requires(self, slot: int) -> Need:
        """Aligned rows."""
        return Need.ALIGNED

    def plan_to_operator(self, inputs: Sequence[Relation], context: LoweringContext) -> Relation:
        """Zip, then ``where``."""
        return FilterRows().plan_to_operator([Zip().plan_to_operator(inputs, context)], context)

    def kernel(self, inputs: Sequence[Chunk], facts: Sequence[Facts]) -> Chunk:
        """Arrow's filter."""
        if inputs[0].rows != inputs[1].rows:
            raise LengthMismatchError(f"a mask of {inputs[1].rows} rows cannot filter {inputs[0].rows} rows: make the lengths equal")
        return FilterRows().kernel([Chunk((*inputs[0].columns, inputs[1].columns[0]), inputs[0].rows)], facts)

    def describe(self) -> str:
        """Nothing to say."""
        return ""


@register
@attrs.frozen
class SliceRows(Operator):
    """Rows ``start, start + step, ...`` before ``stop``; all three are non-negative row numbers, ``step`` at least one."""

    name: ClassVar[str] = "slice"
    deterministic: ClassVar[bool] = True
    has_kernel: ClassVar[bool] = True
    keeps_dense: ClassVar[bool] = True
    takes_wider: ClassVar[bool] = True
    chooses_rows: ClassVar[bool] = True
    streams: ClassVar[bool] = True
    start: int = attrs.field(validator=at_least(0))
    stop: int | None = attrs.field(validator=at_least(0))
    step: int = attrs.field(default=1, validator=at_least(1))

    def infer_type(self, inputs: Sequence[Facts]) -> Schema:
        """The input's types."""
        return inputs[0].schema

    def infer_length(self, inputs: Sequence[Facts]) -> Length:
        """Exact when the input's length is known."""
        wanted = None if self.stop is None else len(range(self.start, self.stop, self.step))
        if inputs[0].length.rows is not None:
            stop = inputs[0].length.rows if self.stop is None else min(self.stop, inputs[0].length.rows)
            return Length.exactly(len(range(self.start, stop, self.step)))
        bounds = [bound for bound in (wanted, inputs[0].length.at_most) if bound is not None]
        return Length.unknown(at_most=min(bounds) if bounds else None)

    def infer_properties(self, inputs: Sequence[RelationProperties], facts: Sequence[Facts]) -> RelationProperties:
        """All of the input's; any part of the rows keeps them."""
        return inputs[0]

    def input_columns(self, outputs: Sequence[int], inputs: Sequence[Facts]) -> Sequence[Sequence[int]]:
        """Those read."""
        return [outputs]

    def over_columns(self, outputs: Sequence[int], kept: Sequence[Sequence[int]], inputs: Sequence[Facts]) -> tuple[Operator, Sequence[int]]:
        """The same rows of fewer columns."""
        return self, kept[0]

    @property
    def row_range(self) -> RowsTaken:
        """The rows taken."""
        return RowsTaken(self.start, self.stop, self.step)

    def requires(self, slot: int) -> Need:
        """Rows by number."""
        return Need.DENSE

    def input_interval(self, slot: int, start: int, stop: int, facts: Sequence[Facts]) -> tuple[int, int]:
        """Input rows that hold output rows ``start..stop``."""
        if stop <= start:
            return (self.start, self.start)
        return (self.start + start * self.step, self.start + (stop - 1) * self.step + 1)

    def plan_to_operator(self, inputs: Sequence[Relation], context: LoweringContext) -> Relation:
        """A filter on the row number; a prefix of a keyed relation becomes a top-k, and of rows in any order so many of them are taken."""
        from pyspark.sql import functions as F

        relation = inputs[0]
        if relation.position is None and self.start == 0 and self.step == 1 and self.stop is not None:
            ordered = relation.df.orderBy(*relation.order()) if relation.key else relation.df
            return attrs.evolve(relation, df=ordered.limit(self.stop))
        if relation.position is None and not relation.key and not context.observed and self.step == 1 and self.stop is not None:
            return attrs.evolve(relation, df=relation.df.limit(self.stop).offset(self.start))
        numbered = relation.with_position()
        number = F.col(str(numbered.position))
        condition = number >= self.start
        if self.stop is not None:
            condition = condition & (number < self.stop)
        if self.step != 1:
            condition = condition & ((number - self.start) % self.step == 0)
        df = numbered.df.where(condition)
        dense = F.floor((F.col(str(numbered.position)) - self.start) / self.step).cast("bigint")
        key = [F.col(column.name) for column in numbered.key if column.name != numbered.position]
        df = df.select(*numbered.columns, *key, dense.alias("p"))
        kept = tuple(column for column in numbered.key if column.name != numbered.position)
        return Relation(df, numbered.schema, kept or (KeyColumn("p"),), "p", relation.not_missing)

    def kernel(self, inputs: Sequence[Chunk], facts: Sequence[Facts]) -> Chunk:
        """A slice of the whole input."""
        chunk = inputs[0]
        stop = chunk.rows if self.stop is None else min(self.stop, chunk.rows)
        return self.take_steps(chunk.slice(self.start, stop))

    def take_steps(self, chunk: Chunk) -> Chunk:
        """Every ``step``-th row of a run that begins at an output row."""
        if self.step == 1 or not chunk.rows:
            return chunk
        places = pa.array(np.arange(0, chunk.rows, self.step))
        return Chunk(tuple(column.take(places) for column in chunk.columns), len(places))

    def run_interval(self, inputs: Sequence[Chunk], facts: Sequence[Facts], start: int, stop: int, intervals: Sequence[tuple[int, int]]) -> Chunk:
        """Output rows from the input interval asked for."""
        return self.take_steps(inputs[0])

    def describe(self) -> str:
        """The range."""
        end = "" if self.stop is None else self.stop
        return f"{self.start}:{end}" + ("" if self.step == 1 else f":{self.step}")


@register
@attrs.frozen
class Append(Operator):
    """All rows of the first input, then all rows of the next; types agree."""

    name: ClassVar[str] = "append"
    arity: ClassVar[int | None] = None
    deterministic: ClassVar[bool] = True
    has_kernel: ClassVar[bool] = True
    chooses_rows: ClassVar[bool] = True
    alike_inputs: ClassVar[bool] = True
    unites_rows: ClassVar[bool] = True
    streams: ClassVar[bool] = True
    spark_inlines: ClassVar[bool] = True
    keeps_dense: ClassVar[bool] = True

    def infer_type(self, inputs: Sequence[Facts]) -> Schema:
        """The common types.

        Raises
        ------
        RuntimeError
            If the types differ.
        """
        for facts in inputs[1:]:
            if facts.schema != inputs[0].schema:
                raise LengthMismatchError("append takes inputs of equal column types")
        return inputs[0].schema

    def infer_length(self, inputs: Sequence[Facts]) -> Length:
        """The sum of the lengths."""
        rows = [facts.length.rows for facts in inputs]
        if all(count is not None for count in rows):
            return Length.exactly(sum(count for count in rows if count is not None))
        return Length.unknown(at_most=sum_of_bounds([facts.length for facts in inputs]))

    def infer_properties(self, inputs: Sequence[RelationProperties], facts: Sequence[Facts]) -> RelationProperties:
        """What holds in every input, as far as bounds of values prove it at the boundaries."""
        return appended_properties(inputs, facts)

    def input_columns(self, outputs: Sequence[int], inputs: Sequence[Facts]) -> Sequence[Sequence[int]]:
        """Those read, of every input."""
        return [outputs] * len(inputs)

    def over_columns(self, outputs: Sequence[int], kept: Sequence[Sequence[int]], inputs: Sequence[Facts]) -> tuple[Operator, Sequence[int]]:
        """The same rows of fewer columns."""
        return self, kept[0]

    def requires(self, slot: int) -> Need:
        """Nothing of each input."""
        return Need.INHERITED

    def plan_to_operator(self, inputs: Sequence[Relation], context: LoweringContext) -> Relation:
        """A union whose key is the branch number, then the branch's own key."""
        return append_relations(inputs)

    def kernel(self, inputs: Sequence[Chunk], facts: Sequence[Facts]) -> Chunk:
        """Concatenated arrays."""
        return concatenate(list(inputs), facts[0].schema)

    def input_interval(self, slot: int, start: int, stop: int, facts: Sequence[Facts]) -> tuple[int, int]:
        """The part of an input that lies in the interval."""
        before = sum(item.length.known_rows for item in facts[:slot])
        rows = facts[slot].length.known_rows
        first = min(max(start - before, 0), rows)
        return (first, max(first, min(stop - before, rows)))

    def run_interval(self, inputs: Sequence[Chunk], facts: Sequence[Facts], start: int, stop: int, intervals: Sequence[tuple[int, int]]) -> Chunk:
        """Concatenated parts."""
        return self.kernel(inputs, facts)

    def describe(self) -> str:
        """Nothing to say."""
        return ""


def append_relations(inputs: Sequence[Relation]) -> Relation:
    """Union of relations in order; keys of one shape share columns, others stand side by side with missing values."""
    from pyspark.sql import functions as F

    shapes = [[(c.ascending, str(r.df.schema[c.name].dataType)) for c in r.key] for r in inputs]
    same = all(shape == shapes[0] for shape in shapes)
    widths = [len(relation.key) for relation in inputs]
    total = widths[0] if same else sum(widths)
    frames: list[Any] = []
    ascending = [True] * (total + 1)
    for branch, relation in enumerate(inputs):
        start = 0 if same else sum(widths[:branch])
        selected = [F.col(name) for name in relation.columns]
        hidden: list[Any] = [None] * total
        for index, column in enumerate(relation.key):
            hidden[start + index] = F.col(column.name)
            ascending[start + index + 1] = column.ascending
        types = _key_types(inputs, same)
        keys = [(value if value is not None else F.lit(None).cast(types[i])).alias(f"k{i + 1}") for i, value in enumerate(hidden)]
        frames.append(relation.df.select(*selected, F.lit(branch).alias("k0"), *keys))
    df = frames[0]
    for frame in frames[1:]:
        df = df.unionAll(frame)
    not_missing = frozenset.intersection(*[relation.not_missing for relation in inputs])
    return Relation(df, inputs[0].schema, tuple(KeyColumn(f"k{i}", ascending[i]) for i in range(total + 1)), not_missing=not_missing)


def _key_types(inputs: Sequence[Relation], same: bool) -> list[Any]:
    chosen = inputs[:1] if same else inputs
    return [relation.df.schema[column.name].dataType for relation in chosen for column in relation.key]


def filter_by_mask(node: PlannerNode, mask: PlannerNode) -> PlannerNode:
    """Rows of ``node`` where the int column ``mask`` is not zero.

    Examples
    --------
    >>> from sframe_spark.plugin import SArray, column_of, node_of
    >>> list(column_of(filter_by_mask(node_of(SArray(["a", "b", "c"])), node_of(SArray([1, 0, 1])))))
    ['a', 'c']
    """
    return Filter().make_planner_node(node, mask)


def slice_rows(node: PlannerNode, start: int, stop: int | None, step: int = 1) -> PlannerNode:
    """Rows by number.

    Examples
    --------
    >>> from sframe_spark.plugin import SArray, column_of, node_of
    >>> list(column_of(slice_rows(node_of(SArray([1, 2, 3, 4])), 1, None, 2)))
    [2, 4]
    """
    return SliceRows(start, stop, step).make_planner_node(node)


def append(*nodes: PlannerNode) -> PlannerNode:
    """Rows of all nodes, in order.

    Examples
    --------
    >>> from sframe_spark.plugin import SArray, column_of, node_of
    >>> list(column_of(append(node_of(SArray([1, 2])), node_of(SArray([3])))))
    [1, 2, 3]
    """
    return nodes[0] if len(nodes) == 1 else Append().make_planner_node(*nodes)
