"""Columns of texts that a Parquet file keeps as numbers of texts in dictionaries: read so, and decoded then, they take half of the time."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from sframe_spark.storage.parquet.footer import Footer

# A text that is kept as itself takes four bytes for its length. Columns of less are kept as numbers, but for what their dictionaries had no room for.
MOST_BYTES_OF_CODE = 3
# Of fewer rows the dictionaries are most of what is read.
LEAST_ROWS = 4_096
_CODED = "coded texts"


def coded_texts(footer: Footer, names: Iterable[str]) -> list[str]:
    """Return which columns of a file are texts that it keeps as numbers.

    Parameters
    ----------
    footer
        The file's.
    names
        Columns of the file.
    """
    return [name for name in dict.fromkeys(names) if _is_coded(footer, name)]


def _is_coded(footer: Footer, name: str) -> bool:
    known = footer.measured.get((_CODED, name))
    if known is None:
        known = footer.measured[_CODED, name] = float(_looks_coded(footer, name))
    return bool(known)


def _looks_coded(footer: Footer, name: str) -> bool:
    place, schema = footer.places.get(name), footer.schema
    if place is None or footer.rows < LEAST_ROWS or not pa.types.is_string(schema.field(name).type):
        return False
    groups = footer.metadata.num_row_groups
    # What holds of three row groups holds of most; of the others it costs time only.
    chunks = [footer.metadata.row_group(group).column(place) for group in {0, groups // 2, groups - 1}]
    return all("RLE_DICTIONARY" in chunk.encodings and chunk.total_uncompressed_size <= MOST_BYTES_OF_CODE * chunk.num_values for chunk in chunks)


def decoded(batch: pa.RecordBatch, names: Iterable[str]) -> pa.RecordBatch:
    """Return rows with the texts of some columns in place of their numbers.

    Examples
    --------
    >>> coded = pa.array(["a", "b", "a"]).dictionary_encode()
    >>> decoded(pa.record_batch([coded], ["t"]), ["t"]).column("t").to_pylist()
    ['a', 'b', 'a']
    """
    for name in names:
        place = batch.schema.get_field_index(name)
        batch = batch.set_column(place, name, batch.column(place).dictionary_decode())
    return batch
