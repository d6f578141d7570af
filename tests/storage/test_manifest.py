"""Manifests survive JSON and pickle, and refuse what they cannot read."""

from __future__ import annotations

import json
import math
import pickle
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sframe_spark.errors import StorageError
from sframe_spark.storage.manifest import ColumnStatistics, Manifest, SegmentEntry
from sframe_spark.storage.physical import PHYSICAL_TYPES
from sframe_spark.types import (
    ARRAY,
    DATETIME,
    ENCODED_DICT,
    ENCODED_LIST,
    FLOAT,
    INT,
    STR,
    ZONED_DATETIME,
    ColumnType,
    dict_of,
    list_of,
)

ALL_TYPES = [
    INT, FLOAT, STR, ARRAY, DATETIME, ZONED_DATETIME, ENCODED_LIST, ENCODED_DICT,
    *(list_of(element) for element in (INT, FLOAT, STR)),
    *(dict_of(key, value) for key in (INT, STR) for value in (INT, FLOAT, STR)),
]  # fmt: skip

FLAGS = st.none() | st.booleans()
SCALARS = st.none() | st.integers(-(2**63), 2**63 - 1) | st.floats() | st.text()
STATISTICS = st.builds(
    ColumnStatistics, FLAGS, FLAGS, FLAGS, FLAGS, FLAGS, FLAGS, FLAGS,
    st.booleans(), SCALARS, SCALARS, st.booleans(), SCALARS, SCALARS,
)  # fmt: skip


def same(left: ColumnStatistics, right: ColumnStatistics) -> bool:
    # repr tells NaN, -0.0 and 1.0 from 1, and lets NaN equal itself.
    return repr(left) == repr(right)


@given(st.lists(st.sampled_from(ALL_TYPES), max_size=4), st.lists(STATISTICS, max_size=3), st.booleans())
def test_a_manifest_survives_json_and_pickle(types: Sequence[ColumnType], statistics: list[ColumnStatistics], named: bool) -> None:
    entries = tuple(SegmentEntry(f"s{number}", number, number + 1, tuple(statistics), "crc32:00000000", 7, 0) for number in range(3))
    names = tuple(f"na\u00efve \u201c{position}" for position in range(len(types))) if named else None
    manifest = Manifest(tuple(types), entries, "/data", names, "sarray", named, names)
    text = json.dumps(json.loads(manifest.to_json()))
    for copy in (Manifest.from_json(text, "/data"), pickle.loads(pickle.dumps(manifest))):
        assert copy == manifest
        assert hash(copy) == hash(manifest)
        for before, after in zip(manifest.segments, copy.segments, strict=True):
            assert all(map(same, before.columns, after.columns)) and len(before.columns) == len(after.columns)


def test_every_physical_type_has_a_name() -> None:
    assert {column_type.physical for column_type in ALL_TYPES} <= set(PHYSICAL_TYPES.values())


def test_a_manifest_is_strict_json() -> None:
    facts = ColumnStatistics(first=math.nan, minimum=-math.inf)
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


def change(**changes: Any) -> str:
    content = json.loads(Manifest((INT,), (SegmentEntry("a", 0, 1),), "/x", ("n",)).to_json())
    return json.dumps({**content, **changes})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "damaged"),
        ("[]", "not a saved frame"),
        ('{"format": "other"}', "not a saved frame"),
        (change(version=99), "install a newer one"),
        (change(version=None), "version"),
        (change(types=None), "damaged"),
        (change(types=[{"kind": "int"}]), "unknown column type"),
        (change(types=[{"kind": "colour", "physical": "int64"}]), "unknown column kind"),
        (change(segments=[{}]), "damaged"),
        (change(names=["a", "b"]), "2 names for 1 columns"),
        (change(kind="table"), "an sframe or an sarray"),
    ],
)
def test_unreadable_manifests_are_refused_with_the_path(text: str, words: str) -> None:
    with pytest.raises(StorageError, match=words):
        Manifest.from_json(text, "/some/frame")


def test_facts_of_a_later_version_are_left_out() -> None:
    assert ColumnStatistics.from_json({"ascending": True, "median": 3}) == ColumnStatistics(ascending=True)
