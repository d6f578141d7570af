"""``python -m sframe_spark verify``: reads every byte of saved frames and says which files are not what was saved."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sframe_spark.errors import SFrameError
from sframe_spark.locations import normalised
from sframe_spark.storage.datasets.content import damage_in
from sframe_spark.storage.datasets.load import read_manifest
from sframe_spark.storage.datasets.referred import load_referred
from sframe_spark.storage.files.listing import sizes_below

WHOLE, DAMAGED = 0, 1


def run_verify(paths: Sequence[str], show: Callable[[str], None]) -> int:
    """Show one line for each frame that is whole, or for each of its files that is not; return 0 if all are whole, otherwise 1.

    Parameters
    ----------
    paths
        Saved frames or columns.
    show
        Takes each line.
    """
    outcomes = [_verify(path, show) for path in paths]
    return max(outcomes, default=WHOLE)


def _verify(path: str, show: Callable[[str], None]) -> int:
    try:
        manifest = read_manifest(normalised(path), verify=True)
        others = load_referred(manifest, verify=True) if manifest.elsewhere is not None else []
        problems: list[SFrameError] = [*damage_in(manifest)]
    except SFrameError as error:
        problems = [error]
    for problem in problems:
        show(" ".join(str(problem).split()))
    if problems:
        return DAMAGED
    sizes = sizes_below(manifest.directory)
    size = sum(sizes[entry.file] for entry in manifest.segments)
    rows = manifest.rows if manifest.elsewhere is None else manifest.elsewhere.rows
    also = "".join(f", and rows in {other.directory}" for other in others)
    show(f"{manifest.directory}: ok, {rows:,} rows, {len(manifest.segments):,} files, {size:,} bytes{also}")
    return WHOLE
