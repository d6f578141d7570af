"""Manifests survive JSON and pickle, and refuse what they cannot read."""

from __future__ import annotations

import itertools
import json
import math
import pickle
import zlib
from typing import Any

import pytest
from hypothesis import given, strategies as st

from sframe_spark.errors import StorageError
from sframe_spark.storage.manifest import manifest as manifest_module
from sframe_spark.storage.manifest.column_statistics import ColumnStatistics
from sframe_spark.storage.manifest.manifest import Manifest, SegmentEntry
from sframe_spark.storage.manifest.manifest_json import sealed, unsealed
from sframe_spark.storage.manifest.physical_types import PHYSICAL_TYPES
from sframe_spark.storage.manifest.recorded_order import RecordedOrder
from sframe_spark.types import (
    ARRAY,
    DATETIME,
    ENCODED_DICT,
    ENCODED_LIST,
    FLOAT,
    IMAGE,
    INT,
    KINDS,
    NDARRAY,
    STR,
    ZONED_DATETIME,
    ColumnType,
    dict_of,
    list_of,
)

ALL_TYPES = [
    INT, FLOAT, STR, ARRAY, NDARRAY, IMAGE, DATETIME, ZONED_DATETIME, ENCODED_LIST, ENCODED_DICT,
    *(list_of(element) for element in (INT, FLOAT, STR)),
    *(dict_of(key, value) for key in (INT, STR) for value in (INT, FLOAT, STR)),
]  # fmt: skip

FLAGS = st.none() | st.booleans()
INTEGERS, TEXTS = st.integers(-(2**63), 2**63 - 1), st.text(max_size=20)
VALUES = {INT: INTEGERS, DATETIME: INTEGERS, ZONED_DATETIME: INTEGERS, STR: TEXTS, FLOAT: st.floats()}


def statistics_of(column_type: ColumnType) -> st.SearchStrategy[ColumnStatistics]:
    """Facts that can be recorded of a column."""
    values = VALUES.get(column_type, st.nothing())
    edges = st.tuples(st.just(True), st.none() | values, st.none() | values)
    pairs = st.tuples(values, values).filter(lambda pair: all(value == value for value in pair)).map(sorted)
    bounds = st.just((True, None, None)) | pairs.map(lambda pair: (True, *pair))
    unknown = st.just((False, None, None))
    return st.builds(
        lambda flags, edges, bounds: ColumnStatistics(*flags, *edges, *bounds), st.tuples(*[FLAGS] * 7), unknown | edges, unknown | bounds
    )


COLUMNS = st.lists(st.sampled_from(ALL_TYPES).flatmap(lambda kind: st.tuples(st.just(kind), statistics_of(kind))), max_size=4)


def same(left: ColumnStatistics, right: ColumnStatistics) -> bool:
    # repr tells NaN, -0.0 and 1.0 from 1, and lets NaN equal itself.
    return repr(left) == repr(right)


@given(COLUMNS, st.booleans(), st.booleans())
def test_a_manifest_survives_json_and_pickle(columns: list[tuple[ColumnType, ColumnStatistics]], named: bool, foreign: bool) -> None:
    types, facts = [kind for kind, _ in columns], tuple(known for _, known in columns)
    pages = tuple(range(len(columns) + 1))
    sums = None if foreign else pages
    sizes = (*range(len(columns) - 1), *[None] * bool(columns))
    entries = tuple(
        SegmentEntry(f"s{number}", number, number + 1, facts, "crc32:00000000", 7, 0, (5, 6), sums, column_bytes=sizes) for number in range(3)
    )
    names = tuple(f"na\u00efve \u201c{position}" for position in range(len(types)))
    manifest = Manifest(tuple(types), entries, "/data", names if named else None, "sarray", not foreign, names if foreign else None)
    for copy in (Manifest.from_json(manifest.to_json(), "/data"), pickle.loads(pickle.dumps(manifest))):
        assert copy == manifest
        assert hash(copy) == hash(manifest)
        for before, after in zip(manifest.segments, copy.segments, strict=True):
            assert (before.tail, before.pages, before.column_bytes) == (after.tail, after.pages, after.column_bytes)
            assert all(map(same, before.columns, after.columns)) and len(before.columns) == len(after.columns)


