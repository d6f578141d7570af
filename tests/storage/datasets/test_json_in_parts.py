"""JSON files elsewhere, read where they are and in parts at once: rows, types and errors are those of local copies."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from sframe_spark import SFrame, config
from sframe_spark.api.io.json import block_reader, reader
from sframe_spark.engine import costs
from sframe_spark.engine.runtime import external_file_import
from sframe_spark.errors import SFrameError, StorageError
from sframe_spark.operators.sources.in_memory import MemorySource
from sframe_spark.plugin import node_of
from sframe_spark.storage.filesystem import external_file_streams_and_line_ranges as external_byte_streams
from sframe_spark.storage.filesystem.temporary_datasets import scratch_store
from tests.examples import examples, square
from tests.storage.datasets.conftest import Bucket, Requests, Store
from tests.storage.datasets.test_csv_in_parts import CHANGES
from tests.storage.datasets.test_external_files import files_in, put


@pytest.fixture
def parts(short_parts: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Parts of few bytes, and requests of fewer."""
    short_parts.setattr(block_reader, "BLOCK_BYTES", 300)
    short_parts.setattr(external_byte_streams, "BEHIND_BYTES", 16)
    return short_parts


def told(place: str, **options: Any) -> Any:
    """All that reading gives: names, types and rows, or the error; files are called by their names."""
    try:
        frame = SFrame.read_json(place, **options)
        return frame.column_names(), frame.column_types(), repr(list(frame))
    except SFrameError as error:
        return type(error), str(error).replace(place.rpartition("/")[0], "")


def lines(*values: Any) -> str:
    return "".join(json.dumps(value) + "\n" for value in values)


