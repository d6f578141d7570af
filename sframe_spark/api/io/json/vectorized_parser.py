"""Parses a whole block of JSON objects into Arrow columns at once, by array operations on its text or by Arrow's parser.

This is possible if the block has a simple form; otherwise `block_reader.py` parses it value by value. In the simple form, strings have
no escapes, and members are numbers, strings, null, or lists and objects of these.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pjson

from sframe_spark.cached_property_without_lock import cached_property
from sframe_spark.pyarrow_versions import replace_with_mask
from sframe_spark.types import DICT_KIND, ENCODED_DICT, ENCODED_LIST, FLOAT, INT, LIST_KIND, STR, ColumnType
from sframe_spark.values.nested.json_item_splitting_and_joining import FlatItems, flat_items
from sframe_spark.values.nested.tagged_json_patterns_and_splitting import (
    QUOTE,
    WHOLE,
    all_match,
    counts_within,
    has_duplicates,
    is_flat,
    outside_quotes,
    texts_between,
)
from sframe_spark.values.nested.text_and_json_to_columns import NUMBER, TEXT, read_stored

# Kind of an int that fits 64 bits but that no float holds exactly.
LARGE_INT = "large int"
# Making one column costs as much as parsing this many values in Python. This is considered if there are more than MANY_COLUMNS columns.
VALUES_OF_COLUMN, MANY_COLUMNS = 32, 64
# Kind of items that differ in kind, so that no list type with one item type can hold them.
SEVERAL = "several"
OPENING, CLOSING, COLON, COMMA, LIST_OPENING, LIST_CLOSING, MINUS, NULL = b"{}:,[]-n"
_STEPS = np.zeros(256, np.int8)
_STEPS[[OPENING, LIST_OPENING]], _STEPS[[CLOSING, LIST_CLOSING]] = 1, -1
_IS_MARK, _IS_SPACE = np.zeros(256, bool), np.zeros(256, bool)
_IS_MARK[[OPENING, CLOSING, COLON, COMMA, LIST_OPENING, LIST_CLOSING]] = True
_IS_SPACE[list(b" \t\r\n")] = True


def _object(space: str) -> str:
    """Return a regular expression that matches an object with at least one member; ``space`` is the pattern of white space."""
    # The pattern of numbers is limited so that all ints fit 64 bits, and no float is infinite.
    number = r"-?(?:0|[1-9][0-9]{0,17})(?:\.[0-9]+)?(?:[eE][-+]?[0-9]{1,2})?"
    item = f"(?:{TEXT}|{number}|null)"
    of_lists = rf"\[{space}(?:{item}{space}(?:,{space}{item}{space})*)?\]"
    of_items = f"{TEXT}{space}:{space}{item}{space}"
    of_objects = rf"\{{{space}(?:{of_items}(?:,{space}{of_items})*)?\}}"
    member = f"{TEXT}{space}:{space}(?:{item}|{of_lists}|{of_objects}){space}"
    return rf"\{{{space}{member}(?:,{space}{member})*\}}"


_LINE, _ELEMENT, _ANY_SPACE = _object(r"[ \t\r]*"), _object(r"[ \t\r\n]*"), r"[ \t\r\n]*"
# For each notation: the pattern of an object with the separator after it, and the pattern of the last object.
_ON_LINES = (rf"^{_LINE}[ \t\r]*\n{_ANY_SPACE}$", f"^{_LINE}{_ANY_SPACE}$")
_IN_ARRAYS = (f"^{_ELEMENT}{_ANY_SPACE},{_ANY_SPACE}$", f"^{_ELEMENT}{_ANY_SPACE}$")


@attrs.frozen(eq=False)
class JsonColumn:
    """The values of one column in a block.

    Parameters
    ----------
    kinds
        Kinds of the values that are not missing.
    inner
        Kinds of the items, if the values are lists or objects.
    by_type
        Maps each column type that can hold the values unchanged to an array of them.
    """

    kinds: frozenset[str]
    inner: frozenset[str]
    by_type: dict[ColumnType, pa.Array]


@attrs.define(eq=False)
class JsonMembers:
    """The members of all objects in a block, as positions in its text.

    Parameters
    ----------
    data
        The text as bytes.
    counts
        Number of members of each object.
    names
        The distinct names of members.
    codes
        For each member, the index of its name in ``names``.
    starts, stops
        For each member, where its value begins and ends in ``data``.
    """

    data: np.ndarray
    counts: np.ndarray
    names: list[str]
    codes: np.ndarray
    starts: np.ndarray
    stops: np.ndarray
    _columns: dict[str, JsonColumn | None] = attrs.field(factory=dict, init=False)

    @property
    def is_sparse(self) -> bool:
        """Whether the objects have so many different names that parsing in Python is faster than making columns."""
        return len(self.names) > MANY_COLUMNS and len(self.codes) < VALUES_OF_COLUMN * len(self.names)

    @cached_property
    def indices(self) -> dict[str, int]:
        """Maps each name to its index in ``names``."""
        return {name: index for index, name in enumerate(self.names)}

    @cached_property
    def _by_name(self) -> tuple[np.ndarray, np.ndarray]:
        """The indices of the members sorted by name, and for each name where its members begin; searching for each name would take quadratic time."""
        return np.argsort(self.codes, kind="stable"), np.searchsorted(np.sort(self.codes), np.arange(len(self.names) + 1))

    @cached_property
    def _rows(self) -> np.ndarray:
        """The index of the object (row) that contains each member."""
        return np.repeat(np.arange(len(self.counts)), self.counts)

    def column(self, name: str) -> JsonColumn | None:
        """Return the column of values with a name, one per row; None if the values differ in kind, or must be parsed one by one."""
        if name not in self._columns:
            self._columns[name] = self._column(name)
        return self._columns[name]

    def _column(self, name: str) -> JsonColumn | None:
        members, bounds = self._by_name
        index = self.indices[name]
        chosen = members[bounds[index] : bounds[index + 1]]
        chosen = chosen[self.data[self.starts[chosen]] != NULL]
        typed = _typed(self.data, self.starts[chosen], self.stops[chosen])
        rows = len(self.counts)
        if typed is None or len(chosen) == rows:
            return typed
        value_of_row = np.full(rows, -1)
        value_of_row[self._rows[chosen]] = np.arange(len(chosen))
        values_of_rows = pa.array(value_of_row, mask=value_of_row < 0)
        return attrs.evolve(typed, by_type={kind: values.take(values_of_rows) for kind, values in typed.by_type.items()})

    @cached_property
    def objects(self) -> JsonColumn | None:
        """The objects themselves as one column of dicts; None if they must be parsed one by one."""
        texts = texts_between(self.data, self.starts, self.stops)
        first = self.data[self.starts]
        keys = pa.array(self.names, pa.string()).take(pa.array(self.codes))
        items = FlatItems(self.counts, np.zeros(len(self.counts), bool), texts, keys)
        is_nested = (first == OPENING) | (first == LIST_OPENING)
        if not is_flat(texts.filter(pa.array(~is_nested)) if is_nested.any() else texts):
            return None
        if not is_nested.any():
            return _of_items(items, items.stored(), ENCODED_DICT)
        for kind, opening in ((DICT_KIND, OPENING), (LIST_KIND, LIST_OPENING)):
            chosen = pa.array(first == opening)
            stored, are_simple = read_stored(texts.filter(chosen), kind)
            if pc.all(are_simple).as_py() is False:
                return None
            texts = replace_with_mask(texts, chosen, stored)
        return JsonColumn(frozenset({DICT_KIND}), frozenset({SEVERAL}), {ENCODED_DICT: attrs.evolve(items, items=texts).stored()})


def members_of(text: str, on_lines: bool) -> JsonMembers | None:
    """Return the members of the objects in a text, on separate lines or separated by commas; None if the text does not have the simple form.

    Examples
    --------
    >>> members = members_of('{"a":1,"b":"x"}, {"a":2}', on_lines=False)
    >>> members.names, members.column("a").by_type[INT].to_pylist(), members.column("b").by_type[STR].to_pylist()
    (['a', 'b'], [1, 2], ['x', None])
    """
    if "\\" in text:
        return None
    data = np.frombuffer(text.encode(), np.uint8)
    marks = np.flatnonzero(_IS_MARK[data] & outside_quotes(data))
    kinds = data[marks]
    depth = np.cumsum(_STEPS[kinds], dtype=np.int32)
    is_start, is_comma = (kinds == OPENING) & (depth == 1), (kinds == COMMA) & (depth == 1)
    bounds = np.append(marks[is_start], len(data))
    if len(bounds) < 2 or not _IS_SPACE[data[: bounds[0]]].all() or not _are_objects(data, bounds, *(_ON_LINES if on_lines else _IN_ARRAYS)):
        return None
    before, colons = marks[is_start | is_comma], marks[(kinds == COLON) & (depth == 1)]
    after = marks[is_comma | ((kinds == CLOSING) & (depth == 0))]
    counts = counts_within(before, bounds)
    names = texts_between(data, *_without_space(data, before + 1, colons)).dictionary_encode()
    codes = names.indices.to_numpy()
    if has_duplicates(counts, codes):
        return None
    return JsonMembers(data, counts, [name[1:-1] for name in names.dictionary.to_pylist()], codes, *_without_space(data, colons + 1, after))


def _are_objects(data: np.ndarray, bounds: np.ndarray, pattern: str, last: str) -> bool:
    """Return whether a text consists of objects that match ``pattern``, with a last object that matches ``last``."""
    texts = pa.StringArray.from_buffers(len(bounds) - 1, pa.py_buffer(bounds.astype(np.int32)), pa.py_buffer(data))
    return all_match(texts[:-1], pattern) and all_match(texts[-1:], last)


def _without_space(data: np.ndarray, starts: np.ndarray, stops: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the bounds of parts of the text without white space at both ends; each part must contain other characters."""
    while (blank := _IS_SPACE[data[starts]]).any():
        starts = starts + blank
    while (blank := _IS_SPACE[data[stops - 1]]).any():
        stops = stops - blank
    return starts, stops


