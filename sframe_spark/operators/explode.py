"""The explode operator, which makes a row for each item of a list, an array or a dict; and the base class of operators that multiply rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.errors import SchemaError
from sframe_spark.operators.project_zip_arrange import new_positions
from sframe_spark.order import derive
from sframe_spark.order.properties import RelationProperties
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.node_facts import Facts, Length, Schema
from sframe_spark.planner.operator import ExpandingOperator, Need, Operator, Origin
from sframe_spark.planner.operator_declarations import NO_EXCHANGE, SparkCost
from sframe_spark.planner.operator_parameters import column_positions
from sframe_spark.planner.registry import register
from sframe_spark.planner.spark_relation import KeyColumn, LoweringContext, Relation
from sframe_spark.types import ARRAY_KIND, DICT_KIND, FLOAT, INT, LIST_KIND, STR, ColumnType
from sframe_spark.values.arrow_to_python import decode
from sframe_spark.values.nested.json_item_splitting_and_joining import any_items
from sframe_spark.values.nested.text_and_json_to_columns import column_of
from sframe_spark.values.python_to_arrow import encode

if TYPE_CHECKING:
    from pyspark.sql import Column

KINDS = (LIST_KIND, ARRAY_KIND, DICT_KIND)


@attrs.frozen
class Expansion(ExpandingOperator):
    """Base class of operators that make any number of rows from each row."""

    deterministic: ClassVar[bool] = True
    streams: ClassVar[bool] = True
    spark_cost: ClassVar[SparkCost] = NO_EXCHANGE

    def requires(self, slot: int) -> Need:
        """Return ``INHERITED``: the order of the input matters only if the order of the output is observed."""
        return Need.INHERITED


@register
@attrs.frozen
class Explode(Expansion):
    """For each item of a column's lists, in order: the other columns of the row, and the item (for dicts: key and value).

    Parameters
    ----------
    position
        Position of the column, which has lists, arrays or dicts.
    types
        Type of the items; for dicts, types of keys and values.
    keeps_empty
        Whether a row whose value is missing or has no items stays as one row with missing items.
    """

    name: ClassVar[str] = "explode"
    position: int = attrs.field(validator=column_positions)
    types: Schema
    keeps_empty: bool = True

    @property
    def filtered_slots(self) -> Sequence[int]:
        """The only input: a filter by the other columns keeps or drops all output rows of an input row."""
        return (0,)

    def repeated(self, width: int) -> list[int]:
        return [position for position in range(width) if position != self.position]

    def column_origins(self, inputs: Sequence[Facts]) -> Sequence[Sequence[Origin]]:
        return [[(0, position)] for position in self.repeated(inputs[0].width)]

    def computed_by_arrow(self, inputs: Sequence[Facts]) -> Sequence[int]:
        """Return the columns of items: numbers and strings are sliced from their column, however the lists are stored."""
        width = inputs[0].width - 1
        return range(width, width + len(self.types))

    def infer_type(self, inputs: Sequence[Facts]) -> Schema:
        """Return the types of the other columns, followed by the types of the items.

        Raises
        ------
        SchemaError
            If the column's type has no items, or its items have other types.
        """
        schema = inputs[0].schema
        if self.position >= len(schema) or schema[self.position].kind not in KINDS:
            raise SchemaError(f"only lists, arrays and dicts have items, not {schema[self.position : self.position + 1]}")
        column_type = schema[self.position]
        if len(self.types) != (2 if column_type.kind == DICT_KIND else 1) or (natural_types(column_type) or self.types) != self.types:
            raise SchemaError(f"items of {column_type} are not of the types {', '.join(map(str, self.types))}")
        return (*[schema[position] for position in self.repeated(len(schema))], *self.types)

    def infer_length(self, inputs: Sequence[Facts]) -> Length:
        """Return an unknown length, unless the input is empty."""
        return Length.exactly(0) if inputs[0].length.at_most == 0 else Length.unknown()

    def infer_properties(self, inputs: Sequence[RelationProperties], facts: Sequence[Facts]) -> RelationProperties:
        """Return properties: repeating rows in place keeps orders, but not keys."""
        order = derive.repeat_each(inputs[0].order, range(facts[0].width))
        return RelationProperties(order, bounds=inputs[0].bounds).project([*self.repeated(facts[0].width), *[None] * len(self.types)])

    def input_columns(self, outputs: Sequence[int], inputs: Sequence[Facts]) -> Sequence[Sequence[int]]:
        """Return the exploded column and the required other columns."""
        others = self.repeated(inputs[0].width)
        return [sorted({self.position, *(others[output] for output in outputs if output < len(others))})]

    def over_columns(self, outputs: Sequence[int], kept: Sequence[Sequence[int]], inputs: Sequence[Facts]) -> tuple[Operator, Sequence[int]]:
        """Return an operator that repeats only the remaining columns."""
        others = self.repeated(inputs[0].width)
        left = [position for position, column in enumerate(others) if column in kept[0]]
        made = range(len(others), len(others) + len(self.types))
        return attrs.evolve(self, position=new_positions(kept[0])[self.position]), [*left, *made]

    def chunks(self, inputs: Sequence[Chunk], facts: Sequence[Facts], max_rows: Callable[[], int]) -> Iterator[Chunk]:
        """Yield at most ``max_rows()`` items at a time."""
        chunk = inputs[0]
        column, items = items_of(chunk.columns[self.position], facts[0].schema[self.position], self.types)
        rows, positions = rows_of_items(column, self.keeps_empty)
        others = [chunk.columns[position] for position in self.repeated(facts[0].width)]
        done = 0
        while True:
            stop = min(done + max_rows(), len(rows))
            repeated = [other.take(rows.slice(done, stop - done)) for other in others]
            yield Chunk((*repeated, *[item.take(positions.slice(done, stop - done)) for item in items]), stop - done)
            done = stop
            if done >= len(rows):
                return

    def plan_to_operator(self, inputs: Sequence[Relation], context: LoweringContext) -> Relation:
        """Return Spark's ``posexplode``; the row's key and the item's position form the new key."""
        from pyspark.sql import functions as F

        relation = inputs[0]
        others = [relation.df[f"c{position}"].alias(f"c{new}") for new, position in enumerate(self.repeated(len(relation.schema)))]
        hidden = [relation.df[name] for name in relation.hidden]
        column = self._spark_items(relation)
        names = [f"c{len(others) + position}" for position in range(len(self.types))]
        is_map = natural_types(relation.schema[self.position]) is not None and len(self.types) == 2
        exploded = (F.posexplode_outer if self.keeps_empty else F.posexplode)(column).alias("place", *(names if is_map else ["item"]))
        df = relation.df.select(*others, *hidden, exploded)
        if not is_map:
            fields = [df["item"]] if len(self.types) == 1 else [df["item"]["key"], df["item"]["value"]]
            df = df.select(
                *[f"c{i}" for i in range(len(others))], *[f.alias(n) for f, n in zip(fields, names, strict=True)], *relation.hidden, "place"
            )
        facts = [Facts(relation.schema, Length.unknown())]
        return Relation(df, self.infer_type(facts), (*relation.key, KeyColumn("place")))

    def _spark_items(self, relation: Relation) -> Column:
        """Return the column in a form that Spark can explode: Python converts columns whose items may have any type."""

        from sframe_spark.compute.spark_columns import ddl, fit
        from sframe_spark.session.spark_versions import arrow_function
        from sframe_spark.udf.error_transport import error_transport

        column_type, types, transport = relation.schema[self.position], self.types, error_transport()
        column = relation.df[f"c{self.position}"]
        if natural_types(column_type) is not None:
            return column
        item = types[0].physical if len(types) == 1 else pa.struct([("key", types[0].physical), ("value", types[1].physical)])

        def lists(cells: pa.Array) -> pa.Array:
            return transport.guarded(lambda: as_lists(fit(cells, column_type.physical), column_type, types, item))

        return arrow_function(lists, f"array<{ddl(item)}>")(column)

    def describe(self) -> str:
        return f"c{self.position}" + ("" if self.keeps_empty else ", items only")


