"""Directories of parts elsewhere, where no two change places: all parts are there before the first is seen, and part 0 comes last."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence

from sframe_spark.errors import StorageError
from sframe_spark.locations import is_elsewhere
from sframe_spark.message_text import visible
from sframe_spark.process.interrupts import interrupts_deferred
from sframe_spark.process.resource_limits import available_cores
from sframe_spark.process.threads import in_threads
from sframe_spark.storage.filesystem.object_store import place_at, place_within, put_whole, require_bucket, upload
from sframe_spark.storage.filesystem.paths import join
from sframe_spark.storage.staging import Staging, remove_files


def require_nothing_elsewhere(target: str) -> None:
    """Make sure, before any work, that a directory can be made elsewhere without a reader seeing parts of two.

    Raises
    ------
    StorageError
        If there is something, or no bucket.
    """
    found = place_at(target)
    if not found.names:
        require_bucket(target)
    if found.is_file:
        raise StorageError(f"{target} is a file, not a directory: choose another path, or remove it first")
    if found.names:
        reason = "directories elsewhere do not change places at one stroke"
        raise StorageError(f"{target} holds {visible(found.names[0])}, and {reason}: choose another path, or remove it first")


def publish_elsewhere(staging: Staging, files: Sequence[str], target: str, names: Sequence[str]) -> None:
    """Give parts, in row order, their names in a directory: one part by one request, several by copies that the file system makes.

    Raises
    ------
    StorageError
        If a part cannot be written, or somebody else has written there meanwhile; no part of these is left then.
    """
    places = [join(target, name) for name in names]
    if len(files) > 1:
        staging.is_used = True
        files = in_threads(lambda file: _beside(file, staging, target), files, available_cores())
    try:
        with interrupts_deferred():
            # Who finds parts and none of number 0 knows that they are not all.
            in_threads(lambda pair: _place(*pair), list(zip(files, places, strict=True))[1:], available_cores())
            _place(files[0], places[0])
            _require_alone(target, names)
    except BaseException:
        # What cannot be removed is told by nobody: the error that is the cause is.
        with contextlib.suppress(StorageError):
            remove_files(places)
        raise


def _beside(file: str, staging: Staging, target: str) -> str:
    """Where a part is on the file system of the target, under a name that nobody reads."""
    if is_elsewhere(file):
        return file
    place = join(staging.beside, os.path.basename(file))
    upload(file, place, target)
    return place


def _place(file: str, place: str) -> None:
    if is_elsewhere(file):
        place_within(file, place)
    else:
        put_whole(file, place)


def _require_alone(target: str, names: Sequence[str]) -> None:
    strange = sorted(set(place_at(target).names) - set(names))
    if strange:
        raise StorageError(f"somebody else wrote {visible(strange[0])} to {target} meanwhile: nothing of theirs was changed; choose another path")
