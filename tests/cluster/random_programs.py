"""Random programs on a cluster, whose rows must be those of plain Python and of this process alone.

    python -m tests.cluster.random_programs SET-UP [FIRST COUNT]

starts the cluster, and a driver that checks COUNT programs, those of the seeds from FIRST on. Their tables are in memory, in files, saved frames, or
DataFrames of Spark; how rows are exchanged is chosen for each result.
"""

from __future__ import annotations

import json
import logging
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import attrs
import pyarrow as pa

from sframe_spark import SFrame, config, load_sframe
from sframe_spark.engine import costs
from sframe_spark.engine.materialize_options import MaterializeOptions
from sframe_spark.planner.graph_traversal import postorder
from sframe_spark.planner.node import PlannerNode
from sframe_spark.testing.oracle import Oracle, Rows
from sframe_spark.testing.oracle_functions import rows_equal
from sframe_spark.types import ARRAY, DATETIME, FLOAT, INT, STR
from tests.cluster.machine import PROJECT
from tests.cluster.run import start_session
from tests.cluster.set_ups import SET_UPS, machines
from tests.random_programs.equivalence import EngineRunner, NotEquivalent, check_facts, check_rows
from tests.random_programs.plans import RandomProgram, random_program
from tests.random_tables import column_array

FIRST, COUNT, MOST_STEPS = 5_100_000, 200, 6
SECONDS_OF_PROGRAM, PROGRAMS_OF_LINE = 60, 25
NONE_DIFFER = ", 0 differ;"
# Few rows are several tasks, and several ranges of keys.
FEW = {"MIN_ROWS_OF_TASK": 2, "MIN_BYTES_OF_TASK": 1, "MIN_ROWS_SPLIT": 4, "BYTES_OF_RANGE_OF_TASK": 50, "STEPS_OF_SMALL_ROW": 10_000}
# Types that a DataFrame gives back as they are.
OF_SPARK = (INT, FLOAT, STR, DATETIME, ARRAY)


@attrs.frozen(eq=False)
class ClusterRunner(EngineRunner):
    """Computes each result in one of the ways that a cluster has, chosen at random.

    Parameters
    ----------
    choose
        Randomness.
    shares
        Whether results may be larger than what the driver collects.
    """

    options: MaterializeOptions = attrs.field(factory=MaterializeOptions, init=False)
    choose: random.Random
    shares: bool

    def rows(self, node: PlannerNode) -> Rows:
        """Rows of the executed plan."""
        with self._some_way() as options:
            return EngineRunner(options).rows(node)

    def materialize(self, node: PlannerNode) -> None:
        """Execute and splice."""
        with self._some_way() as options:
            EngineRunner(options).materialize(node)

    @contextmanager
    def _some_way(self) -> Iterator[MaterializeOptions]:
        choose = self.choose
        options = MaterializeOptions(segments=choose.choice((None, 1, 2, 5)), in_memory=choose.choice((0, 3, 100_000)))
        few = choose.choice((0, 1, 2, 5))
        budget = choose.choice((0, config.memory_budget)) if self.shares else config.memory_budget
        with config.using(small_rows=few, single_task_rows=0, batch_rows=choose.choice((2, 3, 100)), memory_budget=budget):
            yield options


def results_of(program: RandomProgram) -> RandomProgram:
    """The results of a program that it does not go on with."""
    read = {id(child) for node in program.nodes for child in node.inputs}
    kept = [place for place, node in enumerate(program.nodes) if id(node) not in read and node.inputs]
    return RandomProgram(tuple(program.nodes[place] for place in kept), tuple(program.expected[place] for place in kept))


def placed(program: RandomProgram, choose: random.Random, spark: Any, place: str, kinds: Counter[str]) -> RandomProgram:
    """The same program over tables in other places; how many of each kind there are is counted."""
    copies: dict[int, PlannerNode] = {}
    for node in postorder(program.nodes):
        copies[id(node)] = PlannerNode(node.operator, [copies[id(child)] for child in node.inputs])
        if not node.inputs:
            kind = choose.choice(("as it is", "saved", "of Spark", "of Spark"))
            moved = table_in(kind, node, spark, f"{place}/table-{choose.getrandbits(64):x}")
            kinds[kind if moved is not None else "as it is"] += 1
            copies[id(node)] = moved or copies[id(node)]
    return RandomProgram(tuple(copies[id(node)] for node in program.nodes), program.expected)


