"""Scalar functions: importing this package fills the table, one module per family."""

from __future__ import annotations

from sframe_spark.operators.functions import (
    arithmetic,
    base,
    clock,
    comparison,
    conversion,
    dicts,
    durations,
    hashing,
    items,
    limits,
    logic,
    membership,
    missing,
    moment_parts,
    moment_reading,
    moment_texts,
    packing,
    slots,
    variants,
)

__all__ = [
    "arithmetic",
    "clock",
    "comparison",
    "conversion",
    "dicts",
    "durations",
    "hashing",
    "items",
    "limits",
    "logic",
    "membership",
    "missing",
    "moment_parts",
    "moment_reading",
    "moment_texts",
    "packing",
    "slots",
    "variants",
]

base.FUNCTIONS.close()
