"""Saving elsewhere: files under a name that nobody else has, then the manifest of the next version, put only where there is none."""

from __future__ import annotations

import contextlib
import datetime
import functools
import os
import uuid
from collections.abc import Iterator, Sequence
from typing import Any

import attrs

from sframe_spark.errors import ConcurrentSaveError, StorageError
from sframe_spark.storage.datasets.commit import write_beside
from sframe_spark.storage.datasets.versioned_datasets import DATA, MOST_VERSIONS, manifest_place, manifest_text, versions_at
from sframe_spark.storage.filesystem.file_systems import identity_of
from sframe_spark.storage.filesystem.object_store import create, creates_exclusively, listed, read_range, remove, upload
from sframe_spark.storage.filesystem.paths import join
from sframe_spark.storage.filesystem.saved_places import MANIFESTS
from sframe_spark.storage.manifest.manifest import Manifest
from sframe_spark.storage.manifest.segment_index import is_stored_beside
from sframe_spark.storage.segments.delivery import delivering

PROBE = "probe-"


@attrs.define(eq=False)
class NewVersion:
    """A version of a frame elsewhere that is being made.

    Parameters
    ----------
    root
        The place of the frame.
    number
        The number that it is to have.
    data
        The directory of its files, relative to the root.
    is_tried
        Whether its manifest may have been put, so that its files may be somebody's rows.
    """

    root: str
    number: int
    data: str
    is_tried: bool = False

    @property
    def directory(self) -> str:
        """Where its files go."""
        return join(self.root, self.data)

    def commit(self, made: Manifest, names: Sequence[str], kind: str) -> Manifest:
        """Let a dataset in the directory of this version be the newest one; nothing was seen of it before.

        Raises
        ------
        ConcurrentSaveError
            If somebody else has saved meanwhile.
        StorageError
            If a file is not there as it was written.
        """
        segments = tuple(attrs.evolve(entry, file=f"{self.data}/{entry.file}") for entry in made.segments if entry.rows)
        complete = Manifest(made.types, segments, self.root, names=tuple(names), kind=kind, order=made.order)
        self._require_whole(complete)
        text = manifest_text(complete, datetime.datetime.now(datetime.UTC), self._beside(complete))
        place = manifest_place(self.root, self.number)
        self.is_tried = True
        try:
            put = create(place, text)
        except StorageError as error:
            # The answer may have got lost, not the request.
            if not _holds(place, text):
                raise StorageError(f"{error}; nobody knows whether it was saved: load it, or save it again") from None
            return complete
        # A request that was sent once more meets what it has written itself.
        if not put and not _holds(place, text):
            self.is_tried = False
            raise ConcurrentSaveError(
                f"somebody else saved {self.root} meanwhile, as version {self.number}: nothing of theirs was changed; look at it, or save again"
            )
        return complete

    def _beside(self, made: Manifest) -> dict[str, Any] | None:
        """Upload the segments of a manifest where they are many, among the files of this version, and return what it is to say of them."""
        if not is_stored_beside(made):
            return None
        with delivering(self.directory) as delivery:
            said = write_beside(made, delivery.directory, durable=False)
            assert said is not None
            upload(join(delivery.directory, said["file"]), join(self.directory, said["file"]))
        return {**said, "file": f"{self.data}/{said['file']}"}

    def _require_whole(self, made: Manifest) -> None:
        """Make sure that files are there as long as they should be: one that was cut is copied as it is, and may be removed by a vacuum meanwhile."""
        lengths = {file.uri: file.size for file in listed(self.directory)}
        for entry in made.segments:
            found = lengths.get(join(self.root, entry.file))
            if found != entry.size:
                has = "is gone" if found is None else f"has {found} bytes, not {entry.size}"
                why = "it is a copy of one that was cut or replaced" if found is not None else "somebody has removed it"
                raise StorageError(
                    f"cannot save to {self.root}: {entry.file}, which was written for it, {has}: {why}; load the rows anew, or save again"
                )


def _holds(place: str, text: bytes) -> bool:
    with contextlib.suppress(StorageError):
        return read_range(place, 0, len(text) + 1) == text
    return False


@contextlib.contextmanager
def saving_version(root: str) -> Iterator[NewVersion]:
    """A new version of a frame elsewhere: of a block that fails nothing is left, and what was saved before stays as it was.

    Raises
    ------
    StorageError
        If the file system cannot be written, or does not keep two savers apart.
    """
    before = versions_at(root)
    _proved(_Proof(root, "/".join(root.split("/")[:3]), identity_of(root), os.getpid()))
    number = (before[-1].number if before else 0) + 1
    if number > MOST_VERSIONS:
        raise StorageError(f"{root} has a version {number - 1}, after which there is none: save to another place")
    new = NewVersion(root, number, f"{DATA}/{uuid.uuid4().hex}")
    try:
        yield new
    except BaseException:
        if not new.is_tried:
            with contextlib.suppress(StorageError):
                for file in listed(new.directory, below=True):
                    remove(file.uri)
        raise


@attrs.frozen
class _Proof:
    """Which file system it is that keeps savers apart, in which process; the root is where it is tried."""

    root: str = attrs.field(eq=False)
    bucket: str
    options: str = attrs.field(repr=False)
    process: int


@functools.lru_cache(maxsize=64)
def _proved(proof: _Proof) -> None:
    """Make sure that a file system refuses to create a file that is there; a refusal is remembered for no later save."""
    place = join(proof.root, MANIFESTS, f"{PROBE}{uuid.uuid4().hex}")
    if not creates_exclusively(proof.root) or not create(place, b"1"):
        raise _unfit(proof.root)
    try:
        if create(place, b"2") or read_range(place, 0, 2) != b"1":
            raise _unfit(proof.root)
    finally:
        # Where nothing may be removed it stays, and nobody takes it for a version.
        with contextlib.suppress(StorageError):
            remove(place)


def _unfit(root: str) -> StorageError:
    return StorageError(
        f"cannot save to {root}: its file system creates files that are there already, so that one of two savers would lose its rows without a word: "
        "save to another one, or to a local or mounted directory"
    )
