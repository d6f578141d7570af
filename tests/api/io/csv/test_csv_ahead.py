"""Blocks of a CSV file are read by several threads, and all is told as if one went from the first line to the last."""

from __future__ import annotations

import itertools
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sframe_spark import SFrame, config
from sframe_spark.api.io.csv import block_reader as csv_lines, reader as csv_reader
from sframe_spark.api.io.csv.block_reader import ArrowLines, CsvText
from sframe_spark.errors import CsvEncodingError, CsvLineError, StorageError

LINES = [f'{number},{number / 7!r},"text, {number}"' for number in range(400)]
HEADER = "i,f,t"


@pytest.fixture(autouse=True)
def short_blocks(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(csv_lines, "BLOCK_BYTES", 600)
    monkeypatch.setattr(csv_reader.external_file_import, "threads_that_read", lambda: 3)
    monkeypatch.setattr(csv_reader, "BYTES_FOR_THREADS", 0)
    yield


def written(place: Path, lines: list[str], header: str = HEADER) -> str:
    place.write_bytes(b"".join(line.encode("latin-1") + b"\n" for line in [header, *lines]))
    return str(place)


def before_each(monkeypatch: pytest.MonkeyPatch, told: Callable[[bytes], None]) -> None:
    """Let somebody hear of each block before a thread reads it."""
    original = ArrowLines.read
    monkeypatch.setattr(ArrowLines, "read", lambda lines, numbers: (told(lines.text[: lines.end]), original(lines, numbers))[1])


def test_several_threads_read_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of two waits once until the other one is at work, too."""
    monkeypatch.setattr(csv_reader.external_file_import, "threads_that_read", lambda: 2)
    readers, meeting = {threading.current_thread()}, threading.Barrier(2, timeout=20)

    def told(_: bytes) -> None:
        if threading.current_thread() not in readers:
            readers.add(threading.current_thread())
            meeting.wait()

    before_each(monkeypatch, told)
    frame = SFrame.read_csv(written(tmp_path / "a.csv", LINES), verbose=False)
    assert len(readers) == 3 and frame["i"].sum() == sum(range(400))


@pytest.mark.parametrize(("least", "are_two", "others"), [(1 << 20, False, False), (1 << 20, True, True), (0, False, True)])
def test_a_short_file_is_read_by_the_thread_that_asks(
    least: int, are_two: bool, others: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csv_reader, "BYTES_FOR_THREADS", least)
    readers: set[threading.Thread] = set()
    before_each(monkeypatch, lambda _: readers.add(threading.current_thread()))
    files = [written(tmp_path / name, LINES) for name in ("a.csv", "b.csv")[: 1 + are_two]]
    assert list(SFrame.read_csv(files, verbose=False)["i"]) == list(range(400)) * (1 + are_two)
    assert (readers != {threading.current_thread()}) == others


WRONG: dict[str, tuple[str, type[Exception], str]] = {
    "not the same number of fields": ("7", CsvLineError, "line '7' does not have the same number of fields as 3"),
    "another type": ("x,1,y", CsvLineError, "line 'x,1,y' holds a value of another type"),
    "not text": ("1,2,\xff", CsvEncodingError, "the byte 0xff is not text"),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("first", "second"), list(itertools.permutations(WRONG, 2)))
@pytest.mark.parametrize("is_slow", [False, True])
def test_the_first_wrong_line_is_told(first: str, second: str, is_slow: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However soon another thread finds the second one, or that the next file has other columns."""
    lines = [*LINES]
    lines[150], lines[170] = WRONG[first][0], WRONG[second][0]
    paths = [written(tmp_path / "a.csv", lines), written(tmp_path / "b.csv", [], "i,other,t")]
    before_each(monkeypatch, lambda text: time.sleep(0.2 if is_slow and WRONG[first][0].encode("latin-1") + b"\n" in text else 0))
    with pytest.raises(WRONG[first][1], match=WRONG[first][2]) as told:
        SFrame.read_csv(paths, verbose=False, error_bad_lines=True, column_type_hints={"i": int})
    assert first != "not text" or "line 152, column 5" in str(told.value)
    lines[150] = lines[170] = LINES[0]
    written(tmp_path / "a.csv", lines)
    with pytest.raises(StorageError, match="has 'other' in the header"):
        SFrame.read_csv(paths, verbose=False, error_bad_lines=True, column_type_hints={"i": int})


@pytest.mark.parametrize("kept_memory", [None, 0])
def test_lines_left_out_are_told_in_order(kept_memory: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines, wrong = [*LINES], {20: "a", 90: "x,1,y", 91: "1,2,3,4", 200: "y,1,", 399: "last"}
    for place, line in wrong.items():
        lines[place] = line
    before_each(monkeypatch, lambda text: time.sleep(0.05 if b"\na\n" in text else 0))
    monkeypatch.setattr(csv_lines, "BLOCK_BYTES", 30)
    with config.using(kept_memory=kept_memory):
        frame, left_out = SFrame.read_csv_with_errors(written(tmp_path / "a.csv", lines), verbose=False, column_type_hints={"i": int})
    assert list(map(list, left_out.values())) == [list(wrong.values())]
    assert list(frame["i"]) == [number for number in range(400) if number not in wrong]


@pytest.mark.parametrize("late", [("x", str), ("2.5", float), ("9223372036854775807", int), ("9223372036854775808", str)])
@pytest.mark.parametrize("rows_in_memory", [10, 1_000])
def test_a_late_value_of_another_type(late: tuple[str, Any], rows_in_memory: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_reader, "IN_MEMORY_ROWS", rows_in_memory)
    for place in (30, 200, 399):
        values = list(map(str, range(400)))
        values[place] = late[0]
        frame = SFrame.read_csv(written(tmp_path / "a.csv", [f"{value},{value}x" for value in values], "a,b"), verbose=False)
        assert frame.column_types() == [late[1], str]
        assert list(frame["a"]) == list(map(late[1], values)) and list(frame["b"]) == [f"{value}x" for value in values]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("number", [1, 2, 5, 12])
@pytest.mark.parametrize("change", ["longer", "shorter", "other rows", "no file"])
def test_a_file_that_changes_amid_its_blocks_is_told(change: str, number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, filled, fill = written(tmp_path / "a.csv", LINES), itertools.count(), CsvText.fill
    os.utime(path, ns=(1, 1))

    def changing(text: CsvText) -> None:
        if next(filled) == number:
            if change == "no file":
                os.remove(path)
            else:
                written(Path(path), {"longer": LINES * 2, "shorter": LINES[:5], "other rows": LINES[::-1]}[change])
        fill(text)

    monkeypatch.setattr(CsvText, "fill", changing)
    with pytest.raises(OSError, match=r"a\.csv"):
        SFrame.read_csv(path, verbose=False)


@pytest.mark.parametrize("number", [0, 1, 3, 9])
def test_an_interrupt_amid_blocks_ends_the_reading(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, blocks = written(tmp_path / "a.csv", LINES), itertools.count()
    with monkeypatch.context() as patch:
        before_each(patch, lambda _: signal.raise_signal(signal.SIGINT) if next(blocks) == number else None)
        with pytest.raises(KeyboardInterrupt):
            SFrame.read_csv(path, verbose=False)
    assert list(SFrame.read_csv(path, verbose=False)["i"]) == list(range(400))
    until = time.monotonic() + 5
    while any("ahead" in thread.name for thread in threading.enumerate()):
        assert time.monotonic() < until
        time.sleep(0.01)
