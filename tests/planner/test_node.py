"""PlannerNode: construction, inference, splice, checks, pickling."""

from __future__ import annotations

import pickle
import re

import attrs
import pytest

from sframe_spark.errors import PlanInvariantError
from sframe_spark.operators.project_zip_arrange import project
from sframe_spark.operators.sources.in_memory import memory_source, range_source
from sframe_spark.planner.node import PlannerNode, check_same_rows
from sframe_spark.planner.node_facts import Facts, Length
from sframe_spark.types import INT, STR
from tests.planner.sample import Leaf, Pair, Step, Total, Wider, chain, leaf, step


def test_nodes_are_places_and_compare_by_identity() -> None:
    first, second = leaf(), leaf()
    assert first.operator == second.operator
    assert first != second
    assert len({first, second}) == 2


def test_the_number_of_inputs_is_checked() -> None:
    with pytest.raises(PlanInvariantError, match="sample_pair takes 2 input"):
        Pair().make_planner_node(leaf())
    with pytest.raises(PlanInvariantError, match="sample_leaf takes 0 input"):
        PlannerNode(Leaf(), [leaf()])


def test_facts_come_from_the_inputs_facts() -> None:
    node = step(step(leaf(7, (INT, STR))))
    assert node.schema == (INT, STR)
    assert node.length == Length.exactly(7)


def test_row_wise_operators_keep_the_domain_of_one_domain() -> None:
    source = leaf()
    first, second = step(source, "a"), step(source, "b")
    assert first.facts.domain is source.facts.domain
    assert Pair().make_planner_node(first, second).facts.domain is source.facts.domain
    assert Pair().make_planner_node(first, leaf()).facts.domain not in (source.facts.domain, None)


def test_a_row_wise_operator_takes_the_length_that_is_known() -> None:
    assert Pair().make_planner_node(leaf(None), leaf(4)).length == Length.exactly(4)


def test_an_operator_that_says_nothing_promises_nothing() -> None:
    source = leaf(5)
    node = Wider().make_planner_node(source)
    assert node.length.rows is None and node.length.at_most is None
    assert node.facts.domain is not source.facts.domain
    assert node.operator.requires(0).name == "ORDERED"
    assert not (node.operator.deterministic or node.operator.row_wise or node.operator.has_kernel or node.operator.keeps_dense)


def test_parameters_show_on_the_node() -> None:
    node = range_source(3, 5)
    assert (node.operator_type, node.operator_parameters, node.any_operator_parameters) == ("range_source", {"start": 3, "rows": 5, "step": 1}, {})
    memory = memory_source([], [], 2)
    assert "data" in memory.any_operator_parameters
    assert "data" not in memory.operator_parameters


def test_with_inputs_copies_only_on_change() -> None:
    source, other = leaf(), leaf()
    node = step(source)
    assert node.with_inputs([source]) is node
    copy = node.with_inputs([other])
    assert copy is not node and copy.inputs == (other,) and node.inputs == (source,)


def test_splice_changes_the_place_for_every_reader() -> None:
    place = step(leaf(None))
    readers = [step(place, "x"), step(place, "y")]
    domain = place.facts.domain
    place.splice(leaf(12))
    assert place.operator == Leaf(12) and place.inputs == ()
    assert place.length == Length.exactly(12)
    assert place.facts.domain is domain
    assert all(reader.inputs[0] is place for reader in readers)


def test_splice_keeps_a_known_length_over_an_unknown_one() -> None:
    place = step(leaf(12))
    place.splice(leaf(None))
    assert place.length == Length.exactly(12)


def test_splice_refuses_other_types_and_another_length() -> None:
    place = step(leaf(3))
    with pytest.raises(PlanInvariantError, match=r"splicing sample_leaf over sample_step changes the types from \(int\) to \(str\)"):
        place.splice(leaf(3, (STR,)))
    with pytest.raises(PlanInvariantError, match="changes the number of rows from 3 to 4"):
        place.splice(leaf(4))
    assert place.operator == Step()


def complaint(before: Facts, after: Facts) -> str:
    """What is said against facts in place of others; nothing where the rows may be the same."""
    try:
        check_same_rows(before, after, "the rule")
    except PlanInvariantError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    ("before", "after", "what"),
    [
        (Facts((INT,), Length.exactly(2)), Facts((STR,), Length.exactly(2)), "types"),
        (Facts((INT,), Length.exactly(2)), Facts((INT, INT), Length.exactly(2)), "types"),
        (Facts((INT,), Length.exactly(2)), Facts((INT,), Length.exactly(3)), "rows"),
        (Facts((INT,), Length.exactly(2)), Facts((INT,), Length.unknown(at_most=1)), "rows"),
    ],
)
def test_changes_are_refused(before: Facts, after: Facts, what: str) -> None:
    assert re.match(f"the rule changes the .*{what}", complaint(before, after))


def test_a_length_that_may_be_equal_passes() -> None:
    assert complaint(Facts((INT,), Length.unknown()), Facts((INT,), Length.exactly(3))) == ""


def test_nodes_pickle_with_schema_and_length() -> None:
    node = project(memory_source([[1, 2], ["a", "b"]], [INT, STR], 2), [1])
    copy = pickle.loads(pickle.dumps(node))
    assert (copy.schema, copy.length, copy.operator) == (node.schema, node.length, node.operator)
    assert pickle.loads(pickle.dumps(Total().make_planner_node(leaf(None)))).length == Length.exactly(1)


def test_repr_names_operator_and_length() -> None:
    assert repr(step(leaf(3))) == "<PlannerNode sample_step(label='a') 3 rows>"


def test_operator_values_are_hashable_and_equal_by_value() -> None:
    assert len({Step("a"), Step("a"), Step("b")}) == 2
    assert attrs.evolve(Step("a"), label="b") == Step("b")
    assert hash(Step("a")) == hash(Step("a"))


def test_long_chains_are_built_without_recursion() -> None:
    assert chain(10_000).length == Length.exactly(10)
