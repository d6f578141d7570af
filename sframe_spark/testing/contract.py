"""The contract kit: what an operator says about itself is held against what it does, on examples.

An example is one node whose inputs are sources. From it the kit checks, without Spark (:func:`check_operator`), that the operator is a value
that pickles, that inferred types, lengths and order are those of the rows, that any cut into row ranges gives the same rows, and that rows whose
order is said not to matter do not; and on Spark (:func:`check_lowering`) that the lowering has the inferred types, an order that is total, true
claims, the kernel's rows, and the same rows in the same order under 1 and 7 partitions, and under 2 where a source has no more than 7 rows.
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
from functools import partial
from itertools import pairwise
from typing import Any

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.compute.range_partitioning import KINDS, RangePartitioner
from sframe_spark.compute.spark_columns import spark_type
from sframe_spark.engine.physical.adaptive import with_known_rows
from sframe_spark.engine.physical.placement import Placement, place
from sframe_spark.engine.runtime.pipeline import Pipeline, PipelineRunner, combined
from sframe_spark.engine.runtime.tasks import combined_parts, summarize
from sframe_spark.engine.spark import query
from sframe_spark.errors import ContractBroken, PlanInvariantError
from sframe_spark.operators.sources.memory import MemorySource
from sframe_spark.operators.sources.source import Source, source_of
from sframe_spark.planner.chunk import Chunk, concatenate
from sframe_spark.planner.facts import Facts, Length, Schema
from sframe_spark.planner.graph import fold
from sframe_spark.planner.inference import properties_of
from sframe_spark.planner.lowering import LoweringContext, Relation
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.operator import DecomposableOperator, Need, Operator, SequentialOperator
from sframe_spark.planner.registry import planner_node_name_to_type, registered_names
from sframe_spark.session import QuerySize, get_session
from sframe_spark.session.user_session import keeping_active
from sframe_spark.testing.order_claims import false_claims
from sframe_spark.values.decode import decode_columns

# What all parts of the contract kit share: examples, the error, comparison of rows.

Rows = list[tuple[Any, ...]]

PARTITIONS = (1, 2, 7)
"""Numbers of row ranges and of Spark partitions that must all give the same rows."""

# Spark adds floats in another order than Arrow does.
RELATIVE_TOLERANCE = 1e-9
ABSOLUTE_TOLERANCE = 1e-12


@attrs.frozen(eq=False)
class Example:
    """An operator at work: one node over sources.

    Parameters
    ----------
    operator
        Registered name of the operator.
    title
        What the example shows.
    build
        Makes the node anew.
    needs_spark
        Building starts Spark.

    Examples
    --------
    >>> from sframe_spark.operators.sources.generated import range_source
    >>> str(Example("range_source", "three numbers", lambda: range_source(0, 3)))
    'range_source -- three numbers'
    """

    operator: str
    title: str
    build: Callable[[], PlannerNode]
    needs_spark: bool = False

    def node(self) -> PlannerNode:
        """The node, which must be one of the operator."""
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
    """Rows of a chunk as Python values; as many empty ones as it has rows if it has no column."""
    if not schema:
        return [()] * chunk.rows
    return list(zip(*decode_columns(chunk.columns, schema), strict=True))


def multiset(rows: Rows) -> Rows:
    """The rows in an order of their own."""
    return sorted(rows, key=repr)


def same_rows(first: Rows, second: Rows) -> bool:
    """Whether two lists of rows are equal, floats up to rounding."""
    return same_values(first, second)


def same_values(first: Sequence[Any], second: Sequence[Any]) -> bool:
    """Whether two sequences are equal item by item, floats up to rounding."""
    return len(first) == len(second) and all(same_value(a, b) for a, b in zip(first, second, strict=True))


def same_value(first: Any, second: Any) -> bool:
    """Whether two values are equal: of one class, NaN equal to NaN, floats up to rounding.

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
        return same_values(first, second)
    if isinstance(first, dict):
        return first.keys() == second.keys() and all(same_value(value, second[key]) for key, value in first.items())
    return bool(first == second)


# The part of the contract kit that runs kernels: whole, over row ranges, over no rows, over rows in another order.

BATCH_ROWS = 3
"""Rows given to kernels at a time: fewer than a range has, so that ranges are cut into batches too."""


def has_whole_kernel(node: PlannerNode) -> bool:
    """Whether an operator has an Arrow implementation, be it only over whole columns, as reductions have."""
    return node.operator.has_kernel or bool(getattr(node.operator, "takes_all_rows", False))


