"""Trees of files as control groups of Linux show themselves, and groups of this machine for programs of tests."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

UNIFIED = "41 31 0:38 {group} /sys/fs/cgroup rw,nosuid - cgroup2 cgroup rw,nsdelegate"
MEMORY = "35 31 0:32 {group} /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory"
CPU = "32 31 0:29 {group} /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 master:1 - cgroup cgroup rw,cpu,cpuacct"
CPUSET = r"33 31 0:31 {group} /sys/fs/cgroup/cpu\040set rw - cgroup cgroup rw,cpuset"
OTHERS = "31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n23 1 8:1 / / rw - ext4 /dev/root rw\nnonsense\n"


def tree(root: Path, memberships: str, mounts: list[str], files: Mapping[str, str]) -> Path:
    """A root directory with what a process sees below it: its groups, what is mounted, and files of groups."""
    (root / "proc" / "self").mkdir(parents=True)
    (root / "proc" / "self" / "cgroup").write_text(memberships)
    (root / "proc" / "self" / "mountinfo").write_text(OTHERS + "\n".join(mounts) + "\n")
    for name, text in files.items():
        file = root / "sys" / "fs" / "cgroup" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return root


# Where groups can be made: as root, with version 1 mounted as in many virtual machines.
PLACES = [Path(f"/sys/fs/cgroup/{name}") for name in ("cpu", "memory")]


@contextlib.contextmanager
def groups_of_this_machine(quota: int, memory: int) -> Iterator[list[str]]:
    """Make groups with limits, and a group within each; yield the directories of those, to which a program adds itself by ``JOIN``.

    Parameters
    ----------
    quota
        The time in microseconds of each 100,000 that all processes of the group get together.
    memory
        The limit of memory in bytes.
    """
    if os.name != "posix" or os.geteuid() != 0 or not all(map(os.path.isdir, PLACES)):
        pytest.skip("makes control groups of version 1")
    made = [place / f"sframe_spark_test_{os.getpid()}" / name for place in PLACES for name in ("", "within")]
    try:
        for place in made:
            place.mkdir()
        (made[0] / "cpu.cfs_quota_us").write_text(str(quota))
        (made[2] / "memory.limit_in_bytes").write_text(str(memory))
        yield [str(made[1]), str(made[3])]
    except PermissionError as error:
        pytest.skip(f"groups cannot be made here: {error}")
    finally:
        for place in reversed(made):
            if place.exists():
                place.rmdir()


JOIN = """
import os, sys
for name in sys.argv[1:]:
    with open(f"{name}/cgroup.procs", "w") as stream:
        stream.write(str(os.getpid()))
"""


def run_within(groups: list[str], program: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program in groups, in an interpreter of its own: what it imports looks at its limits."""
    variables = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"} | environment
    command = [sys.executable, "-c", JOIN + program, *groups]
    return subprocess.run(command, capture_output=True, text=True, timeout=200, check=False, env=variables)
