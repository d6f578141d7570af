"""Text that is equal exactly when values are: for comparing, grouping and hashing nested values."""

from __future__ import annotations

import pyarrow as pa

from sframe_spark.types import ARRAY_KIND, DICT_KIND, LIST_KIND, ColumnType
from sframe_spark.values.decode import decode
from sframe_spark.values.nested.text_writer import COMPARED, written
from sframe_spark.values.tagged_json import canonical_value


def canonical_text(values: pa.Array, column_type: ColumnType) -> pa.Array:
    """Write every value so that equal values have equal text, whatever their encoding, dict order or int against float.

    Examples
    --------
    >>> from sframe_spark.types import ENCODED_LIST, INT, list_of
    >>> native = canonical_text(pa.array([[1, None]]), list_of(INT))
    >>> native == canonical_text(pa.array(["[1.0,null]"]), ENCODED_LIST)
    True
    """
    found = written(values, column_type, COMPARED) if column_type.kind in (LIST_KIND, ARRAY_KIND, DICT_KIND) else None
    if found is not None:
        return found
    cells = decode(values, column_type)
    return pa.array([None if cell is None else canonical_value(cell) for cell in cells], pa.string())
