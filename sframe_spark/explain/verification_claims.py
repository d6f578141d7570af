"""What the planner claims of the physical work of a section, compared with the plans that ran."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from sframe_spark.engine.spark.query import fits_one_task
from sframe_spark.explain.executed_plans import ExecutedPlan
from sframe_spark.order.spark_partitioning import KEEPS_ALL, plan_preservation, preservation_above
from sframe_spark.planner.graph import postorder
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.operator import NO_WORK, Need, QueryWork

# The result of a query is brought into its order.
RESULT_IN_ORDER = QueryWork(1, 1)


@attrs.frozen
class Finding:
    """A claim and what became of it.

    Parameters
    ----------
    claim
        What was claimed.
    found
        What was found instead; None where it agrees.
    claimed
        False where the planner claims nothing of the matter.

    Examples
    --------
    >>> print(Finding("2 rows"), Finding("2 rows", "3 rows"), Finding("order of rows", claimed=False), sep="; ")
    2 rows: agrees; 2 rows: DISAGREES: 3 rows; order of rows: not claimed
    """

    claim: str
    found: str | None = None
    claimed: bool = True

    def __str__(self) -> str:
        if not self.claimed:
            return f"{self.claim}: not claimed"
        return f"{self.claim}: agrees" if self.found is None else f"{self.claim}: DISAGREES: {self.found}"


def query_work(plan: PlannerNode) -> QueryWork | None:
    """The most exchanges and sorts that a plan takes as one Spark query whose result comes in row order; None where nothing is claimed.

    Examples
    --------
    >>> from sframe_spark.config import config
    >>> from sframe_spark.operators.sort import sort_rows
    >>> from sframe_spark.operators.sources.generated import range_source
    >>> with config.using(single_task_rows=0):
    ...     query_work(sort_rows(range_source(9, 3, -1), [(0, True)]))
    QueryWork(exchanges=1, sorts=1)
    """
    total = RESULT_IN_ORDER if is_ordered_result(plan) else NO_WORK
    for node in postorder([plan]):
        work = node.operator.query_work
        if work is None:
            return None
        total += work
    return QueryWork(0, total.sorts) if fits_one_task(plan) else total


def is_ordered_result(plan: PlannerNode) -> bool:
    """Whether the rows of a query have an order to be brought into: more than one row, not all from a DataFrame of unknown order."""
    most = plan.length.at_most
    return (most is None or most > 1) and plan.operator_type != "spark_source"


def check_query(plan: PlannerNode, plans: Sequence[ExecutedPlan], rows: int | None) -> list[Finding]:
    """Findings about the exchanges, sorts and row order of a Spark query that gave so many rows."""
    if not plans:
        return [Finding("one Spark query", "Spark ran none")]
    # Where the number of groups is guessed wrong, the query is run once more and written to files.
    last = plans[-1]
    findings = [] if last.is_final else [Finding("the last change of this plan, of which Spark did not tell", claimed=False)]
    work = query_work(plan)
    for name, most, ran in (
        ("exchanges", work and work.exchanges, last.count("Exchange")),
        ("sorts", work and work.sorts, last.count("Sort")),
    ):
        if most is None:
            findings.append(Finding(f"{name}: {ran} ran", claimed=False))
        else:
            findings.append(Finding(f"{name}: at most {most} claimed, {ran} ran", None if ran <= most else f"{ran - most} more than claimed"))
    if is_ordered_result(plan):
        findings.append(Finding("rows leave Spark in the order of their row key", order_problem(last, rows)))
    else:
        findings.append(Finding("order in which rows leave Spark", claimed=False))
    return findings


def order_problem(plan: ExecutedPlan, rows: int | None) -> str | None:
    """Why a plan does not give its rows in the order of the row key; None where it does.

    It does where it sorts all rows and nothing above that sort moves a row, which is decided by the names of the nodes above it.
    """
    if rows is not None and rows <= 1:
        return None
    sorts = plan.full_sorts()
    kept = preservation_above(plan.root, lambda node: id(node) in sorts)
    if kept is None:
        return "no node on the way to the result sorts all rows"
    if kept != KEEPS_ALL:
        return "a node above the sort may move rows"
    return None


def check_tasks(plan: PlannerNode, plans: Sequence[ExecutedPlan]) -> list[Finding]:
    """Findings about a section whose row ranges are computed by tasks: nothing is exchanged or sorted, and no row leaves its range."""
    exchanges = sum(item.count("Exchange", "BroadcastExchange") for item in plans)
    sorts = sum(item.count("Sort", "TakeOrderedAndProject") for item in plans)
    moved = [item for item in plans if plan_preservation(item.root) != KEEPS_ALL]
    findings = [
        Finding("exchanges: none claimed", f"{exchanges} ran" if exchanges else None),
        Finding("sorts: none claimed", f"{sorts} ran" if sorts else None),
        Finding("ranges of rows stay in their tasks", "a node of the plan moves rows between tasks" if moved else None),
    ]
    for node in postorder([plan]):
        if any(node.operator.requires(slot) is Need.ALIGNED for slot in range(len(node.inputs))):
            findings.append(Finding(f"{node.operator_type} of co-partitioned inputs needs no exchange", aligned_problem(node, exchanges)))
    return findings if plans else [Finding("tasks in Spark", "Spark ran none")]


def aligned_problem(node: PlannerNode, exchanges: int) -> str | None:
    """Why inputs are not aligned row by row; None where they are."""
    lengths = {child.length.rows for child in node.inputs} - {None}
    if len(lengths) > 1:
        return f"its inputs have {' and '.join(map(str, sorted(lengths, key=str)))} rows"
    return f"{exchanges} exchanges ran" if exchanges else None