ROWS = [{"a": number, "t": f"text {number}", "l": [number, 2]} for number in range(40)]
LINES: dict[str, dict[str, str | bytes]] = {
    "plain": {"t/a.json": lines(*ROWS)},
    "no end of the last line": {"t/a.json": lines(*ROWS)[:-1]},
    "lines end as on Windows": {"t/a.json": lines(*ROWS).replace("\n", "\r\n")},
    "blank lines": {"t/a.json": "\n\n  \n" + lines(*ROWS).replace("\n", "\n\n\n")},
    "a byte order mark": {"t/a.json": "\ufeff" + lines(*ROWS)},
    "letters of several bytes": {"t/a.json": "".join(json.dumps({"é": "𝄞日" * number}, ensure_ascii=False) + "\n" for number in range(30))},
    "lines longer than parts": {"t/a.json": lines(*({"a": "x" * number * 9} for number in range(40)))},
    "a late float": {"t/a.json": lines(*ROWS, {"a": 1.5})},
    "a late text": {"t/a.json": lines(*ROWS, {"a": "x"}, *ROWS)},
    "a late column": {"t/a.json": lines(*ROWS, {"z": True}, *ROWS)},
    "objects without members first": {"t/a.json": lines(*[{}] * 40, *ROWS)},
    "missing rows first": {"t/a.json": lines(*[None] * 90, *ROWS)},
    "missing rows alone": {"t/a.json": lines(*[None] * 90)},
    "no members at all": {"t/a.json": lines(*[{}] * 90)},
    "values": {"t/a.json": lines(*range(200))},
    "values of several kinds": {"t/a.json": lines(*range(100), "x", None, [1], 2.5)},
    "a value among objects": {"t/a.json": lines(*ROWS, 5, *ROWS)},
    "an object among values": {"t/a.json": lines(*[None] * 60, *range(100), {"a": 1})},
    "both after missing ones": {"t/a.json": lines(*[None] * 200, *range(9), *[None] * 60, {"a": 1}, *[None] * 60, 7)},
    "texts and objects after missing ones": {"t/a.json": lines(*[None] * 200, "x", *[None] * 60, {"a": 1}, *[None] * 60, "y")},
    "objects and long ints after missing ones": {"t/a.json": lines(*[None] * 200, {"a": 1}, *[None] * 60, 2**70, *[None] * 60, {"a": 1})},
    "ints in one part, floats in others": {"t/a.json": lines(*[{"a": None}] * 60, *[{"a": 1}] * 60, *[{"a": 1.5}] * 60)},
    "an odd line": {"t/a.json": lines(*ROWS) + "{oh\n" + lines(*ROWS) + "{no\n"},
    "an odd line in the second of two": {"t/a.json": lines(*ROWS), "t/b.json": lines(*ROWS) + '{"a": 1\n'},
    "half of a character": {"t/a.json": lines(*ROWS) + '{"t": "\\ud800"}\n' + lines(*ROWS)},
    "a number that is too large": {"t/a.json": lines(*ROWS) + '{"a": 1e999}\n'},
    "no text": {"t/a.json": lines(*ROWS).encode() + b'{"a": "\xff"}\n' + lines(*ROWS).encode()},
    "several files": {f"t/{name}.json": lines(*ROWS[number:]) for number, name in enumerate("cab")},
    "empty files": {"t/a.json": "", "t/b.json": lines(*ROWS), "t/c.json": ""},
    "nothing but empty files": {"t/a.json": "", "t/b.json": ""},
    "partitioned": {f"t/k={key}/{key}.json": lines(*ROWS) for key in (10, 2)},
    "packed": {"t/a.json.gz": gzip.compress(lines(*ROWS).encode()), "t/b.json": lines(*ROWS)},
    "a Parquet file": {"t/a.json": b"PAR1\0\1\2" + b"x" * 300},
}
ARRAYS: dict[str, dict[str, str | bytes]] = {
    "arrays": {f"t/{name}.json": json.dumps(ROWS, indent=number) for number, name in enumerate("abc")},
    "an array with an end": {"t/a.json": json.dumps(ROWS), "t/b.json": json.dumps(ROWS) + "1"},
    "an array of values": {"t/a.json": json.dumps(ROWS), "t/b.json": json.dumps([*ROWS, 5])},
    "an array with a late text": {"t/a.json": json.dumps(ROWS), "t/b.json": json.dumps([{"a": "x"}])},
}


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("kind", "size"), square(2, [*LINES, *ARRAYS], [120, 700]))
def test_all_is_as_of_a_local_copy(store: Store, parts: pytest.MonkeyPatch, kind: str, size: int) -> None:
    written = {**LINES, **ARRAYS}[kind]
    for name, content in written.items():
        store.write(name, content)
    parts.setattr(costs, "MIN_BYTES_OF_IMPORTED_PART", size)
    orient = "records" if kind in ARRAYS else "lines"
    place = "t" if len(written) > 1 else next(iter(written))
    assert told(f"mine://{place}", orient=orient) == told(f"{store.root}/{place}", orient=orient)


PIECES = ['{"a": 1}', '{"a": "é"}', '{"b": [1]}', "null", "{}", "\n", "\n", "\n", "\r\n", " ", "5", '"x"', '{"a": 1.5}', "{", "\ufeff"]


