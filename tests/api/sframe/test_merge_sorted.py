"""``SFrame.merge_sorted`` as users see it."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pytest

from sframe_spark import SFrame, load_sframe
from tests.execution import executed

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
    _, log = executed(frame.asof_join(merged, on="t"))
    assert all("sort" not in line for line in log)


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
    [
        ("nope", KeyError, "nope"),
        (["t", 5], ValueError, "all names"),
        (["t", "t"], RuntimeError, "named twice"),
        (5, TypeError, "list of names"),
        ("list", TypeError, "has no order"),
    ],
)
def test_what_cannot_be_asked_is_refused_at_once(on: Any, error: type[Exception], words: str) -> None:
    frame = SFrame({"t": [1], "list": [["a"]]})
    with pytest.raises(error, match=words):
        frame.merge_sorted(frame, on=on)


def test_several_columns_in_any_direction_and_texts() -> None:
    first = SFrame({"k": ["b", "b", "a", None], "t": [1, 3, 2, 9], "side": ["x"] * 4})
    second = SFrame({"k": ["c", "b", "b", "a"], "t": [5, 2, 3, 2], "side": ["y"] * 4})
    merged = first.merge_sorted(second, on=[("k", False), ("t", True)])
    assert [(row["k"], row["t"], row["side"]) for row in merged] == [
        *[("c", 5, "y"), ("b", 1, "x"), ("b", 2, "y"), ("b", 3, "x"), ("b", 3, "y"), ("a", 2, "x"), ("a", 2, "y"), (None, 9, "x")]
    ]
    assert merged.is_sorted([("k", False), ("t", True)])
    falling = SFrame({"t": [float("nan"), 4.0, None]})
    assert repr(list(falling.merge_sorted(falling, on=["t"], ascending=False)["t"])) == "[nan, nan, 4.0, 4.0, None, None]"


def test_rows_out_of_a_composite_order_are_named() -> None:
    first, second = SFrame({"a": [1, 1, 2], "b": [1, 0, 5]}), SFrame({"a": [1], "b": [1]})
    with pytest.raises(ValueError, match=r"row 1 of the second frame.*sort\(\['a', 'b'\]\)"):
        second.merge_sorted(first, on=["a", "b"]).materialize()
    with pytest.raises(ValueError, match=r"row 2 of the first frame.*sort\(\[\('a', False\)\]\)"):
        first.merge_sorted(second, on="a", ascending=False)


def test_other_columns_and_other_things_are_refused() -> None:
    frame = SFrame({"t": [1]})
    with pytest.raises(RuntimeError, match="same columns"):
        frame.merge_sorted(SFrame({"t": [1], "v": [2]}), on="t")
    with pytest.raises(TypeError, match="SFrame"):
        frame.merge_sorted([1], on="t")  # type: ignore[arg-type]


@pytest.mark.spark
@pytest.mark.parametrize("by", [[("k", True), ("t", False)], [("t", False), ("k", False)], [("k", False)]], ids=str)
def test_several_columns_on_spark(everything_on_spark: None, tmp_path: Path, by: Any) -> None:
    rows = [("abc"[i * 5 % 3] if i % 7 else None, None if i % 5 == 0 else i * 11 % 6 - 2.5, i) for i in range(40)]
    whole = SFrame({"k": [row[0] for row in rows], "t": [row[1] for row in rows], "v": [row[2] for row in rows]})[["k", "t", "v"]]
    parts = whole[whole["v"] % 3 == 1].sort(by), whole[whole["v"] % 3 != 1].sort(by)
    for number, part in enumerate(parts):
        part.save(str(tmp_path / str(number)))
    merged = load_sframe(str(tmp_path / "0")).merge_sorted(load_sframe(str(tmp_path / "1")), on=by)
    expected = executed(parts[0].append(parts[1]).sort(by), naive=True)[0]
    assert executed(merged, naive=True)[0] == expected
    for segments in (1, 7):
        found, log = executed(merged, segments=segments)
        assert (found, [line.split(":")[0] for line in log]) == (expected, ["segments"])


@pytest.mark.spark
def test_the_spark_lowering_and_any_number_of_segments_agree(everything_on_spark: None, tmp_path: Path) -> None:
    first = SFrame({"t": [None, -1.0, -0.0, 3.5, 3.5, float("nan")], "v": list("abcdef")})
    second = SFrame({"t": [None, None, 0.0, 3.5, float("inf"), float("nan"), float("nan")], "v": list("ghijklm")})
    for name, frame in (("first", first), ("second", second)):
        frame.save(str(tmp_path / name))
    merged = load_sframe(str(tmp_path / "first")).merge_sorted(load_sframe(str(tmp_path / "second")), on="t")
    expected = executed(merged, naive=True)[0]
    assert expected[-1] == list("aghbcidejkflm")
    for segments in (1, 2, 7):
        found, log = executed(merged, segments=segments)
        assert repr(found) == repr(expected)
        assert [line.split(":")[0] for line in log] == ["segments"]
