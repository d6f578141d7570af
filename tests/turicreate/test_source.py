"""Archives of Turi Create as sources: what is read, how much of it at a time, by whom, and what becomes of them in plans."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest

from sframe_spark import SArray, SFrame, aggregate, load_sarray, load_sframe
from sframe_spark.config import config
from sframe_spark.engine.runtime.pipeline import Pipeline, PipelineRunner
from sframe_spark.errors import InvalidArgumentError, StorageError
from sframe_spark.planner.plan_json import graph_from_json, graph_to_json
from sframe_spark.turicreate import archive_files, source as module
from sframe_spark.turicreate.archive import open_archive
from sframe_spark.turicreate.archive_row_reader import ArchiveReader
from sframe_spark.turicreate.source import ArchiveSource
from sframe_spark.turicreate.string_and_object_decoding import INTEGER, LIST, REAL, TEXT, VECTOR
from tests.random_tables import MadeBlock, MadeColumn, made_column, run_bytes, write_archive

ROWS = 1000


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A frame of a thousand rows in two file_format, of blocks of a hundred rows."""
    counts = [[100] * 5, [100] * 5]
    columns = {
        "n": made_column(INTEGER, range(ROWS), counts),
        "f": made_column(REAL, [row / 4 for row in range(ROWS)], counts),
        "t": made_column(TEXT, [f"row {row}" for row in range(ROWS)], [[250, 250], [500]]),
        "l": made_column(LIST, [[row, "x"] for row in range(ROWS)], counts),
    }
    write_archive(str(tmp_path / "old"), columns)
    return tmp_path / "old"


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int, int]]:
    """Which bytes of which files are read."""
    found: list[tuple[str, int, int]] = []
    pread = os.pread

    def counting(descriptor: int, size: int, offset: int) -> bytes:
        found.append((os.path.basename(os.readlink(f"/proc/self/fd/{descriptor}")), offset, size))
        return pread(descriptor, size, offset)

    monkeypatch.setattr(os, "pread", counting)
    return found


def test_the_index_alone_tells_schema_and_length(place: Path, reads: list[Any]) -> None:
    frame = load_sframe(str(place))
    assert (len(frame), frame.column_types(), frame.shape) == (ROWS, [int, float, str, list], (ROWS, 4))
    assert len(frame[["t"]]) == len(frame["n"] * 2) == ROWS
    assert reads == []


LOOKS: list[tuple[Callable[[SFrame], Any], Any, int, set[str]]] = [
    (lambda frame: list(frame["n"].head(3)), [0, 1, 2], 1, {"m_1.0000"}),
    (lambda frame: frame["n"][999], 999, 1, {"m_1.0001"}),
    (lambda frame: list(frame["n"][198:202]), [198, 199, 200, 201], 2, {"m_1.0000"}),
    (lambda frame: list(frame["t"][499:501]), ["row 499", "row 500"], 2, {"m_1.0000", "m_1.0001"}),
    (lambda frame: list(frame[["n", "t"]].head(1)), [{"n": 0, "t": "row 0"}], 2, {"m_1.0000"}),
    (lambda frame: list(frame.tail(1)["f"]), [249.75], 1, {"m_1.0001"}),
    (lambda frame: list((frame["n"] + 1).head(1)), [1], 1, {"m_1.0000"}),
]


@pytest.mark.parametrize(("look", "expected", "blocks", "files"), LOOKS)
def test_only_blocks_that_hold_what_is_asked_for_are_read(
    place: Path, reads: list[tuple[str, int, int]], look: Callable[[SFrame], Any], expected: Any, blocks: int, files: set[str]
) -> None:
    archive_files.footer_of.cache_clear()
    assert look(load_sframe(str(place))) == expected
    # Of each file that is opened two readings are of its footer.
    assert len(reads) == blocks + 2 * len(files)
    assert {file for file, _, _ in reads} == files


def test_who_goes_through_the_rows_reads_each_block_once(place: Path, reads: list[Any]) -> None:
    with config.using(batch_rows=7):
        assert [row["n"] for row in load_sframe(str(place))] == list(range(ROWS))
    data = [(file, offset) for file, offset, _ in reads]
    assert len(data) == len(set(data)) <= 10 + 10 + 3 + 10 + 4


