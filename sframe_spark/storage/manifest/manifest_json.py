"""The JSON format of manifest files, with a checksum of the content, the JSON forms of single values, and limits for reading large files."""

from __future__ import annotations

import json
import math
import re
import zlib
from typing import Any, BinaryIO

from sframe_spark.errors import StorageError
from sframe_spark.message_text import in_words
from sframe_spark.process.memory import AvailableMemory, available_memory
from sframe_spark.storage.filesystem.format_recognition import FORMAT_NAME

FORMAT_VERSION = 2
# The version of frames with columns in other datasets. Programs that read only version 2 would ignore these columns.
VERSION_WITH_REFERENCES = 3
# The version of datasets with a sidecar file.
VERSION_WITH_SIDECAR = 4
# The first version with a checksum.
FIRST_WITH_CHECKSUM = 2

_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False)
_SEALED = re.compile(r'\{"format": "sframe_spark", "version": [0-9]{1,9}, "checksum": "(crc32:[0-9a-f]{8})", "content":\n(.*)\}\n', re.DOTALL)


def version_of_content(content: dict[str, Any]) -> int:
    """Return the lowest format version that has all features that the content of a manifest uses."""
    if "beside" in content:
        return VERSION_WITH_SIDECAR
    return VERSION_WITH_REFERENCES if "elsewhere" in content else FORMAT_VERSION


def sealed(content: dict[str, Any], version: int | None = None) -> str:
    """Return a manifest file as a string: the content with the format name, the format version and a checksum.

    Examples
    --------
    >>> print(sealed({"rows": 0}), end="")
    {"format": "sframe_spark", "version": 2, "checksum": "crc32:63e3660b", "content":
    {"rows": 0}}
    >>> unsealed(sealed({"rows": 0}), "/data")
    {'rows': 0}
    """
    text, version = _ENCODER.encode(content), version or version_of_content(content)
    return f'{{"format": "{FORMAT_NAME}", "version": {version}, "checksum": "{_checksum(text)}", "content":\n{text}}}\n'


def unsealed(text: str, directory: str) -> dict[str, Any]:
    """Return the content of a manifest file after comparing its checksum; ``directory`` is for error messages.

    Raises
    ------
    StorageError
        If the file is damaged, is not a manifest, or is of a newer format version.
    """
    whole = parsed(text, directory)
    if not isinstance(whole, dict) or whole.get("format") != FORMAT_NAME:
        raise StorageError(f"the manifest of {directory} was not written by {FORMAT_NAME}: this is not a saved frame, or its manifest is damaged")
    version = whole.get("version")
    if type(version) is not int or version > VERSION_WITH_SIDECAR:
        raise StorageError(
            f"{directory} was saved in format version {version!r:.20}, but this version of {FORMAT_NAME} reads up to "
            f"{VERSION_WITH_SIDECAR}; install a newer one (pip install --upgrade {FORMAT_NAME})"
        )
    if version < FIRST_WITH_CHECKSUM:
        return whole
    match = _SEALED.fullmatch(text)
    if match is None or _checksum(match[2]) != match[1]:
        raise damaged(directory, "its check sum is another one")
    content: dict[str, Any] = whole["content"]
    if not isinstance(content, dict):
        raise damaged(directory, "it has no content")
    if version != version_of_content(content):
        # The checksum does not cover the version.
        raise damaged(directory, "its version is not that of its content")
    return content


def is_sealed(text: str) -> bool:
    """Return whether a manifest file contains a checksum of its content, which is not compared here."""
    return _SEALED.fullmatch(text) is not None


def parsed(text: str, directory: str) -> Any:
    """Return the value of a JSON document.

    Raises
    ------
    StorageError
        If it is not valid JSON, contains NaN or an infinity, or is nested too deeply.
    """
    try:
        return json.loads(text, parse_constant=_refused)
    except (ValueError, RecursionError) as error:
        raise damaged(directory, str(error)) from error


def damaged(directory: str, reason: str) -> StorageError:
    """Return an error that says that the manifest of a directory is damaged, and why."""
    return StorageError(f"the manifest of {directory} is damaged: {reason}; restore it from a copy or save the frame again")


def _checksum(text: str) -> str:
    return f"crc32:{zlib.crc32(text.encode()):08x}"


def _refused(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


# Conversions of values to JSON and back.


def optional_tuple(items: Any) -> tuple[Any, ...] | None:
    """Return the items of a JSON list as a tuple, or None for null; raise TypeError for any other value."""
    if items is None:
        return None
    if not isinstance(items, list):
        raise TypeError(f"{items!r:.80} is no list")
    return tuple(items)


def tuple_of_list(items: Any) -> tuple[Any, ...]:
    """Return the items of a JSON list as a tuple, which is empty for null; raise TypeError for any other value."""
    return optional_tuple(items) or ()


def flag_of(value: Any) -> bool:
    """Return a JSON boolean; raise TypeError for any other value."""
    if not isinstance(value, bool):
        raise TypeError(f"{value!r:.80} is neither true nor false")
    return value


def scalar_to_json(value: Any) -> Any:
    """Return a scalar as a JSON value; NaN and infinities, which JSON does not have, become an object with a string."""
    return {"float": repr(value)} if isinstance(value, float) and not math.isfinite(value) else value


def scalar_from_json(value: Any) -> Any:
    """Return the scalar that :func:`scalar_to_json` has converted to JSON."""
    return float(str(value["float"])) if isinstance(value, dict) else value


# Limits of the size of a manifest file: the parsed JSON must fit into memory.

# Bytes of memory per byte of JSON. Measured: 5 for statistics, 24 for dicts with one short key.
MEMORY_FOR_LENGTH = 28
# For files up to this size, the available memory is not checked.
SHORT = 16 << 20
# The available memory that is assumed if the system does not report it.
ASSUMED_MEMORY = AvailableMemory(8 << 30, "assumed, since the system does not tell")
BLOCK_BYTES = 1 << 20


def check_length(file: str, size: int) -> None:
    """Raise if the parsed JSON of a manifest file of ``size`` bytes might not fit into the available memory.

    Raises
    ------
    StorageError
        If the file is too large.
    """
    if size <= SHORT:
        return
    available = available_memory() or ASSUMED_MEMORY
    if size * MEMORY_FOR_LENGTH > available.size:
        raise StorageError(
            f"{file} has {in_words(size)}, and reading it may take {in_words(size * MEMORY_FOR_LENGTH)} of memory; {in_words(available.size)} are "
            f"{available.source}: if the frame is so large, read it where more memory is free, otherwise the file is damaged: restore it from a copy"
        )


def read_text(file: str, stream: BinaryIO, size: int) -> bytes:
    """Read a text file of at most ``size`` bytes, and return its bytes.

    Raises
    ------
    StorageError
        If the file has a NUL byte, at which reading stops, or is longer than ``size`` because it has grown meanwhile.
    """
    content = bytearray()
    while block := stream.read(min(BLOCK_BYTES, size + 1 - len(content))):
        if b"\0" in block:
            raise StorageError(f"{file} is damaged: it is not text; restore it from a copy or save the frame again")
        content += block
        if len(content) > size:
            raise StorageError(f"{file} changed while it was read; try again")
    return bytes(content)
