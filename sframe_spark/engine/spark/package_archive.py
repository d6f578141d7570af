"""This package, and what of others its import needs and is only Python, as an archive that Spark sends to executors without it."""

from __future__ import annotations

import hashlib
import importlib
import io
import os
import zipfile
from pathlib import Path

from sframe_spark.errors import StorageError

# What is sent: other packages that we need are compiled, and cannot be imported from an archive.
SENT_MODULES = ("sframe_spark", "attr", "attrs")
_SUFFIXES = (".py", ".properties")
# The least that an archive can say.
_TIME = (1980, 1, 1, 0, 0, 0)


def archive_bytes() -> bytes:
    """The archive: of the same files always the same bytes.

    Raises
    ------
    StorageError
        If a package is not in a directory, where its files could be read.
    """
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in SENT_MODULES:
            root = Path(str(importlib.import_module(name).__file__)).parent
            if not root.is_dir():
                raise StorageError(f"the package {name} is in {root}, from which it cannot be sent to executors: install it there")
            for file in sorted(root.rglob("*")):
                if file.suffix in _SUFFIXES and file.is_file():
                    info = zipfile.ZipInfo((Path(name) / file.relative_to(root)).as_posix(), _TIME)
                    info.compress_type, info.external_attr, info.create_system = zipfile.ZIP_DEFLATED, 0o644 << 16, 3
                    archive.writestr(info, file.read_bytes())
    return content.getvalue()


def write_archive(directory: str) -> str:
    """Write the archive into a directory, under a name that tells its content, and return its path."""
    content = archive_bytes()
    path = os.path.join(directory, f"sframe_spark-{hashlib.sha256(content).hexdigest()[:16]}.zip")
    with open(path, "wb") as file:
        file.write(content)
    return path
