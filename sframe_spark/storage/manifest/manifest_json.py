"""The text of a manifest file: JSON that carries the check sum of its own content."""

from __future__ import annotations

import json
import re
import zlib
from typing import Any

from sframe_spark.errors import StorageError
from sframe_spark.storage.filesystem.saved_places import FORMAT_NAME

FORMAT_VERSION = 2
# Version 3 names columns in other datasets, which readers of version 2 would leave out.
VERSION_WITH_ELSEWHERE = 3
# Version 4 has its segments in a file beside it.
VERSION_WITH_SEGMENTS_BESIDE = 4
# Version 1 had neither a check sum of its own nor any of the structure of files.
FIRST_WITH_CHECKSUM = 2

_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False)
_SEALED = re.compile(r'\{"format": "sframe_spark", "version": [0-9]{1,9}, "checksum": "(crc32:[0-9a-f]{8})", "content":\n(.*)\}\n', re.DOTALL)


def version_of_content(content: dict[str, Any]) -> int:
    """Return the version of the format that readers of some content must know."""
    if "beside" in content:
        return VERSION_WITH_SEGMENTS_BESIDE
    return VERSION_WITH_ELSEWHERE if "elsewhere" in content else FORMAT_VERSION


def sealed(content: dict[str, Any], version: int | None = None) -> str:
    """Return the text of a manifest with some content.

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
    """Return the content of the text of a manifest.

    Raises
    ------
    StorageError
        If it is damaged, no manifest, or one of a version that this package does not read.
    """
    whole = parsed(text, directory)
    if not isinstance(whole, dict) or whole.get("format") != FORMAT_NAME:
        raise StorageError(f"the manifest of {directory} was not written by {FORMAT_NAME}: this is not a saved frame, or its manifest is damaged")
    version = whole.get("version")
    if type(version) is not int or version > VERSION_WITH_SEGMENTS_BESIDE:
        raise StorageError(
            f"{directory} was saved in format version {version!r:.20}, but this version of {FORMAT_NAME} reads up to "
            f"{VERSION_WITH_SEGMENTS_BESIDE}; install a newer one (pip install --upgrade {FORMAT_NAME})"
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
        # The check sum is that of the content alone.
        raise damaged(directory, "its version is not that of its content")
    return content


def is_sealed(text: str) -> bool:
    """Say whether the text of a manifest carries the check sum of its content."""
    return _SEALED.fullmatch(text) is not None


def parsed(text: str, directory: str) -> Any:
    """Return what a JSON text says, however deep or long it is."""
    try:
        return json.loads(text, parse_constant=_refused)
    except (ValueError, RecursionError) as error:
        raise damaged(directory, str(error)) from error


def damaged(directory: str, reason: str) -> StorageError:
    """Return the error that says what is wrong with a manifest."""
    return StorageError(f"the manifest of {directory} is damaged: {reason}; restore it from a copy or save the frame again")


def _checksum(text: str) -> str:
    return f"crc32:{zlib.crc32(text.encode()):08x}"


def _refused(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
