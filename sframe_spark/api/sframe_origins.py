"""Constructors of SFrame that say what they take: each refuses what ``SFrame(...)`` would take for something else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sframe_spark.api import construction
from sframe_spark.api.arrow_streams import arrow_table, gives_rows
from sframe_spark.api.construction import made_frame
from sframe_spark.api.from_arrow import frame_from_arrow
from sframe_spark.api.from_pandas import frame_from_pandas
from sframe_spark.api.from_spark import frame_from_spark
from sframe_spark.errors import SchemaError
from sframe_spark.values.libraries import library_of

if TYPE_CHECKING:
    from sframe_spark.api.sframe import SFrame


class Origins:
    """Frames of tables of other libraries."""

    @classmethod
    def from_pandas(cls, data: Any, naive: bool = False) -> SFrame:
        """A frame of the rows of a pandas DataFrame; its index is left out (``reset_index()`` makes columns of it).

        Parameters
        ----------
        data
            The DataFrame.
        naive
            Whether dates without a time zone stay without an offset; otherwise they are in UTC, as in SFrame.

        Raises
        ------
        TypeError
            If it is no DataFrame of pandas, or no column holds the values of one.

        Examples
        --------
        >>> import pandas
        >>> from sframe_spark import SFrame
        >>> days = pandas.DataFrame({"day": pandas.to_datetime(["2024-02-29"])})
        >>> SFrame.from_pandas(days)["day"][0].tzinfo, SFrame.from_pandas(days, naive=True)["day"][0].tzinfo
        (datetime.timezone.utc, None)
        """
        _require(library_of(data) == "pandas" and hasattr(data, "columns"), "from_pandas", "a pandas DataFrame", data)
        return made_frame(frame_from_pandas(data, naive))

    @classmethod
    def from_arrow(cls, data: Any) -> SFrame:
        """A frame of the rows of an Arrow table, batch or reader, or of anything that gives its rows as Arrow's C stream.

        Raises
        ------
        TypeError
            If it is something else, or no column holds the values of one.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> len(SFrame.from_arrow(pa.table({"a": [1, 2]}).to_reader()))
        2
        """
        _require(isinstance(data, (pa.Table, pa.RecordBatch)) or gives_rows(data), "from_arrow", "an Arrow table, batch or stream", data)
        return made_frame(construction.frame_from(data))

    @classmethod
    def from_polars(cls, data: Any) -> SFrame:
        """A frame of the rows of a polars DataFrame or of the result of a LazyFrame.

        Raises
        ------
        TypeError
            If it is something else, or no column holds the values of one.
        """
        _require(library_of(data) == "polars" and gives_rows(data), "from_polars", "a polars DataFrame or LazyFrame", data)
        return made_frame(frame_from_arrow(arrow_table(data)))

    @classmethod
    def from_spark(cls, data: Any) -> SFrame:
        """A frame of the rows of a Spark DataFrame, lazily.

        Raises
        ------
        TypeError
            If it is something else, or no column holds the values of one.
        """
        _require(library_of(data) == "pyspark" and hasattr(data, "columns"), "from_spark", "a Spark DataFrame", data)
        return made_frame(frame_from_spark(data))


def _require(condition: bool, member: str, wanted: str, given: Any) -> None:
    if not condition:
        kind = f"{library_of(given)}.{type(given).__name__}" if library_of(given) != "builtins" else type(given).__name__
        raise SchemaError(f"SFrame.{member}() takes {wanted}, got {kind}: SFrame(...) takes tables of every kind")
