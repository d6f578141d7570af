"""The contract kit for operators: checks on examples that what an operator declares about itself is true.

An example is a node whose inputs are sources. Without Spark, :func:`check_operator` checks that the operator is a value that pickles, that
inferred types, lengths and order agree with the rows, that any division into row ranges gives the same rows, that its capabilities do, and that the
order of input rows does not matter where the operator declares so. :func:`check_lowering` checks on Spark that the lowering has the inferred types, a
total order, true claims and the kernel's rows, and gives the same rows in the same order with 1 and 7 partitions (and 2, if a source has at most 7
rows).
A package of operators needs one test::

    @pytest.mark.parametrize("example", EXAMPLES, ids=str)
    def test_contract(example):
        check_contract(example)

    def test_every_operator_has_an_example():
        assert operators_without_examples("my_package", EXAMPLES) == []
"""

from __future__ import annotations

import array
import math
import pickle
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.compute.range_and_hash_partitioning import KINDS, HashPartitioner, RangePartitioner
from sframe_spark.compute.spark_columns import spark_type
from sframe_spark.engine.physical.placement_and_blocking_inputs import Placement, placement_over
from sframe_spark.engine.runtime.pipeline import Pipeline, PipelineRunner, combine_states
from sframe_spark.engine.runtime.row_range_tasks_and_sequential_states import combined_parts, summarize
from sframe_spark.engine.shapes.count_matches import with_known_rows
from sframe_spark.engine.spark import query
from sframe_spark.errors import ContractBroken, PlanInvariantError
from sframe_spark.operators.lookup.cached_reader import Lookup
from sframe_spark.operators.sources.base_and_segment_source import Source, source_of
from sframe_spark.operators.sources.in_memory import MemorySource
from sframe_spark.planner.chunk import Chunk, concatenate
from sframe_spark.planner.graph_traversal import fold
from sframe_spark.planner.length_and_order_inference import properties_of
from sframe_spark.planner.node import PlannerNode, domain_of
from sframe_spark.planner.node_facts import Facts, Length, Schema
from sframe_spark.planner.operator import ALL_ROWS, DecomposableOperator, Need, Operator, SequentialOperator
from sframe_spark.planner.operator_capabilities import match_counting_of, operator_for_few_rows, range_split_of
from sframe_spark.planner.operator_declarations import RowChoice
from sframe_spark.planner.operator_parameters import operator_parameters
from sframe_spark.planner.registry import planner_node_name_to_type, registered_names
from sframe_spark.planner.spark_relation import LoweringContext, Relation
from sframe_spark.session import QuerySize, get_session
from sframe_spark.session.spark_versions import to_arrow
from sframe_spark.session.users_own_spark_session import keeping_active
from sframe_spark.testing.order_claims import false_claims
from sframe_spark.types import INT
from sframe_spark.values.arrow_to_python import decode_columns

Rows = list[tuple[Any, ...]]

PARTITIONS = (1, 2, 7)
"""Numbers of row ranges and of Spark partitions that must all give the same rows."""

# Spark adds floats in a different order than Arrow.
RELATIVE_TOLERANCE = 1e-9
ABSOLUTE_TOLERANCE = 1e-12


@attrs.frozen(eq=False)
class Example:
    """An example of an operator: one node over sources.

    Parameters
    ----------
    operator
        Registered name of the operator.
    title
        What the example shows.
    build
        Makes a new node.
    needs_spark
        Whether building the node starts Spark.

    Examples
    --------
    >>> from sframe_spark.operators.sources.in_memory import range_source
    >>> str(Example("range_source", "three numbers", lambda: range_source(0, 3)))
    'range_source -- three numbers'
    """

    operator: str
    title: str
    build: Callable[[], PlannerNode]
    needs_spark: bool = False

    def node(self) -> PlannerNode:
        """Build the node; raise if its operator is not the one that the example is about."""
        node = self.build()
        demand(node.operator_type == self.operator, node, "the example's last operator is the one it is about", str(self))
        return node

    def __str__(self) -> str:
        return f"{self.operator} -- {self.title}"


