"""The report of ``explain(verify=True)``: each section that ran, its plan, and what became of each claim about it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import attrs

from sframe_spark.engine.execution.materialize import is_materialized
from sframe_spark.engine.execution.runs_executor import Executor
from sframe_spark.engine.graph_lock import GRAPH_LOCK
from sframe_spark.engine.materialize_options import MaterializeOptions
from sframe_spark.explain.column_names import ColumnNames
from sframe_spark.explain.executed_plans import ExecutedPlan
from sframe_spark.explain.relied_orders import relied_orders
from sframe_spark.explain.row_verification import EqualColumns, InOrder, NotMissing, OneValue, RowClaim, Within, row_claims
from sframe_spark.explain.verification_claims import Finding, check_query, check_tasks
from sframe_spark.explain.verification_rows import check_rows, check_segments
from sframe_spark.laws.optimized import optimize
from sframe_spark.operators.sources.source import SegmentSource
from sframe_spark.planner.graph import postorder
from sframe_spark.planner.inference import properties_of
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.optimizer import Trace

QUERY, TASKS, DRIVER = "Spark query", "segment tasks", "driver"


@attrs.frozen(eq=False)
class RanSection:
    """A part of a plan that ran by itself.

    Parameters
    ----------
    where
        What ran it.
    plan
        What was computed, over sources.
    result
        A source of its rows.
    executed
        Spark's plans, in the order in which they ran.
    ranges
        Base rows of each task.
    dense
        Row numbers of the result are those of the base rows.
    """

    where: str
    plan: PlannerNode
    result: PlannerNode
    executed: Sequence[ExecutedPlan] = ()
    ranges: Sequence[tuple[int, int]] = ()
    dense: bool = False


@attrs.frozen(eq=False)
class Run:
    """A plan that ran.

    Parameters
    ----------
    plan
        The optimized plan.
    trace
        What the optimizer did to get it.
    result
        Its rows.
    sections
        What ran for it, in order.
    names
        Names of columns of all these nodes.
    """

    plan: PlannerNode
    trace: Trace
    result: PlannerNode
    sections: Sequence[RanSection]
    names: ColumnNames


def report(run: Run) -> list[str]:
    """The report as lines, the last one with the number of claims that were compared and of those that do not agree."""
    lines: list[str] = []
    findings: list[Finding] = []
    for title, plans, found in blocks(run):
        lines += [title, *[f"    {line}" for plan in plans for line in plan], *[f"  {finding}" for finding in found]]
        findings += found
    wrong = sum(finding.found is not None for finding in findings)
    compared = sum(finding.claimed for finding in findings)
    return [*lines, f"{compared} claims compared: {f'{wrong} DISAGREE' if wrong else 'all agree'}"]


def blocks(run: Run) -> Iterator[tuple[str, list[list[str]], list[Finding]]]:
    """For each source that is read, each section that ran and each order that was relied on: title, plans, findings."""
    for node in postorder([run.plan]):
        if isinstance(node.operator, SegmentSource):
            yield (
                f"read: {node.operator_type}[{node.operator.describe()}]",
                [],
                [*row_findings(node, node, run.names), segment_finding(node.operator)],
            )
    for number, section in enumerate(run.sections, 1):
        rows = section.result.length.rows
        title = f"section {number}: {section.plan.operator_type}, {section.where}, {rows} rows"
        yield title, distinct_plans(section.executed), section_findings(section, run.names)
    if not run.sections:
        yield "nothing ran: the rows are there", [], row_findings(run.plan, run.result, run.names)
    orders = [order_finding(why, node, by, run.names) for why, node, by in relied_orders(run.plan, run.trace, run.names)]
    if orders:
        yield "orders that were relied on", [], orders


def distinct_plans(executed: Sequence[ExecutedPlan]) -> list[list[str]]:
    """Plans as text, equal ones once with their number."""
    counts: dict[tuple[str, ...], int] = {}
    for plan in executed:
        text = tuple(plan.lines())
        counts[text] = counts.get(text, 0) + 1
    return [[text[0] + (f" (ran {count} times)" if count > 1 else ""), *text[1:]] for text, count in counts.items()]


def section_findings(section: RanSection, names: ColumnNames) -> list[Finding]:
    """What became of each claim about a section."""
    rows = section.result.length.rows
    if section.where == QUERY:
        found = check_query(section.plan, section.executed, rows)
    elif section.where == TASKS:
        found = [*check_tasks(section.plan, section.executed), *range_findings(section)]
    else:
        ran = len(section.executed)
        found = [Finding("few rows, computed without Spark", f"Spark ran {ran} queries" if ran else None)]
    found.append(length_finding(section.plan, rows))
    found += row_findings(section.plan, section.result, names)
    if isinstance(section.result.operator, SegmentSource):
        found.append(segment_finding(section.result.operator))
    return found


def length_finding(plan: PlannerNode, rows: int | None) -> Finding:
    """Whether there are as many rows as was known before."""
    exact, most = plan.length.rows, plan.length.at_most
    if exact is None and most is None:
        return Finding("number of rows", claimed=False)
    is_wrong = rows is not None and (rows != exact if exact is not None else most is not None and rows > most)
    claim = f"{exact} rows" if exact is not None else f"at most {most} rows"
    return Finding(claim, f"there are {rows}" if is_wrong else None)


def range_findings(section: RanSection) -> list[Finding]:
    """Whether each segment holds the rows of one range, where rows are counted."""
    source = section.result.operator
    base_rows = section.ranges[-1][1] if section.ranges else 0
    if not isinstance(source, SegmentSource) or not section.dense or section.plan.length.rows != base_rows:
        return []
    wanted = [stop - start for start, stop in section.ranges]
    found = [entry.rows for entry in source.manifest.segments]
    return [
        Finding(f"{len(wanted)} ranges of rows are {len(wanted)} segments", None if wanted == found else f"segments of {found} rows, not {wanted}")
    ]


def segment_finding(source: SegmentSource) -> Finding:
    """Whether segments are as their manifest says."""
    problems = check_segments(source)
    count = len(source.manifest.segments)
    return Finding(f"rows, row keys and statistics of segments as recorded ({count} in the dataset)", "; ".join(problems) or None)


def row_findings(plan: PlannerNode, result: PlannerNode, names: ColumnNames) -> list[Finding]:
    """What became of each claim about the rows of a plan; claims of one kind that hold are one line."""
    recorded = row_claims(properties_of(result), result.schema) if isinstance(result.operator, SegmentSource) else []
    claims = list(dict.fromkeys([*row_claims(properties_of(plan), plan.schema), *recorded]))
    held: dict[str, list[str]] = {}
    wrong = []
    for checked in check_rows(result, claims):
        kind, about = words(checked.claim, plan, names)
        if checked.row is None:
            held.setdefault(kind, []).append(about)
        else:
            wrong.append(Finding(f"{kind} {about}", f"row {checked.row} is the first of which this is not so"))
    agreed = [Finding(f"{kind} {'; '.join(dict.fromkeys(about))}") for kind, about in held.items()]
    return [*wrong, *agreed] or [Finding("order and values of rows", claimed=False)]


def words(claim: RowClaim, node: PlannerNode, names: ColumnNames) -> tuple[str, str]:
    """Kind of a claim, and what it is about."""
    match claim:
        case InOrder(by, strict):
            return "rows in order of", names.order(node, by) + (" without ties" if strict else "")
        case OneValue(column):
            return "one value in", names.name(node, column)
        case EqualColumns():
            return "equal in every row:", names.listed(node, claim.columns)
        case NotMissing(column):
            return "no missing value in", names.name(node, column)
        case Within(column, low, high):
            return "values in bounds:", f"{low} <= {names.name(node, column)} <= {high}"
    return type(claim).__name__, names.listed(node, claim.columns)


def order_finding(why: str, node: PlannerNode, by: tuple[tuple[int, bool], ...], names: ColumnNames) -> Finding:
    """Whether rows are in an order that the plan relies on; they are computed for that."""
    with GRAPH_LOCK:
        plan = optimize(node)
    source = plan if is_materialized(plan) else Executor(MaterializeOptions()).execute(plan)
    row = check_rows(source, [InOrder(by)])[0].row
    return Finding(f"{why}: rows in order of {names.order(node, by)}", None if row is None else f"row {row} comes before the row above it")
