"""Checks that a program means the same however it is run: the gate for operators and laws.

Every node of a program is compared with the oracle, not only the last one, and before that a random part of the nodes is
materialised in random order: that is what finds wrong laws. :class:`LawRunner` runs optimized plans in the oracle, so
that laws of all operators are checked without Spark; :class:`EngineRunner` runs the engine itself.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Protocol

import attrs

from sframe_spark.config import config
from sframe_spark.engine.execution.materialize_count_and_read_rows import compute, materialize
from sframe_spark.engine.materialize_options import MaterializeOptions
from sframe_spark.operators.sources.base_and_segment_source import source_of
from sframe_spark.planner.length_and_order_inference import current_facts, properties_of, prove_equal_length
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.optimizer import Optimizer, Trace
from sframe_spark.planner.printed_plans import plan_text, trace_text
from sframe_spark.rewrite_laws import builtin_optimizer
from sframe_spark.testing.oracle import Meaning, Oracle, Rows, rows_of
from sframe_spark.testing.oracle_functions import rows_equal
from sframe_spark.testing.order_claims import false_claims
from sframe_spark.types import KINDS
from tests.random_programs.plans import RandomProgram
from tests.random_tables import table_source

LIST_KINDS = ("list", "array")


class NotEquivalent(AssertionError):
    """A node has different rows or facts than it should."""


class Runner(Protocol):
    """A way of running plans."""

    def run(self, node: PlannerNode) -> tuple[Rows, PlannerNode]:
        """Rows of a node, and its optimized plan; the node is left as it is."""

    def materialize(self, node: PlannerNode) -> None:
        """Run a node and splice the result into its place."""

    def explain(self, node: PlannerNode) -> str:
        """What the runner does for a node, as text for a report."""


@attrs.frozen(eq=False)
class LawRunner:
    """Optimizes plans and runs them in the oracle: checks the laws and nothing else.

    Parameters
    ----------
    optimizer
        The laws to check.
    meanings
        Meanings of operators that the oracle does not know.
    settled
        Check too that no law fires on an optimized plan.

    Examples
    --------
    >>> from tests.random_programs.plans import random_program
    >>> check_program(random_program(random.Random(3)), LawRunner(), random.Random(4))
    """

    optimizer: Optimizer = attrs.Factory(builtin_optimizer)
    meanings: Mapping[str, Meaning] = attrs.Factory(dict)
    settled: bool = True

    def run(self, node: PlannerNode) -> tuple[Rows, PlannerNode]:
        """Rows of the optimized plan, which must be one that the laws leave alone."""
        plan = self.optimizer.optimize(node)
        if self.settled:
            check_settled(plan, self.optimizer)
        return Oracle(self.meanings).rows(plan), plan

    def materialize(self, node: PlannerNode) -> None:
        """Splice a source of the optimized plan's rows."""
        rows, _ = self.run(node)
        columns = [list(column) for column in zip(*rows, strict=True)] or [[] for _ in node.schema]
        node.splice(table_source(columns, node.schema, len(rows)))

    def explain(self, node: PlannerNode) -> str:
        """The optimized plan, and the first stage after which the rows differ."""
        return explain_laws(node, self.optimizer, self.meanings)


@attrs.frozen(eq=False)
class EngineRunner:
    """Runs plans as users' programs are run.

    Parameters
    ----------
    options
        Options of every materialisation.
    """

    options: MaterializeOptions = attrs.Factory(MaterializeOptions)

    def rows(self, node: PlannerNode) -> Rows:
        """Rows of the executed plan."""
        source = compute(node, self.options)
        chunk = source_of(source).read_all()
        if chunk.rows != source.length.rows:
            raise NotEquivalent(f"a source of {source.length.rows} rows gave {chunk.rows}")
        return rows_of(chunk.columns, node.schema) if node.schema else [()] * chunk.rows

    def run(self, node: PlannerNode) -> tuple[Rows, PlannerNode]:
        """Rows of the executed plan, and the plan."""
        return self.rows(node), builtin_optimizer().optimize(node)

    def materialize(self, node: PlannerNode) -> None:
        """Execute and splice."""
        materialize(node, self.options)

    def explain(self, node: PlannerNode) -> str:
        """The optimized plan, and the first stage after which the rows differ in the oracle."""
        return explain_laws(node, builtin_optimizer(), {})


