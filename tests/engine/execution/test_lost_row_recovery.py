"""What is kept of lost rows' plans, and what counts as the same rows; how rows come back stands in ``test_recipes.py``, with Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sframe_spark import SFrame, load_sframe
from sframe_spark.engine.execution.lost_row_recovery import NOT_DETERMINISTIC, _are_same, lineage_of
from sframe_spark.operators.sources.base_and_segment_source import SegmentSource


def test_a_plan_that_may_give_other_rows_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    node = SFrame({"n": [3, 1, 2]}).sort("n")._node
    assert lineage_of(node).reason == ""
    monkeypatch.setattr(type(node.operator), "deterministic", False)
    assert lineage_of(node).reason == NOT_DETERMINISTIC


@pytest.mark.parametrize(
    ("rows", "others", "are_same"),
    [
        ([1.5, 2.5], [1.5, 2.5], True),
        # Sums of floats may come out otherwise; their number may not.
        ([1.5, 2.5], [1.5, 2.75], True),
        ([1.5, 2.5], [1.5], False),
        ([1, 2], [1.0, 2.0], False),
        ([1, 2, 5], [1, 3, 5], True),
        ([1, 2], [1, 3], False),
    ],
)
def test_restored_rows_are_the_same_if_number_types_and_bounds_are(rows: list[Any], others: list[Any], are_same: bool, tmp_path: Path) -> None:
    sources = []
    for name, values in (("old", rows), ("restored", others)):
        SFrame({"a": values}).save(str(tmp_path / name))
        source = load_sframe(str(tmp_path / name))._node.operator
        assert isinstance(source, SegmentSource)
        sources.append(source)
    assert _are_same(*sources) == are_same
