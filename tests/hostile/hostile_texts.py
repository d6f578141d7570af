"""CSV and Parquet files, texts of plans and nested values that try to run code, allocate without bound, or hang."""

from __future__ import annotations

import base64
import json
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from sframe_spark import SArray, SFrame, load_sframe
from sframe_spark.plugin import frame_of, graph_from_json, graph_to_json, node_of
from tests.hostile.canary import Canary

Case = Callable[[Path], Any]


def csv(content: bytes | str, **options: Any) -> Case:
    """Read a file with a content."""

    def run(directory: Path) -> None:
        file = directory / "file.csv"
        file.write_bytes(content.encode() if isinstance(content, str) else content)
        frame = SFrame.read_csv(str(file), **options)
        list(frame.head(3)), len(frame)

    return run


def csv_pipe(directory: Path) -> None:
    """A directory of CSV files, one of them a pipe that nobody writes to."""
    (directory / "all").mkdir()
    (directory / "all" / "a.csv").write_text("a\n1\n")
    os.mkfifo(directory / "all" / "b.csv")
    list(SFrame.read_csv(str(directory / "all")))


def parquet(table: pa.Table | bytes, **options: Any) -> Case:
    """Read a file of a table, or of bytes."""

    def run(directory: Path) -> None:
        file = directory / "file.parquet"
        if isinstance(table, bytes):
            file.write_bytes(table)
        else:
            pq.write_table(table, file, **options)
        list(SFrame.read_parquet(str(file)).head(3))

    return run


def pickled_extension(directory: Path) -> None:
    """A column of the extension type that pyarrow once unpickled."""
    payload = pickle.dumps(Canary(directory / "canary"))
    metadata = {b"ARROW:extension:name": b"arrow.py_extension_type", b"ARROW:extension:metadata": payload}
    field = pa.field("a", pa.int64(), metadata=metadata)
    parquet(pa.Table.from_arrays([pa.array([1, 2])], schema=pa.schema([field])))(directory)


def pandas_metadata(directory: Path) -> None:
    """Metadata for pandas that names code."""
    content = {"index_columns": ["__import__('os').system('true')"], "columns": [{"name": "a", "numpy_type": "object", "metadata": None}]}
    table = pa.table({"a": [1, 2]}).replace_schema_metadata({b"pandas": json.dumps(content).encode(), b"ARROW:schema": b"!!!!"})
    parquet(table)(directory)


def parquet_pipe(directory: Path) -> None:
    """A directory of Parquet files, one of them a pipe."""
    pq.write_table(pa.table({"a": [1]}), directory / "a.parquet")
    os.mkfifo(directory / "b.parquet")
    list(SFrame.read_parquet(str(directory)))


def wide_footer(directory: Path) -> None:
    """A footer that says it is longer than the file."""
    parquet(b"PAR1" + bytes(100) + (2**31 - 1).to_bytes(4, "little") + b"PAR1")(directory)


def deep_parquet(directory: Path) -> None:
    """A column of lists of lists, 100 deep."""
    column = pa.array([[1]])
    for _ in range(100):
        column = pa.ListArray.from_arrays([0, 1], column)
    parquet(pa.table({"a": column}))(directory)


def plan(change: Callable[[dict[str, Any]], Any] | str, compute: bool = True) -> Case:
    """Read a changed plan, and compute its first rows."""

    def run(directory: Path) -> None:
        if isinstance(change, str):
            text = change
        else:
            content = json.loads(graph_to_json(node_of(SArray([1, 2, 3]) + 1)))
            change(content)
            text = json.dumps(content)
        node = graph_from_json(text)
        if compute:
            list(frame_of(node, [f"c{i}" for i in range(len(node.schema))]).head(2))

    return run


def source(name: str, result: list[str], **parameters: Any) -> Case:
    """A plan of one source."""
    node = {"operator": name, "parameters": parameters, "inputs": [], "types": result, "rows": None}
    return plan(json.dumps({"format": "sframe_spark.plan", "version": 2, "chunks": [], "nodes": [node]}))


