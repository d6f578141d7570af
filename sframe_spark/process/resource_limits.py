"""What memory and how many cores the control groups of this process allow it; Arrow's thread pool is limited to these cores."""

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
# The limits of a running container may change, and reading them takes as long as a small query.
SECONDS_REMEMBERED = 1.0
ESCAPED = re.compile(r"\\([0-7]{3})")


@attrs.frozen
class MemoryFiles:
    """Files with the limit and the usage of a control group.

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
    """Directories of the control groups of a process, from its own to the outermost that can be seen.

    Parameters
    ----------
    unified
        Those of version 2.
    memory, cpu, cpuset
        Those of version 1, by controller.
    """

    unified: tuple[Path, ...] = ()
    memory: tuple[Path, ...] = ()
    cpu: tuple[Path, ...] = ()
    cpuset: tuple[Path, ...] = ()

    @classmethod
    def of_this_process(cls, root: Path = Path("/")) -> ControlGroups:
        """Return those of this process; none on other systems, or if the system does not tell.

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
                # The first mount that shows it: later ones are for other containers.
                found.setdefault(controller, tuple(_upwards(root / place.lstrip("/"), within, paths[controller])))
        return cls(*(found.get(name, ()) for name in ("", "memory", "cpu", "cpuset")))

    def memory_files(self) -> Iterator[MemoryFiles]:
        """Yield the files about memory of all groups; above the second limit of version 2 a group is throttled almost to a stop."""
        for directory in self.unified:
            for name in ("memory.max", "memory.high"):
                yield MemoryFiles(directory / name, directory / "memory.current", directory / "memory.stat")
        for directory in self.memory:
            yield MemoryFiles(*(directory / f"memory.{name}" for name in ("limit_in_bytes", "usage_in_bytes", "stat")))

    def cores(self) -> int | None:
        """Return the number of cores that the groups allow, fractions rounded up; None if there is no limit."""
        found = [*map(_quota, self.unified), *map(_quota_of_version_1, self.cpu)]
        found += [_cores_named(_text(directory / "cpuset.cpus.effective")) for directory in self.unified[:1]]
        found += [_cores_named(_text(directory / "cpuset.effective_cpus") or _text(directory / "cpuset.cpus")) for directory in self.cpuset[:1]]
        return min((cores for cores in found if cores is not None), default=None)


def _memberships(text: str) -> Iterator[tuple[str, str]]:
    """Yield controllers and the path of the group of each; the controller of version 2 is the empty string."""
    for line in text.splitlines():
        _, _, rest = line.partition(":")
        controllers, colon, path = rest.partition(":")
        if colon:
            yield from ((controller, path) for controller in controllers.split(","))


def _mounts(text: str) -> Iterator[tuple[set[str], str, str]]:
    """Yield the controllers of each mounted hierarchy, the group that is mounted, and the mount point."""
    for line in text.splitlines():
        fields, dash, rest = line.partition(" - ")
        described = fields.split(" ")
        kind, *options = rest.split(" ")
        if not dash or len(described) < 5 or kind not in (UNIFIED, VERSION_1):
            continue
        controllers = {""} if kind == UNIFIED else set(options[-1].split(",")) if options else set()
        yield controllers, _plain(described[3]), _plain(described[4])


def _plain(field: str) -> str:
    """Unescape a path, in which blanks and the like are octal numbers."""
    return ESCAPED.sub(lambda found: chr(int(found[1], 8)), field)


def _upwards(place: Path, within: str, path: str) -> Iterator[Path]:
    """Yield the directories of a group and its ancestors, given a mount point, the mounted group and the group."""
    mounted, own = PurePosixPath(within), PurePosixPath(path)
    # A group that is not below the mounted one is of another namespace: the container's group is the mounted one itself.
    below = own.relative_to(mounted) if own.is_relative_to(mounted) and ".." not in own.parts else PurePosixPath()
    for directory in (below, *below.parents):
        if (place / directory).is_dir():
            yield place / directory


def _quota(directory: Path) -> int | None:
    """Return the cores by the time quota of a group of version 2."""
    fields = _text(directory / "cpu.max").split()
    return _cores(*fields[:2]) if len(fields) >= 2 else None


def _quota_of_version_1(directory: Path) -> int | None:
    return _cores(_text(directory / "cpu.cfs_quota_us").strip(), _text(directory / "cpu.cfs_period_us").strip())


def _cores(quota: str, period: str) -> int | None:
    # "max" or a negative number means no limit.
    if not (quota.isdecimal() and period.isdecimal() and int(quota) and int(period)):
        return None
    return -(-int(quota) // int(period))


def _cores_named(text: str) -> int | None:
    """Return the number of cores in a list of ranges.

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


def available_cores() -> int:
    """Return how many cores this process may use: those it may run on, but no more than its container's quota."""
    return min(scheduled_cores(), _max_cores(os.getpid(), int(time.monotonic() / SECONDS_REMEMBERED)))


def scheduled_cores() -> int:
    """Return how many cores the system may run this process on, whatever its quota."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@functools.lru_cache(maxsize=1)
def _max_cores(process: int, second: int) -> int:
    """Return the limit by control groups and by Python's option ``-X cpu_count``; the arguments are the key of the cache."""
    known = [cores for cores in (os.cpu_count(), ControlGroups.of_this_process().cores()) if cores is not None]
    return min(known, default=1)


def fit_arrow() -> None:
    """Limit Arrow's thread pool to the cores of this process: Arrow itself does not see the quota of a container.

    A number that the user has set stays.
    """
    cores = available_cores()
    if cores < pa.cpu_count() == scheduled_cores() and not os.environ.get("OMP_NUM_THREADS"):
        pa.set_cpu_count(cores)
