"""Plans and runs actions, which start every computation of rows.

This ensures that a user's function is called once for each row, and that all actions see the same rows.

See docs/decisions/003-once-per-row.md, and docs/decisions/009-one-evaluation.md for rows of users' DataFrames.

The results of a user's function belong to the node that calls it. An action claims the nodes whose functions its plan calls; other actions wait until
it is done. Few rows are computed on the driver, where each node's memo keeps the results of its function. Many rows are computed by Spark tasks, but
only when the node itself is materialised, or a node above it without which it cannot be reached.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import TypeVar

import attrs

from sframe_spark.engine import costs
from sframe_spark.engine.execution.changed_file_checks import require_unchanged_files
from sframe_spark.engine.execution.claimed_row_orders import find_claimed_orders
from sframe_spark.engine.execution.lost_row_recovery import restore_lost_rows
from sframe_spark.engine.execution.run_log import RunLog
from sframe_spark.engine.graph_lock import GRAPH_LOCK
from sframe_spark.engine.physical.column_lineage import arranged_columns
from sframe_spark.engine.physical.placement_and_blocking_inputs import is_small
from sframe_spark.engine.physical.site import Site
from sframe_spark.engine.physical.user_dataframes_to_materialize_first import exclusive_tops, is_chain, nodes_in_place_of_frames, unfixed_nodes
from sframe_spark.errors import ExecutionError, MemoFullError, PlanInvariantError, RowsNotFixedError, StorageError, UnownedCallsError
from sframe_spark.operators.project_zip_arrange import project, zip_columns
from sframe_spark.operators.user_function_calls_and_result_memos import (
    calls_user_functions,
    functions_of,
    memos_at,
    memos_in,
    running_user_functions,
    with_memos,
)
from sframe_spark.planner.graph_traversal import postorder
from sframe_spark.planner.handles import Handle, reachable_otherwise
from sframe_spark.planner.length_and_order_inference import learn_lengths
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.optimizer import Trace
from sframe_spark.process.fork_safety import do_in_child
from sframe_spark.process.interrupt_deferral import interrupts_deferred
from sframe_spark.redaction import hide_in_error
from sframe_spark.rewrite_laws import optimize
from sframe_spark.session.progress import showing_work

# Claims: the thread that holds a claim computes its nodes, while other threads wait.


@attrs.define(eq=False)
class NodeClaim:
    """A running computation of some nodes by one thread. Other threads wait on ``done``; ``waiting`` has the ids of these threads."""

    done: threading.Event = attrs.Factory(threading.Event)
    nodes: list[PlannerNode] = attrs.Factory(list)
    thread: int = attrs.Factory(threading.get_ident)
    waiting: set[int] = attrs.Factory(set)

    def wait(self) -> None:
        """Wait until the claim is released; return at once if waiting would be a deadlock."""
        own = threading.get_ident()
        try:
            with GRAPH_LOCK:
                if self.needs(own):
                    return
                self.waiting.add(own)
            self.done.wait()
        finally:
            self.waiting.discard(own)

    def needs(self, thread: int) -> bool:
        """Return whether a thread holds this claim, or holds a claim that this claim's thread waits for; the caller holds the lock."""
        claim: NodeClaim | None = self
        while claim is not None and claim.thread != thread:
            worker = claim.thread
            claim = next((other for other in IN_FLIGHT if worker in other.waiting), None)
        return claim is not None

    def acquire(self, nodes: Iterable[PlannerNode]) -> None:
        """Claim nodes, except those already claimed by another thread; the caller holds the lock."""
        # Ctrl-C may have prevented the removal of a released claim.
        IN_FLIGHT.difference_update([claim for claim in IN_FLIGHT if claim.done.is_set()])
        IN_FLIGHT.add(self)
        for node in nodes:
            if node.claim is None or node.claim.done.is_set():
                self.nodes.append(node)
                node.claim = self

    def release(self) -> None:
        """Release the nodes and wake the waiting threads, even if Ctrl-C interrupts it."""
        if self.done.is_set() and self not in IN_FLIGHT:
            # A second call after a complete first one does nothing.
            return
        try:
            with interrupts_deferred(), GRAPH_LOCK:
                IN_FLIGHT.discard(self)
                for node in self.nodes:
                    if node.claim is self:
                        node.claim = None
        finally:
            self.done.set()


