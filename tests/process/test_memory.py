"""Work on batches takes memory in small pages, and where the user has said where from, there."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from sframe_spark import SFrame, load_sframe
from sframe_spark.process import memory
from sframe_spark.process.memory import CHOICE_OF_USER, POOL_OF_BATCHES, arrow_bytes, memory_for_batches

ROWS = 200_000
# Pools that tests have made: what was taken from one goes back there, whenever that is.
MADE: list[pa.MemoryPool] = []


def name_now() -> str:
    return str(pa.default_memory_pool().backend_name)


@pytest.fixture(autouse=True)
def arrows_choice(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """What Arrow itself chooses, with which each test begins, and which is there again after it."""
    monkeypatch.delenv(CHOICE_OF_USER, raising=False)
    first = pa.supported_memory_backends()[0]
    if POOL_OF_BATCHES not in pa.supported_memory_backends() or first == POOL_OF_BATCHES:
        pytest.skip("this pyarrow has no other pool for batches")
    pa.set_memory_pool(getattr(pa, f"{first}_memory_pool")())
    yield first
    pa.set_memory_pool(getattr(pa, f"{first}_memory_pool")())


@pytest.fixture
def stored(tmp_path: Path) -> SFrame:
    SFrame({"i": range(ROWS), "f": [0.5] * ROWS}).save(str(tmp_path / "rows"))
    return load_sframe(str(tmp_path / "rows"))


def test_blocks_leave_what_was_there(arrows_choice: str) -> None:
    with memory_for_batches():
        assert name_now() == POOL_OF_BATCHES
        with memory_for_batches():
            assert name_now() == POOL_OF_BATCHES
        assert name_now() == POOL_OF_BATCHES
    assert name_now() == arrows_choice
    with pytest.raises(KeyboardInterrupt), memory_for_batches():
        raise KeyboardInterrupt
    assert name_now() == arrows_choice


def test_the_environment_of_the_user_is_heard(arrows_choice: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CHOICE_OF_USER, arrows_choice)
    with memory_for_batches():
        assert name_now() == arrows_choice


@pytest.mark.parametrize("chosen", ["another", "one around Arrow's"])
def test_a_pool_of_the_user_serves_all_work_and_stays(chosen: str, stored: SFrame) -> None:
    own = pa.system_memory_pool() if chosen == "another" else pa.proxy_memory_pool(pa.default_memory_pool())
    MADE.append(own)
    pa.set_memory_pool(own)
    others = getattr(pa, f"{POOL_OF_BATCHES}_memory_pool")().total_bytes_allocated()
    before = own.total_bytes_allocated()
    made = stored[stored["i"] % 2 == 0]
    made.materialize()
    assert made["i"].sum() == sum(range(0, ROWS, 2))
    assert own.total_bytes_allocated() - before > 8 * ROWS
    assert getattr(pa, f"{POOL_OF_BATCHES}_memory_pool")().total_bytes_allocated() == others
    assert pa.default_memory_pool().backend_name == own.backend_name
    pa.allocate_buffer(1 << 20)
    assert own.total_bytes_allocated() - before > 8 * ROWS


def test_a_pool_that_is_set_meanwhile_stays() -> None:
    with memory_for_batches():
        pa.set_memory_pool(pa.system_memory_pool())
    assert name_now() == "system"


def test_a_build_without_it_is_as_it_was(arrows_choice: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory.pa, "supported_memory_backends", lambda: [arrows_choice, "system"])
    with memory_for_batches():
        assert name_now() == arrows_choice


def test_many_threads_at_a_time_leave_what_was_there(arrows_choice: str) -> None:
    begin = threading.Barrier(8)

    def work() -> None:
        begin.wait()
        for _ in range(200):
            with memory_for_batches():
                pa.array([1.0, 2.0]).cast(pa.int64())

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert name_now() == arrows_choice


@pytest.mark.parametrize("few", [True, False])
def test_rows_are_made_there_and_counted(few: bool, stored: SFrame, arrows_choice: str) -> None:
    before, batches = arrow_bytes(), getattr(pa, f"{POOL_OF_BATCHES}_memory_pool")()
    held = batches.bytes_allocated()
    made = stored.head(ROWS // 4) if few else stored
    made = made[made["i"] >= 0]
    made["d"] = made["f"] * 2 + made["i"]
    made.materialize()
    assert batches.bytes_allocated() - held >= 8 * len(made)
    assert arrow_bytes() - before >= 3 * 8 * len(made)
    assert name_now() == arrows_choice
