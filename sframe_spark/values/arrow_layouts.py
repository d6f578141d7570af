"""Conversion of Arrow arrays of any layout to the standard layouts, in several arrays if 32-bit offsets would overflow.

Arrow has several layouts for the same values: strings with 32-bit or 64-bit offsets or as views, lists with offsets, with sizes or of a fixed size,
dictionaries, run-end encodings, extensions. Arrow's own casts between them are not safe: some ignore the sizes of views, others let 32-bit offsets
wrap around. So an array is first *widened*, to layouts with 64-bit offsets, which cannot overflow; then it is cut into parts that are small enough
for 32-bit offsets; and then the parts are *narrowed* to 32-bit offsets.

The module also makes map arrays of dicts, and writes and reads tables as Arrow IPC streams.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa

from sframe_spark.errors import TooLargeError
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.message_text import in_words
from sframe_spark.pyarrow_versions import cast_of_views
from sframe_spark.types import NDARRAY_PHYSICAL
from sframe_spark.values.ndarrays import rows_of_tensors

with lazy_imports(globals()):
    import pyarrow.compute as pc

    from sframe_spark.values.datetimes import arrow_microseconds

MAX_BYTES = (1 << 31) - 1
"""Bytes of strings, or items of lists, that 32-bit offsets can address; tests lower it."""

TICKS_PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}

UUID = "arrow.uuid"
TENSOR = "arrow.fixed_shape_tensor"
# Extensions whose values are those of the storage type.
_TRANSPARENT = frozenset({"arrow.json", "arrow.bool8", "arrow.timestamp_with_offset"})
_UUID_LENGTH = 36
_LISTS = {make(pa.null()).id for make in (pa.list_, pa.large_list, lambda item: pa.list_(item, 1), pa.list_view, pa.large_list_view)}


def standard_type(data_type: pa.DataType) -> pa.DataType:
    """Return the type with the same values in the standard layouts: 32-bit offsets, no dictionaries, run ends or extensions.

    Timestamps in nanoseconds become microseconds, times of day and durations become seconds as floats. Extensions that columns do not
    hold, and unions, stay as they are.

    Examples
    --------
    >>> standard_type(pa.list_view(pa.dictionary(pa.int8(), pa.string_view())))
    ListType(list<item: string>)
    """
    types = pa.types
    if isinstance(data_type, pa.BaseExtensionType):
        if data_type.extension_name == UUID:
            return pa.string()
        if data_type.extension_name == TENSOR:
            return NDARRAY_PHYSICAL
        return standard_type(data_type.storage_type) if data_type.extension_name in _TRANSPARENT else data_type
    if types.is_dictionary(data_type) or types.is_run_end_encoded(data_type):
        return standard_type(data_type.value_type)
    if types.is_large_string(data_type) or types.is_string_view(data_type):
        return pa.string()
    if types.is_large_binary(data_type) or types.is_binary_view(data_type) or types.is_fixed_size_binary(data_type):
        return pa.binary()
    if types.is_timestamp(data_type) and data_type.unit == "ns":
        return pa.timestamp("us", data_type.tz)
    if types.is_time(data_type) or types.is_duration(data_type):
        return pa.float64()
    if types.is_map(data_type):
        return pa.map_(_standard_field(data_type.key_field), _standard_field(data_type.item_field), data_type.keys_sorted)
    if is_list(data_type):
        return pa.list_(_standard_field(data_type.value_field))
    if types.is_struct(data_type):
        return pa.struct([_standard_field(field) for field in data_type])
    return data_type


def is_list(data_type: pa.DataType) -> bool:
    """Return whether a type is a list, whatever its layout.

    Examples
    --------
    >>> is_list(pa.list_view(pa.int64())), is_list(pa.map_(pa.string(), pa.int64()))
    (True, False)
    """
    return data_type.id in _LISTS


def standard_parts(values: pa.Array | pa.ChunkedArray, max_bytes: int | None = None) -> list[pa.Array]:
    """Return the values in the standard layouts, in one array, or in several arrays if 32-bit offsets require it; standard arrays are not copied.

    In the result, missing lists and maps have no items. (Arrow allows them to have some, but code that works on all items at once does not.) Lists
    and maps inside have offsets, also if there are none of them.

    Parameters
    ----------
    values
        Valid Arrow data of any layout.
    max_bytes
        Limit for the bytes of strings in a part, where each item of a list counts as one byte; ``MAX_BYTES`` by default.

    Raises
    ------
    TooLargeError
        If a single value exceeds the limit.

    Examples
    --------
    >>> parts = standard_parts(pa.array(["abc", None, "de"], pa.string_view()), max_bytes=4)
    >>> [part.to_pylist() for part in parts]
    [['abc', None], ['de']]
    """
    data_type = standard_type(values.type)
    chunks = values.chunks if isinstance(values, pa.ChunkedArray) else [values]
    if data_type != values.type:
        limit = MAX_BYTES if max_bytes is None else max_bytes
        chunks = [_narrowed(part, data_type) for chunk in chunks for part in _cut(_widened(chunk), limit)]
    filled = [_without_hidden(with_offsets(chunk)) for chunk in chunks if len(chunk)]
    return filled or [pa.array([], data_type)]


def with_offsets(values: pa.Array) -> pa.Array:
    """Return nested values of a standard layout in which empty arrays of lists or maps have their one offset; other arrays unchanged.

    Arrow in Java, and so Spark 3.5, leaves it out, and ``nbytes`` of pyarrow reads it nevertheless, which ends the process.

    Source: https://issues.apache.org/jira/browse/SPARK-55056 and https://github.com/apache/arrow/issues/41469.
    """
    types = pa.types
    if types.is_struct(values.type):
        fields = _fields(values)
        complete = [with_offsets(field) for field in fields]
        return values if _are_same(fields, complete) else _array(values.type, len(values), [_validity(values)], complete)
    if types.is_map(values.type):
        inside = [values.keys, values.items]
    elif types.is_list(values.type):
        inside = [values.values]
    else:
        return values
    complete = [with_offsets(part) for part in inside]
    if _are_same(inside, complete) and (len(values) or _content(values.buffers()[1]).size):
        return values
    offsets = _offsets(values)
    complete = [part.slice(int(offsets[0]), int(offsets[-1] - offsets[0])) for part in complete]
    entries = pa.struct([values.type.key_field, values.type.item_field]) if types.is_map(values.type) else None
    items = complete[0] if entries is None else _array(entries, len(complete[0]), [None], complete)
    return _array(values.type, len(values), [_validity(values), _narrow_offsets(offsets)], [items])


def batch_with_offsets(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a batch whose columns are those of :func:`with_offsets`."""
    if not any(map(pa.types.is_nested, batch.schema.types)):
        return batch
    return pa.RecordBatch.from_arrays([with_offsets(column) for column in batch.columns], schema=batch.schema)


