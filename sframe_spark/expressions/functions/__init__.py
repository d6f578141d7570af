"""Scalar functions, one module per family; importing the package fills the function table."""

from __future__ import annotations

from sframe_spark.expressions.functions import (
    arithmetic_and_clipping,
    bins,
    calendars,
    casts,
    column_packing,
    date_parts,
    datetimes,
    dicts,
    element_access,
    membership,
    number_functions,
    predicates_if_else_and_fill,
    text_functions,
    value_hash,
    words,
)
from sframe_spark.expressions.functions.scalar_function import FUNCTIONS

__all__ = [
    "arithmetic_and_clipping",
    "bins",
    "calendars",
    "casts",
    "column_packing",
    "date_parts",
    "datetimes",
    "dicts",
    "element_access",
    "membership",
    "number_functions",
    "predicates_if_else_and_fill",
    "text_functions",
    "value_hash",
    "words",
]

FUNCTIONS.close()