def awaited(nodes: Iterable[PlannerNode]) -> NodeClaim | None:
    """Return a claim, on one of the given nodes, that this thread has to wait for; None if it need not wait. The caller holds the lock."""
    own = threading.get_ident()
    claims: Iterable[NodeClaim] = (node.claim for node in nodes if node.claim is not None)
    return next((claim for claim in claims if not claim.done.is_set() and not claim.needs(own)), None)


def release_claims_of_other_threads() -> None:
    """Release the claims of threads that exist only in the parent process; called in a forked process."""
    for claim in list(IN_FLIGHT):
        if claim.thread != threading.get_ident():
            # Another thread of the parent may have held the lock inside the old event, so it is replaced.
            claim.done = threading.Event()
            claim.release()


IN_FLIGHT: set[NodeClaim] = set()
do_in_child(release_claims_of_other_threads)


Result = TypeVar("Result")

# How many times one action computes lost temporary files again.
MAX_LOSSES = 3


@attrs.frozen(eq=False)
class ActionPlan:
    """A plan that an action may run now, or the nodes that have to be materialised before it.

    Parameters
    ----------
    plan
        The plan after the laws were applied.
    graph
        The graph from which the plan was derived.
    trace
        The applications of laws that led to the plan.
    calls
        Nodes whose functions the plan calls.
    owned
        ``id`` of the memos of the function applications that may be made in Spark tasks.
    missing
        Nodes to be materialised first. If there are any, the plan is not run, but an action is planned again afterwards.
    shown
        Nodes all of whose columns are columns of the result, each with the positions of its columns in the result.
    free
        ``id`` of users' DataFrames whose rows are used by nothing but the result.
    run_log
        Filled with the outcomes of the sections that ran.
    """

    plan: PlannerNode
    graph: PlannerNode
    trace: Trace
    calls: Sequence[PlannerNode] = ()
    owned: frozenset[int] = frozenset()
    missing: Sequence[PlannerNode] = ()
    shown: Sequence[tuple[PlannerNode, Sequence[int]]] = ()
    free: frozenset[int] = frozenset()
    run_log: RunLog = attrs.Factory(RunLog)


@attrs.define(eq=False)
class PlanAttempts:
    """The attempts of one action: each plan heeds what was learned from the failures of earlier plans.

    Parameters
    ----------
    root, becomes, first, discards, only_plans
        As in :func:`run_action`.
    run_log
        The outcomes of the sections that ran, in all attempts.
    in_tasks
        Whether to plan as if functions were called in Spark tasks even where few rows are expected.
    whole
        ``id`` of the DataFrames all of whose rows are to be fixed, whatever a plan observes of them.
    losses
        How many times temporary files were lost.
    handle
        The handle of ``root``: rows of nodes below, which are materialised first or by other threads, are needed by this action too.
    """

    root: PlannerNode
    becomes: bool
    first: bool
    discards: bool
    only_plans: bool
    run_log: RunLog = attrs.Factory(RunLog)
    in_tasks: bool = False
    whole: set[int] = attrs.Factory(set)
    losses: int = 0
    handle: Handle = attrs.field(init=False, default=attrs.Factory(lambda self: Handle(self.root), takes_self=True))

    def next_plan(self, claim: NodeClaim) -> tuple[ActionPlan, NodeClaim | None]:
        """Return the next plan, and the claim of another thread that has to be released before it runs; None in place of the claim if it can run now.

        Parameters
        ----------
        claim
            A new claim, which acquires the nodes whose functions are called, if the plan may run now.
        """
        root = self.root
        with GRAPH_LOCK:
            tops = {} if self.first else exclusive_tops(root)
            chosen = plan_action(root, self.becomes, self.first, self.in_tasks, self.only_plans)
            unfixed = unfixed_nodes(root, chosen.plan, self.becomes, self.discards, None if self.first else self.whole)
            unfixed, free = nodes_in_place_of_frames(unfixed, tops, root, self.becomes, is_chain(chosen.plan), self.whole)
            # The rows of DataFrames are fixed before anything else is materialised.
            chosen = attrs.evolve(chosen, missing=unfixed or chosen.missing, free=free, run_log=self.run_log)
            busy = awaited(chosen.calls)
            if busy is None and not chosen.missing:
                claim.acquire(chosen.calls)
            return chosen, busy

    def learn(self, error: Exception, make: Callable[[PlannerNode], object]) -> bool:
        """Record what the next plan has to heed after a failure. Return whether to try again; False if the error is to be raised.

        Raises
        ------
        PlanInvariantError
            If the failed plan should have heeded it already.
        """
        if isinstance(error, StorageError):
            self.losses += 1
            return self.losses <= MAX_LOSSES and restore_lost_rows(self.root, make)
        if isinstance(error, UnownedCallsError):
            if self.in_tasks:
                raise PlanInvariantError("a plan calls functions that it does not own") from None
            self.in_tasks = True
        if isinstance(error, RowsNotFixedError):
            if self.first or error.frames <= self.whole:
                raise PlanInvariantError("a plan reads a DataFrame whose rows are not fixed") from None
            self.whole |= error.frames
        # After a full memo there is nothing to record: the next plan materialises its node first.
        return True


