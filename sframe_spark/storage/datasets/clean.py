"""``python -m sframe_spark clean``: lists and deletes what dead processes left."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence

from sframe_spark.errors import StorageError
from sframe_spark.locations import normalised
from sframe_spark.session.leftovers import leftovers_in, may_be_renamed_by_anyone
from sframe_spark.session.owner import delete
from sframe_spark.session.trees import size_on_disk
from sframe_spark.storage.files.temporary import temporary_root
from sframe_spark.values.byte_text import in_words


def places(paths: Sequence[str]) -> list[str]:
    """Directories in which processes leave something: those of temporary data and sockets, and those in and beside the given absolute paths."""
    always = [temporary_root(), tempfile.gettempdir(), "/tmp"]
    found = [*always, *(place for path in paths for place in (path, os.path.dirname(path)))]
    return list(dict.fromkeys(os.path.realpath(place) for place in found if os.path.isdir(place)))


def run_clean(paths: Sequence[str], dry_run: bool, show: Callable[[str], None]) -> int:
    """Show and delete what dead processes of this user left; return 1 if a path is missing or something could not be deleted, otherwise 0."""
    given = given_places(paths, show)
    number, total, failed = 0, 0, 0
    for place in places(given):
        if may_be_renamed_by_anyone(place):
            show(f"{place} is left as it is: anyone may rename things in it; chmod +t mends that")
        for path in leftovers_in(place):
            size = size_on_disk(path)
            if not dry_run:
                delete(path)
            stays = not dry_run and os.path.lexists(path)
            show(f"{'would remove' if dry_run else 'cannot remove' if stays else 'removed'} {path}, {in_words(size)}")
            number, total, failed = number + (not stays), total + size * (not stays), failed + stays
    show(f"{number} left by processes that ended, {in_words(total)}{' could be removed' if dry_run else ' removed'}")
    return 1 if failed or len(given) < len(paths) else 0


def given_places(paths: Sequence[str], show: Callable[[str], None]) -> list[str]:
    """Absolute paths of what a user named, as everywhere else a path or a ``file:`` URI; what there is not is told."""
    found = []
    for path in paths:
        try:
            location = normalised(path)
        except StorageError as error:
            show(str(error))
            continue
        if os.path.lexists(location):
            found.append(location)
        else:
            show(f"there is no {path}")
    return found
