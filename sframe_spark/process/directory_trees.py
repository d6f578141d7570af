"""Directory trees: walked, measured and deleted without following links."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import stat
from collections.abc import Container, Iterator


def entries_below(directory: str) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Yield the entries of all files and links below a directory, each with its name relative to the directory; links are not followed."""
    waiting = [(directory, "")]
    while waiting:
        path, prefix = waiting.pop()
        try:
            scan = os.scandir(path)
        except FileNotFoundError:
            # The directory was deleted meanwhile.
            continue
        with scan:
            for entry in scan:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append((entry.path, f"{prefix}{entry.name}/"))
                else:
                    yield prefix + entry.name, entry


def size_on_disk(path: str) -> int:
    """Return the bytes that a file or directory occupies; links are not followed, and files with several hard links do not count."""
    total, waiting = 0, [path]
    while waiting:
        # Files that cannot be read do not count.
        with contextlib.suppress(OSError):
            current = waiting.pop()
            status = os.lstat(current)
            if not stat.S_ISDIR(status.st_mode):
                total += getattr(status, "st_blocks", 0) * 512 if status.st_nlink == 1 else 0
                continue
            with os.scandir(current) as entries:
                waiting.extend(entry.path for entry in entries)
    return total


def remove_tree(path: str, ignore_errors: bool = False) -> None:
    """Delete a directory with everything in it; links are not followed."""
    with contextlib.suppress(RecursionError):
        shutil.rmtree(path, ignore_errors=True)
    if not os.path.lexists(path):
        return
    if os.rename in os.supports_dir_fd:
        # The tree may be too deep: rmtree recurses, and keeps a directory open, for each level.
        with contextlib.suppress(OSError):
            _flatten(path)
    shutil.rmtree(path, ignore_errors=ignore_errors)


def remove_all_except(directory: str, present: Container[str]) -> None:
    """Delete the entries of a directory, except those with the given names."""
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.name in present:
                continue
            if entry.is_dir(follow_symlinks=False):
                remove_tree(entry.path)
            else:
                os.unlink(entry.path)


def _flatten(path: str) -> None:
    """Move all directories below a directory directly into it."""
    with _opened(path) as top:
        waiting = _directories_in(top)
        while waiting:
            with contextlib.suppress(OSError), _opened(waiting.pop(), top) as current:
                for name in _directories_in(current):
                    moved = f"moved-{secrets.token_hex(8)}"
                    os.rename(name, moved, src_dir_fd=current, dst_dir_fd=top)
                    waiting.append(moved)


def _directories_in(directory: int) -> list[str]:
    with os.scandir(directory) as entries:
        return [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]


@contextlib.contextmanager
def _opened(path: str, above: int | None = None) -> Iterator[int]:
    """Open a directory, relative to another one if given, and yield its file descriptor; fails for a link."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=above)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