def demand(holds: bool, node: PlannerNode, rule: str, found: str) -> None:
    """Raise :class:`ContractBroken` unless a rule holds."""
    if not holds:
        raise ContractBroken(node, rule, found)


def rows_of(chunk: Chunk, schema: Schema) -> Rows:
    """Return the rows of a chunk as tuples of Python values; empty tuples if it has no columns."""
    if not schema:
        return [()] * chunk.rows
    return list(zip(*decode_columns(chunk.columns, schema), strict=True))


def multiset(rows: Rows) -> Rows:
    """Return the rows sorted by their ``repr``, for comparison without regard to order."""
    return sorted(rows, key=repr)


def same_rows(first: Sequence[Any], second: Sequence[Any]) -> bool:
    """Return whether two lists of rows, or two other sequences, are equal item by item, floats up to rounding."""
    return len(first) == len(second) and all(same_value(a, b) for a, b in zip(first, second, strict=True))


def same_value(first: Any, second: Any) -> bool:
    """Return whether two values have the same class and are equal; NaN equals NaN, floats may differ by rounding.

    Examples
    --------
    >>> same_value(0.1 + 0.2, 0.3), same_value(1, 1.0), same_value([None, float("nan")], [None, float("nan")])
    (True, False, True)
    """
    if type(first) is not type(second):
        return False
    if isinstance(first, float):
        if math.isnan(first) or math.isnan(second):
            return math.isnan(first) and math.isnan(second)
        return math.isclose(first, second, rel_tol=RELATIVE_TOLERANCE, abs_tol=ABSOLUTE_TOLERANCE)
    if isinstance(first, (list, tuple, array.array)):
        return same_rows(first, second)
    if isinstance(first, dict):
        return first.keys() == second.keys() and all(same_value(value, second[key]) for key, value in first.items())
    return bool(first == second)


# Checks of kernels: on all rows, on ranges of rows, on no rows, and on rows in another order.

BATCH_ROWS = 3
"""Rows per kernel call: fewer than in a range, so that ranges are divided into batches too."""


def runs_as_kernel(node: PlannerNode) -> bool:
    """Return whether an operator has an Arrow implementation, even if only over whole columns, as reductions have."""
    return node.operator.has_kernel or node.operator.whole_kernel is not None


def check_kernel(node: PlannerNode) -> Rows:
    """Check that a kernel returns the inferred types and, if the operator is deterministic, the same rows twice; return the rows.

    Raises
    ------
    ContractBroken
        If it does not.
    """
    chunk = run_kernel(node)
    check_types(node, chunk, "the kernel")
    rows = rows_of(chunk, node.schema)
    if node.operator.deterministic:
        again = kernel_rows(node)
        demand(same_rows(again, rows), node, "a deterministic operator gives the same rows twice", f"{rows}\nthen {again}")
    return rows


def check_ranges(node: PlannerNode, rows: Rows) -> None:
    """Check that the rows are the same however they are divided into row ranges, and that inputs without rows work.

    Raises
    ------
    ContractBroken
        If a division gives other rows.
    """
    if not node.operator.has_kernel:
        return
    for count in PARTITIONS:
        found = rows_of(run_ranges(node, count), node.schema)
        demand(same_rows(found, rows), node, f"{count} row range(s) give the rows of one kernel call", f"{rows}\nbut {found}")
    if node.inputs:
        empty = node.with_inputs([_in_memory(Chunk.empty(child.schema), child) for child in node.inputs])
        empty_rows = run_ranges(empty, 1).rows
        demand(empty.length.rows in (None, empty_rows), node, "the length inferred for no rows is right", f"{empty.length}, but {empty_rows} rows")


