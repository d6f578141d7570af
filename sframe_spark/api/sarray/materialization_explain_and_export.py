"""Members of SArray that compute its values, identify them by a number, show the plan for them, and convert them to numpy and Arrow."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from sframe_spark.api.interchange.dataframe_libraries import array_of_values, forms_of, stream_of_values
from sframe_spark.api.node_value_conversion import array_for_numpy, flat_column_for_numpy, numpy_column
from sframe_spark.errors import NoAttributeError, UnsupportedOperationError
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.operators.sources.base_and_segment_source import SegmentSource
from sframe_spark.operators.sources.in_memory import MemorySource
from sframe_spark.planner.chunk import to_stream
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.operator import Operator
from sframe_spark.types import DATETIME, STR_KIND

with lazy_imports(globals()):
    from sframe_spark.api.interchange.narwhals_plugin import for_narwhals
    from sframe_spark.engine.execution.materialize_count_and_read_rows import is_materialized, materialize, stored_chunks
    from sframe_spark.engine.materialize_options import MaterializeOptions
    from sframe_spark.engine.physical.column_lineage import source_column
    from sframe_spark.explain.explanation_text_graph_and_pictures import Explanation
    from sframe_spark.planner.plan_json import graph_to_json

BITS = 64


def content_identifier(node: PlannerNode) -> int:
    """Return a 64-bit number that identifies the rows of a column; it is equal for the same rows of the same files, and for equal values in memory.

    The rows are computed first if necessary.

    Examples
    --------
    >>> from sframe_spark.operators.sources.in_memory import range_source
    >>> content_identifier(range_source(0, 3)) == content_identifier(range_source(0, 3)) != content_identifier(range_source(0, 4))
    True
    """
    materialize(node)
    digest = hashlib.blake2b(digest_size=BITS // 8)
    for part in _identifying_bytes(*source_column(node, 0)):
        digest.update(part)
    return int.from_bytes(digest.digest(), "big")


def _identifying_bytes(node: PlannerNode, position: int) -> Iterator[bytes]:
    """Yield bytes that identify the rows of a materialized column: names of files and rows in them, or the values themselves."""
    source = node.operator
    yield str(node.schema[position]).encode()
    if isinstance(source, SegmentSource):
        manifest = source.manifest
        # Files that this package has written have unique names, so their directory need not be included.
        yield repr(
            (source.positions[position], source.start, source.stop, manifest.version, None if manifest.has_key else manifest.directory)
        ).encode()
        yield from (repr((entry.file, entry.number, entry.rows, entry.size)).encode() for entry in manifest.segments)
    elif (parameters := None if isinstance(source, MemorySource) else _parameters_of(source)) is not None:
        yield parameters.encode()
    else:
        for chunk in stored_chunks(node):
            # Arrow's stream format writes only the rows of a slice, not the rest of the buffer.
            yield bytes(to_stream([chunk.select([position])]))


def _parameters_of(source: Operator) -> str | None:
    """Return the parameters of a source as JSON; None if they cannot be serialized."""
    try:
        return graph_to_json(source.make_planner_node())
    except UnsupportedOperationError:
        return None


class ColumnMaterialization:
    """Mixin of SArray: computation of values, plans, and export of all values."""

    _node: PlannerNode

    def materialize(self, segments: int | None = None) -> None:
        """Compute all rows now and keep them; every SArray and SFrame derived from this column uses them.

        Parameters
        ----------
        segments
            Number of ranges of rows to compute in parallel; None: the engine decides.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> prices = SArray([5, 3]) * 2
        >>> prices.materialize()
        >>> prices.is_materialized()
        True
        """
        materialize(self._node, MaterializeOptions(segments=segments, converts=True))

    def is_materialized(self) -> bool:
        """Return whether the rows have been computed and kept.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> total = SArray([5, 3]) + 1
        >>> total.is_materialized(), list(total), total.is_materialized()
        (False, [6, 4], True)
        """
        return is_materialized(self._node)

    def __get_content_identifier__(self) -> int:
        """Return a number that is equal for the same rows of the same files, and for equal values in memory; the values are computed first.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> stars = SArray([5, 3])
        >>> stars.__get_content_identifier__() == stars[:].__get_content_identifier__()
        True
        """
        return content_identifier(self._node)

    def explain(self, stage: str | None = None, trace: bool = False, why: bool = False, verify: bool = False, analyze: bool = False) -> Explanation:
        """Return the plan as text and picture; see :meth:`SFrame.explain`.

        Parameters
        ----------
        stage, trace, why, verify, analyze
            As in :meth:`SFrame.explain`.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> print(SArray([3, 1, 2]).sort().explain("logical"))
        columns: value
        r0 := memory_source[1 columns, rows 0..3]()  # (value int) x 3
        r1 := sort[value asc](r0)  # (value int) x 3
        """
        from sframe_spark.api.explain import explain_node

        return explain_node(self._node, ["value"], stage, trace, why, verify, analyze)

    def last_run(self) -> Explanation:
        """Return what the last computation of the values ran; see :meth:`SFrame.last_run`.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> ordered = SArray([2, 1, 3]).sort()
        >>> ordered.materialize()
        >>> print(ordered.last_run())
        section 1 driver, without a plan (memory_source, sort): 3 rows (24 bytes in memory), ... s: the result
        """
        from sframe_spark.api.explain import last_run

        return last_run(self._node)

    def to_numpy(self) -> np.ndarray:
        """Return all values as a numpy array: numbers if no value is missing; strings; else objects.

        Raises
        ------
        TooLargeError
            If the values do not fit in memory; the message says how much memory they need.

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
    def __array__(self) -> Callable[..., np.ndarray]:
        """A function that returns all values as a one-dimensional array of numbers, texts or date-times: called by ``numpy.asarray`` and others.

        Missing numbers are NaN, and missing date-times NaT. The result of a comparison becomes an array of Booleans, so that it selects rows of other
        arrays; a missing one selects no row. For lists, dicts, arrays, and date-times with an offset there is no such function: numpy and pandas then
        take value by value.

        Examples
        --------
        >>> import numpy
        >>> from sframe_spark import SArray
        >>> numpy.array([10, 20, 30])[SArray([3, 5, 4]) > 3]
        array([20, 30])
        >>> numpy.asarray(SArray([1, None]))
        array([ 1., nan])
        >>> hasattr(SArray([[1, 2], [3]]), "__array__")
        False
        """
        column_type = self._node.schema[0]
        if not (column_type.is_numeric or column_type.kind == STR_KIND or column_type == DATETIME):
            raise NoAttributeError(f"values of type {column_type.kind} cannot be shared as a buffer: use to_numpy()")
        return self._as_array

    def _as_array(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return array_for_numpy(flat_column_for_numpy(self._node), dtype, copy)

    def to_arrow(self) -> pa.Array:
        """Return all values as an Arrow array.

        Raises
        ------
        TooLargeError
            If the values do not fit in memory; the message says how much memory they need.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> SArray(["mon", None]).to_arrow().to_pylist()
        ['mon', None]
        """
        return array_of_values(self._node)

    def __arrow_c_schema__(self) -> Any:
        """Return the Arrow type of the values, for other libraries. For date-times with an offset and mixed lists and dicts, all values are read."""
        return forms_of(self._node)[0].field("").type.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Return all values in order as an Arrow stream, which other libraries read: ``polars.Series(sa)``, ``pyarrow.chunked_array(sa)``.

        Raises
        ------
        TooLargeError
            If the values do not fit in memory; the message says how much memory they need.
        """
        return stream_of_values(self._node).__arrow_c_stream__(requested_schema)

    def __narwhals_series__(self) -> Any:
        """Return the column as narwhals asks for it: ``narwhals.from_native(sa, series_only=True)``; its name is empty."""
        return for_narwhals(self)
