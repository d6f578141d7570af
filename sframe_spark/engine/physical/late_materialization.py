"""First rows in some order, chosen by the columns that decide: the others are read of the rows chosen only."""

from __future__ import annotations

import attrs

from sframe_spark.laws import optimize
from sframe_spark.operators.lookup.source_lookup import Lookup
from sframe_spark.operators.project import project, zip_columns
from sframe_spark.operators.sources.generated import range_source
from sframe_spark.operators.sources.source import SegmentSource, source_of
from sframe_spark.operators.udf_calls import functions_of
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.graph import postorder
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.operator import DecomposableOperator

# Each row chosen may cost the decoding of a block that it stands in.
MAX_ROWS, ROWS_FOR_EACH = 1_000, 10_000


@attrs.frozen(eq=False)
class NumberedRows:
    """First rows of a stored frame, or of what filters and functions of each row make of it, that are found by number.

    Parameters
    ----------
    top
        Makes the columns that decide of the rows chosen and, at last, the number of each in the source.
    source
        The stored rows.
    above
        What is made of them, inputs before consumers.
    keys
        The columns that decide, by their places in what is made.
    """

    top: PlannerNode
    source: PlannerNode
    above: tuple[PlannerNode, ...]
    keys: tuple[int, ...]

    @property
    def deciding(self) -> PlannerNode:
        """The columns that decide, of all rows."""
        return optimize(project(self.above[-1] if self.above else self.source, self.keys))

    def rows(self, top: PlannerNode) -> Chunk:
        """All columns of the rows, given a source of those of ``top``: what was kept once is kept again."""
        numbers = source_of(top).read_all().columns[-1].to_numpy(zero_copy_only=False)
        rows = Lookup.of(source_of(self.source)).take(numbers, range(self.source.facts.width))
        for node in self.above:
            rows = node.operator.kernel([rows], [child.facts for child in node.inputs])
        return rows


def numbered_rows(node: PlannerNode) -> NumberedRows | None:
    """The same rows by number; None where all columns are as well read at once."""
    operator, below = node.operator, node.inputs[0]
    if not isinstance(operator, DecomposableOperator) or not operator.chooses_rows or not 0 < operator.rows_of_part <= MAX_ROWS:
        return None
    source, *above = chain_below(below)
    stored = source.operator
    if not isinstance(stored, SegmentSource) or stored.row_count < ROWS_FOR_EACH * operator.rows_of_part or any(map(functions_of, above)):
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
    """The nodes below which no other has several inputs, inputs before consumers."""
    chain = [root]
    while len(chain[-1].inputs) == 1:
        chain.append(chain[-1].inputs[0])
    return chain[::-1]


def with_numbers(source: PlannerNode, above: list[PlannerNode]) -> PlannerNode | None:
    """What is made of stored rows, with the number of the row that each is made of as the first column; None where an operator drops it."""
    rows = zip_columns(range_source(0, source.length.known_rows), source)
    for node in above:
        operator = node.operator.beside_one_more([child.facts for child in node.inputs])
        if operator is None:
            return None
        rows = operator.make_planner_node(rows)
    return rows
