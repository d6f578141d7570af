"""Limits of containers are read from their control groups, of either version, wherever they are mounted, and from those around them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from sframe_spark.process.control_groups import ControlGroups
from tests.process.groups import CPU, CPUSET, MEMORY, UNIFIED, tree

# What a process sees, and the cores and the limits of memory that it has by that.
Seen = tuple[str, list[str], Mapping[str, str], int | None, list[str]]
SEEN: dict[str, Seen] = {
    "docker, version 2": (
        "0::/\n", [UNIFIED.format(group="/")],
        {"cpu.max": "150000 100000\n", "memory.max": "1073741824\n", "memory.high": "max\n"},
        2, ["1073741824", "max"],
    ),
    "a quota of half a core": ("0::/\n", [UNIFIED.format(group="/")], {"cpu.max": "50000 100000\n"}, 1, []),
    "no limits": ("0::/\n", [UNIFIED.format(group="/")], {"cpu.max": "max 100000\n", "memory.max": "max\n"}, None, ["max"]),
    "groups within groups: the limits of all hold": (
        "0::/kubepods/pod7/worker\n", [UNIFIED.format(group="/")],
        {
            "kubepods/cpu.max": "400000 100000\n", "kubepods/pod7/cpu.max": "200000 100000\n", "kubepods/pod7/worker/cpu.max": "max 100000\n",
            "kubepods/pod7/worker/memory.high": "300\n", "kubepods/memory.max": "200\n", "kubepods/elsewhere/cpu.max": "100000 100000",
        },
        2, ["300", "200"],
    ),
    "a group that has no controllers of its own": (
        "0::/a/b/c\n", [UNIFIED.format(group="/")], {"a/b/c/cgroup.procs": "1\n", "a/cpu.max": "300000 100000 0\n"}, 3, [],
    ),
    "a service of systemd": (
        "0::/system.slice/app.service\n", [UNIFIED.format(group="/")],
        {"system.slice/app.service/cpuset.cpus.effective": "0-2,7\n", "system.slice/app.service/cpu.max": "max 100000\n"},
        4, [],
    ),
    "docker, version 1: the host's names, and only its own group mounted": (
        "4:memory:/docker/77\n3:cpu,cpuacct:/docker/77\n2:cpuset:/docker/77\n1:name=systemd:/docker/77\n",
        [MEMORY.format(group="/docker/77"), CPU.format(group="/docker/77"), CPUSET.format(group="/docker/77")],
        {
            "memory/memory.limit_in_bytes": "2147483648\n", "cpu,cpuacct/cpu.cfs_quota_us": "250000\n", "cpu,cpuacct/cpu.cfs_period_us": "100000\n",
            "cpu set/cpuset.cpus": "0,1,2,3\n",
        },
        3, ["2147483648"],
    ),
    "version 1 without limits": (
        "4:memory:/\n3:cpu,cpuacct:/\n", [MEMORY.format(group="/"), CPU.format(group="/")],
        {
            "memory/memory.limit_in_bytes": "9223372036854771712\n", "cpu,cpuacct/cpu.cfs_quota_us": "-1\n",
            "cpu,cpuacct/cpu.cfs_period_us": "100000\n",
        },
        None, ["9223372036854771712"],
    ),
    "version 1 within others, with cores by a set": (
        "4:memory:/slurm/job/step\n3:cpu,cpuacct:/slurm/job/step\n2:cpuset:/slurm/job\n",
        [MEMORY.format(group="/"), CPU.format(group="/"), CPUSET.format(group="/")],
        {
            "memory/slurm/job/step/memory.limit_in_bytes": "900\n", "memory/slurm/job/memory.limit_in_bytes": "800\n",
            "cpu,cpuacct/slurm/cpu.cfs_quota_us": "100000\n", "cpu,cpuacct/slurm/cpu.cfs_period_us": "50000\n",
            "cpu set/slurm/job/cpuset.effective_cpus": "4-6\n", "cpu set/slurm/job/cpuset.cpus": "0-63\n",
        },
        2, ["900", "800"],
    ),
    "both versions": (
        "4:memory:/x\n0::/x\n", [UNIFIED.format(group="/").replace("/sys/fs/cgroup", "/sys/fs/cgroup/unified"), MEMORY.format(group="/")],
        {"unified/x/cpu.max": "100000 100000\n", "memory/x/memory.limit_in_bytes": "700\n"}, 1, ["700"],
    ),
    "a group of another namespace": ("0::/../../other\n", [UNIFIED.format(group="/")], {"cpu.max": "200000 100000\n"}, 2, []),
    "a group that is not mounted": ("0::/gone\n", [UNIFIED.format(group="/")], {"cpu.max": "200000 100000\n"}, 2, []),
    "nothing mounted": ("0::/\n", [], {"cpu.max": "100000 100000\n"}, None, []),
    "files that say nothing": ("0::/\n", [UNIFIED.format(group="/")], {"cpu.max": "", "cpuset.cpus.effective": "\n", "memory.max": ""}, None, [""]),
}  # fmt: skip


@pytest.mark.parametrize("name", SEEN)
def test_limits_of_groups(name: str, tmp_path: Path) -> None:
    memberships, mounts, files, cores, limits = SEEN[name]
    groups = ControlGroups.of_this_process(tree(tmp_path, memberships, mounts, files))
    assert groups.cores() == cores
    assert [found.limit.read_text().strip() for found in groups.memory_files() if found.limit.exists()] == limits


def test_systems_without_groups_have_no_limits(tmp_path: Path) -> None:
    assert ControlGroups.of_this_process(tmp_path) == ControlGroups()
    assert ControlGroups().cores() is None and list(ControlGroups().memory_files()) == []
