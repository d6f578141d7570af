"""Files from elsewhere: fetched once, block by block, into the temporary store, where Spark's tasks find them too.

``http`` and ``https`` need nothing; other places are those that fsspec and its packages know.
"""

from __future__ import annotations

import contextlib
import os
import re
import string
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from sframe_spark.errors import SFrameError, StorageError
from sframe_spark.locations import scheme_of, with_usual_scheme, without_secrets
from sframe_spark.session import raise_if_cancelled
from sframe_spark.session.threads import in_threads
from sframe_spark.storage.files.failures import NO_SPACE, full_disk
from sframe_spark.storage.files.file_systems import INSTALL, PACKAGES, explanation, file_system, is_given, options_of, unknown_scheme
from sframe_spark.storage.files.listing import is_hidden
from sframe_spark.storage.files.temporary import DatasetHandle, scratch_store
from sframe_spark.visible import visible

WEB = ("http", "https")
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
        url = _whole(url)
        if scheme_of(url) in WEB:
            return [self._from_web(url)]
        with _telling(url):
            files, path = _file_system(url)
            found = _listed(files, path, sort_key, is_pattern)
            if not found:
                raise StorageError(f"there is no file {visible(without_secrets(url))}: check the address")
            return self._copied(files, [Fetched(place, _named(url, files, place), inside) for place, inside in found])

    def fetch_directory(self, url: str, member: str) -> str | None:
        """Fetch the files of a directory under their own names and return where they are; None where it has no such member, or cannot be listed.

        Raises
        ------
        StorageError
            If one cannot be fetched, or has a name that is no plain one.
        """
        url = _whole(url)
        if scheme_of(url) in WEB:
            return None
        with _telling(url):
            files, path = _file_system(url)
            root = path.rstrip("/") + "/"
            files.invalidate_cache()
            if not files.isfile(root + member):
                return None
            names = sorted(place.removeprefix(root) for place in files.find(path, maxdepth=1))
            for name in names:
                if not _PLAIN_NAME.fullmatch(name):
                    shown = visible(without_secrets(url))
                    raise StorageError(f"{shown} holds {visible(name)!r:.200}, which is no plain name: copy the directory here")
            self._copied(files, [Fetched(root + name, _named(url, files, root + name), name) for name in names], as_named=True)
        return self.holder.directory if self.holder is not None else None

    def _from_web(self, url: str) -> Fetched:
        with _telling(url):
            name = os.path.basename(urllib.parse.unquote(urllib.parse.urlsplit(url).path))
            # Blanks and letters beyond ASCII, which people write and servers do not take.
            written = urllib.parse.quote(url, safe=string.punctuation)
            with urllib.request.urlopen(written, timeout=SECONDS_OF_SILENCE) as stream:
                said = stream.headers.get("Content-Length")
                size = int(said) if said is not None and said.isdecimal() else None
                shown = without_secrets(url)
                return Fetched(_kept(stream, self._new_path(name), size, shown), shown, name)

    def _copied(self, files: Any, found: Sequence[Fetched], as_named: bool = False) -> list[Fetched]:
        """Copy files that are elsewhere, several at a time: most of the time of each is spent waiting."""

        def copied(work: tuple[Fetched, str]) -> Fetched:
            (place, origin, inside), path = work
            with _telling(origin), files.open(place, "rb") as stream:
                return Fetched(_kept(stream, path, files.info(place).get("size"), origin), origin, inside)

        paths = [self._new_path(os.path.basename(file.path), as_named) for file in found]
        return in_threads(copied, list(zip(found, paths, strict=True)), AT_A_TIME)

    def _new_path(self, name: str, as_named: bool = False) -> str:
        """Where a copy goes: its name ends as that of the file, or is that of the file, where that is a plain one."""
        if self.holder is None:
            self.holder = scratch_store().new_dataset()
        # What somebody else named is no path of ours; its ending says how it is compressed.
        harmless = "".join(character if character.isalnum() or character in "._-=" else "_" for character in name)[-100:]
        path = os.path.join(self.holder.directory, name if as_named else f"{self._number:06d}-{harmless}")
        self._number += 1
        return path


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