@settings(max_examples=examples(100), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join), st.integers(4, 60), st.integers(1, 40), st.integers(1, 40))
def test_where_parts_begin_makes_no_difference(store: Store, parts: pytest.MonkeyPatch, text: str, size: int, block: int, behind: int) -> None:
    parts.setattr(costs, "MIN_BYTES_OF_IMPORTED_PART", size)
    parts.setattr(costs, "MAX_BYTES_OF_IMPORTED_PART", size)
    parts.setattr(external_byte_streams, "BEHIND_BYTES", behind)
    store.write("t.json", text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(block_reader, "BLOCK_BYTES", block)
        elsewhere = told("mine://t.json", orient="lines")
    assert elsewhere == told(f"{store.root}/t.json", orient="lines")


def test_parts_are_read_by_works_of_their_own(store: Store, parts: pytest.MonkeyPatch) -> None:
    begun: list[int] = []
    original = reader.JsonTask.__call__

    def counted(work: reader.JsonTask) -> reader.JsonPart:
        begun.append(work.number)
        return original(work)

    parts.setattr(reader.JsonTask, "__call__", counted)
    store.write("t.json", lines(*ROWS))
    assert len(SFrame.read_json("mine://t.json", orient="lines")) == 40
    assert len(begun) > 10 and len(set(begun)) == len(begun)


def test_few_rows_of_many_files_are_in_memory(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cluster that shares no directory needs none for them."""
    monkeypatch.setattr(external_file_import, "is_spark_local", lambda: False)
    for number in range(30):
        store.write(f"t/{number:02d}.json", lines({"a": number}))
    frame = SFrame.read_json("mine://t", orient="lines")
    assert list(frame["a"]) == list(range(30))
    assert isinstance(node_of(frame).operator, MemorySource)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("change", "request_number", "few"), square(2, CHANGES, [1, 2, 5], [True, False]))
def test_a_file_that_changes_is_told_and_never_mixed(store: Store, parts: pytest.MonkeyPatch, change: str, request_number: int, few: bool) -> None:
    if few:
        parts.setattr(costs, "MAX_BYTES_IMPORTED_AT_ONCE", 1 << 20)
        parts.setattr(costs, "MAX_FILES_IMPORTED_AT_ONCE", 10)
    for name in "abc":
        store.write(f"t/{name}.csv", lines(*ROWS))
    original, seen = external_byte_streams.read_range, []

    def changing(uri: str, start: int, stop: int) -> bytes:
        if uri.endswith("b.csv"):
            seen.append(uri)
            if len(seen) == request_number:
                CHANGES[change](store)
        return original(uri, start, stop)

    parts.setattr(external_byte_streams, "read_range", changing)
    with pytest.raises(StorageError, match=r"mine://t/b\.csv"):
        SFrame.read_json("mine://t", orient="lines")
    assert len(seen) >= request_number


@pytest.mark.spark
@pytest.mark.parametrize("temporary", ["here", "elsewhere"])
def test_tasks_read_parts(bucket: Bucket, parts: pytest.MonkeyPatch, tmp_path: Path, temporary: str) -> None:
    parts.setattr(external_file_import, "is_spark_local", lambda: False)
    text = lines(*ROWS * 5, {"a": "late", "z": 1})
    put(bucket, {"t/a.json": text.encode(), "t/b.json.gz": gzip.compress(text.encode()), "bad.json": (text + "{oh\n" + text).encode()})
    (tmp_path / "a.json").write_text(text)
    parts.setattr(costs, "MIN_BYTES_OF_IMPORTED_PART", 2000)
    with config.using(temporary_directory=f"{bucket.uri}/tmp" if temporary == "elsewhere" else None):
        frame = SFrame.read_json(f"{bucket.uri}/t", orient="lines")
        assert list(frame) == list(SFrame.read_json(str(tmp_path / "a.json"), orient="lines")) * 2
        with pytest.raises(StorageError, match=r"/bad\.json, line 202: '\{oh' is not JSON"):
            SFrame.read_json(f"{bucket.uri}/bad.json", orient="lines")


def test_few_requests_are_made_and_nothing_is_copied(bucket: Bucket, requests: Requests, monkeypatch: pytest.MonkeyPatch) -> None:
    text = lines(*ROWS * 400).encode()
    put(bucket, {"t/a.json": text})
    monkeypatch.setattr(costs, "MAX_BYTES_IMPORTED_AT_ONCE", 0)
    monkeypatch.setattr(costs, "MIN_BYTES_OF_IMPORTED_PART", len(text) // 4)
    monkeypatch.setattr(block_reader, "BLOCK_BYTES", len(text) // 8)
    requests.lines.clear()
    frame = SFrame.read_json(f"{bucket.uri}/t/a.json", orient="lines")
    gets = [line for line in requests.lines if line.startswith("GET") and line.endswith("/t/a.json")]
    # The first block for the types, and of four parts two blocks each, with a little more of their ends.
    assert len(gets) <= 1 + 4 * 2 + 1 and len(requests.lines) <= 2 * len(gets) + 4, requests.lines
    assert len(frame) == 400 * 40 and frame["a"].sum() == 400 * sum(range(40))
    assert not [path for path in files_in(Path(scratch_store().directory)) if path.suffix == ".json" and path.name != "_manifest.json"]
