"""Materialisation: optimize, execute, splice, under the lock; an action in flight is shared by all who want the same node."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import attrs

from sframe_spark.config import config
from sframe_spark.engine.executor import Executor
from sframe_spark.engine.lock import GRAPH_LOCK
from sframe_spark.engine.options import MaterializeOptions
from sframe_spark.errors import PlanInvariantError
from sframe_spark.operators.laws import builtin_optimizer
from sframe_spark.operators.sources import source_of
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.infer import current_facts, known_rows
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.optimizer import Trace
from sframe_spark.values.decode import decode


@attrs.define(eq=False)
class Action:
    """A materialisation in flight: others wait on ``done``; ``error`` is what it failed with."""

    done: threading.Event = attrs.Factory(threading.Event)
    error: BaseException | None = None


def optimize(node: PlannerNode, until: str | None = None, trace: Trace | None = None) -> PlannerNode:
    """Equivalent plan after the laws; the graph itself is unchanged."""
    return builtin_optimizer(config.disabled_laws, config.check != "off").optimize(node, until, trace)


def is_materialized(node: PlannerNode) -> bool:
    """True when the node's rows are in a source (or side by side in several)."""
    waiting, seen = [node], set()
    while waiting:
        current = waiting.pop()
        if current.operator.is_source or id(current) in seen:
            continue
        if current.operator_type not in ("zip", "project"):
            return False
        seen.add(id(current))
        waiting.extend(current.inputs)
    return True


def materialize(node: PlannerNode, options: MaterializeOptions | None = None) -> PlannerNode:
    """Execute a node and splice the result into its place; every graph that holds the node sees a source from then on."""
    chosen = options or MaterializeOptions()
    while not is_materialized(node) or chosen.directory is not None:
        with GRAPH_LOCK:
            action = node.action
            owner = action is None
            if owner:
                action = node.action = Action()
                plan = optimize(node) if not chosen.naive else node
        if not owner:
            action.done.wait()
            continue
        _own(node, plan, action, chosen)
        break
    with GRAPH_LOCK:
        # What lies beside materialised rows knows their number from then on, though nothing was spliced into its own place.
        node.facts = current_facts(node)
    if chosen.on_batch is not None:
        for chunk in iterate(node):
            chosen.on_batch(chunk)
    return node


def _own(node: PlannerNode, plan: PlannerNode, action: Action, options: MaterializeOptions) -> None:
    try:
        source = Executor(options).execute(plan)
        if config.check == "result" and not options.naive:
            compare_with_naive(node, source)
        with GRAPH_LOCK:
            node.splice(source)
    except BaseException as error:
        action.error = error
        raise
    finally:
        with GRAPH_LOCK:
            node.action = None
        action.done.set()


def compare_with_naive(node: PlannerNode, source: PlannerNode) -> None:
    """Run a node once more without laws, sections and kernels, and compare every row (``config.check = "result"``).

    Raises
    ------
    PlanInvariantError
        If the results differ.
    """
    naive = Executor(MaterializeOptions(naive=True)).execute(node)
    found, expected = source_of(source).read_all(), source_of(naive).read_all()
    if found.rows != expected.rows:
        message = f"{node.operator_type} has {found.rows} rows by the optimized plan, {expected.rows} by the naive one"
        raise PlanInvariantError(message)
    for position, (a, b) in enumerate(zip(found.columns, expected.columns, strict=True)):
        if repr(decode(a, node.schema[position])) != repr(decode(b, node.schema[position])):
            raise PlanInvariantError(f"column {position} of {node.operator_type} differs between the optimized and the naive plan")


def compute(node: PlannerNode, options: MaterializeOptions | None = None) -> PlannerNode:
    """A source with the node's rows; the node itself is left as it is."""
    with GRAPH_LOCK:
        plan = optimize(node)
    return Executor(options or MaterializeOptions()).execute(plan)


def read_all(node: PlannerNode) -> Chunk:
    """All rows of a node in the driver's memory; the node is not changed."""
    return source_of(compute(node)).read_all()


def iterate(node: PlannerNode, batch_rows: int | None = None) -> Iterator[Chunk]:
    """Batches of rows in order, with bounded memory; the node is materialised first."""
    materialize(node)
    with GRAPH_LOCK:
        plan = optimize(node)
    from sframe_spark.engine.runner import FlatPlan, PlanRunner

    # Nodes built before those below them were materialised do not know their length; the plan does.
    yield from PlanRunner(FlatPlan.of(plan)).stream(0, known_rows(plan), batch_rows or config.batch_rows)
