"""Check sums of page headers by row group, of files elsewhere: bytes are checked as they come, and none are fetched to check others."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import attrs
import pyarrow as pa
import pyarrow.parquet as pq

from sframe_spark.errors import BrokenThrift, StorageError
from sframe_spark.locations import is_elsewhere
from sframe_spark.storage.filesystem.paths import join
from sframe_spark.storage.filesystem.ranged_reads import BytesOfGroup
from sframe_spark.storage.manifest.manifest import Manifest, SegmentEntry
from sframe_spark.storage.manifest.physical_types import KEY_NAME, file_column
from sframe_spark.storage.parquet.footer import Footer
from sframe_spark.storage.parquet.page_headers import FileBytes, page_headers


def with_group_sums(entry: SegmentEntry, location: str, columns: int) -> SegmentEntry:
    """Return the entry of a local file of ours with check sums of each row group, where it has several.

    Parameters
    ----------
    entry
        The entry, with check sums of the file.
    location
        The file.
    columns
        How many columns it has, besides the key.
    """
    with pa.OSFile(location) as source:
        footer, content = pq.read_metadata(source), FileBytes(source)
        if footer.num_row_groups < 2:
            return attrs.evolve(entry, group_pages=None)
        names = [*map(file_column, range(columns)), KEY_NAME]
        sums = [page_headers(content, footer, groups=[group]).sums for group in range(footer.num_row_groups)]
    return attrs.evolve(entry, group_pages=tuple(tuple(found[name] for name in names) for found in sums))


def checking(manifest: Manifest, entry: SegmentEntry, footer: Footer, columns: Iterable[int]) -> Callable[[int, BytesOfGroup], None] | None:
    """Return what compares page headers of columns of a file elsewhere as their bytes come; None where all of the file has to be looked at."""
    location, groups = join(manifest.directory, entry.file), footer.metadata.num_row_groups
    by_group = entry.group_pages or ((entry.pages,) if entry.pages is not None else ())
    if not is_elsewhere(location) or len(by_group) != groups:
        return None
    names = {manifest.file_name(column): column for column in columns}

    def check(group: int, content: BytesOfGroup) -> None:
        try:
            found = page_headers(content, footer.metadata, names.keys(), groups=[group]).sums
        except BrokenThrift as error:
            raise StorageError(f"{location} is damaged: {error}; save the frame again") from None
        for name, column in names.items():
            if found.get(name) != by_group[group][column]:
                raise StorageError(f"{location} is damaged: the check sum of page headers of column {name} is another one; save the frame again")

    return check
