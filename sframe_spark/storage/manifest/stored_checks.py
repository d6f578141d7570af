"""What must hold of segments in a file beside a manifest: the same as of those in its text, told of all of them at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.storage.manifest.physical_types import KEY_SHIFT

# As the names that a writer gives are in `checks`; RE2's end is that of the text.
_PART = r"[A-Za-z0-9][A-Za-z0-9._-]*"
_FILE = rf"^(?:{_PART}/){{0,7}}{_PART}$"
_HIDDEN_END = r"\._COPYING_(?:/|$)"
_CHECKSUM = r"^crc32:[0-9a-f]{8}$"
_NEVER_MISSING = ("file", "number", "rows", "first_position", "has_sums", "has_facts")


def wrong_segments(batch: pa.RecordBatch) -> str | None:
    """Say what no segments of a dataset can be; None where all is right.

    Parameters
    ----------
    batch
        A row for each segment.
    """
    missing = [name for name in _NEVER_MISSING if batch.column(name).null_count]
    if missing:
        return f"a segment has no {missing[0]}"
    if not (_all(pc.match_substring_regex(batch.column("file"), _FILE)) and not _any(pc.match_substring_regex(batch.column("file"), _HIDDEN_END))):
        return "a segment's file has a name that no writer gives"
    if pc.count_distinct(batch.column("file")).as_py() != batch.num_rows:
        return "a file is there twice"
    if not _all(pc.match_substring_regex(batch.column("checksum"), _CHECKSUM)):
        return "the check sum of a file is none"
    return _wrong_numbers({name: _numbers(batch, name) for name in batch.schema.names if pa.types.is_integer(batch.schema.field(name).type)}, batch)


def _wrong_numbers(found: dict[str, npt.NDArray[np.int64]], batch: pa.RecordBatch) -> str | None:
    number, rows, first = found["number"], found["rows"], found["first_position"]
    if any((values < 0).any() for values in found.values()):
        return "a number of a segment is below zero"
    most = 1 << KEY_SHIFT
    if (number >= 1 << (63 - KEY_SHIFT)).any() or (first >= most).any() or (rows > most).any() or (first + rows > most).any():
        return "a segment has numbers of rows that there are not"
    goes_on = number[1:] == number[:-1]
    if (
        (number[1:] < number[:-1]).any()
        or (goes_on & (first[1:] != (first + rows)[:-1])).any()
        or (~goes_on & (first[1:] != 0)).any()
        or first[:1].any()
    ):
        return "segments are there twice, or out of order"
    if any((found[name] >= 1 << 32).any() for name in ("tail_sum", "whole")):
        return "the check sum of a file is none"
    tails = [batch.column(name).is_null() for name in ("tail_length", "tail_sum")]
    has_tail = pc.invert(tails[0])
    if not tails[0].equals(tails[1]) or _any(pc.and_(has_tail, batch.column("size").is_null())) or (found["tail_length"] > found["size"]).any():
        return "the check sum of a footer is none"
    if _any(pc.and_(pc.invert(batch.column("has_sums")), batch.column("groups").is_valid())):
        return "row groups have check sums, and their files have none"
    return None


def _numbers(batch: pa.RecordBatch, name: str) -> npt.NDArray[np.int64]:
    """Numbers of all segments, zero where one has none."""
    found: npt.NDArray[np.int64] = pc.fill_null(batch.column(name).cast(pa.int64()), 0).to_numpy(zero_copy_only=False)
    return found


def _all(flags: Any) -> bool:
    return bool(pc.all(flags, min_count=0).as_py())


def _any(flags: Any) -> bool:
    return bool(pc.any(flags, min_count=0).as_py())
