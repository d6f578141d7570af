"""What is stored already is not written again: rows one after the other, their numbers. No test here starts Spark, which writes many rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from sframe_spark import SFrame, load_sframe
from sframe_spark.config import config
from sframe_spark.engine import costs
from sframe_spark.storage.filesystem.temporary_datasets import temporary_store

ROWS = 100


@pytest.fixture
def saved(tmp_path: Path) -> SFrame:
    """A frame in files, of more rows than the driver computes by itself."""
    SFrame({"n": list(range(ROWS)), "text": [str(row) for row in range(ROWS)]}).save(str(tmp_path / "saved"))
    return load_sframe(str(tmp_path / "saved"))


def test_frames_one_after_the_other_and_numbered_rows_are_materialised_as_they_are(saved: SFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(temporary_store(), "new_dataset", lambda: pytest.fail("rows are written"))
    with config.using(small_rows=10):
        both = saved.append(saved)
        numbered = both.add_row_number("row")
        columns = both["n"].append(saved["n"])
        for stored, rows in ((both, 2 * ROWS), (numbered, 2 * ROWS), (columns, 3 * ROWS)):
            stored.materialize()
            assert stored.is_materialized() and len(stored) == rows
        assert both.to_arrow()["n"].to_pylist() == [*range(ROWS)] * 2
        assert list(numbered["row"]) == list(range(2 * ROWS)) and [row["n"] for row in numbered] == [*range(ROWS)] * 2
        assert numbered[150] == {"row": 150, "n": 50, "text": "50"} and list(both[95:105]["n"]) == [*range(95, 100), *range(5)]
        assert list(columns) == [*range(ROWS)] * 3
        assert both["n"].to_numpy().tolist() == [*range(ROWS)] * 2


def test_others_are_written(saved: SFrame) -> None:
    with config.using(small_rows=10):
        many = saved
        for _ in range(costs.MAX_DATASETS_UNITED):
            many = many.append(saved)
        assert not many.is_materialized() and not saved.append(saved[saved["n"] > 3]).is_materialized()
    assert not saved.append(saved).is_materialized()
    few = saved.append(saved)
    few.materialize()
    assert few._node.operator.is_source
