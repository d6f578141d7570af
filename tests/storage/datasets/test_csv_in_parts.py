"""CSV files elsewhere, read where they are and in parts at once: rows, types, errors and lines left out are those of local copies."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import lzma
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest
from fsspec.implementations.local import LocalFileSystem
from hypothesis import HealthCheck, example, given, settings, strategies as st

from sframe_spark import SArray, SFrame, config
from sframe_spark.api.io.csv import block_reader as csv_lines, reader
from sframe_spark.engine import costs
from sframe_spark.engine.runtime import external_file_import
from sframe_spark.errors import SFrameError, StorageError
from sframe_spark.operators.sources.in_memory import MemorySource
from sframe_spark.plugin import node_of
from sframe_spark.storage.filesystem import external_file_streams_and_line_ranges as external_byte_streams
from sframe_spark.storage.filesystem.temporary_datasets import scratch_store
from tests.api.io.csv.test_csv_blocks import OPTIONS, TEXTS
from tests.examples import examples, square
from tests.storage.datasets.conftest import Bucket, Requests, Store
from tests.storage.datasets.test_external_files import files_in, put


@pytest.fixture
def parts(short_parts: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Parts of few bytes, and requests of fewer."""
    short_parts.setattr(csv_lines, "BLOCK_BYTES", 48)
    short_parts.setattr(csv_lines, "BEHIND_BYTES", 16)
    return short_parts


def told(place: str, **options: Any) -> Any:
    """All that reading gives: names, types, rows and lines left out, or the error; files are called by their names."""
    try:
        frame, left_out = SFrame.read_csv_with_errors(place, verbose=False, **options)
        lines = {path.rpartition("/")[2]: list(found) for path, found in left_out.items()}
        return frame.column_names(), frame.column_types(), repr(list(frame)), lines
    except SFrameError as error:
        return type(error), str(error).replace(place.rpartition("/")[0], "")


def both(store: Store, name: str, **options: Any) -> tuple[Any, Any]:
    return told(f"mine://{name}", **options), told(f"{store.root}/{name}", **options)


