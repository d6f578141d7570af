"""Datasets that tests save without a frame around them."""

from __future__ import annotations

import itertools
import os
import tempfile
from collections.abc import Sequence

import attrs

from sframe_spark.paths_and_uris import normalised
from sframe_spark.storage.datasets.atomic_directory_save import saving_directory
from sframe_spark.storage.datasets.dataset_copies import MIN_COMBINED, copied_dataset
from sframe_spark.storage.datasets.manifest_publication import publish
from sframe_spark.storage.manifest.manifest import SFRAME, Manifest
from sframe_spark.storage.segments.reader import iterate_rows
from sframe_spark.storage.segments.writer import write_segment


def save_dataset(
    sources: Sequence[Manifest],
    target: str | os.PathLike[str],
    names: Sequence[str] | None = None,
    kind: str = SFRAME,
    min_combined: int = MIN_COMBINED,
) -> Manifest:
    """Save the rows of datasets, one after the other, to a local directory, as a frame does that is a source over one."""
    location = normalised(target)
    with tempfile.TemporaryDirectory() as place, saving_directory(location) as pending:
        source = sources[0] if len(sources) == 1 else united(sources, place)
        complete = pending.commit(copied_dataset(source, pending.directory, min_combined), names, kind)
    return attrs.evolve(complete, directory=location)


def united(sources: Sequence[Manifest], directory: str) -> Manifest:
    """The rows of datasets, one after the other, as one dataset of as many segments."""
    numbers = itertools.count()
    entries = [
        write_segment(directory, next(numbers), source.types, iterate_rows(source, range(len(source.types)), offset, offset + entry.rows))
        for source in sources
        for entry, offset in zip(source.segments, source.offsets, strict=True)
    ]
    return publish(directory, sources[0].types, entries)
