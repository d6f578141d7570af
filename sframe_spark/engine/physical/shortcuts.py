"""Answers that need only a part of the rows: the first rows of a section, and how many groups there may be."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from sframe_spark.config import config
from sframe_spark.engine.batches import FIRST_ROWS, GROWTH
from sframe_spark.engine.budgets import rows_fit
from sframe_spark.engine.physical.column_lineage import origins_of
from sframe_spark.engine.runtime.pipeline import FlatPlan, PlanRunner
from sframe_spark.operators.sources.source import SegmentSource
from sframe_spark.operators.udf_calls import calls_users
from sframe_spark.planner.chunk import Chunk, column_names, concatenate
from sframe_spark.planner.graph import postorder
from sframe_spark.planner.node import PlannerNode

# More rows than this are not looked for on the driver.
MOST_FIRST_ROWS = 10_000
# Rows looked at before a parallel job is the better way; calls of a user's function are a hundred times dearer than kernels.
SCANNED_ROWS = 2_000_000
SCANNED_ROWS_WITH_FUNCTION = 16_384
SAMPLE_ROWS = 16_384


def may_look_at_first_rows(root: PlannerNode, count: int) -> bool:
    """True when so few first rows of a segment section are looked for on the driver."""
    readable = all(bool(node.inputs) or node.operator.is_source for node in postorder([root]))
    return count <= MOST_FIRST_ROWS and bool(config.small_rows) and readable and rows_fit(root, count)


def first_rows(root: PlannerNode, base_rows: int, count: int) -> Chunk | None:
    """The first ``count`` rows of a segment section, computed batch by batch until there are enough.

    None when a bounded look at the first base rows does not give them: they are then worth a parallel job.
    """
    if not may_look_at_first_rows(root, count):
        return None
    budget = SCANNED_ROWS_WITH_FUNCTION if calls_users(root) else SCANNED_ROWS
    runner = PlanRunner(FlatPlan.of(root))
    found: list[Chunk] = []
    left, position, size, made = count, 0, FIRST_ROWS, 0
    while left > 0 and position < base_rows:
        stop = runner.end_of_batch(position, base_rows, size)
        for piece in runner.pieces(position, stop, stop == base_rows, FIRST_ROWS):
            # Where one row becomes many, it is these that take time.
            made += FIRST_ROWS
            if max(position, made - FIRST_ROWS) >= budget:
                return None
            found.append(piece.slice(0, left))
            left -= found[-1].rows
            if not left:
                break
        position, size = stop, min(size * GROWTH, config.batch_rows)
    return concatenate(found, root.schema)


def few_groups(node: PlannerNode, positions: Sequence[int]) -> bool:
    """True when a sample of the key columns has few distinct rows: the groups then probably fit in the driver's memory."""
    found = stored_columns(node, positions)
    if found is None:
        return False
    source, places = found
    rows = source.stop - source.start
    first = distinct_rows(source, places, 0)
    middle = distinct_rows(source, places, max(rows // 2, SAMPLE_ROWS))
    new = middle.num_rows - middle.join(first, middle.column_names, join_type="left semi").num_rows
    # Where a second sample has many values that the first had not, there may be any number of them.
    return first.num_rows < SAMPLE_ROWS // 2 and new <= max(1, first.num_rows // 10)


def distinct_rows(source: SegmentSource, places: Sequence[int], start: int) -> pa.Table:
    """Distinct rows of some columns in a sample of the source's rows."""
    table = source.with_columns(places).read(start, start + SAMPLE_ROWS).to_table()
    # Joins skip missing values, so they are made a text of their own; only the number of distinct rows matters.
    names = column_names(table.num_columns)
    texts = [column.cast(pa.string()).fill_null("\0") for column in table.columns]
    return pa.table(texts, names=names).group_by(names).aggregate([])


def stored_columns(node: PlannerNode, positions: Sequence[int]) -> tuple[SegmentSource, list[int]] | None:
    """The stored columns of which some columns are copies, through operators that keep or drop rows; None if they are none."""
    places = list(positions)
    while not isinstance(node.operator, SegmentSource):
        operator = node.operator
        if len(node.inputs) != 1 or operator.row_range is not None or not (operator.row_wise or operator.chooses_rows):
            return None
        shown = [origins_of(node)[place] for place in places]
        if not all(shown):
            return None
        places, node = [first[0][1] for first in shown], node.inputs[0]
    simple = all(pa.types.is_primitive(node.schema[place].physical) or pa.types.is_string(node.schema[place].physical) for place in places)
    return (node.operator, places) if simple and places else None