def test_every_physical_type_has_a_name() -> None:
    assert {column_type.physical for column_type in ALL_TYPES} <= set(PHYSICAL_TYPES.values())


def test_a_manifest_is_strict_json() -> None:
    facts = ColumnStatistics(edges_known=True, first=math.nan, bounds_known=True, minimum=-math.inf, maximum=math.inf)
    text = Manifest((FLOAT,), (SegmentEntry("a", 0, 1, (facts,)),), "/").to_json()
    json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))


def test_rows_and_offsets_skip_nothing() -> None:
    entries = (
        SegmentEntry("a", 0, 3),
        SegmentEntry("b", 5, 0),
        SegmentEntry("c", 6, 4),
        SegmentEntry("d", 6, 2, first_position=4),
    )
    manifest = Manifest((INT,), entries, "/")
    assert manifest.rows == 9
    assert manifest.offsets == (0, 3, 3, 7)
    assert manifest.offset_of_number == {0: 0, 5: 3, 6: 3}
    assert Manifest((INT,), (), "/").offsets == ()


FACTS = ColumnStatistics(ascending=True, edges_known=True, first=1, last=3, bounds_known=True, minimum=1, maximum=3)
GOOD = Manifest((INT, STR), (SegmentEntry("a", 0, 3, (FACTS, ColumnStatistics()), size=9), SegmentEntry("b", 1, 2)), "/x", ("n", "m"))


def content() -> dict[str, Any]:
    """A new copy of what a good manifest says."""
    found: dict[str, Any] = unsealed(GOOD.to_json(), "/x")
    return found


def change(**changes: Any) -> str:
    return sealed({**content(), **changes})


def change_segment(**changes: Any) -> str:
    segments = content()["segments"]
    return change(segments=[{**segments[0], **changes}, segments[1]], rows=changes.get("rows", 3) + 2)


def change_facts(**changes: Any) -> str:
    return change_segment(columns=[{**content()["segments"][0]["columns"][0], **changes}, {}])


def keyless(**changes: Any) -> str:
    """A manifest of files of others, the first of them changed."""
    segments = content()["segments"]
    return change(segments=[{**segments[0], **changes}, segments[1]], has_key=False, column_names_in_files=["n", "m"])


# Names of files that hold no rows to Spark, or another file's.
SPARK_MISREADS = (
    "_a", ".a", "a._COPYING_", "_metadata", "_common_metadata", "a:b", "a%3Ab", "k=1", "_a/b", "a/_b", "a/.b", ".a/b", "a b", "a*", "a?b", "{a,b}",
    "[ab]", "a#b", "a\nb", "\u00e4", "-a",
)  # fmt: skip


@pytest.mark.parametrize(
    "name", ["segment-00000000-0123456789abcdef0123456789abcdef.parquet", "part-00000-2a-c000.snappy.parquet", "part-7_2.lz4.parquet", "parts/a"]
)
def test_names_that_writers_give_are_read(name: str) -> None:
    assert Manifest.from_json(change_segment(file=name), "/x").segments[0].file == name


@pytest.mark.parametrize("name", SPARK_MISREADS)
def test_files_of_others_are_called_what_they_like(name: str) -> None:
    assert Manifest.from_json(keyless(file=name), "/x").segments[0].file == name


def escaped(text: str) -> str:
    """A text with the half of a character for every X in it, as JSON escapes it, and the check sum that it then has."""
    body = json.dumps(json.loads(text)["content"]).replace("X", "\\ud800")
    return f'{{"format": "sframe_spark", "version": 2, "checksum": "crc32:{zlib.crc32(body.encode()):08x}", "content":\n{body}}}\n'


TEXT_FACTS = {"edges_known": True, "first": "A", "last": "B", "bounds_known": True, "minimum": "A", "maximum": "B"}


