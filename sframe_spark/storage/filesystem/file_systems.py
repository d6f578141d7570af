"""File systems elsewhere, as fsspec knows them, and errors of theirs in one line that says what to do and shows no secret."""

from __future__ import annotations

import contextlib
import errno
import functools
import json
import os
import re
from collections.abc import Iterator
from typing import Any

from sframe_spark.config import StorageOptions, config, secret_texts
from sframe_spark.errors import SFrameError, StorageError
from sframe_spark.locations import is_private
from sframe_spark.message_text import visible
from sframe_spark.process.leases import PREFIX
from sframe_spark.redaction import without_secrets
from sframe_spark.storage.filesystem.io_errors import why_gone

INSTALL = "pip install 'sframe_spark[remote]'"
# Packages of schemes, beside fsspec.
PACKAGES = {"s3": "s3fs", "gs": "gcsfs", "abfss": "adlfs", "az": "adlfs", "hdfs": "pyarrow", "sftp": "paramiko", "oss": "ossfs"}
REMEMBERED = 64
LONGEST_SHOWN = 300
OPTIONS = "config.storage_options"
NOT_THERE = "it does not exist"
# What is written below a place that a user named: of a saved frame, of temporary data and parts that wait, and of a directory of parts.
_OF_OURS = re.compile(rf"/(?:_manifests|data/[0-9a-f]{{32}}|\.?{PREFIX}[a-z0-9]{{8}}-[^/]*)(?:/.*)?$|/part-[0-9]{{5,}}-[0-9a-f]{{32}}\.[a-z]+$")
# Modules of file systems that are made of others.
ARROW, DIRECTORY, MEMORY = "fsspec.implementations.arrow", "fsspec.implementations.dirfs", "fsspec.implementations.memory"


def file_system(uri: str) -> tuple[Any, str]:
    """Return the file system of a place, and its path there.

    Raises
    ------
    StorageError
        If there is no such file system, a package is not installed, or the options are not its own.

    Examples
    --------
    >>> files, path = file_system("memory://frames/a")
    >>> path
    '/frames/a'
    """
    scheme, _, rest = uri.partition("://")
    if (given := _options().given_for(uri)) is not None:
        files = given.here()
        with telling("open", uri):
            return files, _path_in(files, scheme, rest)
    options = json.dumps(options_of(uri), sort_keys=True)
    files = _opened(scheme, rest.partition("/")[0], options, os.getpid())
    with telling("open", uri):
        return files, files._strip_protocol(uri)


def _options() -> StorageOptions:
    found = config.storage_options
    return found if isinstance(found, StorageOptions) else StorageOptions(found)


def _path_in(files: Any, scheme: str, rest: str) -> str:
    """The path of a place in a file system that a user gave for it, whatever scheme it goes by there."""
    protocols = (files.protocol,) if isinstance(files.protocol, str) else files.protocol
    if is_made_of_another(files, ARROW):
        # What is before the path is a host for these alone.
        return f"/{rest.partition('/')[2]}" if scheme in ("hdfs", "viewfs") else rest
    path: str = files._strip_protocol(f"{scheme}://{rest}" if scheme in protocols else rest)
    return path


def writing_class(files: Any) -> Any:
    """Return the class of what writes files: of a file system that is a directory of another one, that of the other."""
    while is_made_of_another(files, DIRECTORY):
        files = files.fs
    return type(files)


def is_made_of_another(files: Any, module: str) -> bool:
    """Say whether a file system is of a class in a module, or derived from one."""
    return any(kind.__module__ == module for kind in type(files).__mro__)


def is_given(uri: str) -> bool:
    """Say whether a user gave the file system of a place: others, such as Spark's, may have another there."""
    return _options().given_for(uri) is not None


def is_shared(uri: str) -> bool:
    """Say whether other processes find the files of a place: not those in the memory of this one, nor of what cannot be sent to them."""
    given = _options().given_for(uri)
    if given is None:
        return not is_private(uri)
    if not given.can_be_sent:
        return False
    files = given.here()
    while is_made_of_another(files, DIRECTORY):
        files = files.fs
    return not is_made_of_another(files, MEMORY)


def identity_of(uri: str) -> str:
    """Return what tells the file system of a place from others of its scheme."""
    given = _options().given_for(uri)
    return json.dumps(options_of(uri), sort_keys=True) if given is None else given.token


def options_of(uri: str) -> dict[str, Any]:
    """Return the options in force here for a place; of a file system that a user gave, those that it was made with."""
    given = _options().given_for(uri)
    if given is None:
        return _options().of_place(uri)
    made_with = getattr(given.here(), "storage_options", None)
    return made_with if isinstance(made_with, dict) else {}


@functools.lru_cache(maxsize=REMEMBERED)
def _opened(scheme: str, authority: str, options: str, process: int) -> Any:
    """Return a file system; a forked process has none of those of its parent, whose threads it has not."""
    shown = f"{scheme}://{authority}"
    try:
        import fsspec
    except ImportError:
        raise StorageError(f"{shown} cannot be read or written: {_installing(scheme)}") from None
    try:
        kind = fsspec.get_filesystem_class(scheme)
    except ImportError:
        raise StorageError(f"{shown} cannot be read or written: {_installing(scheme)}") from None
    except ValueError:
        if scheme in PACKAGES:
            # Some packages tell fsspec of their schemes only once they are there.
            raise StorageError(f"{shown} cannot be read or written: {_installing(scheme)}") from None
        raise StorageError(f"{shown} cannot be read or written: {unknown_scheme(scheme)}") from None
    with telling("open", shown, options):
        # What a URI says of it, such as the host, unless the options do.
        return kind(**{**kind._get_kwargs_from_urls(shown), **json.loads(options)})