def table_in(kind: str, leaf: PlannerNode, spark: Any, path: str) -> PlannerNode | None:
    """A table with the rows of another one, in another place; None where that has not all of its types."""
    names = [f"c{number}" for number in range(leaf.facts.width)]
    if kind == "saved" and names:
        SFrame(_node=PlannerNode(leaf.operator, []), _names=names).save(path)
        return load_sframe(path)._node
    if kind == "of Spark" and names and leaf.facts.length.rows and all(kind in OF_SPARK for kind in leaf.schema):
        rows = Oracle().rows(leaf)
        columns = [column_array([row[number] for row in rows], column) for number, column in enumerate(leaf.schema)]
        # The rows of one partition are in the order in which they came.
        made = SFrame(spark.createDataFrame(pa.table(columns, names=names)).coalesce(1))._node
        return made if made.schema == leaf.schema else None
    return None


def check(seed: int, spark: Any, place: str, shares: bool, kinds: Counter[str]) -> None:
    """Check a program.

    Raises
    ------
    NotEquivalent
        If a result has other rows on the cluster than in plain Python, or in this process alone.
    """
    choose = random.Random(seed)
    # Plain Python reads the segments of a table from a directory only.
    with config.using(temporary_directory=tempfile.gettempdir() if "://" in place else config.temporary_directory):
        program = results_of(random_program(choose, most_steps=MOST_STEPS))
    found, plans = check_rows(placed(program, choose, spark, place, kinds), ClusterRunner(choose, shares), choose)
    check_facts(found, plans)
    for number, (node, rows) in enumerate(zip(program.copy().nodes, found.expected, strict=True)):
        alone = EngineRunner().rows(node)
        if not rows_equal(rows, alone):
            raise NotEquivalent(f"node {number} has rows {rows} on the cluster, and {alone} in this process")


def drive(arguments: str) -> None:
    """Check programs in one session; what differs is told by its seed, and the last line says how many did."""
    url, settings, place, options, shares, first, count = json.loads(arguments)
    logging.disable(logging.CRITICAL)
    session = start_session(url, settings)
    config.storage_options = {"s3://": options} if options else {}
    config.temporary_directory = f"{place}/tmp"
    if "://" not in place:
        os.makedirs(f"{place}/tmp", exist_ok=True)
    for name, value in FEW.items():
        setattr(costs, name, value)
    kinds, faults, start = Counter[str](), 0, time.monotonic()
    for seed in range(first, first + count):
        try:
            check(seed, session, place, shares, kinds)
        except Exception as error:
            faults += 1
            say(f"seed {seed}: {type(error).__name__}: {error}")
        if (seed + 1 - first) % PROGRAMS_OF_LINE == 0:
            say(f"up to seed {seed}, {time.monotonic() - start:.0f} s")
    session.stop()
    tables = ", ".join(f"{number} {kind}" for kind, number in sorted(kinds.items()))
    say(f"{count} programs from seed {first} on, {faults} differ; tables: {tables}; {time.monotonic() - start:.0f} s")


def say(line: str) -> None:
    """Print a line."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def run(name: str, directory: Path, first: int = FIRST, count: int = COUNT) -> Iterator[str]:
    """Start a cluster, check programs on it, and yield what the driver says, line by line."""
    set_up = SET_UPS[name]
    with machines(set_up, directory) as place:
        options = {} if place.store is None else place.store.options
        shares = set_up.shares_directory or set_up.has_store
        arguments = json.dumps([place.url, place.settings, place.place, options, shares, first, count])
        command = [sys.executable, "-m", "tests.cluster.random_programs", "drive", arguments]
        log = directory / "driver.log"
        with log.open("w", encoding="utf-8") as told:
            driver = subprocess.Popen(command, cwd=PROJECT, env=place.environment, text=True, stdout=subprocess.PIPE, stderr=told)
            watchdog = threading.Timer(120 + SECONDS_OF_PROGRAM * count, driver.kill)
            try:
                watchdog.start()
                assert driver.stdout is not None
                yield from (line.rstrip() for line in driver.stdout)
                assert driver.wait() == 0, log.read_text(errors="replace")[-4000:]
            finally:
                watchdog.cancel()
                driver.kill()
                driver.communicate()


def main(arguments: Sequence[str]) -> None:
    """Run what the command line asks for."""
    if arguments[0] == "drive":
        drive(arguments[1])
        return
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as directory:
        last = ""
        for last in run(arguments[0], Path(directory), *map(int, arguments[1:3])):
            say(f"{arguments[0]}: {last}")
    sys.exit(0 if NONE_DIFFER in last else 1)


if __name__ == "__main__":
    main(sys.argv[1:])
