"""A cluster that does nothing: works are packed as they would be sent, counted, and answered with what a task might have found."""

from __future__ import annotations

import contextlib
import pickle
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import attrs
import numpy as np
import pyarrow as pa

from benchmarks.scale.fake_frames import FOOTER_BYTES, bounded, make_hole
from benchmarks.scale.shapes import FEW_GROUPS
from sframe_spark.engine.runtime.row_range_tasks_and_sequential_states import EarlyStop, RangeTask, part_of_range, summarize_range, write_range
from sframe_spark.engine.spark.page_header_checks import require_valid_pages
from sframe_spark.engine.task_pickling import pack_tasks
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.node_facts import Facts
from sframe_spark.planner.operator import TOO_LARGE, DecomposableOperator, SequentialOperator
from sframe_spark.storage.manifest.column_statistics import Scalar
from sframe_spark.storage.manifest.manifest import SegmentEntry
from sframe_spark.storage.parquet.footer import VerifiedColumns
from sframe_spark.types import FLOAT, INT, STR, ColumnType

# Rows of which a task makes the part that it answers with.
ROWS_OF_A_PART = 1_000


class NotRun(Exception):
    """A query would run now."""

    def __init__(self, root: PlannerNode) -> None:
        super().__init__(root.operator_type)
        self.root = root


@attrs.frozen
class Sent:
    """What one job was sent: how many works, bytes of all that tasks are told of their own, and of what all of them are told."""

    works: int
    own_bytes: int
    shared_bytes: int


@attrs.define
class FakeCluster:
    """A cluster of so many cores.

    Parameters
    ----------
    cores
        How many.
    many_groups
        Whether tasks find more groups than the driver puts together.
    jobs
        Filled with what each job was sent.
    footers
        How many footers of files the driver asked for.
    queries
        How many queries Spark was to run.
    """

    cores: int
    many_groups: bool = False
    jobs: list[Sent] = attrs.Factory(list)
    footers: int = 0
    queries: int = 0

    def run_callables(self, works: Sequence[Callable[[], Any]], description: str, size: int | None = None) -> list[Any]:
        """Answers of works that nobody does."""
        parcels, shared = pack_tasks(works)
        self.jobs.append(Sent(len(works), sum(len(parcel.content) for parcel in parcels), len(pickle.dumps(shared))))
        return [self.answer(work) for work in works]

    def answer(self, work: Any) -> Any:
        """What a task might have found."""
        if not isinstance(work, partial):
            # The page headers are as they should be.
            return None
        if work.func is part_of_range and self.many_groups:
            return TOO_LARGE
        answers: dict[Any, Callable[..., Any]] = {write_range: written, summarize_range: summarized, part_of_range: part}
        return answers[work.func](*work.args)

    def footer(self, directory: str, entry: SegmentEntry) -> Any:
        """A footer of one row group."""
        self.footers += 1
        return SimpleNamespace(starts=(0, entry.rows))

    def query(self, root: PlannerNode, directory: str) -> None:
        """The files that a query reads are checked; the query is not planned."""
        self.queries += 1
        require_valid_pages(root)
        raise NotRun(root)

    @contextlib.contextmanager
    def attached(self) -> Iterator[None]:
        """Let all that is sent in the block be sent here, and no work be done in this process."""
        engine = "sframe_spark.engine"
        with contextlib.ExitStack() as stack:
            for name, value in {
                f"{engine}.runtime.task_runners.run_callables": self.run_callables,
                f"{engine}.runtime.task_runners.get_session": lambda *size: None,
                f"{engine}.runtime.task_runners.default_parallelism": lambda session: self.cores,
                f"{engine}.runtime.task_runners.require_readable": lambda node: None,
                f"{engine}.runtime.task_runners.require_writable": lambda directory: None,
                f"{engine}.spark.page_header_checks.run_callables": self.run_callables,
                f"{engine}.runtime.result_storage.query.write_parquet": self.query,
                # Which reads some rows.
                f"{engine}.shapes.spark_query.has_few_groups": lambda node, keys: not self.many_groups,
                f"{engine}.physical.site.is_spark_local": lambda: False,
                f"{engine}.physical.site.is_started": lambda: True,
                # The rows stand for so many that Spark exchanges them.
                f"{engine}.costs.MAX_RUNS_OF_SHUFFLE": 0,
                f"{engine}.runtime.result_storage.require_writable": lambda directory: None,
                # Nothing is known of the files from other simulations.
                "sframe_spark.storage.parquet.checksums.VERIFIED_COLUMNS": VerifiedColumns(),
                "sframe_spark.storage.segments.pruning.segment_footer": self.footer,
            }.items():
                stack.enter_context(mock.patch(name, value))
            yield


def written(task: RangeTask, directory: str, number: int) -> SegmentEntry:
    """All rows of the range, in a file with nothing in it."""
    rows, types = task.stop - task.start, task.plan.facts[-1].schema
    name, size = f"segment-{number:06d}.parquet", rows * len(types) * 8 + FOOTER_BYTES
    make_hole(Path(directory, name), size)
    edges: dict[ColumnType, tuple[Scalar, Scalar]] = {INT: (0, 1), FLOAT: (0.0, 1.0), STR: ("a", "b")}
    known = tuple(bounded(*edges[kind]) for kind in types)
    return SegmentEntry(name, number, rows, known, size=size, tail=(FOOTER_BYTES, number), pages=tuple(range(len(types) + 1)))


def summarized(task: RangeTask, places: Sequence[int]) -> list[Any]:
    """The states before all rows."""
    found = []
    for place in places:
        operator = task.plan.operators[place]
        assert isinstance(operator, SequentialOperator)
        found.append(operator.carried(operator.initial_state(task.plan.input_facts(place))))
    return found


def part(task: RangeTask, operator: DecomposableOperator, facts: Sequence[Facts], max_bytes: float, tries: EarlyStop) -> Any:
    """What some rows contribute."""
    numbers = np.arange(ROWS_OF_A_PART) % FEW_GROUPS
    columns = [pa.array(numbers).cast(kind.physical) for kind in facts[0].schema]
    return operator.part_of(Chunk(tuple(columns), ROWS_OF_A_PART), facts)
