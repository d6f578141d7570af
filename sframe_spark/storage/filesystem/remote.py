"""Files from elsewhere: fetched once, block by block, into the temporary store, where Spark's tasks find them too.

``http`` and ``https`` need nothing; other places are those that fsspec and its packages know.
"""

from __future__ import annotations

import base64
import http
import os
import re
import string
import urllib.parse
import urllib.request
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from sframe_spark.errors import StorageError
from sframe_spark.locations import scheme_of
from sframe_spark.message_text import visible
from sframe_spark.process.threads import in_threads, raise_if_cancelled
from sframe_spark.redaction import redacted, without_secrets
from sframe_spark.storage.filesystem.remote_files import WEB, file_system_of, listed_at, name_of, telling_of, whole
from sframe_spark.storage.filesystem.temporary import DatasetHandle, scratch_store

# Of files that are fetched under their own names.
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,200}")
BLOCK_BYTES = 4 << 20
SECONDS_OF_SILENCE = 60
# Blocks of so many files are in memory together.
AT_A_TIME = 8


class Fetched(NamedTuple):
    """A file that was fetched: where it is, its URL, and its path below the directory that was named."""

    path: str
    origin: str
    inside: str


class Download:
    """Fetches files into one temporary directory, which lives as long as its holder."""

    def __init__(self) -> None:
        self.holder: DatasetHandle | None = None
        self._number = 0

    def fetch(self, url: str, sort_key: Callable[[str], Any], is_pattern: bool) -> list[Fetched]:
        """Fetch what a URL names: a file, or, but from the web, the files in a directory or that match a pattern.

        Raises
        ------
        StorageError
            If that cannot be done; the message tells why.
        """
        url = whole(url)
        if scheme_of(url) in WEB:
            return [self._from_web(url)]
        with telling_of(url):
            files, path = file_system_of(url)
            found = listed_at(url, files, path, sort_key, is_pattern)
            return self._copied(files, [Fetched(file.place, name_of(url, files, file.place), file.inside) for file in found])

    def fetch_directory(self, url: str, member: str) -> str | None:
        """Fetch the files of a directory under their own names and return where they are; None where it has no such member, or cannot be listed.

        Raises
        ------
        StorageError
            If one cannot be fetched, or has a name that is no plain one.
        """
        url = whole(url)
        if scheme_of(url) in WEB:
            return None
        with telling_of(url):
            files, path = file_system_of(url)
            root = path.rstrip("/") + "/"
            files.invalidate_cache()
            if not files.isfile(root + member):
                return None
            names = sorted(place.removeprefix(root) for place in files.find(path, maxdepth=1))
            for name in names:
                if not _PLAIN_NAME.fullmatch(name):
                    shown = visible(without_secrets(url))
                    raise StorageError(f"{shown} holds {visible(name)!r:.200}, which is no plain name: copy the directory here")
            self._copied(files, [Fetched(root + name, name_of(url, files, root + name), name) for name in names], as_named=True)
        return self.holder.directory if self.holder is not None else None

    def _from_web(self, url: str) -> Fetched:
        with telling_of(url):
            request = _request(url)
            name = os.path.basename(urllib.parse.unquote(urllib.parse.urlsplit(request.full_url).path))
            with urllib.request.urlopen(request, timeout=SECONDS_OF_SILENCE) as stream:
                # Others that are no errors come with a part of a file, or with none.
                if stream.status != http.HTTPStatus.OK:
                    shown = visible(without_secrets(url))
                    raise StorageError(f"cannot read {shown}: the server answers {stream.status} {visible(stream.reason)}, not with a whole file")
                said = stream.headers.get("Content-Length")
                size = int(said) if said is not None and said.isdecimal() else None
                shown = without_secrets(url)
                return Fetched(_kept(stream, self._new_path(name), size, shown), shown, name)

    def _copied(self, files: Any, found: Sequence[Fetched], as_named: bool = False) -> list[Fetched]:
        """Copy files that are elsewhere, several at a time: most of the time of each is spent waiting."""

        def copied(work: tuple[Fetched, str]) -> Fetched:
            (place, origin, inside), path = work
            with telling_of(origin), files.open(place, "rb") as stream:
                return Fetched(_kept(stream, path, files.info(place).get("size"), origin), origin, inside)

        paths = [self._new_path(os.path.basename(file.path), as_named) for file in found]
        return in_threads(copied, list(zip(found, paths, strict=True)), AT_A_TIME)

    def _new_path(self, name: str, as_named: bool = False) -> str:
        """Where a copy goes: its name ends as that of the file, or is that of the file, where that is a plain one."""
        if self.holder is None:
            self.holder = scratch_store().new_dataset()
        # What somebody else named is no path of ours; its ending says how it is compressed.
        harmless = "".join(character if character.isalnum() or character in "._-=" else "_" for character in redacted(name))[-100:]
        path = os.path.join(self.holder.directory, name if as_named else f"{self._number:06d}-{harmless}")
        self._number += 1
        return path


def _request(url: str) -> urllib.request.Request:
    """A request for a web page; who its address names, with a password, is told to its own server alone, not to where that sends us."""
    # The user may have brackets, which whoever reads a whole address takes for those of IPv6.
    scheme, mark, rest = url.partition("://")
    named = re.split(r"[/?#]", rest, maxsplit=1)[0]
    user, at, host = named.rpartition("@")
    # Blanks and letters beyond ASCII, which people write and servers do not take.
    written = urllib.parse.quote(f"{scheme}{mark}{host}{rest[len(named) :]}", safe=string.punctuation)
    request = urllib.request.Request(written)
    if at:
        credentials = base64.b64encode(urllib.parse.unquote_to_bytes(user if ":" in user else f"{user}:"))
        request.add_unredirected_header("Authorization", f"Basic {credentials.decode('ascii')}")
    return request


def _kept(stream: Any, path: str, size: int | None, origin: str) -> str:
    """Copy a stream into a new file; Ctrl-C ends it between two blocks."""
    with open(path, "xb") as file:
        while block := stream.read(BLOCK_BYTES):
            raise_if_cancelled()
            file.write(block)
    found = os.path.getsize(path)
    if size is not None and found != size:
        raise StorageError(f"{visible(origin)} has {size} bytes, but {found} came: read it again")
    return path
