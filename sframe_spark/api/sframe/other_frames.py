"""What else than an SFrame a join, an append or a merge takes: tables of other libraries, dicts of columns, places of saved frames."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sframe_spark.api.class_registry import Faces, made_frame
from sframe_spark.api.interchange.arrow_streams import gives_rows
from sframe_spark.api.sframe.construction import frame_from
from sframe_spark.errors import SchemaError, SFrameError
from sframe_spark.values.libraries import library_of

if TYPE_CHECKING:
    from sframe_spark.api.sframe import SFrame


def other_frame(given: Any, member: str, refusal: type[SFrameError] = SchemaError) -> SFrame:
    """The frame that a member was given, made of it if it is none yet.

    Raises
    ------
    SFrameError
        Of the class ``refusal``, if it is neither a frame nor a table.

    Examples
    --------
    >>> from sframe_spark import SFrame
    >>> SFrame({"a": [1]}).append({"a": [2]}).to_arrow().to_pydict()
    {'a': [1, 2]}
    """
    if isinstance(given, Faces.frame):
        return given
    if is_table(given):
        return made_frame(*frame_from(given))
    raise refusal(f"{member} takes an SFrame, got {type(given).__name__}: give a frame, a table of another library or a dict of columns")


def is_table(given: Any) -> bool:
    """True for a table of any library, a dict of columns, and the place of something saved.

    Examples
    --------
    >>> is_table(pa.table({"a": [1]})), is_table({"a": [1]}), is_table([1]), is_table("no such place")
    (True, True, False, False)
    """
    if isinstance(given, str):
        return os.path.exists(given)
    if isinstance(given, (pa.Table, pa.RecordBatch, Mapping, os.PathLike)) or gives_rows(given):
        return True
    return hasattr(given, "columns") and library_of(given) in ("pandas", "pyspark")