def check_kernel(node: PlannerNode) -> Rows:
    """Check that one kernel call gives the inferred types, and the same rows twice if it says so; return the rows.

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
    """Check that any cut into row ranges gives the rows of one kernel call, and that inputs without rows are no special case.

    Raises
    ------
    ContractBroken
        If a cut shows.
    """
    if not node.operator.has_kernel:
        return
    for count in PARTITIONS:
        found = rows_of(run_ranges(node, count), node.schema)
        demand(same_rows(found, rows), node, f"{count} row range(s) give the rows of one kernel call", f"{rows}\nbut {found}")
    if node.inputs:
        check_no_rows(node)


def check_parts(node: PlannerNode, rows: Rows) -> None:
    """Check that the parts of any row ranges, in small batches and sent between processes, give the rows of the whole.

    Raises
    ------
    ContractBroken
        If a cut shows.
    """
    operator, facts = node.operator, [child.facts for child in node.inputs]
    if not isinstance(operator, DecomposableOperator) or not operator.decomposes(facts):
        return
    chunk = read_all(node.inputs[0])
    for count in PARTITIONS:
        bounds = [chunk.rows * number // count for number in range(count + 1)]
        batches = [chunk.slice(start, stop) for first, last in pairwise(bounds) for start, stop in batch_bounds(first, last)]
        parts = [pickle.loads(pickle.dumps(operator.part_of(batch, facts))) for batch in batches]
        found = operator.rows_from(combined_parts(operator, parts, facts), facts)
        check_types(node, found, "what is made of parts")
        same = same_rows(rows_of(found, node.schema), rows)
        demand(same, node, f"parts of {count} row range(s) give the rows of the whole", f"{rows}\nbut {rows_of(found, node.schema)}")


def check_split(node: PlannerNode, rows: Rows) -> None:
    """Check that a kernel that may be asked range by range of a column gives the rows of the whole, one range after the other.

    Raises
    ------
    ContractBroken
        If a cut shows.
    """
    split = node.operator.split_by
    if split is None or node.inputs[0].schema[split[0]].kind not in KINDS:
        return
    (position, ascending), below, facts = split, read_all(node.inputs[0]), [child.facts for child in node.inputs]
    for count in PARTITIONS:
        ranges = RangePartitioner.of(below.columns[position], node.inputs[0].schema[position], ascending, count)
        places = ranges.range_numbers(below.columns[position])
        given = [below.rows_at(np.flatnonzero(places == number)) for number in range(ranges.count)]
        passed = ranges.have_one_value & node.operator.leaves_equal_rows
        parts = [part if passed[number] else node.operator.kernel([part], facts) for number, part in enumerate(given)]
        found = rows_of(concatenate(parts, node.schema), node.schema)[: node.operator.rows_of_ranges]
        demand(same_rows(found, rows), node, f"{ranges.count} range(s) of values give the rows of one kernel call", f"{rows}\nbut {found}")


def batch_bounds(first: int, last: int) -> list[tuple[int, int]]:
    """Batches of a range of rows; one without rows where there is none."""
    return [(start, min(start + BATCH_ROWS, last)) for start in range(first, last, BATCH_ROWS)] or [(first, first)]


def run_kernel(node: PlannerNode) -> Chunk:
    """Return all rows of a node over sources, from one kernel call (sources: from one read)."""
    operator = node.operator
    if isinstance(operator, Source):
        return operator.read_all()
    return operator.kernel([read_all(child) for child in node.inputs], [child.facts for child in node.inputs])


def kernel_rows(node: PlannerNode) -> Rows:
    """Return all rows of a node over sources, from one kernel call."""
    return rows_of(run_kernel(node), node.schema)


def read_all(node: PlannerNode) -> Chunk:
    """Return all rows of a source."""
    return source_of(node).read_all()


def run_ranges(node: PlannerNode, count: int) -> Chunk:
    """Return the rows of a node computed in ``count`` row ranges, each in small batches, as tasks of the engine compute them."""
    node = with_known_rows(node) if node.operator.counts_rows else node
    plan = Pipeline.of(node)
    placements: dict[int, Placement | None] = fold([node], _place)
    placement = placements[id(node)]
    assert placement is not None
    bounds = [placement.rows_to_run * number // count for number in range(count + 1)]
    states: dict[int, Any] = {place: _initial_state(plan, place) for place in plan.sequential_places()}
    parts = []
    for number, (start, stop) in enumerate(pairwise(bounds), start=1):
        try:
            parts += list(PipelineRunner(plan, states).stream(start, stop, BATCH_ROWS, final=number == count))
        except PlanInvariantError as error:
            demand(False, node, "a row range gives the inferred types", str(error))
        advance = partial(_state_after, plan, start=start, stop=stop, before=dict(states))
        states = {place: advance(place) for place in states}
    return concatenate(parts, node.schema)


def _place(node: PlannerNode, inputs: list[Placement | None]) -> Placement | None:
    return place(node, [item for item in inputs if item is not None])


def _initial_state(plan: Pipeline, place: int) -> Any:
    operator = plan.operators[place]
    assert isinstance(operator, SequentialOperator)
    return operator.initial_state(plan.input_facts(place))


def _state_after(plan: Pipeline, place: int, start: int, stop: int, before: dict[int, Any]) -> Any:
    operator = plan.operators[place]
    assert isinstance(operator, SequentialOperator)
    return combined(operator, operator.combine, (before[place], summarize(plan, place, before, start, stop, BATCH_ROWS)))


def check_no_rows(node: PlannerNode) -> None:
    """Check an operator over inputs without rows.

    Raises
    ------
    ContractBroken
        If types or the number of rows are other than inferred.
    """
    empty = node.with_inputs([_in_memory(Chunk.empty(child.schema), child) for child in node.inputs])
    rows = run_ranges(empty, 1).rows
    demand(empty.length.rows in (None, rows), node, "the length inferred for no rows is right", f"{empty.length}, but {rows} rows")


def check_types(node: PlannerNode, chunk: Chunk, what: str) -> None:
    """Check that columns have the inferred types and lengths.

    Raises
    ------
    ContractBroken
        If they do not.
    """
    found = [column.type for column in chunk.columns]
    wanted = [column_type.physical for column_type in node.schema]
    same = len(found) == len(wanted) and all(a.equals(b) for a, b in zip(found, wanted, strict=True))
    demand(same, node, f"{what} gives the inferred types", f"{list(map(str, found))} for {list(map(str, node.schema))}")
    lengths = {len(column) for column in chunk.columns} | {chunk.rows}
    demand(len(lengths) == 1, node, f"{what} gives columns of one length", str(sorted(lengths)))


def reordered(node: PlannerNode, slot: int) -> PlannerNode:
    """Return the node with the rows of one input in reverse order."""
    child = node.inputs[slot]
    chunk = read_all(child)
    backwards = pa.array(range(chunk.rows - 1, -1, -1), pa.int64())
    turned = Chunk(tuple(column.take(backwards) for column in chunk.columns), chunk.rows)
    inputs = [_in_memory(turned, other) if place == slot else other for place, other in enumerate(node.inputs)]
    return node.with_inputs(inputs)


def _in_memory(chunk: Chunk, like: PlannerNode) -> PlannerNode:
    return MemorySource.of(chunk, like.schema).make_planner_node()


# The part of the contract kit that runs Spark lowerings over rows scattered among partitions.


def check_partitions(node: PlannerNode) -> Rows:
    """Check a lowering under numbers of partitions: types, claims, order, the same rows each time; return the rows.

    Raises
    ------
    ContractBroken
        If the lowering does not do what the operator says.
    """
    counts = partitions_for(node)
    results = [run_lowering(node, count) for count in counts]
    for count, found in zip(counts, results, strict=True):
        ordered = has_order(node, found)
        same = same_rows(found, results[0]) if ordered else same_rows(multiset(found), multiset(results[0]))
        demand(same, node, f"{count} partition(s) give the rows of one", f"{results[0]}\nbut {found}")
    return results[0]


def partitions_for(node: PlannerNode) -> tuple[int, ...]:
    """1 and 7, and 2 where 7 may leave every row of a source alone: of more than 7 rows some lie together, and others apart, whatever the keys."""
    known = [source.length.rows for source in node.inputs or (node,)]
    scarce = any(rows is None or rows <= PARTITIONS[-1] for rows in known)
    return PARTITIONS if scarce else (PARTITIONS[0], PARTITIONS[-1])


def has_order(node: PlannerNode, rows: Rows) -> bool:
    """Whether a node's rows have an order: all have, but for sources of rows that come as they like."""
    return bool(node.inputs) or node.operator.is_source or len(rows) <= 1


