"""Datasets that tests save without a frame around them."""

from __future__ import annotations

import os
from collections.abc import Sequence

import attrs

from sframe_spark.locations import normalised
from sframe_spark.storage.datasets.gather import LEAST_TOGETHER, copied_dataset
from sframe_spark.storage.datasets.save import saving_directory
from sframe_spark.storage.manifests.manifest import SFRAME, Manifest


def save_dataset(
    sources: Sequence[Manifest],
    target: str | os.PathLike[str],
    names: Sequence[str] | None = None,
    kind: str = SFRAME,
    min_combined: int = LEAST_TOGETHER,
) -> Manifest:
    """Save the rows of datasets, one after the other, to a local directory, as a frame does that is a source over one."""
    location = normalised(target)
    with saving_directory(location) as pending:
        complete = pending.commit(copied_dataset(sources, pending.directory, min_combined), names, kind)
    return attrs.evolve(complete, directory=location)
