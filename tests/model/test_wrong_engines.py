"""The programs find engines that are wrong in one place each, soon."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pytest

from sframe_spark import SFrame
from sframe_spark.api import index_argument_checks, node_value_conversion
from sframe_spark.api.class_registry import make_frame
from sframe_spark.api.sarray import reductions
from sframe_spark.api.sframe import columns
from sframe_spark.config import config
from sframe_spark.engine.execution.materialize_count_and_read_rows import materialize
from sframe_spark.engine.runtime.pipeline import Pipeline, PipelineRunner
from sframe_spark.operators.row_selection import slice_rows
from sframe_spark.operators.sources.in_memory import MemorySource
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.node import PlannerNode
from sframe_spark.rewrite_laws import optimize
from tests.model.programs import program_of
from tests.model.run import failure_of

MOST_PROGRAMS = 80
Patch = Callable[[pytest.MonkeyPatch], None]


def iterates_over_remembered_lengths(patch: pytest.MonkeyPatch) -> None:
    """As it was: the length that a node remembers from before the rows below it were computed, and 0 for none."""

    def iterate(node: PlannerNode) -> Iterator[Chunk]:
        before = node.facts
        materialize(node)
        rows = node.length.rows if node.operator.is_source else before.length.rows
        yield from PipelineRunner(Pipeline.of(optimize(node))).stream(0, 0 if rows is None else rows, config.batch_rows)

    patch.setattr(node_value_conversion, "iterate", iterate)


def splices_other_rows(patch: pytest.MonkeyPatch) -> None:
    """What is materialised has its first row twice and its last one not."""
    right = PlannerNode.splice

    def splice(self: PlannerNode, replacement: PlannerNode) -> None:
        source = replacement.operator
        if isinstance(source, MemorySource) and source.row_count > 2:
            places = pa.array([0, *range(source.row_count - 1)])
            columns = [column.take(places) for column in source.read_all().columns]
            replacement = PlannerNode(MemorySource.of(Chunk.of(columns), replacement.schema))
        right(self, replacement)

    patch.setattr(PlannerNode, "splice", splice)


def counts_bounds(patch: pytest.MonkeyPatch) -> None:
    """The bound of a number of rows is taken for the number."""

    def row_count(node: PlannerNode) -> int:
        return right(node) if node.length.at_most is None else node.length.at_most

    right = node_value_conversion.row_count
    patch.setattr(reductions, "row_count", row_count)


def forgets_steps(patch: pytest.MonkeyPatch) -> None:
    """Slices take every row."""
    patch.setattr(index_argument_checks, "slice_rows", lambda node, start, stop, step=1: slice_rows(node, start, stop))


def changes_copies(patch: pytest.MonkeyPatch) -> None:
    """Columns that are renamed in place are renamed in the frames that were taken before."""

    def with_(self: Any, node: PlannerNode, names: list[str]) -> Any:
        self._node, self._names[:] = node, names
        return self

    def copy(self: Any) -> Any:
        found = make_frame(self._node, self._names)
        found._names = self._names
        return found

    patch.setattr(columns.Columns, "_with", with_)
    patch.setattr(SFrame, "copy", copy)


# Each with the first program that finds it today, which is tried first.
WRONG = {iterates_over_remembered_lengths: 13, splices_other_rows: 0, counts_bounds: 15, forgets_steps: 1, changes_copies: 0}


@pytest.mark.parametrize(("wrong", "first"), WRONG.items(), ids=[wrong.__name__ for wrong in WRONG])
def test_a_wrong_engine_is_found(wrong: Patch, first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong(monkeypatch)
    assert any(failure_of(program_of(seed, 11, 1)) is not None for seed in (first, *range(MOST_PROGRAMS)))