def run_action(
    root: PlannerNode,
    run: Callable[[ActionPlan], Result],
    make: Callable[[PlannerNode], object],
    becomes: bool = False,
    first: bool = False,
    discards: bool = False,
    only_plans: bool = False,
) -> Result:
    """Plan a graph and run the plan, as soon as no other action calls the functions that it calls. Return what ``run`` returns.

    Parameters
    ----------
    root
        The graph.
    run
        Runs a plan; called again after a failure that another plan may avoid.
    make
        Materialises a node.
    becomes
        Whether the result replaces ``root``, which the caller has claimed.
    first
        Whether all functions below the root are called, and all rows of DataFrames are fixed, before the plan runs.
    discards
        Whether the rows of the result are discarded.
    only_plans
        Whether ``run`` reads no rows and calls no functions. Then nothing is prepared for calls, and no progress is shown.
    """
    require_unchanged_files(root)
    find_claimed_orders(root)
    attempts = PlanAttempts(root, becomes, first, discards, only_plans)
    run_log = attempts.run_log
    while True:
        claim, started = NodeClaim(), run_log.mark()
        try:
            chosen, busy = attempts.next_plan(claim)
            if busy is None and not chosen.missing:
                with nullcontext() if only_plans else running(root, chosen.plan):
                    result = run(chosen)
                settle(root, chosen)
                root.ran = run_log
                return result
        except (MemoFullError, StorageError, UnownedCallsError, RowsNotFixedError) as error:
            if not attempts.learn(error, make):
                raise
            run_log.give_up(started)
            continue
        except Exception as error:
            # Messages of Spark and of file systems may contain addresses with credentials that were passed in long before.
            hide_in_error(error)
            raise
        finally:
            try:
                claim.release()
            finally:
                # A second call, in case Ctrl-C interrupted the first one at its start: other threads would wait forever.
                claim.release()
        missing = chosen.missing[0] if chosen.missing else None
        if missing is not None:
            # The reason is found before the node is materialised, as a materialised node calls no functions.
            why = why_first(missing)
            make(missing)
            run_log.add_run(missing.ran or RunLog(), why)
        elif busy is not None:
            busy.wait()


@contextmanager
def running(root: PlannerNode, plan: PlannerNode) -> Iterator[None]:
    """Return a context manager for running a plan of a graph, in which users' functions may be called and progress is shown."""
    with running_user_functions(plan), showing_work(f"computing {root.operator.called()}"):
        yield


def why_first(node: PlannerNode) -> str:
    """Return the reason, for explain(), why a node is materialised before a plan that reads it."""
    if any(map(functions_of, postorder([node]))):
        return "a function of the user's is called once for each row, so what it gives is kept for all who read it"
    return "rows of a DataFrame are fixed, so that all who look at them see the same"


def together(nodes: Sequence[PlannerNode]) -> PlannerNode:
    """Return a zip of all nodes that have the same row domain as the first node, so that one run computes them all.

    All columns of these nodes are columns of the zip, so materialising the zip materialises each of the nodes.
    """
    domain = nodes[0].facts.domain
    return zip_columns(*(node for node in nodes if node.facts.domain == domain))


def settle(root: PlannerNode, done: ActionPlan) -> None:
    """Replace each node whose columns are all columns of the result by a projection of the result."""
    with GRAPH_LOCK:
        for node, columns in done.shown:
            node.splice(project(root, columns))