def _are_same(arrays: Sequence[pa.Array], others: Sequence[pa.Array]) -> bool:
    return all(array is other for array, other in zip(arrays, others, strict=True))


def _without_hidden(values: pa.Array) -> pa.Array:
    """Return lists or maps of a standard layout without the items that missing lists or maps may have; other arrays unchanged."""
    is_map = pa.types.is_map(values.type)
    if not values.null_count or not (is_map or pa.types.is_list(values.type)):
        return values
    offsets = _offsets(values)
    counts, missing = np.diff(offsets), _missing(values)
    if not counts[missing].any():
        return values
    counts[missing] = 0
    ends = np.cumsum(counts)
    indices = pa.array(np.repeat(offsets[:-1] - (ends - counts), counts) + np.arange(ends[-1]))
    if is_map:
        fields = [values.keys.take(indices), values.items.take(indices)]
        items = _array(pa.struct([values.type.key_field, values.type.item_field]), len(indices), [None], fields)
    else:
        items = values.values.take(indices)
    return _array(values.type, len(values), [_validity(values), _narrow_offsets(np.concatenate([[0], ends]))], [items])


def _standard_field(field: pa.Field) -> pa.Field:
    return field.with_type(standard_type(field.type))


def _cut(values: pa.Array, limit: int) -> Iterator[pa.Array]:
    """Yield consecutive slices of a widened array, none of which exceeds the limit of bytes."""
    sizes = _sizes(values)
    if sizes is None or int(sizes.sum()) <= limit:
        yield values
        return
    ends = np.cumsum(sizes)
    start, before = 0, 0
    while start < len(values):
        stop = int(np.searchsorted(ends, before + limit, "right"))
        if stop <= start:
            size = in_words(int(sizes[start]))
            raise TooLargeError(f"row {start} alone has {size} of texts or lists, but one value may have at most {in_words(limit)}")
        yield values.slice(start, stop - start)
        start, before = stop, int(ends[stop - 1])


