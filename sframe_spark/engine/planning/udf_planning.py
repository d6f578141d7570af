"""Which process calls users' functions, and whose results are kept first because a plan would call a function more than once for a row."""

from __future__ import annotations

from sframe_spark.config import config
from sframe_spark.engine.budgets import weight_of
from sframe_spark.engine.planning.passed_on import moves_only
from sframe_spark.engine.planning.placement import is_done_elsewhere, is_small, runs_our_code
from sframe_spark.engine.planning.sooner_here import is_near
from sframe_spark.operators.rowwise.elementwise import calls_python
from sframe_spark.operators.user_calls import functions_of
from sframe_spark.planner.graph import consumers, postorder
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.operator import Need

# Steps of the interpreter that are worth one row of ``config.small_rows``: by default all of them take half a second, in which a process starts.
STEPS_OF_SMALL_ROW = 100


def calls_for_hashes(root: PlannerNode) -> bool:
    """True for a plan over rows near by that calls a user's function which asks for hashes: those of texts are this process's own."""
    nodes = list(postorder([root]))
    functions = [function for node in nodes for function in functions_of(node)]
    if not any(function.hashes for function in functions) or any(function.memo is not None and function.memo.keeps for function in functions):
        return False
    return all(map(is_near, nodes)) and all(map(runs_our_code, nodes))


def calls_pure_functions(root: PlannerNode) -> bool:
    """True for a plan that calls users' functions row by row, of which all only compute, and are through with its rows soon."""
    nodes = list(postorder([root]))
    calling = [node for node in nodes if functions_of(node)]
    if not config.small_rows or not calling or not all(node.operator.row_wise for node in calling):
        return False
    weight = weight_of(root)
    functions = [function for node in calling for function in functions_of(node)]
    # What is remembered is written down by one thread at a time.
    if weight is None or weight.size > config.memory_budget or any(function.memo is not None and function.memo.keeps for function in functions):
        return False
    steps = [function.steps_of_call() for function in functions]
    if None in steps or weight.rows * sum(filter(None, steps)) > STEPS_OF_SMALL_ROW * config.small_rows:
        return False
    # Who looks for plug-ins in a program of many steps takes longest.
    return all(map(moves_only, nodes)) and (not is_done_elsewhere() or all(map(is_near, nodes))) and all(map(runs_our_code, nodes))


def called_again(root: PlannerNode) -> set[int]:
    """``id`` of the nodes that call a user's function, and whose rows would be computed more than once.

    A sort samples its input before it distributes it, a running value reads ranges of rows twice, a rolling one reads their edges twice, and nodes
    that are not aligned with each other read an input each on its own. A function that is called again takes time, and may answer differently.
    """
    nodes = list(postorder([root]))
    if not any(calls_python(node) for node in nodes):
        return set()
    one_pass = is_small(root) and all(node.length.at_most is None or node.length.at_most <= config.batch_rows for node in nodes)
    readers = consumers([root])
    again: set[int] = set()
    for node in reversed(nodes):
        found = {id(reader): reader for reader in readers[id(node)]}
        alone = len(found) == 1
        if not all(_reads_once(reader, node, alone, one_pass) and _once_itself(reader, again) for reader in found.values()):
            again.add(id(node))
    return {id(node) for node in nodes if id(node) in again and calls_python(node)}


def needs_one_batch(root: PlannerNode) -> bool:
    """True when a plan that is run in one pass reads results of a user's function beside those of other batches: all rows are then one batch.

    Not where what the function gave is remembered: it is not called for a row again then.
    """
    above: set[int] = set()
    for node in postorder([root]):
        if any(id(child) in above for child in node.inputs):
            if not (node.operator.row_wise or node.operator.streams):
                return True
            above.add(id(node))
        elif calls_python(node) and not remembers(node):
            above.add(id(node))
    return False


def remembers(node: PlannerNode) -> bool:
    """True when all that a node's functions give is remembered while the plan runs."""
    return all(function.memo is not None and function.memo.keeps and function.numbered for function in functions_of(node))


def _once_itself(reader: PlannerNode, again: set[int]) -> bool:
    """True when what a reader computes is computed once, or kept."""
    return id(reader) not in again or calls_python(reader) or reader.operator.gathers


def _reads_once(reader: PlannerNode, node: PlannerNode, alone: bool, one_pass: bool) -> bool:
    """True when a reader asks for each row of a node once; ``alone``: no other node reads it; ``one_pass``: all rows are in one range."""
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
    # What is looked up is executed first; the rows beside it are read in one pass.
    return Need.LOOKUP in needs or (one_pass and operator.has_kernel)
