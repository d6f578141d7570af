"""What an operator could say about itself and does not: the contract kit finds false claims, this finds claims that are missing.

Each is tried on examples, over rows in memory: what holds in all of them, and in one that tells, is reported. It is a hint: an example may be lucky.
``python -m sframe_spark.testing.opportunities`` prints those of the built-in operators.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import groupby

import attrs
import pyarrow as pa

from sframe_spark.operators.sources.memory import memory_source
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.facts import Length
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.operator import Need, SequentialOperator
from sframe_spark.testing.contract import Example, Rows, has_whole_kernel, multiset, read_all, rows_of, run_kernel, same_rows

# Fewer rows tell nothing.
TELLING_ROWS = 3


@attrs.frozen(eq=False)
class Trial:
    """An operator at work over rows in memory.

    Parameters
    ----------
    node
        The operator over its sources.
    inputs
        Their rows.
    rows
        What it makes of them.
    """

    node: PlannerNode
    inputs: tuple[Chunk, ...]
    rows: Rows

    @classmethod
    def of(cls, node: PlannerNode) -> Trial:
        """The trial of an example's node, whose operator has a kernel."""
        return cls(node, tuple(read_all(child) for child in node.inputs), rows_of(run_kernel(node), node.schema))

    def made_of(self, inputs: Sequence[Chunk]) -> Rows:
        """What the operator makes of other rows."""
        sources = [memory_source(c.columns, child.schema, c.rows) for c, child in zip(inputs, self.node.inputs, strict=True)]
        node = self.node.operator.make_planner_node(*sources)
        return rows_of(run_kernel(node), node.schema)

    def with_input(self, slot: int, chunk: Chunk) -> Rows:
        """What it makes where one input has other rows."""
        return self.made_of([chunk if place == slot else other for place, other in enumerate(self.inputs)])

    @property
    def is_telling(self) -> bool:
        """True where there are rows enough to be wrong about."""
        return len(self.rows) >= TELLING_ROWS


# A question about a trial: True where the claim would be right.
Question = Callable[[Trial], bool]


def keeps_rows(trial: Trial) -> bool:
    """As many rows as the first input has."""
    return len(trial.rows) == trial.inputs[0].rows


def is_row_by_row(trial: Trial) -> bool:
    """Each row is made of the same row of the inputs alone."""
    if any(chunk.rows != len(trial.rows) for chunk in trial.inputs):
        return False
    made = [trial.made_of([chunk.slice(row, row + 1) for chunk in trial.inputs]) for row in range(len(trial.rows))]
    return same_rows([row for rows in made for row in rows], trial.rows)


def is_indifferent_to_order(trial: Trial, slot: int, need: Need) -> bool:
    """The same rows, or the same in another order, are made of an input that is turned round."""
    chunk = trial.inputs[slot]
    turned = chunk.rows_at(pa.array(range(chunk.rows - 1, -1, -1)))
    found = trial.with_input(slot, turned)
    return same_rows(found, trial.rows) if need is Need.ANY else same_rows(multiset(found), multiset(trial.rows))


def is_unread(trial: Trial, slot: int, column: int) -> bool:
    """Nothing changes where a column has other values."""
    chunk = trial.inputs[slot]
    moved = pa.concat_arrays([chunk.columns[column].slice(1), chunk.columns[column].slice(0, 1)])
    if chunk.rows < TELLING_ROWS or moved.equals(chunk.columns[column]):
        return False
    return same_rows(trial.with_input(slot, Chunk((*chunk.columns[:column], moved, *chunk.columns[column + 1 :]), chunk.rows)), trial.rows)


