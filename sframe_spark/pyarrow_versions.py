"""Replacements for what older versions of pyarrow lack or compute wrongly; no other module checks pyarrow's version.

``docs/decisions/052-versions-of-pyarrow.md`` lists the faults. When ``pyproject.toml`` allows only versions without one of them, its guard can go.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile
from typing import Any

import pyarrow as pa

from sframe_spark.lazy_imports import lazy_imports

with lazy_imports(globals()):
    import pyarrow.compute as pc


def version_numbers(version: str) -> tuple[int, ...]:
    """Return the leading numbers of the version string of a library.

    Examples
    --------
    >>> version_numbers("4.3.0.dev1")
    (4, 3, 0)
    """
    return tuple(map(int, takewhile(str.isdigit, version.split("."))))


VERSION = version_numbers(pa.__version__)
# Before 24 the result for strings that are a slice has the slice's offsets, and not all of their bytes.
_IF_ELSE_TAKES_SLICES = VERSION >= (24,)
# Before 25 the bits of a slice that does not start at a byte are shifted.
_REPLACEMENT_TAKES_SLICES = VERSION >= (25,)
# Before 25 timestamps of ORC files outside the years that 64-bit nanoseconds cover wrap around.
ORC_TIMESTAMPS_ARE_CHECKED = VERSION >= (25,)
# Before 18 bounds of Parquet files count as there when one of them was left out because it is long; that one is an empty string then.
_HAS_BOTH_BOUNDS = VERSION >= (18,)
# Before 21 UUIDs of Parquet files are read as their bytes.
READS_UUIDS = VERSION >= (21,)
# Before 26 a missing list of fixed size cannot be read from Parquet.
_READS_MISSING_FIXED_LISTS = VERSION >= (26,)

# Before 18 views of strings and bytes are not cast.
_CASTS_VIEWS = VERSION >= (18,)
# Before version 22 offsets are not valid time zones.
_KNOWS_OFFSETS = VERSION >= (22,)
_OFFSET = re.compile(r"([+-])([0-9]{2}):([0-9]{2})")
# Before 19 there is no class for the extension, and batches are not concatenated at once.
JSON_TYPE: pa.DataType = pa.json_() if VERSION >= (19,) else pa.string()
_CONCATENATES_BATCHES = VERSION >= (19,)


def cast_of_views(values: Any, data_type: pa.DataType) -> Any:
    """Cast views of strings or bytes.

    Examples
    --------
    >>> cast_of_views(pa.array(["a", None], pa.string_view()), pa.string()).to_pylist()
    ['a', None]
    """
    return values.cast(data_type) if _CASTS_VIEWS else pa.array(values.to_pylist(), data_type)


def local_timestamp(instants: pa.Array) -> pa.Array:
    """Return the wall clock's times of instants in microseconds, as ``pyarrow.compute.local_timestamp`` does.

    Examples
    --------
    >>> local_timestamp(pa.array([0, None], pa.timestamp("us", "-05:30"))).to_pylist()
    [datetime.datetime(1969, 12, 31, 18, 30), None]
    """
    offset = None if _KNOWS_OFFSETS else _OFFSET.fullmatch(instants.type.tz)
    if offset is None:
        return pc.local_timestamp(instants)
    microseconds = (int(offset[2]) * 60 + int(offset[3])) * (-60_000_000 if offset[1] == "-" else 60_000_000)
    return pc.add(instants.cast(pa.int64()), microseconds).cast(pa.timestamp("us"))


def concat_batches(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """Concatenate record batches of one schema as ``pyarrow.concat_batches`` does.

    Examples
    --------
    >>> concat_batches([pa.record_batch({"a": [1]}), pa.record_batch({"a": [2]})]).to_pydict()
    {'a': [1, 2]}
    """
    if _CONCATENATES_BATCHES:
        return pa.concat_batches(batches)
    columns = [pa.concat_arrays([batch.column(number) for batch in batches]) for number in range(batches[0].num_columns)]
    return pa.RecordBatch.from_arrays(columns, schema=batches[0].schema)


def with_json_type(texts: pa.Array) -> pa.Array:
    """Return texts as values of :data:`JSON_TYPE`."""
    return texts if pa.types.is_string(JSON_TYPE) else pa.ExtensionArray.from_storage(JSON_TYPE, texts)


def has_bounds(statistics: Any) -> bool:
    """Return whether the statistics of a column in a row group of Parquet have a minimum and a maximum.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> has_bounds(SimpleNamespace(has_min_max=True, physical_type="INT32", min_raw=0, max_raw=0))
    True
    """
    if not statistics.has_min_max or _HAS_BOTH_BOUNDS or statistics.physical_type != "BYTE_ARRAY":
        return bool(statistics.has_min_max)
    return bool(statistics.min_raw) and bool(statistics.max_raw)


def if_else(condition: Any, left: Any, right: Any) -> Any:
    """Choose between values as ``pyarrow.compute.if_else`` does.

    Examples
    --------
    >>> if_else(pa.array([True, False]), pa.array(["a", "b", "c"]).slice(1), None).to_pylist()
    ['b', None]
    """
    if not _IF_ELSE_TAKES_SLICES and (_is_none(left) or _is_none(right)):
        left, right = _without_offset(left), _without_offset(right)
    return pc.if_else(condition, left, right)


def replace_with_mask(values: Any, mask: Any, replacements: Any) -> Any:
    """Replace the values where a mask is true as ``pyarrow.compute.replace_with_mask`` does.

    Examples
    --------
    >>> replace_with_mask(pa.array([False, False, True]).slice(1), pa.array([False, True]), pa.array([False])).to_pylist()
    [False, False]
    """
    return pc.replace_with_mask(values if _REPLACEMENT_TAKES_SLICES else _without_offset(values), mask, replacements)


def reason_not_damaged(error: Exception) -> str:
    """Return what this version of pyarrow cannot read although the file is not damaged, by the error that it raises; empty for other errors."""
    if not _READS_MISSING_FIXED_LISTS and "Expected all lists to be of size" in str(error):
        return f"pyarrow {pa.__version__} does not read missing lists of fixed size, which pyarrow 26 does"
    return ""


def _is_none(value: Any) -> bool:
    return value is None or (isinstance(value, pa.Scalar) and not value.is_valid)


def _without_offset(values: Any) -> Any:
    """Return strings, bytes or bools with their own buffers, if they are slices."""
    if isinstance(values, pa.ChunkedArray):
        return pa.chunked_array([_without_offset(chunk) for chunk in values.chunks], values.type)
    if not isinstance(values, pa.Array) or not values.offset:
        return values
    types = pa.types
    is_concerned = types.is_boolean(values.type) or any(
        is_kind(values.type) for is_kind in (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary)
    )
    return pa.concat_arrays([values]) if is_concerned else values
