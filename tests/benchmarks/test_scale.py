"""A driver that plans for a cluster over very many segments: the numbers of what it does, and that the model of costs tells the same."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import attrs
import pytest

from benchmarks.scale import model
from benchmarks.scale.fake_cluster import FakeCluster, NotRun
from benchmarks.scale.fake_frames import write_fake
from benchmarks.scale.fitted import fit
from benchmarks.scale.measured_runs import TASKS, load
from benchmarks.scale.model import JOIN, cost, exchanges, is_broadcast, tasks_of_pass
from benchmarks.scale.programs import BY_NAME, PROGRAMS, Frames, Way, opened
from benchmarks.scale.shapes import LARGE, Shape
from benchmarks.scale.simulated_driver import RESULTS, SIMULATED, simulate
from sframe_spark.engine import costs
from sframe_spark.engine.spark.shuffle_partitions import flow_of, partitions_for
from sframe_spark.storage.manifest import sidecar_file_of_segment_statistics_and_checksums as sidecar_file

SHAPE, CORES = Shape(10**8, 5, 10_000), 800
RANGES = [program.name for program in PROGRAMS if program.way in (Way.RANGES, Way.PARTS)]
QUERIES = [program.name for program in PROGRAMS if program.way is Way.QUERY]
# Those that stand for the others, each of which takes a second or two.
PLANNED = ["cumulative sum", "as-of join", "group-by, 100 groups"]
QUERIED = ["group-by, many groups", "sort"]
# What is told of a segment to the task that reads it, with five columns of check sums.
MOST_BYTES_OF_SEGMENT = 1_000


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A frame of ten thousand segments without rows, and one that is searched."""
    directory = tmp_path_factory.mktemp("scale")
    write_fake(directory / "rows", SHAPE)
    write_fake(directory / "quotes", SHAPE.quotes, SHAPE.rows // SHAPE.quotes.rows)
    return directory


@pytest.fixture
def frames(place: Path) -> Frames:
    """Both, opened."""
    return opened(str(place / "rows"), str(place / "quotes"))


@pytest.fixture
def blocks() -> Iterator[mock.Mock]:
    """Counts the blocks that are read of what is beside a manifest."""
    with mock.patch.object(sidecar_file, "read_block", wraps=sidecar_file.read_block) as counting:
        yield counting


def test_opening_reads_a_block_of_each_frame(place: Path, blocks: mock.Mock) -> None:
    frames = opened(str(place / "rows"), str(place / "quotes"))
    # The smaller one has its segments in the text of its manifest.
    assert blocks.call_count == 1
    assert len(frames.frame) == SHAPE.rows and blocks.call_count == 1
    for name in ("len", "head, planned", "[i], planned"):
        done = simulate(name, SHAPE, frames, CORES)
        assert (done.jobs, done.footers, done.queries) == ([], 0, 0)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", PLANNED)
def test_the_model_tells_the_tasks_that_the_engine_plans(frames: Frames, blocks: mock.Mock, name: str) -> None:
    done, modelled = simulate(name, SHAPE, frames, CORES), cost(BY_NAME[name], SHAPE, CORES)
    assert len(done.jobs) == modelled.jobs == modelled.passes
    assert sum(job["works"] for job in done.jobs) == modelled.tasks
    assert done.jobs[-1]["works"] == tasks_of_pass(BY_NAME[name], SHAPE, CORES)
    # Bounds of a filter are compared at once; then the first and the last segment that match are looked into.
    assert done.footers <= 2 and done.queries == 0
    assert all(job["own_bytes"] <= MOST_BYTES_OF_SEGMENT * (SHAPE.segments + job["works"]) for job in done.jobs)
    # Some for each column of check sums and of facts that somebody asked for, and none for each segment.
    assert blocks.call_count <= 10


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", QUERIED)
def test_files_of_a_query_are_checked_by_few_works(frames: Frames, name: str) -> None:
    done = simulate(name, SHAPE, frames, CORES)
    assert done.queries == 1 and done.footers == 0
    assert costs.MAX_CHECK_TASKS <= done.jobs[-1]["works"] <= 2 * costs.MAX_CHECK_TASKS
    assert done.jobs[-1]["own_bytes"] <= MOST_BYTES_OF_SEGMENT * (SHAPE.segments + SHAPE.quotes.segments + costs.MAX_CHECK_TASKS)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", QUERIES)
def test_the_model_tells_the_partitions_of_exchanges_that_the_engine_chooses(frames: Frames, name: str) -> None:
    with FakeCluster(CORES, many_groups=True).attached(), pytest.raises(NotRun) as query:
        BY_NAME[name].run(frames)
    flow = flow_of(query.value.root)
    # As for a frame that is a hundred times as long on a cluster with the setting that Spark starts with.
    with mock.patch.object(model, "EXCHANGE_PARTITIONS", 2):
        modelled = cost(BY_NAME[name], SHAPE, 4)
    assert partitions_for(flow, 2, 4) == modelled.partitions in (32, 64)
    # Keys and values of eight bytes, and no more columns than are read.
    assert flow.most <= modelled.exchanged


def test_what_a_task_is_told_follows_its_rows_and_not_the_frame(tmp_path: Path) -> None:
    told = []
    for segments in (300, 3_000):
        # As many segments for a task in each.
        shape = Shape(segments * 100_000, 10, segments)
        scratch = tmp_path / str(segments)
        scratch.mkdir()
        write_fake(scratch / "rows", shape)
        write_fake(scratch / "quotes", shape.quotes, 20)
        done = simulate("derived column", shape, opened(str(scratch / "rows"), str(scratch / "quotes")), 1)
        told.append(done.jobs[0]["own_bytes"] / done.jobs[0]["works"])
    assert told[1] < 1.05 * told[0]


def test_numbers_of_the_page_are_of_the_engine_as_it_is() -> None:
    runs = {run["program"]: run for run in json.loads(RESULTS.read_text(encoding="utf-8"))["runs"]}
    assert set(SIMULATED) <= set(runs)
    for name in RANGES:
        run = runs[name]
        assert (run["rows"], run["columns"], run["segments"]) == attrs.astuple(LARGE)
        assert sum(job["works"] for job in run["jobs"]) == cost(BY_NAME[name], LARGE, run["cores"]).tasks
    assert all(run["peak_mib"] < 4_096 for run in runs.values())


def test_the_fit_has_no_negative_constant_and_tells_most_runs_within_a_factor_of_two() -> None:
    found = fit(load())
    assert min(found.constants.values()) >= 0
    within = [0.5 <= ratio <= 2 for ratio in found.residuals]
    assert sum(within) >= 0.8 * len(within) > 50


@pytest.mark.parametrize("name", QUERIES)
def test_spark_exchanged_rows_as_often_as_the_model_says(name: str) -> None:
    runs = [run for run in load() if run["program"] == name and run["by"] == TASKS]
    assert runs
    for run in runs:
        program, shape = BY_NAME[name], Shape(run["rows"], run["columns"], run["segments"])
        # One for each exchange, one that samples, one for the result; groups are tried in parts before, and a small side of a join is sent.
        others = int(program.name in ("group-by, many groups", "unique")) + int(program.name == JOIN and is_broadcast(shape.quotes))
        checks = int(shape.size > costs.MAX_BYTES_CHECKED_LOCALLY)
        assert run["stages"] - others - 2 in (exchanges(program, shape), exchanges(program, shape) + checks)
        # Compressed, and short numbers are short.
        assert 0.05 < run["exchanged"] / cost(program, shape, run["cores"]).exchanged < 1


def test_parts_of_many_tasks_stay_below_what_a_driver_may_collect(frames: Frames) -> None:

    most = []
    with mock.patch.object(FakeCluster, "answer", lambda self, work: most.append(work.args[3]) or answered(self, work)):
        simulate("group-by, 100 groups", SHAPE, frames, CORES)
    assert len(most) == tasks_of_pass(BY_NAME["group-by, 100 groups"], SHAPE, CORES)
    assert sum(most) <= max(costs.MAX_BYTES_OF_PARTIAL_STATES_SENT, costs.MAX_BYTES_OF_PARTIAL_STATES)


answered = FakeCluster.answer
