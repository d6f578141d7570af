"""Planning of users' functions: which process calls them, and which results are stored first so that no function is called twice for a row."""

from __future__ import annotations

from sframe_spark.engine import costs
from sframe_spark.engine.physical.placement_and_blocking_inputs import is_small, is_thread_safe, moves_only, runs_on_other_machines
from sframe_spark.engine.physical.site import Site
from sframe_spark.engine.shapes.rows_near_this_process import is_near
from sframe_spark.engine.size_estimates_batch_sizes_and_memory_reservations import plan_size_of
from sframe_spark.errors import UnownedCallsError
from sframe_spark.operators.elementwise import calls_python
from sframe_spark.operators.user_function_calls_and_result_memos import functions_of, memos_in
from sframe_spark.planner.graph_traversal import consumers, postorder
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.operator import Need


def require_owned(plan: PlannerNode, owned: frozenset[int]) -> None:
    """Require that all users' functions that a plan calls may be called in Spark tasks.

    Raises
    ------
    UnownedCallsError
        If other plans would call them for the same rows.
    """
    unowned = not_owned(plan, owned)
    if unowned:
        raise UnownedCallsError(unowned)


def not_owned(plan: PlannerNode, owned: frozenset[int]) -> list[int]:
    """Return the ``id`` of the memos whose functions Spark tasks may not call, as other plans would call them for the same rows."""
    return [id(memo) for memo in memos_in(plan) if id(memo) not in owned]


def calls_hashing_functions(root: PlannerNode) -> bool:
    """Return whether a plan over local rows calls a user's function that uses hashes: hashes of strings differ between processes."""
    nodes = list(postorder([root]))
    functions = [function for node in nodes for function in functions_of(node)]
    if not any(function.hashes for function in functions) or any(function.memo is not None and function.memo.keeps for function in functions):
        return False
    return all(map(is_near, nodes)) and all(map(is_thread_safe, nodes))


def calls_pure_functions(root: PlannerNode, site: Site) -> bool:
    """Return whether a plan calls only pure users' functions, row by row, and would be done before another process has started."""
    nodes = list(postorder([root]))
    calling = [node for node in nodes if functions_of(node)]
    if not site.small_rows or not calling or not all(node.operator.row_wise for node in calling):
        return False
    plan_size = plan_size_of(root)
    functions = [function for node in calling for function in functions_of(node)]
    # Only one thread at a time may write to a memo.
    if plan_size is None or plan_size.size > site.memory_budget or any(function.memo is not None and function.memo.keeps for function in functions):
        return False
    steps = [function.steps_of_call() for function in functions]
    if None in steps or plan_size.rows * sum(filter(None, steps)) > costs.STEPS_OF_SMALL_ROW * site.small_rows:
        return False
    # `is_thread_safe` checks every step of a row-wise expression, which takes longest, so it comes last.
    return all(map(moves_only, nodes)) and (not runs_on_other_machines(site) or all(map(is_near, nodes))) and all(map(is_thread_safe, nodes))


def called_again(root: PlannerNode, site: Site) -> set[int]:
    """Return the ``id`` of each node that calls a user's function and whose rows would be computed more than once.

    A sort reads a sample of its input first, a running value reads row ranges twice, a rolling one reads the edges of ranges twice, and nodes that
    are not aligned with each other read a shared input separately. Calling a function again takes time, and may give another result.
    """
    nodes = list(postorder([root]))
    if not any(calls_python(node) for node in nodes):
        return set()
    one_pass = is_small(root, site) and all(node.length.at_most is None or node.length.at_most <= site.batch_rows for node in nodes)
    readers = consumers([root])
    again: set[int] = set()
    for node in reversed(nodes):
        distinct = {id(reader): reader for reader in readers[id(node)]}
        alone = len(distinct) == 1
        for reader in distinct.values():
            is_computed_once = id(reader) not in again or calls_python(reader) or reader.operator.gathers
            if not is_computed_once or not _reads_once(reader, node, alone, one_pass):
                again.add(id(node))
    return {id(node) for node in nodes if id(node) in again and calls_python(node)}


def needs_one_batch(root: PlannerNode) -> bool:
    """Return whether a plan that runs in one pass has to run as one batch: otherwise it would read results of a user's function from several batches.

    Results that are kept in a memo do not count, as the function is not called again for their rows.
    """
    above: set[int] = set()
    for node in postorder([root]):
        if any(id(child) in above for child in node.inputs):
            if not (node.operator.row_wise or node.operator.streams):
                return True
            above.add(id(node))
        elif calls_python(node) and not all(
            function.memo is not None and function.memo.keeps and function.numbered for function in functions_of(node)
        ):
            above.add(id(node))
    return False


def _reads_once(reader: PlannerNode, node: PlannerNode, alone: bool, one_pass: bool) -> bool:
    """Return whether a reader reads each row of a node only once.

    ``alone`` means that no other node reads it, ``one_pass`` that all rows are in one range.
    """
    operator = reader.operator
    if operator.row_wise:
        return True
    if operator.keeps_domain and Need.LOOKUP not in (operator.requires(slot) for slot in range(len(reader.inputs))):
        return one_pass
    if not alone or sum(child is node for child in reader.inputs) > 1:
        return False
    if operator.gathers or operator.streams:
        return True
    needs = [operator.requires(slot) for slot in range(len(reader.inputs))]
    # The input that is searched is computed first; the other is read in one pass.
    return Need.LOOKUP in needs or (one_pass and operator.has_kernel)
