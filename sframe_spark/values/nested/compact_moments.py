"""Date-times without an offset as compact texts, all of a batch at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.values.datetimes import SECOND

# Of `2011-01-02 03:04:05.000006`, as Arrow writes it, and of `20110102T030405.000006`: how long they are, and where parts of so many digits start.
_ARROW_WIDTH, _WIDTH, _WHOLE_WIDTH = 26, 22, 15
_DIGITS = {"year": 4, "month": 2, "day": 2, "hour": 2, "minute": 2, "second": 2, "point": 1, "micros": 6}
_THERE, _HERE = (0, 5, 8, 11, 14, 17, 19, 20), (0, 4, 6, 9, 11, 13, 15, 16)


def compact_moments(values: pa.Array, start: str = "", end: str = "") -> pa.Array:
    """Date-times of the years 1 to 9999 as texts, with microseconds only where there are any, with an ASCII text before and after each.

    Examples
    --------
    >>> compact_moments(pa.array([0, 1, None], pa.timestamp("us"))).to_pylist()
    ['19700101T000000', '19700101T000000.000001', None]
    """
    known = values.fill_null(0)
    micros = known.cast(pa.int64()).to_numpy()
    is_whole = micros - micros // SECOND * SECOND == 0
    shown = known.cast(pa.string())
    shown = np.frombuffer(shown.buffers()[2], _parts(_THERE, _ARROW_WIDTH), len(shown), int(shown.offset) * _ARROW_WIDTH)
    texts = _texts(shown, _WHOLE_WIDTH if is_whole.all() else _WIDTH, start, end)
    if is_whole.any() and not is_whole.all():
        texts = pc.replace_with_mask(texts, pa.array(is_whole), _texts(shown[is_whole], _WHOLE_WIDTH, start, end))
    return pc.if_else(values.is_valid(), texts, pa.scalar(None, pa.string())) if values.null_count else texts


def _texts(shown: np.ndarray, width: int, start: str, end: str) -> pa.Array:
    """Texts of one width, with what stands before and after them."""
    one = f"{start}{'T':>9}{'':{width - 9}}{end}".encode()
    lines = np.full(len(shown), one, f"V{len(one)}")
    within = [at for at in _HERE if at < width]
    parts = lines.view(_parts([len(start) + at for at in within], len(one)))
    for name in list(_DIGITS)[: len(within)]:
        parts[name] = shown[name]
    offsets = np.arange(len(shown) + 1, dtype=np.int32) * np.int32(len(one))
    return pa.StringArray.from_buffers(len(shown), pa.py_buffer(offsets), pa.py_buffer(lines))


def _parts(starts: Sequence[int], width: int) -> np.dtype:
    names = list(_DIGITS)[: len(starts)]
    return np.dtype({"names": names, "formats": [f"V{_DIGITS[name]}" for name in names], "offsets": list(starts), "itemsize": width})
