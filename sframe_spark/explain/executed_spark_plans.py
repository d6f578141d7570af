"""The physical plans that Spark ran, after adaptive planning changed them, and its tasks and spilled bytes; in classic sessions only.

Spark keeps descriptions of the plans of its last thousand executions, and updates a description when it changes the plan. This is only for
diagnostics; it affects no result.
"""

from __future__ import annotations

import contextlib
import re
import time
import uuid
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import attrs

from sframe_spark.engine.materialize_options import Work
from sframe_spark.order.spark_order_preservation import PlanNode
from sframe_spark.session import get_session, is_remote, is_started
from sframe_spark.session.session import active_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_NODE = re.compile(r"^(?P<indent>[ :|+-]*)(?P<codegen>\* )?(?P<name>[A-Za-z=][^(]*?) *(?:\((?P<number>\d+)\))?(?:, .*)?$")
_DETAIL = re.compile(r"^\((\d+)\) ")
_ATTRIBUTE_NUMBER = re.compile(r"#\d+L?")
# Nodes that only wrap other nodes.
_WRAPPERS = frozenset(
    {
        *("AdaptiveSparkPlan", "== Final Plan ==", "== Current Plan ==", "ResultQueryStage"),
        *("ShuffleQueryStage", "BroadcastQueryStage", "TableCacheQueryStage"),
    }
)
# Spark may record the last change of a plan some time after the action has returned. The longest wait, and the pause between checks, in seconds.
_MAX_WAIT, _PAUSE = 3.0, 0.1


@attrs.frozen
class ExecutedPlan:
    """A physical plan that ran.

    Parameters
    ----------
    root
        The root of the tree of its nodes, from which wrappers have been removed.
    details
        Spark's description of each node, in preorder.
    is_final
        Whether adaptive planning has finished, or was not used.
    """

    root: PlanNode
    details: tuple[str, ...]
    is_final: bool = True

    def names(self) -> list[str]:
        """Return the names of all nodes in preorder."""
        return [node.name for node, _ in walk(self.root)]

    def count(self, *names: str) -> int:
        """Return the number of nodes with one of these names."""
        return sum(name in names for name in self.names())

    def full_sorts(self) -> set[int]:
        """Return the ``id`` of each node that sorts all rows, across partitions."""
        described = zip(walk(self.root), self.details, strict=True)
        return {
            id(node) for (node, _), detail in described if node.name == "TakeOrderedAndProject" or (node.name == "Sort" and sorts_all_rows(detail))
        }

    def lines(self) -> list[str]:
        """Return the plan as lines: one for each node, indented below the node that reads it."""
        return ["  " * depth + short_description(node.name, detail) for (node, depth), detail in zip(walk(self.root), self.details, strict=True)]


def walk(root: PlanNode) -> Iterator[tuple[PlanNode, int]]:
    """Yield every node of a plan in preorder, with its depth."""
    pending = [(root, 0)]
    while pending:
        node, depth = pending.pop()
        yield node, depth
        pending.extend((child, depth + 1) for child in reversed(node.inputs))


def short_description(name: str, detail: str) -> str:
    """Return a short description of a node.

    Examples
    --------
    >>> short_description("Exchange", "rangepartitioning(k0#4 ASC NULLS FIRST, 2), ENSURE_REQUIREMENTS, [plan_id=12]")
    'Exchange rangepartitioning(k0 ASC NULLS FIRST, 2)'
    >>> short_description("Sort", "[k0#4 ASC NULLS FIRST], true, 0"), short_description("Sort", "[k0#4 ASC NULLS FIRST], false, 0")
    ('Sort of all rows [k0 ASC NULLS FIRST]', 'Sort within partitions [k0 ASC NULLS FIRST]')
    """
    text = _ATTRIBUTE_NUMBER.sub("", detail)
    match name:
        case "Exchange" | "BroadcastExchange":
            return f"{name} {text.split(', ENSURE_REQUIREMENTS')[0].split(', [plan_id')[0]}"
        case "Sort":
            return f"Sort {'of all rows' if sorts_all_rows(detail) else 'within partitions'} {text.rsplit('],', 1)[0]}]"
        case "AQEShuffleRead":
            return f"{name} {text}"
        case "TakeOrderedAndProject":
            return f"{name} {text.rsplit(', [', 1)[0]}"
    return name


