"""Kinds of columns whose values are objects of one class, stored as Arrow structs: a table of what the conversions of values ask of one.

A new kind takes a line here and in ``types.KINDS``, and a module like ``ndarrays.py`` and ``image_columns.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.images import Image
from sframe_spark.types import IMAGE, NDARRAY, ColumnType
from sframe_spark.values import image_columns, ndarrays


@attrs.frozen
class StructKind:
    """How values of one class are stored and read.

    Parameters
    ----------
    column_type
        The type of a column of them.
    plain
        Returns a user's value as one that a cell holds, which nobody else changes.
    to_arrow
        Returns the column of plain values and None.
    to_python
        Returns the values of a column.
    is_storage
        Whether an Arrow type of another program is that of such a column, whatever its layout.
    sound
        Checks a column that another program made, of the physical type.
    of_cell
        Returns the value of a struct as Python has it.
    """

    column_type: ColumnType
    plain: Callable[[Any], Any]
    to_arrow: Callable[[Sequence[Any]], pa.Array | pa.ChunkedArray]
    to_python: Callable[[pa.StructArray], list[Any]]
    is_storage: Callable[[pa.DataType], bool]
    sound: Callable[[pa.StructArray], pa.StructArray]
    of_cell: Callable[[dict[str, Any]], Any]

    @property
    def python_class(self) -> type:
        """The class of the values."""
        return self.column_type.python_class


STRUCT_KINDS: dict[str, StructKind] = {
    kind.column_type.kind: kind
    for kind in (
        StructKind(
            NDARRAY,
            lambda value: ndarrays.plain_ndarray(np.asanyarray(value)),
            ndarrays.ndarray_column,
            ndarrays.ndarrays,
            ndarrays.is_ndarray_storage,
            ndarrays.sound_ndarrays,
            lambda cell: ndarrays.ndarray_of_parts(np.array(cell["values"], dtype=np.float64), cell["shape"]),
        ),
        StructKind(
            IMAGE,
            Image,
            image_columns.image_column,
            image_columns.images,
            image_columns.is_image_storage,
            image_columns.sound_images,
            image_columns.image_of_cell,
        ),
    )
}


def struct_kind_of(data_type: pa.DataType) -> StructKind | None:
    """Return the kind whose columns are stored as an Arrow type; None if there is none.

    Examples
    --------
    >>> struct_kind_of(IMAGE.physical).column_type.kind, struct_kind_of(pa.int64())
    ('image', None)
    """
    return next((kind for kind in STRUCT_KINDS.values() if kind.is_storage(data_type)), None)