def _typed(data: np.ndarray, starts: np.ndarray, stops: np.ndarray) -> JsonColumn | None:
    """Return values, none of them null, as a column; None if they differ in kind or must be parsed one by one."""
    first = data[starts]
    if not len(first):
        return JsonColumn(frozenset(), frozenset(), {})
    if (first == QUOTE).all():
        return JsonColumn(frozenset({"str"}), frozenset(), {STR: texts_between(data, starts + 1, stops - 1)})
    for opening, encoded in ((OPENING, ENCODED_DICT), (LIST_OPENING, ENCODED_LIST)):
        if (first == opening).all():
            return _nested(texts_between(data, starts, stops), encoded)
    is_number = (first == MINUS) | ((first >= ord("0")) & (first <= ord("9")))
    return _numbers(texts_between(data, starts, stops)) if is_number.all() else None


def _numbers(texts: pa.Array) -> JsonColumn | None:
    are_whole = pc.match_substring_regex(texts, f"^{WHOLE}$")
    if pc.all(are_whole).as_py():
        ints = texts.cast(pa.int64())
        return JsonColumn(_kinds_of_ints(ints), frozenset(), {INT: ints, FLOAT: ints.cast(pa.float64(), safe=False)})
    if not all_match(texts, f"^{NUMBER}$"):
        return None
    kinds = {"float"} | _kinds_of_ints(texts.filter(are_whole).cast(pa.int64()))
    return JsonColumn(frozenset(kinds), frozenset(), {FLOAT: texts.cast(pa.float64())})