def _sizes(values: pa.Array) -> np.ndarray | None:
    """Return for each row of a widened array the bytes of its strings plus its number of items, or None for types without strings and lists."""
    types = pa.types
    if types.is_large_string(values.type) or types.is_large_binary(values.type):
        return np.diff(_offsets(values))
    if types.is_large_list(values.type):
        offsets = _offsets(values)
        items = _sizes(values.values)
        counts: np.ndarray = np.diff(offsets)
        if items is None:
            return counts
        before = np.concatenate([[0], np.cumsum(items)])
        return before[offsets[1:]] - before[offsets[:-1]] + counts
    if types.is_struct(values.type):
        of_fields = [sizes for sizes in map(_sizes, _fields(values)) if sizes is not None]
        return sum(of_fields[1:], of_fields[0]) if of_fields else None
    return None


# Widening: any layout to 64-bit offsets.


def _widened(values: pa.Array) -> pa.Array:
    """Return the values with 64-bit offsets, without dictionaries, run ends, views and known extensions; maps become lists of entries."""
    types = pa.types
    data_type = values.type
    if isinstance(data_type, pa.BaseExtensionType):
        if data_type.extension_name == UUID:
            return _texts_of_uuids(values.storage)
        if data_type.extension_name == TENSOR:
            return _widened(rows_of_tensors(values))
        return _widened(values.storage) if data_type.extension_name in _TRANSPARENT else values
    if types.is_dictionary(data_type):
        return _widened(values.dictionary).take(values.indices)
    if types.is_run_end_encoded(data_type):
        ends = values.run_ends.to_numpy(zero_copy_only=False).astype(np.int64)
        runs = np.searchsorted(ends, np.arange(values.offset, values.offset + len(values)), "right")
        return _widened(values.values).take(pa.array(runs))
    if types.is_string_view(data_type) or types.is_binary_view(data_type):
        return cast_of_views(values, pa.large_string() if types.is_string_view(data_type) else pa.large_binary())
    if types.is_string(data_type) or types.is_binary(data_type):
        wide = pa.large_string() if types.is_string(data_type) else pa.large_binary()
        return _array(wide, len(values), [_validity(values), pa.py_buffer(_offsets(values)), _content(values.buffers()[2])])
    if types.is_fixed_size_binary(data_type):
        offsets = _fixed_offsets(values, data_type.byte_width)
        return _array(pa.large_binary(), len(values), [_validity(values), pa.py_buffer(offsets), _content(values.buffers()[1])])
    if types.is_map(data_type):
        return _map_entries(values)
    if types.is_struct(data_type):
        fields = [_widened(field) for field in _fields(values)]
        wide = pa.struct([field.with_type(array.type) for field, array in zip(data_type, fields, strict=True)])
        return _array(wide, len(values), [_validity(values)], fields)
    if types.is_fixed_size_list(data_type):
        # Missing lists have items, too.
        counts = np.where(_missing(values), 0, data_type.list_size)
        return _gathered(values, _fixed_offsets(values, data_type.list_size)[:-1], counts, _widened(values.values))
    if types.is_list_view(data_type) or types.is_large_list_view(data_type):
        return _of_list_view(values)
    if is_list(data_type):
        return _list(values, _offsets(values), _widened(values.values))
    if types.is_time(data_type) or types.is_duration(data_type):
        return _seconds(values)
    return arrow_microseconds(values) if types.is_timestamp(data_type) and data_type.unit == "ns" else values