def plan_action(root: PlannerNode, becomes: bool, first: bool, in_tasks: bool, only_plans: bool = False) -> ActionPlan:
    """Return the plan that an action on a graph may run now, or the nodes that have to be materialised before it."""
    trace = Trace()
    learn_lengths(root)
    if not calls_user_functions(root):
        return ActionPlan(optimize(root, None, trace), root, trace)
    external = reachable_otherwise(root) if becomes else set()
    graph, owners = with_memos(root, everywhere=True, kept=root if becomes else None)
    plan = optimize(graph, None, trace)
    called = called_nodes(plan, owners)
    others = [node for node in called if not (becomes and node is root)]
    if not only_plans and any(memo.is_called for node in called for memo in node.calls):
        raise ExecutionError("a function given to apply() uses its own results: compute what it needs beforehand")

    def callers_at(node: PlannerNode) -> list[PlannerNode]:
        return [owners[id(memo)] for memo in memos_at(node)]

    # A node that another thread has claimed is left to that thread, even while it waits for this one.
    full = [node for node in others if node.claim is None and any(memo.is_full for memo in node.calls)]
    if full:
        return ActionPlan(plan, graph, trace, missing=topmost(plan, full, callers_at))
    if first:
        calling = [node for node in postorder([root]) if node is not root and functions_of(node)]
        if calling:
            return ActionPlan(plan, graph, trace, missing=topmost(root, calling, lambda node: [node]))
    shown = exposed_nodes(root, others) if becomes else []
    if not called or (not in_tasks and (is_small(plan, Site.now()) or takes_few(root))):
        return ActionPlan(plan, graph, trace, others, shown=shown)
    exposed = {id(node) for node, _ in shown}
    missing = [node for node in others if not becomes or (id(node) in external and id(node) not in exposed)]
    if missing:
        return ActionPlan(plan, graph, trace, missing=[together(topmost(plan, missing, callers_at))])
    # The functions of this plan may be called in Spark tasks.
    trace = Trace()
    graph, owners = with_memos(root, everywhere=False)
    plan = optimize(graph, None, trace)
    others = [node for node in called_nodes(plan, owners) if not (becomes and node is root)]
    return ActionPlan(plan, graph, trace, others, frozenset(map(id, memos_in(plan))), shown=shown)


def takes_few(root: PlannerNode) -> bool:
    """Return whether a node is a slice with few rows."""
    row_range = root.operator.row_range
    return row_range is not None and row_range.takes_at_most(costs.MAX_FIRST_ROWS)


def called_nodes(plan: PlannerNode, owners: dict[int, PlannerNode]) -> list[PlannerNode]:
    """Return the nodes whose functions a plan calls."""
    return list({id(owners[id(memo)]): owners[id(memo)] for memo in memos_in(plan)}.values())


def topmost(root: PlannerNode, nodes: Sequence[PlannerNode], nodes_at: Callable[[PlannerNode], Sequence[PlannerNode]]) -> list[PlannerNode]:
    """Return those of the nodes whose highest occurrence in a graph is not below an occurrence of another one; there is at least one.

    ``nodes_at`` returns the nodes that occur at a node of the graph. In a plan, these are the nodes whose functions are called there. Positions in
    the plan decide. The user's graph may have a column, which is chosen from its frame, above the node of all columns of the frame. A plan may
    call one function at several depths, for instance next to and below a running value; its highest call decides.
    """
    candidates = {id(node) for node in nodes}
    below: set[int] = set()
    top: set[int] = set()
    for node in reversed(list(postorder([root]))):
        found = candidates.intersection(map(id, nodes_at(node)))
        if id(node) not in below:
            top |= found
        if id(node) in below or found:
            below.update(id(child) for child in node.inputs)
    return [node for node in nodes if id(node) in top]


def exposed_nodes(root: PlannerNode, nodes: Sequence[PlannerNode]) -> list[tuple[PlannerNode, list[int]]]:
    """Return the nodes all of whose columns a frame exposes, with their positions in the frame; empty if finding them would take long."""
    positions: dict[int, dict[int, int]] = {id(node): {} for node in nodes if node is not root}
    origins = arranged_columns(root) if positions else None
    for position, (node, column) in enumerate(origins or ()):
        if id(node) in positions:
            positions[id(node)][column] = position
    whole = [node for node in nodes if node is not root and 0 < len(positions[id(node)]) == node.facts.width]
    return [(node, [positions[id(node)][column] for column in range(node.facts.width)]) for node in whole]
