"""Scalar functions: importing this package fills the table, one module per family."""

from __future__ import annotations

from sframe_spark.expressions.functions import (
    arithmetic,
    base,
    casts,
    clock,
    datetime_format,
    dicts,
    durations,
    element_access,
    hashing,
    items,
    limits,
    logic,
    membership,
    missing,
    moment_parts,
    moment_texts,
    packing,
    predicates,
    variants,
)

__all__ = [
    "arithmetic",
    "casts",
    "clock",
    "datetime_format",
    "dicts",
    "durations",
    "element_access",
    "hashing",
    "items",
    "limits",
    "logic",
    "membership",
    "missing",
    "moment_parts",
    "moment_texts",
    "packing",
    "predicates",
    "variants",
]

base.FUNCTIONS.close()