def is_filtered_first(trial: Trial, slot: int, column: int, output: int) -> bool:
    """Rows that are left out of an input are those that would be left out of the output by the same column."""
    chunk, kept = trial.inputs[slot], trial.rows[len(trial.rows) // 2][output]
    values = [row[0] for row in rows_of(Chunk.of([chunk.columns[column]]), (trial.node.inputs[slot].schema[column],))]
    places = [place for place, value in enumerate(values) if value != kept]
    found = trial.with_input(slot, chunk.rows_at(pa.array(places, pa.int64())))
    return 0 < len(places) < len(values) and same_rows(found, [row for row in trial.rows if row[output] != kept])


def questions(node: PlannerNode) -> dict[str, Question]:
    """What could be claimed of an operator, and is not, with the question whether it would be right."""
    operator, facts = node.operator, [child.facts for child in node.inputs]
    asked: dict[str, Question] = {}
    if not operator.row_wise:
        asked["row_wise: each row is made of one row of each input"] = is_row_by_row
    if not operator.keeps_dense and not isinstance(operator, SequentialOperator):
        asked["keeps_dense: there are as many rows as before"] = keeps_rows
    unknown = [attrs.evolve(fact, length=Length.unknown(at_most=100 + place)) for place, fact in enumerate(facts)]
    if operator.infer_length(unknown).at_most is None:
        asked["infer_length: there are no more rows than before"] = lambda trial: len(trial.rows) <= trial.inputs[0].rows
    for slot in range(len(facts)):
        asked |= questions_of_input(node, slot)
    return asked


def questions_of_input(node: PlannerNode, slot: int) -> dict[str, Question]:
    """The same about one input."""
    operator, facts = node.operator, [child.facts for child in node.inputs]
    asked: dict[str, Question] = {}
    need = operator.requires(slot)
    if need is Need.ORDERED:
        asked[f"requires({slot}): ANY will do"] = partial(is_indifferent_to_order, slot=slot, need=Need.ANY)
        asked[f"requires({slot}): INHERITED will do"] = partial(is_indifferent_to_order, slot=slot, need=Need.INHERITED)
    for column in operator.input_columns(range(len(node.schema)), facts)[slot]:
        asked[f"input_columns: column {column} of input {slot} is not read"] = partial(is_unread, slot=slot, column=column)
    origins = operator.column_origins(facts)
    if not operator.row_wise and slot not in operator.filtered_slots:
        for output, shown in enumerate(origins):
            for place, column in shown:
                if place == slot:
                    told = f"filtered_slots: input {slot} may be filtered first"
                    asked[told] = partial(is_filtered_first, slot=slot, column=column, output=output)
    return asked


def unused_opportunities(examples: Iterable[Example]) -> list[str]:
    """Claims that hold in all examples of an operator, in one that tells, and that the operator does not make.

    Examples
    --------
    >>> from sframe_spark.operators.slice import slice_rows
    >>> from sframe_spark.operators.sources.generated import range_source
    >>> unused_opportunities([Example("slice", "every other row", lambda: slice_rows(range_source(0, 9), 1, 8, 2))])
    []
    """
    found = []
    for name, group in groupby(
        sorted((item for item in examples if not item.needs_spark), key=lambda item: item.operator), lambda item: item.operator
    ):
        nodes = [node for node in (item.node() for item in group) if node.inputs and has_whole_kernel(node)]
        nodes = [node for node in nodes if all(node.operator.requires(slot) is not Need.LOOKUP for slot in range(len(node.inputs)))]
        trials = [Trial.of(node) for node in nodes]
        asked = [questions(node) for node in nodes]
        for claim in dict.fromkeys(claim for item in asked for claim in item):
            concerned = [(trial, item[claim]) for trial, item in zip(trials, asked, strict=True) if claim in item]
            if any(trial.is_telling for trial, _ in concerned) and all(holds(trial, question) for trial, question in concerned):
                found.append(f"{name}: {claim}")
    return found


def holds(trial: Trial, question: Question) -> bool:
    """The answer; rows that the operator refuses answer no."""
    try:
        return question(trial)
    except Exception:
        return False


if __name__ == "__main__":
    from sframe_spark.testing.examples import EXAMPLES

    sys.stdout.write("".join(f"{line}\n" for line in unused_opportunities(EXAMPLES)))
