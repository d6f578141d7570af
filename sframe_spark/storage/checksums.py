"""Check sums of whole files: they tell a damaged copy from a good one."""

from __future__ import annotations

import zlib
from typing import Any

from sframe_spark.storage.failures import telling

BLOCK_BYTES = 4 * 1024 * 1024


def checksum_of(location: str) -> str:
    """Return the check sum of a file: ``crc32:`` and eight hexadecimal digits."""
    with telling("read", location), open(location, "rb") as source:
        return _pump(source, None)


def copy_with_checksum(source: str, target: str) -> str:
    """Copy a file and return its check sum."""
    with telling("read", source), open(source, "rb") as reading, telling("write", target), open(target, "xb") as writing:
        return _pump(reading, writing)


def _pump(source: Any, sink: Any) -> str:
    """Read a stream to its end, write it to the sink if there is one, and return the check sum."""
    value = 0
    while block := source.read(BLOCK_BYTES):
        value = zlib.crc32(block, value)
        if sink is not None:
            sink.write(block)
    return f"crc32:{value:08x}"
