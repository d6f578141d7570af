"""Locations of datasets: a local path or the URI of a file system that pyarrow can open."""

from __future__ import annotations

import functools
import os
import posixpath

import pyarrow.fs as pafs


def normalised(location: str | os.PathLike[str]) -> str:
    """Return an absolute local path, or a URI without a slash at its end.

    Examples
    --------
    >>> normalised("/data/frame/"), normalised("file:///data/frame"), normalised("s3://bucket/frame/")
    ('/data/frame', '/data/frame', 's3://bucket/frame')
    """
    text = os.fspath(location)
    if text.startswith("file:"):
        return str(pafs.FileSystem.from_uri(text)[1])
    if "://" in text:
        return text.rstrip("/")
    return os.path.abspath(os.path.expanduser(text))


def is_local(location: str) -> bool:
    """Say whether a normalised location is a path of this machine.

    Examples
    --------
    >>> is_local("/data/frame"), is_local("s3://bucket/frame")
    (True, False)
    """
    return "://" not in location


def join(location: str, *parts: str) -> str:
    """Return a location below another one; options at the end of a URI stay at the end.

    Examples
    --------
    >>> join("/data", "a.parquet"), join("s3://bucket/frame?region=x", "a.parquet")
    ('/data/a.parquet', 's3://bucket/frame/a.parquet?region=x')
    """
    if is_local(location):
        return os.path.join(location, *parts)
    base, mark, options = location.partition("?")
    return posixpath.join(base, *parts) + mark + options


def parent_and_name(location: str) -> tuple[str, str]:
    """Split a normalised location into the location above it and its last part.

    Examples
    --------
    >>> parent_and_name("/data/frame"), parent_and_name("s3://bucket/frame?region=x")
    (('/data', 'frame'), ('s3://bucket?region=x', 'frame'))
    """
    base, mark, options = location.partition("?") if not is_local(location) else (location, "", "")
    parent, name = posixpath.split(base)
    return parent + mark + options, name


@functools.lru_cache(maxsize=256)
def filesystem_of(location: str) -> tuple[pafs.FileSystem, str]:
    """Return the file system that a location lives on, and the path inside it.

    Remembered, because connecting to a remote file system takes much longer than reading a footer from it.
    """
    if is_local(location):
        return _LOCAL, location
    return _connect(location)


def _connect(location: str) -> tuple[pafs.FileSystem, str]:
    filesystem, path = pafs.FileSystem.from_uri(location)
    return filesystem, path


_LOCAL = pafs.LocalFileSystem()
