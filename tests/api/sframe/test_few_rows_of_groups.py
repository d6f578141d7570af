"""Every aggregate of every type, of groups of a row or none: neighbours and others, in batches of one row and of all."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from sframe_spark import SArray, SFrame, aggregate, config
from sframe_spark.errors import UnorderedError, UnsupportedOperationError
from tests.facts import same

DAY = datetime.datetime(2020, 1, 1)
CELLS: dict[type, list[Any]] = {
    int: [1, None, 2**53 + 1],
    float: [0.5, float("nan"), None],
    str: ["x", "", None],
    datetime.datetime: [DAY, None, DAY.replace(hour=2)],
    list: [[1, "a"], [], None],
    dict: [{"a": 1}, None, {}],
}
ARGUMENTS = {
    "COUNT": (),
    "ARGMAX": ("cell", "key"),
    "ARGMIN": ("cell", "key"),
    **dict.fromkeys(("CORRELATION", "COVARIANCE", "DOT_PRODUCT", "WEIGHTED_MEAN"), ("cell", "cell")),
    **dict.fromkeys(("WEIGHTED_CORRELATION", "WEIGHTED_COVARIANCE"), ("cell", "cell", "key")),
    "LINEAR_REGRESSION": ("cell", ["key"]),
    "MOMENT": ("cell", 3),
    "QUANTILE": ("cell", 0.5),
}


def groups(frame: SFrame, key: str, name: str) -> list[Any] | None:
    """The groups of a frame; None where the aggregate, or the key's order, is of other types."""
    try:
        rows = frame.sort(key) if key == "cell" else frame
        grouped = rows.groupby(key, {"found": getattr(aggregate, name)(*ARGUMENTS.get(name, ("cell",)))})
    except (UnorderedError, UnsupportedOperationError):
        return None
    return list(grouped)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("rows", [0, 1, 3])
@pytest.mark.parametrize("column_type", CELLS)
def test_few_rows_are_grouped_alike_in_whatever_batches(column_type: type, rows: int) -> None:
    cells, compared = CELLS[column_type][:rows], 0
    # A row or none has one order.
    for keys in ([1, 2, 3], [3, 1, 2], [7, 7, 7]) if rows > 1 else ([7],):
        frame = SFrame({"key": SArray(keys[:rows], int), "cell": SArray(cells, column_type)})
        for key, different in (("key", len(set(keys[:rows]))), ("cell", rows)):
            for name in aggregate.__all__:
                found = groups(frame, key, name)
                with config.using(batch_rows=1):
                    assert same(groups(frame, key, name), found), (keys, key, name)
                assert found is None or len(found) == different, (keys, key, name)
                compared += found is not None
    assert compared >= (3 if rows > 1 else 1) * 5
