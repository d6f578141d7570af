"""What this process may use decides how many threads and processes it has, how large the heap of a JVM is, and what fits in memory."""

from __future__ import annotations

import os
import subprocess
import sys
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
from tests.process.groups import UNIFIED, tree

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
    (group / "memory.stat").write_text(f"anon 1\ninactive_file {limit // 4}\n")
    forget()
    assert local_settings()["spark.driver.memory"] == heap
    assert memory.available_memory() == AvailableMemory(limit - limit // 2 + limit // 4, "left in this container")
    with config.using(work_memory=None, kept_memory=None):
        assert (memory.work_memory(), memory.kept_memory()) == (limit // 4, limit // 8)


def test_a_machine_that_tells_nothing_is_a_small_one(group: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(memory, "MEMORY_INFORMATION", tmp_path / "none")
    monkeypatch.setattr(memory, "GROUP_FILES", ())
    monkeypatch.setattr(memory, "_pages", lambda name: None)
    forget()
    assert (memory.of_machine(), memory.of_group(), memory.all_memory()) == (None, None, memory.SMALL_MACHINE)
    (tmp_path / "none").write_text("MemTotal: much\nMemAvailable:\n")
    forget()
    assert (memory.of_machine(), memory.all_memory()) == (None, memory.SMALL_MACHINE)


def test_threads_of_arrow(group: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = pa.cpu_count()
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    (group / "cpu.max").write_text("200000 100000")
    forget()
    try:
        for set_by_user, found in ((64, 2), (7, 7), (1, 1)):
            pa.set_cpu_count(set_by_user)
            control_groups.fit_arrow()
            assert pa.cpu_count() == found
    finally:
        pa.set_cpu_count(before)


# Where groups can be made: as root, with version 1 mounted as on this machine, or version 2.
GROUPS = [Path(f"/sys/fs/cgroup/{name}") for name in ("cpu", "memory")]
SHOWN = """
import os, sys
for name in sys.argv[1:]:
    with open(f"{name}/cgroup.procs", "w") as stream:
        stream.write(str(os.getpid()))
import pyarrow as pa
from sframe_spark import SFrame
from sframe_spark.process import memory
from sframe_spark.session.spark_start_and_settings import local_settings
from sframe_spark.process.control_groups import available_cores
print(available_cores(), pa.cpu_count(), memory.all_memory() >> 20, memory.available_memory().source, local_settings()["spark.driver.memory"])
"""


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0 or not all(map(os.path.isdir, GROUPS)), reason="makes control groups of version 1")
def test_a_group_of_this_machine() -> None:
    made = [place / "sframe_spark_test" / name for place in GROUPS for name in ("", "within")]
    try:
        for place in made:
            place.mkdir()
        (made[0] / "cpu.cfs_quota_us").write_text("50000")
        (made[2] / "memory.limit_in_bytes").write_text(str(1500 * MIB))
    except OSError as error:
        for place in reversed(made):
            if place.exists():
                place.rmdir()
        pytest.skip(f"groups cannot be made here: {error}")
    try:
        command = [sys.executable, "-c", SHOWN, str(made[1]), str(made[3])]
        environment = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
        found = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False, env=environment)
        assert found.stdout == "1 1 1500 left in this container 750m\n", found.stderr
    finally:
        for place in reversed(made):
            place.rmdir()
