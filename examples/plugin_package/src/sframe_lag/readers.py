"""A reader and a writer of files of readings: eight bytes that say what it is, the number of rows, the times of all rows, and the values of all."""

from __future__ import annotations

import os

import numpy as np
import pyarrow as pa

from sframe_spark import SFrame
from sframe_spark.plugin import InvalidArgumentError, public_function

BEGINNING = np.frombuffer(b"READINGS", dtype=np.int64)


@public_function
def read_readings(path: str | os.PathLike[str]) -> SFrame:
    """The rows of a file of readings: an int column ``time`` and a float column ``value``. Nothing is copied: rows are read when they are needed.

    Raises
    ------
    InvalidArgumentError
        If the file is no file of readings, or ends too soon.
    """
    words = np.memmap(path, dtype=np.int64, mode="r") if os.path.getsize(path) >= 16 and os.path.getsize(path) % 8 == 0 else np.zeros(0, np.int64)
    if len(words) < 2 or words[0] != BEGINNING[0] or len(words) != 2 + 2 * int(words[1]):
        raise InvalidArgumentError(f"{os.fspath(path)!r} is no file of readings, or ends too soon")
    times, values = words[2 : 2 + words[1]], words[2 + words[1] :].view(np.float64)
    return SFrame(pa.table({"time": pa.array(times), "value": pa.array(values, from_pandas=False)}))


@public_function
def write_readings(frame: SFrame, path: str | os.PathLike[str]) -> None:
    """Write the columns ``time`` (ints) and ``value`` (floats, missing ones as NaN) to a file of readings.

    Raises
    ------
    InvalidArgumentError
        If a time is missing, or a column has another type.
    """
    table = frame[["time", "value"]].to_arrow()
    if table.schema.types != [pa.int64(), pa.float64()] or table.column("time").null_count:
        raise InvalidArgumentError("a file of readings has a column 'time' of ints, none of them missing, and a column 'value' of floats")
    with open(path, "wb") as file:
        for part in (BEGINNING, np.array([len(frame)]), table.column("time").to_numpy(), table.column("value").to_numpy()):
            file.write(np.ascontiguousarray(part).tobytes())
