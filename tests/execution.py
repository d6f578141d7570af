"""One execution of a frame, looked at from below: its columns, and what the executor did."""

from __future__ import annotations

from typing import Any

from sframe_spark import SFrame
from sframe_spark.engine.execution.plan_executor import Executor
from sframe_spark.engine.materialize_options import MaterializeOptions
from sframe_spark.rewrite_laws import optimize
from sframe_spark.values.arrow_to_python import decode


def executed(frame: SFrame, **options: Any) -> tuple[list[list[Any]], list[str]]:
    """Columns of a frame after one execution, and the executor's log; the options are those of a materialisation."""
    executor = Executor(MaterializeOptions(**options))
    source = executor.execute(frame._node if options.get("naive") else optimize(frame._node))
    chunk = source.operator.read(0, source.length.rows or 0)  # type: ignore[attr-defined]
    return [decode(column, kind) for column, kind in zip(chunk.columns, frame._node.schema, strict=True)], executor.log
