"""Options of file systems elsewhere, and file systems that users made: for each, what URIs begin with."""

from __future__ import annotations

import os
import sys
import uuid
from collections.abc import Iterator, Mapping
from typing import Any

from sframe_spark.errors import StorageError
from sframe_spark.locations import place_of, with_usual_scheme
from sframe_spark.redaction import without_secrets

# Where something is, is no secret, and helps.
NO_SECRETS = ("endpoint_url", "region_name", "profile", "host")
# Shorter texts among options are no secrets, and may be part of any word.
LEAST_SECRET = 4


class GivenFileSystem:
    """A file system that a user made, of fsspec or pyarrow; Spark's tasks have a copy of it.

    Parameters
    ----------
    files
        The file system; None: one that could not be sent here.
    name
        The name of its class.
    token
        Which one it is, for as long as any process has it.
    """

    __slots__ = ("_files", "_process", "name", "token")

    def __init__(self, files: Any, name: str = "", token: str = "") -> None:
        self._files, self._process = files, os.getpid()
        self.name, self.token = name or type(files).__name__, token or uuid.uuid4().hex

    def here(self) -> Any:
        """Return it, with the methods of fsspec.

        Raises
        ------
        StorageError
            If it is of another process, which this one cannot have it of.
        """
        given = f"the {self.name} that config.storage_options has"
        if self._files is None:
            raise StorageError(f"{given} cannot be sent to other processes, such as Spark's tasks: give options instead, or one that can be pickled")
        if self._process != os.getpid() and getattr(self._files, "async_impl", False):
            raise StorageError(f"{given} is of the process that this one was forked from, whose threads it needs: set one in this process")
        if not hasattr(self._files, "ls"):
            self._files = _with_methods_of_fsspec(self._files)
        return self._files

    @property
    def can_be_sent(self) -> bool:
        """Whether other processes can have a copy."""
        return self._files is not None and _can_be_pickled(self._files)

    def __reduce__(self) -> tuple[Any, ...]:
        # What cannot be pickled is told where it is wanted, which may be nowhere.
        return GivenFileSystem, (self._files if self.can_be_sent else None, self.name, self.token)

    def __repr__(self) -> str:
        return f"<{self.name}>"


def _can_be_pickled(files: Any) -> bool:
    from pyspark import cloudpickle

    try:
        cloudpickle.dumps(files)
    except Exception:
        return False
    return True


def _with_methods_of_fsspec(files: Any) -> Any:
    try:
        from fsspec.implementations.arrow import ArrowFSWrapper
    except ImportError:
        raise StorageError("file systems of pyarrow are read by way of fsspec: pip install 'sframe_spark[remote]'") from None
    # Those that fsspec remembers are told apart by their addresses, which are given out again.
    return ArrowFSWrapper(files, skip_instance_cache=True)


def _is_file_system(value: Any) -> bool:
    """Say whether a value is a file system; nothing is imported: who has one has imported its module."""
    kinds = (("fsspec.spec", "AbstractFileSystem"), ("pyarrow.fs", "FileSystem"))
    return any(module in sys.modules and isinstance(value, getattr(sys.modules[module], name)) for module, name in kinds)


class StorageOptions(Mapping[str, Any]):
    """Options of file systems elsewhere, by what URIs begin with; what they are is never shown, since passwords are among them.

    Parameters
    ----------
    options
        For each URI, or scheme with ``://``, the options that fsspec's file system takes: None, bools, numbers, texts, lists and mappings of these.
        Or the file system itself, of fsspec or pyarrow.

    Raises
    ------
    ValueError
        If they are of another form.

    Examples
    --------
    >>> options = StorageOptions({"s3a://": {"key": "abc", "secret": "xyz"}, "s3://bucket/mine": {"anon": True}})
    >>> options
    StorageOptions('s3://': ..., 's3://bucket/mine': ...)
    >>> options.of_place("s3://bucket/mine/frame"), sorted(options.of_place("s3://bucket/minerals"))
    ({'anon': True}, ['key', 'secret'])
    """

    def __init__(self, options: Mapping[str, Any] | None = None) -> None:
        if not isinstance(options or {}, Mapping):
            raise ValueError("must be a dict of dicts: options of file systems, by what URIs begin with")
        self._options = {_prefix(prefix): _checked_options(prefix, found) for prefix, found in (options or {}).items()}

    def of_place(self, uri: str) -> dict[str, Any]:
        """Return the options of the longest URI that a place is, or is below; none if there is none, or a file system."""
        found = self._longest(uri)
        return {} if found is None or isinstance(found, GivenFileSystem) else dict(found)

    def given_for(self, uri: str) -> GivenFileSystem | None:
        """Return the file system that a user gave for the longest URI that a place is, or is below; None where that is none."""
        found = self._longest(uri)
        return found if isinstance(found, GivenFileSystem) else None

    def secrets(self) -> set[str]:
        """Return all texts among the options that messages must not show.

        Examples
        --------
        >>> StorageOptions({"s3://": {"secret": "wxyz", "endpoint_url": "http://host:9000"}}).secrets()
        {'wxyz'}
        """
        return {text for options in self._options.values() if not isinstance(options, GivenFileSystem) for text in secret_texts(options)}

    def _longest(self, uri: str) -> Any:
        found = [prefix for prefix in self._options if uri == prefix or uri.startswith(prefix if prefix.endswith("/") else prefix + "/")]
        return self._options[max(found, key=len)] if found else None

    def __getitem__(self, prefix: str) -> Any:
        return self._options[prefix]

    def __iter__(self) -> Iterator[str]:
        return iter(self._options)

    def __len__(self) -> int:
        return len(self._options)

    def __repr__(self) -> str:
        return f"StorageOptions({', '.join(f'{prefix!r}: ...' for prefix in self._options)})"


def secret_texts(options: Any) -> Iterator[str]:
    """All texts among options of a file system, at any depth, but those that say where something is."""
    if isinstance(options, Mapping):
        for name, item in options.items():
            if name not in NO_SECRETS:
                yield from secret_texts(item)
            elif isinstance(item, str) and "@" in item:
                # But a name and a password may stand before it.
                yield from secret_texts(item.partition("://")[2].rpartition("@")[0].split(":"))
    elif isinstance(options, (list, tuple)):
        for item in options:
            yield from secret_texts(item)
    elif isinstance(options, str) and len(options) >= LEAST_SECRET:
        yield options


def _prefix(prefix: Any) -> str:
    if not isinstance(prefix, str) or "://" not in prefix:
        raise ValueError("options are given by what URIs begin with, such as 's3://' or 's3://bucket'")
    return with_usual_scheme(prefix) if prefix.endswith("://") else place_of(prefix)


def _checked_options(prefix: str, options: Any) -> dict[str, Any] | GivenFileSystem:
    if isinstance(options, GivenFileSystem):
        return options
    if _is_file_system(options):
        return GivenFileSystem(options)
    if not isinstance(options, Mapping) or not all(isinstance(name, str) for name in options) or not _is_plain(options):
        kinds = "a file system of fsspec or pyarrow, or a dict of texts to None, bools, numbers, texts, lists and dicts of these"
        raise ValueError(f"options of {without_secrets(prefix)} must be {kinds}")
    return dict(options)


def _is_plain(value: Any) -> bool:
    if isinstance(value, Mapping):
        return all(isinstance(key, str) and _is_plain(item) for key, item in value.items())
    return all(map(_is_plain, value)) if isinstance(value, (list, tuple)) else value is None or isinstance(value, (bool, int, float, str))
