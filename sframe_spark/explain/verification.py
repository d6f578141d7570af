"""``explain(verify=True)``: runs a plan, and compares the planner's claims with the plans that Spark ran and with the resulting rows.

The result is discarded, so that the frame is later planned and computed as if it had not been verified.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial

import attrs

from sframe_spark.engine.execution.action_planning_and_function_call_claims import ActionPlan, run_action
from sframe_spark.engine.execution.materialize_count_and_read_rows import is_materialized, materialize
from sframe_spark.engine.execution.plan_executor import Executor, site_of_section
from sframe_spark.engine.graph_lock import GRAPH_LOCK
from sframe_spark.engine.materialize_options import MaterializeOptions
from sframe_spark.engine.physical.placement_and_blocking_inputs import Placement, placement_of
from sframe_spark.engine.runtime.row_range_tasks_and_sequential_states import RangeTask
from sframe_spark.engine.runtime.task_runners import TaskRunner
from sframe_spark.engine.shapes.section_runner import SectionRunner
from sframe_spark.engine.shapes.section_tree import ReplanNeeded, Section, Workers
from sframe_spark.engine.shapes.stream import STREAM
from sframe_spark.engine.spark.shuffle_partitions import fits_one_task
from sframe_spark.errors import UnsupportedOperationError
from sframe_spark.explain.column_names import ColumnNames
from sframe_spark.explain.executed_spark_plans import ExecutedPlan, recorded_plans
from sframe_spark.explain.sort_and_exchange_reasons import relied_orders
from sframe_spark.explain.verification_of_facts_and_stored_rows import InOrder, check_rows, check_segments, claim_in_words, row_claims
from sframe_spark.operators.sources.base_and_segment_source import SegmentSource
from sframe_spark.order.spark_order_preservation import KEEPS_ALL, plan_preservation, preservation_above
from sframe_spark.planner.graph_traversal import postorder
from sframe_spark.planner.length_and_order_inference import in_any_order, properties_of
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.operator import Need
from sframe_spark.planner.operator_declarations import NO_WORK, QueryWork
from sframe_spark.planner.optimizer import Trace
from sframe_spark.rewrite_laws import optimize
from sframe_spark.session import get_session, is_remote, is_started
from sframe_spark.session.session import active_session

# Sorting the result of a query into row order takes one exchange and one sort.
RESULT_IN_ORDER = QueryWork(1, 1)


@attrs.frozen
class Finding:
    """A claim, and the result of checking it.

    Parameters
    ----------
    claim
        The claim, in words.
    found
        What contradicts the claim; None if nothing does.
    claimed
        False if the planner makes no claim about the subject.

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
    """Return upper bounds of a plan's exchanges and sorts if it runs as one Spark query with its result in row order.

    The result is None if an operator claims no bounds.

    Examples
    --------
    >>> from sframe_spark.config import config
    >>> from sframe_spark.operators.sort_top_rows_and_assumed_order import sort_rows
    >>> from sframe_spark.operators.sources.in_memory import range_source
    >>> with config.using(single_task_rows=0):
    ...     query_work(sort_rows(range_source(9, 3, -1), [(0, True)]))
    QueryWork(exchanges=1, sorts=1)
    """
    total = RESULT_IN_ORDER if is_ordered_result(plan) else NO_WORK
    for node in postorder([plan]):
        work = node.operator.spark_cost.work
        if work is None:
            return None
        total += work
    return QueryWork(0, total.sorts) if fits_one_task(plan) else total


def is_ordered_result(plan: PlannerNode) -> bool:
    """Return whether the result of a query has to be sorted: it may have more than one row, and is not a DataFrame of unknown order."""
    max_rows = plan.length.at_most
    return (max_rows is None or max_rows > 1) and plan.operator_type != "spark_source"


