"""Actions: whatever computes rows runs through here, so that a user's function is called once for each row and all actions agree on the rows.

See docs/decisions/003-once-per-row.md, and docs/decisions/009-one-evaluation.md for rows of users' DataFrames.

The node that calls a function owns its results. An action claims the nodes whose functions its plan calls; other actions wait until it is done. Few
rows are computed on the driver, where each node's memo keeps what its function gave. Many rows are computed by Spark tasks only when the node
itself is materialised, or something above it through which alone it can be reached.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import attrs

from sframe_spark.engine.execution.recovery import restore_lost_rows
from sframe_spark.engine.execution.run_log import RunLog
from sframe_spark.engine.execution.source_validation import find_claimed_orders, require_unchanged_files
from sframe_spark.engine.graph_lock import GRAPH_LOCK
from sframe_spark.engine.physical.adaptive import MAX_FIRST_ROWS
from sframe_spark.engine.physical.column_lineage import arranged_columns
from sframe_spark.engine.physical.placement import is_small
from sframe_spark.engine.physical.user_dataframes import exclusive_tops, is_chain, narrowed, referenced_below, unfixed_nodes
from sframe_spark.errors import ExecutionError, MemoFullError, PlanInvariantError, RowsNotFixedError, StorageError, UnownedCallsError
from sframe_spark.laws import optimize
from sframe_spark.operators.project import project, zip_columns
from sframe_spark.operators.udf_calls import calls_user_functions, functions_of, memos_at, memos_in, running_user_functions, with_memos
from sframe_spark.planner.graph import postorder
from sframe_spark.planner.inference import learn_lengths
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.optimizer import Trace
from sframe_spark.process.fork_safety import do_in_child
from sframe_spark.process.interrupts import interrupts_deferred
from sframe_spark.redaction import hide_in_error
from sframe_spark.session.progress import showing_work

# Claims: which thread computes a node, while others wait for it.


@attrs.define(eq=False)
class NodeClaim:
    """Work in flight on nodes: others wait on ``done``; ``waiting`` are the threads that do."""

    done: threading.Event = attrs.Factory(threading.Event)
    nodes: list[PlannerNode] = attrs.Factory(list)
    thread: int = attrs.Factory(threading.get_ident)
    waiting: set[int] = attrs.Factory(set)

    def wait(self) -> None:
        """Wait until the claim is released; return at once where that would be a deadlock."""
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
        """Return whether a thread holds this claim, or holds one that this claim's thread waits for; the caller holds the lock."""
        claim: NodeClaim | None = self
        while claim is not None and claim.thread != thread:
            worker = claim.thread
            claim = next((other for other in IN_FLIGHT if worker in other.waiting), None)
        return claim is not None

    def acquire(self, nodes: Iterable[PlannerNode]) -> None:
        """Claim nodes, except those that are claimed by a thread which waits for this one; the caller holds the lock."""
        # Ctrl-C may have kept a released claim from being removed.
        IN_FLIGHT.difference_update([claim for claim in IN_FLIGHT if claim.done.is_set()])
        IN_FLIGHT.add(self)
        for node in nodes:
            if node.claim is None or node.claim.done.is_set():
                self.nodes.append(node)
                node.claim = self

    def release(self) -> None:
        """Release the nodes and wake the waiting threads, even if Ctrl-C interrupts."""
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
    """Return a claim on some nodes that this thread has to wait for, if any; the caller holds the lock."""
    own = threading.get_ident()
    claims: Iterable[NodeClaim] = (node.claim for node in nodes if node.claim is not None)
    return next((claim for claim in claims if not claim.done.is_set() and not claim.needs(own)), None)


def release_those_of_other_threads() -> None:
    """Release, in a forked process, the claims of threads that exist only in the parent."""
    for claim in list(IN_FLIGHT):
        if claim.thread != threading.get_ident():
            # A thread that is not here may have held the lock inside the old one.
            claim.done = threading.Event()
            claim.release()


IN_FLIGHT: set[NodeClaim] = set()
do_in_child(release_those_of_other_threads)


Result = TypeVar("Result")

# How often one action computes lost temporary files again.
MAX_LOSSES = 3