def _whole(url: str) -> str:
    """Write a URL with its scheme in small letters and the two slashes of which ``pathlib`` leaves one.

    Examples
    --------
    >>> _whole(" HTTPS:/host/a.csv"), _whole("memory:///a")
    ('https://host/a.csv', 'memory:///a')
    """
    scheme, _, rest = url.strip().removeprefix("\ufeff").strip().partition(":")
    return f"{scheme.lower()}:{rest if rest.startswith('//') else '/' + rest}"


def _file_system(url: str) -> tuple[Any, str]:
    """The file system of a URL, and the path in it.

    Raises
    ------
    StorageError
        If the packages that know it are not installed.
    """
    usual = with_usual_scheme(url)
    if is_given(usual) or (usual.partition(":")[0] in PACKAGES and "::" not in usual):
        return file_system(usual)
    try:
        import fsspec
    except ImportError:
        raise StorageError(
            f"{visible(without_secrets(url))} is not on a local or mounted disk: to read from there, {INSTALL}; or copy it here"
        ) from None
    try:
        files, path = fsspec.core.url_to_fs(url, **options_of(usual))
    except (ImportError, ValueError) as error:
        # Of several schemes in one URL fsspec tells which one is meant.
        unknown = "::" not in url and scheme_of(url) not in fsspec.available_protocols()
        why = unknown_scheme(url.partition(":")[0]) if unknown else f"{visible(str(error).splitlines()[0])}; install what is missing, or copy it here"
        raise StorageError(f"{visible(without_secrets(url))} cannot be read: {why}") from None
    return files, path


def _named(url: str, files: Any, place: str) -> str:
    """What a file is called that was found at a place: by the scheme of its URL, where the user gave the file system."""
    named: str = f"{scheme_of(url)}://{place.lstrip('/')}" if is_given(with_usual_scheme(url)) else files.unstrip_protocol(place)
    return named


def _listed(files: Any, path: str, sort_key: Callable[[str], Any], is_pattern: bool) -> list[tuple[str, str]]:
    """Paths that hold rows, in order, each with its path below what was named."""
    # What was listed before is remembered by some, and others may have written since.
    files.invalidate_cache()
    if files.isfile(path):
        return [(path, os.path.basename(path))]
    if files.isdir(path):
        root = path.rstrip("/") + "/"
        inside = [place.removeprefix(root) for place in files.find(path)]
        shown = [name for name in inside if not any(map(is_hidden, name.split("/")))]
        return [(root + name, name) for name in sorted(shown, key=lambda name: tuple(sort_key(part) for part in name.split("/")))]
    if is_pattern:
        found = [place for place in files.glob(path) if files.isfile(place)]
        return [(place, os.path.basename(place)) for place in sorted(found, key=sort_key)]
    return []


@contextlib.contextmanager
def _telling(url: str) -> Iterator[None]:
    """Tell what goes wrong on the way in one line that names the URL."""
    shown = visible(without_secrets(url))
    try:
        yield
    except SFrameError:
        raise
    except urllib.error.HTTPError as error:
        error.close()
        raise StorageError(f"cannot read {shown}: the server answers {error.code} {visible(str(error.reason))}") from None
    except urllib.error.URLError as error:
        raise StorageError(f"cannot read {shown}: {visible(str(error.reason))}") from None
    except Exception as error:
        if isinstance(error, OSError) and error.errno in NO_SPACE:
            raise StorageError(f"cannot fetch {shown}: {full_disk(scratch_store().directory)}") from None
        if scheme_of(url) not in WEB:
            raise StorageError(f"cannot read {shown}: {explanation(error, with_usual_scheme(url))}") from None
        lines = str(error).strip().splitlines() or [""]
        raise StorageError(f"cannot read {shown}: {type(error).__name__}: {visible(lines[0].replace(url, without_secrets(url)))}") from None