def check_parts(node: PlannerNode, rows: Rows) -> None:
    """Check that partial states of row ranges, computed in small batches and pickled, combine to the result for all rows.

    Raises
    ------
    ContractBroken
        If a division gives other rows.
    """
    operator, facts = node.operator, [child.facts for child in node.inputs]
    if not isinstance(operator, DecomposableOperator) or not operator.decomposes(facts):
        return
    chunk = read_all(node.inputs[0])
    for count in PARTITIONS:
        bounds = [chunk.rows * number // count for number in range(count + 1)]
        batches = [chunk.slice(start, stop) for first, last in pairwise(bounds) for start, stop in batch_bounds(first, last)]
        parts = [pickle.loads(pickle.dumps(operator.part_of(batch, facts))) for batch in batches]
        combined = operator.rows_from(combined_parts(operator, parts, facts), facts)
        check_types(node, combined, "what is made of parts")
        found = rows_of(combined, node.schema)
        demand(same_rows(found, rows), node, f"parts of {count} row range(s) give the rows of the whole", f"{rows}\nbut {found}")


def check_split(node: PlannerNode, rows: Rows) -> None:
    """Check that an operator whose kernel may be split by ranges of a column gives the same rows if its kernel runs once for each range.

    Raises
    ------
    ContractBroken
        If a division gives other rows.
    """
    split = range_split_of(node.operator)
    if split is None or node.inputs[0].schema[split.column].kind not in KINDS:
        return
    position, below, facts = split.column, read_all(node.inputs[0]), [child.facts for child in node.inputs]
    for count in PARTITIONS:
        ranges = RangePartitioner.of(below.columns[position], node.inputs[0].schema[position], split.ascending, count)
        numbers = ranges.range_numbers(below.columns[position])
        inputs = [below.rows_at(np.flatnonzero(numbers == number)) for number in range(ranges.count)]
        passed = ranges.have_one_value & split.leaves_equal_rows
        parts = [rows_of_range if passed[number] else node.operator.kernel([rows_of_range], facts) for number, rows_of_range in enumerate(inputs)]
        found = rows_of(concatenate(parts, node.schema), node.schema)[: split.first_rows]
        demand(same_rows(found, rows), node, f"{ranges.count} range(s) of values give the rows of one kernel call", f"{rows}\nbut {found}")


def check_few_rows(node: PlannerNode, rows: Rows) -> None:
    """Check that the operator that takes the place of an operator for few rows gives the same rows.

    Raises
    ------
    ContractBroken
        If it does not.
    """
    few = operator_for_few_rows(node.operator)
    if few is not None:
        found = kernel_rows(few.make_planner_node(*node.inputs))
        demand(same_rows(found, rows), node, f"the operator for few rows, {few.name}, gives the same rows", f"{rows}\nbut {found}")


def check_hash_partitions(node: PlannerNode, rows: Rows) -> None:
    """Check that a join gives the same rows if hash partitions of its inputs are joined one by one, and rows put in order by their row ids.

    Raises
    ------
    ContractBroken
        If it does not.
    """
    joining = node.operator.joining
    join = None if joining is None else joining.by_partitions
    if joining is None or join is None:
        return
    count, sides, schemas = PARTITIONS[-1], [], []
    for slot, child in enumerate(node.inputs):
        keys, below, schema = tuple(pair[slot][1] for pair in joining.keys), read_all(child), child.schema
        numbers = HashPartitioner(keys, tuple(schema[key] for key in keys), count).partition_numbers(below)
        if slot in join.numbered_slots:
            below, schema = Chunk((*below.columns, pa.array(np.arange(below.rows))), below.rows), (*schema, INT)
        sides.append([below.rows_at(np.flatnonzero(numbers == number)) for number in range(count)])
        schemas.append(schema)
    parts = list[Chunk]()
    for inputs in zip(*sides, strict=True):
        facts = [Facts(schema, Length.exactly(chunk.rows)) for chunk, schema in zip(inputs, schemas, strict=True)]
        parts += join.pairs(inputs, facts).chunks(1)
    joined = concatenate(parts, (*node.schema, INT))
    found = rows_of(joined.rows_at(np.argsort(joined.columns[-1].to_numpy(), kind="stable")).select(range(len(node.schema))), node.schema)
    demand(same_rows(found, rows), node, "hash partitions give the rows of the whole", f"{rows}\nbut {found}")


def check_matches(node: PlannerNode, rows: Rows) -> None:
    """Check that the matches of each batch of the first input are as many as counted, and that a part of them is the same rows.

    Raises
    ------
    ContractBroken
        If they are not.
    """
    counting = match_counting_of(node.operator)
    if counting is None:
        return
    left, lookup, facts, parts = read_all(node.inputs[0]), Lookup.of(source_of(node.inputs[1])), [child.facts for child in node.inputs], []
    for start, stop in batch_bounds(0, left.rows):
        inputs = [left.slice(start, stop), lookup]
        count = counting.count(inputs, facts)
        parts += [counting.rows_between(inputs, facts, first, last, ALL_ROWS) for first, last in pairwise((0, count // 2, count))]
    found = rows_of(concatenate([part for part in parts if part is not None], node.schema), node.schema)
    demand(same_rows(found, rows), node, "matches that are counted are the rows", f"{rows}\nbut {found}")


def batch_bounds(first: int, last: int) -> list[tuple[int, int]]:
    """Return the bounds of the batches of a range of rows; one empty batch if the range is empty."""
    return [(start, min(start + BATCH_ROWS, last)) for start in range(first, last, BATCH_ROWS)] or [(first, first)]


def run_kernel(node: PlannerNode) -> Chunk:
    """Return all rows of a node whose inputs are sources, from one kernel call, or from one read if the node is a source."""
    operator = node.operator
    if isinstance(operator, Source):
        return operator.read_all()
    return operator.kernel([read_all(child) for child in node.inputs], [child.facts for child in node.inputs])


def kernel_rows(node: PlannerNode) -> Rows:
    """Return all rows of a node whose inputs are sources, from one kernel call, as tuples of Python values."""
    return rows_of(run_kernel(node), node.schema)


def read_all(node: PlannerNode) -> Chunk:
    """Return all rows of a source."""
    return source_of(node).read_all()


def run_ranges(node: PlannerNode, count: int) -> Chunk:
    """Return the rows of a node, computed in ``count`` row ranges, each in small batches, as the engine's tasks do."""
    node = node if node.operator.counting is None else with_known_rows(node)
    plan = Pipeline.of(node)
    placements: dict[int, Placement | None] = fold([node], lambda node, inputs: placement_over(node, [item for item in inputs if item is not None]))
    placement = placements[id(node)]
    assert placement is not None
    bounds = [placement.rows_to_run * number // count for number in range(count + 1)]
    states: dict[int, Any] = {index: _sequential(plan, index).initial_state(plan.input_facts(index)) for index in plan.sequential_indices()}
    parts = []
    for number, (start, stop) in enumerate(pairwise(bounds), start=1):
        try:
            parts += list(PipelineRunner(plan, states).stream(start, stop, BATCH_ROWS, final=number == count))
        except PlanInvariantError as error:
            demand(False, node, "a row range gives the inferred types", str(error))
        before = dict(states)
        for index, state in before.items():
            operator = _sequential(plan, index)
            states[index] = combine_states(operator, operator.combine, (state, summarize(plan, index, before, start, stop, BATCH_ROWS)))
    return concatenate(parts, node.schema)


def _sequential(plan: Pipeline, index: int) -> SequentialOperator:
    operator = plan.operators[index]
    assert isinstance(operator, SequentialOperator)
    return operator


def check_types(node: PlannerNode, chunk: Chunk, what: str) -> None:
    """Check that columns have the inferred types and lengths.

    Raises
    ------
    ContractBroken
        If they do not.
    """
    found = [column.type for column in chunk.columns]
    expected = [column_type.physical for column_type in node.schema]
    same = len(found) == len(expected) and all(a.equals(b) for a, b in zip(found, expected, strict=True))
    demand(same, node, f"{what} gives the inferred types", f"{list(map(str, found))} for {list(map(str, node.schema))}")
    lengths = {len(column) for column in chunk.columns} | {chunk.rows}
    demand(len(lengths) == 1, node, f"{what} gives columns of one length", str(sorted(lengths)))


def reordered(node: PlannerNode, slot: int) -> PlannerNode:
    """Return the node with the rows of one input in reverse order."""
    child, chunk = node.inputs[slot], read_all(node.inputs[slot])
    turned = _in_memory(chunk.rows_at(pa.array(range(chunk.rows - 1, -1, -1), pa.int64())), child)
    return node.with_inputs([turned if index == slot else other for index, other in enumerate(node.inputs)])


def _in_memory(chunk: Chunk, like: PlannerNode) -> PlannerNode:
    return MemorySource.of(chunk, like.schema).make_planner_node()


# Checks of Spark lowerings, on rows that are scattered among partitions.


def check_partitions(node: PlannerNode) -> Rows:
    """Check the types, claims, order and rows of a lowering with several numbers of partitions; return the rows.

    Raises
    ------
    ContractBroken
        If the lowering does not do what the operator declares.
    """
    counts = partitions_for(node)
    results = [run_lowering(node, count) for count in counts]
    for count, found in zip(counts, results, strict=True):
        ordered = has_order(node, found)
        same = same_rows(found, results[0]) if ordered else same_rows(multiset(found), multiset(results[0]))
        demand(same, node, f"{count} partition(s) give the rows of one", f"{results[0]}\nbut {found}")
    return results[0]


def partitions_for(node: PlannerNode) -> tuple[int, ...]:
    """Return the numbers of partitions to try: 1 and 7; also 2 if a source has at most 7 rows, because 7 partitions may then have one row each."""
    known = [source.length.rows for source in node.inputs or (node,)]
    scarce = any(rows is None or rows <= PARTITIONS[-1] for rows in known)
    return PARTITIONS if scarce else (PARTITIONS[0], PARTITIONS[-1])


def has_order(node: PlannerNode, rows: Rows) -> bool:
    """Return whether a node's rows have a defined order. They have none if there are several, and the node is a leaf whose rows are not numbered."""
    return bool(node.inputs) or node.operator.is_source or len(rows) <= 1


def run_lowering(node: PlannerNode, partitions: int) -> Rows:
    """Return the rows of a node's lowering over scattered sources, after a check of its claims."""
    relation = lower_scattered(node, partitions)
    return check_rows(node, relation, collect(node, relation))


def collect(node: PlannerNode, relation: Relation) -> pa.Table:
    """Compute the visible and hidden columns of a relation on Spark; return them in the order of the relation."""
    ordered = relation.df.orderBy(*relation.order()) if relation.key else relation.df
    selected = ordered.select(*relation.columns, *relation.hidden)
    return query.run_spark(lambda: to_arrow(selected), f"checking {node.operator_type}")


def check_rows(node: PlannerNode, relation: Relation, table: pa.Table) -> Rows:
    """Check what a relation claims about its rows; return the rows.

    Raises
    ------
    ContractBroken
        If a claim is false.
    """
    chunk = query.from_spark_table(table.select(relation.columns), node.schema)
    hidden = {name: table.column(name).to_pylist() for name in relation.hidden}
    rows = rows_of(attrs.evolve(chunk, rows=table.num_rows), node.schema)
    check_key(node, relation, hidden, len(rows))
    for position in relation.not_missing:
        claimed = [row[position] for row in rows]
        demand(None not in claimed, node, f"column {position} misses no value, since not_missing says so", str(claimed))
    return rows


def lower_scattered(node: PlannerNode, partitions: int) -> Relation:
    """Lower a plan to one Spark query whose sources are spread over partitions without regard to row order.

    With one partition, the query runs as the engine runs small queries: in the session for small queries, without exchanges. The types and
    column names of the result are checked.
    """
    spark = get_session(QuerySize.SMALL if partitions == 1 else QuerySize.DEFAULT)
    context = LoweringContext(spark)

    def lower_node(current: PlannerNode, inputs: list[Relation]) -> Relation:
        relation = current.operator.plan_to_operator(inputs, context)
        if partitions == 1 and (not current.inputs or current.operator_type == "append"):
            return query.in_one_task(relation)
        return relation if current.inputs else scattered(relation, partitions)

    with keeping_active(spark):
        lowered = fold([node], lower_node)[id(node)]
    check_shape(node, lowered)
    return lowered


def scattered(relation: Relation, partitions: int) -> Relation:
    """Return the relation with its rows partitioned by a hash of their keys."""
    keys = [relation.df[column.name] for column in relation.key]
    return attrs.evolve(relation, df=relation.df.repartition(partitions, *keys))


def check_shape(node: PlannerNode, relation: Relation) -> None:
    """Check that a relation has the inferred types, and the engine's column names.

    Raises
    ------
    ContractBroken
        If it has other types, or lacks columns.
    """
    demand(relation.schema == node.schema, node, "the lowering states the inferred types", f"{relation.schema} for {node.schema}")
    missing = [name for name in (*relation.columns, *relation.hidden) if name not in relation.df.columns]
    demand(not missing, node, "the lowering has all its columns and keys", f"{missing} not in {relation.df.columns}")
    types = ([relation.df.schema[name].dataType.simpleString() for name in relation.columns], map(spark_type, node.schema))
    # Spark writes these names of types in several ways.
    found, expected = ([text.replace("integer", "int").replace(" ", "") for text in texts] for texts in types)
    demand(found == expected, node, "the lowering gives the inferred types", f"{found} for {expected}")


def check_key(node: PlannerNode, relation: Relation, hidden: dict[str, list[Any]], count: int) -> None:
    """Check that the key orders all rows and that the position, if there is one, is the row number from zero.

    Raises
    ------
    ContractBroken
        If two rows have the same key, or the position is not the row number.
    """
    if not relation.key:
        demand(not node.inputs or count <= 1, node, "rows have a key", f"{count} rows without one")
        return
    keys: Sequence[tuple[Any, ...]] = list(zip(*[map(repr, hidden[column.name]) for column in relation.key], strict=True))
    demand(len(set(keys)) == count, node, "the key orders all rows: no two have the same", str(sorted(keys)))
    if relation.position is not None:
        numbers = hidden[relation.position]
        demand(numbers == list(range(count)), node, "the position numbers the rows in order", str(numbers))


def check_contract(example: Example) -> None:
    """Check all that an operator declares on an example, with Spark and without.

    Raises
    ------
    ContractBroken
        If the operator does not do what it declares; the message names the operator, the example and the rule.
    """
    check_operator(example)
    check_lowering(example)


def check_operator(example: Example) -> None:
    """Check all that does not need Spark: pickling and equality, inference, and the kernel on any ranges of rows.

    Raises
    ------
    ContractBroken
        If the operator does not do what it declares.

    Examples
    --------
    >>> from sframe_spark.operators.row_selection import slice_rows
    >>> from sframe_spark.operators.sources.in_memory import range_source
    >>> check_operator(Example("slice", "every other row", lambda: slice_rows(range_source(0, 9), 1, 8, 2)))
    """
    node = example.node()
    check_value(node)
    for child in node.inputs:
        # So that any failure is due to the example's operator.
        demand(child.operator.is_source, node, "an example's inputs are sources", child.operator_type)
    if not runs_as_kernel(node):
        few = operator_for_few_rows(node.operator)
        if few is not None:
            check_hash_partitions(node, kernel_rows(few.make_planner_node(*node.inputs)))
        return
    rows = check_kernel(node)
    check_facts(node, len(rows))
    check_claims(node, rows)
    check_row_choice(node, rows)
    check_ranges(node, rows)
    check_parts(node, rows)
    check_split(node, rows)
    check_few_rows(node, rows)
    check_hash_partitions(node, rows)
    check_matches(node, rows)
    check_order_needs(node, rows, kernel_rows)


def check_lowering(example: Example) -> None:
    """Check the Spark lowering: types, order, claims, rows, and that the number of partitions does not matter.

    Raises
    ------
    ContractBroken
        If the operator does not do what it declares.
    """
    node = example.node()
    rows = check_partitions(node)
    check_parts(node, rows)
    if runs_as_kernel(node):
        found = kernel_rows(node)
        demand(same_rows(found, rows), node, "kernel and Spark lowering give the same rows", f"kernel {found}\nSpark  {rows}")
    else:
        check_facts(node, len(rows))
        check_claims(node, rows)
        check_few_rows(node, rows)
        check_order_needs(node, rows, lambda reordered: run_lowering(reordered, PARTITIONS[1]))


def check_value(node: PlannerNode) -> None:
    """Check that an operator is registered, hashable, equal to its copy, can be pickled, and describes itself in one line.

    Raises
    ------
    ContractBroken
        If one of these is not the case.
    """
    operator = node.operator
    demand(is_registered(operator), node, "the class is registered under its name", operator.name)
    copy = attrs.evolve(operator)
    demand(copy == operator, node, "a copy is equal", repr(copy))
    try:
        same = hash(copy) == hash(operator)
    except TypeError:
        same = False
    demand(same, node, "a copy has the same hash", repr(operator))
    text = operator.describe()
    demand(isinstance(text, str) and "\n" not in text, node, "describe() is one line", repr(text))
    demand(set(node.operator_parameters).isdisjoint(node.any_operator_parameters), node, "a parameter is portable or is not", "")
    check_pickle(node)


def check_pickle(node: PlannerNode) -> None:
    """Check that an operator can be pickled, unless it has no kernel and has a parameter that is not portable, such as a live DataFrame.

    Raises
    ------
    ContractBroken
        If it cannot be pickled, or is changed by pickling.
    """
    operator = node.operator
    if node.any_operator_parameters and not operator.has_kernel:
        return
    try:
        copy = pickle.loads(pickle.dumps(operator))
    except Exception as error:
        raise ContractBroken(node, "the value pickles", repr(error)) from error
    demand(type(copy) is type(operator), node, "a pickled value keeps its class", repr(copy))
    demand(operator_parameters(copy, portable=True) == node.operator_parameters, node, "a pickled value keeps its parameters", repr(copy))
    facts = [child.facts for child in node.inputs]
    demand(tuple(copy.infer_type(facts)) == node.schema, node, "a pickled value infers the same types", repr(copy))


def check_facts(node: PlannerNode, count: int) -> None:
    """Check the inferred lengths against the number of rows, both with known and with unknown lengths of the inputs.

    Raises
    ------
    ContractBroken
        If a claim is false.
    """
    demand(node.length.rows in (None, count), node, "the inferred length is the number of rows", f"{node.length}, but {count} rows")
    check_bound(node, node.length, count)
    bounded = [unknown_length(child, child.length.rows) for child in node.inputs]
    check_bound(node, node.operator.infer_length(bounded), count)
    facts = [unknown_length(child, None) for child in node.inputs]
    length, domain = node.operator.infer_length(facts), domain_of(node.operator, facts)
    check_bound(node, length, count)
    demand(length.rows in (None, count), node, "the length inferred from unknown lengths is right", f"{length}, but {count} rows")
    for child, known in zip(node.inputs, facts, strict=True):
        equal = length.provably_equals(known.length) is True or domain is known.domain
        demand(not equal or child.length.rows == count, node, "inputs said to have as many rows have as many", f"{child.length} and {count}")


def check_claims(node: PlannerNode, rows: Rows) -> None:
    """Check what the operator infers about order, keys and values against the rows.

    Raises
    ------
    ContractBroken
        If a claim is false.
    """
    wrong = false_claims(properties_of(node), rows)
    demand(not wrong, node, "what infer_properties() claims is true", f"{'; '.join(wrong)}\nrows {rows}")


def check_row_choice(node: PlannerNode, rows: Rows) -> None:
    """Check that output rows are the input rows that ``row_choice`` says.

    Raises
    ------
    ContractBroken
        If a row is none of these, or one of these is missing.
    """
    choice, width = node.operator.row_choice, len(node.schema)
    if choice is None or not width:
        return
    slots = [slot for slot, _ in node.operator.column_origins([child.facts for child in node.inputs])[0]]
    given = [row[:width] for slot in slots for row in rows_of(read_all(node.inputs[slot]), node.inputs[slot].schema)]
    left = list(given)
    for row in rows:
        place = next((index for index, other in enumerate(left) if same_rows(other, row)), -1)
        demand(place >= 0, node, f"output rows are input rows, since row_choice says {choice.name}", f"{rows}\nof {given}")
        # A row is taken once; filters and unions take none from before the last one.
        left = left[place + 1 :] if choice in (RowChoice.FILTER, RowChoice.UNITE) else [*left[:place], *left[place + 1 :]]
    is_complete = len(rows) == len(given) or choice in (RowChoice.FILTER, RowChoice.OTHER)
    demand(is_complete, node, f"all input rows are output rows, since row_choice says {choice.name}", f"{rows}\nof {given}")


def unknown_length(node: PlannerNode, at_most: int | None) -> Facts:
    """Return the facts of a node with an unknown length of at most ``at_most`` instead of its own."""
    return attrs.evolve(node.facts, length=Length.unknown(at_most=at_most))


def check_bound(node: PlannerNode, length: Length, count: int) -> None:
    """Check that there are at most as many rows as an inferred length says.

    Raises
    ------
    ContractBroken
        If there are more rows.
    """
    bound = length.at_most
    demand(bound is None or count <= bound, node, "there are at most as many rows as inferred", f"at most {bound}, but {count} rows")


def check_order_needs(node: PlannerNode, rows: Rows, run: Any) -> None:
    """Check that the order of input rows does not matter where the operator says so.

    Raises
    ------
    ContractBroken
        If another order gives another result.
    """
    for slot in range(len(node.inputs)):
        need = node.operator.requires(slot)
        if need not in (Need.ANY, Need.INHERITED):
            continue
        found = run(reordered(node, slot))
        same = same_rows(found, rows) if need is Need.ANY else same_rows(multiset(found), multiset(rows))
        demand(same, node, f"input {slot} may come in any order, since requires() says {need.name}", f"in order {rows}\notherwise {found}")


def is_registered(operator: Operator) -> bool:
    """Return whether an operator's name is registered for its class."""
    try:
        return planner_node_name_to_type(operator.name) is type(operator)
    except PlanInvariantError:
        return False


def operators_without_examples(package: str, examples: Iterable[Example]) -> list[str]:
    """Return names of registered operators that are defined in a package and have no example.

    Parameters
    ----------
    package
        Name of the package, as in ``import``.
    examples
        All examples.
    """
    covered = {example.operator for example in examples}
    own = [name for name in registered_names() if planner_node_name_to_type(name).__module__.split(".")[0] == package]
    return [name for name in own if name not in covered]


__all__ = [
    "ContractBroken",
    "Example",
    "check_claims",
    "check_contract",
    "check_facts",
    "check_lowering",
    "check_operator",
    "check_value",
    "operators_without_examples",
]
