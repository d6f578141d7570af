"""CSV and JSON files at paths that a cluster shares, read in parts by works that are sent: all is as where one reader goes from line to line."""

from __future__ import annotations

import contextlib
import gzip
import json
import pickle
import random
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any
from unittest import mock

import attrs
import pytest
from hypothesis import HealthCheck, example, given, settings, strategies as st

from sframe_spark import SFrame, config
from sframe_spark.api.io.csv import block_reader as csv_lines, reader as split
from sframe_spark.api.io.csv.reader import CsvFiles
from sframe_spark.api.io.json import block_reader, reader
from sframe_spark.engine import costs
from sframe_spark.engine.runtime import external_file_import
from sframe_spark.engine.runtime.task_runners import ThreadRunner
from sframe_spark.errors import StorageError
from sframe_spark.operators.sources.in_memory import MemorySource
from sframe_spark.plugin import node_of
from sframe_spark.process.memory import arrow_bytes
from sframe_spark.storage.filesystem import external_file_streams_and_line_ranges as external_byte_streams
from tests.api.io.csv.test_csv_blocks import OPTIONS, TEXTS
from tests.examples import by_turns, examples, part
from tests.storage.datasets.test_csv_in_parts import NUMBERS, WRITTEN, told as told_of_csv
from tests.storage.datasets.test_json_in_parts import ARRAYS, LINES, PIECES, ROWS, told as told_of_json


@attrs.define
class Tasks:
    """A cluster's tasks, one after the other: what they are sent and give is pickled.

    Parameters
    ----------
    begin
        What happens before they run.
    number
        How many were run.
    """

    begin: Callable[[], Any] = list
    number: int = 0

    def parallelism(self) -> int:
        return 2

    def run(self, works: Sequence[Callable[[], Any]], _: str) -> list[Any]:
        self.begin()
        self.number += len(works)
        return [pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(work))())) for work in works]


@contextlib.contextmanager
def on_a_cluster(size: int = 60, block: int = 48, behind: int = 16) -> Iterator[Tasks]:
    """Files are read by tasks of a cluster that shares all directories, in parts of so many bytes, read by blocks of so many."""
    tasks = Tasks()
    functions = {
        "is_spark_local": lambda: False,
        "SparkTaskRunner": lambda: tasks,
        "why_not_in_tasks": lambda _: "",
        "require_writable": lambda _: None,
    }
    with short_parts(size, block, behind) as patch:
        for name, value in functions.items():
            patch.setattr(external_file_import, name, value)
        yield tasks


@contextlib.contextmanager
def short_parts(size: int, block: int, behind: int) -> Iterator[pytest.MonkeyPatch]:
    """Files of all lengths are read in parts of so many bytes."""
    constants = {
        "MAX_BYTES_IMPORTED_AT_ONCE": 0,
        "MAX_BYTES_IMPORTED_LOCALLY_ON_CLUSTER": 0,
        "MAX_FILES_IMPORTED_AT_ONCE": 0,
        "MIN_BYTES_OF_IMPORTED_PART": size,
        "MAX_BYTES_OF_IMPORTED_PART": size,
        "MAX_BYTES_OF_SHORT_REMOTE_FILE": 0,
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in constants.items():
            patch.setattr(costs, name, value)
        patch.setattr(split, "_fits_one_reader", lambda size: not size)
        patch.setattr(reader, "SINGLE_READER_BYTES", 0)
        for module in (csv_lines, block_reader):
            patch.setattr(module, "BLOCK_BYTES", block)
        for module in (csv_lines, external_byte_streams):
            patch.setattr(module, "BEHIND_BYTES", behind)
        yield patch


@contextlib.contextmanager
def by_threads(size: int = 60, block: int = 48, behind: int = 16, memory: int | None = None, is_arrow_safe: bool = True) -> Iterator[Tasks]:
    """Files are read by threads of this process; what they run is counted, and rows stay in so much memory; also those that Arrow does not read."""
    found = Tasks()

    def counting(kind: type) -> Callable[[Any], Any]:
        original = kind.__call__

        def counted(work: Any) -> Any:
            found.number += 1
            return original(work)

        return counted

    with short_parts(size, block, behind) as patch, config.using(kept_memory=memory):
        patch.setattr(ThreadRunner, "parallelism", lambda _: 2)
        for kind in (split.CsvTask, reader.JsonTask):
            patch.setattr(kind, "__call__", counting(kind))
        if is_arrow_safe:
            patch.setattr(CsvFiles, "is_arrow_safe", lambda _: True)
            patch.setattr(reader, "_is_read_as_columns", lambda *_: True)
        yield found


DOORS = {
    "on a cluster": on_a_cluster,
    "by threads": by_threads,
    "by threads that write": partial(by_threads, memory=0),
}


def write(root: Path, files: dict[str, str | bytes]) -> None:
    for name, content in files.items():
        place = root / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content if isinstance(content, bytes) else content.encode())


