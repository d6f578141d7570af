"""The data of the members: made of row numbers by either engine itself, saved, and opened again.

The reference engine's old Python reads this file too.
"""

from __future__ import annotations

import array
import datetime
import os
from typing import Any

START = 1600000000
# What is made of dicts, lists and texts of them has a tenth of the rows, what is iterated over in Python too.
FEWER = 10
RIGHT_ROWS = 100_000
# A prime number: the column "mixed" is in no order, and its values are this many.
MANY = 1_000_003


class Frames:
    """Frames that were saved, as they are opened: no row is in memory.

    Parameters
    ----------
    plain
        Numbers, texts and times.
    nested
        The same with columns of dicts, arrays and lists, and a tenth of the rows.
    right
        Right side of joins: every tenth value of ``plain["mixed"]`` once.
    files
        Directory of the files that readers read.
    """

    def __init__(self, engine: Any, place: str, files: str) -> None:
        self.place, self.files = place, files
        self.plain, self.nested, self.right = (engine.load_sframe(os.path.join(place, name)) for name in ("plain", "nested", "right"))

    def file(self, name: str) -> str:
        """Path of a file that readers read."""
        return os.path.join(self.files, name)


def prepare(engine: Any, rows: int, place: str, files: str) -> Frames:
    """Make and save what is measured."""
    plain_columns(engine, rows).save(os.path.join(place, "plain"))
    nested_columns(engine, rows // FEWER).save(os.path.join(place, "nested"))
    right = engine.SFrame({"number": engine.SArray.from_sequence(RIGHT_ROWS)})
    right["mixed"] = right["number"] * FEWER
    right["extra"] = right["number"] * 0.5
    right.save(os.path.join(place, "right"))
    return Frames(engine, place, files)


def plain_columns(engine: Any, rows: int) -> Any:
    """Numbers, texts and times, made of row numbers."""
    frame = engine.SFrame({"id": engine.SArray.from_sequence(rows)})
    number = frame["id"]
    frame["small"] = number % 97
    frame["key"] = number * 7919 % 1000
    frame["mixed"] = number * 7919 % MANY
    frame["value"] = (number * 31 % 10007) / 16.0
    frame["gap"] = engine.SArray.where(number % 10 != 3, frame["value"], None)
    frame["word"] = "w" + frame["key"].astype(str)
    frame["digits"] = frame["mixed"].astype(str)
    frame["decimal"] = frame["value"].astype(str)
    frame["time"] = (number * 61 % 100000000 + START).astype(datetime.datetime)
    frame["stamp"] = frame["time"].datetime_to_str("%Y-%m-%d %H:%M:%S")
    return frame


def nested_columns(engine: Any, rows: int) -> Any:
    """The same with columns of dicts, arrays and lists, and texts of them."""
    frame = plain_columns(engine, rows)
    for name, dtype in (("bag", dict), ("vector", array.array), ("numbers", list)):
        frame[name] = frame[["small", "key"]].pack_columns(["small", "key"], dtype=dtype, new_column_name=name)[name]
    frame["words"] = frame[["word", "stamp"]].pack_columns(["word", "stamp"], dtype=list, new_column_name="words")["words"]
    frame["tags"] = ('{"' + frame["word"] + '": ' + frame["digits"] + ', "b": 1}').astype(dict)
    for name in ("bag", "vector", "words"):
        frame[name + " text"] = frame[name].astype(str)
    return frame
