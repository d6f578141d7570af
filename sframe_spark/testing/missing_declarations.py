"""Finds declarations that are missing: an operator could make them, but does not. (:mod:`sframe_spark.testing.contract` finds false ones.)

Each possible declaration is tested on the operator's examples, in memory. It is reported if it holds in all examples, and at least one of them
has enough rows. A report is only a hint, because a declaration may hold in all examples by chance.
``python -m sframe_spark.testing.missing_declarations my_package.examples:EXAMPLES`` prints the reports for a list of examples.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import groupby
from operator import attrgetter

import attrs
import pyarrow as pa

from sframe_spark.operators.sources.in_memory import memory_source
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.node import PlannerNode, is_builtin
from sframe_spark.planner.node_facts import Length
from sframe_spark.planner.operator import Need, SequentialOperator
from sframe_spark.testing.contract import Example, is_aligned
from sframe_spark.testing.generated_inputs import chunk_of, fixed_tables
from sframe_spark.testing.kernel_runs import kernel_rows, over_rows, read_all, runs_as_kernel
from sframe_spark.testing.rewrite_checks import filters_below
from sframe_spark.testing.row_comparison import Rows, multiset, same_rows
from sframe_spark.testing.where_kernels_run import kernel_over, runs_python_for_each_row

# An output with fewer rows is not counted as evidence.
MIN_EVIDENCE_ROWS = 3


@attrs.frozen(eq=False)
class Trial:
    """An operator applied to rows in memory.

    Parameters
    ----------
    node
        The node with the operator.
    inputs
        The rows of the node's inputs.
    rows
        The operator's output for these inputs.
    """

    node: PlannerNode
    inputs: tuple[Chunk, ...]
    rows: Rows

    def output_for(self, inputs: Sequence[Chunk]) -> Rows:
        """Return the operator's output for other input rows."""
        sources = [memory_source(c.columns, child.schema, c.rows) for c, child in zip(inputs, self.node.inputs, strict=True)]
        node = self.node.operator.make_planner_node(*sources)
        return kernel_rows(node)

    def with_input(self, slot: int, chunk: Chunk) -> Rows:
        """Return the operator's output if one input has other rows, and the other inputs are unchanged."""
        return self.output_for([chunk if index == slot else other for index, other in enumerate(self.inputs)])


# A test of a declaration on a trial: whether the declaration holds there.
Question = Callable[[Trial], bool]


def keeps_rows(trial: Trial) -> bool:
    """Return whether the output has as many rows as the first input."""
    return len(trial.rows) == trial.inputs[0].rows


def leaves_work_to_arrow(trial: Trial) -> bool:
    """Return whether the kernel runs no Python code for each row."""
    return runs_python_for_each_row(lambda count: kernel_over(trial.node, count)) is False


def is_row_by_row(trial: Trial) -> bool:
    """Return whether each output row depends only on the input rows at the same position."""
    if any(chunk.rows != len(trial.rows) for chunk in trial.inputs):
        return False
    single_rows = [trial.output_for([chunk.slice(row, row + 1) for chunk in trial.inputs]) for row in range(len(trial.rows))]
    return same_rows([row for rows in single_rows for row in rows], trial.rows)


def is_indifferent_to_order(trial: Trial, slot: int, need: Need) -> bool:
    """Return whether the output stays the same if the rows of an input are reversed; unless the need is ANY, the order of the output may change."""
    chunk = trial.inputs[slot]
    rows = trial.with_input(slot, chunk.rows_at(pa.array(range(chunk.rows - 1, -1, -1))))
    return same_rows(rows, trial.rows) if need is Need.ANY else same_rows(multiset(rows), multiset(trial.rows))


def is_unread(trial: Trial, slot: int, column: int) -> bool:
    """Return whether the output stays the same if the values of an input column move up by one row.

    False if there are too few rows to tell, or the values are equal.
    """
    chunk = trial.inputs[slot]
    moved = pa.concat_arrays([chunk.columns[column].slice(1), chunk.columns[column].slice(0, 1)])
    if chunk.rows < MIN_EVIDENCE_ROWS or moved.equals(chunk.columns[column]):
        return False
    return same_rows(trial.with_input(slot, Chunk((*chunk.columns[:column], moved, *chunk.columns[column + 1 :]), chunk.rows)), trial.rows)


def is_filtered_first(trial: Trial, slot: int) -> bool:
    """Return whether filters of all columns that are columns of an input may go below, on these rows and on others made from the types.

    False if no filter drops some rows and keeps others: then nothing is known.
    """
    node, schemas = trial.node, [child.schema for child in trial.node.inputs]
    of_example = list(filters_below(node, trial.rows, slot))
    if not any(0 < len(tried.wanted) < len(trial.rows) for tried in of_example):
        return False
    return all(same_rows(tried.found, tried.wanted) for tried in of_example) and not any(
        _changed_by_filters(node, [chunk_of(rows, schema) for rows, schema in zip(tables, schemas, strict=True)], slot)
        for tables in fixed_tables(schemas, is_aligned(node))
    )