# Every second kind by one door with parts of one size; of the next kinds, others. All kinds are read elsewhere, in parts, by tests of datasets.
@pytest.mark.sampled(2)
@pytest.mark.parametrize(("kind", "how"), part(product(WRITTEN, product([60, 411], DOORS)), 53))
def test_csv_is_as_the_driver_reads_it(tmp_path: Path, kind: str, how: tuple[int, str]) -> None:
    size, door = how
    written, options = WRITTEN[kind]
    write(tmp_path, written)
    with DOORS[door](size):
        in_parts = told_of_csv(f"{tmp_path}/t", **options)
    assert in_parts == told_of_csv(f"{tmp_path}/t", **options)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("kind", "how"), part(product([*LINES, *ARRAYS], product([120, 700], DOORS)), 53))
def test_json_is_as_the_driver_reads_it(tmp_path: Path, kind: str, how: tuple[int, str]) -> None:
    size, door = how
    written = {**LINES, **ARRAYS}[kind]
    write(tmp_path, written)
    orient = "records" if kind in ARRAYS else "lines"
    for place in ("t", next(iter(written))):
        with DOORS[door](size, block=300):
            in_parts = told_of_json(f"{tmp_path}/{place}", orient=orient)
        assert in_parts == told_of_json(f"{tmp_path}/{place}", orient=orient)


@settings(max_examples=examples(100), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(TEXTS, min_size=1, max_size=8).map("".join), OPTIONS, st.integers(3, 60), st.integers(9, 60), st.sampled_from([1, 9, 1 << 16]))
@example('a\n"\n\n"\n"\n\n\n\n\n"\n1\n', csv_lines.CsvOptions(), 3, 48, 1)
def test_where_parts_of_csv_begin_makes_no_difference(tmp_path: Path, text: str, options: Any, size: int, block: int, behind: int) -> None:
    write(tmp_path, {"t.csv": text})
    given = {**attrs.asdict(options), "nrows": None}
    expected = told_of_csv(f"{tmp_path}/t.csv", **given)
    for door in (on_a_cluster, by_threads):
        with door(size, block, behind):
            assert told_of_csv(f"{tmp_path}/t.csv", **given) == expected


@settings(max_examples=examples(100), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join), st.integers(4, 60), st.integers(1, 40), st.integers(1, 40))
def test_where_parts_of_json_begin_makes_no_difference(tmp_path: Path, text: str, size: int, block: int, behind: int) -> None:
    write(tmp_path, {"t.json": text})
    expected = told_of_json(f"{tmp_path}/t.json", orient="lines")
    for door in (on_a_cluster, by_threads):
        with door(size, block, behind):
            assert told_of_json(f"{tmp_path}/t.json", orient="lines") == expected


def lines(count: int) -> str:
    return "".join(json.dumps(row) + "\n" for row in ROWS * count)


def test_many_bytes_are_tasks_and_what_is_one_part_is_not(tmp_path: Path) -> None:
    """The test of the tests above."""
    packed = gzip.compress(("a,b,c\n" + NUMBERS).encode())
    write(tmp_path, {"a.csv": "a,b,c\n" + NUMBERS, "a.csv.gz": packed, "t/a.csv.gz": packed, "t/b.csv.gz": packed})
    write(tmp_path, {"a.json": lines(2), "b.json": json.dumps(ROWS), "empty.csv": ""})
    expected = {"a.csv": True, "a.csv.gz": False, "t": True, "a.json": True, "b.json": False, "empty.csv": False}
    for name, is_tasks in expected.items():
        with on_a_cluster() as tasks:
            orient = "records" if name.startswith("b") else "lines"
            place = str(tmp_path / name)
            _ = SFrame.read_json(place, orient=orient) if name.endswith("json") else SFrame.read_csv(place, verbose=False)
        assert (tasks.number > 1) == is_tasks, name
        assert tasks.number > 10 or name == "t" or not is_tasks
    with on_a_cluster() as tasks:
        assert len(SFrame.read_csv(str(tmp_path / "a.csv"), nrows=5, verbose=False)) == 5
        assert tasks.number == 0