def _kinds_of_ints(ints: pa.Array) -> frozenset[str]:
    values = ints.to_numpy()
    # The ints have at most 18 digits, so converting them to floats and back does not overflow.
    are_large = values.astype(np.float64).astype(np.int64) != values
    return frozenset({LARGE_INT} if are_large.any() else ()) | frozenset(() if are_large.all() else {"int"})


def _nested(texts: pa.Array, encoded: ColumnType) -> JsonColumn | None:
    stored, are_simple = read_stored(texts, encoded.kind)
    items = flat_items(stored, encoded.kind) if pc.all(are_simple).as_py() else None
    return None if items is None else _of_items(items, stored, encoded)


def _of_items(items: FlatItems, stored: pa.Array, encoded: ColumnType) -> JsonColumn:
    """Return a column of lists or dicts, given their items and their stored form (``encoded``)."""
    native, kinds = items.natively(), frozenset({encoded.kind})
    if native is None:
        is_empty = items.items.null_count == len(items.items) or pc.all(pc.equal(items.items, "null")).as_py()
        return JsonColumn(kinds, frozenset() if is_empty else frozenset({SEVERAL}), {encoded: stored})
    values, column_type = native
    item_type = values.type.item_type if pa.types.is_map(values.type) else values.type.value_type
    inner = next(name for name, kind in (("int", INT), ("float", FLOAT), ("str", STR)) if kind.physical == item_type)
    return JsonColumn(kinds, frozenset({inner}), {encoded: stored, column_type: values})


# Objects whose members are numbers and strings of known types: read by Arrow's parser, if it certainly gives what Python's parser would give

# Below this, a float holds every int exactly. From here on, a number's notation in the file decides its type.
EXACT = 2.0**53
# The bits of the float -0.0, read as an int.
MINUS_ZERO = -(2**63)
TYPES: dict[frozenset[str], pa.DataType] = {
    frozenset(): pa.null(),
    frozenset({"int"}): pa.int64(),
    frozenset({"float"}): pa.float64(),
    frozenset({"int", "float"}): pa.float64(),
    frozenset({"str"}): pa.string(),
}
LINE_FEED = 10
# With fewer rows, and more than MANY_COLUMNS columns, Python parses the values faster than columns can be made.
FEW_ROWS = 16
_COMMA = re.compile(rb"[ \t\r\n]*,[ \t\r\n]*")


