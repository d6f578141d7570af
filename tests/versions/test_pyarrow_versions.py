"""What old versions of pyarrow compute wrongly is guarded in one module, and guards give what the newest version gives."""

from __future__ import annotations

import datetime as dt
import random
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet as pq
import pytest

import sframe_spark
from sframe_spark import SFrame, pyarrow_versions
from sframe_spark.errors import StorageError
from sframe_spark.storage.external import orc_reader
from sframe_spark.storage.filesystem.io_errors import explanation

ROOT = Path(sframe_spark.__file__).parent


def test_guarded_kernels_are_called_by_way_of_their_guards() -> None:
    wrong = re.compile(r"\bpc\.(if_else|replace_with_mask)\b|\bpa\.(concat_batches|json_)\b|pa\.__version__|to_pandas_dtype|has_min_max")
    # Until version 25 or so a type asks pandas, which the light core lacks, for the type of NumPy.
    # The version that a report or an error shows decides nothing.
    shown = {"pyarrow_versions.py", "engine/spark/executor_version_checks.py"}
    places = {str(path.relative_to(ROOT)) for path in ROOT.rglob("*.py") if wrong.search(path.read_text(encoding="utf-8"))}
    assert places <= shown


@pytest.fixture(params=[False, True], ids=["as installed", "guarded"])
def guarded(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether all guards are on, whatever is installed."""
    if request.param:
        for name in ("_IF_ELSE_TAKES_SLICES", "_REPLACEMENT_TAKES_SLICES", "_CONCATENATES_BATCHES", "_CASTS_VIEWS", "_KNOWS_OFFSETS"):
            assert isinstance(getattr(pyarrow_versions, name), bool)
            monkeypatch.setattr(pyarrow_versions, name, False)
    return bool(request.param)


@pytest.mark.usefixtures("guarded")
@pytest.mark.parametrize(
    ("data_type", "values"),
    [
        (pa.string(), ["", "a", "bb", "c" * 9, None]),
        (pa.large_binary(), [b"", b"xy", None]),
        (pa.bool_(), [True, False, None]),
        (pa.int64(), [1, None]),
    ],
    ids=str,
)
def test_slices_are_what_copies_are(data_type: pa.DataType, values: list[Any]) -> None:
    chance = random.Random(3)
    for _ in range(60):
        rows = [chance.choice(values) for _ in range(chance.randrange(9, 30))]
        start = chance.randrange(9)
        column, kept = pa.array(rows, data_type).slice(start), rows[start:]
        mask = [chance.choice([True, False, None]) for _ in kept]
        assert pyarrow_versions.if_else(pa.array(mask), column, None).to_pylist() == [v if m else None for v, m in zip(kept, mask, strict=True)]
        other = pyarrow_versions.if_else(pa.array(mask), pa.scalar(None, data_type), pa.chunked_array([column]))
        assert other.to_pylist() == [None if m is not False else v for v, m in zip(kept, mask, strict=True)]
        chosen = [bool(m) for m in mask]
        new = [chance.choice(values) for m in chosen if m]
        replaced = pyarrow_versions.replace_with_mask(column, pa.array(chosen), pa.array(new, data_type)).to_pylist()
        news = iter(new)
        assert replaced == [next(news) if m else v for v, m in zip(kept, chosen, strict=True)]


@pytest.mark.usefixtures("guarded")
def test_views_are_cast() -> None:
    texts = ["a", None, "long enough to be out of line", ""]
    assert pyarrow_versions.cast_of_views(pa.array(texts, pa.string_view()).slice(1), pa.large_string()).to_pylist() == texts[1:]


@pytest.mark.usefixtures("guarded")
@pytest.mark.parametrize(("zone", "minutes"), [("+05:30", 330), ("-12:00", -720), ("UTC", 0), ("Asia/Kolkata", 330)])
def test_times_of_the_wall_clock(zone: str, minutes: int) -> None:
    instants = pa.array([0, None, -1], pa.timestamp("us", zone))
    start = dt.datetime(1970, 1, 1) + dt.timedelta(minutes=minutes)
    assert pyarrow_versions.local_timestamp(instants).to_pylist() == [start, None, start - dt.timedelta(microseconds=1)]


@pytest.mark.usefixtures("guarded")
def test_batches_are_concatenated() -> None:
    batches = [
        pa.record_batch({"a": [1, 2], "b": ["x", None]}),
        pa.record_batch({"a": [3], "b": ["y"]}).slice(0, 0),
        pa.record_batch({"a": [4], "b": ["z"]}),
    ]
    assert pyarrow_versions.concat_batches(batches).to_pydict() == {"a": [1, 2, 4], "b": ["x", None, "z"]}


def test_rows_with_long_texts_are_found(tmp_path: Path) -> None:
    """Writers leave out bounds that are long, and pyarrow 17 takes them for empty ones."""
    long = "x" * 100_000
    for number, texts in enumerate((["s", long], [long, "s"], ["", long], ["a" * 5_000, "b"])):
        path = str(tmp_path / f"{number}.parquet")
        pq.write_table(pa.table({"t": texts, "n": [1, 2]}), path)
        frame = SFrame.read_parquet(path)
        assert [len(frame[frame["t"] >= text]) for text in ("t", "a", "")] == [sum(text >= bound for text in texts) for bound in ("t", "a", "")]


@pytest.mark.parametrize("bounds", [(b"", b"x"), (b"s", b""), (b"", b"")], ids=str)
def test_bounds_that_may_have_been_left_out(bounds: tuple[bytes, bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pyarrow_versions, "_HAS_BOTH_BOUNDS", False)
    low, high = bounds
    assert not pyarrow_versions.has_bounds(SimpleNamespace(has_min_max=True, physical_type="BYTE_ARRAY", min_raw=low, max_raw=high))
    assert pyarrow_versions.has_bounds(SimpleNamespace(has_min_max=True, physical_type="BYTE_ARRAY", min_raw=b"s", max_raw=b"x"))
    assert not pyarrow_versions.has_bounds(SimpleNamespace(has_min_max=False, physical_type="INT64"))


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize(
    ("moment", "is_far"),
    [
        (dt.datetime(1, 1, 1), True),
        (dt.datetime(1677, 1, 1), True),
        (dt.datetime(1678, 1, 1), False),
        (dt.datetime(1969, 12, 31), False),
        (dt.datetime(2261, 12, 31), False),
        (dt.datetime(2263, 1, 1), True),
    ],
    ids=str,
)
def test_orc_files_of_years_that_nanoseconds_do_not_hold(moment: dt.datetime, is_far: bool, nested: bool, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(orc_reader, "ORC_TIMESTAMPS_ARE_CHECKED", False)
    moments = pa.array([dt.datetime(2000, 1, 1), None, moment], pa.timestamp("us"))
    column = pa.ListArray.from_arrays([0, 2, 3], moments) if nested else moments
    path = str(tmp_path / "days.orc")
    pa.orc.write_table(pa.table({"n": range(len(column)), "t": column}), path)
    assert orc_reader.orc_footer(path).has_far_timestamps == is_far
    if is_far:
        with pytest.raises(StorageError, match="outside the years 1678 to 2261"):
            SFrame.read_orc(path)
    else:
        assert SFrame.read_orc(path)["t"][-1] == ([moment] if nested else moment)


def test_orc_files_whose_statistics_say_nothing_of_timestamps(tmp_path: Path) -> None:
    path = str(tmp_path / "days.orc")
    pa.orc.write_table(pa.table({"t": pa.nulls(3, pa.timestamp("us")), "n": [1, 2, 3]}), path)
    assert not orc_reader.orc_footer(path).has_far_timestamps
    timestamp, three_values, no_value = b"\x08\x09", b"\x08\x03", b"\x08\x00"
    assert orc_reader._has_far_timestamps([timestamp], [three_values]) and orc_reader._has_far_timestamps([timestamp], [])
    assert not orc_reader._has_far_timestamps([timestamp], [no_value])


@pytest.mark.parametrize("is_read", [False, True])
def test_errors_about_missing_lists_of_fixed_size_are_not_damage(is_read: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pyarrow_versions, "_READS_MISSING_FIXED_LISTS", is_read)
    (tmp_path / "lists.parquet").touch()
    error = pa.ArrowInvalid("Expected all lists to be of size=2 but index 2 had size=0")
    said = explanation(error, str(tmp_path / "lists.parquet"), reading=True)
    assert ("it is damaged" in said) == is_read and ("does not read missing lists of fixed size" in said) == (not is_read)