def _seconds(values: pa.Array) -> pa.Array:
    """Return times of day and durations as floats, in seconds."""
    ticks = values.cast(pa.int32() if values.type.bit_width == 32 else pa.int64()).cast(pa.int64())
    return pc.divide(ticks.cast(pa.float64(), safe=False), float(TICKS_PER_SECOND[values.type.unit]))


def _offsets(values: pa.Array) -> np.ndarray:
    """Return the offsets of the rows as 64-bit ints: where each row starts, and where the last row ends."""
    if not len(values):
        return np.zeros(1, np.int64)
    types = pa.types
    is_wide = types.is_large_string(values.type) or types.is_large_binary(values.type) or types.is_large_list(values.type)
    return _numbers(values.buffers()[1], np.int64 if is_wide else np.int32, values.offset, len(values) + 1)


def _numbers(buffer: pa.Buffer, dtype: Any, first: int, count: int) -> np.ndarray:
    return np.frombuffer(buffer, dtype, count, first * np.dtype(dtype).itemsize).astype(np.int64, copy=False)


def _content(buffer: pa.Buffer | None) -> pa.Buffer:
    """Return the buffer, or an empty buffer instead of None: Arrow may leave out empty buffers."""
    return pa.py_buffer(b"") if buffer is None else buffer


def _missing(values: pa.Array) -> np.ndarray:
    return pc.is_null(values).to_numpy(zero_copy_only=False)


def _validity(values: pa.Array) -> pa.Buffer | None:
    """Return the validity bitmap of the rows, starting at bit 0, or None if no row is missing."""
    return pa.py_buffer(np.packbits(~_missing(values), bitorder="little")) if values.null_count else None


def _array(data_type: pa.DataType, rows: int, buffers: list[pa.Buffer | None], children: list[pa.Array] | None = None) -> pa.Array:
    return pa.Array.from_buffers(data_type, rows, buffers, children=children)


def _list(values: pa.Array, offsets: np.ndarray, items: pa.Array) -> pa.Array:
    """Return lists with 64-bit offsets and widened items; the rows that are missing in ``values`` are missing."""
    return _array(pa.large_list(items.type), len(values), [_validity(values), pa.py_buffer(offsets)], [items])


def _fields(values: pa.Array) -> list[pa.Array]:
    """Return the fields of a struct array for its rows only; the values in rows whose struct is missing are arbitrary."""
    return [values.field(index) for index in range(values.type.num_fields)]


def _map_entries(values: pa.Array) -> pa.Array:
    """Return maps as lists of structs of a key and an item."""
    keys, items = _widened(values.keys), _widened(values.items)
    entries = pa.struct([values.type.key_field.with_type(keys.type), values.type.item_field.with_type(items.type)])
    return _list(values, _offsets(values), _array(entries, len(keys), [None], [keys, items]))


def _of_list_view(values: pa.Array) -> pa.Array:
    """Convert list views to lists with 64-bit offsets; the items of views may be in any order, overlap and leave gaps."""
    dtype = np.int64 if pa.types.is_large_list_view(values.type) else np.int32
    if not len(values):
        return _list(values, np.zeros(1, np.int64), _widened(values.values.slice(0, 0)))
    _, starts, sizes = values.buffers()[:3]
    first, rows = values.offset, len(values)
    counts = np.where(_missing(values), 0, _numbers(sizes, dtype, first, rows))
    return _gathered(values, _numbers(starts, dtype, first, rows), counts, _widened(values.values))


def _gathered(values: pa.Array, starts: np.ndarray, counts: np.ndarray, items: pa.Array) -> pa.Array:
    """Return lists from the start and the number of items of each row; items are copied only if rows overlap, leave gaps or are out of order."""
    ends = np.cumsum(counts)
    offsets = np.concatenate([[0], ends])
    filled = counts > 0
    if (starts[filled] == starts[filled][:1] + (ends - counts)[filled]).all():
        # The items of all rows are adjacent and in order: nothing is copied.
        first = int(starts[filled][0]) if filled.any() else 0
        return _list(values, offsets, items.slice(first, int(offsets[-1])))
    indices = np.repeat(starts - (ends - counts), counts) + np.arange(offsets[-1])
    return _list(values, offsets, items.take(pa.array(indices)))