@attrs.frozen(eq=False)
class AnyPathRunner(EngineRunner):
    """Runs each plan in one of the ways that the engine has, chosen at random: what one has made is what another reads.

    Parameters
    ----------
    choose
        Randomness.

    Examples
    --------
    >>> from tests.random_programs.plans import random_program
    >>> check_program(random_program(random.Random(5)), AnyPathRunner(random.Random(6), ways=("few rows",)), random.Random(7))
    """

    options: MaterializeOptions = attrs.field(factory=MaterializeOptions, init=False)
    choose: random.Random
    ways: Sequence[str] = ("few rows", "threads", "little memory", "spark")

    def rows(self, node: PlannerNode) -> Rows:
        """Rows of the executed plan."""
        with self._on_some_way() as options:
            return EngineRunner(options).rows(node)

    def materialize(self, node: PlannerNode) -> None:
        """Execute and splice."""
        with self._on_some_way() as options:
            materialize(node, options)

    @contextmanager
    def _on_some_way(self) -> Iterator[MaterializeOptions]:
        way, batch_rows = self.choose.choice(self.ways), self.choose.choice((1, 2, 3, 100))
        options = MaterializeOptions(segments=self.choose.choice((1, 2, 7)), in_memory=self.choose.choice((0, 3, 100_000)))
        few = {"few rows": config.small_rows, "spark": 0}.get(way, self.choose.choice((1, 2, 5)))
        room = self.choose.choice((0, 300, 2_000, 20_000)) if way == "little memory" else None
        single = 0 if way == "spark" else config.single_task_rows
        with config.using(small_rows=few, batch_rows=batch_rows, work_memory=room, single_task_rows=single):
            yield options


@contextmanager
def spark_layout(partitions: int, adaptive: bool) -> Iterator[MaterializeOptions]:
    """Run everything on Spark in the block, on this many partitions, segments and shuffle partitions.

    Parameters
    ----------
    partitions
        Partitions of sources and after exchanges, and row ranges of segment tasks.
    adaptive
        Whether Spark replans queries as they run (AQE).

    Examples
    --------
    >>> with spark_layout(7, adaptive=True) as options:  # doctest: +SKIP
    ...     check_program(program, EngineRunner(options))
    """
    from sframe_spark.session import get_session

    session = get_session()
    wanted = {
        "spark.sql.shuffle.partitions": str(partitions),
        "spark.sql.leafNodeDefaultParallelism": str(partitions),
        "spark.sql.files.minPartitionNum": str(partitions),
        "spark.sql.adaptive.enabled": str(adaptive).lower(),
    }
    before = {key: session.conf.get(key, None) for key in wanted}
    try:
        for key, value in wanted.items():
            session.conf.set(key, value)
        with config.using(small_rows=0, single_task_rows=0):
            yield MaterializeOptions(segments=partitions)
    finally:
        for key, old in before.items():
            if old is None:
                session.conf.unset(key)
            else:
                session.conf.set(key, old)


def explain_laws(node: PlannerNode, optimizer: Optimizer, meanings: Mapping[str, Meaning]) -> str:
    """The optimized plan with its laws, and the first stage after which the oracle gives other rows."""
    trace = Trace()
    plan = optimizer.optimize(node, trace=trace)
    expected = Oracle(meanings).rows(node)
    wrong = [name for name, after in trace.stages.items() if not rows_equal(Oracle(meanings).rows(after), expected)]
    where = f"rows differ after stage {wrong[0]!r}" if wrong else "by the oracle the optimized plan is right: look at the execution"
    return f"plan:\n{plan_text(node)}\noptimized:\n{plan_text(plan)}\nlaws:\n{trace_text(trace)}\n{where}"


def random_history(count: int, choose: random.Random) -> list[int]:
    """Some of the nodes by number, in random order: those that somebody looked at first."""
    return choose.sample(range(count), choose.randint(0, count))


def node_as_it_ran(program: RandomProgram, runner: Runner, history: Sequence[int], place: int) -> PlannerNode:
    """A node of a copy of the program, in the state in which the history found it."""
    again = program.copy()
    for number in history:
        if number == place:
            break
        runner.materialize(again.nodes[number])
    return again.nodes[place]


def check_program(program: RandomProgram, runner: Runner, history: random.Random | None = None) -> None:
    """Check every node of a program, after a random history if one is given; the program itself is not changed.

    Raises
    ------
    NotEquivalent
        If a node has other rows than the oracle says, or claims what is not true.
    """
    # Bounds that were found in a result hold for its floats to the last digit, not for the oracle's.
    check_facts(*check_rows(program, runner, history))


