"""What a kernel makes of its parameters is made once for all batches, and anew where the function is another one."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pytest

from sframe_spark.expressions.functions.scalar_function import FUNCTIONS, define_function
from sframe_spark.expressions.scalar_function_program import Program, Register, Step
from sframe_spark.planner.chunk import Chunk
from sframe_spark.types import FLOAT, INT, ColumnType


@pytest.fixture
def prepared() -> Iterator[list[tuple[Any, ...]]]:
    """Parameters that a function was prepared for."""
    seen: list[tuple[Any, ...]] = []

    def prepare(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> int:
        seen.append((types[0], *parameters))
        return int(parameters[0]) + 1

    def compute(arguments: Sequence[Any], types: Sequence[ColumnType], added: int, rows: int) -> pa.Array:
        return pa.array([value + added for value in arguments[0].to_pylist()])

    define_function("prepared_plus", lambda types, parameters: types[0], compute, prepare=prepare)
    yield seen
    FUNCTIONS.pop("prepared_plus")


def run(program: Program, values: list[Any], column_type: ColumnType) -> list[Any]:
    return program.run(Chunk.of([pa.array(values)]), (column_type,)).columns[0].to_pylist()


def test_once_for_all_batches_of_one_type(prepared: list[tuple[Any, ...]]) -> None:
    program = Program(1, (Step("prepared_plus", (Register(0),), (5,)),), (Register(1),))
    size = len(pickle.dumps(program))
    assert [run(program, [1, 2], INT), run(program, [3], INT), run(program, [0.5], FLOAT), run(program, [4], INT)] == [[7, 8], [9], [6.5], [10]]
    assert prepared == [(INT, 5), (FLOAT, 5)]
    # Nothing of it travels to workers.
    assert len(pickle.dumps(program)) == size and pickle.loads(pickle.dumps(program)) == program


def test_a_function_that_is_defined_again_is_the_one_that_runs(prepared: list[tuple[Any, ...]]) -> None:
    program = Program(1, (Step("prepared_plus", (Register(0),), (5,)),), (Register(1),))
    assert run(program, [1], INT) == [7]
    FUNCTIONS.pop("prepared_plus")
    define_function("prepared_plus", lambda types, parameters: INT, lambda arguments, types, parameters, rows: pa.scalar(parameters[0]))
    assert run(program, [1], INT) == [5]


def test_many_values_are_brought_into_their_form_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from sframe_spark.expressions.functions import membership

    calls = []
    original = membership._requested_values
    monkeypatch.setattr(membership, "_requested_values", lambda *given: calls.append(1) or original(*given))
    program = Program(1, (Step("is_in", (Register(0),), (tuple(range(0, 100, 3)),)),), (Register(1),))
    for start in range(10):
        assert run(program, [start, None, 99], INT) == [int(start % 3 == 0), 0, 1]
    assert len(calls) == 1