@pytest.mark.parametrize("name", ["a.csv", "a.json"])
def test_a_line_that_goes_on_behind_its_part_takes_few_readings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Each is a request where files are elsewhere, after which all of the line is looked at again."""
    write(tmp_path, {"a.csv": 'a,b\n1,"' + "x,y\n" * 5_000 + '"\n5,6\n', "a.json": json.dumps({"a": "x" * 20_000}) + "\n" + lines(1)})
    place, options = str(tmp_path / name), {} if name == "a.csv" else {"orient": "lines"}
    told = told_of_csv if name == "a.csv" else told_of_json
    expected = told(place, **options)
    readings: list[int] = []
    original = external_byte_streams.LocalFile._read_between
    monkeypatch.setattr(
        external_byte_streams.LocalFile,
        "_read_between",
        lambda stream, start, stop: readings.append(start) or original(stream, start, stop),
    )
    with on_a_cluster(size=2_500, block=2_500, behind=16) as tasks:
        assert told(place, **options) == expected
    assert tasks.number >= 8 and len(readings) < 100


def test_few_bytes_are_read_by_the_driver(tmp_path: Path) -> None:
    write(tmp_path, {"a.csv": "a,b,c\n" + NUMBERS})
    # Not by `monkeypatch`, which is undone after the block, and to what the block had set.
    with on_a_cluster() as tasks, mock.patch.object(costs, "MAX_BYTES_IMPORTED_LOCALLY_ON_CLUSTER", 1 << 20):
        assert len(SFrame.read_csv(str(tmp_path / "a.csv"), verbose=False)) == 60
    assert tasks.number == 0


def test_what_tasks_do_not_see_is_read_by_the_driver_and_that_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write(tmp_path, {f"t/k={key}/{name}.csv": "a,b,c\n" + NUMBERS for key in "xy" for name in "ab"})
    asked: list[dict[str, str]] = []

    def why(files: dict[str, str]) -> str:
        asked.append(dict(files))
        return "node-1 does not see them"

    with on_a_cluster() as tasks, mock.patch.object(external_file_import, "why_not_in_tasks", why):
        assert len(SFrame.read_csv(str(tmp_path / "t"), verbose=False)) == 240
    assert tasks.number == 0
    # Directories of one table are one.
    assert [list(files) for files in asked] == [[str(tmp_path / "t")]]
    assert "are read by this process alone: node-1 does not see them" in caplog.text


def read(file: Path) -> SFrame:
    return SFrame.read_json(str(file), orient="lines") if file.suffix == ".json" else SFrame.read_csv(str(file), verbose=False)


@pytest.fixture(scope="module")
def long_files(tmp_path_factory: pytest.TempPathFactory) -> dict[Path, tuple[list[Any], list[Any]]]:
    """Files of many rows, with the types and rows that one reader finds."""
    place = tmp_path_factory.mktemp("long")
    values = [(number, random.Random(number).random(), "x" * 50) for number in range(8_000)]
    rows = "a,b,c\n" + "".join(f"{a},{b},{c}\n" for a, b, c in values)
    objects = "".join(json.dumps(dict(zip("abc", row, strict=True))) + "\n" for row in values)
    files: dict[str, str | bytes] = {"a.csv": rows, "b.csv": rows + "late,2,3\n", "a.json": objects, "b.json": objects + '{"a":"late","d":[1]}\n'}
    write(place, files)
    frames = {place / name: read(place / name) for name in files}
    return {file: (frame.column_types(), list(frame)) for file, frame in frames.items()}


@pytest.mark.parametrize("memory", [None, 0, 480_000])
def test_rows_that_threads_make_stay_in_memory_while_there_is_room(long_files: dict[Path, tuple[list[Any], list[Any]]], memory: int | None) -> None:
    """Some of them, where there is room for some, are written in the end; a late text makes all of them anew."""
    for file, (types, expected) in by_turns(list(long_files.items()), 2, 0 if memory is None else 1):
        with by_threads(64_000, 16_000, memory=memory) as threads:
            frame = read(file)
        assert threads.number >= 9
        assert isinstance(node_of(frame).operator, MemorySource) == (memory is None)
        assert frame.column_types() == types and list(frame) == expected


@pytest.mark.parametrize("name", ["b.csv", "b.json"])
def test_rows_of_other_types_are_let_go_before_all_is_read_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Else both readings are in memory at a time, and the second one finds no room beside the first."""
    values = [(number, number / 7, "x" * 50) for number in range(20_000)]
    objects = "".join(json.dumps(dict(zip("abc", row, strict=True))) + "\n" for row in values)
    rows = "a,b,c\n" + "".join(f"{a},{b},{c}\n" for a, b, c in values)
    write(tmp_path, {"b.csv": rows + "late,2,3\n", "b.json": objects + '{"a":"late"}\n'})
    taken, reserve = list[int](), external_file_import.reservation_for_rows
    monkeypatch.setattr(external_file_import, "reservation_for_rows", lambda files: taken.append(arrow_bytes()) or reserve(files))
    with by_threads(400_000, 100_000):
        frame = read(tmp_path / name)
    assert len(taken) == 2 and taken[1] - taken[0] < 200_000, taken
    assert isinstance(node_of(frame).operator, MemorySource) and frame["a"].tail(1)[0] == "late"


