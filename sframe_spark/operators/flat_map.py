"""Flat map: a user's function gives any number of rows for each row."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

import attrs

from sframe_spark.operators.python_function import PythonFunction
from sframe_spark.operators.user_errors import error_like, user_error
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.facts import Facts, Length, Schema
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.operator import ALL_ROWS, Need, Operator
from sframe_spark.planner.registry import register
from sframe_spark.planner.relation import KeyColumn, LoweringContext, Relation
from sframe_spark.types import ColumnType
from sframe_spark.values.decode import decode, scalar_array
from sframe_spark.values.encode import encode


@register
@attrs.frozen
class FlatMap(Operator):
    """For each row, given as a dict, the rows of the list a function returns, in order."""

    name: ClassVar[str] = "flat_map"
    deterministic: ClassVar[bool] = True
    has_kernel: ClassVar[bool] = True
    expands: ClassVar[bool] = True
    function: PythonFunction = attrs.field(metadata={"portable": False})
    types: Schema = attrs.field()

    def infer_type(self, inputs: Sequence[Facts]) -> Schema:
        """The declared types."""
        return self.types

    def infer_length(self, inputs: Sequence[Facts]) -> Length:
        """Unknown."""
        return Length.unknown()

    def requires(self, slot: int) -> Need:
        """Nothing of its own: results keep their row's place."""
        return Need.INHERITED

    def kernel(self, inputs: Sequence[Chunk], facts: Sequence[Facts]) -> Chunk:
        """One call per row."""
        return next(self.pieces(inputs, facts, lambda: ALL_ROWS))

    def pieces(self, inputs: Sequence[Chunk], facts: Sequence[Facts], most_rows: Callable[[], int]) -> Iterator[Chunk]:
        """One call per row, results given on as soon as there are enough; those of one row are never more than the function itself made."""
        chunk = inputs[0]
        lists = [decode(column, column_type) for column, column_type in zip(chunk.columns, facts[0].schema, strict=True)]
        names = self.function.names or ()
        waiting: list[Sequence[Any]] = []
        for values in zip(*lists, strict=True):
            waiting.extend(self._call(dict(zip(names, values, strict=True))))
            while len(waiting) > (most := most_rows()):
                yield self._encoded(waiting[:most])
                waiting = waiting[most:]
        yield self._encoded(waiting)

    def _encoded(self, rows: Sequence[Sequence[Any]]) -> Chunk:
        columns = [encode([row[i] for row in rows], column_type) for i, column_type in enumerate(self.types)]
        return Chunk(tuple(columns), len(rows))

    def _call(self, row: dict[str, Any]) -> list[Sequence[Any]]:
        try:
            result = self.function.function(row)
        except Exception as error:
            raise user_error(self.function.describe(), row, error) from error
        if not isinstance(result, list):
            message = f"{self.function.describe()} returned {type(result).__name__}: it must return a list of rows"
            raise error_like(TypeError, message, row=row)
        for item in result:
            if not isinstance(item, (list, tuple)) or len(item) != len(self.types):
                raise error_like(
                    TypeError,
                    f"{self.function.describe()} returned {item!r} as a row: each row must be a list of {len(self.types)} value(s)",
                    row=row,
                )
        return result

    def plan_to_operator(self, inputs: Sequence[Relation], context: LoweringContext) -> Relation:
        """``mapInArrow`` with the row's key and the place within its results as the key."""
        from sframe_spark.operators.spark_columns import ddl

        relation = inputs[0]
        hidden = relation.hidden
        fields = ", ".join(f"{name} {relation.df.schema[name].dataType.simpleString()}" for name in hidden)
        columns = ", ".join(f"c{i} {ddl(t.physical)}" for i, t in enumerate(self.types))
        schema = ", ".join(part for part in (columns, fields, "place bigint") if part)
        df = relation.df.mapInArrow(flat_map_batches(self, relation.schema, len(hidden)), schema)
        return Relation(df, self.types, (*relation.key, KeyColumn("place")))

    def describe(self) -> str:
        """The function's place."""
        return self.function.describe()


def flat_map_batches(operator: FlatMap, schema: Schema, hidden: int) -> Callable[[Any], Any]:
    """The function that Spark runs over batches: results carry the hidden columns of the row they come from."""
    import pyarrow as pa

    from sframe_spark.operators.error_transport import error_transport
    from sframe_spark.operators.spark_columns import fit

    facts, transport = Facts(schema, Length.unknown()), error_transport()

    def expand(batches: Any) -> Any:
        for batch in batches:
            width = len(schema)
            columns = [fit(column, t.physical) for column, t in zip(batch.columns[:width], schema, strict=True)]
            for row in range(batch.num_rows):
                chunk = Chunk(tuple(column.slice(row, 1) for column in columns), 1)
                result = transport.guarded(lambda chunk=chunk: operator.kernel([chunk], [facts]))  # type: ignore[misc]
                carried = [scalar_array(batch.column(width + i)[row], result.rows) for i in range(hidden)]
                arrays = [*result.columns, *carried, pa.array(range(result.rows), pa.int64())]
                names = [f"c{i}" for i in range(len(result.columns))]
                names += [batch.schema.names[width + i] for i in range(hidden)] + ["place"]
                yield pa.RecordBatch.from_arrays(arrays, names=names)

    return expand


def flat_map(node: PlannerNode, function: Any, names: Sequence[str], types: Sequence[ColumnType]) -> PlannerNode:
    """Rows of the lists a function returns for each row of a node."""
    python = PythonFunction(function, types[0], tuple(names))
    return FlatMap(python, tuple(types)).make_planner_node(node)