NUMBERS = "".join(f"{number},{number * 3 % 7}.5,text {number}\n" for number in range(60))
QUOTED = "".join(f'{number},"a ""b""\nline, {number}\n\n{number},x,y",{number % 5}\n' for number in range(40))
FREE = "".join(f'{number},"{chr(10).join(f"{word},{word},{word}" for word in range(number % 23))}",z\n' for number in range(60))
WRITTEN: dict[str, tuple[dict[str, str | bytes], dict[str, Any]]] = {
    "plain": ({"t/a.csv": "a,b,c\n" + NUMBERS}, {}),
    "no end of the last line": ({"t/a.csv": "a,b,c\n" + NUMBERS + "9,9,9"}, {}),
    "no header": ({"t/a.csv": NUMBERS}, {"header": False}),
    "lines end as on Windows": ({"t/a.csv": ("a,b,c\n" + NUMBERS).replace("\n", "\r\n")}, {}),
    "lines end as on old machines": ({"t/a.csv": ("a,b,c\n" + QUOTED).replace("\n", "\r")}, {}),
    "a byte order mark": ({"t/a.csv": "\ufeffa,b,c\n" + NUMBERS}, {}),
    "a semicolon": ({"t/a.csv": ("a,b,c\n" + NUMBERS).replace(",", ";")}, {"delimiter": ";"}),
    "a long delimiter": ({"t/a.csv": ("a,b,c\n" + NUMBERS).replace(",", "::")}, {"delimiter": "::"}),
    "a tab": ({"t/a.csv": ("a,b,c\n" + QUOTED).replace(",", "\t")}, {"delimiter": "\t"}),
    "a blank": ({"t/a.csv": "".join(f'{number}  "x y" {number}\n' for number in range(60))}, {"delimiter": " ", "header": False}),
    "a line terminator": ({"t/a.csv": ("a,b,c\n" + NUMBERS).replace("\n", "|~|")}, {"line_terminator": "|~|"}),
    "one that overlaps itself": ({"t/a.csv": "a,b\n" + "1,2~~~" * 99}, {"line_terminator": "~~", "header": False}),
    "quotes with ends of lines": ({"t/a.csv": "a,b,c\n" + QUOTED}, {}),
    "long quotes that look like rows": ({"t/a.csv": "a,b,c\n" + FREE}, {}),
    "one column in quotes": ({"t/a.csv": "a\n" + "".join(f'"{number}\n\n{number}"\n' for number in range(99))}, {}),
    "other quotes": ({"t/a.csv": ("a,b,c\n" + QUOTED).replace('"', "'")}, {"quote_char": "'"}),
    "quotes that are none": ({"t/a.csv": "a,b,c\n" + QUOTED}, {"quote_char": ""}),
    "escapes": ({"t/a.csv": "a,b\n" + "".join(f'"x\\"\n{number}\\n",{number}\n' for number in range(60))}, {"double_quote": False}),
    "a quote that nothing closes": ({"t/a.csv": "a,b,c\n" + NUMBERS + '7,"open,1\n' + NUMBERS}, {}),
    "brackets": ({"t/a.csv": "a;b\n" + "".join(f'[1;{number}];{{"k": "v\'"}}\n' for number in range(60))}, {"delimiter": ";"}),
    "comments": ({"t/a.csv": "# it's\na,b,c # x\n" + NUMBERS.replace("5,", '5,#"\n')}, {"comment_char": "#"}),
    "lines left out at the start": ({f"t/{name}.csv": 'no "row\n' * 20 + "a,b,c\n" + NUMBERS for name in "ab"}, {"skiprows": 20}),
    "more lines left out than there are": ({"t/a.csv": "a,b,c\n" + NUMBERS}, {"skiprows": 100}),
    "few rows": ({"t/a.csv": "a,b,c\n" + NUMBERS}, {"nrows": 7}),
    "some columns": ({"t/a.csv": "a,b,c\n" + NUMBERS}, {"usecols": ["c", "a"]}),
    "types": ({"t/a.csv": "a,b,c\n" + NUMBERS + "x,1,2\n" + NUMBERS}, {"column_type_hints": {"a": int, "b": str}}),
    "a type that is no value's": ({"t/a.csv": "a,b,c\n" + NUMBERS}, {"column_type_hints": {"c": int}}),
    "a late text": ({"t/a.csv": "a,b,c\n" + NUMBERS + "x,1,2\n"}, {}),
    "a late float beside a long int": ({"t/a.csv": f"a,b\n{2**60 + 1},1\n" + "5,6\n" * 99 + "5.5,6\n"}, {}),
    "an int in one part, text in others": ({"t/a.csv": "a,b\n" + ",1\n" * 60 + "1,1\n" * 9 + "x,1\n" * 60}, {}),
    "missing values": ({"t/a.csv": "a,b,c\n" + NUMBERS.replace("3.5", "none").replace("text", "-")}, {"na_values": ["none", "-"]}),
    "words for truth": ({"t/a.csv": "a,b,c\n" + NUMBERS.replace("text 1\n", "yes\n")}, {"true_values": ["yes"], "false_values": ["no"]}),
    "lines that are no rows": ({f"t/{name}.csv": "a,b,c\n" + NUMBERS.replace("3.5,", "") for name in "abc"}, {}),
    "several files": ({f"t/{name}.csv": "a,b,c\n" + NUMBERS * (number + 1) for number, name in enumerate("cab")}, {}),
    "empty files": ({"t/a.csv": "", "t/b.csv": "a,b,c\n" + NUMBERS, "t/c.csv": "", "t/d.csv": "a,b,c\n"}, {}),
    "nothing but empty files": ({"t/a.csv": "", "t/b.csv": ""}, {}),
    "nothing but blank lines": ({"t/a.csv": "\n" * 99}, {}),
    "a header alone": ({"t/a.csv": "a,b,c\n"}, {}),
    "a header longer than a part": ({"t/a.csv": ",".join(f"column{number}" for number in range(40)) + "\n" + "1" + ",1" * 39 + "\n"}, {}),
    "other columns in one": ({"t/a.csv": "a,b,c\n" + NUMBERS, "t/b.csv": "a,b\n1,2\n"}, {}),
    "another header in one": ({"t/a.csv": "a,b,c\n" + NUMBERS, "t/b.csv": "a,b,d\n" + NUMBERS}, {}),
    "partitioned": ({f"t/k={key}/v=x/{key}.csv": "a,b,c\n" + NUMBERS for key in (10, 2)}, {}),
    "packed": ({"t/a.csv.gz": gzip.compress(("a,b,c\n" + NUMBERS).encode()), "t/b.csv": "a,b,c\n" + NUMBERS}, {}),
    "packed with xz": ({"t/a.csv.xz": lzma.compress(("a,b,c\n" + NUMBERS * 9).encode()), "t/b.csv": "a,b,c\n" + NUMBERS}, {}),
    "packed with bzip2": ({"t/a.csv.BZ2": bz2.compress(("a,b,c\n" + NUMBERS * 9).encode())}, {}),
    "packed and cut off": ({"t/a.csv.gz": gzip.compress(("a,b,c\n" + NUMBERS * 9).encode())[:-9]}, {}),
    "packed and empty": ({"t/a.csv": "a,b,c\n" + NUMBERS, "t/b.csv.gz": b""}, {}),
    "not packed as its name says": ({"t/a.csv.xz": "a,b,c\n" + NUMBERS}, {}),
    "a sign for Excel": ({"t/a.csv": "sep=,\r\na,b,c\n" + NUMBERS}, {}),
    "another sign for Excel": ({"t/a.csv": "sep=;\na,b,c\n" + NUMBERS}, {}),
    "Latin": ({"t/a.csv": ("a,b,c\n" + NUMBERS.replace("text", "é")).encode("latin-1")}, {"encoding": "latin-1"}),
    "UTF-16": ({"t/a.csv": ("a,b,c\n" + NUMBERS).encode("utf-16")}, {"encoding": "utf-16"}),
    "letters of several bytes": ({"t/a.csv": "a,é,c\n" + NUMBERS.replace("text", "𝄞é日本語")}, {}),
    "no text": ({"t/a.csv": ("a,b,c\n" + NUMBERS).encode() + b"1,\xff,2\n" + NUMBERS.encode()}, {}),
    "a Parquet file": ({"t/a.csv": b"PAR1\0\1\2" + b"x" * 300}, {}),
    "a field longer than parts": ({"t/a.csv": 'a,b\n1,"' + "x,y\n" * 300 + '"\n' + "5,6\n" * 60}, {}),
}


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("kind", "size"), square(2, WRITTEN, [60, 411]))
def test_all_is_as_of_a_local_copy(store: Store, parts: pytest.MonkeyPatch, kind: str, size: int) -> None:
    written, options = WRITTEN[kind]
    for name, content in written.items():
        store.write(name, content)
    parts.setattr(costs, "MIN_BYTES_OF_IMPORTED_PART", size)
    elsewhere, here = both(store, "t", **options)
    assert elsewhere == here


