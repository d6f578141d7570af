"""What memory and how many cores the control groups of this process allow it, and Arrow's threads, which are to be no more than the cores."""

from __future__ import annotations

import functools
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import attrs
import pyarrow as pa

# Version 2 has one hierarchy, for which no controller is named.
UNIFIED = "cgroup2"
VERSION_1 = "cgroup"
# Limits of a container that runs may change; to read them takes as long as a small sum.
SECONDS_REMEMBERED = 1.0
ESCAPED = re.compile(r"\\([0-7]{3})")


@attrs.frozen
class MemoryFiles:
    """Files that say what a group may have, and what it has.

    Parameters
    ----------
    limit, usage, statistics
        Their paths.
    """

    limit: Path
    usage: Path
    statistics: Path


@attrs.frozen
class ControlGroups:
    """Directories of the groups that a process is in, from its own to the outermost that can be seen.

    Parameters
    ----------
    unified
        Of version 2.
    memory, cpu, cpuset
        Of version 1, by what they control.
    """

    unified: tuple[Path, ...] = ()
    memory: tuple[Path, ...] = ()
    cpu: tuple[Path, ...] = ()
    cpuset: tuple[Path, ...] = ()

    @classmethod
    def of_this_process(cls, root: Path = Path("/")) -> ControlGroups:
        """Those of this process; none on other systems, or where the system does not tell.

        Parameters
        ----------
        root
            The directory that has ``proc``.
        """
        try:
            memberships = (root / "proc/self/cgroup").read_text(encoding="utf-8", errors="surrogateescape")
            mounts = (root / "proc/self/mountinfo").read_text(encoding="utf-8", errors="surrogateescape")
        except OSError:
            return cls()
        found: dict[str, tuple[Path, ...]] = {}
        paths = dict(_memberships(memberships))
        for controllers, within, place in _mounts(mounts):
            for controller in controllers & paths.keys():
                # The first mount that shows it: others are for other containers.
                found.setdefault(controller, tuple(_upwards(root / place.lstrip("/"), within, paths[controller])))
        return cls(*(found.get(name, ()) for name in ("", "memory", "cpu", "cpuset")))

    def memory_files(self) -> Iterator[MemoryFiles]:
        """Files about memory, of all groups; a group above the second limit of version 2 is slowed down until it does not work any more."""
        for directory in self.unified:
            for name in ("memory.max", "memory.high"):
                yield MemoryFiles(directory / name, directory / "memory.current", directory / "memory.stat")
        for directory in self.memory:
            yield MemoryFiles(*(directory / f"memory.{name}" for name in ("limit_in_bytes", "usage_in_bytes", "stat")))

    def cores(self) -> int | None:
        """The most cores that any of the groups lets its processes use, a part of one counting as one; None where none of them has a limit."""
        found = [*map(_quota, self.unified), *map(_quota_of_version_1, self.cpu)]
        found += [_cores_named(_text(directory / "cpuset.cpus.effective")) for directory in self.unified[:1]]
        found += [_cores_named(_text(directory / "cpuset.effective_cpus") or _text(directory / "cpuset.cpus")) for directory in self.cpuset[:1]]
        return min((cores for cores in found if cores is not None), default=None)


def _memberships(text: str) -> Iterator[tuple[str, str]]:
    """Controllers, and the path of the group of each; that of version 2 goes by the empty name."""
    for line in text.splitlines():
        _, _, rest = line.partition(":")
        controllers, colon, path = rest.partition(":")
        if colon:
            yield from ((controller, path) for controller in controllers.split(","))


def _mounts(text: str) -> Iterator[tuple[set[str], str, str]]:
    """Controllers of each mounted hierarchy, the group that is mounted, and where it is."""
    for line in text.splitlines():
        fields, dash, rest = line.partition(" - ")
        described = fields.split(" ")
        kind, *options = rest.split(" ")
        if not dash or len(described) < 5 or kind not in (UNIFIED, VERSION_1):
            continue
        controllers = {""} if kind == UNIFIED else set(options[-1].split(",")) if options else set()
        yield controllers, _plain(described[3]), _plain(described[4])


def _plain(field: str) -> str:
    """A path, in which blanks and the like are written as numbers."""
    return ESCAPED.sub(lambda found: chr(int(found[1], 8)), field)


def _upwards(place: Path, within: str, path: str) -> Iterator[Path]:
    """Directories of a group and those that it is in, given where a group is mounted, and which."""
    mounted, own = PurePosixPath(within), PurePosixPath(path)
    # A group that is not below the mounted one belongs to another namespace: the container is the mounted one itself.
    below = own.relative_to(mounted) if own.is_relative_to(mounted) and ".." not in own.parts else PurePosixPath()
    for directory in (below, *below.parents):
        if (place / directory).is_dir():
            yield place / directory


def _quota(directory: Path) -> int | None:
    """Cores by the time that a group of version 2 gets in a period."""
    fields = _text(directory / "cpu.max").split()
    return _cores(*fields[:2]) if len(fields) >= 2 else None


def _quota_of_version_1(directory: Path) -> int | None:
    return _cores(_text(directory / "cpu.cfs_quota_us").strip(), _text(directory / "cpu.cfs_period_us").strip())


def _cores(quota: str, period: str) -> int | None:
    # No limit is the word `max`, or less than zero.
    if not (quota.isdecimal() and period.isdecimal() and int(quota) and int(period)):
        return None
    return -(-int(quota) // int(period))


def _cores_named(text: str) -> int | None:
    """How many cores a list names.

    Examples
    --------
    >>> _cores_named("0-3,8\\n"), _cores_named("")
    (5, None)
    """
    count = 0
    for part in text.strip().split(","):
        first, _, last = part.partition("-")
        if not first.isdecimal() or not (last or first).isdecimal():
            return None
        count += int(last or first) - int(first) + 1
    return count if count > 0 else None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""


# Cores.


def available_cores() -> int:
    """Return how many cores this process may use: those that it may run on, but no more than its container gets the time of."""
    return min(scheduled_cores(), _max_cores(os.getpid(), int(time.monotonic() / SECONDS_REMEMBERED)))


def scheduled_cores() -> int:
    """Return how many cores the system runs this process on, whatever time it gets there."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@functools.lru_cache(maxsize=1)
def _max_cores(process: int, moment: int) -> int:
    """As many as the groups of the process allow, and as many as Python was told that there are (``-X cpu_count``)."""
    known = [cores for cores in (os.cpu_count(), ControlGroups.of_this_process().cores()) if cores is not None]
    return min(known, default=1)


def fit_arrow() -> None:
    """Let Arrow start no more threads than this process has cores: by itself it does not see what time a container gets.

    A number that the user has set stays.
    """
    cores = available_cores()
    if cores < pa.cpu_count() == scheduled_cores() and not os.environ.get("OMP_NUM_THREADS"):
        pa.set_cpu_count(cores)