def test_files_are_read_by_threads_where_several_work_and_no_row_is_counted(tmp_path: Path) -> None:
    write(tmp_path, {"a.csv": "a,b,c\n" + NUMBERS})
    with by_threads() as threads:
        assert len(SFrame.read_csv(str(tmp_path / "a.csv"), verbose=False, nrows=9)) == 9
        with mock.patch.object(ThreadRunner, "parallelism", lambda _: 1):
            assert len(SFrame.read_csv(str(tmp_path / "a.csv"), verbose=False)) == 60
        assert threads.number == 0
        assert len(SFrame.read_csv(str(tmp_path / "a.csv"), verbose=False)) == 60
        assert threads.number > 10


@pytest.mark.parametrize("kind", ["plain", "quotes with ends of lines", "a long delimiter", "escapes", "brackets", "one column in quotes"])
def test_rows_that_python_reads_are_read_by_one_thread(tmp_path: Path, kind: str) -> None:
    """Several would wait for each other, and take more."""
    written, options = WRITTEN[kind]
    write(tmp_path, written)
    with by_threads(is_arrow_safe=False) as threads:
        SFrame.read_csv(f"{tmp_path}/t", verbose=False, **options)
    assert (threads.number > 0) == (kind in ("plain", "quotes with ends of lines"))


@pytest.mark.parametrize(("text", "is_plain"), [('{"a":1,"b":"x"}', True), ('{"a":1,"b":"\\u0041"}', False), ('{"a":true}', False)])
def test_json_that_python_reads_is_read_by_one_thread(tmp_path: Path, text: str, is_plain: bool) -> None:
    write(tmp_path, {"a.json": f"{text}\n" * 90, "t/a.json": f"[{text}]", "t/b.json": f"[{text}]"})
    for place, orient in (("a.json", "lines"), ("t", "records")):
        with by_threads(10, is_arrow_safe=False) as threads:
            SFrame.read_json(str(tmp_path / place), orient=orient)
        assert (threads.number > 1) == is_plain


@pytest.mark.sampled(2)
@pytest.mark.parametrize("first", ["", "\n \n", "null\n", "{}\n", '{"a":1,"b":"\\n"}\n'])
def test_json_whose_first_file_says_nothing_is_read_by_threads(tmp_path: Path, first: str) -> None:
    """Spark, for one, writes a first file without rows."""
    write(tmp_path, {"t/a.json": first, "t/b.json": '{"a":1,"b":"x"}\n' * 90})
    expected = told_of_json(f"{tmp_path}/t", orient="lines")
    with by_threads(60, is_arrow_safe=False) as threads:
        assert told_of_json(f"{tmp_path}/t", orient="lines") == expected
    assert threads.number > 1


@pytest.mark.parametrize("damage", ["{oh\n", "\n5\n", '{"b":1e999}\n'])
def test_the_first_wrong_file_is_told_wherever_the_longest_one_is(tmp_path: Path, damage: str) -> None:
    write(tmp_path, {"t/a.json": '{"a":1}\n' * 9 + damage, "t/b.json": damage + '{"a":1,"b":"x"}\n' * 90})
    expected = told_of_json(f"{tmp_path}/t", orient="lines")
    with by_threads(60, is_arrow_safe=False):
        assert told_of_json(f"{tmp_path}/t", orient="lines") == expected
    assert "/a.json" in expected[1]


@pytest.mark.parametrize("wrong", ['"\\ud800"', '["\\ud800"]', '{"\\ud800":[1]}'])
@pytest.mark.parametrize("block", [20, 300, 4 << 20])
def test_what_no_column_holds_is_told_by_its_line_wherever_blocks_end(tmp_path: Path, wrong: str, block: int) -> None:
    rows = [f'{{"t":{wrong if number in (61, 80) else wrong.replace("d800", "0041")}}}' for number in range(90)]
    write(tmp_path, {"t.json": "\n".join(rows), "u.json": f"[{chr(10).join(rows).replace(chr(10), chr(44) + chr(10))}]"})
    with by_threads(200, block):
        for name, orient in (("t.json", "lines"), ("u.json", "records")):
            with pytest.raises(StorageError, match=rf"{name}, line 62(, column 't')?:"):
                SFrame.read_json(str(tmp_path / name), orient=orient)