@attrs.frozen(eq=False)
class ActionPlan:
    """A plan that an action may run, or what has to be materialised before it.

    Parameters
    ----------
    plan
        The plan after the laws.
    graph
        The graph that was planned.
    trace
        The laws that fired.
    calls
        Nodes whose functions the plan calls.
    owned
        ``id`` of the memos of the applications that may be made in Spark tasks.
    missing
        Nodes to be materialised first; nothing is run then.
    shown
        Nodes whose columns are all columns of the result, with their positions there.
    free
        DataFrames whose rows are used by nothing but the result.
    journal
        Filled with what ran.
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


def require_owned(plan: PlannerNode, owned: frozenset[int]) -> None:
    """Require that all users' functions of a plan may be called in Spark tasks.

    Raises
    ------
    UnownedCallsError
        If other plans would call them for the same rows.
    """
    others = not_owned(plan, owned)
    if others:
        raise UnownedCallsError(others)


def not_owned(plan: PlannerNode, owned: frozenset[int]) -> list[int]:
    """Return the ``id`` of the memos of functions that other plans would call for the same rows."""
    return [id(memo) for memo in memos_in(plan) if id(memo) not in owned]


@attrs.define(eq=False)
class PlanAttempts:
    """The plans of one action, each made with what was learned from failed ones before it.

    Parameters
    ----------
    root, becomes, first, discards
        As in :func:`run_action`.
    journal
        What ran, in all attempts.
    in_tasks
        Functions would be called in Spark tasks wherever few rows were expected.
    whole
        DataFrames whose rows are fixed, all of them, whatever a plan observes.
    losses
        How often temporary files were lost.
    """

    root: PlannerNode
    becomes: bool
    first: bool
    discards: bool
    run_log: RunLog = attrs.Factory(RunLog)
    in_tasks: bool = False
    whole: set[int] = attrs.Factory(set)
    losses: int = 0

    def next_plan(self, claim: NodeClaim) -> tuple[ActionPlan, NodeClaim | None]:
        """Return the next plan, and the claim of another thread that has to be released before it runs, if any.

        Parameters
        ----------
        claim
            Claims the nodes whose functions are called, where the plan may run now.
        """
        root = self.root
        with GRAPH_LOCK:
            # This counts references, so it comes before there is a plan, which refers to nodes of the graph.
            tops = {} if self.first else exclusive_tops(root)
            chosen = plan_action(root, self.becomes, self.first, self.in_tasks)
            unfixed = unfixed_nodes(root, chosen.plan, self.becomes, self.discards, None if self.first else self.whole)
            unfixed, free = narrowed(unfixed, tops, root, self.becomes, is_chain(chosen.plan), self.whole)
            # Rows of DataFrames are fixed first.
            chosen = attrs.evolve(chosen, missing=unfixed or chosen.missing, free=free, run_log=self.run_log)
            busy = awaited(chosen.calls)
            if busy is None and not chosen.missing:
                claim.acquire(chosen.calls)
            return chosen, busy

    def learn(self, error: Exception, make: Callable[[PlannerNode], object]) -> bool:
        """Note what the next plan has to respect after a failure; return False where the error is to be raised.

        Raises
        ------
        PlanInvariantError
            If the plan should have heeded it already.
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
        # A full memo needs no note: the next plan materialises its node first.
        return True


def run_action(
    root: PlannerNode,
    run: Callable[[ActionPlan], Result],
    make: Callable[[PlannerNode], object],
    becomes: bool = False,
    first: bool = False,
    discards: bool = False,
) -> Result:
    """Plan a graph and run the plan, once no other action calls the functions that it calls.

    Parameters
    ----------
    root
        The graph.
    run
        Runs a plan; may run again if it turns out that functions would be called in Spark tasks.
    make
        Materialises a node.
    becomes
        The result takes the place of ``root``, which the caller has claimed.
    first
        All functions below the root are called first, and all rows of DataFrames fixed.
    discards
        The rows of the result are discarded.
    """
    require_unchanged_files(root)
    find_claimed_orders(root)
    attempts = PlanAttempts(root, becomes, first, discards)
    run_log = attempts.run_log
    while True:
        claim, started = NodeClaim(), run_log.mark()
        try:
            chosen, busy = attempts.next_plan(claim)
            if busy is None and not chosen.missing:
                with running_user_functions(chosen.plan), showing_work(f"computing {root.operator.called()}"):
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
            # Spark and file systems quote addresses, which came in long before.
            hide_in_error(error)
            raise
        finally:
            try:
                claim.release()
            finally:
                # A second call, in case Ctrl-C interrupted the first one at its start: other threads would wait forever.
                claim.release()
        missing = chosen.missing[0] if chosen.missing else None
        # The plan refers to nodes of the graph, and references are counted.
        del chosen
        if missing is not None:
            make_first(missing, make, run_log)
        elif busy is not None:
            busy.wait()


def make_first(node: PlannerNode, make: Callable[[PlannerNode], object], run_log: RunLog) -> None:
    """Materialise a node before a plan that reads it runs, and log it."""
    # Afterwards the node calls nothing.
    why = why_first(node)
    make(node)
    run_log.add_run(node.ran or RunLog(), why)


def why_first(node: PlannerNode) -> str:
    """Return why a node is materialised before a plan that reads it."""
    if any(map(functions_of, postorder([node]))):
        return "a function of the user's is called once for each row, so what it gives is kept for all who read it"
    return "rows of a DataFrame are fixed, so that all who look at them see the same"


def together(nodes: Sequence[PlannerNode]) -> PlannerNode:
    """Zip those of some nodes that share the row domain of the first, so that one run computes them all.

    Only for nodes whose columns the materialised frame exposes; others would be missing again below that frame.
    """
    domain = nodes[0].facts.domain
    return zip_columns(*(node for node in nodes if node.facts.domain == domain))