@pytest.mark.parametrize(
    "text",
    [
        change(names=["n", "X"]),
        change(column_names_in_files=["n", "X"], has_key=False),
        change(column_names_in_files=["n", "m"], has_key=False, segments=[{**content()["segments"][0], "file": "X"}], rows=3),
        *(change_segment(columns=[{}, {**TEXT_FACTS, name: "X"}]) for name in ("first", "last", "maximum")),
        change_segment(columns=[{}, {**TEXT_FACTS, "minimum": "X", "maximum": "X"}]),
    ],
)
def test_halves_of_characters_are_refused_where_they_are_read(text: str) -> None:
    assert Manifest.from_json(text, "/x")
    with pytest.raises(StorageError, match=r"manifest of /x is damaged"):
        Manifest.from_json(escaped(text), "/x")


def test_the_good_one_is_good() -> None:
    assert Manifest.from_json(change_facts(), "/x") == Manifest.from_json(sealed(content()), "/x") == GOOD


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "damaged"),
        ("[]", "not a saved frame"),
        ('{"format": "other"}', "not a saved frame"),
        ('{"format": "sframe_spark", "version": 99}', "install a newer one"),
        ('{"format": "sframe_spark"}', "version"),
        ('{"format": "sframe_spark", "version": true}', "version"),
        ('{"format": "sframe_spark", "version": 1}', "damaged"),
        ('{"format": "sframe_spark", "version": 2, "content": {}}', "check sum"),
        ('{"format": "sframe_spark", "version": 1' + "0" * 5000 + "}", "damaged"),
        ("[" * 100_000, "damaged"),
        ('{"a":' * 100_000, "damaged"),
        (GOOD.to_json().replace('"rows": 2', '"rows": 4'), "check sum"),
        (GOOD.to_json()[:-1], "check sum"),
        (GOOD.to_json() + " ", "check sum"),
        (GOOD.to_json().replace(', "checksum"', ',  "checksum"', 1), "check sum"),
        (change(types=None), "damaged"),
        (change(types=[{"kind": "int"}]), "unknown column type"),
        (change(types=[{"kind": "colour", "physical": "int64"}] * 2), "unknown column type"),
        (change(segments=[{}]), "damaged"),
        (change(segments=None), "damaged"),
        (change(names=["a", "b", "c"]), "3 names for 2 columns"),
        (change(names=["a", "a"]), "one name"),
        (change(names=["a", 1]), "no text"),
        (change(names="ab"), "no list"),
        (change(kind="table"), "an sframe or an sarray"),
        (change(kind=["sframe"]), "an sframe or an sarray"),
        (change(has_key=1), "has_key"),
        (change(rows=6), "number of rows"),
        (change(order={"orderings": [[[2, True]]], "keys": []}), "there are 2"),
        (change(order={"orderings": [[[0, 1]]], "keys": []}), "neither true nor false"),
        (change(order={"orderings": [], "keys": [[-1]]}), "there are 2"),
        (change(order={"orderings": [], "keys": [[True]]}), "there are 2"),
        (change(order=[]), "damaged"),
        (change(segments=content()["segments"][:1] * 2, rows=6), "twice"),
        (change(segments=content()["segments"][::-1]), "out of order"),
        (change_segment(file="b"), "twice"),
        (change_segment(number=1), "twice, or out of order"),
        (change_segment(number=2**70), "no segment"),
        (change_segment(number=-1), "no segment"),
        (change_segment(number=True), "no segment"),
        (change_segment(number="0"), "no segment"),
        (change_segment(first_position=-1), "no segment"),
        (change_segment(first_position=2**33), "no segment"),
        (change_segment(rows=-3), "no segment has"),
        (change_segment(rows=2**33 + 1), "no segment has"),
        (change_segment(rows=3.0), "no segment has"),
        (change_segment(size=-1), "bytes"),
        (change_segment(size="9"), "bytes"),
        (change_segment(tail=[10, 1]), "footer"),
        (change_segment(tail=[9]), "footer"),
        (change_segment(pages=[1, 2]), "check sums of 2"),
        (change_segment(pages=[1, 2, 2**32]), "check sum"),
        (change_segment(column_bytes=[1]), "sizes of 1 columns of 2"),
        (change_segment(column_bytes=[1, -1]), "no values take -1 bytes"),
        (change_segment(column_bytes=[True, None]), "no values take True bytes"),
        (change_segment(column_bytes="12"), "no list"),
        (change_segment(checksum="md5:1"), "check sum"),
        (change_segment(columns=[{}]), "1 columns of 2"),
        (change_segment(columns=[{}] * 3), "3 columns of 2"),
        (change_facts(ascending=1), "neither true nor false"),
        (change_facts(edges_known=1), "neither true nor false"),
        (change_facts(first="1"), "no value"),
        (change_facts(minimum=1.0), "no value"),
        (change_facts(maximum=2**63), "no value"),
        (change_facts(minimum=True), "no value"),
        (change_facts(minimum=4), "no values lie between"),
        (change_facts(minimum=None), "no values lie between"),
        (change_facts(minimum={"float": "x"}), "damaged"),
        (change_facts(minimum={}), "damaged"),
        *(
            (change_segment(file=name), "not the name of a file")
            for name in ("/etc/passwd", "../x", "x/../../y", "", ".", "a//b", "a\\..\\b", "a\0", 7, "a/" * 8 + "b", *SPARK_MISREADS)
        ),
        (change(has_key=False), "names of their own"),
        (change(column_names_in_files=["c1", "c0"]), "names of their own"),
        (keyless(pages=[1, 2, 3]), "a key that the files do not have"),
        (keyless(file="x/../../y"), "not the name of a file"),
    ],
)
def test_unreadable_manifests_are_refused_with_the_path(text: str, words: str) -> None:
    with pytest.raises(StorageError, match=words) as caught:
        Manifest.from_json(text, "/some/frame")
    assert "/some/frame" in str(caught.value) or "unknown column" in words