@settings(max_examples=examples(100), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(TEXTS, min_size=1, max_size=8).map("".join), OPTIONS, st.integers(3, 60), st.sampled_from([1, 9, 1 << 16]))
@example('a\n"\n\n"\n"\n\n\n\n\n"\n1\n', csv_lines.CsvOptions(), 3, 1)
def test_where_parts_begin_makes_no_difference(store: Store, parts: pytest.MonkeyPatch, text: str, options: Any, size: int, behind: int) -> None:
    parts.setattr(costs, "MIN_BYTES_OF_IMPORTED_PART", size)
    parts.setattr(costs, "MAX_BYTES_OF_IMPORTED_PART", size)
    parts.setattr(csv_lines, "BEHIND_BYTES", behind)
    store.write("t.csv", text)
    given = attrs.asdict(options)
    elsewhere, here = both(store, "t.csv", **{**given, "nrows": None})
    assert elsewhere == here


def test_parts_are_read_by_works_of_their_own_and_wrong_guesses_again(store: Store, parts: pytest.MonkeyPatch) -> None:
    """The test of the tests above: files are in parts, and some of these begin amid a field."""
    begun: list[tuple[int, bool]] = []
    original = reader.CsvTask.__call__

    def counted(work: reader.CsvTask) -> reader.CsvPart:
        begun.append((work.number, work.ranges[0].is_line))
        return original(work)

    parts.setattr(reader.CsvTask, "__call__", counted)
    store.write("t.csv", WRITTEN["long quotes that look like rows"][0]["t/a.csv"])
    assert len(SFrame.read_csv("mine://t.csv", verbose=False)) == 60
    assert len({number for number, _ in begun}) > 10
    again = [number for number, is_line in begun if is_line and number]
    assert 0 < len(again) <= 2 * len({number for number, _ in begun})