def natural_types(column_type: ColumnType) -> Schema | None:
    """Return the item types if the column's type determines them; None if its cells may hold items of any type."""
    physical = column_type.physical
    if column_type.kind == ARRAY_KIND:
        return (FLOAT,)
    by_physical = {kind.physical: kind for kind in (INT, FLOAT, STR)}
    if pa.types.is_list(physical):
        return (by_physical[physical.value_type],)
    return (by_physical[physical.key_type], by_physical[physical.item_type]) if pa.types.is_map(physical) else None


def items_of(column: pa.Array, column_type: ColumnType, types: Schema) -> tuple[pa.Array, list[pa.Array]]:
    """Return the column as a list array, and the flat arrays of its items (for dicts: keys and values)."""
    if natural_types(column_type) is None:
        stored = _stored_items(column, column_type, types)
        if stored is not None:
            return stored
        cells = decode(column, column_type)
        lengths = [0 if cell is None else len(cell) for cell in cells]
        flat = [item for cell in cells if cell is not None for item in (cell.items() if isinstance(cell, dict) else cell)]
        items = (
            [encode(flat, types[0])] if len(types) == 1 else [encode([pair[position] for pair in flat], kind) for position, kind in enumerate(types)]
        )
        offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int32())
        return pa.ListArray.from_arrays(offsets, items[0]), items
    return column, [column.keys, column.items] if pa.types.is_map(column.type) else [column.values]


