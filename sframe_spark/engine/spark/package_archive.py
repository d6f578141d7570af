"""The archives that are sent to executors: this package with the pure Python packages that its import needs, and plug-ins."""

from __future__ import annotations

import hashlib
import importlib.machinery
import io
import os
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

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
                raise StorageError(f"the package {name} is in {root}, and cannot be sent to executors from there: install it on them")
            for file in sorted(root.rglob("*")):
                if file.suffix in _SUFFIXES and file.is_file():
                    _add(archive, (Path(name) / file.relative_to(root)).as_posix(), file.read_bytes())
    return content.getvalue()


def _places() -> tuple[Path, ...]:
    """Return the directories of the packages, in the order of SENT_MODULES."""
    return Path(__file__).parents[2], Path(attr.__file__).parent, Path(attrs.__file__).parent


def is_compiled(place: Path) -> bool:
    """Return whether a module or package has compiled files, which cannot be imported from an archive."""
    endings = tuple(importlib.machinery.EXTENSION_SUFFIXES)
    return any(file.name.endswith(endings) for file in ([place] if place.is_file() else place.rglob("*")))


def plugin_archive_bytes(places: Mapping[str, Path], metadata: Mapping[str, str]) -> bytes:
    """Return the bytes of an archive of modules, which are always the same for the same files.

    Parameters
    ----------
    places
        The file or the directory of each module, by its dotted name.
    metadata
        Texts of further files, by their paths in the archive: what is known of installed packages, which modules may ask for.
    """
    texts = {path: text.encode() for path, text in metadata.items()}
    for module, place in places.items():
        inside = PurePosixPath(*module.split("."))
        if place.is_file():
            texts[str(inside.with_suffix(place.suffix))] = place.read_bytes()
        else:
            texts.update({str(inside / file.relative_to(place).as_posix()): file.read_bytes() for file in _files(place)})
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        # Python finds packages that several distributions share only in directories that an archive lists.
        directories = {f"{parent}/" for path in texts for parent in PurePosixPath(path).parents if str(parent) != "."}
        for name in sorted(directories | set(texts)):
            _add(archive, name, texts.get(name, b""))
    return content.getvalue()


def _files(place: Path) -> Iterator[Path]:
    """Yield the files of a package but for caches."""
    yield from (file for file in sorted(place.rglob("*")) if file.is_file() and "__pycache__" not in file.parts and file.suffix != ".pyc")


def _add(archive: zipfile.ZipFile, path: str, content: bytes) -> None:
    info = zipfile.ZipInfo(path, _TIME)
    info.compress_type, info.external_attr, info.create_system = zipfile.ZIP_DEFLATED, 0o644 << 16, 3
    archive.writestr(info, content)


def write_archive(directory: str, name: str, content: bytes) -> str:
    """Write an archive into a directory, under a name with a checksum of its content, and return its path."""
    path = os.path.join(directory, f"{name}-{hashlib.sha256(content).hexdigest()[:16]}.zip")
    with open(path, "wb") as file:
        file.write(content)
    return path
