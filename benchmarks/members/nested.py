"""Members of columns of dicts, arrays and lists, and of frames with them. The reference engine's old Python reads this file too."""

from __future__ import annotations

import array
from typing import Any

from benchmarks.members.frames import Frames
from benchmarks.members.samples import Case, by, how_many, in_order


def nested(engine: Any, f: Frames) -> dict[str, Case]:
    """All of them, by name."""
    return {**dicts(f), **lists(f), **texts(f), **reshaped(f), **functions(f), **grouped(engine, f)}


def dicts(f: Frames) -> dict[str, Case]:
    """Of columns of dicts: with the same keys in each row, and with others."""
    bag, tags = f.nested["bag"], f.nested["tags"]
    return {
        "dict_keys": Case(lambda: bag.dict_keys(), in_order),
        "dict_keys, various": Case(lambda: tags.dict_keys(), how_many),
        "dict_values": Case(lambda: bag.dict_values(), in_order),
        "dict_has_any_keys": Case(lambda: bag.dict_has_any_keys(["key"]), in_order),
        "dict_has_any_keys, various": Case(lambda: tags.dict_has_any_keys(["w1", "w2"]), in_order),
        "dict_has_all_keys": Case(lambda: bag.dict_has_all_keys(["key", "small"]), in_order),
        "dict_trim_by_keys": Case(lambda: bag.dict_trim_by_keys(["key"]), in_order),
        "dict_trim_by_keys, various": Case(lambda: tags.dict_trim_by_keys(["w1", "b"]), in_order),
        "dict_trim_by_values": Case(lambda: bag.dict_trim_by_values(50, 500), in_order),
        "dict_trim_by_values, various": Case(lambda: tags.dict_trim_by_values(50, 500), in_order),
        "item_length of dicts": Case(lambda: tags.item_length(), in_order),
        "sa.unpack, one key": Case(lambda: bag.unpack(limit=["key"]), in_order),
    }


def lists(f: Frames) -> dict[str, Case]:
    """Of columns of arrays and lists."""
    n = f.nested
    return {
        "item_length": Case(lambda: n["words"].item_length(), in_order),
        "element_slice of arrays": Case(lambda: n["vector"].element_slice(0, 1), in_order),
        "element_slice of lists": Case(lambda: n["words"].element_slice(0, 1), in_order),
        "vector_slice": Case(lambda: n["vector"].vector_slice(0), in_order),
        "vector_slice of two": Case(lambda: n["vector"].vector_slice(0, 2), in_order),
        "array * constant": Case(lambda: n["vector"] * 2, in_order),
        "array + array": Case(lambda: n["vector"] + n["vector"], in_order),
        "sum of arrays": Case(lambda: n["vector"].sum(), in_order),
        "mean of arrays": Case(lambda: n["vector"].mean(), in_order),
        "contains of lists": Case(lambda: n["words"].contains("w9"), in_order),
        "hash of lists": Case(lambda: n["words"].hash(), how_many),
        "hash of dicts": Case(lambda: n["bag"].hash(), how_many),
    }


def texts(f: Frames) -> dict[str, Case]:
    """Texts of dicts, arrays and lists, and what they become again."""
    n = f.nested
    return {
        "astype: dict to str": Case(lambda: n["bag"].astype(str), how_many),
        "astype: array to str": Case(lambda: n["vector"].astype(str), how_many),
        "astype: list to str": Case(lambda: n["words"].astype(str), how_many),
        "astype: str to dict": Case(lambda: n["bag text"].astype(dict), in_order),
        "astype: str to array": Case(lambda: n["vector text"].astype(array.array), in_order),
        "astype: str to list": Case(lambda: n["words text"].astype(list), in_order),
        "astype: array to list": Case(lambda: n["vector"].astype(list), in_order),
        "astype: list to array": Case(lambda: n["numbers"].astype(array.array), in_order),
    }


def reshaped(f: Frames) -> dict[str, Case]:
    """Items to columns and rows, and back."""
    n = f.nested
    return {
        "sa.unpack dicts": Case(lambda: n["bag"].unpack(), by("X.key", "X.small")),
        "sa.unpack arrays": Case(lambda: n["vector"].unpack(), in_order),
        "sa.unpack lists": Case(lambda: n["words"].unpack(), in_order),
        "sf.unpack dicts": Case(lambda: n[["id", "bag"]].unpack("bag"), by("id")),
        "sa.stack": Case(lambda: n["words"].stack("word"), in_order),
        "sf.stack lists": Case(lambda: n[["id", "words"]].stack("words", "word"), in_order),
        "sf.stack arrays": Case(lambda: n[["id", "vector"]].stack("vector", "number"), in_order),
        "sf.stack dicts": Case(lambda: n[["id", "bag"]].stack("bag", ["name", "number"]), by("id", "name")),
        "sf.stack dicts, various": Case(lambda: n[["id", "tags"]].stack("tags", ["name", "number"]), by("id", "name")),
        "sf.unstack to dicts": Case(lambda: n[["small", "word", "value"]].unstack(["word", "value"], "values"), how_many),
        "sf.unstack to lists": Case(lambda: n[["small", "value"]].unstack("value", "values"), how_many),
        "sf.unstack of many": Case(lambda: n[["mixed", "value"]].unstack("value", "values"), how_many),
        "sf.pack_columns to dicts": Case(lambda: n[["small", "key"]].pack_columns(["small", "key"], dtype=dict), in_order),
        "sf.pack_columns to arrays": Case(lambda: n[["small", "key"]].pack_columns(["small", "key"], dtype=array.array), in_order),
        "sf.pack_columns to lists": Case(lambda: n[["small", "word"]].pack_columns(["small", "word"], dtype=list), in_order),
    }


def functions(f: Frames) -> dict[str, Case]:
    """Functions of Python, and rows as Python has them."""
    n = f.nested
    return {
        "sa.apply of dicts": Case(lambda: n["bag"].apply(lambda bag: bag["key"], dtype=int), in_order),
        "sa.apply to lists": Case(lambda: n["key"].apply(lambda key: [key, key + 1], dtype=list), in_order),
        "sf.apply": Case(lambda: n[["small", "key"]].apply(lambda row: row["small"] + row["key"], dtype=int), in_order),
        "sf.flat_map": Case(
            lambda: n[["small", "word"]].flat_map(["a", "b"], lambda row: [[row["small"], row["word"]]] * 2, column_types=[int, str]), in_order
        ),
        "for row in sf": Case(lambda: sum(row["key"] for row in n[["key", "word", "value"]]), in_order),
        "for row in sf with dicts": Case(lambda: sum(row["bag"]["key"] for row in n[["id", "bag"]]), in_order),
        "sf.to_dataframe": Case(lambda: len(n[["id", "word", "value", "time"]].to_dataframe()), in_order),
        "sf.to_numpy": Case(lambda: float(n[["id", "value"]].to_numpy().sum()), in_order),
    }


def grouped(engine: Any, f: Frames) -> dict[str, Case]:
    """Groups that hold all their values."""
    n, aggregate = f.nested, engine.aggregate
    return {
        "group by: CONCAT": Case(lambda: n.groupby("small", {"all": aggregate.CONCAT("value")}), how_many),
        "group by: CONCAT to dicts": Case(lambda: n.groupby("small", {"all": aggregate.CONCAT("id", "value")}), how_many),
        "group by: SUM of arrays": Case(lambda: n.groupby("small", {"sum": aggregate.SUM("vector")}), by("small")),
    }
