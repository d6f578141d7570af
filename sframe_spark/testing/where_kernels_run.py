"""Checks of what is said about where code runs: another process gives the same rows, and the work of Arrow and NumPy runs no Python for each row.

Only code of plug-ins is checked, as starting a process takes half a second, and every example of the built-in operators would ask for one.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np

from sframe_spark.compute.row_groups import GroupsOfRows
from sframe_spark.engine.materialize_options import MaterializeOptions
from sframe_spark.engine.physical.placement_and_blocking_inputs import placement_alone
from sframe_spark.engine.shapes.count_matches import with_known_rows
from sframe_spark.engine.shapes.partial_states import PARTIAL_STATES
from sframe_spark.engine.shapes.section_runner import SectionRunner
from sframe_spark.engine.shapes.section_tree import THE_RESULT, ReplanNeeded, Section, Shape, Workers
from sframe_spark.engine.shapes.stream import STREAM
from sframe_spark.errors import ContractBroken, SFrameError
from sframe_spark.expressions.aggregates.input_rows_and_windows import InputRows, RowWindows
from sframe_spark.operators.groupby.aggregation_and_spark_lowering import Aggregation
from sframe_spark.operators.user_function_calls_and_result_memos import is_of_plugin
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.node import PlannerNode, is_builtin
from sframe_spark.planner.operator import DecomposableOperator
from sframe_spark.process.python_worker_pool_and_message_channel import can_start
from sframe_spark.testing.changed_globals import changed_globals
from sframe_spark.testing.kernel_runs import inputs_of_kernel, over_rows, read_all
from sframe_spark.testing.row_comparison import Rows, demand, difference, rows_of, same_rows

# Other processes.


def check_in_other_process(node: PlannerNode, rows: Rows, difference_of: Callable[[Rows], str] | None = None) -> None:
    """Check that a Python process that has only what is sent to it gives the same rows; nothing is checked where none can be started.

    Parameters
    ----------
    node
        An operator over sources.
    rows
        Its rows in this process.
    difference_of
        Says how the other process's rows differ; by default by row and column.

    Raises
    ------
    ContractBroken
        If it gives other rows, or fails.
    """
    shape = shape_in_processes(node)
    if shape is None or not is_of_plugin(node.operator) or not can_start():
        return
    node = node if node.operator.counting is None else with_known_rows(node)
    rule = "another process gives the same rows"
    remedy = (
        "A new process imports the module of the code, and is sent the parameters: what this process has changed in a module since its import, such "
        "as an entry of a dict, is not there. Make it a parameter, or put it into the module where it is defined"
    )
    section = Section(shape, Workers.PROCESSES, node, THE_RESULT, placement=placement_alone(node))
    try:
        result = section.shape.run(section, SectionRunner(MaterializeOptions(), [], frozenset()))
    except SFrameError as error:
        raise ContractBroken(node, rule, f"it fails there with {type(error).__name__}: {error}", remedy) from error
    if isinstance(result, ReplanNeeded):
        return
    found = rows_of(read_all(result), node.schema)
    if not same_rows(found, rows):
        text = difference(found, rows, "a new process", "this one") if difference_of is None else difference_of(found)
        changed = changed_globals(node.operator)
        text = f"{text}: {changed}" if changed else text
        demand(False, node, rule, text, remedy)


def shape_in_processes(node: PlannerNode) -> Shape | None:
    """Return how Python processes run an operator over sources; None if only this process, or Spark, computes it."""
    operator = node.operator
    if not node.inputs:
        return None
    if isinstance(operator, DecomposableOperator):
        return PARTIAL_STATES if operator.decomposes([node.inputs[0].facts]) else None
    placement = placement_alone(node) if operator.has_kernel else None
    return STREAM if placement is not None and placement.segment else None


# Python code for each row.

FEW_ROWS, MANY_ROWS = 512, 4096
# A loop takes at least five steps for each row. Code that works in doublings of ranges takes some more steps for more rows too.
STEPS_OF_ROW = 2


def check_work_of_arrow(node: PlannerNode) -> None:
    """Check that an operator runs no Python code for each row where it says that it leaves the work to Arrow or NumPy.

    Raises
    ------
    ContractBroken
        If it does.
    """
    operator = node.operator
    if not node.inputs or not is_of_plugin(node.operator) or not (operator.has_kernel or operator.whole_kernel is not None):
        return
    if operator.threads and not is_builtin(type(operator)):
        remedy = "Leave threads out: threads wait for each other where they run Python code, and processes do not"
        require_no_python_for_each_row(lambda count: kernel_over(node, count), node, "Arrow or NumPy does the work, since threads is True", remedy)
    check_lists_by_arrow(node)


def check_lists_by_arrow(node: PlannerNode) -> None:
    """Check ``computed_by_arrow``: the columns are lists or dicts of the output, and no Python code runs for each of their values."""
    facts = [child.facts for child in node.inputs]
    columns = list(node.operator.computed_by_arrow(facts))
    wrong = [column for column in columns if not (0 <= column < len(node.schema) and node.schema[column].is_list_or_dict)]
    remedy = "computed_by_arrow() gives positions of output columns, counted from 0"
    demand(not wrong, node, "computed_by_arrow() gives list and dict columns of the output", f"it gives {wrong}", remedy)
    only = node if len(columns) == len(node.schema) else narrowed(node, columns)
    if columns and only is not None:
        rule = f"Arrow computes the columns {columns}, since computed_by_arrow() says so"
        require_no_python_for_each_row(lambda count: kernel_over(only, count), node, rule, "Leave the columns out that Python computes")


def narrowed(node: PlannerNode, outputs: list[int]) -> PlannerNode | None:
    """Return a node that computes only some columns; None if there is none."""
    facts = [child.facts for child in node.inputs]
    kept = [range(item.width) for item in facts]
    changed = node.operator.over_columns(outputs, kept, facts) if node.operator.takes_wider else None
    return changed[0].make_planner_node(*node.inputs) if changed is not None and list(changed[1]) == outputs else None


def kernel_over(node: PlannerNode, count: int) -> Callable[[], Any]:
    """Return a call of a kernel on a number of rows: those of the node's inputs, again and again."""
    over = over_rows(node, [repeated(read_all(child), count) for child in node.inputs])
    inputs, facts = inputs_of_kernel(over), [child.facts for child in over.inputs]
    return lambda: node.operator.kernel(inputs, facts)


