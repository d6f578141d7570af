"""Parquet files of others whose pages hold fewer rows than their footers say: nobody gets fewer rows, or rows out of step."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sframe_spark import SFrame, aggregate
from sframe_spark.errors import SFrameError, StorageError
from sframe_spark.storage.segments import row_sizes
from tests.storage.foreign_manifests import foreign_manifest

ROWS, GROUP = 6_000, 3_000
# Data page size 800: pages of 100 values, whose headers take some tens of bytes.
PAGE, LONGEST_HEADER = 800, 60

DOORS: dict[str, Callable[[SFrame], object]] = {
    "list": list,
    "column": lambda frame: list(frame["t"]),
    "other column": lambda frame: list(frame["a"]),
    "slice across row groups": lambda frame: list(frame[GROUP - 10 : GROUP + 10]),
    "slice behind": lambda frame: list(frame[GROUP + 100 : GROUP + 200]),
    "head": lambda frame: list(frame.head(5)),
    "tail": lambda frame: list(frame.tail(5)),
    "row": lambda frame: frame[GROUP + 5],
    "sum": lambda frame: (frame["t"].sum(), frame["a"].sum()),
    "filter": lambda frame: list(frame[frame["t"] > GROUP - 200]["a"]),
    "group-by": lambda frame: list(frame.groupby("a", {"s": aggregate.SUM("t")}).head(3)),
    "arrow": lambda frame: frame.to_arrow().to_pylist(),
    "half an iteration": lambda frame: [row for row, _ in zip(frame, range(GROUP + 50), strict=False)],
}


def write(file: Path, names: str) -> None:
    """Two row groups of many small pages."""
    columns = {"a": pa.array(np.arange(ROWS) * 3), "t": pa.array(np.arange(ROWS))}
    schema = pa.schema([pa.field(name, pa.int64(), nullable=False) for name in names])
    table = pa.table({name: columns[name] for name in names}, schema=schema)
    plain = {"compression": "NONE", "use_dictionary": False, "write_statistics": False}
    pq.write_table(table, file, row_group_size=GROUP, data_page_size=PAGE, write_batch_size=PAGE // 8, **plain)


def with_number(content: bytes, old: int, new: int, places: slice) -> bytes:
    """The file with another number in its footer, at some of the places where it stands."""
    length = int.from_bytes(content[-8:-4], "little")
    parts = content[-8 - length : -8].split(varint(old))
    chosen = set(range(len(parts) - 1)[places])
    footer = parts[0] + b"".join((varint(new) if place in chosen else varint(old)) + part for place, part in enumerate(parts[1:]))
    assert chosen and len(footer) == length
    return content[: -8 - length] + footer + content[-8:]


def varint(number: int) -> bytes:
    """A number as Thrift's compact protocol writes it."""
    number, parts = 2 * number, []
    while number > 127:
        parts.append(number % 128 | 128)
        number //= 128
    return bytes([*parts, number])


def without_last_page(file: Path) -> None:
    """Let the footer leave out the last page of column ``t`` in the first row group."""
    content, footer = file.read_bytes(), pq.read_metadata(file)
    place = footer.schema.names.index("t")
    size = footer.row_group(0).column(place).total_compressed_size
    for cut in range(PAGE, PAGE + LONGEST_HEADER):
        # Both sizes, of the pages as stored and as they are uncompressed.
        first = 2 * place if footer.num_columns > 1 else 0
        file.write_bytes(with_number(content, size, size - cut, slice(first, first + 2)))
        try:
            found = sum(batch.num_rows for batch in pq.ParquetFile(file).iter_batches(row_groups=[0], columns=["t"]))
        except (OSError, pa.ArrowException):
            continue
        assert found == GROUP - PAGE // 8
        return
    raise AssertionError("no page ends where one should")


def outcomes(file: Path, right: Path) -> dict[str, str]:
    """What each door gives."""
    found = {}
    for name, door in DOORS.items():
        expected = repr(door(SFrame.read_parquet(str(right))))
        try:
            found[name] = "right" if repr(door(SFrame.read_parquet(str(file)))) == expected else "wrong"
        except StorageError as error:
            found[name] = "refused" if str(file) in str(error) and "damaged" in str(error) else f"unclear: {error}"
        except SFrameError as error:
            found[name] = f"{type(error).__name__}: {error}"
    return found


def test_a_page_that_is_missing_is_told(tmp_path: Path) -> None:
    file, right = tmp_path / "short.parquet", tmp_path / "right.parquet"
    write(file, "at")
    write(right, "at")
    assert set(outcomes(file, right).values()) == {"right"}
    without_last_page(file)
    found = outcomes(file, right)
    assert {name: outcome for name, outcome in found.items() if outcome not in ("right", "refused")} == {}
    unharmed = {"other column", "head", "slice behind", "tail", "row"}
    assert {name for name, outcome in found.items() if outcome == "right"} <= unharmed


def test_a_footer_that_says_more_rows_is_told(tmp_path: Path) -> None:
    file, said = tmp_path / "short.parquet", GROUP + 90
    write(file, "t")
    # Rows of each row group and values of its column; those of the file are the sum.
    content = with_number(file.read_bytes(), GROUP, said, slice(None))
    file.write_bytes(with_number(content, ROWS, 2 * said, slice(None)))
    frame = SFrame.read_parquet(str(file))
    assert len(frame) == 2 * said
    for door in (
        list,
        lambda frame: frame["t"].sum(),
        lambda frame: frame.to_arrow(),
        lambda frame: list(frame.tail(2)),
        lambda frame: frame[GROUP + 9],
    ):
        with pytest.raises(StorageError, match=f"{file} is damaged"):
            door(SFrame.read_parquet(str(file)))


def test_a_row_group_without_pages_is_told_where_some_rows_are_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "empty.parquet"
    pq.write_table(pa.table({"s": ["text"] * 100}), file)
    manifest = foreign_manifest([file])
    monkeypatch.setattr(row_sizes, "WORTH_SAMPLING", 0)
    monkeypatch.setattr(pq.ParquetFile, "iter_batches", functools.partialmethod(lambda self, **_: iter(())))
    with pytest.raises(StorageError, match=f"{file} is damaged"):
        row_sizes.column_bytes(manifest, [0], 0, 100)
