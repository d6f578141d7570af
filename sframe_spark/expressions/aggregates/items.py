"""Of which kinds the values of dicts are, key by key: what columns they become."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.errors import TooLargeError
from sframe_spark.expressions.aggregates.aggregate_function import define_aggregate, require
from sframe_spark.expressions.aggregates.partial_aggregates import Decomposition
from sframe_spark.expressions.functions.dicts import key_set, native_keys, require_like_keys
from sframe_spark.types import DICT_KIND, ENCODED_DICT, FLOAT_KIND, INT_KIND, STR_KIND, ColumnType
from sframe_spark.values.decode import decode
from sframe_spark.values.nested.json_items import KINDS, any_items, kinds_of
from sframe_spark.values.tagged_json import canonical_value
from sframe_spark.values.value_model import family_of

Kinds = dict[Any, frozenset[str]]
_KIND_OF_ITEMS = {pa.int64(): INT_KIND, pa.float64(): FLOAT_KIND, pa.string(): STR_KIND}
# More columns than any frame is good for.
MOST_KEYS = 10_000


def _kinds(arrays: Sequence[pa.Array], rows: int, types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> Kinds:
    wanted = parameters[0] if parameters else None
    stored = any_items(arrays[0], DICT_KIND) if types[0].is_encoded else None
    if stored is not None and stored.keys is not None:
        keys, items = stored.keys, stored.items
        if wanted is not None and len(keys):
            keys, items = _of_wanted(keys, items, stored.by_keys()[1], wanted)
        return _few(_kinds_of_json(keys, items))
    if types[0].is_encoded:
        return _few(_kinds_of_cells(decode(arrays[0], types[0]), wanted))
    entries = pc.list_flatten(pc.cast(arrays[0], pa.list_(pa.struct([("key", arrays[0].type.key_type), ("value", arrays[0].type.item_type)]))))
    keys, items = entries.field("key"), entries.field("value")
    if wanted is not None:
        keys, items = _of_wanted(keys, items, types[0], wanted)
    known = frozenset([_KIND_OF_ITEMS[types[0].physical.item_type]])
    found: Kinds = dict.fromkeys(pc.unique(keys).to_pylist(), frozenset())
    return _few({**found, **dict.fromkeys(pc.unique(keys.filter(items.is_valid())).to_pylist(), known)})


def _of_wanted(keys: pa.Array, items: pa.Array, column_type: ColumnType, wanted: Sequence[Any]) -> tuple[pa.Array, pa.Array]:
    """Entries whose keys are among those that are wanted; these are of the class of the keys, or refused."""
    native_keys(column_type, wanted)
    chosen = pc.is_in(keys, key_set(column_type, wanted)[0])
    return keys.filter(chosen), items.filter(chosen)


def _kinds_of_cells(cells: Sequence[dict[Any, Any] | None], wanted: Sequence[Any] | None) -> Kinds:
    """Of dicts as Python has them."""
    texts = None if wanted is None else {canonical_value(key) for key in wanted}
    if wanted is not None:
        require_like_keys(cells, wanted)
    found: Kinds = {}
    for cell in cells:
        for key, value in (cell or {}).items():
            if texts is None or canonical_value(key) in texts:
                kind = frozenset() if value is None else frozenset([family_of(type(value))])
                found[key] = found.get(key, frozenset()) | kind
    return found


def _kinds_of_json(keys: pa.Array, items: pa.Array) -> Kinds:
    """By their first letters."""
    encoded = keys.dictionary_encode()
    kinds = kinds_of(items)
    pairs = np.flatnonzero(np.bincount(encoded.indices.to_numpy() * len(KINDS) + kinds))
    names = encoded.dictionary.to_pylist()
    found: Kinds = dict.fromkeys(names, frozenset())
    for name, kind in zip(pairs // len(KINDS), pairs % len(KINDS), strict=True):
        found[names[name]] |= KINDS[kind]
    return found


def _merged(first: Kinds, second: Kinds, types: Sequence[ColumnType]) -> Kinds:
    return _few({**first, **{key: first.get(key, frozenset()) | kinds for key, kinds in second.items()}})


def _few(found: Kinds) -> Kinds:
    if len(found) > MOST_KEYS:
        raise TooLargeError(f"the dicts have more than {MOST_KEYS:,} keys, each of which would be a column: name some with limit=, or use stack()")
    return found


def _as_texts(part: Mapping[Any, frozenset[str]], types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> dict[Any, str]:
    return {key: " ".join(sorted(kinds)) for key, kinds in part.items()}


def _infer(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
    """A dict from each key to the kinds of its values, in a text; parameter: the keys that are looked at, all where there is none."""
    require("the kinds of values", types[0], (DICT_KIND,))
    if parameters and not types[0].is_encoded:
        native_keys(types[0], parameters[0])
    return ENCODED_DICT


define_aggregate("item_kinds", _infer, parts=Decomposition(_kinds, _merged, _as_texts), order_sensitive=False)
