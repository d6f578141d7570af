"""Functions that threads of this process call: those that only compute, few times, before another process has started, and those that hash."""

from __future__ import annotations

from sframe_spark.config import config
from sframe_spark.engine.budgets import weight_of
from sframe_spark.engine.planning.passed_on import moves_only
from sframe_spark.engine.planning.placement import is_done_elsewhere, runs_our_code
from sframe_spark.engine.planning.sooner_here import is_near
from sframe_spark.operators.user_calls import functions_of
from sframe_spark.planner.graph import postorder
from sframe_spark.planner.node import PlannerNode

# Of the interpreter's steps: of so many for each of ``config.small_rows``, half a second by default, a new process has made none yet.
STEPS_FOR_SMALL_ROW = 100


def calls_for_hashes(root: PlannerNode) -> bool:
    """True for a plan over rows near by that calls a user's function which asks for hashes: those of texts are this process's own."""
    nodes = list(postorder([root]))
    functions = [function for node in nodes for function in functions_of(node)]
    if not any(function.hashes for function in functions) or any(function.memo is not None and function.memo.keeps for function in functions):
        return False
    return all(map(is_near, nodes)) and all(map(runs_our_code, nodes))


def calls_quickly(root: PlannerNode) -> bool:
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
    if None in steps or weight.rows * sum(filter(None, steps)) > STEPS_FOR_SMALL_ROW * config.small_rows:
        return False
    # Who looks for plug-ins in a program of many steps takes longest.
    return all(map(moves_only, nodes)) and (not is_done_elsewhere() or all(map(is_near, nodes))) and all(map(runs_our_code, nodes))
