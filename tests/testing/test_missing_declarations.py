"""What an operator does not say about itself is found, and what it says, or cannot say, is not reported."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import attrs
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from sframe_spark.operators.sources.in_memory import memory_source
from sframe_spark.plugin import INT, STR, Chunk, Need, Operator, register
from sframe_spark.testing.contract import Example
from sframe_spark.testing.missing_declarations import unused_opportunities
from tests.operator_examples import EXAMPLES

pytestmark = pytest.mark.usefixtures("own_registry")


@attrs.frozen
class Silent(Operator):
    """Adds one to the first column, and says nothing about itself."""

    name: ClassVar[str] = "silent"
    has_kernel: ClassVar[bool] = True

    def infer_type(self, inputs: Any) -> Any:
        return (INT,)

    def kernel(self, inputs: Sequence[Chunk], facts: Any) -> Chunk:
        return Chunk.of([pc.add(inputs[0].columns[0], 1)])


@attrs.frozen
class Odd(Silent):
    """The rows whose first value is odd: filtered by that value before or after."""

    name: ClassVar[str] = "odd"

    def infer_type(self, inputs: Any) -> Any:
        return inputs[0].schema

    def column_origins(self, inputs: Any) -> Any:
        return [[(0, 0)], [(0, 1)]]

    def kernel(self, inputs: Sequence[Chunk], facts: Any) -> Chunk:
        mask = pc.equal(pc.bit_wise_and(inputs[0].columns[0], 1), 1)
        return Chunk.of([column.filter(mask) for column in inputs[0].columns])


@attrs.frozen
class Chosen(Odd):
    """The rows whose first value is odd, if the second column has an "a" somewhere: a filter of the second column may drop it."""

    name: ClassVar[str] = "chosen"

    def kernel(self, inputs: Sequence[Chunk], facts: Any) -> Chunk:
        there = pc.any(pc.equal(inputs[0].columns[1], "a")).as_py()
        return super().kernel(inputs, facts) if there else inputs[0].slice(0, 0)


@attrs.frozen
class FirstRows(Odd):
    """The odd ones of the first six rows: no filter of six rows lets others in, and filters of more rows do."""

    name: ClassVar[str] = "first_rows"

    def kernel(self, inputs: Sequence[Chunk], facts: Any) -> Chunk:
        return super().kernel([inputs[0].slice(0, 6)], facts)


@attrs.frozen
class Told(Silent):
    """The same as the first, with all that there is to say."""

    name: ClassVar[str] = "told"
    row_wise: ClassVar[bool] = True
    keeps_dense: ClassVar[bool] = True
    threads: ClassVar[bool] = True

    def requires(self, slot: int) -> Need:
        return Need.INHERITED

    def input_columns(self, outputs: Any, inputs: Any) -> Any:
        return [[0]]


@attrs.frozen
class InPython(Silent):
    """The same, a row at a time."""

    name: ClassVar[str] = "in_python"

    def kernel(self, inputs: Sequence[Chunk], facts: Any) -> Chunk:
        return Chunk.of([pa.array([value + 1 for value in inputs[0].columns[0].to_pylist()], pa.int64())])


def examples_of(kind: type[Operator]) -> list[Example]:
    register(kind)
    source = memory_source([pa.array([3, 1, 4, 5, 9, 2]), pa.array(list("abcdef"))], (INT, STR))
    return [Example(kind.name, "some rows", lambda: kind().make_planner_node(source))]


def test_an_operator_that_says_nothing() -> None:
    assert unused_opportunities(examples_of(Silent)) == [
        "silent: row_wise: each row is made of one row of each input",
        "silent: keeps_dense: there are as many rows as before",
        "silent: threads: no Python code runs for each row",
        "silent: infer_length: there are no more rows than before",
        "silent: requires(0): INHERITED will do",
        "silent: input_columns: column 1 of input 0 is not read",
    ]


def test_an_operator_that_leaves_rows_out() -> None:
    assert unused_opportunities(examples_of(Odd)) == [
        "odd: threads: no Python code runs for each row",
        "odd: infer_length: there are no more rows than before",
        "odd: requires(0): INHERITED will do",
        "odd: filtered_slots: input 0 may be filtered first",
    ]


@pytest.mark.parametrize("kind", [Chosen, FirstRows])
def test_filters_that_change_other_rows_are_not_reported(kind: type[Operator]) -> None:
    assert not [found for found in unused_opportunities(examples_of(kind)) if "filtered" in found]


def test_an_operator_in_python_is_not_for_threads() -> None:
    assert not [found for found in unused_opportunities(examples_of(InPython)) if "threads" in found]


def test_an_operator_that_says_all() -> None:
    assert unused_opportunities(examples_of(Told)) == []


# By the example alone: a flat map's function reads what it reads, and a choice between equal values reads no mask. Two filters become one by a law.
KNOWN = (
    "filter_rows: filtered_slots: input 0 may be filtered first",
    "flat_map: input_columns: column 1 of input 0 is not read",
    "row_number: input_columns: column 0 of input 0 is not read",
    "ternary_transform: input_columns: column 0 of input 0 is not read",
)


def test_the_operators_of_this_package_say_what_they_can() -> None:
    assert unused_opportunities(EXAMPLES) == list(KNOWN)


def test_the_former_name_of_the_module_is_importable() -> None:
    from sframe_spark.testing import opportunities

    assert opportunities.unused_opportunities is unused_opportunities