@attrs.frozen(eq=False)
class TypedMembers:
    """The members of all objects in a block, parsed by Arrow as columns.

    Parameters
    ----------
    counts
        An array with one element per object; only its length is used.
    names
        The names of the members.
    columns
        Maps each name to its column.
    """

    counts: np.ndarray
    names: list[str]
    columns: Mapping[str, JsonColumn]
    objects: None = None
    is_sparse: bool = False

    @property
    def indices(self) -> Mapping[str, JsonColumn]:
        """The columns by name, for testing whether a name exists."""
        return self.columns

    def column(self, name: str) -> JsonColumn:
        """Return the column of values with a name, one per row."""
        return self.columns[name]


def typed_members(text: str, known: Mapping[str, pa.DataType], on_lines: bool) -> TypedMembers | None:
    """Return the members of the objects in a text, if they have the ``known`` types; None if Arrow might read them differently than Python.

    Examples
    --------
    >>> members = typed_members('{"a":1,"b":"x"}\\n{"a":2}\\n', {"a": pa.int64(), "b": pa.string()}, on_lines=True)
    >>> members.column("a").by_type[INT].to_pylist(), members.column("b").by_type[STR].to_pylist()
    ([1, 2], ['x', None])
    >>> typed_members('{"a":1.5}', {"a": pa.int64()}, on_lines=True)
    """
    data = text.rstrip(" \t\r\n").encode()
    between = _between(data, on_lines) if known else None
    rows = None if between is None else _count_separate_rows(np.frombuffer(data, np.uint8), np.frombuffer(between, np.uint8))
    if rows is None or between is None or (rows < FEW_ROWS and len(known) > MANY_COLUMNS):
        return None
    try:
        table = pjson.read_json(
            pa.BufferReader(data if on_lines else data.replace(b"}" + between + b"{", b"}\n{")),
            pjson.ReadOptions(use_threads=False, block_size=len(data) + 1),
            pjson.ParseOptions(explicit_schema=pa.schema(list(known.items())), unexpected_field_behavior="error"),
        )
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None
    columns = {name: column for name in known if (column := _column(table[name])) is not None}
    return TypedMembers(np.zeros(rows, np.int8), list(known), columns) if table.num_rows == rows and len(columns) == len(known) else None


def _between(data: bytes, on_lines: bool) -> bytes | None:
    """Return the separator between the first two objects: a line end, or the comma with white space after the first object; None if not found."""
    match = None if on_lines else _COMMA.match(data, data.find(b"}") + 1)
    return b"\n" if on_lines else match.group() if match is not None else None


def _count_separate_rows(data: np.ndarray, between: np.ndarray) -> int | None:
    """Return the number of objects; None if there are none, an object is nested, separators differ, or an object contains a line end.

    If a string contains the separator, replacing it puts a line end inside that string. Arrow then refuses it or reads fewer objects.
    """
    opening, closing = np.flatnonzero(data == OPENING), np.flatnonzero(data == CLOSING)
    if not 0 < len(opening) == len(closing) or opening[0] != 0 or closing[-1] != len(data) - 1:
        return None
    behind, rows = closing[:-1] + 1, len(opening)
    if (opening[1:] != behind + len(between)).any() or any((data[behind + offset] != byte).any() for offset, byte in enumerate(between)):
        return None
    is_end = int(np.count_nonzero(between == LINE_FEED))
    return rows if np.count_nonzero(data == LINE_FEED) == is_end * (rows - 1) else None


def _column(values: pa.ChunkedArray) -> JsonColumn | None:
    """Return a column that Arrow has read; None if a number is so large, or so close to zero, that its notation in the file matters."""
    values = values.combine_chunks()
    if values.null_count == len(values):
        return JsonColumn(frozenset(), frozenset(), {})
    if pa.types.is_string(values.type):
        return JsonColumn(frozenset({"str"}), frozenset(), {STR: values})
    if pa.types.is_integer(values.type):
        limits = pc.min_max(values).as_py()
        if max(-limits["min"], limits["max"]) >= EXACT:
            return None
        return JsonColumn(frozenset({"int"}), frozenset(), {INT: values, FLOAT: values.cast(pa.float64())})
    # The comparison is false for NaN too. Python reads -0 as the int 0, so a float -0.0 from Arrow may be wrong.
    is_exact = pc.all(pc.less(pc.abs(values), EXACT)).as_py() and not pc.any(pc.equal(values.view(pa.int64()), MINUS_ZERO)).as_py()
    return JsonColumn(frozenset({"float"}), frozenset(), {FLOAT: values}) if is_exact else None
