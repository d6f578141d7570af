"""Directories whose names hold what Spark takes for patterns or escapes are that directory and no other, beside siblings that would match."""

from __future__ import annotations

from pathlib import Path

import pytest

from sframe_spark import SFrame, load_sframe
from sframe_spark.cli.verify import run_verify
from sframe_spark.config import config

# A name, and a sibling that it would also mean, or that would be meant instead.
NAMES = {
    "run*1": "run-backup-1",
    "{x}": "x",
    "[ab]": "a",
    "a\\b": "ab",
    "a?b": "axb",
    "a%20b": "a b",
    "a b": "a%20b",
    "a:b": "a",
    "a#b": "a",
}
ROWS = [5, 3, 4, 1, 2]


def with_decoy(place: Path, name: str) -> Path:
    """A frame saved under a name, beside another one."""
    SFrame({"a": [100, 200]}).save(str(place / NAMES[name]))
    SFrame({"a": ROWS}).save(str(place / name))
    return place / name


@pytest.mark.parametrize("name", NAMES)
def test_names_are_taken_as_they_are(tmp_path: Path, name: str) -> None:
    place = with_decoy(tmp_path, name)
    assert list(load_sframe(str(place))["a"]) == list(SFrame(place)["a"]) == ROWS
    lines: list[str] = []
    assert run_verify([str(place)], lines.append) == 0 and lines[0].startswith(f"{place}: ok, 5 rows")
    load_sframe(str(place))[1:3].save(str(place))
    assert list(load_sframe(str(place))["a"]) == ROWS[1:3]
    assert list(load_sframe(str(tmp_path / NAMES[name]))["a"]) == [100, 200]


@pytest.mark.spark
@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", NAMES)
def test_names_are_taken_as_they_are_on_spark(tmp_path: Path, name: str) -> None:
    place = with_decoy(tmp_path, name)
    (tmp_path / "temporary").mkdir()
    temporary = tmp_path / "temporary" / name
    with config.using(small_rows=0, temporary_directory=str(temporary)):
        frame = load_sframe(str(place))
        assert [row["a"] for row in frame.to_spark().collect()] == ROWS
        ordered = frame.sort("a")
        assert list(ordered["a"]) == sorted(ROWS)
        frame.sort("a", ascending=False).save(str(tmp_path / "derived" / name))
        assert list(load_sframe(str(tmp_path / "derived" / name), verify=True)["a"]) == sorted(ROWS, reverse=True)
        frame.sort("a").save(str(place))
        assert [row["a"] for row in load_sframe(str(place)).to_spark().collect()] == sorted(ROWS)
    assert list(load_sframe(str(tmp_path / NAMES[name]))["a"]) == [100, 200]
