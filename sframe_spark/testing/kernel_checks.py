"""Checks of kernels and of what operators infer: types, lengths, order, any cut into row ranges, capabilities; operators are plain values."""

from __future__ import annotations

import pickle
from itertools import pairwise

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.compute.range_and_hash_partitioning import KINDS, HashPartitioner, RangePartitioner
from sframe_spark.errors import ContractBroken, PlanInvariantError
from sframe_spark.operators.lookup.cached_reader import Lookup
from sframe_spark.operators.sources.base_and_segment_source import source_of
from sframe_spark.planner.chunk import Chunk, concatenate
from sframe_spark.planner.length_and_order_inference import properties_of
from sframe_spark.planner.node import PlannerNode, domain_of, rows_not_promised
from sframe_spark.planner.node_facts import Facts, Length
from sframe_spark.planner.operator import ALL_ROWS, Operator
from sframe_spark.planner.operator_capabilities import match_counting_of, operator_for_few_rows, range_split_of
from sframe_spark.planner.operator_parameters import operator_parameters
from sframe_spark.planner.registry import planner_node_name_to_type
from sframe_spark.testing.kernel_runs import batch_bounds, even_bounds, kernel_rows, over_rows, read_all, rows_to_run, run_ranges, unknown_length
from sframe_spark.testing.order_claims import false_claims
from sframe_spark.testing.row_comparison import Rows, counted, demand, difference, rows_of, same_rows, shown_rows
from sframe_spark.testing.state_checks import places_to_cut
from sframe_spark.types import INT

RANGES = (1, 2, 7)
"""Numbers of row ranges that must all give the same rows."""


def require_rows(node: PlannerNode, found: Rows, rows: Rows, rule: str, what: str, remedy: str = "") -> None:
    """Require that rows are those of one kernel call; ``what`` says where the others come from."""
    if not same_rows(found, rows):
        demand(False, node, rule, difference(found, rows, what, "one kernel call"), remedy)


def check_again(node: PlannerNode, rows: Rows) -> None:
    """Check that a deterministic operator gives the same rows twice."""
    if node.operator.deterministic:
        again = kernel_rows(node)
        if not same_rows(again, rows):
            rule = "a deterministic operator gives the same rows each time"
            remedy = "Rows are computed anew where that is cheaper than keeping them: keep no state between calls, and draw no random numbers"
            demand(False, node, rule, difference(again, rows, "the second call", "the first"), remedy)


def check_ranges(node: PlannerNode, rows: Rows) -> None:
    """Check that the rows are the same however they are divided into row ranges, and that inputs without rows work.

    Raises
    ------
    ContractBroken
        If a division gives other rows.
    """
    if not node.operator.has_kernel:
        return
    count = rows_to_run(node)
    if count is not None:
        cuts = [even_bounds(count, number) for number in RANGES] + [[0, cut, count] for cut in places_to_cut(count)]
        rule = "rows are the same however they are divided into ranges of rows"
        remedy = "A kernel is given any range of rows, in any batches: it may not count on rows before or after them"
        for bounds in cuts:
            ranges = " and ".join(f"{start} to {stop}" for start, stop in pairwise(bounds))
            require_rows(node, rows_of(run_ranges(node, bounds), node.schema), rows, rule, f"the ranges of rows {ranges}", remedy)
    if node.inputs:
        empty = over_rows(node, [Chunk.empty(child.schema) for child in node.inputs])
        # Over no rows, an operator that makes rows of its own still has some to run over.
        stop = rows_to_run(empty)
        bounds = [0, 0] if stop is None else [0, stop]
        empty_rows = run_ranges(empty, bounds).rows
        found = f"{empty.length}, but {counted(empty_rows, 'row')}"
        demand(empty.length.rows in (None, empty_rows), node, "the length inferred for no rows is right", found)


def check_dense(node: PlannerNode) -> None:
    """Check that an operator that ``keeps_dense`` infers its number of rows from those of its inputs."""
    operator = node.operator
    if operator.keeps_dense and operator.counting is None and all(child.length.rows is not None for child in node.inputs):
        rule = "the number of rows is known beforehand, since keeps_dense is True"
        remedy = "keeps_dense is for operators whose number of rows follows from those of the inputs: leave it out, or define infer_length()"
        demand(node.length.rows is not None, node, rule, "infer_length() says nothing", remedy)


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
    for count in RANGES:
        ranges = RangePartitioner.of(below.columns[position], node.inputs[0].schema[position], split.ascending, count)
        numbers = ranges.range_numbers(below.columns[position])
        inputs = [below.rows_at(np.flatnonzero(numbers == number)) for number in range(ranges.count)]
        passed = ranges.have_one_value & split.leaves_equal_rows
        parts = [rows_of_range if passed[number] else node.operator.kernel([rows_of_range], facts) for number, rows_of_range in enumerate(inputs)]
        found = rows_of(concatenate(parts, node.schema), node.schema)[: split.first_rows]
        what = f"the kernel over {ranges.count} ranges of values of column {position}"
        require_rows(node, found, rows, "ranges of values give the rows of one kernel call, since whole_kernel has a RangeSplit", what)


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
        require_rows(node, found, rows, f"the operator for few rows, {few.name}, gives the same rows", few.name)


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
    count, sides, schemas = RANGES[-1], [], []
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
    require_rows(node, found, rows, "hash partitions give the rows of the whole, put in order by row ids of numbered_slots", "the join of partitions")


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
    require_rows(node, found, rows, "matches that are counted are the rows", "the counted matches")


