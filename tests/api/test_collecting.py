"""Doors that give all rows in one piece say what that needs instead of trying."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sframe_spark as tc
from sframe_spark.engine import costs
from sframe_spark.engine.execution import collect_limits
from sframe_spark.errors import ExecutionError, TooLargeError
from sframe_spark.process import memory
from sframe_spark.process.memory import AvailableMemory
from tests.interpreters import run_program

ROWS = 10**10


def frame() -> tc.SFrame:
    """A frame that no machine holds."""
    return tc.SFrame({"a": tc.SArray.from_sequence(ROWS), "b": tc.SArray.from_const("text", ROWS)})


DOORS: dict[str, Callable[[], Any]] = {
    "SArray.to_numpy": lambda: tc.SArray.from_sequence(ROWS).to_numpy(),
    "SArray.to_arrow": lambda: tc.SArray.from_sequence(ROWS).to_arrow(),
    "computed SArray.to_numpy": lambda: (tc.SArray.from_sequence(ROWS) + 1).to_numpy(),
    "user's function": lambda: tc.SArray.from_sequence(ROWS).apply(lambda value: value + 1, dtype=int).to_arrow(),
    "SFrame.to_numpy": lambda: frame().to_numpy(),
    "SFrame.to_arrow": lambda: frame().to_arrow(),
    "SFrame.to_pandas": lambda: frame().to_pandas(),
    "SFrame.to_dataframe": lambda: frame().to_dataframe(),
    "slice": lambda: frame()[1:].to_arrow(),
    "append": lambda: frame().append(frame()).to_pandas(),
}


@pytest.mark.parametrize("door", DOORS)
def test_rows_that_do_not_fit_are_refused_at_once(door: str) -> None:
    with pytest.raises(TooLargeError, match=r"\d{10,} rows of . column.*about .* [GT]iB .*(free|left).*to_spark") as caught:
        DOORS[door]()
    assert isinstance(caught.value, MemoryError)
    assert isinstance(caught.value, ExecutionError)


@pytest.mark.parametrize(
    ("values", "other", "dtype"),
    [
        (["x" * 30_000, *["y"] * 999], None, "<U30000"),
        (["x" * 30_000, *["y"] * 999], [1] * 1_000, "<U30000"),
        ([["x" * 30_000, 1.5], *[["y", 2.5]] * 499], None, "<U30000"),
        (["x" * 30_000, *["y"] * 998, None], None, "object"),
        (["x" * 30_000, *["y"] * 998, None], [1] * 1_000, "object"),
    ],
    ids=["texts", "texts and numbers", "lists", "missing", "missing beside numbers"],
)
def test_numpy_gives_every_cell_the_room_of_the_longest_text(
    values: list[Any], other: list[int] | None, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = tc.SArray(values) if other is None else tc.SFrame({"a": values, "b": other})
    assert str(made.to_numpy().dtype) == dtype
    monkeypatch.setattr(collect_limits, "available_memory", lambda: AvailableMemory(100_000_000, "free here"))
    if dtype == "object":
        assert len(made.to_numpy()) == 1_000
        return
    with pytest.raises(TooLargeError, match=r"about 1..(\.\d)? MiB.*longest text \(30000 characters\).*free here|about 2..(\.\d)? MiB.*30000"):
        made.to_numpy()
    if other is None and isinstance(values[0], str):
        with pytest.raises(TooLargeError, match="30000 characters"):
            tc.SFrame({"a": values}).to_numpy()


@pytest.mark.usefixtures("called_functions")
def test_rows_whose_size_shows_when_they_are_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(costs, "MAX_BYTES_COLLECTED_UNCHECKED", 0)
    monkeypatch.setattr(collect_limits, "available_memory", lambda: AvailableMemory(10_000_000, "free here"))
    column = tc.SArray(list(range(5_000)))
    assert len(column.apply(lambda value: "x" * 1_000, dtype=str).to_arrow()) == 5_000
    with pytest.raises(TooLargeError, match=r"5000 rows.*free here"):
        column.apply(lambda value: "x" * 3_000, dtype=str).to_arrow()
    # Python objects take more than the values.
    wide = tc.SFrame({str(place): column for place in range(60)})
    assert wide.to_arrow().num_rows == 5_000
    with pytest.raises(TooLargeError, match="as Python objects"):
        wide.to_pandas()


def test_what_is_not_known_is_not_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(costs, "MAX_BYTES_COLLECTED_UNCHECKED", 0)
    monkeypatch.setattr(collect_limits, "available_memory", lambda: None)
    assert len(tc.SArray.from_sequence(10_000).to_numpy()) == 10_000


@pytest.mark.parametrize("values", [[1, 2, 3], [1.5, float("nan")], [1, None], [1.5, None], [], ["a", None], [[1], [2]]])
def test_numpy_arrays_are_those_of_the_values(values: list[Any]) -> None:
    found, expected = tc.SArray(values).to_numpy(), np.asarray(list(tc.SArray(values)))
    assert found.dtype == expected.dtype
    assert repr(found.tolist()) == repr(expected.tolist())


def test_the_smallest_limit_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in {
        "info": "MemTotal: 9 kB\nMemAvailable: 8 kB\n",
        "max": "5000\n",
        "current": "4000\n",
        "stat": "file 9\ninactive_file 500\n",
    }.items():
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(memory, "MEMORY_INFORMATION", tmp_path / "info")
    monkeypatch.setattr(memory, "GROUP_FILES", [tuple(str(tmp_path / name) for name in ("max", "current", "stat"))])
    assert memory.of_machine() == AvailableMemory(8192, "free on this machine")
    assert memory.available_memory() == AvailableMemory(1500, "left in this container")
    (tmp_path / "max").write_text("max\n")
    assert memory.available_memory() == memory.of_machine()


def test_a_limit_of_the_process_is_seen() -> None:
    program = """
import resource
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
import sframe_spark as tc
try:
    tc.SArray.from_sequence(10**9).to_numpy()
except tc.errors.TooLargeError as error:
    print(error)
"""
    done = run_program(program)
    assert "left to this process by its limit" in done.stdout
