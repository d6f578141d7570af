"""Bytes of saved frames are changed, one at a time: whoever reads then sees the right rows or a :class:`StorageError` that names the file."""

from __future__ import annotations

import datetime
import itertools
import os
import random
import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

from sframe_spark import SFrame, load_sframe
from sframe_spark.errors import StorageError
from sframe_spark.storage.datasets.manifest_loading_and_open_dataset_registry import load_manifest
from sframe_spark.storage.segments import writer
from tests.storage.saved import save_dataset

ROWS = 600
Door = Callable[[str], Any]

_TIMES = itertools.count(1_700_000_000_000_000_000, 1_000_000)


def frame_of_every_type(rows: int = ROWS) -> SFrame:
    """Rows of every type, some of them missing."""
    start, offset = datetime.datetime(2020, 1, 1), datetime.timezone(datetime.timedelta(hours=2))
    return SFrame(
        {
            "number": list(range(rows)),
            "share": [None if i % 50 == 7 else i / 7 for i in range(rows)],
            "text": [f"text {i % 13}" for i in range(rows)],
            "name": [f"name {i * 7919 % rows}" for i in range(rows)],
            "day": [start + datetime.timedelta(hours=i) for i in range(rows)],
            "zoned": [(start + datetime.timedelta(hours=i)).replace(tzinfo=offset) for i in range(rows)],
            "array": [[float(i)] * (i % 4) for i in range(rows)],
            "list": [[f"{i}", None] for i in range(rows)],
            "dict": [{"i": i} for i in range(rows)],
        }
    )


def save_in_segments(place: Path) -> None:
    """Save the rows as three segments of two row groups each."""
    rows = frame_of_every_type()
    with mock.patch.object(writer, "ROWS_PER_GROUP", ROWS // 6):
        for part in range(3):
            rows[part * ROWS // 3 : (part + 1) * ROWS // 3].save(str(place / f"part{part}"))
    parts = [load_manifest(place / f"part{part}") for part in range(3)]
    with mock.patch.object(writer, "ROWS_PER_GROUP", ROWS // 6):
        save_dataset(parts, place / "frame", parts[0].names)


def rows_of(read: Callable[[SFrame], Any]) -> Door:
    """A door: the frame is loaded and something is read of it."""
    return lambda place: repr(read(load_sframe(place)))


DRIVER_DOORS: dict[str, Door] = {
    "list": rows_of(list),
    "len": rows_of(len),
    "head": rows_of(lambda frame: list(frame.head(3))),
    "tail": rows_of(lambda frame: list(frame.tail(3))),
    "slice": rows_of(lambda frame: list(frame[300:310])),
    "row": rows_of(lambda frame: frame[ROWS - 2]),
    "filter": rows_of(lambda frame: list(frame[(frame["number"] > 250) & (frame["number"] < 420)])),
    "equal": rows_of(lambda frame: list(frame[frame["day"] == datetime.datetime(2020, 1, 3)])),
    "sum": rows_of(lambda frame: [frame["number"].sum(), frame["share"].sum(), frame["day"].max()]),
    "sort": rows_of(lambda frame: list(frame.sort("name").head(5))),
    "column": rows_of(lambda frame: list(frame["zoned"])),
}


def collected_by_spark(frame: SFrame) -> Any:
    """Rows as Spark's own door gives them, whose errors are Spark's own."""
    data = frame.to_spark()
    try:
        return data.collect()
    except Exception as error:
        raise StorageError(str(error)) from error


SPARK_DOORS: dict[str, Door] = {
    "spark rows": rows_of(collected_by_spark),
    "spark sort": rows_of(lambda frame: list(frame.sort("name"))),
    "spark sum": rows_of(lambda frame: [frame["number"].sum(), frame["share"].max()]),
    "spark filter": rows_of(lambda frame: list(frame[(frame["share"] > 20.0) & (frame["text"] == "text 3")].sort("number"))),
}


def cut(file: Path) -> None:
    """Without its last byte."""
    file.write_bytes(file.read_bytes()[:-1])


def lengthened(file: Path) -> None:
    """With a byte more."""
    file.write_bytes(file.read_bytes() + b"\0")


def emptied(file: Path) -> None:
    """Without a byte."""
    file.write_bytes(b"")


def linked(file: Path) -> None:
    """A link to what it was."""
    file.rename(file.with_suffix(".moved"))
    file.symlink_to(file.with_suffix(".moved"))


def piped(file: Path) -> None:
    """A pipe in its place, whose reader would wait for ever."""
    file.unlink()
    os.mkfifo(file)


def removed(file: Path) -> None:
    """No longer there."""
    file.unlink()


def a_directory(file: Path) -> None:
    """A directory in its place."""
    file.unlink()
    file.mkdir()


def new_identity(file: Path) -> None:
    """Give a file a time of change that it never had: clocks of file systems are coarse, and what is known of a file is known until it changes."""
    moment = next(_TIMES)
    os.utime(file, ns=(moment, moment))


def flips(
    source: Path, work: Path, doors: dict[str, Door], tries: int, seed: int, every: Sequence[str] = ("list",)
) -> tuple[Counter[str], list[str]]:
    """Change a byte, read through some doors, and put it back; outcomes by number, and what was silently wrong.

    Parameters
    ----------
    source
        A saved frame, which stays as it is.
    work
        Where the copy that is damaged goes.
    doors
        Ways to read.
    tries
        How many bytes are changed.
    seed
        Of the places and values.
    every
        Doors that every change is read through; one more is drawn.
    """
    right = {name: door(str(source)) for name, door in doors.items()}
    place = work / "damaged"
    shutil.copytree(source, place)
    files = sorted(path for path in place.rglob("*") if path.is_file())
    drawn, counts, wrong = random.Random(seed), Counter[str](), []
    for number in range(tries):
        file = files[number % len(files)]
        content = file.read_bytes()
        at = drawn.randrange(len(content))
        value = content[at] ^ (drawn.choice([1 << drawn.randrange(8), drawn.randrange(1, 256)]))
        file.write_bytes(content[:at] + bytes([value]) + content[at + 1 :])
        new_identity(file)
        for name in {*every, drawn.choice(list(doors))}:
            outcome = outcome_of(doors[name], str(place), right[name])
            counts[outcome] += 1
            if outcome not in ("right", "refused"):
                wrong.append(f"{name}: byte {at} of {file.name} ({len(content)} bytes) is {value}, was {content[at]}: {outcome}")
        file.write_bytes(content)
        new_identity(file)
    return counts, wrong


def outcome_of(door: Door, place: str, right: Any) -> str:
    """What a door does: it gives the right answer, refuses naming the place, or anything else."""
    try:
        found = door(place)
    except StorageError as error:
        return "refused" if place in str(error) else f"unclear error: {error}"[:300]
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:300]
    return "right" if found == right else "silently wrong"