def spark_rows(node: PlannerNode) -> Rows:
    """Return the rows of a node by its lowering."""
    return run_lowering(node, PARTITIONS[1])


def run_lowering(node: PlannerNode, partitions: int) -> Rows:
    """Return the rows of a node by its lowering over sources that are scattered among partitions, checking what it claims."""
    relation = lower_scattered(node, partitions)
    return check_rows(node, relation, collect(node, relation))


def collect(node: PlannerNode, relation: Relation) -> pa.Table:
    """Return visible and hidden columns of a relation in its order."""
    ordered = relation.df.orderBy(*relation.order()) if relation.key else relation.df
    selected = ordered.select(*relation.columns, *relation.hidden)
    return query.run_spark(selected.toArrow, f"checking {node.operator_type}")


def check_rows(node: PlannerNode, relation: Relation, table: pa.Table) -> Rows:
    """Check what a relation claims of its rows against the rows; return them.

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
    """Return a plan as one Spark query whose sources lie in partitions that know nothing of row order.

    One partition is run as the engine runs few rows: in the session for them, without exchanges. The shape of the result is checked.
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
    """Return a relation whose rows lie in partitions by a hash of their keys."""
    keys = [relation.df[column.name] for column in relation.key]
    return attrs.evolve(relation, df=relation.df.repartition(partitions, *keys))