def test_version_1_had_no_checksum() -> None:
    text = json.dumps({"format": "sframe_spark", "version": 1, **content()})
    assert Manifest.from_json(text, "/x") == GOOD


def test_every_changed_byte_of_the_text_is_noticed() -> None:
    text = GOOD.to_json().encode()
    for at in range(len(text)):
        changed = text[:at] + bytes([text[at] ^ 1]) + text[at + 1 :]
        with pytest.raises(StorageError):
            Manifest.from_json(changed.decode(), "/x")


def test_facts_of_a_later_version_are_left_out() -> None:
    assert ColumnStatistics.from_json({"ascending": True, "median": 3}) == ColumnStatistics(ascending=True)


def test_exactly_the_column_types_that_exist_are_read() -> None:
    known = {(column_type.kind, name) for name, physical in PHYSICAL_TYPES.items() for column_type in ALL_TYPES if column_type.physical == physical}
    for kind, name in itertools.product((*KINDS, "frame", None, 1, ["int"]), (*PHYSICAL_TYPES, "int32", None, {})):
        text = sealed({**content(), "types": [{"kind": kind, "physical": name}, {"kind": "str", "physical": "string"}], "segments": [], "rows": 0})
        if isinstance(kind, str) and isinstance(name, str) and (kind, name) in known:
            assert Manifest.from_json(text, "/x").types[0] == ColumnType(kind, PHYSICAL_TYPES[name])
        else:
            with pytest.raises(StorageError, match="the manifest of /x is damaged: unknown column type"):
                Manifest.from_json(text, "/x")


def test_parts_of_a_checked_manifest_are_not_checked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Manifest((INT,), (SegmentEntry("a", 0, 3), SegmentEntry("b", 2, 4)), "/data")
    order = RecordedOrder(keys=((0,),))
    hash(whole)
    checked: list[Manifest] = []
    monkeypatch.setattr(manifest_module, "check", checked.append)
    part, ordered = whole.with_segments(whole.segments[1:]), whole.with_order(order)
    assert checked == []
    assert part == Manifest((INT,), whole.segments[1:], "/data") and hash(part) == hash(Manifest((INT,), whole.segments[1:], "/data"))
    assert ordered == Manifest((INT,), whole.segments, "/data", order=order) and part.rows == 4
    # The one that they were made of stays as it was.
    assert whole == Manifest((INT,), (SegmentEntry("a", 0, 3), SegmentEntry("b", 2, 4)), "/data") and whole != part
    part.follow_to("/other")
    assert whole.directory == "/data"