def sorts_all_rows(detail: str) -> bool:
    """Return whether a sort orders rows across partitions, given Spark's description of the node."""
    return detail.endswith("], true, 0")


def read_plan(text: str) -> ExecutedPlan:
    """Return the plan that Spark's formatted description contains.

    Parameters
    ----------
    text
        The description: a tree of numbered nodes, then the details of each. For an adaptive plan, only the final tree is read.

    Raises
    ------
    ValueError
        If the description contains no plan.

    Examples
    --------
    >>> plan = read_plan('''== Physical Plan ==
    ... AdaptiveSparkPlan (3)
    ... +- == Final Plan ==
    ...    MapInArrow (2)
    ...    +- * Range (1)
    ... +- == Initial Plan ==
    ...    Range (1)
    ...
    ...
    ... (3) AdaptiveSparkPlan
    ... Arguments: isFinalPlan=true
    ... ''')
    >>> plan.root.name, [node.name for node in plan.root.inputs], plan.is_final
    ('MapInArrow', ['Range'], True)
    """
    lines = text.splitlines()
    start = next((number for number, line in enumerate(lines) if line.startswith("== Physical Plan")), None)
    if start is None:
        raise ValueError(f"no physical plan in {text[:200]!r}")
    arguments = _arguments(lines)
    nodes = list(_tree_lines(lines[start + 1 :]))
    is_final = not any(name == "AdaptiveSparkPlan" and arguments.get(number) == "isFinalPlan=false" for _, name, number in nodes)
    tree = [item for item in nodes if item[1] not in _WRAPPERS]
    if not tree:
        raise ValueError(f"an empty physical plan in {text[:200]!r}")
    details = tuple(arguments.get(number, "") for _, _, number in tree)
    return ExecutedPlan(_plan_of(tree), details, is_final)


def _arguments(lines: list[str]) -> dict[str, str]:
    """Return the arguments of each node, by the node's number."""
    arguments: dict[str, str] = {}
    number = ""
    for line in lines:
        heading = _DETAIL.match(line)
        if heading:
            number = heading[1]
        elif line.startswith("Arguments: ") and number:
            arguments[number] = line.removeprefix("Arguments: ")
    return arguments


def _tree_lines(lines: list[str]) -> Iterator[tuple[int, str, str]]:
    """Yield the indentation, name and number of each node of a tree, without initial plans that adaptive planning replaced."""
    skipped_below: int | None = None
    for line in lines:
        match = _NODE.match(line)
        if match is None:
            break
        depth, name = len(match["indent"]), match["name"].strip()
        if skipped_below is not None and depth >= skipped_below:
            continue
        skipped_below = depth if name == "== Initial Plan ==" else None
        if skipped_below is None:
            yield depth, name, match["number"] or ""


def _plan_of(tree: list[tuple[int, str, str]]) -> PlanNode:
    """Return a plan, given the depth and name of each of its nodes in preorder."""
    roots: list[tuple[int, PlanNode]] = []
    for depth, name, _ in reversed(tree):
        inputs = []
        while roots and roots[-1][0] > depth:
            inputs.append(roots.pop()[1])
        # Spark adds the type of a join to its name, which does not affect partitions.
        short_name = name if name.startswith(("Execute", "Scan")) else name.split(" ")[0]
        roots.append((depth, PlanNode(short_name, tuple(inputs))))
    if len(roots) != 1:
        raise ValueError(f"nodes beside the plan: {[node.name for _, node in roots]}")
    return roots[0][1]


def job_plan(stages: int) -> ExecutedPlan:
    """Return a plan for a Spark job without a query, given its number of stages: there is one exchange between two stages.

    Examples
    --------
    >>> job_plan(2).names()
    ['MapPartitions', 'Exchange', 'RDDScan']
    """
    node = PlanNode("RDDScan", ())
    for name in (*["Exchange"] * (stages - 1), "MapPartitions"):
        node = PlanNode(name, (node,))
    return ExecutedPlan(node, ("",) * (stages + 1))


