"""Scalar functions: importing this package fills the table, one module per family."""

from __future__ import annotations

from sframe_spark.operators.functions import (
    arithmetic,
    base,
    clock,
    comparison,
    conversion,
    durations,
    hashing,
    items,
    limits,
    logic,
    membership,
    missing,
    variants,
)

__all__ = [
    "arithmetic",
    "clock",
    "comparison",
    "conversion",
    "durations",
    "hashing",
    "items",
    "limits",
    "logic",
    "membership",
    "missing",
    "variants",
]

base.FUNCTIONS.close()
