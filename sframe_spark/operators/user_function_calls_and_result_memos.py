"""Finds the calls of users' functions and of plug-ins' functions in a plan, and gives users' calls the memos that cache their results.

A call is identified by its node: a function that is applied twice makes two columns. Laws copy operators into other nodes of a plan, in which
the memo that a function carries identifies the original node.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import attrs
import numpy as np

from sframe_spark.errors import ExecutionError, MemoFullError, UnsupportedOperationError, listed
from sframe_spark.lazy_imports import is_imported, lazy_imports, value_of
from sframe_spark.operators.project_zip_arrange import zip_columns
from sframe_spark.operators.sources.in_memory import MemorySource, RangeSource
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.graph_traversal import fold, postorder
from sframe_spark.planner.node import PlannerNode, is_builtin
from sframe_spark.planner.node_facts import Facts
from sframe_spark.planner.operator import Operator
from sframe_spark.planner.registry import OPERATOR

with lazy_imports(globals()):
    from sframe_spark.expressions.aggregates.aggregate_function import AGGREGATES
    from sframe_spark.expressions.functions.scalar_function import FUNCTIONS, FunctionTable
    from sframe_spark.expressions.python_function import PythonFunction
    from sframe_spark.expressions.scalar_function_program import Program, Register, Step
    from sframe_spark.expressions.translated_function import TranslatedFunction
    from sframe_spark.operators.elementwise import GeneralizedTransform, LambdaTransform, RowWise
    from sframe_spark.operators.flat_map import FlatMap
    from sframe_spark.operators.groupby.aggregation_and_spark_lowering import Aggregation
    from sframe_spark.operators.groupby.user_functions_on_rows_of_equal_time import MapCycles
    from sframe_spark.operators.row_number import RowNumber
    from sframe_spark.operators.sources.file_kinds import SOURCES
    from sframe_spark.operators.sources.row_source import FileSource
    from sframe_spark.operators.sources.rows_of_sources import SourceParts, SourceRows
    from sframe_spark.udf.bound_function import during_action
    from sframe_spark.udf.result_caching_size_limits_and_storage import CallMemo


def program_of(node: PlannerNode) -> Program:
    """Return the program of a row-wise node."""
    assert isinstance(node.operator, RowWise)
    return node.operator.program(sum(child.facts.width for child in node.inputs))


def functions_of(node: PlannerNode) -> Sequence[PythonFunction]:
    """Return the users' functions that a node itself calls."""
    calls = node.operator.function_calls(sum(child.facts.width for child in node.inputs))
    return () if calls is None else calls.functions


def translated_at(node: PlannerNode) -> Sequence[TranslatedFunction]:
    """Return the translated functions of a node."""
    if not node.operator.is_program:
        return ()
    return [step.function for step in program_of(node).steps if isinstance(step.function, TranslatedFunction)]


def memos_in(plan: PlannerNode) -> Iterator[CallMemo]:
    """Yield the memos of all calls in a plan."""
    for node in postorder([plan]):
        yield from memos_at(node)


def memos_at(node: PlannerNode) -> Iterator[CallMemo]:
    """Return an iterator over the memos of the calls in one node of a plan."""
    return (function.memo for function in functions_of(node) if function.memo is not None)


def calls_user_functions(root: PlannerNode) -> bool:
    """Return whether a node of the graph calls a user's function."""
    return any(functions_of(node) for node in postorder([root]))


@contextlib.contextmanager
def running_user_functions(plan: PlannerNode) -> Iterator[None]:
    """Return a context manager for running a plan: users' functions see the process state (locale and others) of the time when they were given."""
    with contextlib.ExitStack() as stack:
        for node in postorder([plan]):
            for function in functions_of(node):
                stack.enter_context(during_action(function.function))
            for translated in translated_at(node):
                stack.enter_context(during_action(translated.python.function))
        yield


def memos_of(node: PlannerNode) -> Sequence[CallMemo]:
    """Return the memos of a node's calls, in the order of :func:`functions_of`; they are made if the node has none."""
    if not node.calls:
        node.calls = tuple(CallMemo() for _ in functions_of(node))
    memos: Sequence[CallMemo] = node.calls
    return memos


