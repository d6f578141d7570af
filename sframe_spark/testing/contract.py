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

import pickle
from collections.abc import Iterable
from typing import Any

import attrs

from sframe_spark.errors import ContractBroken, PlanInvariantError
from sframe_spark.planner.facts import Facts, Length
from sframe_spark.planner.inference import properties_of
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.operator import Need, Operator
from sframe_spark.planner.registry import planner_node_name_to_type, registered_names
from sframe_spark.testing.contract_base import Example, Rows, demand, multiset, same_rows
from sframe_spark.testing.contract_kernels import check_kernel, check_parts, check_ranges, check_split, has_whole_kernel, kernel_rows, reordered
from sframe_spark.testing.contract_lowering import check_partitions, spark_rows
from sframe_spark.testing.order_claims import false_claims


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