def check_query(plan: PlannerNode, plans: Sequence[ExecutedPlan], rows: int | None) -> list[Finding]:
    """Return findings about the exchanges, sorts and row order of a Spark query with ``rows`` result rows."""
    if not plans:
        return [Finding("one Spark query", "Spark ran none")]
    # If the number of groups was underestimated, the query ran again and wrote files, so the last plan counts.
    last = plans[-1]
    findings = [] if last.is_final else [Finding("the last change of this plan, of which Spark did not tell", claimed=False)]
    work = query_work(plan)
    for name, ran in (("exchanges", last.count("Exchange")), ("sorts", last.count("Sort"))):
        if work is None:
            findings.append(Finding(f"{name}: {ran} ran", claimed=False))
        else:
            limit = getattr(work, name)
            findings.append(Finding(f"{name}: at most {limit} claimed, {ran} ran", None if ran <= limit else f"{ran - limit} more than claimed"))
    if is_ordered_result(plan):
        findings.append(Finding("rows leave Spark in the order of their row key", order_problem(last, rows)))
    else:
        findings.append(Finding("order in which rows leave Spark", claimed=False))
    return findings


def order_problem(plan: ExecutedPlan, rows: int | None) -> str | None:
    """Return why a plan does not return rows in the order of the row key; None if it does.

    It does if a node sorts all rows and no node above it moves rows, as judged by the names of the nodes.
    """
    if rows is not None and rows <= 1:
        return None
    sorts = plan.full_sorts()
    preserved = preservation_above(plan.root, lambda node: id(node) in sorts)
    if preserved is None:
        return "no node on the way to the result sorts all rows"
    return None if preserved == KEEPS_ALL else "a node above the sort may move rows"


def check_tasks(plan: PlannerNode, plans: Sequence[ExecutedPlan]) -> list[Finding]:
    """Return findings about a section whose row ranges are computed by tasks: no exchange, no sort, and no row leaves its range."""
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
    """Return why the inputs of a node are not aligned row by row; None if they are."""
    lengths = {child.length.rows for child in node.inputs} - {None}
    if len(lengths) > 1:
        return f"its inputs have {' and '.join(map(str, sorted(lengths, key=str)))} rows"
    return f"{exchanges} exchanges ran" if exchanges else None


QUERY, TASKS, DRIVER = "Spark query", "segment tasks", "driver"


@attrs.frozen(eq=False)
class ExecutedSection:
    """A section of a plan that ran.

    Parameters
    ----------
    where
        Whether it ran as a Spark query, as tasks or in the driver.
    plan
        The plan that was computed, over sources.
    result
        A source of its rows.
    executed
        The plans that Spark ran, in order.
    ranges
        The range of base rows of each task.
    dense
        Whether the rows of the result have the same numbers as the base rows.
    """

    where: str
    plan: PlannerNode
    result: PlannerNode
    executed: Sequence[ExecutedPlan] = ()
    ranges: Sequence[tuple[int, int]] = ()
    dense: bool = False


@attrs.frozen(eq=False)
class Run:
    """A plan that ran, and its sections.

    Parameters
    ----------
    plan
        The optimized plan.
    trace
        The optimizer's trace.
    result
        A source of the resulting rows.
    sections
        The sections that ran, in order.
    names
        The names of the columns of all nodes.
    """

    plan: PlannerNode
    trace: Trace
    result: PlannerNode
    sections: Sequence[ExecutedSection]
    names: ColumnNames


def report(run: Run) -> list[str]:
    """Return the report as lines; the last line says how many claims were compared and how many disagree."""
    lines: list[str] = []
    findings: list[Finding] = []
    for title, plans, block_findings in blocks(run):
        lines += [title, *[f"    {line}" for plan in plans for line in plan], *[f"  {finding}" for finding in block_findings]]
        findings += block_findings
    wrong = sum(finding.found is not None for finding in findings)
    compared = sum(finding.claimed for finding in findings)
    return [*lines, f"{compared} claims compared: {f'{wrong} DISAGREE' if wrong else 'all agree'}"]