def plan_of_files(make: Callable[[Path], Any], file: str = "segment") -> Case:
    """A plan over a saved frame of which the directory is changed afterwards."""

    def run(directory: Path) -> None:
        SFrame({"a": [1, 2, 3]}).save(str(directory / "frame"))
        text = graph_to_json(node_of(load_sframe(str(directory / "frame"))))
        found = next((directory / "frame").glob("segment-*"))
        if file == "segment":
            found.rename(directory / "elsewhere")
            make(found)
        else:
            text = text.replace(found.name, file)
        node = graph_from_json(text)
        list(frame_of(node, ["a"]))

    return run


def extension_in_plan(directory: Path) -> None:
    """Rows in a plan of the extension type that pyarrow once unpickled."""
    metadata = {b"ARROW:extension:name": b"arrow.py_extension_type", b"ARROW:extension:metadata": pickle.dumps(Canary(directory / "canary"))}
    schema = pa.schema([pa.field("c0", pa.int64(), metadata=metadata)])
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema) as writer:
        writer.write_table(pa.Table.from_arrays([pa.array([1, 2, 3])], schema=schema))
    plan(lambda content: content.update(chunks=[base64.b64encode(sink.getvalue()).decode()]))(directory)


def nested(levels: int, as_dict: bool = False) -> Any:
    """A value so many lists or dicts deep."""
    value: Any = ["x"]
    for _ in range(levels - 1):
        value = {"k": value} if as_dict else [value]
    return value


def holds_itself() -> list[Any]:
    """A list that is its own element."""
    value: list[Any] = ["x"]
    value.append(value)
    return value


REFUSED: dict[str, Case] = {
    "csv: UTF-16": csv("a,b\n1,2\n".encode("utf-16")),
    "csv: not UTF-8": csv(b"a,b\n1,\xff\xfe\n"),
    "parquet: no footer": parquet(b"PAR1" + bytes(50)),
    "parquet: a pickle": parquet(pickle.dumps(Canary(Path("canary")))),
    "parquet: a long footer": wide_footer,
    "plan: no JSON": plan("__import__('os')"),
    "plan: brackets": plan("[" * 200_000),
    "plan: objects": plan('{"format":' * 30_000),
    "plan: a class of Python's": plan(lambda content: content["nodes"][-1]["parameters"].update(operands=[{"$value": "Popen", "args": "true"}])),
    "plan: a module for an operator": plan(lambda content: content["nodes"][-1].update(operator="os.system")),
    "plan: a user's function": plan(lambda content: content["nodes"][-1].update(operator="lambda_transform", parameters={"function": "print"})),
    "plan: deep parameters": plan(lambda content: content["nodes"][-1]["parameters"].update(function=nested(900))),
    "plan: a negative chunk": plan(lambda content: content["nodes"][0]["parameters"].update(data={"$chunk": -1})),
    "plan: a cycle": plan(lambda content: content["nodes"][0].update(inputs=[0])),
    "plan: an input before the first": plan(lambda content: content["nodes"][-1].update(inputs=[-1])),
    "plan: broken rows": plan(lambda content: content.update(chunks=[base64.b64encode(b"\xff\xff\xff\xff\xff\xff\xff\x7f" * 9).decode()])),
    "plan: rows that are a pickle": plan(lambda content: content.update(chunks=[base64.b64encode(pickle.dumps(Canary(Path("canary")))).decode()])),
    "plan: columns that are not there": plan(lambda content: content["nodes"][0]["parameters"].update(positions=[5])),
    "plan: rows that are not there": plan(lambda content: content["nodes"][0]["parameters"].update(stop=10**9)),
    "plan: a range without end": source("range_source", ["int"], start=0, rows=10**30, step=1),
    "plan: a range beyond 64 bits": source("range_source", ["int"], start=2**62, rows=2**61, step=2**10),
    "plan: less than no rows": source("range_source", ["int"], start=0, rows=-1, step=1),
    "plan: a range of true": source("range_source", ["int"], start=True, rows=3, step=1),
    "plan: a live frame": source("spark_source", ["int"], df="spark", types=[{"$type": "int"}]),
    "plan: files elsewhere": plan_of_files(lambda file: None, "../elsewhere"),
    "plan: a pipe for a file": plan_of_files(os.mkfifo),
    "plan: a link for a file": plan_of_files(lambda file: file.symlink_to(file.parent.parent / "elsewhere")),
    "plan: a device for a file": plan_of_files(lambda file: file.symlink_to("/dev/zero")),
    "plan: no file": plan_of_files(lambda file: None),
    "nested: 500 lists": lambda directory: SArray([nested(500)]),
    "nested: 5,000 lists": lambda directory: SArray([nested(5_000)]),
    "nested: 100,000 lists": lambda directory: SArray([nested(100_000)]),
    "nested: 500 dicts": lambda directory: SArray([nested(500, as_dict=True)]),
    "nested: 5,000 dicts": lambda directory: SFrame({"a": [nested(5_000, as_dict=True)]}),
    "nested: a list in itself": lambda directory: SArray([holds_itself()]),
    "nested: results of a function": lambda directory: list(SArray([1]).apply(lambda value: nested(5_000), dtype=list)),
    "nested: results of a function, 500 deep": lambda directory: list(SArray([1]).apply(lambda value: nested(500, as_dict=True), dtype=dict)),
    "nested: a literal": lambda directory: list(SArray([["a"], None]).fillna(nested(5_000))),
    "nested: a constant": lambda directory: SArray.from_const(nested(5_000), 3),
    "cast: 5,000 brackets": lambda directory: list(SArray(["[" * 5_000 + "]" * 5_000]).astype(list)),
    "cast: 5,000 braces": lambda directory: list(SArray(["{a:" * 5_000]).astype(dict)),
    "cast: an int of 5,000 digits": lambda directory: list(SArray(["9" * 5_000]).astype(int)),
    "cast: a float beyond all": lambda directory: list(SArray(["0x1p999999999"]).astype(float)),
    "csv: a pipe among the files": csv_pipe,
    "parquet: a pipe among the files": parquet_pipe,
}

