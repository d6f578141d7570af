"""Values of columns and frames as JSON, to be recorded and compared."""

from __future__ import annotations

import array
import datetime
import json
import math
from typing import Any

import numpy as np

from sframe_spark import SArray, SFrame
from sframe_spark.images import Image


def plain(value: Any) -> Any:
    """A value as JSON that tells types apart."""
    name = type(value).__name__
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return ["bool", value]
    if isinstance(value, np.generic):
        return [f"np.{name}", plain(value.item())]
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return ["f", "nan" if math.isnan(value) else repr(float(f"{value:.10g}"))]
    if isinstance(value, type):
        return ["type", name if name == "array" else value.__name__]
    return plain_container(value)


def plain_container(value: Any) -> Any:
    """The same of values that hold others."""
    if isinstance(value, SArray):
        return ["SArray", plain(value.dtype), [plain(item) for item in value]]
    if isinstance(value, SFrame):
        names = value.column_names()
        return ["SFrame", names, [plain(kind) for kind in value.column_types()], [[plain(item) for item in value[name]] for name in names]]
    if isinstance(value, (list, tuple)):
        return [type(value).__name__, *map(plain, value)]
    if isinstance(value, dict):
        return ["dict", *sorted(([plain(key), plain(item)] for key, item in value.items()), key=json.dumps)]
    if isinstance(value, array.array):
        return ["array", value.typecode, *map(plain, value)]
    if isinstance(value, datetime.datetime):
        offset = value.utcoffset()
        return ["dt", value.replace(tzinfo=None).isoformat(), None if offset is None else offset.total_seconds()]
    if isinstance(value, Image):
        return ["Image", value.height, value.width, value.channels, value.format, value.data.hex()]
    if isinstance(value, np.ndarray):
        return ["ndarray", str(value.dtype), list(value.shape), plain(value.tolist())]
    raise TypeError(f"no plain form of a {type(value).__name__}")
