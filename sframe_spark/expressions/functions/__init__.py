"""Scalar functions, one module per family; importing the package fills the function table."""

from __future__ import annotations

from sframe_spark.expressions.functions import arithmetic, casts, datetimes, dicts, element_access, hashing, membership, packing, predicates, strings
from sframe_spark.expressions.functions.scalar_function import FUNCTIONS

__all__ = ["arithmetic", "casts", "datetimes", "dicts", "element_access", "hashing", "membership", "packing", "predicates", "strings"]

FUNCTIONS.close()