def check_shape(node: PlannerNode, relation: Relation) -> None:
    """Check that a relation has the inferred types, in the engine's column names.

    Raises
    ------
    ContractBroken
        If it has others.
    """
    demand(relation.schema == node.schema, node, "the lowering states the inferred types", f"{relation.schema} for {node.schema}")
    missing = [name for name in (*relation.columns, *relation.hidden) if name not in relation.df.columns]
    demand(not missing, node, "the lowering has all its columns and keys", f"{missing} not in {relation.df.columns}")
    found = [type_text(relation.df.schema[name].dataType.simpleString()) for name in relation.columns]
    wanted = [type_text(spark_type(column_type)) for column_type in node.schema]
    demand(found == wanted, node, "the lowering gives the inferred types", f"{found} for {wanted}")


def type_text(ddl: str) -> str:
    """Return Spark's type in one spelling."""
    return ddl.replace("integer", "int").replace(" ", "")


def check_key(node: PlannerNode, relation: Relation, hidden: dict[str, list[Any]], count: int) -> None:
    """Check that the key orders all rows and that the position, if there is one, numbers them from zero.

    Raises
    ------
    ContractBroken
        If two rows have one key, or the position is another number.
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
    """Check everything about an example's operator, with Spark and without.

    Raises
    ------
    ContractBroken
        If the operator does not do what it says; the message names the operator, the example and the rule.
    """
    check_operator(example)
    check_lowering(example)


def check_operator(example: Example) -> None:
    """Check what can be checked without Spark: the value, inference, kernels over row ranges.

    Raises
    ------
    ContractBroken
        If the operator does not do what it says.

    Examples
    --------
    >>> from sframe_spark.operators.slice import slice_rows
    >>> from sframe_spark.operators.sources.generated import range_source
    >>> check_operator(Example("slice", "every other row", lambda: slice_rows(range_source(0, 9), 1, 8, 2)))
    """
    node = example.node()
    check_value(node)
    check_inputs_are_sources(node)
    if not has_whole_kernel(node):
        return
    rows = check_kernel(node)
    check_facts(node, len(rows))
    check_claims(node, rows)
    check_ranges(node, rows)
    check_parts(node, rows)
    check_split(node, rows)
    check_order_needs(node, rows, kernel_rows)


def check_lowering(example: Example) -> None:
    """Check the Spark lowering: types, order, claims, rows, and that the number of partitions changes nothing.

    Raises
    ------
    ContractBroken
        If the operator does not do what it says.
    """
    node = example.node()
    rows = check_partitions(node)
    check_parts(node, rows)
    if has_whole_kernel(node):
        found = kernel_rows(node)
        demand(same_rows(found, rows), node, "kernel and Spark lowering give the same rows", f"kernel {found}\nSpark  {rows}")
    else:
        check_facts(node, len(rows))
        check_claims(node, rows)
        check_order_needs(node, rows, spark_rows)


def check_value(node: PlannerNode) -> None:
    """Check that an operator is a registered, hashable, comparable value that pickles and describes itself in a line.

    Raises
    ------
    ContractBroken
        If it is not.
    """
    operator = node.operator
    demand(is_registered(operator), node, "the class is registered under its name", operator.name)
    copy = attrs.evolve(operator)
    demand(copy == operator, node, "a copy is equal", repr(copy))
    demand(is_hashable(operator) and hash(copy) == hash(operator), node, "a copy has the same hash", repr(operator))
    text = operator.describe()
    demand(isinstance(text, str) and "\n" not in text, node, "describe() is one line", repr(text))
    demand(set(operator.operator_parameters).isdisjoint(operator.any_operator_parameters), node, "a parameter is portable or is not", "")
    check_pickle(node)


def check_pickle(node: PlannerNode) -> None:
    """Check that an operator pickles. Only one that has no kernel and holds something not portable, a live DataFrame, need not.

    Raises
    ------
    ContractBroken
        If it does not, or comes back as another.
    """
    operator = node.operator
    if operator.any_operator_parameters and not operator.has_kernel:
        return
    try:
        copy = pickle.loads(pickle.dumps(operator))
    except Exception as error:
        raise ContractBroken(node, "the value pickles", repr(error)) from error
    demand(type(copy) is type(operator), node, "a pickled value keeps its class", repr(copy))
    demand(copy.operator_parameters == operator.operator_parameters, node, "a pickled value keeps its parameters", repr(copy))
    facts = [child.facts for child in node.inputs]
    demand(tuple(copy.infer_type(facts)) == node.schema, node, "a pickled value infers the same types", repr(copy))


def check_inputs_are_sources(node: PlannerNode) -> None:
    """Check that an example is one operator over sources, so that what is found wrong is the operator's.

    Raises
    ------
    ContractBroken
        If it is not.
    """
    for child in node.inputs:
        demand(child.operator.is_source, node, "an example's inputs are sources", child.operator_type)


def check_facts(node: PlannerNode, count: int) -> None:
    """Check the claims about the row count against the rows there are, with the inputs' lengths known and unknown.

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
    length, domain = node.operator.infer_length(facts), node.operator.infer_domain(facts)
    check_bound(node, length, count)
    demand(length.rows in (None, count), node, "the length inferred from unknown lengths is right", f"{length}, but {count} rows")
    for child, known in zip(node.inputs, facts, strict=True):
        equal = length.provably_equals(known.length) is True or domain is known.domain
        demand(not equal or child.length.rows == count, node, "inputs said to have as many rows have as many", f"{child.length} and {count}")


