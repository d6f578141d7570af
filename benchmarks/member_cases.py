"""Members that SFrame and the reference engine share, as one program for both: this file is run by either's interpreter.

``PYTHON benchmarks/member_cases.py ROWS DIRECTORY [NAME]`` prints the seconds of the reference engine. Nested columns have a tenth of the rows.
"""

from __future__ import annotations

import array
import datetime
import json
import os
import statistics
import sys
import time

START = 1600000000


def plain_columns(engine, rows):  # type: ignore[no-untyped-def]
    """Numbers, words and times, made of row numbers."""
    frame = engine.SFrame({"id": engine.SArray.from_sequence(rows)})
    frame["small"] = frame["id"] % 97
    frame["key"] = frame["id"] * 7919 % 1000
    frame["value"] = (frame["id"] * 31 % 10007) / 16.0
    frame["word"] = "w" + frame["key"].astype(str)
    frame["time"] = (frame["id"] * 61 % 100000000 + START).astype(datetime.datetime)
    frame["stamp"] = frame["time"].datetime_to_str("%Y-%m-%d %H:%M:%S")
    frame.materialize()
    return frame


def nested_columns(engine, rows):  # type: ignore[no-untyped-def]
    """The same packed into dicts, arrays and lists."""
    frame = plain_columns(engine, rows)
    for name, dtype in (("bag", dict), ("vector", array.array)):
        frame[name] = frame[["small", "key"]].pack_columns(["small", "key"], dtype=dtype, new_column_name=name)[name]
    frame.materialize()
    return frame


def materialised(result):  # type: ignore[no-untyped-def]
    """All rows computed."""
    result.materialize()
    return len(result)


def cases(engine, plain, nested, directory):  # type: ignore[no-untyped-def]
    """Actions by name; those on nested columns have it in their names."""
    csv, lines = os.path.join(directory, "rows.csv"), os.path.join(directory, "rows.json")
    bag, vector = nested["bag"], nested["vector"]
    return {
        "unique": lambda: len(plain["key"].unique()),
        "unique of text": lambda: len(plain["word"].unique()),
        "value_counts": lambda: len(plain["word"].value_counts()),
        "datetime_to_str": lambda: materialised(plain["time"].datetime_to_str("%d.%m.%Y %H:%M:%S")),
        "str_to_datetime": lambda: materialised(plain["stamp"].str_to_datetime("%Y-%m-%d %H:%M:%S")),
        "split_datetime": lambda: materialised(plain["time"].split_datetime()),
        "contains": lambda: plain["word"].contains("9").sum(),
        "element_slice of text": lambda: materialised(plain["word"].element_slice(1, 3)),
        "text + text": lambda: materialised(plain["word"] + plain["word"]),
        "sample": lambda: abs(len(plain.sample(0.5, seed=1)) / len(plain) - 0.5) < 0.01,
        "random_split": lambda: sum(len(part) for part in plain.random_split(0.3, seed=1)),
        "shuffle": lambda: materialised(plain[["id", "word"]].shuffle()),
        "read_csv": lambda: len(engine.SFrame.read_csv(csv, verbose=False)),
        "nested: read_json": lambda: len(engine.SFrame.read_json(lines, orient="lines")),
        "nested: dict_keys": lambda: materialised(bag.dict_keys()),
        "nested: dict_values": lambda: materialised(bag.dict_values()),
        "nested: dict_has_any_keys": lambda: bag.dict_has_any_keys(["key"]).sum(),
        "nested: dict_trim_by_keys": lambda: materialised(bag.dict_trim_by_keys(["key"])),
        "nested: dict_trim_by_values": lambda: materialised(bag.dict_trim_by_values(50, 500)),
        "nested: unpack dicts": lambda: materialised(bag.unpack()),
        "nested: unpack arrays": lambda: materialised(vector.unpack()),
        "nested: stack dicts": lambda: materialised(nested[["id", "bag"]].stack("bag", ["name", "number"])),
        "nested: stack arrays": lambda: materialised(nested[["id", "vector"]].stack("vector", "number")),
        "nested: unstack": lambda: materialised(nested[["small", "word", "value"]].unstack(["word", "value"], "values")),
        "nested: unstack lists": lambda: materialised(nested[["small", "value"]].unstack("value", "values")),
        "nested: pack_columns": lambda: materialised(nested[["small", "key"]].pack_columns(["small", "key"], dtype=dict)),
        "nested: pack_columns of arrays": lambda: materialised(nested[["small", "key"]].pack_columns(["small", "key"], dtype=array.array)),
        "nested: vector_slice": lambda: materialised(vector.vector_slice(0, 1)),
        "nested: item_length": lambda: bag.item_length().sum(),
    }


def seconds(action, runs=3):  # type: ignore[no-untyped-def]
    """Median of warm runs, one of which is left out first."""
    action()
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def written(plain, nested, directory):  # type: ignore[no-untyped-def]
    """Files for the readers."""
    plain[["id", "small", "value", "word"]].export_csv(os.path.join(directory, "rows.csv"))
    nested[["id", "word", "bag"]].export_json(os.path.join(directory, "rows.json"), orient="lines")


if __name__ == "__main__":
    import turicreate

    wanted = sys.argv[3] if len(sys.argv) > 3 else ""
    frames = [make(turicreate, size) for make, size in ((plain_columns, int(sys.argv[1])), (nested_columns, int(sys.argv[1]) // 10))]
    found = {name: seconds(action) for name, action in cases(turicreate, *frames, sys.argv[2]).items() if wanted in name}
    print(json.dumps(found))
