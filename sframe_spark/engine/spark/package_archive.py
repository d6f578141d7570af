"""The archive that is sent to executors without this package: the package, and the pure Python packages that its import needs."""

from __future__ import annotations

import hashlib
import io
import os
import zipfile
from pathlib import Path

import attr
import attrs

from sframe_spark.errors import StorageError

# The packages in the archive. Other packages that we need are compiled, and cannot be imported from an archive.
SENT_MODULES = ("sframe_spark", "attr", "attrs")
_SUFFIXES = (".py", ".properties")
# The earliest time that a zip archive can store.
_TIME = (1980, 1, 1, 0, 0, 0)


def archive_bytes() -> bytes:
    """Return the archive's bytes, which are always the same for the same files.

    Raises
    ------
    StorageError
        If a package is not installed as a directory of files.
    """
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, root in zip(SENT_MODULES, _places(), strict=True):
            if not root.is_dir():
                raise StorageError(f"the package {name} is in {root}, from which it cannot be sent to executors: install it there")
            for file in sorted(root.rglob("*")):
                if file.suffix in _SUFFIXES and file.is_file():
                    info = zipfile.ZipInfo((Path(name) / file.relative_to(root)).as_posix(), _TIME)
                    info.compress_type, info.external_attr, info.create_system = zipfile.ZIP_DEFLATED, 0o644 << 16, 3
                    archive.writestr(info, file.read_bytes())
    return content.getvalue()


def _places() -> tuple[Path, ...]:
    """Return the directories of the packages, in the order of SENT_MODULES."""
    return Path(__file__).parents[2], Path(attr.__file__).parent, Path(attrs.__file__).parent


def write_archive(directory: str) -> str:
    """Write the archive into a directory, under a name with a checksum of its content, and return its path."""
    content = archive_bytes()
    path = os.path.join(directory, f"sframe_spark-{hashlib.sha256(content).hexdigest()[:16]}.zip")
    with open(path, "wb") as file:
        file.write(content)
    return path
