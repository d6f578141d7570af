"""Footers of joined files: column chunks of many files of one form become row groups of one, which pyarrow decodes in one go.

A number of variable length takes as many bytes as the longest may, so that footers of all row groups are written at once, by numpy.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import attrs
import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq

from sframe_spark.storage.parquet.thrift import field_start, skipped, written_list_start, written_number

# Numbers of fields of a footer.
_ROWS, _GROUPS = 3, 4
# Bytes of a number that may have 35 bits, one of which is the sign; numbers from this one on would lose some.
_NUMBER_BYTES = 5
LARGEST_NUMBER = 1 << 34
# What a field starts with that follows the last one, or the one before that, and is a number or holds something.
_NEXT_I32, _NEXT_I64, _AFTER_NEXT_I64, _NEXT_LIST, _NEXT_STRUCT = b"\x15", b"\x16", b"\x26", b"\x19", b"\x1c"
_END, _STRUCTS, _NUMBERS, _BINARIES = b"\x00", 12, 5, 8
# Numbers that Parquet has for how columns are stored, and compressed, of those that writers of ours use.
PHYSICAL_TYPES = {"BOOLEAN": 0, "INT32": 1, "INT64": 2, "FLOAT": 4, "DOUBLE": 5, "BYTE_ARRAY": 6}
CODECS = {"UNCOMPRESSED": 0, "SNAPPY": 1, "GZIP": 2, "BROTLI": 4, "ZSTD": 6, "LZ4": 7}
IS_CODEC: npt.NDArray[np.bool_] = np.isin(np.arange(max(CODECS.values()) + 1), list(CODECS.values()))

# What is told of a chunk: the number of its codec, how many values it has, how long it is when it is no longer compressed, how long it is, where
# its data start, and where its dictionary does, zero where it has none.
CODEC, VALUES, _, SIZE, DATA, DICTIONARY = range(6)
NUMBERS_OF_CHUNK = 6
_BEFORE_NUMBERS = (_NEXT_I32, _NEXT_I64, _NEXT_I64, _NEXT_I64, _AFTER_NEXT_I64, _AFTER_NEXT_I64)


@attrs.frozen
class SharedFooter:
    """What the footers of files of one form share: the bytes before the number of rows, and those after the row groups.

    Parameters
    ----------
    before, after
        These bytes.
    """

    before: bytes
    after: bytes

    def start(self, rows: int) -> bytes:
        """What a footer of so many rows in one row group starts with."""
        return self.before + _NEXT_I64 + written_number(rows << 1) + _NEXT_LIST + written_list_start(1, _STRUCTS)

    @classmethod
    def of(cls, footer: bytes) -> SharedFooter | None:
        """What is around the rows and row groups of a footer; None where they are not where writers put them.

        Examples
        --------
        >>> import io
        >>> import pyarrow as pa
        >>> import pyarrow.parquet as pq
        >>> sink = io.BytesIO()
        >>> metadata_of = pq.write_table(pa.table({"a": [1]}), sink)
        >>> content = sink.getvalue()
        >>> shared = SharedFooter.of(content[-8 - int.from_bytes(content[-8:-4], "little") : -8])
        >>> b"a" in shared.before, b"pyarrow" in shared.after or b"parquet" in shared.after
        (True, True)
        """
        at = field = 0
        before = None
        while at < len(footer):
            start = at
            field, kind, at = field_start(footer, at, field)
            before = start if field == _ROWS else before
            if not kind:
                break
            at = skipped(footer, at, kind)
            if field == _GROUPS:
                return None if before is None else cls(footer[:before], footer[at:])
        return None


@attrs.frozen
class Template:
    """What a footer says of a row group, but for some numbers.

    Parameters
    ----------
    content
        The bytes, zero where numbers go.
    places
        Where these start, in their order: what is told of each chunk, chunk by chunk (see :data:`NUMBERS_OF_CHUNK`), and the number of rows.
    """

    content: bytes
    places: tuple[int, ...]

    @classmethod
    def of(cls, leaves: Sequence[tuple[str, str]], read: Collection[int]) -> Template:
        """What is said of leaves of columns, given the path and the physical type of each, of which those at some places are read."""
        content, places = bytearray(_NEXT_LIST + written_list_start(len(leaves), _STRUCTS)), list[int]()

        def add_number(start: bytes) -> None:
            content.extend(start)
            places.append(len(content))
            content.extend(bytes(_NUMBER_BYTES))

        for place, (path, physical_type) in enumerate(leaves):
            if place in read:
                content.extend(_start_of_chunk(path.encode(), PHYSICAL_TYPES[physical_type]))
                for start in _BEFORE_NUMBERS:
                    add_number(start)
                content.extend(_END)
            else:
                # Nobody asks what they are.
                content.extend(_AFTER_NEXT_I64 + _END)
            content.extend(_END)
        content.extend(_NEXT_I64 + _END)
        add_number(_NEXT_I64)
        return cls(bytes(content + _END), tuple(places))

    def filled(self, values: npt.NDArray[np.int64]) -> bytes:
        """The same of several row groups, given the numbers of each."""
        groups = np.tile(np.frombuffer(self.content, np.uint8), (len(values), 1))
        places = np.array(self.places)[:, None] + np.arange(_NUMBER_BYTES)
        groups[:, places] = numbers(values)
        return groups.tobytes()


def numbers_of_chunks(metadata: pq.FileMetaData, places: Iterable[int] | None = None) -> list[int] | None:
    """Return what is told of the chunks of some leaves of columns in a file of one row group (see :data:`NUMBERS_OF_CHUNK`).

    None where there are several row groups, or a codec is none that writers of ours use.

    Parameters
    ----------
    metadata
        The footer of the file.
    places
        The leaves; None for all.
    """
    if metadata.num_row_groups != 1:
        return None
    group, found = metadata.row_group(0), list[int]()
    for place in range(metadata.num_columns) if places is None else places:
        chunk = group.column(place)
        codec, data = CODECS.get(chunk.compression), chunk.data_page_offset
        dictionary = chunk.dictionary_page_offset if chunk.has_dictionary_page else None
        if codec is None:
            return None
        found += (codec, chunk.num_values, chunk.total_uncompressed_size, chunk.total_compressed_size, data, dictionary or 0)
    return found


def joined_footer(shared: SharedFooter, template: Template, values: npt.NDArray[np.int64]) -> bytes:
    """Return the footer of a file of several row groups.

    Parameters
    ----------
    shared
        What is said of all.
    template
        What is said of each.
    values
        The numbers in it, for each row group: a row of them, of which the last one is its number of rows.
    """
    rows = numbers(values[:, -1].sum(keepdims=True)).tobytes()
    return shared.before + _NEXT_I64 + rows + _NEXT_LIST + written_list_start(len(values), _STRUCTS) + template.filled(values) + shared.after


def _start_of_chunk(path: bytes, physical_type: int) -> bytes:
    """What is said of a chunk before the numbers; that it has one encoding, as pages say theirs, and no statistics."""
    encodings = _NEXT_LIST + written_list_start(1, _NUMBERS) + _END
    paths = _NEXT_LIST + written_list_start(1, _BINARIES) + written_number(len(path)) + path
    # Physical types are small numbers, of which the lowest bit is the sign.
    return _AFTER_NEXT_I64 + _END + _NEXT_STRUCT + _NEXT_I32 + bytes([physical_type << 1]) + encodings + paths


def numbers(values: npt.NDArray[np.int64]) -> npt.NDArray[np.uint8]:
    """Numbers as Thrift has them, all of the same length: each is a row of bytes.

    Examples
    --------
    >>> from sframe_spark.storage.parquet.thrift import signed
    >>> [signed(row.tobytes(), 0) for row in numbers(np.array([0, 200, 1 << 33]))]
    [(0, 5), (200, 5), (8589934592, 5)]
    """
    left = values.astype(np.uint64)[..., None] << np.uint64(1)
    found: npt.NDArray[np.uint8] = (left >> (np.arange(_NUMBER_BYTES, dtype=np.uint64) * np.uint64(7))).astype(np.uint8) | np.uint8(128)
    found[..., -1] &= 127
    return found
