"""ORC files read: every type, many files and stripes, damage."""

from __future__ import annotations

import datetime
import os
import resource
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import orc

from sframe_spark import SFrame
from sframe_spark.config import config
from sframe_spark.engine.runtime import external_file_import
from sframe_spark.errors import SchemaError, StorageError
from sframe_spark.storage.external.orc_reader import OrcTable
from tests.needs import needs

MOMENT = datetime.datetime(2012, 1, 1, 3, 4, 5, 6)


def write(path: Path, stripe_size: int = 64 << 20, **columns: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    orc.write_table(pa.table(columns), path, stripe_size=stripe_size, batch_size=100)
    return path


def values(frame: SFrame) -> dict[str, list[Any]]:
    return {name: list(frame[name]) for name in frame.column_names()}


@pytest.mark.parametrize("rows_in_memory", [100_000, 0])
def test_values_become_ours(rows_in_memory: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(external_file_import, "IN_MEMORY_ROWS", rows_in_memory)
    columns = {
        "small": pa.array([1, None], pa.int8()),
        "flag": pa.array([True, None]),
        "half": pa.array([0.5, None], pa.float32()),
        "text": ["a", None],
        "day": pa.array([MOMENT.date(), None]),
        "moment": pa.array([MOMENT, None]),
        "zoned": pa.array([MOMENT.replace(tzinfo=datetime.UTC), None], pa.timestamp("us", "UTC")),
        "list": [["x", None], None],
        "map": pa.array([[("a", 1)], None], pa.map_(pa.string(), pa.int64())),
        "record": [{"x": 1, "y": "z"}, None],
        "dotted.name": [1, 2],
        "decimal": pa.array([1, None], pa.decimal128(5, 2)),
    }
    assert values(SFrame.read_orc(write(tmp_path / "x.orc", **columns))) == {
        "small": [1, None], "flag": [1, None], "half": [0.5, None], "text": ["a", None], "day": [datetime.datetime(2012, 1, 1), None],
        "moment": [MOMENT, None], "zoned": [MOMENT.replace(tzinfo=datetime.UTC), None], "list": [["x", None], None], "map": [{"a": 1}, None],
        "record": [{"x": 1, "y": "z"}, None], "dotted.name": [1, 2], "decimal": [1.0, None],
    }  # fmt: skip


def test_files_directories_and_columns_of_directories(tmp_path: Path) -> None:
    write(tmp_path / "t" / "y=1" / "part-10.orc", a=[3], b=["x"])
    write(tmp_path / "t" / "y=1" / "part-9.orc", b=["z"], a=pa.array([1], pa.int8()))
    write(tmp_path / "t" / "y=2" / "part-0.orc", a=[5], b=pa.array([None], pa.string()))
    assert values(SFrame.read_orc(tmp_path / "t")) == {"b": ["z", "x", None], "a": [1, 3, 5], "y": [1, 1, 2]}
    assert values(SFrame.read_orc([tmp_path / "t" / "y=2" / "*.orc", tmp_path / "t" / "y=1" / "part-9.orc"]))["a"] == [5, 1]


def test_no_rows(tmp_path: Path) -> None:
    frame = SFrame.read_orc(write(tmp_path / "x.orc", a=pa.array([], pa.int64()), b=pa.array([], pa.string())))
    assert values(frame) == {"a": [], "b": []} and frame.column_types() == [int, str]


def test_what_does_not_fit_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "t" / "1.orc", a=[1])
    write(tmp_path / "t" / "2.orc", a=["x"])
    with pytest.raises(StorageError, match="'a' is str in"):
        SFrame.read_orc(tmp_path / "t")
    write(tmp_path / "t" / "2.orc", b=[1])
    with pytest.raises(StorageError, match=r"other columns than .* \(a, b\)"):
        SFrame.read_orc(tmp_path / "t")
    (tmp_path / "x.csv").write_text("a\n1\n")
    with pytest.raises(StorageError, match="is not a readable ORC file: it is text; read it with read_csv"):
        SFrame.read_orc(tmp_path / "x.csv")
    far = write(tmp_path / "far.orc", a=[datetime.datetime(1, 1, 1)])
    with pytest.raises(StorageError, match="outside the years 1678 to 2261"):
        SFrame.read_orc(far)
    write(tmp_path / "bytes.orc", a=pa.array([b"\xff"]))
    with pytest.raises((SchemaError, StorageError), match="UTF-8"):
        SFrame.read_orc(tmp_path / "bytes.orc")


@needs("pyarrow>=19")
def test_damage_is_told_with_the_file(tmp_path: Path) -> None:
    path = write(tmp_path / "x.orc", a=list(range(1000)))
    data = path.read_bytes()
    for broken in (data[: len(data) // 2], data[:-1], data[:40] + bytes(60) + data[100:]):
        path.write_bytes(broken)
        with pytest.raises(StorageError, match=r"x\.orc"):
            SFrame.read_orc(path)


def test_a_file_that_changes_meanwhile_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "x.orc", a=[1, 2, 3])
    arrays = OrcTable.arrays

    def changed(table: OrcTable, *rest: Any) -> Any:
        write(path, a=[4, 5, 6, 7])
        return arrays(table, *rest)

    monkeypatch.setattr(OrcTable, "arrays", changed)
    with pytest.raises(StorageError, match="was changed while it was read"):
        SFrame.read_orc(path)


@pytest.mark.parametrize("budget", [1 << 30, pytest.param(1, marks=pytest.mark.spark)])
def test_many_stripes_stay_in_order(budget: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = 20_000
    path = write(tmp_path / "x.orc", stripe_size=4096, a=list(range(rows)), s=[f"{number:0100d}" for number in range(rows)])
    assert orc.ORCFile(path).nstripes > 4
    monkeypatch.setattr(external_file_import, "IN_MEMORY_ROWS", 100)
    with config.using(memory_budget=budget):
        frame = SFrame.read_orc(path)
        assert frame._node.operator_type == "segment_source" and list(frame["a"]) == list(range(rows))


def test_files_are_not_open_all_at_once(tmp_path: Path) -> None:
    for number in range(100):
        write(tmp_path / f"{number:03}.orc", a=[number])
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = len(os.listdir("/proc/self/fd")) + 50
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, limits[1]))
    try:
        assert list(SFrame.read_orc(tmp_path)["a"]) == list(range(100))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


@pytest.mark.parametrize("rows_in_memory", [100_000, 0])
@pytest.mark.parametrize(
    ("field", "said", "message"), [(b"\x28", 76, "have 76 rows, but its footer says 77"), (b"\x30", 78, "have 77 rows, but its footer says 78")]
)
def test_rows_of_stripes_are_those_that_the_end_of_the_file_says(
    field: bytes, said: int, message: str, rows_in_memory: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(external_file_import, "IN_MEMORY_ROWS", rows_in_memory)
    for name in ("a", "b\x1b"):
        orc.write_table(pa.table({"n": list(range(77))}), tmp_path / f"{name}.orc", compression="uncompressed")
    path = tmp_path / "b\x1b.orc"
    content = path.read_bytes()
    # A number of rows, after the number of its field: of the stripe 5, of the file 6.
    place = content.rfind(field + b"\x4d")
    path.write_bytes(content[: place + 1] + bytes([said]) + content[place + 2 :])
    with pytest.raises(StorageError, match=rf"b\\x1b\.orc is damaged: its stripes {message}; restore it"):
        SFrame.read_orc(tmp_path).materialize()
    assert SFrame.read_orc(tmp_path / "a.orc").num_rows() == 77
