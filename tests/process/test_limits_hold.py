"""What this process may use decides how many threads and processes it has, how large the heap of a JVM is, and what fits in memory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from sframe_spark import config
from sframe_spark.engine.runtime.task_runners import ProcessRunner, ThreadRunner
from sframe_spark.process import control_groups, memory
from sframe_spark.process.control_groups import ControlGroups
from sframe_spark.process.memory import AvailableMemory
from sframe_spark.session import spark_start_and_settings
from sframe_spark.session.spark_start_and_settings import local_settings
from tests.process.groups import MEMORY, UNIFIED, groups_of_this_machine, run_within, tree

MIB = 1 << 20


def forget() -> None:
    """Let limits be looked at again."""
    control_groups._max_cores.cache_clear()
    memory._limits.cache_clear()


@pytest.fixture
def group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The directory of the group of this process, on a machine of 64 cores and as much memory as this one."""
    root = tree(tmp_path, "0::/box\n", [UNIFIED.format(group="/")], {"box/cpu.max": "max 100000\n", "box/memory.max": "max\n"})
    of_this_process = ControlGroups.of_this_process
    monkeypatch.setattr(ControlGroups, "of_this_process", lambda: of_this_process(root))
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(64)), raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    forget()
    yield root / "sys" / "fs" / "cgroup" / "box"
    forget()


def test_cores(group: Path) -> None:
    assert (
        control_groups.available_cores(),
        ThreadRunner().parallelism(),
        ProcessRunner().parallelism(),
        spark_start_and_settings.options_of_cores(),
    ) == (
        64,
        8,
        8,
        [],
    )
    (group / "cpu.max").write_text("250000 100000")
    forget()
    assert (control_groups.available_cores(), ThreadRunner().parallelism(), ProcessRunner().parallelism()) == (3, 3, 3)
    settings = local_settings()
    assert settings["spark.sql.shuffle.partitions"] == "3" and "-XX:ActiveProcessorCount=3" in settings["spark.driver.extraJavaOptions"]


@pytest.mark.parametrize(
    ("limit", "heap"), [(64 << 30, "8g"), (12 << 30, "3g"), (3 << 30, "1g"), (2 << 30, "1g"), (1 << 30, "512m"), (100 << 20, "512m")]
)
def test_memory(group: Path, limit: int, heap: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "info").write_text(f"MemTotal: {128 << 20} kB\nMemAvailable: {127 << 20} kB\n")
    monkeypatch.setattr(memory, "MEMORY_INFORMATION", tmp_path / "info")
    monkeypatch.setattr(memory, "_pages", lambda name: None)
    (group / "memory.max").write_text(str(limit))
    (group / "memory.current").write_text(str(limit // 2))
    (group / "memory.stat").write_text(f"anon 1\ninactive_file {limit // 8}\nactive_file {limit // 8}\nshmem 5\n")
    forget()
    assert local_settings()["spark.driver.memory"] == heap
    assert memory.available_memory() == AvailableMemory(limit - limit // 2 + limit // 4, "left in this container")
    with config.using(work_memory=None, kept_memory=None):
        assert (memory.work_memory(), memory.kept_memory()) == (limit // 4, limit // 8)
        # Beyond 2 GiB they grow no more.
        assert (memory.memory_budget(), memory.batch_bytes()) == (min(128 * MIB, limit // 16), min(32 * MIB, limit // 64))
    with config.using(memory_budget=limit, work_memory=64 * MIB, batch_bytes=3 * MIB):
        assert (memory.memory_budget(), memory.batch_bytes()) == (limit, 3 * MIB)


def test_a_limit_around_the_group_that_only_its_statistics_show(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pod of a container, with version 1: its group is not mounted in the container."""
    stat = "cache 9\ninactive_file 1\nactive_file 2\nhierarchical_memory_limit 1000000\ntotal_inactive_file 30\ntotal_active_file 40\n"
    files = {"memory/memory.limit_in_bytes": "9223372036854771712\n", "memory/memory.usage_in_bytes": "400000\n", "memory/memory.stat": stat}
    root = tree(tmp_path, "4:memory:/kubepods/pod7/one\n", [MEMORY.format(group="/kubepods/pod7/one")], files)
    of_this_process = ControlGroups.of_this_process
    monkeypatch.setattr(ControlGroups, "of_this_process", lambda: of_this_process(root))
    forget()
    assert (memory.all_memory(), memory.of_group()) == (1_000_000, AvailableMemory(600_070, "left in this container"))
    forget()


def test_a_machine_that_tells_nothing_is_a_small_one(group: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(memory, "MEMORY_INFORMATION", tmp_path / "none")
    monkeypatch.setattr(memory, "GROUP_FILES", ())
    monkeypatch.setattr(memory, "_pages", lambda name: None)
    forget()
    assert (memory.of_machine(), memory.of_group(), memory.all_memory()) == (None, None, memory.SMALL_MACHINE)
    (tmp_path / "none").write_text("MemTotal: much\nMemAvailable:\n")
    forget()
    assert (memory.of_machine(), memory.all_memory()) == (None, memory.SMALL_MACHINE)


def test_cores_that_python_is_told(group: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By ``PYTHON_CPU_COUNT`` or ``-X cpu_count`` of Python 3.13."""
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    forget()
    assert (control_groups.available_cores(), spark_start_and_settings.options_of_cores()) == (2, ["-XX:ActiveProcessorCount=2"])


def test_threads_of_arrow(group: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = pa.cpu_count()
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    # What versions of Arrow count that do not see a set of cores.
    monkeypatch.setattr(control_groups, "_cores_of_machine", lambda: 96)
    (group / "cpu.max").write_text("200000 100000")
    forget()
    try:
        for set_by_user, found in ((64, 2), (96, 2), (7, 7), (1, 1)):
            pa.set_cpu_count(set_by_user)
            control_groups.fit_arrow()
            assert pa.cpu_count() == found
    finally:
        pa.set_cpu_count(before)


SHOWN = """
import pyarrow as pa
from sframe_spark import SFrame
from sframe_spark.process import memory
from sframe_spark.session.spark_start_and_settings import local_settings
from sframe_spark.process.control_groups import available_cores
print(available_cores(), pa.cpu_count(), memory.all_memory() >> 20, memory.available_memory().source, local_settings()["spark.driver.memory"])
"""


def test_a_group_of_this_machine() -> None:
    with groups_of_this_machine(quota=50_000, memory=1500 * MIB) as groups:
        found = run_within(groups, SHOWN)
        assert found.stdout == "1 1 1500 left in this container 750m\n", found.stderr
