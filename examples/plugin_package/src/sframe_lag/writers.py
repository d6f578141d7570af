"""A writer of files of readings; see :mod:`sframe_lag.readers`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from sframe_lag.readers import BEGINNING, READING
from sframe_spark.plugin import FLOAT, INT, ColumnType, FileWriter, InvalidArgumentError, SchemaError, register_writer


@register_writer
class ReadingsWriter(FileWriter):
    """Writes a column ``time`` of ints and a column ``value`` of floats, missing ones as NaN, to a file of readings."""

    name: ClassVar[str] = "readings"
    suffixes: ClassVar[tuple[str, ...]] = (".readings",)

    @classmethod
    def check(cls, columns: Mapping[str, ColumnType], options: Mapping[str, Any]) -> None:
        if dict(columns) != {"time": INT, "value": FLOAT}:
            raise InvalidArgumentError("a file of readings has a column 'time' of ints, none of them missing, and a column 'value' of floats")

    def write(self, rows: pa.Table) -> None:
        if rows.column("time").null_count:
            raise SchemaError("a file of readings has no missing times")
        made = np.empty(rows.num_rows, READING)
        made["time"], made["value"] = (rows.column(name).to_numpy() for name in READING.names or ())
        self.file.write((b"" if self.file.tell() else BEGINNING) + made.tobytes())
