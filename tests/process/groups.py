"""Trees of files as control groups of Linux show themselves."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

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