def check_rows(program: RandomProgram, runner: Runner, history: random.Random | None = None) -> tuple[RandomProgram, list[PlannerNode]]:
    """Check the rows of every node, after a random history if one is given; the program as it was run, with the rows found, and the plans.

    Raises
    ------
    NotEquivalent
        If a node has other rows than the oracle says.
    """
    original, program = program, program.copy()
    done = [] if history is None else random_history(len(program.nodes), history)
    for number in done:
        runner.materialize(program.nodes[number])
    rows: list[Rows] = []
    plans: list[PlannerNode] = []
    for place, (node, expected) in enumerate(zip(program.nodes, program.expected, strict=True)):
        found, plan = runner.run(node)
        rows.append(found)
        plans.append(plan)
        if not rows_equal(found, expected):
            raise NotEquivalent(
                f"node {place} of {len(program.nodes)}, after materialising nodes {done}:\n"
                f"found    {found}\nexpected {expected}\n{runner.explain(node_as_it_ran(original, runner, done, place))}"
            )
    return RandomProgram(program.nodes, tuple(rows)), plans


def check_facts(program: RandomProgram, plans: Sequence[PlannerNode] | None = None) -> None:
    """Check what the nodes of a program claim against the rows they have: types, row counts, bounds, equal lengths.

    Parameters
    ----------
    program
        The nodes and their rows.
    plans
        Optimized plans of the nodes, whose claims are checked too; made here when not given.

    Raises
    ------
    NotEquivalent
        If a claim is false.
    """
    for place, (node, rows) in enumerate(zip(program.nodes, program.expected, strict=True)):
        check_types(node, rows)
        for plan in (node, builtin_optimizer().optimize(node) if plans is None else plans[place]):
            wrong_claims = false_claims(properties_of(plan), rows)
            if wrong_claims:
                raise NotEquivalent(f"{node} claims more than is true: {'; '.join(wrong_claims)}\nrows {rows}\nplan:\n{plan_text(plan)}")
        for facts in (node.facts, current_facts(node)):
            length = facts.length
            wrong = (length.rows is not None and length.rows != len(rows)) or (length.at_most is not None and length.at_most < len(rows))
            if wrong:
                raise NotEquivalent(f"{node} claims {length} rows and has {len(rows)}")
    check_equal_lengths(program)


def check_equal_lengths(program: RandomProgram) -> None:
    """Check for every two nodes whether they have equally many rows, where the planner claims to know it.

    Raises
    ------
    NotEquivalent
        If a claim is false.
    """
    counts = [len(rows) for rows in program.expected]
    for place, node in enumerate(program.nodes):
        for other, count in zip(program.nodes[:place], counts, strict=False):
            claim = prove_equal_length(node, other)
            if claim is not None and claim != (counts[place] == count):
                raise NotEquivalent(f"{node} and {other} are said to have {'equal' if claim else 'different'} lengths: {counts[place]}, {count}")


def check_types(node: PlannerNode, rows: Rows) -> None:
    """Check that every value is of its column's class.

    Raises
    ------
    NotEquivalent
        If one is not.
    """
    for row in rows:
        for value, column_type in zip(row, node.schema, strict=True):
            wanted = list if column_type.kind in LIST_KINDS else KINDS[column_type.kind].python_class
            if value is not None and type(value) is not wanted:
                raise NotEquivalent(f"{node} claims a column of {column_type} that holds {value!r}")


def check_settled(plan: PlannerNode, optimizer: Optimizer) -> None:
    """Check that optimizing an optimized plan changes nothing.

    Raises
    ------
    NotEquivalent
        If a law still fires.
    """
    trace = Trace()
    again = optimizer.optimize(plan, trace=trace)
    if trace.firings or again is not plan:
        raise NotEquivalent(f"laws fire on an optimized plan:\n{trace_text(trace)}\nbefore:\n{plan_text(plan)}\nafter:\n{plan_text(again)}")


__all__ = [
    "EngineRunner",
    "LawRunner",
    "NotEquivalent",
    "Runner",
    "check_equal_lengths",
    "check_facts",
    "check_program",
    "check_rows",
    "check_settled",
    "check_types",
    "random_history",
    "spark_layout",
]