def _fixed_offsets(values: pa.Array, width: int) -> np.ndarray:
    """Return the offsets of lists or binary values of a fixed size."""
    return np.arange(values.offset, values.offset + len(values) + 1, dtype=np.int64) * width


def _texts_of_uuids(values: pa.Array) -> pa.Array:
    """Return UUIDs as strings in the common form, such as ``123e4567-e89b-12d3-a456-426614174000``."""
    rows = len(values)
    content = np.frombuffer(_content(values.buffers()[1]), np.uint8)[values.offset * 16 : (values.offset + rows) * 16].reshape(rows, 16)
    digits = np.frombuffer(b"0123456789abcdef", np.uint8)[np.stack([content >> 4, content & 15], axis=-1).reshape(rows, 32)]
    texts = np.full((rows, _UUID_LENGTH), ord("-"), np.uint8)
    texts[:, [position for position in range(_UUID_LENGTH) if position not in (8, 13, 18, 23)]] = digits
    offsets = np.arange(rows + 1, dtype=np.int64) * _UUID_LENGTH
    return _array(pa.large_string(), rows, [_validity(values), pa.py_buffer(offsets), pa.py_buffer(texts)])


# Narrowing: 64-bit offsets to 32 bits; the caller has checked that they fit.


def _narrowed(values: pa.Array, data_type: pa.DataType) -> pa.Array:
    """Convert a widened array to a standard type with the same values."""
    types = pa.types
    if types.is_large_string(values.type) or types.is_large_binary(values.type):
        offsets = _offsets(values)
        first, last = int(offsets[0]), int(offsets[-1])
        return _array(data_type, len(values), [_validity(values), _narrow_offsets(offsets), _content(values.buffers()[2]).slice(first, last - first)])
    if types.is_large_list(values.type):
        offsets = _offsets(values)
        items = values.values.slice(int(offsets[0]), int(offsets[-1] - offsets[0]))
        if types.is_map(data_type):
            entries = pa.struct([data_type.key_field, data_type.item_field])
            fields = [_narrowed(part, field.type) for part, field in zip(_fields(items), entries, strict=True)]
            items = _array(entries, len(items), [None], fields)
        else:
            items = _narrowed(items, data_type.value_type)
        return _array(data_type, len(values), [_validity(values), _narrow_offsets(offsets)], [items])
    if types.is_struct(values.type):
        fields = [_narrowed(part, field.type) for part, field in zip(_fields(values), data_type, strict=True)]
        return _array(data_type, len(values), [_validity(values)], fields)
    return values


def _narrow_offsets(offsets: np.ndarray) -> pa.Buffer:
    return pa.py_buffer((offsets - offsets[0]).astype(np.int32))


# Columns as one or several arrays: with 32-bit offsets, one array holds at most 2 GiB of strings, or 2**31 items of lists.


def in_one_array(arrays: Sequence[pa.Array]) -> pa.Array:
    """Concatenate arrays of one type.

    Raises
    ------
    TooLargeError
        If there are more bytes of strings, or items of lists, than one array can hold.
    """
    if len(arrays) == 1:
        return arrays[0]
    try:
        return pa.concat_arrays(arrays)
    except pa.ArrowInvalid:
        size = sum(array.nbytes for array in arrays)
        if size <= MAX_BYTES:
            raise
        advice = "take fewer rows at a time (head, a slice, a filter), iterate over them (for row in ...), or save() them"
        raise TooLargeError(f"{in_words(size)} of a column were asked for in one piece, which holds 2 GiB of texts or lists: {advice}") from None


def parts_of(values: pa.Array | pa.ChunkedArray) -> list[pa.Array]:
    """Return the chunks of a column; if it has none, an empty array.

    Examples
    --------
    >>> len(parts_of(pa.array([1]))), len(parts_of(pa.chunked_array([], pa.int64())))
    (1, 1)
    """
    if isinstance(values, pa.Array):
        return [values]
    return values.chunks or [pa.array([], values.type)]