@contextlib.contextmanager
def recorded_plans() -> Iterator[list[ExecutedPlan]]:
    """Yield a list that is filled at the end of the block with the plans that this thread's actions ran in Spark.

    Plans of queries come first, then plans of other jobs.
    """
    plans: list[ExecutedPlan] = []
    before = get_session() if is_started() else active_session()
    first = max((execution.executionId() for execution in _status(before)[0]), default=-1) + 1 if before else 0
    with _tagged(before) as tag:
        yield plans
    if is_started():
        plans += _plans_since(get_session(), first, tag)


@contextlib.contextmanager
def _tagged(session: SparkSession | None) -> Iterator[str | None]:
    """Tag the Spark jobs of this thread, and of threads that it starts, and yield the tag; None if Spark is not running yet."""
    if session is None:
        yield None
        return
    tag = f"sframe_spark-explain-{uuid.uuid4().hex}"
    session.sparkContext.addJobTag(tag)
    try:
        yield tag
    finally:
        session.sparkContext.removeJobTag(tag)


def _status(session: SparkSession) -> tuple[Any, Any]:
    """Return Spark's lists of executions and of jobs, after all events so far have been processed."""
    spark = session.sparkContext._jsc.sc()
    spark.listenerBus().waitUntilEmpty()
    return _items(session._jsparkSession.sharedState().statusStore().executionsList()), _items(spark.statusStore().jobsList(None))


def stages_of(session: SparkSession, tag: str) -> list[Any]:
    """Return the stages of jobs with a tag, from Spark's status store."""
    jobs = [job for job in _status(session)[1] if job.jobTags().contains(tag)]
    numbers = {int(number) for job in jobs for number in job.stageIds().mkString(",").split(",") if number}
    stages = _items(
        session.sparkContext._jsc.sc()
        .statusStore()
        .stageList(None, False, False, session.sparkContext._gateway.new_array(session.sparkContext._jvm.double, 0), None)
    )
    return [stage for stage in stages if stage.stageId() in numbers]


def _items(sequence: Any) -> list[Any]:
    return [sequence.apply(index) for index in range(sequence.size())]


def _plans_since(session: SparkSession, first: int, tag: str | None) -> list[ExecutedPlan]:
    """Return the final plans of this thread's executions from number ``first`` on, and the plans of its other jobs."""
    deadline = time.monotonic() + _MAX_WAIT
    while True:
        plans = _plans_so_far(session, first, tag)
        if all(plan.is_final for plan in plans) or time.monotonic() > deadline:
            return plans
        time.sleep(_PAUSE)


def _plans_so_far(session: SparkSession, first: int, tag: str | None) -> list[ExecutedPlan]:
    executions, jobs = _status(session)
    stages = {job.jobId(): job.stageIds().size() for job in jobs if tag is None or job.jobTags().contains(tag)}
    of_queries: set[int] = set()
    texts: dict[int, str] = {}
    for execution in executions:
        own = {int(job) for job in execution.jobs().keys().mkString(",").split(",") if job}
        of_queries |= own
        if execution.executionId() >= first and (not own or not own.isdisjoint(stages)):
            texts[execution.executionId()] = execution.physicalPlanDescription()
    alone = sorted(stages.keys() - of_queries)
    return [*(read_plan(texts[number]) for number in sorted(texts)), *(job_plan(stages[job]) for job in alone)]


@contextlib.contextmanager
def work_in_spark() -> Iterator[Work]:
    """Yield the measures of the work that Spark does for this thread in the block; they are filled at its end.

    They stay None if Spark was not running at the start of the block, or is remote.
    """
    work = Work()
    session = get_session() if is_started() and not is_remote(get_session()) else None
    tag = None
    try:
        with _tagged(session) as tag:
            yield work
    finally:
        if session is not None and tag is not None:
            stages = stages_of(session, tag)
            work.tasks = sum(stage.numCompleteTasks() for stage in stages)
            work.spilled = sum(stage.diskBytesSpilled() for stage in stages)