LIKE_ROWS = "".join(f'{number},"one ""two""\n' + f"three,{number},4\n" * (number % 5) + f'",{number}.5\n' for number in range(300))


@pytest.mark.parametrize("rows", [QUOTED * 5, LIKE_ROWS, LIKE_ROWS.replace("\n", "\r\n")], ids=["quoted", "like rows", "on Windows"])
def test_few_guesses_are_wrong(store: Store, parts: pytest.MonkeyPatch, rows: str) -> None:
    """Lines within quotes seldom have as many fields as rows, and pairs of quotes; if they do, what follows is inside out."""
    again: list[int] = []
    original = reader.CsvTask.from_line

    def counted(work: reader.CsvTask, start: int) -> reader.CsvTask:
        again.append(work.number)
        return original(work, start)

    parts.setattr(reader.CsvTask, "from_line", counted)
    parts.setattr(csv_lines, "BEHIND_BYTES", 4096)
    parts.setattr(csv_lines, "BLOCK_BYTES", 4096)
    parts.setattr(costs, "MAX_BYTES_OF_IMPORTED_PART", 500)
    parts.setattr(costs, "MIN_BYTES_OF_IMPORTED_PART", 500)
    store.write("t.csv", "a,b,c\n" + rows)
    assert len(SFrame.read_csv("mine://t.csv", verbose=False)) == (200 if rows.startswith(QUOTED) else 300)
    # Behind the last end of a line amid a field there may be none to choose.
    assert len(again) <= 1


def test_no_part_is_read_from_the_start_of_its_file(store: Store, parts: pytest.MonkeyPatch) -> None:
    """Whatever is wrong with the one before it: where that ends is not known then."""
    begun: list[tuple[int, int]] = []
    original = reader.CsvTask.__call__

    def counted(work: reader.CsvTask) -> reader.CsvPart:
        begun.append((work.number, work.ranges[0].start))
        return original(work)

    parts.setattr(reader.CsvTask, "__call__", counted)
    for kind in ("one column in quotes", "long quotes that look like rows", "a field longer than parts", "no text"):
        written, options = WRITTEN[kind]
        store.write("t.csv", next(iter(written.values())))
        with contextlib.suppress(SFrameError):
            SFrame.read_csv("mine://t.csv", verbose=False, error_bad_lines=True, **options)
    assert len(begun) > 100 and all(start > 0 for number, start in begun if number)


