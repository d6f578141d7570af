"""How many bytes runs of rows take is told without cutting them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from sframe_spark.compute.bytes_of_array_values import bytes_of_runs

TEXTS = st.text(max_size=3)
VALUES: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "int": (pa.int64(), st.integers(-9, 9)),
    "small int": (pa.int16(), st.integers(-9, 9)),
    "bool": (pa.bool_(), st.booleans()),
    "float": (pa.float64(), st.floats()),
    "moment": (pa.timestamp("us"), st.datetimes()),
    "text": (pa.string(), TEXTS),
    "nothing": (pa.null(), st.none()),
    "list": (pa.list_(pa.float64()), st.lists(st.none() | st.floats(), max_size=3)),
    "list of texts": (pa.list_(pa.string()), st.lists(st.none() | TEXTS, max_size=3)),
    "list of lists": (pa.list_(pa.list_(pa.string())), st.lists(st.none() | st.lists(TEXTS, max_size=2), max_size=2)),
    "map": (pa.map_(pa.string(), pa.int64()), st.dictionaries(TEXTS, st.none() | st.integers(0, 9), max_size=2).map(lambda cell: list(cell.items()))),
    "struct": (
        pa.struct([("instant", pa.int64()), ("offset", pa.int32())]),
        st.fixed_dictionaries({"instant": st.integers(0, 9), "offset": st.none()}),
    ),
    "struct of texts": (pa.struct([("t", pa.string())]), st.fixed_dictionaries({"t": st.none() | TEXTS})),
}
# Buffers of one array of each type, one inside of the other: a few bits and an offset more in each.
MOST_MORE = 24


@pytest.mark.parametrize("name", VALUES)
@given(data=st.data())
def test_runs_take_what_they_take_as_arrays_of_their_own(name: str, data: st.DataObject) -> None:
    kind, values = VALUES[name]
    column = pa.array(data.draw(st.lists(st.none() | values, max_size=20)), kind)
    start = data.draw(st.integers(0, len(column)))
    column = column.slice(start, data.draw(st.integers(0, len(column) - start)))
    edges = np.array([0, *sorted(data.draw(st.lists(st.integers(0, len(column)), max_size=4))), len(column)])
    found = bytes_of_runs(column, edges)
    for size, low, high in zip(found.tolist(), edges[:-1], edges[1:], strict=True):
        alone = pa.concat_arrays([column.slice(low, high - low), column.slice(0, 0)]).nbytes if high > low else 0
        assert alone <= size + 8 and size <= alone + MOST_MORE
    assert bytes_of_runs(column, np.array([0])).tolist() == []