ENDED: dict[str, Case] = {
    "csv: NUL": csv("a,b\n1,\x00\n\x00,2\n"),
    "csv: a quote that never ends": csv('a,b\n1,"' + "x,\n" * 40_000),
    "csv: quotes that are escaped": csv('a\n"' + '\\"\n' * 60_000),
    "csv: a quote in each line": csv("a,b\n" + '"x,1\n' * 30_000),
    "csv: three quotes in each line": csv("a,b\n" + '"""x,1\n' * 20_000),
    "csv: 5,000 columns of one name": csv("a," * 5_000 + "\n"),
    "csv: nothing but quotes": csv('"' * 500_001),
    "csv: nothing but line ends": csv("a\n" + "\r\n" * 500_000),
    "csv: a field of 20 MB": csv("a\n" + "x" * 20_000_000 + "\n"),
    "csv: 5,000 columns": csv(",".join(f"c{i}" for i in range(5_000)) + "\n"),
    "csv: brackets in a list": csv("a\n" + "[" * 5_000 + "\n", column_type_hints={"a": list}),
    "csv: an int of 5,000 digits": csv("a\n" + "9" * 5_000 + "\n", column_type_hints={"a": int}),
    "csv: formulas": csv("a\n=cmd|' /C calc'!A0\n"),
    "parquet: a pickled extension type": pickled_extension,
    "parquet: metadata for pandas": pandas_metadata,
    "parquet: lists 100 deep": deep_parquet,
    "parquet: many rows of nothing": parquet(pa.table({"a": pa.nulls(3_000_000, pa.int64())})),
    "plan: a pickled extension type": extension_in_plan,
    "plan: a very long range": source("range_source", ["int"], start=0, rows=10**15, step=1),
    "nested: 190 lists": lambda directory: str(SArray([nested(190)])) + repr(SArray([nested(190)]).astype(str)[0]),
    "nested: 190 dicts": lambda directory: repr(list(SArray([nested(190, as_dict=True)]).unique())),
    "cast: quotes that never end": lambda directory: list(SArray(['["' + "x" * 200_000]).astype(list, undefined_on_failure=True)),
}