def test_an_error_that_a_wrong_guess_meets_is_none(store: Store, parts: pytest.MonkeyPatch) -> None:
    for kind in ("one column in quotes", "long quotes that look like rows", "a field longer than parts"):
        written, options = WRITTEN[kind]
        store.write("t.csv", next(iter(written.values())))
        found = SFrame.read_csv("mine://t.csv", verbose=False, error_bad_lines=True, **options)
        assert repr(list(found)) == repr(list(SFrame.read_csv(f"{store.root}/t.csv", verbose=False, error_bad_lines=True, **options)))


@pytest.mark.parametrize("bad", [0, 20, 59])
def test_the_first_wrong_line_is_told(store: Store, parts: pytest.MonkeyPatch, bad: int) -> None:
    lines = NUMBERS.splitlines()
    lines[bad] = f"the first {bad}"
    store.write("a.csv", "\n".join(["a,b,c", *lines, "another"]))
    with pytest.raises(StorageError, match=rf"mine://a\.csv: line 'the first {bad}' does not have the same number of fields as 3"):
        SFrame.read_csv("mine://a.csv", verbose=False, error_bad_lines=True)


def test_lines_left_out_are_kept_as_far_as_there_is_room(store: Store, parts: pytest.MonkeyPatch) -> None:
    """The first ones, and none behind one that was not kept."""
    store.write("a.csv", "a,b\n" + "".join(f"no row {number}\n1,2\n" for number in range(200)))
    with config.using(memory_budget=100_000):
        found = next(iter(SFrame.read_csv_with_errors("mine://a.csv", verbose=False)[1].values()))
    assert list(found) == [f"no row {number}" for number in range(200)]
    with config.using(memory_budget=5_000):
        found = next(iter(SFrame.read_csv_with_errors("mine://a.csv", verbose=False)[1].values()))
    assert 0 < len(found) < 100 and list(found) == [f"no row {number}" for number in range(len(found))]


def test_values_of_lines(store: Store, parts: pytest.MonkeyPatch) -> None:
    store.write("a.txt", "x\n\n\ny, z\n" * 100)
    assert list(SArray("mine://a.txt")) == ["x", "", "", "y, z"] * 100


def test_a_list_and_a_pattern(store: Store, parts: pytest.MonkeyPatch) -> None:
    for number in range(3):
        store.write(f"{number}.csv", f"a\n{number}\n")
    assert list(SFrame.read_csv(["mine://2.csv", "mine://0.csv", "mine://2.csv"], verbose=False)["a"]) == [2, 0, 2]
    assert list(SFrame.read_csv("mine://[12].csv", verbose=False)["a"]) == [1, 2]


def test_many_short_files_are_few_segments(store: Store, parts: pytest.MonkeyPatch, tmp_path: Path) -> None:
    parts.setattr(costs, "MIN_BYTES_OF_IMPORTED_PART", 1000)
    for number in range(150):
        store.write(f"t/{number:03d}.csv", f"a\n{number}\n")
    with config.using(temporary_directory=str(tmp_path / "tmp")):
        (tmp_path / "tmp").mkdir()
        frame = SFrame.read_csv("mine://t", verbose=False)
        assert len(list((tmp_path / "tmp").rglob("segment-*.parquet"))) == 2
        assert list(frame["a"]) == list(range(150))


