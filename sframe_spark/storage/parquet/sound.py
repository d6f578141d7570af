"""Which columns of which files were found sound: remembered by process, for far more files than there are footers in memory."""

from __future__ import annotations

import sys
import threading
from collections import OrderedDict
from collections.abc import Iterable

from sframe_spark.process.fork_safety import keep_whole_at_fork
from sframe_spark.storage.filesystem.local_files import FileState

# Path and state, which tell one content of a path from another.
Identity = tuple[str, FileState]

# About 70 MB at most: a column takes some tens of bytes, a file as much as several columns. Files of one dataset share the set of their columns, so
# that a hundred thousand of them are remembered, however wide they are.
MOST_REMEMBERED = 1_000_000
COLUMNS_WORTH_A_FILE = 8


class SoundColumns:
    """Names of columns of files whose page headers were compared with their check sums; those of the files asked for longest ago are forgotten first.

    Parameters
    ----------
    most
        How much is remembered: columns, and some for each file.

    Examples
    --------
    >>> sound, now, later = SoundColumns(most=20), FileState(10, 1, 7, 1), FileState(10, 2, 7, 2)
    >>> sound.add(("/a", now), ["c0", "c1"])
    >>> sound.unchecked(("/a", now), ["c1", "c2"]), sound.unchecked(("/a", later), ["c1"])
    ({'c2'}, {'c1'})
    >>> sound.add(("/b", now), ["c0", "c1", "c2"])
    >>> sound.unchecked(("/a", now), ["c0"]), sound.unchecked(("/b", now), ["c0"])
    ({'c0'}, set())
    """

    def __init__(self, most: int = MOST_REMEMBERED) -> None:
        self._lock = threading.RLock()
        self._most = most
        self._size = 0
        self._names: OrderedDict[Identity, frozenset[str]] = OrderedDict()
        # Each set with how many files it is that of.
        self._sets: dict[frozenset[str], tuple[frozenset[str], int]] = {}

    def unchecked(self, file: Identity, names: Iterable[str]) -> set[str]:
        """Return those of some columns of a file that are not known to be sound."""
        with self._lock:
            known = self._names.get(file)
            if known is None:
                return set(names)
            self._names.move_to_end(file)
            return {name for name in names if name not in known}

    def add(self, file: Identity, names: Iterable[str]) -> None:
        """Remember that columns of a file are sound."""
        with self._lock:
            known = self._names.pop(file, None)
            found = frozenset(map(sys.intern, names))
            if known is not None:
                self._let_go(known)
                found |= known
            self._keep(file, found)
            while self._size > self._most and self._names:
                self._let_go(self._names.popitem(last=False)[1])

    def _keep(self, file: Identity, names: frozenset[str]) -> None:
        shared, files = self._sets.get(names, (names, 0))
        self._size += COLUMNS_WORTH_A_FILE + (0 if files else len(names))
        self._sets[shared], self._names[file] = (shared, files + 1), shared

    def _let_go(self, names: frozenset[str]) -> None:
        shared, files = self._sets.pop(names)
        self._size -= COLUMNS_WORTH_A_FILE + (0 if files > 1 else len(names))
        if files > 1:
            self._sets[shared] = (shared, files - 1)


SOUND_COLUMNS = SoundColumns()
keep_whole_at_fork(SOUND_COLUMNS._lock, "verified columns")