def _stored_items(column: pa.Array, column_type: ColumnType, types: Schema) -> tuple[pa.Array, list[pa.Array]] | None:
    """Return :func:`items_of` for lists and dicts stored as JSON, without Python objects; None if not all items have these types."""
    result = any_items(column, column_type.kind)
    if result is None:
        return None
    items = column_of(result.items, types[-1])
    if items is None or (result.keys is not None and result.keys.type != types[0].physical):
        return None
    return pa.ListArray.from_arrays(result.offsets, items), [items] if result.keys is None else [result.keys, items]


def rows_of_items(column: pa.Array, keeps_empty: bool) -> tuple[pa.Array, pa.Array]:
    """Return for each output row its input row, and the index of its item (missing if the row has no item)."""
    offsets = column.offsets.to_numpy(zero_copy_only=False).astype(np.int64)
    lengths = np.where(column.is_valid().to_numpy(zero_copy_only=False), np.diff(offsets), 0) if len(column) else np.zeros(0, np.int64)
    counts = np.maximum(lengths, 1) if keeps_empty else lengths
    rows = np.repeat(np.arange(len(counts)), counts)
    starts = np.cumsum(counts) - counts
    positions = np.repeat(offsets[:-1], counts) + np.arange(len(rows)) - np.repeat(starts, counts)
    empty = np.repeat(lengths == 0, counts)
    return pa.array(rows, pa.int64()), pa.array(np.where(empty, 0, positions), pa.int64(), mask=empty)


def as_lists(cells: pa.Array, column_type: ColumnType, types: Schema, item: pa.DataType) -> pa.Array:
    """Return cells with items of any type as lists with items of one type."""
    column, items = items_of(cells, column_type, types)
    values = items[0] if len(items) == 1 else pa.StructArray.from_arrays(items, fields=list(item))
    return pa.ListArray.from_arrays(column.offsets, values, type=pa.list_(item))


def explode(node: PlannerNode, position: int, types: Schema, keeps_empty: bool = True) -> PlannerNode:
    """Return a node with a row for each item of a column."""
    return Explode(position, tuple(types), keeps_empty).make_planner_node(node)