def check_claims(node: PlannerNode, rows: Rows) -> None:
    """Check what the operator derives of order, keys and values against the rows there are.

    Raises
    ------
    ContractBroken
        If a claim is false.
    """
    wrong = false_claims(properties_of(node), rows)
    demand(not wrong, node, "what infer_properties() claims is true", f"{'; '.join(wrong)}\nrows {rows}")


def unknown_length(node: PlannerNode, at_most: int | None) -> Facts:
    """Facts of a node as if its length had not been known."""
    return attrs.evolve(node.facts, length=Length.unknown(at_most=at_most))


def check_bound(node: PlannerNode, length: Length, count: int) -> None:
    """Check that an upper bound holds.

    Raises
    ------
    ContractBroken
        If there are more rows.
    """
    bound = length.at_most
    demand(bound is None or count <= bound, node, "there are at most as many rows as inferred", f"at most {bound}, but {count} rows")


def check_order_needs(node: PlannerNode, rows: Rows, run: Any) -> None:
    """Check that rows may come in another order where the operator says that order does not matter.

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
    """Whether an operator's name leads to its class."""
    try:
        return planner_node_name_to_type(operator.name) is type(operator)
    except PlanInvariantError:
        return False


def is_hashable(operator: Operator) -> bool:
    """Whether an operator and all its parameters have hashes."""
    try:
        hash(operator)
    except TypeError:
        return False
    return True


def operators_without_examples(package: str, examples: Iterable[Example]) -> list[str]:
    """Return names of registered operators that are defined in a package and have no example.

    Parameters
    ----------
    package
        Name of the package, as in ``import``.
    examples
        The examples there are.
    """
    covered = {example.operator for example in examples}
    modules = {name: planner_node_name_to_type(name).__module__ for name in registered_names()}
    own = [name for name, module in modules.items() if module.split(".")[0] == package]
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