def unknown_scheme(scheme: str) -> str:
    """Say that nobody knows the file system of a scheme."""
    known = "s3://, gs://, abfss://, hdfs:// and whatever else fsspec.available_protocols() tells"
    return f"there is no file system {visible(scheme)!r}: known are {known}"


def _installing(scheme: str) -> str:
    return f"{INSTALL} {PACKAGES.get(scheme, '')}".strip()


@contextlib.contextmanager
def telling(action: str, uri: str, options: str | None = None) -> Iterator[None]:
    """Turn whatever a file system elsewhere reports inside the block into a :class:`StorageError`.

    Examples
    --------
    >>> with telling("read", "memory://frame/a"):
    ...     raise RuntimeError("no answer")
    Traceback (most recent call last):
        ...
    sframe_spark.errors.StorageError: cannot read memory://frame/a: RuntimeError: no answer
    """
    try:
        yield
    except (SFrameError, FileExistsError):
        raise
    except Exception as error:
        reason = explanation(error, uri, options)
        if reason == NOT_THERE and action in ("read", "copy"):
            reason = f"{reason}; {why_gone(uri)}"
        named = _as_named(uri) if action == "write" else uri
        raise StorageError(f"cannot {action} {without_secrets(named)}: {reason}") from None


def _as_named(uri: str) -> str:
    """The place that a user named, of a file that we write below it under a name that nobody has ever seen.

    Examples
    --------
    >>> _as_named("s3://bucket/frame/_manifests/00000007.json"), _as_named("s3://bucket/a.csv")
    ('s3://bucket/frame', 's3://bucket/a.csv')
    """
    return _OF_OURS.sub("", uri)


def explanation(error: Exception, uri: str, options: str | None = None) -> str:
    """Say why a file system failed and what helps, in one line without secrets.

    Parameters
    ----------
    error
        What it reported.
    uri
        The place.
    options
        Its options as JSON; None: those in force.
    """
    options = json.dumps(options_of(uri), default=_shown_options) if options is None else options
    named = "/".join(uri.split("/")[:3])
    bucket = without_secrets(named)
    # Libraries show the name of a user with that of the bucket.
    text = visible(_without_secrets(error, options)).replace(named.partition("://")[2] or named, bucket.partition("://")[2] or bucket)
    kinds = {kind.__name__ for kind in type(error).__mro__} | {kind.__name__ for kind in type(error.__cause__).__mro__}
    if isinstance(error, FileNotFoundError) or "ResourceNotFoundError" in kinds:
        return f"there is no {bucket}: make it, or check the name" if "bucket" in text.lower() or "container" in text.lower() else NOT_THERE
    if "Must provide either a connection_string or account_name" in text or kinds & {
        "NoCredentialsError",
        "PartialCredentialsError",
        "DefaultCredentialsError",
        "CredentialRetrievalError",
        "NoAuthTokenError",
    }:
        return f"no credentials were found: give them as {OPTIONS}[{bucket!r}], or as its library finds them ({text})"
    if getattr(error, "errno", None) == errno.EROFS:
        return f"nothing can be written there ({text}): name another place, or have {bucket} opened for writing"
    if is_refusal(error):
        return f"permission denied ({text}): check the credentials in {OPTIONS} and what they are allowed to do in {bucket}"
    if text.startswith("Invalid endpoint"):
        return f"it has no such address ({text}): check endpoint_url in {OPTIONS}, which begins with https:// or http://"
    if "ParamValidationError" in kinds:
        return f"it is refused ({text}): check the name {bucket}, and {OPTIONS}"
    if isinstance(error, TypeError) or kinds & {"UnknownServiceError", "InvalidRegionError"}:
        return f"its file system does not take these options ({text}): check {OPTIONS}"
    if isinstance(error, (ConnectionError, TimeoutError)) or kinds & {"HTTPClientError", "EndpointConnectionError", "ClientConnectorError"}:
        return f"it cannot be reached ({text}): check the network, and the address in {OPTIONS}"
    if any(name in text for name in ("libjvm", "libhdfs")):
        return f"pyarrow does not find Java or Hadoop ({text}): set JAVA_HOME, HADOOP_HOME and CLASSPATH=$(hadoop classpath --glob), or copy it here"
    if "InvalidRange" in text or "range is not satisfiable" in text.lower():
        return "it is shorter than it should be: it was cut, or replaced by another; restore it from a copy or save the frame again"
    return f"{type(error).__name__}: {text}"


def is_refusal(error: Exception) -> bool:
    """Say whether a file system tells that a user may not do something.

    Examples
    --------
    >>> is_refusal(PermissionError("Forbidden")), is_refusal(FileNotFoundError("bucket"))
    (True, False)
    """
    codes = {getattr(found, name, None) for found in (error, error.__cause__) for name in ("status_code", "status", "code")}
    kinds = {kind.__name__ for found in (error, error.__cause__) for kind in type(found).__mro__}
    return isinstance(error, PermissionError) or bool(codes & {401, 403}) or "ClientAuthenticationError" in kinds


def _shown_options(value: Any) -> Any:
    """What stands among options of a file system for one that it is made of."""
    return getattr(value, "storage_options", None) or str(value)


def _without_secrets(error: Exception, options: str) -> str:
    """The first line of what an error says, without any text that is among the options."""
    # What the system says without the file, whose name may be one of ours that nobody knows.
    said = error.strerror if isinstance(error, OSError) and error.filename is not None and error.strerror else str(error)
    lines = said.strip().splitlines()
    # What comes before a colon tells nothing without the line after it.
    text = " ".join(lines[: 2 if lines and lines[0].endswith(":") else 1]) or type(error).__name__
    for secret in sorted(secret_texts(json.loads(options)), key=len, reverse=True):
        text = text.replace(secret, "***")
    return text[:LONGEST_SHOWN]
