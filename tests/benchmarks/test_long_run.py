"""What the long run makes is what NumPy makes, and its checks notice each kind of wrong row."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import attrs
import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks.scale import long_rows
from benchmarks.scale.fake_frames import write_fake
from benchmarks.scale.long_checks import Files, WrongRowsError
from benchmarks.scale.long_rows import KEYS, Expected, right_places
from benchmarks.scale.long_run import FRAME, RIGHT, STEPS, Place, Step, foretold
from benchmarks.scale.model import Cluster
from benchmarks.scale.shapes import Shape
from sframe_spark import config, load_sframe
from sframe_spark.engine import costs
from sframe_spark.engine.physical import site
from sframe_spark.engine.runtime.division_into_row_ranges import row_ranges
from sframe_spark.engine.shapes.range_shuffle import runs_of_tasks, tasks_for
from sframe_spark.explain.dry_run import plan_dry_run
from tests.cluster.object_store import object_store
from tests.strategies import HASH_JOIN_BY_TASKS, RANGE_SHUFFLE_BY_TASKS

ROWS, JOINED = KEYS, KEYS // 10
CHECKED = [step for step in STEPS if step.check is not None]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """Saved rows, and the right side of the join."""
    place = Place(str(tmp_path_factory.mktemp("long-run")), ROWS, JOINED)
    for step in STEPS:
        if step.name in (FRAME, RIGHT):
            save(step, place)
    return place


def save(step: Step, place: Place) -> Files:
    """Run a step, and return the files of its result."""
    result = step.result(place)
    assert result is not None
    with config.using(default_segments=3):
        result.save(place.path(step.name))
    return Files(fsspec.filesystem("file"), place.path(step.name))


def swapped(table: pa.Table) -> pa.Table:
    """Two rows in each other's place."""
    return table.take([1, 0, *range(2, len(table))])


def doubled(table: pa.Table) -> pa.Table:
    """One row twice, another one missing."""
    return table.take([0, 0, *range(2, len(table))])


def shortened(table: pa.Table) -> pa.Table:
    """The last row missing."""
    return table.slice(0, len(table) - 1)


def changed(table: pa.Table) -> pa.Table:
    """A number that is one more than it should be, of the last column of numbers."""
    position = max(position for position, field in enumerate(table.schema) if field.name != "_key" and not pa.types.is_string(field.type))
    column = table.column(position).to_numpy().copy()
    column[len(column) // 2] += 1
    return table.set_column(position, table.schema.field(position), pa.array(column))


def damage(files: Files, change: Callable[[pa.Table], pa.Table]) -> None:
    """Write a file in the middle anew."""
    paths = files.paths()
    path = Path(paths[len(paths) // 2])
    pq.write_table(change(pq.read_table(path)), path)


def test_numpy_and_frames_make_the_same_rows() -> None:
    rows, numbers = 3 * KEYS, np.arange(2 * KEYS - 5, 2 * KEYS + 5)
    frame = long_rows.made(rows)[2 * KEYS - 5 : 2 * KEYS + 5]
    expected = pa.table(Expected(numbers).columns, names=long_rows.NAMES)
    assert pa.table(frame).cast(expected.schema).equals(expected)


def test_each_key_is_once_in_a_block_and_each_partner_once() -> None:
    assert len(np.unique(Expected(np.arange(KEYS, 2 * KEYS)).keys)) == KEYS
    for joined in (JOINED, 3 * JOINED):
        assert len(np.unique(right_places(np.arange(joined), joined))) == joined


@pytest.mark.parametrize("step", CHECKED, ids=lambda step: step.name)
def test_right_rows_pass_and_wrong_ones_do_not(step: Step, place: Place, tmp_path: Path) -> None:
    assert step.check is not None
    files = save(step, place) if step.name != FRAME else Files(fsspec.filesystem("file"), place.path(FRAME))
    step.check(files, place)
    whole = {path: Path(path).read_bytes() for path in files.paths()}
    # Groups have no order that they promise here.
    changes = (doubled, shortened, changed) if step.name in ("words", "groups") else (swapped, doubled, shortened, changed)
    for change in changes:
        damage(files, change)
        with pytest.raises(WrongRowsError):
            step.check(files, place)
        for path, content in whole.items():
            Path(path).write_bytes(content)
    step.check(files, place)


def test_the_model_foretells_each_step_but_one() -> None:
    assert [step.name for step in STEPS if not foretold(step, 10**9, 2)] == [RIGHT]


@pytest.mark.parametrize("operator", ["sort", "join"])
def test_tasks_exchange_a_thousand_million_rows(operator: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(site, "is_spark_local", lambda: False)
    for name, rows in (("rows", 10**9), ("others", 10**8)):
        write_fake(tmp_path / name, Shape(rows, 4, rows // config.segment_rows))
    frame, other = (load_sframe(str(tmp_path / name)) for name in ("rows", "others"))
    made = frame.sort("i") if operator == "sort" else frame.join(other, on="i")
    expected = RANGE_SHUFFLE_BY_TASKS if operator == "sort" else HASH_JOIN_BY_TASKS
    assert plan_dry_run(made._node).sections[-1].strategy == expected


@pytest.mark.parametrize("cores", [2, 100, 10_000])
def test_tasks_of_a_shuffle_are_few_enough(cores: int) -> None:
    rows, ranges = 10**9, 954
    size = rows * 32
    found = row_ranges(rows, size, None, Cluster(cores), shuffled=tasks_for(size, ranges))
    assert min(4 * cores, size // costs.MAX_BYTES_OF_TASK) <= len(found)
    assert ranges * runs_of_tasks(size, len(found)) <= costs.MAX_RUNS_OF_SHUFFLE
    assert len(row_ranges(rows, size, None, Cluster(cores))) == max(cores, 954)


def test_files_on_an_object_store_are_found() -> None:
    with object_store() as store, config.using(temporary_directory=f"{store.uri}/tmp", storage_options={"s3://": store.options}):
        place = Place(f"{store.uri}/saved", ROWS, JOINED)
        save(STEPS[1], place)
        files = Files(store.files, place.path(FRAME))
        assert STEPS[1].check is not None and files.size() > ROWS
        STEPS[1].check(files, place)
        with pytest.raises(WrongRowsError):
            STEPS[1].check(files, attrs.evolve(place, rows=2 * ROWS))