def blocks(run: Run) -> Iterator[tuple[str, list[list[str]], list[Finding]]]:
    """Yield the title, plans and findings for each source that is read, for each section that ran, and for the orders that the plan relied on."""
    for node in postorder([run.plan]):
        if isinstance(node.operator, SegmentSource):
            findings = [*row_findings(node, node, run.names), segment_finding(node.operator)]
            yield f"read: {node.operator_type}[{node.operator.describe()}]", [], findings
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
    """Return plans as lines, each different plan once, with the number of times that it ran."""
    counts = Counter(tuple(plan.lines()) for plan in executed)
    return [[lines[0] + (f" (ran {count} times)" if count > 1 else ""), *lines[1:]] for lines, count in counts.items()]


def section_findings(section: ExecutedSection, names: ColumnNames) -> list[Finding]:
    """Return findings about all claims about a section."""
    rows = section.result.length.rows
    if section.where == QUERY:
        findings = check_query(section.plan, section.executed, rows)
    elif section.where == TASKS:
        findings = [*check_tasks(section.plan, section.executed), *range_findings(section)]
    else:
        ran = len(section.executed)
        findings = [Finding("few rows, computed without Spark", f"Spark ran {ran} queries" if ran else None)]
    findings += [length_finding(section.plan, rows), *row_findings(section.plan, section.result, names)]
    if isinstance(section.result.operator, SegmentSource):
        findings.append(segment_finding(section.result.operator))
    return findings


def length_finding(plan: PlannerNode, rows: int | None) -> Finding:
    """Return a finding about the number of rows."""
    exact, bound = plan.length.rows, plan.length.at_most
    if exact is None and bound is None:
        return Finding("number of rows", claimed=False)
    is_wrong = rows is not None and (rows != exact if exact is not None else bound is not None and rows > bound)
    return Finding(f"at most {bound} rows" if exact is None else f"{exact} rows", f"there are {rows}" if is_wrong else None)


def range_findings(section: ExecutedSection) -> list[Finding]:
    """Return a finding on whether each segment has the rows of one range; an empty list if the number of rows is not known."""
    source = section.result.operator
    base_rows = section.ranges[-1][1] if section.ranges else 0
    if not isinstance(source, SegmentSource) or not section.dense or section.plan.length.rows != base_rows:
        return []
    expected = [stop - start for start, stop in section.ranges]
    actual = [entry.rows for entry in source.manifest.segments]
    problem = None if expected == actual else f"segments of {actual} rows, not {expected}"
    return [Finding(f"{len(expected)} ranges of rows are {len(expected)} segments", problem)]


def segment_finding(source: SegmentSource) -> Finding:
    """Return a finding on whether segments agree with their manifest."""
    problems = check_segments(source)
    count = len(source.manifest.segments)
    return Finding(f"rows, row keys and statistics of segments as recorded ({count} in the dataset)", "; ".join(problems) or None)


def row_findings(plan: PlannerNode, result: PlannerNode, names: ColumnNames) -> list[Finding]:
    """Return findings about all claims about the rows of a plan; claims of one type that hold are one finding."""
    recorded = row_claims(properties_of(result), result.schema) if isinstance(result.operator, SegmentSource) else []
    claims = list(dict.fromkeys([*row_claims(properties_of(plan), plan.schema), *recorded]))
    confirmed: dict[str, list[str]] = {}
    wrong = []
    for checked in check_rows(result, claims):
        claim, subject = claim_in_words(checked.claim, plan, names)
        if checked.row is None:
            confirmed.setdefault(claim, []).append(subject)
        else:
            wrong.append(Finding(f"{claim} {subject}", f"row {checked.row} is the first of which this is not so"))
    agreed = [Finding(f"{claim} {'; '.join(dict.fromkeys(subjects))}") for claim, subjects in confirmed.items()]
    return [*wrong, *agreed] or [Finding("order and values of rows", claimed=False)]


