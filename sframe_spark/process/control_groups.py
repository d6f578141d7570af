"""Limits of the memory and the cores of this process by control groups; Arrow's thread pool is limited to these cores."""

from __future__ import annotations

import functools
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import attrs
import pyarrow as pa

# The file system types of control groups: version 2 has a single hierarchy, for which no controller is named.
UNIFIED = "cgroup2"
VERSION_1 = "cgroup"
# The limits of a running container may change, and reading them takes as long as a small query, so they are cached for this time.
SECONDS_REMEMBERED = 1.0
ESCAPED = re.compile(r"\\([0-7]{3})")


@attrs.frozen
class MemoryFiles:
    """The files with the memory limit, usage and statistics of a control group.

    Parameters
    ----------
    limit, usage, statistics
        The paths of the files.
    """

    limit: Path
    usage: Path
    statistics: Path


@attrs.frozen
class ControlGroups:
    """The directories of the control groups of a process, from its own group to the outermost one that is visible.

    Parameters
    ----------
    unified
        The directories for version 2.
    memory, cpu, cpuset
        The directories for version 1, by controller.
    """

    unified: tuple[Path, ...] = ()
    memory: tuple[Path, ...] = ()
    cpu: tuple[Path, ...] = ()
    cpuset: tuple[Path, ...] = ()

    @classmethod
    def of_this_process(cls, root: Path = Path("/")) -> ControlGroups:
        """Return the control groups of this process; all empty on systems that have or show none.

        Parameters
        ----------
        root
            The directory that contains ``proc``.
        """
        try:
            memberships = (root / "proc/self/cgroup").read_text(encoding="utf-8", errors="surrogateescape")
            mounts = (root / "proc/self/mountinfo").read_text(encoding="utf-8", errors="surrogateescape")
        except OSError:
            return cls()
        directories: dict[str, tuple[Path, ...]] = {}
        groups = dict(_memberships(memberships))
        for controllers, mounted, mount_point in _mounts(mounts):
            for controller in controllers & groups.keys():
                # The first mount that shows the controller counts; later ones are for other containers.
                directories.setdefault(controller, tuple(_upwards(root / mount_point.lstrip("/"), mounted, groups[controller])))
        return cls(*(directories.get(name, ()) for name in ("", "memory", "cpu", "cpuset")))

    def memory_files(self) -> Iterator[MemoryFiles]:
        """Yield the files about memory of all groups.

        Of version 2, ``memory.high`` counts, too: a group that uses more is slowed down almost to a stop.
        """
        for directory in self.unified:
            for name in ("memory.max", "memory.high"):
                yield MemoryFiles(directory / name, directory / "memory.current", directory / "memory.stat")
        for directory in self.memory:
            yield MemoryFiles(*(directory / f"memory.{name}" for name in ("limit_in_bytes", "usage_in_bytes", "stat")))

    def cores(self) -> int | None:
        """Return the number of cores that the groups allow, with fractions rounded up; None if there is no limit."""
        quotas = [text_of(directory / "cpu.max").split()[:2] for directory in self.unified]
        quotas += [[text_of(directory / f"cpu.cfs_{name}_us").strip() for name in ("quota", "period")] for directory in self.cpu]
        limits = [_cores(*quota) for quota in quotas if len(quota) == 2]
        limits += [_cores_named(text_of(directory / "cpuset.cpus.effective")) for directory in self.unified[:1]]
        limits += [_cores_named(text_of(directory / "cpuset.effective_cpus") or text_of(directory / "cpuset.cpus")) for directory in self.cpuset[:1]]
        return min((cores for cores in limits if cores is not None), default=None)


def _memberships(text: str) -> Iterator[tuple[str, str]]:
    """Yield each controller with the path of this process's group; the controller of version 2 is the empty string."""
    for line in text.splitlines():
        _, _, rest = line.partition(":")
        controllers, colon, path = rest.partition(":")
        if colon:
            yield from ((controller, path) for controller in controllers.split(","))


def _mounts(text: str) -> Iterator[tuple[set[str], str, str]]:
    """Yield, for each mounted hierarchy, its controllers, the group that is mounted, and the mount point."""
    for line in text.splitlines():
        fields, dash, rest = line.partition(" - ")
        described = fields.split(" ")
        kind, *options = rest.split(" ")
        if not dash or len(described) < 5 or kind not in (UNIFIED, VERSION_1):
            continue
        controllers = {""} if kind == UNIFIED else set(options[-1].split(",")) if options else set()
        yield controllers, _plain(described[3]), _plain(described[4])


def _plain(field: str) -> str:
    """Return a path without escapes: blanks and some other characters are written as octal numbers."""
    return ESCAPED.sub(lambda match: chr(int(match[1], 8)), field)


def _upwards(mount_point: Path, mounted: str, group: str) -> Iterator[Path]:
    """Yield the existing directories of a group and of its ancestors, given a mount point and the group that is mounted there."""
    top, own = PurePosixPath(mounted), PurePosixPath(group)
    # A group that is not below the mounted one belongs to another namespace: then the mounted group is the container's.
    below = own.relative_to(top) if own.is_relative_to(top) and ".." not in own.parts else PurePosixPath()
    for directory in (below, *below.parents):
        if (mount_point / directory).is_dir():
            yield mount_point / directory


def _cores(quota: str, period: str) -> int | None:
    """Return the cores that a time quota allows in a period; None if there is no quota."""
    # "max" or a negative number means that there is no limit.
    if not (quota.isdecimal() and period.isdecimal() and int(quota) and int(period)):
        return None
    return -(-int(quota) // int(period))


def _cores_named(text: str) -> int | None:
    """Return the number of cores in a list of ranges, given as a string; None if it is empty, or no list of ranges.

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


def text_of(path: Path) -> str:
    """Return the content of a file of the system; empty if it cannot be read."""
    try:
        return path.read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""


def available_cores() -> int:
    """Return how many cores this process may use: those on which it may run, but not more than its quota."""
    return min(scheduled_cores(), _max_cores(os.getpid(), int(time.monotonic() / SECONDS_REMEMBERED)))


def scheduled_cores() -> int:
    """Return on how many cores the system may run this process, whatever its quota."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _cores_of_machine() -> int | None:
    """Return how many cores the machine has, whatever Python's option ``-X cpu_count`` says; None if the system does not say."""
    return os.sysconf("SC_NPROCESSORS_ONLN") if hasattr(os, "sysconf") else os.cpu_count()


@functools.lru_cache(maxsize=1)
def _max_cores(process: int, second: int) -> int:
    """Return the limit by control groups and by Python's option ``-X cpu_count``; the arguments are the key of the cache."""
    known = [cores for cores in (os.cpu_count(), ControlGroups.of_this_process().cores()) if cores is not None]
    return min(known, default=1)


def fit_arrow() -> None:
    """Limit Arrow's thread pool to the cores of this process.

    Arrow does not see the quota of a container, and older versions of it do not see a set of cores. A number of threads that the user has set is not
    changed.
    """
    cores = available_cores()
    if cores < pa.cpu_count() and pa.cpu_count() in (scheduled_cores(), _cores_of_machine()) and not os.environ.get("OMP_NUM_THREADS"):
        pa.set_cpu_count(cores)