def settle(root: PlannerNode, done: ActionPlan) -> None:
    """Replace nodes whose columns are columns of the result by projections of it."""
    with GRAPH_LOCK:
        for node, columns in done.shown:
            node.splice(project(root, columns))


def plan_action(root: PlannerNode, becomes: bool, first: bool, in_tasks: bool) -> ActionPlan:
    """Return the plan that an action on a graph may run now, or what has to be materialised before it."""
    trace = Trace()
    learn_lengths(root)
    if not calls_user_functions(root):
        return ActionPlan(optimize(root, None, trace), root, trace)
    held = referenced_below(root) if becomes else set()
    graph, owners = with_memos(root, everywhere=True, kept=root if becomes else None)
    plan = optimize(graph, None, trace)
    called = called_nodes(plan, owners)
    others = [node for node in called if not (becomes and node is root)]
    if any(memo.is_called for node in called for memo in node.calls):
        raise ExecutionError("a function given to apply() looks at its own results: give it what it needs beforehand")
    # A node claimed by a thread that waits for this one is that thread's to materialise.
    full = [node for node in others if node.claim is None and any(memo.is_full for memo in node.calls)]
    if full:
        return ActionPlan(plan, graph, trace, missing=topmost_called(plan, owners, full))
    if first:
        everything = [node for node in postorder([root]) if node is not root and functions_of(node)]
        if everything:
            return ActionPlan(plan, graph, trace, missing=topmost(root, everything))
    shown = exposed_nodes(root, others) if becomes else []
    if not called or (not in_tasks and (is_small(plan) or takes_few(root))):
        return ActionPlan(plan, graph, trace, others, shown=shown)
    seen = {id(node) for node, _ in shown}
    missing = [node for node in others if not becomes or (id(node) in held and id(node) not in seen)]
    if missing:
        return ActionPlan(plan, graph, trace, missing=[together(topmost_called(plan, owners, missing))])
    return _plan_for_tasks(root, becomes, shown)


def _plan_for_tasks(root: PlannerNode, becomes: bool, shown: Sequence[tuple[PlannerNode, Sequence[int]]]) -> ActionPlan:
    """Return a plan whose functions are called in Spark tasks."""
    trace = Trace()
    graph, owners = with_memos(root, everywhere=False)
    plan = optimize(graph, None, trace)
    owned = frozenset(map(id, memos_in(plan)))
    others = [node for node in called_nodes(plan, owners) if not (becomes and node is root)]
    return ActionPlan(plan, graph, trace, others, owned, shown=shown)


def takes_few(root: PlannerNode) -> bool:
    """Return whether a node is a slice of few rows."""
    taken = root.operator.row_range
    return taken is not None and taken.takes_at_most(MAX_FIRST_ROWS)


def called_nodes(plan: PlannerNode, owners: dict[int, PlannerNode]) -> list[PlannerNode]:
    """Return the nodes whose functions a plan calls."""
    return list({id(owners[id(memo)]): owners[id(memo)] for memo in memos_in(plan)}.values())


def topmost_called(plan: PlannerNode, owners: dict[int, PlannerNode], nodes: Sequence[PlannerNode]) -> list[PlannerNode]:
    """Return the topmost of some nodes in a plan, by where their functions are called; at least one.

    The plan decides, as in the graph a column may be above all columns of its frame. It may call one function at several depths, for instance next to
    and below a running value, so its highest call decides.
    """
    wanted = {id(node) for node in nodes}
    below: set[int] = set()
    top: set[int] = set()
    for node in reversed(list(postorder([plan]))):
        called = {id(owners[id(memo)]) for memo in memos_at(node)} & wanted
        if id(node) not in below:
            top |= called
        if id(node) in below or called:
            below.update(id(child) for child in node.inputs)
    return [node for node in nodes if id(node) in top]


def topmost(root: PlannerNode, nodes: Sequence[PlannerNode]) -> list[PlannerNode]:
    """Return those of some nodes below ``root`` that are below none of the others."""
    wanted = {id(node) for node in nodes}
    below: set[int] = set()
    for node in reversed(list(postorder([root]))):
        if id(node) in below or id(node) in wanted:
            below.update(id(child) for child in node.inputs)
    return [node for node in nodes if id(node) not in below]


def exposed_nodes(root: PlannerNode, nodes: Sequence[PlannerNode]) -> list[tuple[PlannerNode, list[int]]]:
    """Return the nodes all of whose columns a frame exposes, with the positions of these columns; none where finding them takes long."""
    places: dict[int, dict[int, int]] = {id(node): {} for node in nodes if node is not root}
    shown = arranged_columns(root) if places else None
    for place, (node, column) in enumerate(shown or ()):
        if id(node) in places:
            places[id(node)][column] = place
    whole = [node for node in nodes if node is not root and 0 < len(places[id(node)]) == node.facts.width]
    return [(node, [places[id(node)][column] for column in range(node.facts.width)]) for node in whole]