def remember_first(node: PlannerNode, results: Chunk, counts: Sequence[int] | None = None, numbers: Sequence[int] | None = None) -> None:
    """Remember results that were computed to infer a node's type; they belong to its first rows unless row ids are given."""
    sizes = np.ones(results.rows, dtype=np.int64) if counts is None else np.array(counts, dtype=np.int64)
    rows = np.arange(sizes.size) if numbers is None else np.array(numbers, dtype=np.int64)
    if rows.size:
        order = np.argsort(rows)
        # If the results are too large to be cached, the next action materializes the node.
        with contextlib.suppress(MemoFullError):
            memos_of(node)[0].completed(rows[order], lambda _: (results if numbers is None else results.rows_at(order), sizes[order]))


def with_memos(root: PlannerNode, everywhere: bool, kept: PlannerNode | None = None) -> tuple[PlannerNode, dict[int, PlannerNode]]:
    """Return a copy of the graph in which each call carries its memo, and the original node of each memo by the memo's ``id``.

    Parameters
    ----------
    root
        The root of the graph.
    everywhere
        Whether all calls get row ids, by which results are looked up and cached. Otherwise only calls with some known results get row ids, and new
        results are not cached.
    kept
        A node that is being materialized, whose new results need not be cached.
    """
    owners: dict[int, PlannerNode] = {}
    numbers: dict[int, PlannerNode] = {}

    def rebuilt(node: PlannerNode, inputs: list[PlannerNode]) -> PlannerNode:
        if not functions_of(node):
            return _named_like(node, node.with_inputs(inputs))
        complete = complete_source(node)
        if complete is not None:
            return _named_like(node, complete)
        memos = memos_of(node) if everywhere and node is not kept else [memo.sent() for memo in memos_of(node)]
        owners.update((id(memo), node) for memo in memos)
        is_numbered = everywhere or any(memo.known for memo in memos)
        if is_numbered and not isinstance(node.operator, MapCycles):
            below = node.inputs[0]
            if id(below) not in numbers:
                numbers[id(below)] = row_numbers(inputs[0])
            inputs = [*inputs, numbers[id(below)]]
        return _named_like(node, _applied(node, inputs, memos, is_numbered))

    return fold([root], rebuilt)[id(root)], owners


def _named_like(node: PlannerNode, rebuilt: PlannerNode) -> PlannerNode:
    if rebuilt is not node:
        rebuilt.names = node.names
    return rebuilt


def row_numbers(node: PlannerNode) -> PlannerNode:
    """Return a node of row ids, aligned with the rows of a node."""
    rows = node.length.rows
    operator = RowNumber() if rows is None else RangeSource(0, rows)
    return operator.make_planner_node(*([node] if rows is None else []))


def _applied(node: PlannerNode, inputs: Sequence[PlannerNode], memos: Sequence[CallMemo], numbered: bool) -> PlannerNode:
    """Return the node over other inputs, with memos; if ``numbered``, row ids are added as the last input column."""
    if isinstance(node.operator, (FlatMap, MapCycles)):
        calls = node.operator.function_calls(node.inputs[0].facts.width)
        remembering = [attrs.evolve(function, memo=memo, numbered=numbered) for function, memo in zip(calls.functions, memos, strict=True)]
        return calls.with_functions(remembering).make_planner_node(zip_columns(*inputs))
    program = with_memos_in_steps(program_of(node), memos, numbered)
    rebuilt = GeneralizedTransform(program).make_planner_node(zip_columns(*inputs))
    length = node.length if rebuilt.length.rows is None else rebuilt.length
    return PlannerNode(rebuilt.operator, rebuilt.inputs, Facts(node.schema, length, node.facts.domain))


def with_memos_in_steps(program: Program, memos: Sequence[CallMemo], numbered: bool) -> Program:
    """Return the program with memos in its users' functions; if ``numbered``, an additional last input column holds row ids."""
    number = program.width
    if numbered:
        program = program.with_inputs({position: position for position in range(number)}, number + 1)
    waiting = iter(memos)

    def carrying(step: Step) -> Step:
        if not isinstance(step.function, PythonFunction):
            return step
        function = attrs.evolve(step.function, memo=next(waiting), numbered=numbered)
        return attrs.evolve(step, function=function, operands=(*step.operands, *([Register(number)] if numbered else [])))

    return attrs.evolve(program, steps=tuple(carrying(step) for step in program.steps))


