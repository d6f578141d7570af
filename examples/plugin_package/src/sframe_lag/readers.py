"""Files of readings: eight bytes that say what they are, and then for each reading its time, an int, and its value, a float."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

import numpy as np
import pyarrow as pa

from sframe_spark.plugin import FLOAT, INT, ColumnType, FileSource, InvalidArgumentError, Predicate, SourceFile, register_source

BEGINNING = b"READINGS"
READING = np.dtype([("time", "<i8"), ("value", "<f8")])


@register_source
class Readings(FileSource):
    """The rows of a file of readings: an int column ``time`` and a float column ``value``. Any range of rows is read without the rows before it."""

    name: ClassVar[str] = "readings"
    suffixes: ClassVar[tuple[str, ...]] = (".readings",)
    beginning: ClassVar[bytes] = BEGINNING
    threads: ClassVar[bool] = True

    def __init__(self, file: SourceFile) -> None:
        super().__init__(file)
        if file.read(0, min(8, file.size)) != BEGINNING or (file.size - 8) % READING.itemsize:
            raise InvalidArgumentError(f"{file.origin!r} is no file of readings, or ends too soon")

    def columns(self) -> Mapping[str, ColumnType]:
        return {"time": INT, "value": FLOAT}

    def length(self) -> int:
        return (self.file.size - 8) // READING.itemsize

    def read(self, start: int, stop: int, columns: Sequence[str], predicate: Predicate | None) -> Iterator[pa.Table]:
        rows = np.frombuffer(self.file.read(8 + start * READING.itemsize, 8 + stop * READING.itemsize), READING)
        yield pa.table({name: np.ascontiguousarray(rows[name]) for name in columns})