def check_groups_by_arrow(aggregation: Aggregation, node: PlannerNode) -> None:
    """Check that an aggregate of state columns runs no Python code for each row or group, unless it says ``calls_python``.

    Raises
    ------
    ContractBroken
        If it does.
    """
    below = node.inputs[0]
    aggregate = aggregation.on_columns(below.schema)
    if aggregate.calls_python or not is_of_plugin(node.operator):
        return

    def over(count: int) -> Callable[[], Any]:
        chunk = repeated(read_all(below), count)
        rows, one, places = InputRows(chunk.columns, count), np.zeros(1, dtype=np.int64), np.arange(count)
        windows = RowWindows(places, np.minimum(places + 3, count))

        def call() -> None:
            aggregate.finish(*(state.lift(rows, GroupsOfRows.of_runs(places, count)) for state in aggregate.states), last=True)
            aggregate.finish(*(state.running(rows, one, state.empty(1))[0] for state in aggregate.states), last=True)
            aggregate.finish(*(state.windows(rows, windows) for state in aggregate.states), last=True)

        return call

    rule = "Arrow or NumPy does the work, since calls_python is False"
    require_no_python_for_each_row(over, node, rule, "Give ColumnAggregate a calls_python=True, and processes run it", "row or group")


def repeated(chunk: Chunk, count: int) -> Chunk:
    """Return a number of rows: those of a chunk, again and again.

    Examples
    --------
    >>> import pyarrow as pa
    >>> repeated(Chunk.of([pa.array([1, 2])]), 3).columns[0].to_pylist()
    [1, 2, 1]
    """
    return chunk.rows_at(np.arange(count) % max(chunk.rows, 1)) if chunk.rows else chunk


def require_no_python_for_each_row(
    over: Callable[[int], Callable[[], Any]], subject: PlannerNode | str, rule: str, remedy: str, what: str = "row"
) -> None:
    """Require that code runs about as many steps of Python for many rows as for few; what fails for so many rows is passed over.

    Parameters
    ----------
    over
        Returns a call on a number of rows.
    subject, rule, remedy
        What the message says.
    what
        What there are more of.

    Raises
    ------
    ContractBroken
        If each further row takes some steps.

    Examples
    --------
    >>> require_no_python_for_each_row(lambda count: lambda: [number + 1 for number in range(count)], "the kernel", "NumPy does it", "")
    Traceback (most recent call last):
    ...
    sframe_spark.errors.ContractBroken: the kernel breaks the rule that NumPy does it: it runs Python code for each row
    """
    demand(runs_python_for_each_row(over) is not True, subject, rule, f"it runs Python code for each {what}", remedy)


def runs_python_for_each_row(over: Callable[[int], Callable[[], Any]]) -> bool | None:
    """Return whether a call on many rows takes more steps of Python than one on few; None if it fails for so many rows.

    Examples
    --------
    >>> runs_python_for_each_row(lambda count: lambda: sum(range(count)))
    False
    """
    try:
        few, many = (python_steps(over(count)) for count in (FEW_ROWS, MANY_ROWS))
    except Exception:
        return None
    return many - few >= STEPS_OF_ROW * (MANY_ROWS - FEW_ROWS)


def python_steps(call: Callable[[], Any]) -> int:
    """Return how many steps of Python code a call takes in this thread: instructions of the interpreter."""
    steps = 0

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal steps
        frame.f_trace_lines, frame.f_trace_opcodes = False, True
        steps += event == "opcode"
        return trace

    before = sys.gettrace()
    # What is imported or made at a first call does not count; Python 3.12 and later say nothing of the first call that is traced.
    for _ in range(2):
        steps = 0
        sys.settrace(trace)
        try:
            call()
        finally:
            sys.settrace(before)
    return steps
