"""``SFrame.merge_sorted`` as users see it."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pytest

from sframe_spark import SFrame, load_sframe
from sframe_spark.engine.executor import Executor
from sframe_spark.engine.materialize import optimize
from sframe_spark.engine.options import MaterializeOptions

DAY = datetime.datetime(2024, 3, 1)


def test_columns_are_matched_by_name() -> None:
    first = SFrame({"t": [1, 4], "v": ["a", "b"]})[["t", "v"]]
    second = SFrame({"t": [0, 4], "v": ["c", "d"]})[["v", "t"]]
    merged = first.merge_sorted(second, on="t")
    assert merged.column_names() == ["t", "v"]
    assert list(merged["t"]) == [0, 1, 4, 4]
    assert list(merged["v"]) == ["c", "a", "b", "d"]


def test_a_frame_with_itself_and_with_nothing() -> None:
    frame = SFrame({"t": [None, DAY, DAY]})
    assert list(frame.merge_sorted(frame, on="t")["t"]) == [None, None, DAY, DAY, DAY, DAY]
    assert list(frame.merge_sorted(frame.head(0), on="t")["t"]) == [None, DAY, DAY]
    assert list(frame.head(0).merge_sorted(frame, on="t")["t"]) == [None, DAY, DAY]


def test_merged_rows_are_known_to_be_in_order() -> None:
    frame = SFrame({"t": [1, 3]})
    merged = frame.merge_sorted(frame, on="t")
    executor = Executor(MaterializeOptions())
    executor.execute(optimize(frame.asof_join(merged, on="t")._node))
    assert all("sort" not in line for line in executor.log)


def test_what_is_known_to_be_out_of_order_is_refused_at_once() -> None:
    first, second = SFrame({"t": [1, 3, 2]}), SFrame({"t": [1, 2]})
    with pytest.raises(ValueError, match=r"row 2 of the first frame is out of order.*sort\('t'\)"):
        first.merge_sorted(second, on="t")
    with pytest.raises(ValueError, match="row 2 of the second frame"):
        second.merge_sorted(first, on="t")


def test_what_is_computed_is_checked_on_the_way() -> None:
    first, second = SFrame({"t": [1, 3, 2]}), SFrame({"t": [1, 2]})
    first["t"] = first["t"] + 1
    merged = first.merge_sorted(second, on="t")
    with pytest.raises(ValueError, match="row 2 of the first frame"):
        merged.materialize()


@pytest.mark.parametrize(
    ("on", "error", "words"),
    [("nope", KeyError, "nope"), (["t"], TypeError, "name of a column"), ("list", TypeError, "has no order")],
)
def test_what_cannot_be_asked_is_refused_at_once(on: Any, error: type[Exception], words: str) -> None:
    frame = SFrame({"t": [1], "list": [["a"]]})
    with pytest.raises(error, match=words):
        frame.merge_sorted(frame, on=on)


def test_other_columns_and_other_things_are_refused() -> None:
    frame = SFrame({"t": [1]})
    with pytest.raises(RuntimeError, match="same columns"):
        frame.merge_sorted(SFrame({"t": [1], "v": [2]}), on="t")
    with pytest.raises(TypeError, match="SFrame"):
        frame.merge_sorted([1], on="t")  # type: ignore[arg-type]


def run(frame: SFrame, **options: Any) -> tuple[list[Any], list[str]]:
    """Columns of a frame after one execution, and the executor's log."""
    executor = Executor(MaterializeOptions(**options))
    source = executor.execute(frame._node if options.get("naive") else optimize(frame._node))
    chunk = source.operator.read(0, source.length.rows or 0)  # type: ignore[attr-defined]
    return [column.to_pylist() for column in chunk.columns], executor.log


@pytest.mark.spark
def test_the_spark_lowering_and_any_number_of_segments_agree(everything_on_spark: None, tmp_path: Path) -> None:
    first = SFrame({"t": [None, -1.0, -0.0, 3.5, 3.5, float("nan")], "v": list("abcdef")})
    second = SFrame({"t": [None, None, 0.0, 3.5, float("inf"), float("nan"), float("nan")], "v": list("ghijklm")})
    for name, frame in (("first", first), ("second", second)):
        frame.save(str(tmp_path / name))
    merged = load_sframe(str(tmp_path / "first")).merge_sorted(load_sframe(str(tmp_path / "second")), on="t")
    expected = run(merged, naive=True)[0]
    assert expected[-1] == list("aghbcidejkflm")
    for segments in (1, 2, 7):
        found, log = run(merged, segments=segments)
        assert repr(found) == repr(expected)
        assert [line.split(":")[0] for line in log] == ["segments"]
