"""What processes take while something runs: memory of driver and executors, seconds of the processors, and room on the disk."""

from __future__ import annotations

import contextlib
import os
import threading
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import attrs

SECONDS_BETWEEN_LOOKS = 0.5
DRIVER, DRIVER_JVM = "driver", "driver's JVM"
EXECUTOR_CLASS = b"CoarseGrainedExecutorBackend"


@attrs.frozen
class Process:
    """A process as ``/proc`` shows it.

    Parameters
    ----------
    number, parent
        The numbers of the process and of its parent.
    command
        Its command line.
    """

    number: int
    parent: int
    command: bytes

    @property
    def is_java(self) -> bool:
        """Whether it is a JVM."""
        return self.command.split(b"\0", 1)[0].endswith(b"java")

    @property
    def size(self) -> int:
        """The bytes of its memory; what several processes share counts in parts."""
        with contextlib.suppress(OSError):
            for line in Path(f"/proc/{self.number}/smaps_rollup").read_text().splitlines():
                if line.startswith("Pss:"):
                    return int(line.split()[1]) << 10
        return 0


def processes() -> dict[int, Process]:
    """Return all processes by their numbers."""
    found = {}
    for place in Path("/proc").iterdir():
        if place.name.isdigit():
            with contextlib.suppress(OSError):
                parent = int((place / "stat").read_text().rpartition(")")[2].split()[1])
                found[int(place.name)] = Process(int(place.name), parent, (place / "cmdline").read_bytes())
    return found


def descendants(root: int, all_processes: dict[int, Process]) -> list[Process]:
    """Return a process and all that it has started, and these."""
    children = defaultdict(list)
    for process in all_processes.values():
        children[process.parent].append(process)
    found, left = [], [all_processes[root]] if root in all_processes else []
    while left:
        process = left.pop()
        found.append(process)
        left += children[process.number]
    return found


def memory_by_owner(driver: int, workers: Sequence[int]) -> dict[str, int]:
    """Return the bytes of the driver, of its JVM, and of the executors of each worker with their Python processes."""
    found: dict[str, int] = defaultdict(int)
    all_processes = processes()
    for process in descendants(driver, all_processes):
        found[DRIVER_JVM if process.is_java else DRIVER] += process.size
    for number, worker in enumerate(workers):
        own = descendants(worker, all_processes)
        for executor in (process for process in own if EXECUTOR_CLASS in process.command and process.is_java):
            for process in descendants(executor.number, all_processes):
                found[f"worker {number}"] += process.size
                found[f"worker {number}, {'heap' if process is executor else 'Python'}"] += process.size
    return found


def room_on_disk(directory: Path) -> tuple[int, int]:
    """Return the bytes and the number of the files in a directory and those below it."""
    size = count = 0
    for place, _, names in os.walk(directory):
        for name in names:
            with contextlib.suppress(OSError):
                size += os.lstat(os.path.join(place, name)).st_blocks * 512
                count += 1
    return size, count


@attrs.define
class Peaks:
    """The most that was seen at one look.

    Parameters
    ----------
    memory
        Bytes by owner.
    disk, files
        Bytes and number of files in the directory.
    """

    memory: dict[str, int] = attrs.field(factory=lambda: defaultdict(int))
    disk: int = 0
    files: int = 0

    def look(self, driver: int, workers: Sequence[int], directory: Path) -> None:
        """Look once."""
        for owner, size in memory_by_owner(driver, workers).items():
            self.memory[owner] = max(self.memory[owner], size)
        disk, files = room_on_disk(directory)
        self.disk, self.files = max(self.disk, disk), max(self.files, files)


@contextlib.contextmanager
def watching(driver: int, workers: Sequence[int], directory: Path) -> Iterator[Peaks]:
    """Look again and again while a block runs."""
    peaks, ended = Peaks(), threading.Event()

    def look() -> None:
        while not ended.wait(SECONDS_BETWEEN_LOOKS):
            peaks.look(driver, workers, directory)

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield peaks
    finally:
        ended.set()
        thread.join()
        peaks.look(driver, workers, directory)
