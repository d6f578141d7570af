"""What an operator costs, given the frame and the cluster: numbers of the engine's own planning, and a few constants that runs give."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar

import attrs

from benchmarks.scale.programs import Program, Way
from benchmarks.scale.shapes import VALUE_BYTES, Shape
from sframe_spark.engine import costs
from sframe_spark.engine.runtime.division_into_row_ranges import row_ranges
from sframe_spark.engine.spark.shuffle_partitions import Flow, partitions_for
from sframe_spark.planner.node import PlannerNode

# Spark's own: most bytes of files that a task of a scan reads, as how many bytes opening one counts, partitions of an exchange, and the largest side
# of a join that goes to all tasks.
SCAN_BYTES, OPENING_BYTES, EXCHANGE_PARTITIONS, BROADCAST_BYTES = 128 << 20, 4 << 20, 200, 10 << 20
# How often all rows go through an exchange, as the stages of measured runs show.
EXCHANGES: Mapping[str, int] = {"group-by, many groups": 2, "unique": 2, "join, large sides": 2, "sort": 1}
SEARCHED, JOIN = "as-of join", "join, large sides"


@attrs.frozen
class Cluster:
    """Who does the work: as many pieces at a time as there are cores."""

    is_out_of_process: ClassVar[bool] = True
    cores: int

    def parallelism(self) -> int:
        """The cores."""
        return self.cores

    def require_readable(self, node: PlannerNode) -> None:
        """Nothing is read."""

    def require_writable(self, directory: str) -> None:
        """Nothing is written."""


@attrs.frozen
class Cost:
    """What a run takes.

    Parameters
    ----------
    jobs
        How often tasks are started and waited for.
    tasks
        How many tasks there are in all.
    partitions
        Into how many partitions rows go where they are exchanged.
    passes
        How often values are read from files, in rows of the frame.
    opened
        How many files are opened, in all passes.
    read, written, exchanged
        Bytes of values.
    """

    jobs: int = 0
    tasks: int = 0
    partitions: int = 0
    passes: int = 0
    opened: int = 0
    read: int = 0
    written: int = 0
    exchanged: int = 0


def cost(program: Program, shape: Shape, cores: int) -> Cost:
    """What a program takes for a frame of a shape."""
    if program.way is Way.DRIVER:
        return Cost()
    return of_query(program, shape, cores) if program.way is Way.QUERY else of_ranges(program, shape, cores)


def of_ranges(program: Program, shape: Shape, cores: int) -> Cost:
    """Tasks over ranges of rows, as many as the engine makes, one pass more for each running value."""
    count = tasks_of_pass(program, shape, cores)
    is_running = program.name == "cumulative sum"
    passes = 1 + (is_running and count > 1)
    columns, made = program.columns(shape.columns)
    searched = shape.quotes if program.name == SEARCHED else None
    opened = max(shape.segments, count) * passes + (0 if searched is None else max(searched.segments, count))
    read = shape.rows * columns * VALUE_BYTES * passes + (0 if searched is None else searched.rows * 2 * VALUE_BYTES)
    written = int(shape.rows * program.share) * made * VALUE_BYTES if program.way is Way.RANGES else 0
    return Cost(passes, count * passes - (passes > 1), 0, passes, opened, read, written)


def tasks_of_pass(program: Program, shape: Shape, cores: int) -> int:
    """How many ranges the engine cuts the rows into: by the widest of what is read and made."""
    columns, made = program.columns(shape.columns)
    return len(row_ranges(shape.rows, shape.rows * max(columns, made) * VALUE_BYTES, None, Cluster(cores)))


def of_query(program: Program, shape: Shape, cores: int) -> Cost:
    """A query of Spark: files are checked, scanned, and sorted in the order of the result, before which Spark samples."""
    columns, made = program.columns(shape.columns)
    kept = int(shape.rows * program.share)
    checks = min(shape.segments, costs.MAX_CHECK_TASKS) if shape.size > costs.MAX_BYTES_CHECKED_LOCALLY else 0
    scan = scan_tasks(shape, cores)
    passes, count = 1 + (program.name == "sort"), exchanges(program, shape)
    before, after = (
        (columns * VALUE_BYTES + costs.BYTES_OF_ROW_KEY_IN_SPARK) * shape.rows,
        (made * VALUE_BYTES + costs.BYTES_OF_ROW_KEY_IN_SPARK) * kept,
    )
    exchanged = after if count == 1 else before + after
    partitions = exchange_partitions(program, shape, cores)
    tasks = checks + scan * passes + partitions * count
    return Cost(
        jobs=(checks > 0) + passes + 1,
        tasks=tasks,
        partitions=partitions,
        passes=passes,
        opened=shape.segments * passes + checks,
        read=shape.rows * columns * VALUE_BYTES * passes,
        written=kept * made * VALUE_BYTES,
        exchanged=exchanged,
    )


def exchanges(program: Program, shape: Shape) -> int:
    """How often all rows of a query go through an exchange, the last one in the order of the result."""
    return 1 if program.name == JOIN and is_broadcast(shape.quotes) else EXCHANGES[program.name]


def scan_tasks(shape: Shape, cores: int) -> int:
    """How many tasks Spark reads files by: it puts short ones together and cuts long ones."""
    file = shape.size / shape.segments
    most = min(SCAN_BYTES, max(OPENING_BYTES, (shape.size + shape.segments * OPENING_BYTES) / cores))
    if file > most:
        return shape.segments * math.ceil(file / most)
    return math.ceil(shape.segments / max(1, most // (file + OPENING_BYTES)))


def is_broadcast(side: Shape) -> bool:
    """Whether Spark sends a side of a join to all tasks, so that the other one stays where it is."""
    return side.rows * 2 * VALUE_BYTES <= BROADCAST_BYTES


def exchange_partitions(program: Program, shape: Shape, cores: int) -> int:
    """How many partitions the engine lets exchanges have: by the bytes of the rows that are read, and nobody knows how many rows a join makes."""
    columns, _ = program.columns(shape.columns)
    most = float((columns * VALUE_BYTES + costs.BYTES_OF_ROW_KEY_IN_SPARK) * shape.rows)
    return partitions_for(Flow(most, program.name != JOIN, most), EXCHANGE_PARTITIONS, cores)
