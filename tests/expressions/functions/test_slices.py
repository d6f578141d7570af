"""A function of a part of a column, which shares its memory with the whole, gives what it gives of the part alone."""

from __future__ import annotations

import pytest

from sframe_spark.expressions.functions.scalar_function import evaluate
from sframe_spark.values.arrow_to_python import decode
from sframe_spark.values.python_to_arrow import encode_plain
from tests.examples import square
from tests.expressions.functions.row_by_row import kernels
from tests.facts import same

KERNELS = list(kernels())
ROWS = 30


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("name", "rows"), square(3, sorted({name for name, *_ in KERNELS}), [(7, 28), (1, 2), (5, 5)]))
def test_parts_are_as_columns_of_their_own(name: str, rows: tuple[int, int]) -> None:
    (start, stop), wrong = rows, []
    for other, types, cells, parameters in KERNELS:
        if other != name:
            continue
        values = [[grid[row % len(grid)] for row in range(ROWS)] for grid in cells]
        parts = [encode_plain(column, kind).slice(start, stop - start) for column, kind in zip(values, types, strict=True)]
        alone = [encode_plain(column[start:stop], kind) for column, kind in zip(values, types, strict=True)]
        (found, kind), (expected, _) = (evaluate(name, columns, types, parameters, stop - start) for columns in (parts, alone))
        found.validate(full=True)
        if not all(map(same, decode(found, kind), decode(expected, kind))):
            wrong.append(([str(column_type) for column_type in types], parameters))
    assert wrong == []
