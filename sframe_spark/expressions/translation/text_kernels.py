"""Kernels of texts, date-times and look-ups for a batch of rows, with Python's results, and the rows for which they have none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.expressions.functions.scalar_function import FUNCTIONS
from sframe_spark.expressions.translation.expression_tree import BOOL, FLOAT, INT, STR, TEXTS
from sframe_spark.expressions.translation.number_kernels import RowValues, found, together
from sframe_spark.expressions.translation.symbols import Members
from sframe_spark.pyarrow_versions import if_else
from sframe_spark.types import DATETIME, STR as STR_TYPE

# Texts that Arrow reads as Python does: of ASCII digits alone, not too many.
_INT_TEXT = r"^[+-]?[0-9]{1,18}$"
_FLOAT_TEXT = r"^[+-]?[0-9]{1,17}(\.[0-9]{0,17})?$"


def texts_of(values: RowValues, rows: int) -> pa.Array:
    """Return texts as an Arrow array."""
    return pa.repeat(pa.scalar(values.data, pa.string()), rows) if values.is_constant else values.data


def truths(answers: pa.Array) -> np.ndarray:
    """Return Booleans as numpy has them; where a value is missing the answer is of no use, and False."""
    if answers.null_count:
        answers = answers.fill_null(False)
    return answers.to_numpy(zero_copy_only=False)


def _ints(values: pa.Array) -> np.ndarray:
    if values.null_count:
        values = values.fill_null(0)
    return values.to_numpy(zero_copy_only=False).astype(np.int64, copy=False)


def _of_table(name: str, kind: str) -> Callable[..., RowValues]:
    """Return the kernel of a function of texts that the table of functions has."""

    def kernel(values: RowValues, *parameters: Any) -> RowValues:
        function = FUNCTIONS.named(f"str_{name}")
        result = function.ready([STR_TYPE], parameters)([values.data], len(values.data))
        if kind == STR:
            return RowValues(STR, result, values.failed)
        if kind == BOOL:
            return RowValues(BOOL, _ints(result).astype(bool), values.failed)
        return RowValues(kind, result if kind == TEXTS else _ints(result), values.failed)

    return kernel


def _contains(values: RowValues, part: str) -> RowValues:
    return RowValues(BOOL, truths(pc.match_substring(values.data, part)), values.failed)


def _any_of(test: Callable[..., pa.Array]) -> Callable[..., RowValues]:
    def kernel(values: RowValues, parts: tuple[str, ...]) -> RowValues:
        answer = np.zeros(len(values.data), dtype=bool)
        for part in parts:
            answer |= truths(test(values.data, part))
        return RowValues(BOOL, answer, values.failed)

    return kernel


def _length(values: RowValues) -> RowValues:
    return RowValues(INT, _ints(pc.utf8_length(values.data)), values.failed, (0, 2**31))


def _slice(values: RowValues, start: int | None, stop: int | None) -> RowValues:
    return RowValues(STR, pc.utf8_slice_codeunits(values.data, start or 0, stop), values.failed)


def _item(values: RowValues, index: int) -> RowValues:
    if values.kind == STR:
        stop = index + 1 if index != -1 else None
        items = pc.utf8_slice_codeunits(values.data, index, stop)
        lengths = _ints(pc.utf8_length(values.data))
    else:
        lengths = _ints(pc.list_value_length(values.data))
        starts = values.data.offsets.to_numpy()[:-1].astype(np.int64)
        places = starts + (index if index >= 0 else lengths + index)
        outside = (index >= lengths) if index >= 0 else (-index > lengths)
        places[outside] = 0
        inner = values.data.values
        items = inner.take(pa.array(places)) if len(inner) else pa.repeat(pa.scalar(""), len(values.data))
    outside = (index >= lengths) if index >= 0 else (-index > lengths)
    return RowValues(STR, items, together(values.failed, found(outside)))


def _items(values: RowValues) -> RowValues:
    return RowValues(INT, _ints(pc.list_value_length(values.data)), values.failed, (0, 2**31))


def _count_items(values: RowValues, part: str) -> RowValues:
    """Return how many items of each list are equal to a text."""
    before = np.concatenate([[0], np.cumsum(truths(pc.equal(values.data.values, part)))]).astype(np.int64)
    offsets = values.data.offsets.to_numpy()
    return RowValues(INT, before[offsets[1:]] - before[offsets[:-1]], values.failed, (0, 2**31))


def _translate(values: RowValues, table: dict[int, Any]) -> RowValues:
    if all(replacement is None for replacement in table.values()):
        pattern = "".join(f"\\x{{{code:x}}}" for code in table)
        return RowValues(STR, pc.replace_substring_regex(values.data, f"[{pattern}]", "") if table else values.data, values.failed)
    texts = [None if text is None else text.translate(table) for text in values.data.to_pylist()]
    return RowValues(STR, pa.array(texts, pa.string()), values.failed)


def _concatenate(left: RowValues, right: RowValues) -> RowValues:
    rows = len(left.data if not left.is_constant else right.data)
    parts = [pa.scalar(side.data, pa.string()) if side.is_constant else side.data for side in (left, right)]
    joined = pc.binary_join_element_wise(*parts, "")
    return RowValues(STR, joined if isinstance(joined, pa.Array) else pa.repeat(joined, rows), together(left.failed, right.failed))


def _repeat(text: RowValues, times: RowValues) -> RowValues:
    if text.is_constant:
        return RowValues(STR, text.data * times.data, text.failed)
    return RowValues(STR, pc.binary_repeat(text.data, max(times.data, 0)), text.failed)


def _compared(name: str) -> Callable[..., RowValues]:
    def kernel(left: RowValues, right: RowValues) -> RowValues:
        arrow_type = pa.string() if left.kind == STR else pa.timestamp("us")
        a, b = (pa.scalar(side.data, arrow_type) if side.is_constant else side.data for side in (left, right))
        return RowValues(BOOL, truths(getattr(pc, name)(a, b)), together(left.failed, right.failed))

    return kernel


def _read(pattern: str, arrow_type: pa.DataType, kind: str) -> Callable[[RowValues], RowValues]:
    def kernel(values: RowValues) -> RowValues:
        readable = pc.match_substring_regex(values.data, pattern)
        known = truths(readable)
        failed = together(values.failed, found(~known))
        chosen = values.data if known.all() else if_else(readable, values.data, pa.scalar("0"))
        # Arrow reads no sign "+".
        numbers = pc.replace_substring_regex(chosen, r"^\+", "").cast(arrow_type)
        data = (numbers.fill_null(0) if numbers.null_count else numbers).to_numpy(zero_copy_only=False)
        return RowValues(kind, data, failed)

    return kernel


def _position(values: RowValues, members: Members) -> RowValues:
    """Return at which place among some constants each value is; -1 if it is none of them."""
    last = (-1, len(members.values) - 1)
    if values.kind == STR:
        found_at = pc.index_in(values.data, value_set=members.arrow(pa.string()))
    else:
        found_at = pc.index_in(pa.array(values.ints()), value_set=members.arrow(pa.int64()))
    positions = (found_at.fill_null(-1) if found_at.null_count else found_at).to_numpy(zero_copy_only=False)
    return RowValues(INT, positions.astype(np.int64), values.failed, last)


def _lookup(positions: RowValues, members: Members) -> RowValues:
    """Return the constants at some places; there is no result where the place is -1."""
    failed = together(positions.failed, found(positions.data < 0))
    if not members.values:
        return RowValues(INT, positions.data, np.ones(len(positions.data), dtype=bool))
    places = np.maximum(positions.data, 0)
    if type(members.values[0]) is str:
        return RowValues(STR, members.arrow(pa.string()).take(pa.array(places)), failed)
    kind = {bool: BOOL, int: INT, float: FLOAT}[type(members.values[0])]
    return RowValues(kind, np.array(members.values, dtype={BOOL: np.bool_, INT: np.int64, FLOAT: np.float64}[kind])[places], failed)


def _part(values: RowValues, name: str) -> RowValues:
    result = FUNCTIONS.named("moment_part").ready([DATETIME], (name,))([values.data], len(values.data))
    return RowValues(INT, _ints(result), values.failed)


TEXT_KERNELS: dict[str, Callable[..., RowValues]] = {
    **{name: _of_table(name, STR) for name in ("lower", "upper", "title", "capitalize", "swapcase", "casefold", "strip", "lstrip", "rstrip")},
    **{name: _of_table(name, STR) for name in ("removeprefix", "removesuffix", "replace", "zfill")},
    **{name: _of_table(name, BOOL) for name in ("isdigit", "isalpha", "isalnum", "isspace", "isupper", "islower", "isnumeric", "isdecimal")},
    **{name: _of_table(name, INT) for name in ("find", "rfind", "count")},
    "split": _of_table("split", TEXTS),
    "contains": _contains,
    "startswith": _any_of(pc.starts_with),
    "endswith": _any_of(pc.ends_with),
    "length": _length,
    "slice": _slice,
    "item": _item,
    "items": _items,
    "count_items": _count_items,
    "translate": _translate,
    "concatenate": _concatenate,
    "repeat": _repeat,
    "int_of_text": _read(_INT_TEXT, pa.int64(), INT),
    "float_of_text": _read(_FLOAT_TEXT, pa.float64(), FLOAT),
    "position": _position,
    "lookup": _lookup,
    "part": _part,
}
"""Kernels by the names of operations, for operands of which the first is a text, a list or a date-time, or a place in a container."""
COMPARISONS: dict[str, Callable[..., RowValues]] = {
    operation: _compared(name)
    for operation, name in (
        *(("equal", "equal"), ("unequal", "not_equal"), ("less", "less"), ("less_or_equal", "less_equal")),
        *(("greater", "greater"), ("greater_or_equal", "greater_equal")),
    )
}
"""Comparisons of texts, and of date-times."""
