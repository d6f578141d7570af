"""What a kernel gave is held against what its operator says: whoever reads rows of another type would take their bytes for something else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from sframe_spark.errors import PlanInvariantError
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.facts import Schema
from sframe_spark.planner.operator import Operator


def require_inferred(operator: Operator, inputs: Sequence[Any], chunk: Chunk, schema: Schema) -> Chunk:
    """A chunk that an operator made, if it has the inferred columns, of the inferred types, and of a row-wise operator a row for each row.

    Raises
    ------
    PlanInvariantError
        If it has not; the message names the operator and the column.
    """
    if not isinstance(chunk, Chunk):
        raise PlanInvariantError(f"the kernel of {operator.called()!r} gave a {type(chunk).__name__}: it gives a Chunk")
    columns = chunk.columns
    if len(columns) != len(schema):
        raise PlanInvariantError(f"the kernel of {operator.called()!r} gave {len(columns)} columns, its infer_type says {len(schema)}")
    for place, (column, column_type) in enumerate(zip(columns, schema, strict=True)):
        found = getattr(column, "type", None)
        if not isinstance(found, pa.DataType):
            raise PlanInvariantError(
                f"the kernel of {operator.called([place])!r} gave a {type(column).__name__} as column {place}: it gives Arrow arrays"
            )
        if len(column) != chunk.rows:
            told = f"{len(column):,} values in column {place} of a Chunk of {chunk.rows:,} rows"
            raise PlanInvariantError(f"the kernel of {operator.called([place])!r} gave {told}: one for each")
        if found is not column_type.physical and not found.equals(column_type.physical):
            said = f"its infer_type says {column_type}, which is {column_type.physical}"
            raise PlanInvariantError(
                f"the kernel of {operator.called([place])!r} gave Arrow's {found} in column {place}, {said}: cast it, or infer another type"
            )
    if operator.row_wise and inputs and chunk.rows != inputs[0].rows:
        raise PlanInvariantError(
            f"the kernel of {operator.called()!r} gave {chunk.rows:,} rows of {inputs[0].rows:,}, and it is row_wise: one for each"
        )
    return chunk