def maps_of_dicts(cells: Sequence[Any], data_type: pa.DataType) -> pa.Array | pa.ChunkedArray:
    """Convert dicts and None to an array of maps, or to several if one array is too small (Arrow's own builder then aborts the process).

    Raises
    ------
    pyarrow.ArrowException, OverflowError, TypeError
        If a key is missing, or a key or an item does not fit its type.
    TooLargeError
        If a single dict has more than an array can hold.

    Examples
    --------
    >>> maps_of_dicts([{"a": 1}, None], pa.map_(pa.string(), pa.int64())).to_pylist()
    [[('a', 1)], None]
    """
    present = [cell for cell in cells if cell is not None]
    keys = pa.array(list(chain.from_iterable(present)), data_type.key_type)
    items = pa.array(list(chain.from_iterable(cell.values() for cell in present)), data_type.item_type)
    if isinstance(keys, pa.ChunkedArray) or isinstance(items, pa.ChunkedArray):
        if len(cells) < 2:
            raise TooLargeError("one value alone has more than 2 GiB of text, more than an array can hold: divide it into several values")
        middle = len(cells) // 2
        halves = (maps_of_dicts(half, data_type) for half in (cells[:middle], cells[middle:]))
        return pa.chunked_array([part for half in halves for part in parts_of(half)])
    if keys.null_count:
        raise pa.ArrowInvalid("a key of a map is missing")
    missing = np.fromiter((cell is None for cell in cells), bool, len(cells))
    counts = np.zeros(len(cells), np.int64)
    counts[~missing] = np.fromiter(map(len, present), np.int64, len(present))
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    validity = pa.py_buffer(np.packbits(~missing, bitorder="little")) if missing.any() else None
    entries = pa.StructArray.from_arrays([keys, items], fields=[data_type.key_field, data_type.item_field])
    return pa.Array.from_buffers(data_type, len(cells), [validity, pa.py_buffer(offsets)], children=[entries])


# Tables as Arrow IPC streams. A stream holds only the rows of a table, even if the table is a slice of longer buffers.


def stream_of(tables: Iterable[pa.Table | pa.RecordBatch]) -> pa.Buffer:
    """Write tables of one schema, of which there must be at least one, to an Arrow IPC stream; they are taken from the iterable one at a time.

    Examples
    --------
    >>> stream = stream_of(pa.table({"number": [number]}) for number in (3, 4))
    >>> table_of(stream).to_pydict()
    {'number': [3, 4]}
    """
    rest, sink = iter(tables), pa.BufferOutputStream()
    first = next(rest)
    with pa.ipc.new_stream(sink, first.schema) as stream:
        for table in chain([first], rest):
            stream.write(table)
    return sink.getvalue()


def table_of(stream: bytes | pa.Buffer) -> pa.Table:
    """Read the rows of an Arrow IPC stream; the caller has to validate the rows if the stream comes from outside this program."""
    return pa.ipc.open_stream(stream).read_all()


# A compression that takes hardly any time.
_QUICK = "lz4"


def to_message(batch: pa.RecordBatch) -> tuple[pa.Buffer, int]:
    """Return a record batch as a compressed Arrow message without its schema, and the bytes of the message before compression.

    The schema of a stream takes longer to write and to read than a few rows do.

    Examples
    --------
    >>> batch = pa.record_batch({"number": [3, 4]})
    >>> from_message(*to_message(batch), batch.schema).to_pydict()
    {'number': [3, 4]}
    """
    message = batch.serialize()
    return pa.compress(message, codec=_QUICK), message.size


def from_message(payload: bytes | pa.Buffer, size: int, schema: pa.Schema) -> pa.RecordBatch:
    """Return the record batch of :func:`to_message`, given its schema; the caller has to make sure that the bytes are those that were written."""
    return pa.ipc.read_record_batch(pa.decompress(payload, decompressed_size=size, codec=_QUICK), schema)