def test_few_rows_of_many_files_are_in_memory(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cluster that shares no directory needs none for them."""
    monkeypatch.setattr(external_file_import, "is_spark_local", lambda: False)
    for number in range(30):
        store.write(f"t/{number:02d}.csv", f"a\n{number}\n")
    frame = SFrame.read_csv("mine://t", verbose=False)
    assert list(frame["a"]) == list(range(30))
    assert isinstance(node_of(frame).operator, MemorySource)


CHANGES: dict[str, Callable[[Store], None]] = {
    "another length": lambda store: store.write("t/b.csv", "a,b,c\n" + NUMBERS[:-50]),
    "other rows": lambda store: store.write("t/b.csv", "a,b,c\n" + NUMBERS.replace("text", "note")),
    "gone": lambda store: (store.root / "t/b.csv").unlink(),
}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("request_number", [1, 2, 5, 11])
@pytest.mark.parametrize("few", [True, False], ids=["by one", "in parts"])
def test_a_file_that_changes_is_told_and_never_mixed(store: Store, parts: pytest.MonkeyPatch, change: str, request_number: int, few: bool) -> None:
    if few:
        parts.setattr(costs, "MAX_BYTES_IMPORTED_AT_ONCE", 1 << 20)
        parts.setattr(costs, "MAX_FILES_IMPORTED_AT_ONCE", 10)
    for name in "abc":
        store.write(f"t/{name}.csv", "a,b,c\n" + NUMBERS)
    original, seen = external_byte_streams.read_range, []

    def changing(uri: str, start: int, stop: int) -> bytes:
        if uri.endswith("b.csv"):
            seen.append(uri)
            if len(seen) == request_number:
                CHANGES[change](store)
        return original(uri, start, stop)

    parts.setattr(external_byte_streams, "read_range", changing)
    with pytest.raises(StorageError, match=r"mine://t/b\.csv"):
        SFrame.read_csv("mine://t", verbose=False)
    assert len(seen) >= request_number
    assert not [path for path in files_in(Path(scratch_store().directory)) if path.suffix == ".parquet"]


@pytest.mark.parametrize("longer", [True, False])
@pytest.mark.parametrize("few", [True, False], ids=["by one", "in parts"])
def test_a_store_that_lies_about_a_length_is_told(store: Store, parts: pytest.MonkeyPatch, longer: bool, few: bool) -> None:
    if few:
        parts.setattr(costs, "MAX_BYTES_IMPORTED_AT_ONCE", 1 << 20)
        parts.setattr(costs, "MAX_FILES_IMPORTED_AT_ONCE", 10)
    store.write("a.csv", "a,b,c\n" + NUMBERS)
    info = LocalFileSystem.info

    def lying(self: Any, path: Any, **options: Any) -> Any:
        found = info(self, path, **options)
        return {**found, "size": found["size"] + (-40 if longer else 40)} if found["type"] == "file" else found

    parts.setattr(LocalFileSystem, "info", lying)
    with pytest.raises(StorageError, match=rf"mine://a\.csv has {'more' if longer else 'fewer'} bytes than the \d+ that its store reports"):
        SFrame.read_csv("mine://a.csv", verbose=False)


@pytest.mark.parametrize("failing", [1, 4, 9])
def test_a_request_that_fails_is_told_and_leaves_nothing(store: Store, parts: pytest.MonkeyPatch, tmp_path: Path, failing: int) -> None:
    store.write("a.csv", "a,b,c\n" + NUMBERS)
    original, seen = external_byte_streams.read_range, []

    def broken(uri: str, start: int, stop: int) -> bytes:
        seen.append(uri)
        if len(seen) >= failing:
            raise StorageError(f"cannot read {uri}: the network is gone")
        return original(uri, start, stop)

    parts.setattr(external_byte_streams, "read_range", broken)
    (tmp_path / "tmp").mkdir()
    with config.using(temporary_directory=str(tmp_path / "tmp")):
        with pytest.raises(StorageError, match=r"cannot read mine://a\.csv: the network is gone"):
            SFrame.read_csv("mine://a.csv", verbose=False)
        assert not list((tmp_path / "tmp").rglob("*.parquet"))


@pytest.fixture
def on_spark(parts: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """Parts are read by Spark's tasks, which are other processes."""
    parts.setattr(external_file_import, "is_spark_local", lambda: False)
    yield parts


@pytest.mark.spark
@pytest.mark.parametrize("temporary", ["here", "elsewhere"])
def test_tasks_read_parts(bucket: Bucket, on_spark: pytest.MonkeyPatch, tmp_path: Path, temporary: str) -> None:
    text = "a,b,c\n" + QUOTED * 3 + "1,late text,x\nno row\n" + QUOTED
    put(bucket, {"t/a.csv": text.encode(), "t/b.csv.gz": gzip.compress(text.encode())})
    (tmp_path / "a.csv").write_text(text)
    on_spark.setattr(costs, "MIN_BYTES_OF_IMPORTED_PART", 2000)
    with config.using(temporary_directory=f"{bucket.uri}/tmp" if temporary == "elsewhere" else None):
        frame, left_out = SFrame.read_csv_with_errors(f"{bucket.uri}/t", verbose=False)
        here = SFrame.read_csv(str(tmp_path / "a.csv"), verbose=False)
        assert list(frame) == list(here) * 2
    assert {path: list(lines) for path, lines in left_out.items()} == {f"{bucket.uri}/t/{name}": ["no row"] for name in ("a.csv", "b.csv.gz")}
    with pytest.raises(StorageError, match=r"/t/a\.csv: line 'no row' does not have the same number of fields as 3"):
        SFrame.read_csv(f"{bucket.uri}/t", verbose=False, error_bad_lines=True)


def test_few_requests_are_made_and_nothing_is_copied(bucket: Bucket, requests: Requests, monkeypatch: pytest.MonkeyPatch) -> None:
    """For each block a GET, and a HEAD that tells whether the file is still the one that was found; what is read twice is the header's."""
    text = ("a,b,c\n" + NUMBERS * 400).encode()
    put(bucket, {"t/a.csv": text})
    monkeypatch.setattr(costs, "MAX_BYTES_IMPORTED_AT_ONCE", 0)
    monkeypatch.setattr(costs, "MIN_BYTES_OF_IMPORTED_PART", len(text) // 4)
    monkeypatch.setattr(csv_lines, "BLOCK_BYTES", len(text) // 8)
    requests.lines.clear()
    frame = SFrame.read_csv(f"{bucket.uri}/t/a.csv", verbose=False)
    gets = [line for line in requests.lines if line.startswith("GET") and line.endswith("/t/a.csv")]
    heads = [line for line in requests.lines if line.startswith("HEAD")]
    # The header, the first block for the types, and of four parts two blocks each, with a little more of their ends.
    assert len(gets) <= 2 + 4 * 2 + 1 and len(heads) <= len(gets) + 2, requests.lines
    assert len(requests.lines) <= 2 * len(gets) + 4, requests.lines
    assert len(frame) == 400 * 60 and frame["a"].sum() == 400 * sum(range(60))
    assert not [path for path in files_in(Path(scratch_store().directory)) if path.suffix == ".csv"]


def test_a_few_rows_of_a_long_file_are_few_bytes(bucket: Bucket, requests: Requests, monkeypatch: pytest.MonkeyPatch) -> None:
    put(bucket, {"a.csv": ("a,b,c\n" + NUMBERS * 1000).encode()})
    monkeypatch.setattr(csv_lines, "BLOCK_BYTES", 4096)
    came: list[int] = []
    original = external_byte_streams.read_range

    def counted(uri: str, start: int, stop: int) -> bytes:
        found = original(uri, start, stop)
        came.append(len(found))
        return found

    monkeypatch.setattr(external_byte_streams, "read_range", counted)
    assert len(SFrame.read_csv(f"{bucket.uri}/a.csv", nrows=5, verbose=False)) == 5
    assert sum(came) <= reader.HEADER_BYTES + 4 * 4096


def test_few_bytes_are_rows_in_memory(bucket: Bucket, requests: Requests) -> None:
    put(bucket, {"a.csv": b"a,b\n1,2\n"})
    requests.lines.clear()
    frame = SFrame.read_csv(f"{bucket.uri}/a.csv", verbose=False)
    assert len([line for line in requests.lines if line.startswith("GET") and line.endswith("a.csv")]) == 2, requests.lines
    assert len(requests.lines) <= 6, requests.lines
    assert list(frame) == [{"a": 1, "b": 2}]
