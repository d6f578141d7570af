"""Writing to open files and other objects with ``write()``, such as a ``BytesIO``."""

from __future__ import annotations

import io
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sframe_spark.errors import StorageError
from sframe_spark.storage.filesystem.temporary_datasets import scratch_store

BLOCK_BYTES = 1 << 20


def is_open_to_write(target: Any) -> bool:
    """Return whether what a user gave as a path is an object to write to.

    Examples
    --------
    >>> is_open_to_write(io.BytesIO()), is_open_to_write("rows.csv")
    (True, False)
    """
    return not isinstance(target, (str, os.PathLike)) and callable(getattr(target, "write", None))


@contextmanager
def path_to_write(target: Any, ending: str) -> Iterator[Any]:
    """Yield the path to write to: the given path, or for an open file that of a temporary file, which is copied to it at the end of the block.

    An open file gets all rows or none of them, stays open, and gets text if it is one for text.

    Raises
    ------
    StorageError
        If the object cannot be written to.
    """
    if not is_open_to_write(target):
        yield target
        return
    holder = scratch_store().new_dataset()
    path = os.path.join(holder.directory, f"rows{ending}")
    yield path
    try:
        if isinstance(target, io.TextIOBase):
            with open(path, encoding="utf-8", newline="") as text:
                shutil.copyfileobj(text, target, BLOCK_BYTES)
        else:
            with open(path, "rb") as file:
                shutil.copyfileobj(file, target, BLOCK_BYTES)
    except (OSError, ValueError, TypeError) as error:
        # A file that is closed, or open for reading only, or whose encoding does not have a letter.
        raise StorageError(f"cannot write to the {type(target).__name__}: {error}") from error
    finally:
        os.remove(path)