def check_facts(node: PlannerNode, count: int) -> None:
    """Check the inferred lengths against the number of rows, both with known and with unknown lengths of the inputs.

    Raises
    ------
    ContractBroken
        If a claim is false.
    """
    found, remedy = rows_not_promised(node.operator, node.length, Length.exactly(count))
    demand(node.length.rows in (None, count), node, "the inferred length is the number of rows", f"it {found}", remedy[0].upper() + remedy[1:])
    check_bound(node, node.length, count)
    bounded = [unknown_length(child, child.length.rows) for child in node.inputs]
    check_bound(node, node.operator.infer_length(bounded), count)
    facts = [unknown_length(child, None) for child in node.inputs]
    length, domain = node.operator.infer_length(facts), domain_of(node.operator, facts)
    check_bound(node, length, count)
    demand(length.rows in (None, count), node, "the length inferred from unknown lengths is right", f"{length}, but {counted(count, 'row')}")
    for child, known in zip(node.inputs, facts, strict=True):
        equal = length.provably_equals(known.length) is True or domain is known.domain
        demand(not equal or child.length.rows == count, node, "inputs said to have as many rows have as many", f"{child.length} and {count}")


def check_bound(node: PlannerNode, length: Length, count: int) -> None:
    """Check that there are at most as many rows as an inferred length says.

    Raises
    ------
    ContractBroken
        If there are more rows.
    """
    bound = length.at_most
    demand(bound is None or count <= bound, node, "there are at most as many rows as inferred", f"at most {bound}, but {counted(count, 'row')}")


def check_claims(node: PlannerNode, rows: Rows) -> None:
    """Check what the operator infers about order, keys and values against the rows.

    Raises
    ------
    ContractBroken
        If a claim is false.
    """
    wrong = false_claims(properties_of(node), rows)
    remedy = "Leave out of infer_properties() what does not follow for all inputs: sorts and exchanges are left out where it is believed"
    demand(not wrong, node, "what infer_properties() claims is true", f"{'; '.join(wrong)}, in {shown_rows(rows)}", remedy)


def check_useful_orders(node: PlannerNode) -> None:
    """Check that the orders that save work are of columns of the inputs.

    Raises
    ------
    ContractBroken
        If there is no such input or column, or a column comes twice.
    """
    for slot, columns in node.operator.useful_orders([child.facts for child in node.inputs]):
        width = node.inputs[slot].facts.width if 0 <= slot < len(node.inputs) else 0
        is_right = bool(columns) and len(set(columns)) == len(columns) and all(0 <= column < width for column in columns)
        remedy = "useful_orders() gives pairs of an input and its columns, both counted from 0"
        has = f"input {slot} has {counted(width, 'column')}" if 0 <= slot < len(node.inputs) else f"there are {counted(len(node.inputs), 'input')}"
        demand(is_right, node, "useful_orders() gives columns of the inputs", f"it gives ({slot}, {list(columns)}), and {has}", remedy)


def check_value(node: PlannerNode) -> None:
    """Check that an operator is registered, hashable, equal to its copy, can be pickled, and describes itself in one line.

    Raises
    ------
    ContractBroken
        If one of these is not the case.
    """
    operator = node.operator
    demand(is_registered(operator), node, "the class is registered under its name", operator.name, "Write @register above @attrs.frozen")
    copy = attrs.evolve(operator)
    demand(copy == operator, node, "a copy is equal", repr(copy))
    try:
        same = hash(copy) == hash(operator)
    except TypeError:
        same = False
    demand(same, node, "a copy has the same hash", repr(operator), "Parameters are plain values that hash: tuples and not lists")
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
        if "<locals>" in type(operator).__qualname__:
            found = f"{type(operator).__qualname__} is defined within a function"
            raise ContractBroken(node, "the value pickles, as workers get it so", found, "Define the class at the top of its module") from error
        remedy = "Parameters are plain values; an object that cannot be sent belongs into any_parameter() of an operator without kernel"
        raise ContractBroken(node, "the value pickles, as workers get it so", f"{type(error).__name__}: {error}", remedy) from error
    demand(type(copy) is type(operator), node, "a pickled value keeps its class", repr(copy))
    demand(operator_parameters(copy, portable=True) == node.operator_parameters, node, "a pickled value keeps its parameters", repr(copy))
    facts = [child.facts for child in node.inputs]
    demand(tuple(copy.infer_type(facts)) == node.schema, node, "a pickled value infers the same types", repr(copy))


def is_registered(operator: Operator) -> bool:
    """Return whether an operator's name is registered for its class."""
    try:
        return planner_node_name_to_type(operator.name) is type(operator)
    except PlanInvariantError:
        return False