def _changed_by_filters(node: PlannerNode, inputs: Sequence[Chunk], slot: int) -> bool:
    """Return whether a filter below an operator gives other rows than one above it; False where the operator refuses the rows."""
    try:
        other = over_rows(node, inputs)
        rows = kernel_rows(other)
    except Exception:
        return False
    return any(not same_rows(tried.found, tried.wanted) for tried in filters_below(other, rows, slot))


def questions(node: PlannerNode) -> dict[str, Question]:
    """Return the declarations that an operator does not make, each with a test of whether it would hold."""
    operator, facts = node.operator, [child.facts for child in node.inputs]
    candidates: dict[str, Question] = {}
    if not operator.row_wise:
        candidates["row_wise: each row is made of one row of each input"] = is_row_by_row
    if not operator.keeps_dense and not isinstance(operator, SequentialOperator):
        candidates["keeps_dense: there are as many rows as before"] = keeps_rows
    if not operator.threads and not is_builtin(type(operator)):
        candidates["threads: no Python code runs for each row"] = leaves_work_to_arrow
    unknown = [attrs.evolve(fact, length=Length.unknown(at_most=100 + slot)) for slot, fact in enumerate(facts)]
    if operator.infer_length(unknown).at_most is None:
        candidates["infer_length: there are no more rows than before"] = lambda trial: len(trial.rows) <= trial.inputs[0].rows
    for slot in range(len(facts)):
        candidates |= questions_of_input(node, slot)
    return candidates


def questions_of_input(node: PlannerNode, slot: int) -> dict[str, Question]:
    """Return the declarations about one input that an operator does not make, each with a test of whether it would hold."""
    operator, facts = node.operator, [child.facts for child in node.inputs]
    candidates: dict[str, Question] = {}
    need = operator.requires(slot)
    if need is Need.ORDERED:
        candidates[f"requires({slot}): ANY will do"] = partial(is_indifferent_to_order, slot=slot, need=Need.ANY)
        candidates[f"requires({slot}): INHERITED will do"] = partial(is_indifferent_to_order, slot=slot, need=Need.INHERITED)
    for column in operator.input_columns(range(len(node.schema)), facts)[slot]:
        candidates[f"input_columns: column {column} of input {slot} is not read"] = partial(is_unread, slot=slot, column=column)
    copies = any(origin == slot for columns in operator.column_origins(facts) for origin, _ in columns)
    if copies and not (operator.row_wise or is_aligned(node)) and slot not in operator.filtered_slots:
        candidates[f"filtered_slots: input {slot} may be filtered first"] = partial(is_filtered_first, slot=slot)
    return candidates


def unused_opportunities(examples: Iterable[Example]) -> list[str]:
    """Return the declarations that operators do not make, but that hold in all of an operator's examples, at least one of which has enough rows.

    Examples that need Spark are skipped, and so are operators without inputs, without a kernel, or with an input for lookups.

    Examples
    --------
    >>> from sframe_spark.operators.row_selection import slice_rows
    >>> from sframe_spark.operators.sources.in_memory import range_source
    >>> unused_opportunities([Example("slice", "every other row", lambda: slice_rows(range_source(0, 9), 1, 8, 2))])
    []
    """
    unused = []
    operator_of = attrgetter("operator")
    for name, group in groupby(sorted((item for item in examples if not item.needs_spark), key=operator_of), operator_of):
        nodes = [node for node in (item.node() for item in group) if node.inputs and runs_as_kernel(node)]
        nodes = [node for node in nodes if all(node.operator.requires(slot) is not Need.LOOKUP for slot in range(len(node.inputs)))]
        trials = [Trial(node, tuple(map(read_all, node.inputs)), kernel_rows(node)) for node in nodes]
        candidates = [questions(node) for node in nodes]
        for claim in dict.fromkeys(claim for item in candidates for claim in item):
            concerned = [(trial, item[claim]) for trial, item in zip(trials, candidates, strict=True) if claim in item]
            if any(len(trial.rows) >= MIN_EVIDENCE_ROWS for trial, _ in concerned) and all(holds(trial, question) for trial, question in concerned):
                unused.append(f"{name}: {claim}")
    return unused


def holds(trial: Trial, question: Question) -> bool:
    """Return whether a declaration holds on a trial; False if the operator or the test raises an exception."""
    try:
        return question(trial)
    except Exception:
        return False


if __name__ == "__main__":
    program = "python -m sframe_spark.testing.missing_declarations"
    parser = argparse.ArgumentParser(prog=program, description="Print declarations that operators could make.")
    parser.add_argument("examples", help="a module and its list of examples, as in my_package.examples:EXAMPLES")
    module, _, name = parser.parse_args().examples.partition(":")
    sys.stdout.write("".join(f"{line}\n" for line in unused_opportunities(getattr(importlib.import_module(module), name or "EXAMPLES"))))
