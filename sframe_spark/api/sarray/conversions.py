"""Members of SArray that give all its values as something else: an Arrow or a numpy array, a stream for other libraries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from sframe_spark.api.columns_of_others import interface_of
from sframe_spark.api.interchange.arrow_streams import array_of_values, forms_of, stream_of_values
from sframe_spark.api.node_values import numbers_for_numpy, numpy_column
from sframe_spark.errors import NoAttributeError
from sframe_spark.planner.node import PlannerNode
from sframe_spark.types import STR_KIND


class ValuesElsewhere:
    """All values in a form of another library."""

    _node: PlannerNode

    def to_numpy(self) -> np.ndarray:
        """All values as a numpy array.

        Raises
        ------
        TooLargeError
            If there is no room for them: it says how much they need.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> SArray([20, 19]).to_numpy()
        array([20, 19])
        >>> SArray([20, None]).to_numpy()
        array([20, None], dtype=object)
        """
        return numpy_column(self._node)

    @property
    def __array_interface__(self) -> dict[str, Any]:
        """All numbers for ``numpy.asarray``; where one is missing, and of other values, numpy asks for one after the other, as in the reference."""
        if not self._node.schema[0].is_numeric:
            raise NoAttributeError(f"values of type {self._node.schema[0].kind} are no numbers: use to_numpy()")
        values = numbers_for_numpy(self._node)
        if values is None:
            raise NoAttributeError("a number is missing, or there is none: use to_numpy()")
        return interface_of(values)

    @property
    def __array__(self) -> Callable[..., np.ndarray]:
        """All numbers or texts for scikit-learn, which takes no target without; where one is missing, and of other values, there is none.

        What a comparison gave is an array of truth values, so that it chooses rows of other arrays.

        Examples
        --------
        >>> import numpy
        >>> from sframe_spark import SArray
        >>> numpy.array([10, 20, 30])[SArray([3, 5, 4]) > 3]
        array([20, 30])
        >>> SArray(["a", "b"]).__array__()
        array(['a', 'b'], dtype='<U1')
        >>> hasattr(SArray(["a", None]), "__array__")
        False
        """
        column_type = self._node.schema[0]
        read = numbers_for_numpy if column_type.is_numeric else numpy_column if column_type.kind == STR_KIND else None
        values = None if read is None else read(self._node)
        # Of objects pandas would make a column of objects: it takes the values one by one instead.
        if values is None or values.dtype.kind == "O":
            raise NoAttributeError(f"values of type {column_type.kind}, or missing ones, are taken one by one: use to_numpy()")
        return lambda dtype=None, copy=None: np.array(values, dtype=dtype) if copy else np.asarray(values, dtype=dtype)

    def to_arrow(self) -> pa.Array:
        """All values as an Arrow array.

        Raises
        ------
        TooLargeError
            If there is no room for them: it says how much they need.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> SArray(["mon", None]).to_arrow().to_pylist()
        ['mon', None]
        """
        return array_of_values(self._node)

    def __arrow_c_schema__(self) -> Any:
        """The Arrow type of the values, for other libraries; of date-times with an offset and of mixed lists and dicts the values tell it."""
        return forms_of(self._node)[0].field("").type.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """All values in order for another library: ``polars.Series(sa)``, ``pyarrow.chunked_array(sa)``.

        Raises
        ------
        TooLargeError
            If there is no room for them: it says how much they need.
        """
        return stream_of_values(self._node).__arrow_c_stream__(requested_schema)
