"""``python -m sframe_spark convert``: converts archives of Turi Create, a single one or a whole tree, to saved frames."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Iterator

import attrs

from sframe_spark.errors import InvalidArgumentError, MissingPathError, SFrameError, StorageError
from sframe_spark.message_text import in_words
from sframe_spark.paths_and_uris import normalised
from sframe_spark.session.progress import ProgressBar, TaskRows
from sframe_spark.storage.datasets.manifest_loading_and_open_dataset_registry import load_manifest
from sframe_spark.storage.filesystem.format_recognition import ARCHIVE_FILE, MANIFEST_FILE, is_archive
from sframe_spark.storage.filesystem.io_errors import translate_os_errors
from sframe_spark.storage.filesystem.local_files import sizes_below
from sframe_spark.storage.filesystem.path_joining_and_escaping import join
from sframe_spark.storage.manifest.manifest import Manifest
from sframe_spark.turicreate.archive import STRICT, Archive, open_archive
from sframe_spark.turicreate.conversion_and_verification import are_disjoint, convert_archive, require_same_rows

ALL_CONVERTED, NOT_ALL = 0, 1
CONVERTED, REFUSED, LEFT_OUT = "converted", "refused", "left out"


@attrs.frozen
class ConvertOptions:
    """How to convert archives.

    Parameters
    ----------
    references, encoding_errors
        As in :func:`~sframe_spark.turicreate.archive.open_archive`.
    verify
        Whether to read the written frame again and compare it with the archive, value by value.
    skip_existing
        Whether to skip archives whose target is a saved frame already.
    """

    references: tuple[str, ...] = ()
    encoding_errors: str = STRICT
    verify: bool = False
    skip_existing: bool = False


@attrs.frozen
class ConvertedArchive:
    """The outcome of converting one archive.

    Parameters
    ----------
    archive, target
        The locations of the archive and of the frame.
    outcome
        ``converted``, ``refused`` or ``left out``.
    reason
        Why the archive was not converted; empty if it was.
    rows, columns, size
        The numbers of rows and columns of the frame, and the bytes of its files; None if the archive was not converted.
    seconds
        How long the conversion took; None if the archive was not converted.
    """

    archive: str
    target: str
    outcome: str
    reason: str = ""
    rows: int | None = None
    columns: int | None = None
    size: int | None = None
    seconds: float | None = None

    def line(self, archive: str, target: str) -> str:
        """Return the outcome as a line, with the names that the user gave to the archive and the target."""
        if self.outcome != CONVERTED:
            return f"{archive}: {self.outcome}: {' '.join(self.reason.split())}"
        assert self.size is not None
        measures = f"{self.rows:,} rows, {self.columns:,} columns, {in_words(self.size)}, {self.seconds:.1f} s"
        return f"{archive}: converted to {target}: {measures}"


def run_convert(old: str, new: str, options: ConvertOptions, report: str | None, show: Callable[[str], None]) -> int:
    """Convert an archive, or each archive below a directory to the same relative path below another directory.

    Return 0 if there was an archive and none was refused, else 1.

    Parameters
    ----------
    old, new
        The archive and the frame, or the two directories.
    options
        How to convert.
    report
        A JSON file to write the outcomes to; None writes none.
    show
        Called with a line for each archive, and with a summary unless there is exactly one.
    """
    try:
        source, destination = normalised(old), normalised(new)
        pairs = pairs_of(source, destination)
    except SFrameError as error:
        show(" ".join(str(error).split()))
        return NOT_ALL
    outcomes: list[ConvertedArchive] = []
    for archive, target in pairs:
        outcomes.append(converted(archive, target, options))
        show(outcomes[-1].line(_as_named(archive, old, source), _as_named(target, new, destination)))
    counts = {name: sum(item.outcome == name for item in outcomes) for name in (CONVERTED, REFUSED, LEFT_OUT)}
    if len(outcomes) != 1:
        show(", ".join(f"{count} {name}" for name, count in counts.items()))
    if report is not None:
        with translate_os_errors("write", report), open(normalised(report), "w", encoding="utf-8", errors="backslashreplace") as stream:
            json.dump([attrs.asdict(item) for item in outcomes], stream, indent=1, ensure_ascii=False)
            stream.write("\n")
    return NOT_ALL if counts[REFUSED] or not outcomes else ALL_CONVERTED


def _as_named(path: str, name: str, location: str) -> str:
    """Return a path below a location, with the name that the user gave to the location."""
    return name if path == location else join(name, os.path.relpath(path, location))


def pairs_of(old: str, new: str) -> list[tuple[str, str]]:
    """Return each archive at or below a location with the target of its frame, sorted by path; links are not followed.

    Raises
    ------
    StorageError
        If there is no archive, or if one location is within the other.
    """
    if not are_disjoint(new, old):
        raise StorageError(f"one of {new} and {old} contains the other: choose a separate place")
    if is_archive(old):
        return [(old, new)]
    if not os.path.isdir(old):
        if os.path.lexists(old):
            raise StorageError(f"{old} is a file; an archive of Turi Create is a directory")
        raise MissingPathError(f"there is no directory {old}: check the path")
    pairs = [(archive, join(new, os.path.relpath(archive, old))) for archive in sorted(_archives_below(old))]
    if not pairs:
        raise StorageError(f"{old} is not an archive of Turi Create, and contains none: each archive has a file {ARCHIVE_FILE}")
    return pairs


def _archives_below(directory: str) -> Iterator[str]:
    pending = [directory]
    while pending:
        path = pending.pop()
        with translate_os_errors("list", path), os.scandir(path) as scan:
            entries = list(scan)
        if any(entry.name == ARCHIVE_FILE for entry in entries):
            yield path
        else:
            pending += [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]


def converted(location: str, target: str, options: ConvertOptions) -> ConvertedArchive:
    """Convert one archive and return the outcome."""
    began = time.monotonic()
    if options.skip_existing and os.path.lexists(join(target, MANIFEST_FILE)):
        return ConvertedArchive(location, target, LEFT_OUT, f"{target} exists already")
    try:
        archive = open_archive(location, options.references, options.encoding_errors)
        manifest = _with_progress(archive, target)
        if options.verify:
            require_same_rows(archive, load_manifest(target, verify=True))
    except InvalidArgumentError:
        raise
    except SFrameError as error:
        return ConvertedArchive(location, target, REFUSED, str(error))
    size = sum(sizes_below(target).values())
    return ConvertedArchive(location, target, CONVERTED, "", archive.rows, len(manifest.types), size, time.monotonic() - began)


def _with_progress(archive: Archive, target: str) -> Manifest:
    rows, lock = TaskRows(archive.rows), threading.Lock()
    bar = ProgressBar(os.path.basename(archive.location), lambda: (rows.done, rows.rows), unit="rows")

    def on_rows(count: int) -> None:
        with lock:
            rows.reach(rows.done + count)
            bar.update()

    try:
        return convert_archive(archive, target, on_rows=on_rows)
    finally:
        bar.close()
