"""Directories with all that is below them, however deep: whoever can write into one can nest thousands in each other."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import stat
from collections.abc import Container, Iterator


def entries_below(directory: str) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Yield what is below a directory and no directory itself, with its name relative to it; links are not followed."""
    waiting = [(directory, "")]
    while waiting:
        path, prefix = waiting.pop()
        try:
            scan = os.scandir(path)
        except FileNotFoundError:
            # It has gone meanwhile.
            continue
        with scan:
            for entry in scan:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append((entry.path, f"{prefix}{entry.name}/"))
                else:
                    yield prefix + entry.name, entry


def size_on_disk(path: str) -> int:
    """Bytes that a file or directory takes on the disk; links are not followed, and a file with other names elsewhere counts nothing."""
    total, waiting = 0, [path]
    while waiting:
        # What cannot be looked at counts nothing.
        with contextlib.suppress(OSError):
            place = waiting.pop()
            status = os.lstat(place)
            if not stat.S_ISDIR(status.st_mode):
                total += getattr(status, "st_blocks", 0) * 512 if status.st_nlink == 1 else 0
                continue
            with os.scandir(place) as entries:
                waiting.extend(entry.path for entry in entries)
    return total


def remove_tree(path: str, ignore_errors: bool = False) -> None:
    """Delete a directory with all that is in it; links are not followed."""
    with contextlib.suppress(RecursionError):
        shutil.rmtree(path, ignore_errors=True)
    if not os.path.lexists(path):
        return
    if os.rename in os.supports_dir_fd:
        # Perhaps too deep: it calls itself, and keeps a directory open, for each level.
        with contextlib.suppress(OSError):
            _flatten(path)
    shutil.rmtree(path, ignore_errors=ignore_errors)


def remove_others(directory: str, present: Container[str]) -> None:
    """Delete what is in a directory but for what has one of some names."""
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.name in present:
                continue
            if entry.is_dir(follow_symlinks=False):
                remove_tree(entry.path)
            else:
                os.unlink(entry.path)


def _flatten(path: str) -> None:
    """Move every directory below one into that one."""
    with _opened(path) as top:
        waiting = _directories_in(top)
        while waiting:
            with contextlib.suppress(OSError), _opened(waiting.pop(), top) as place:
                for name in _directories_in(place):
                    moved = f"moved-{secrets.token_hex(8)}"
                    os.rename(name, moved, src_dir_fd=place, dst_dir_fd=top)
                    waiting.append(moved)


def _directories_in(directory: int) -> list[str]:
    with os.scandir(directory) as entries:
        return [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]


@contextlib.contextmanager
def _opened(path: str, above: int | None = None) -> Iterator[int]:
    """Open a directory that is no link, relative to another one."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=above)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
