"""Late materialization: the first rows in some order are chosen by the deciding columns, and the other columns are read for the chosen rows only."""

from __future__ import annotations

import attrs

from sframe_spark.engine import costs
from sframe_spark.operators.lookup.cached_reader import Lookup
from sframe_spark.operators.project_zip_arrange import project, zip_columns
from sframe_spark.operators.sources.base_and_segment_source import SegmentSource, source_of
from sframe_spark.operators.sources.in_memory import range_source
from sframe_spark.operators.user_function_calls_and_result_memos import functions_of
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.graph_traversal import postorder
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.operator import DecomposableOperator
from sframe_spark.rewrite_laws import optimize
from sframe_spark.rewrite_laws.projection_pushdown import passing_first_column


@attrs.frozen(eq=False)
class NumberedRows:
    """A plan that finds the row ids of the first rows, in some order, of a stored frame or of filters and row-wise functions over one.

    Parameters
    ----------
    top
        A plan that computes the deciding columns of the chosen rows and, as the last column, their row ids in the source.
    source
        The source of the stored rows.
    above
        The nodes above the source, each after its input.
    keys
        Positions of the deciding columns.
    """

    top: PlannerNode
    source: PlannerNode
    above: tuple[PlannerNode, ...]
    keys: tuple[int, ...]

    @property
    def deciding(self) -> PlannerNode:
        """The plan of the deciding columns, of all rows that the filters above the source keep."""
        return optimize(project(self.above[-1] if self.above else self.source, self.keys))

    def rows(self, top: PlannerNode) -> Chunk:
        """Return all columns of the chosen rows, given the result of ``top``; the filters above the source keep all chosen rows."""
        numbers = source_of(top).read_all().columns[-1].to_numpy(zero_copy_only=False)
        rows = Lookup.of(source_of(self.source)).take(numbers, range(self.source.facts.width))
        for node in self.above:
            rows = node.operator.kernel([rows], [child.facts for child in node.inputs])
        return rows


def numbered_rows(node: PlannerNode) -> NumberedRows | None:
    """Return the plan that chooses the rows of a node and gives their row ids.

    The result is None if the node chooses no first rows, if row ids cannot be had, or if reading all columns is as fast.
    """
    operator, below = node.operator, node.inputs[0]
    if not isinstance(operator, DecomposableOperator) or operator.row_choice is None or not 0 < operator.rows_of_part <= costs.MAX_ROWS_READ_LATE:
        return None
    source, *above = chain_below(below)
    stored = source.operator
    if (
        not isinstance(stored, SegmentSource)
        or stored.row_count < costs.MIN_ROWS_FOR_EACH_READ_LATE * operator.rows_of_part
        or any(map(functions_of, above))
    ):
        return None
    keys = operator.input_columns((), [below.facts])[0]
    over_keys, numbered = operator.over_columns((), [keys], [below.facts]), with_numbers(source, above)
    if over_keys is None or numbered is None:
        return None
    deciding = optimize(project(numbered, [*(key + 1 for key in keys), 0]))
    read = sum(part.facts.width for part in postorder([deciding]) if isinstance(part.operator, SegmentSource))
    if read >= len(stored.positions):
        return None
    return NumberedRows(over_keys[0].make_planner_node(deciding), source, tuple(above), tuple(keys))


def chain_below(root: PlannerNode) -> list[PlannerNode]:
    """Return a node and the nodes below it as long as each has one input, inputs first."""
    chain = [root]
    while len(chain[-1].inputs) == 1:
        chain.append(chain[-1].inputs[0])
    return chain[::-1]


def with_numbers(source: PlannerNode, above: list[PlannerNode]) -> PlannerNode | None:
    """Return the nodes above a source with the source's row ids as an additional first column; None if an operator cannot pass these on."""
    rows: PlannerNode | None = zip_columns(range_source(0, source.length.known_rows), source)
    for node in above:
        rows = rows and passing_first_column(node, rows)
    return rows