def test_rows_that_are_shifted_are_read_once_as_well(place: Path, reads: list[Any]) -> None:
    column = load_sframe(str(place))["n"]
    with config.using(batch_rows=7):
        assert list(column - column.shift(1))[:3] == [None, 1, 1]
    assert len(reads) <= 14


def test_sizes_are_told_without_reading(place: Path, reads: list[Any]) -> None:
    source = ArchiveSource.of(open_archive(str(place)))
    assert source.sizes_between(0, 10)[:2] == (80.0, 80.0)
    assert all(size > 0 for size in source.sizes_between(0, 1))
    assert source.column_sizes((), (), source.infer_type(())) == source.sizes_between(0, 1)
    assert reads == []
    exact = source.reader().bytes_between(0, 100)
    assert exact == pytest.approx(source.read(0, 100).size, rel=0.5)


def test_batches_of_long_rows_are_short(tmp_path: Path) -> None:
    """Few bytes of a file may be many rows of long texts, or of long vectors: what comes out of a batch is what counts."""
    entry, rows = b"x" * 10_000, 1 << 12
    texts = b"\x01\x02\x01\x02" + b"\x7f" + len(entry).to_bytes(8, "little") + entry + b"\x00\x00" * (rows // 128)
    vectors = b"\x01\x03\x00" + run_bytes([1280] * rows) + b"\x01" + b"\x00\x00" * (rows * 10)
    columns = {"t": MadeColumn(TEXT, [[MadeBlock(texts, rows, 3, True)]]), "v": MadeColumn(VECTOR, [[MadeBlock(vectors, rows, 11, True)]])}
    write_archive(str(tmp_path / "old"), columns)
    node = module.archive_source(open_archive(str(tmp_path / "old")))
    with config.using(batch_bytes=4 << 20):
        plan = Pipeline.of(node)
        sizes = []
        for chunk in PipelineRunner(plan).stream(0, 2000, config.batch_rows):
            sizes.append(chunk.size)
    assert len(sizes) > 1
    assert max(sizes) <= 8 << 20


def test_columns_and_rows_are_those_of_the_whole(place: Path) -> None:
    source = ArchiveSource.of(open_archive(str(place)))
    part = source.with_columns([3, 0]).rows_between(95, 510)
    assert part.row_count == 415
    assert part.read(0, 2).columns[1].to_pylist() == [95, 96]
    assert part.read(400, 900).rows == 15
    assert part.describe().endswith("columns [3, 0], rows 95..510")
    nothing = source.with_columns([])
    assert (nothing.read(3, 7).rows, nothing.read_all().rows) == (4, ROWS)
    assert [chunk.rows for chunk in source.rows_between(5, 5).read_batches()] == [0]
    assert sum(chunk.rows for chunk in source.read_batches()) == ROWS


def test_sources_of_one_archive_are_equal_and_of_another_reading_of_changed_files_not(place: Path) -> None:
    first, second = (ArchiveSource.of(open_archive(str(place))) for _ in range(2))
    assert first == second
    assert hash(first) == hash(second)
    assert first != ArchiveSource.of(open_archive(str(place), encoding_errors="replace"))
    os.utime(place / "m_1.sidx", ns=(0, 0))
    assert first != ArchiveSource.of(open_archive(str(place)))
    copy = pickle.loads(pickle.dumps(first))
    assert copy == first
    assert copy.read(0, 1).columns[0].to_pylist() == [0]


def test_a_plan_as_text_opens_the_archive_anew_and_believes_nothing(place: Path) -> None:
    node = (load_sframe(str(place))["n"] * 2)._node
    text = graph_to_json(node)
    assert "m_1" not in text
    assert list(SArray(_node=graph_from_json(text)))[:3] == [0, 2, 4]
    wrong = text.replace('"stop":1000', '"stop":1001').replace('"stop": 1000', '"stop": 1001')
    assert wrong != text
    with pytest.raises(InvalidArgumentError, match=r"rows 0\.\.1001 of a source of 1000"):
        graph_from_json(wrong)
    with pytest.raises(StorageError):
        graph_from_json(text.replace(str(place), str(place.parent / "none")))
    with pytest.raises(StorageError, match="not an absolute path"):
        graph_from_json(text.replace(str(place), "old"))
    with pytest.raises(InvalidArgumentError, match="names columns"):
        attrs.evolve(ArchiveSource.of(open_archive(str(place))), positions=(9,)).as_read()


def test_materialize_keeps_the_rows_and_needs_the_files_no_longer(place: Path) -> None:
    frame, column = load_sframe(str(place)), load_sarray(str(place / "m_1.sidx"))
    assert frame.is_materialized()
    frame.materialize()
    column.materialize()
    some = load_sframe(str(place))[["t", "n"]]
    some.materialize()
    for file in place.iterdir():
        file.unlink()
    assert [row["t"] for row in frame][:2] == ["row 0", "row 1"]
    assert list(column)[-1] == some["n"][-1] == 999


def test_many_rows_are_kept_as_segments_by_threads_without_a_spark(place: Path) -> None:
    with config.using(small_rows=10, segment_rows=300):
        frame = load_sframe(str(place))
        frame.materialize()
        assert frame._node.operator_type == "segment_source"
        assert "threads: archive_source over 1000 rows" not in str(frame.explain())
    assert list(frame["n"]) == list(range(ROWS))


def test_plans_show_names(place: Path) -> None:
    text = str(load_sframe(str(place))[["t", "n"]].sort("n").explain())
    assert "columns: t, n" in text
    assert f"archive_source[{place}, columns [2, 0], rows 0..1000]" in text


def test_an_archive_that_is_elsewhere_is_fetched(place: Path) -> None:
    import fsspec

    memory = fsspec.filesystem("memory")
    memory.put(str(place), "/project/old", recursive=True)
    try:
        frame = load_sframe("memory:///project/old")
        copy = Path(frame._node.operator.archive.location)
        assert list(frame["t"].head(2)) == ["row 0", "row 1"]
        assert frame["n"][999] == 999
        assert copy.is_dir()
        with pytest.raises(StorageError, match="there is no saved frame"):
            load_sframe("memory:///project")
        memory.pipe("/project/old/a b", b"")
        with pytest.raises(StorageError, match="no plain name"):
            load_sframe("memory:///project/old")
    finally:
        memory.rm("/project", recursive=True)


@pytest.mark.spark
def test_on_spark_as_here(place: Path) -> None:
    def results() -> list[Any]:
        frame = load_sframe(str(place))
        small = frame[frame["n"] % 3 == 0]
        grouped = frame.groupby(["f"], {"n": aggregate.SUM("n")}).sort("f")
        joined = frame.join(SFrame({"n": [5, 1, 7]}), on="n").sort("n")
        applied = frame["t"].apply(lambda text: len(text))
        looks = (small[["n", "l"]], grouped, joined, applied, frame.sort("t").head(3), frame["t"].unique())
        return [*map(list, looks), frame["n"].sum()]

    here = results()
    with config.using(small_rows=0):
        assert results() == here


@pytest.mark.spark
def test_errors_of_tasks_name_file_column_and_block(place: Path) -> None:
    content = bytearray((place / "m_1.0001").read_bytes())
    content[0] = 9
    (place / "m_1.0001").write_bytes(bytes(content))
    frame = load_sframe(str(place))
    with config.using(small_rows=0):
        for look in (lambda: frame.groupby("n", {"c": aggregate.COUNT()}).materialize(), lambda: list(frame["n"] + 1), lambda: frame["n"].sum()):
            with pytest.raises(StorageError, match=r"m_1\.0001 is damaged: column 'n', block 0 \(rows 500 to 600\)"):
                look()


@pytest.mark.spark
def test_rows_for_a_users_spark(place: Path) -> None:
    frame = load_sframe(str(place))[["n", "t"]]
    assert frame.to_spark().where("n > 997").orderBy("n").collect() == [(998, "row 998"), (999, "row 999")]
    with config.using(small_rows=10):
        frame.save(str(place.parent / "new"))
    assert list(load_sframe(str(place.parent / "new"))["n"]) == list(range(ROWS))


def test_other_blocks_are_evicted_although_a_read_raises(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = ArchiveReader(open_archive(str(place)), max_bytes=1)
    reader.read([0], 0, 100)
    read_bytes = archive_files.read_bytes

    def damaged(descriptor: int, path: str, offset: int, length: int) -> bytes:
        if len(reader._cached) == 2:
            raise StorageError("damaged")
        return read_bytes(descriptor, path, offset, length)

    monkeypatch.setattr(archive_files, "read_bytes", damaged)
    with pytest.raises(StorageError, match="damaged"):
        reader.read([0, 1], 100, 200)
    assert list(reader._cached) == [(0, 0, 1)]