def order_finding(why: str, node: PlannerNode, by: tuple[tuple[int, bool], ...], names: ColumnNames) -> Finding:
    """Return a finding on whether rows are in an order that the plan relies on; the rows are computed for it."""
    with GRAPH_LOCK:
        plan = optimize(node)
    source = plan if is_materialized(plan) else Executor(MaterializeOptions()).execute(plan)
    row = check_rows(source, [InOrder(by)])[0].row
    return Finding(f"{why}: rows in order of {names.order(node, by)}", None if row is None else f"row {row} comes before the row above it")


@attrs.define(eq=False)
class RecordingSectionRunner(SectionRunner):
    """A section runner that records the row ranges of the tasks that it made last."""

    ranges: list[tuple[int, int]] = attrs.Factory(list)

    def tasks_of(self, node: PlannerNode, placement: Placement, workers: TaskRunner, shuffled: int | None = None) -> list[RangeTask]:
        """Return the tasks of a section, and record their row ranges."""
        tasks = super().tasks_of(node, placement, workers, shuffled)
        self.ranges[:] = [(task.start, task.stop) for task in tasks]
        return tasks


@attrs.define(eq=False)
class RecordingExecutor(Executor):
    """An executor that records each section that it runs."""

    sections: list[ExecutedSection] = attrs.Factory(list)
    ranges: list[tuple[int, int]] = attrs.Factory(list)

    def new_section_runner(self, section: Section) -> SectionRunner:
        """Return a section runner that records row ranges."""
        return RecordingSectionRunner(self.options, self.log, self.owned, site=site_of_section(section), ranges=self.ranges)

    def run_as_planned(self, section: Section) -> PlannerNode | ReplanNeeded:
        """Run and record a section; return a source of its rows, or what is to be planned again."""
        self.ranges.clear()
        with recorded_plans() as plans:
            result = super().run_as_planned(section)
        if isinstance(result, PlannerNode) and result.operator.is_source:
            where = QUERY if section.workers is Workers.SPARK else TASKS if section.workers.are_on_spark else DRIVER
            is_over_ranges = section.shape == STREAM and section.workers is not Workers.DRIVER
            is_dense = is_over_ranges and placement_of(section.root).dense
            ranges = tuple(self.ranges) if is_over_ranges else ()
            root = section.root if section.is_observed else in_any_order(section.root)
            self.sections.append(ExecutedSection(where, root, result, plans, ranges, is_dense))
        return result


def require_classic_session() -> None:
    """Check that queries do not go to Spark Connect; no session is started.

    Raises
    ------
    UnsupportedOperationError
        If queries go to a Spark Connect server, which does not report how it ran them.
    """
    session = get_session() if is_started() else active_session()
    remote = "SPARK_REMOTE" in os.environ if session is None else is_remote(session)
    if remote:
        raise UnsupportedOperationError(
            "explain(verify=True) needs a classic Spark session: Spark Connect does not tell which plans it ran. "
            "Use explain(why=True), which runs nothing, or verify the program on a local session"
        )


def verification(node: PlannerNode, names: Sequence[str]) -> list[str]:
    """Run a plan, discard its result, and return a report that compares claims with what ran, as lines.

    Parameters
    ----------
    node
        The node, which is not changed.
    names
        The names of its columns.

    Raises
    ------
    UnsupportedOperationError
        If queries go to a Spark Connect server.
    """
    require_classic_session()
    return run_action(node, partial(_verified, names=names), materialize, discards=True)


def _verified(action: ActionPlan, names: Sequence[str]) -> list[str]:
    plan = action.plan
    executor = RecordingExecutor(MaterializeOptions(), owned=action.owned, run_log=action.run_log)
    result = plan if is_materialized(plan) else executor.execute(plan)
    column_names = ColumnNames.of_plan(plan, names, action.trace, action.graph)
    column_names.add(result, tuple(names))
    for section in reversed(executor.sections):
        # The columns of a section are named after the columns of its readers.
        column_names.add(section.plan, column_names.known.get(id(section.result), ()))
    return report(Run(plan, action.trace, result, executor.sections, column_names))