def complete_source(node: PlannerNode) -> PlannerNode | None:
    """Return a source of a node's results if its memo has the results of all rows; None if not, or if they are too large for memory."""
    if not isinstance(node.operator, (LambdaTransform, FlatMap)) or not node.calls:
        return None
    memo: CallMemo = node.calls[0]
    if memo.is_full or node.inputs[0].length.rows != memo.known:
        return None
    everything = memo.everything()
    if everything is None:
        return None
    source = MemorySource.of(everything.rows, node.schema)
    return PlannerNode(source, (), Facts(node.schema, source.infer_length(()), node.facts.domain))


def require_sent_functions(root: PlannerNode) -> None:
    """Check, before tasks run, that the functions of plug-ins that a plan calls can be sent to other processes.

    Raises
    ------
    ExecutionError
        If one cannot be pickled; the message names it.
    """
    for node in postorder([root]):
        for call in plugin_calls(node.operator):
            table = _table_of(call)
            reason = table.why_not_sent(str(call.function))
            if reason is not None:
                advice = "create what cannot be pickled inside the function, not where it is defined"
                raise ExecutionError(f"the {table.kind} {call.function!r} cannot run in other processes: {reason}: {advice}")


def require_types_as_made(root: PlannerNode) -> None:
    """Check that functions and aggregates of plug-ins that were defined again still give the types that columns made of them have.

    Raises
    ------
    UnsupportedOperationError
        If one gives another type; the message names it.
    """
    if not _have_plugins_functions():
        return
    for node in postorder([root]):
        calls = plugin_calls(node.operator)
        if not calls:
            continue
        schema = tuple(node.operator.infer_type([child.facts for child in node.inputs]))
        if schema != node.schema:
            names = listed(list(dict.fromkeys(str(call.function) for call in calls)))
            before, now = (f"({', '.join(map(str, kinds))})" for kinds in (node.schema, schema))
            what = f"{names} was redefined: its earlier results have the types {before}, but would have {now} now"
            raise UnsupportedOperationError(f"{what}; make it anew")


def calls_plugins_safe_in_threads(node: PlannerNode) -> bool:
    """Return whether threads may run all that an operator calls of plug-ins.

    These are functions that say so, and aggregates of state columns that call no Python for each group.
    """
    return all(
        FUNCTIONS.named(str(call.function)).threads if isinstance(call, Step) else not call.on_columns(node.inputs[-1].schema).calls_python
        for call in plugin_calls(node.operator)
    )


def plugin_calls(operator: Operator) -> list[Step | Aggregation]:
    """Return the calls of scalar functions and aggregates that plug-ins have registered."""
    if operator.is_source or not _have_plugins_functions():
        return []
    return [call for call in calls_within(operator) if _table_of(call).is_added(str(call.function))]


def _have_plugins_functions() -> bool:
    """Return whether plug-ins have added functions or aggregates: none have to a table that is not imported."""
    return bool((is_imported(FUNCTIONS) and FUNCTIONS.has_added) or (is_imported(AGGREGATES) and AGGREGATES.has_added))


def _table_of(call: Step | Aggregation) -> FunctionTable[Any]:
    return value_of(FUNCTIONS) if isinstance(call, Step) else value_of(AGGREGATES)


def is_of_plugin(operator: Operator) -> bool:
    """Return whether an operator, or a function or an aggregate that it calls, is not built-in."""
    return not is_builtin(type(operator)) or bool(plugin_calls(operator))


def plugin_uses(operator: Operator) -> set[tuple[str, str]]:
    """Return what an operator is, or calls, of plug-ins: kinds and names, as they are registered."""
    uses = {(_table_of(call).kind, str(call.function)) for call in plugin_calls(operator)}
    sources = operator.table.sources if isinstance(operator, (SourceRows, SourceParts)) else ()
    uses |= {(SOURCES.word, source.name) for source in sources if isinstance(source, FileSource) and not is_builtin(type(source))}
    return uses if is_builtin(type(operator)) else {*uses, (OPERATOR, operator.name)}


def calls_within(value: Any) -> Iterator[Step | Aggregation]:
    """Yield all calls of named functions in an operator's fields, including nested ones."""
    if isinstance(value, (Step, Aggregation)) and isinstance(value.function, str):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from calls_within(item)
    elif attrs.has(type(value)):
        for field in attrs.fields(type(value)):
            yield from calls_within(getattr(value, field.name))
