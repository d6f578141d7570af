"""The contract kit finds operators that do not do what they say: each of these lies in one place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import attrs
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from sframe_spark import SFrame
from sframe_spark.errors import ContractBroken
from sframe_spark.operators.joins.hash_join import HashedPartitions, HashJoin, JoinOfPartitions
from sframe_spark.operators.joins.sorted_join import CountedMatches, SearchedMatches, SortedJoin
from sframe_spark.operators.row_selection import slice_rows
from sframe_spark.operators.sources.in_memory import range_source
from sframe_spark.order import OrderingProperties
from sframe_spark.order.properties import RelationProperties
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.node_facts import Facts, Length, Schema
from sframe_spark.planner.operator import DecomposableOperator, Need, Operator, SequentialOperator
from sframe_spark.planner.operator_capabilities import RangeSplit, WholeKernel
from sframe_spark.planner.operator_declarations import RowChoice
from sframe_spark.planner.registry import register
from sframe_spark.planner.spark_relation import KeyColumn, LoweringContext, Relation
from sframe_spark.plugin import node_of
from sframe_spark.testing.contract import Example, check_contract, check_lowering, check_operator, operators_without_examples, same_value
from sframe_spark.testing.lowering_checks import partitions_for
from sframe_spark.types import FLOAT, INT
from tests.operator_examples import table

pytestmark = pytest.mark.usefixtures("own_registry")


@attrs.frozen
class Doubled(Operator):
    """Twice each value: an operator that keeps its contract."""

    name: ClassVar[str] = "sample_doubled"
    row_wise: ClassVar[bool] = True
    deterministic: ClassVar[bool] = True
    has_kernel: ClassVar[bool] = True
    keeps_dense: ClassVar[bool] = True

    def infer_type(self, inputs: Sequence[Facts]) -> Schema:
        return (INT,)

    def requires(self, slot: int) -> Need:
        return Need.INHERITED

    def kernel(self, inputs: Sequence[Chunk], facts: Sequence[Facts]) -> Chunk:
        return Chunk.of([pc.multiply(inputs[0].columns[0], 2)])

    def plan_to_operator(self, inputs: Sequence[Relation], context: LoweringContext) -> Relation:
        return inputs[0].with_columns([inputs[0].df["c0"] * 2], (INT,))


@attrs.frozen
class WrongType(Doubled):
    """Says floats, gives ints."""

    def infer_type(self, inputs: Sequence[Facts]) -> Schema:
        return (FLOAT,)


@attrs.frozen
class WrongLength(Doubled):
    """Says one row more."""

    row_wise: ClassVar[bool] = False

    def infer_length(self, inputs: Sequence[Facts]) -> Length:
        return Length.exactly((inputs[0].length.rows or 0) + 1)


@attrs.frozen
class WrongBound(Doubled):
    """Says fewer rows at most."""

    row_wise: ClassVar[bool] = False

    def infer_length(self, inputs: Sequence[Facts]) -> Length:
        return Length.unknown(at_most=5)


@attrs.frozen
class Numbered(Doubled):
    """Numbers rows within what it is given, so the cut into ranges shows."""

    def kernel(self, inputs: Sequence[Chunk], facts: Sequence[Facts]) -> Chunk:
        return Chunk.of([pa.array(range(inputs[0].rows), pa.int64())])


@attrs.frozen
class Halves(Doubled):
    """Drops rows while it says that it keeps them all."""

    def kernel(self, inputs: Sequence[Chunk], facts: Sequence[Facts]) -> Chunk:
        return inputs[0].take(pc.is_valid(inputs[0].columns[0]))


@attrs.frozen
class FirstValue(Doubled):
    """One value everywhere, the first: says that order does not matter."""

    row_wise: ClassVar[bool] = False
    keeps_dense: ClassVar[bool] = False
    has_kernel: ClassVar[bool] = False
    whole_kernel: ClassVar[WholeKernel] = WholeKernel()

    def kernel(self, inputs: Sequence[Chunk], facts: Sequence[Facts]) -> Chunk:
        return inputs[0].slice(0, 1)


@attrs.frozen
class NoFilter(Doubled):
    """Says that it only drops rows, and doubles them."""

    row_choice: ClassVar[RowChoice | None] = RowChoice.FILTER


@attrs.frozen
class NoUnion(Doubled):
    """Says that it keeps all rows, and drops the first."""

    row_wise: ClassVar[bool] = False
    row_choice: ClassVar[RowChoice | None] = RowChoice.UNITE

    def kernel(self, inputs: Sequence[Chunk], facts: Sequence[Facts]) -> Chunk:
        return inputs[0].slice(1, inputs[0].rows)


@attrs.frozen
class Unhashable(Doubled):
    """Holds a list."""

    values: list[int] = attrs.Factory(list)


@attrs.frozen
class Unpicklable(Doubled):
    """Holds a function that no other process finds."""

    function: Callable[[int], int] = attrs.field(default=lambda value: value)


@attrs.frozen
class WordyDescription(Doubled):
    """Describes itself in two lines."""

    def describe(self) -> str:
        return "two\nlines"


@attrs.frozen
class EmptyCase(Doubled):
    """Gives another type where there are no rows."""

    def kernel(self, inputs: Sequence[Chunk], facts: Sequence[Facts]) -> Chunk:
        doubled = super().kernel(inputs, facts)
        return doubled if doubled.rows else Chunk.of([pa.array([], pa.float64())])


@attrs.frozen
class Counting(SequentialOperator):
    """Counts rows, and forgets them between ranges."""

    name: ClassVar[str] = "sample_counting"

    def infer_type(self, inputs: Sequence[Facts]) -> Schema:
        return (INT,)

    def initial_state(self, facts: Sequence[Facts]) -> int:
        return 0

    def summarize(self, inputs: Sequence[Chunk], facts: Sequence[Facts]) -> int:
        return inputs[0].rows

    def combine(self, first: int, second: int) -> int:
        return second

    def advance(self, inputs: Sequence[Chunk], facts: Sequence[Facts], state: int) -> tuple[Chunk, int]:
        rows = inputs[0].rows
        return Chunk.of([pa.array(range(state, state + rows), pa.int64())]), state + rows


@attrs.frozen
class Forgetful(DecomposableOperator):
    """Counts rows, but of two parts only the second."""

    name: ClassVar[str] = "sample_forgetful"
    deterministic: ClassVar[bool] = True
    whole_kernel: ClassVar[WholeKernel] = WholeKernel()

    def infer_type(self, inputs: Sequence[Facts]) -> Schema:
        return (INT,)

    def infer_length(self, inputs: Sequence[Facts]) -> Length:
        return Length.exactly(1)

    def requires(self, slot: int) -> Need:
        return Need.ANY

    def kernel(self, inputs: Sequence[Chunk], facts: Sequence[Facts]) -> Chunk:
        return self.rows_from(inputs[0].rows, facts)

    def decomposes(self, facts: Sequence[Facts]) -> bool:
        return True

    def part_of(self, rows: Chunk, facts: Sequence[Facts]) -> int:
        return rows.rows

    def combined(self, first: int, second: int, facts: Sequence[Facts]) -> int:
        return second

    def rows_from(self, part: int, facts: Sequence[Facts]) -> Chunk:
        return Chunk.of([pa.array([part], pa.int64())])


@attrs.frozen
class Ascending(Doubled):
    """Says that rows are in order."""

    def infer_properties(self, inputs: Sequence[RelationProperties], facts: Sequence[Facts]) -> RelationProperties:
        return RelationProperties(OrderingProperties(orderings=[[(0, "asc")]]))


@attrs.frozen
class Distinct(Doubled):
    """Says that no two rows are equal."""

    def infer_properties(self, inputs: Sequence[RelationProperties], facts: Sequence[Facts]) -> RelationProperties:
        return RelationProperties(OrderingProperties(keys=[[0]]))


@attrs.frozen
class OtherLowering(Doubled):
    """Means something else on Spark."""

    def plan_to_operator(self, inputs: Sequence[Relation], context: LoweringContext) -> Relation:
        return inputs[0].with_columns([inputs[0].df["c0"] * 2 + 1], (INT,))


@attrs.frozen
class OtherSparkType(Doubled):
    """Gives a double on Spark."""

    def plan_to_operator(self, inputs: Sequence[Relation], context: LoweringContext) -> Relation:
        return inputs[0].with_columns([inputs[0].df["c0"] * 2.0], (INT,))


@attrs.frozen
class TiedKey(Doubled):
    """Orders rows by their values, which are not distinct."""

    def plan_to_operator(self, inputs: Sequence[Relation], context: LoweringContext) -> Relation:
        doubled = super().plan_to_operator(inputs, context)
        return Relation(doubled.df.select("c0", doubled.df["c0"].alias("k0")), (INT,), (KeyColumn("k0"),))


@attrs.frozen
class LostKey(Doubled):
    """Loses the row order."""

    def plan_to_operator(self, inputs: Sequence[Relation], context: LoweringContext) -> Relation:
        return Relation(super().plan_to_operator(inputs, context).df.select("c0"), (INT,))


@attrs.frozen
class NeverMissing(Doubled):
    """Says that no value is missing."""

    def plan_to_operator(self, inputs: Sequence[Relation], context: LoweringContext) -> Relation:
        return attrs.evolve(super().plan_to_operator(inputs, context), not_missing=frozenset({0}))


@attrs.frozen
class WrongPosition(Doubled):
    """Numbers rows from one."""

    def plan_to_operator(self, inputs: Sequence[Relation], context: LoweringContext) -> Relation:
        doubled = super().plan_to_operator(inputs, context).with_position()
        return attrs.evolve(doubled, df=doubled.df.select("c0", "k0", (doubled.df[str(doubled.position)] + 1).alias("q")), position="q")


@attrs.frozen
class MissingIsZero(Doubled):
    """Doubles what is missing to zero, in its lowering."""

    def plan_to_operator(self, inputs: Sequence[Relation], context: LoweringContext) -> Relation:
        doubled = super().plan_to_operator(inputs, context)
        return attrs.evolve(doubled, df=doubled.df.fillna(0, "c0"))


@attrs.frozen
class PartitionNumber(Doubled):
    """Shows where a row lies."""

    has_kernel: ClassVar[bool] = False

    def plan_to_operator(self, inputs: Sequence[Relation], context: LoweringContext) -> Relation:
        from pyspark.sql import functions as F

        return inputs[0].with_columns([F.spark_partition_id().cast("bigint")], (INT,))


@attrs.frozen
class SplitInVain(Doubled):
    """Says that its rows come in the order of their values."""

    @property
    def whole_kernel(self) -> WholeKernel:
        return WholeKernel(RangeSplit(0))


@attrs.frozen
class Negated(Doubled):
    """Takes the place of an operator that doubles."""

    name: ClassVar[str] = "sample_negated"

    def kernel(self, inputs: Sequence[Chunk], facts: Sequence[Facts]) -> Chunk:
        return Chunk.of([pc.negate(inputs[0].columns[0])])


@attrs.frozen
class OtherForFewRows(Doubled):
    """Says that another operator gives the same rows."""

    whole_kernel: ClassVar[WholeKernel] = WholeKernel(for_few_rows=Negated())


@attrs.frozen
class OrderedByTheOtherSide(HashJoin):
    """Says that row ids of the right rows restore the order, which is that of the left rows."""

    name: ClassVar[str] = "sample_ordered_by_the_other_side"

    @property
    def joining(self) -> HashedPartitions:
        return RightRowsNumbered(self.key_pairs, self)


@attrs.frozen
class RightRowsNumbered(HashedPartitions):
    """The false capability of the join above."""

    @property
    def by_partitions(self) -> JoinOfPartitions:
        return JoinOfPartitions((1,), self.join)


@attrs.frozen
class CountsTooFew(SortedJoin):
    """Counts fewer matches than there are."""

    name: ClassVar[str] = "sample_counts_too_few"

    @property
    def joining(self) -> SearchedMatches:
        return TooFewMatches(self.key_pairs, self)


@attrs.frozen
class TooFewMatches(SearchedMatches):
    """The false capability of the join above."""

    @property
    def match_counting(self) -> CountedMatches:
        return CountedButOne(self.join)


@attrs.frozen
class CountedButOne(CountedMatches):
    """Counts one match less than there are."""

    def count(self, inputs: Sequence[Any], facts: Sequence[Facts]) -> int:
        return max(0, super().count(inputs, facts) - 1)


def example(operator_class: type[Operator]) -> Example:
    """The operator over a column with missing values."""
    register(operator_class)
    return Example(operator_class.name, "ints", lambda: operator_class().make_planner_node(table("int")))


@pytest.mark.parametrize(
    ("operator_class", "rule"),
    [
        (WrongType, "a kernel gives what is inferred: .*double|a kernel gives what is inferred: .*int64"),
        (WrongLength, "the inferred length is the number of rows"),
        (WrongBound, "at most as many rows as inferred"),
        (Ascending, "what infer_properties.. claims is true: rows .* are not in the order"),
        (Distinct, "what infer_properties.. claims is true: rows .* are equal in the columns .*, which are claimed to be a key"),
        (Numbered, "a row is made of its row of the inputs alone, since row_wise is True"),
        (Halves, "a kernel gives what is inferred: .* rows of .*, and it is row_wise: one for each"),
        (Forgetful, "parts that are combined give the rows of the whole"),
        (FirstValue, "the rows of input 0 may come in any order, since .* INHERITED"),
        (NoFilter, "output rows are input rows, since row_choice says FILTER"),
        (NoUnion, "all input rows are output rows, since row_choice says UNITE"),
        (Unhashable, "a copy has the same hash"),
        (Unpicklable, "the value pickles, as workers get it so"),
        (WordyDescription, "describe.. is one line"),
        (EmptyCase, "a kernel gives what is inferred: .*double in column 0, its infer_type"),
        (Counting, "combine.. gives the state of two ranges of rows, one after the other"),
        (SplitInVain, "ranges of values give the rows of one kernel call, since whole_kernel has a RangeSplit"),
        (OtherForFewRows, "the operator for few rows, sample_negated, gives the same rows"),
    ],
)
def test_lies_are_found_without_spark(operator_class: type[Operator], rule: str) -> None:
    with pytest.raises(ContractBroken, match=f"(?s){operator_class.name}.* breaks the rule that .*{rule}"):
        check_operator(example(operator_class))


@pytest.mark.parametrize(
    ("join", "rule"),
    [
        (OrderedByTheOtherSide((0,), (0,), "inner"), "hash partitions give the rows of the whole"),
        (CountsTooFew(0, 0, "inner"), "matches that are counted are the rows"),
    ],
)
def test_lies_of_joins_are_found_without_spark(join: Operator, rule: str) -> None:
    register(type(join))
    left, right = (node_of(SFrame({"k": keys, "v": keys})) for keys in ([4, 1, 3], [1, 2, 3, 4]))
    with pytest.raises(ContractBroken, match=f"(?s){join.name}.* breaks the rule that .*{rule}"):
        check_operator(Example(join.name, "ints", lambda: join.make_planner_node(left, right)))


@pytest.mark.spark
@pytest.mark.parametrize(
    ("operator_class", "rule"),
    [
        (OtherLowering, "kernel and plan_to_operator.. give the same rows"),
        (OtherSparkType, "the lowering gives the inferred types"),
        (TiedKey, "the key orders all rows"),
        (LostKey, "rows have a key"),
        (NeverMissing, "column 0 misses no value"),
        (WrongPosition, "the position numbers the rows in order"),
        (PartitionNumber, "rows are the same in any number of Spark partitions"),
    ],
)
def test_lies_are_found_on_spark(operator_class: type[Operator], rule: str, spark: Any) -> None:
    with pytest.raises(ContractBroken, match=f"breaks the rule that .*{rule}"):
        check_lowering(example(operator_class))


def test_rows_are_tried_in_two_partitions_where_seven_may_leave_each_alone() -> None:
    counts = {rows: partitions_for(slice_rows(range_source(0, rows), 0, 1, 1)) for rows in (0, 7, 8)}
    assert counts == {0: (1, 2, 7), 7: (1, 2, 7), 8: (1, 7)}
    assert [partitions_for(range_source(0, rows)) for rows in (7, 8)] == [(1, 2, 7), (1, 7)]


@pytest.mark.spark
def test_rows_that_the_kit_makes_are_tried_on_spark(spark: Any) -> None:
    register(MissingIsZero)
    rows = node_of(SFrame({"a": [3, 1, 2]}))
    of_ints = Example(MissingIsZero.name, "no missing value", lambda: MissingIsZero().make_planner_node(rows))
    check_lowering(of_ints)
    with pytest.raises(
        ContractBroken, match=r"(?s)kernel and plan_to_operator.. give .*the kernel gives None, Spark gives 0.*or leave plan_to_operator\(\) out"
    ):
        check_contract(of_ints, generated=1)


@pytest.mark.spark
def test_an_operator_that_keeps_its_contract_passes(spark: Any) -> None:
    check_contract(example(Doubled))


def test_a_class_that_is_not_registered_is_found() -> None:
    lonely = Example("sample_doubled", "ints", lambda: Doubled().make_planner_node(table("int")))
    with pytest.raises(ContractBroken, match="registered under its name"):
        check_operator(lonely)


def test_examples_are_one_operator_over_sources() -> None:
    def deep() -> PlannerNode:
        return slice_rows(slice_rows(range_source(0, 9), 1, 8), 1, 3)

    with pytest.raises(ContractBroken, match="inputs are sources: slice"):
        check_operator(Example("slice", "of a slice", deep))
    with pytest.raises(ContractBroken, match="last operator is the one it is about"):
        check_operator(Example("append", "of a slice", deep))


def test_operators_without_examples_are_named_by_package() -> None:
    register(Doubled)
    package = Doubled.__module__.split(".")[0]
    assert operators_without_examples(package, []) == ["sample_doubled"]
    assert operators_without_examples(package, [example(Doubled)]) == []
    assert "slice" in operators_without_examples("sframe_spark", [])


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        (1, 1, True),
        (1, 1.0, False),
        (None, None, True),
        (None, 0, False),
        (float("nan"), float("nan"), True),
        (float("nan"), 0.0, False),
        (float("inf"), float("inf"), True),
        (1.0, 1.0 + 1e-14, True),
        (1.0, 1.001, False),
        ([1, [None]], [1, [None]], True),
        ([1], [1, 2], False),
        ({"a": float("nan")}, {"a": float("nan")}, True),
        ({"a": 1}, {"b": 1}, False),
        ("a", "b", False),
    ],
)
def test_values_are_the_same(first: Any, second: Any, same: bool) -> None:
    assert same_value(first, second) is same
