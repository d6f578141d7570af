"""Members that read and write files. The reference engine's old Python reads this file too."""

from __future__ import annotations

import os
import shutil
import sqlite3
from typing import Any

from benchmarks.members.frames import Frames
from benchmarks.members.samples import Case, how_many, in_order

CSV = ["id", "small", "value", "word"]
JSON = ["id", "word", "value", "bag"]


def prepare_files(f: Frames) -> None:
    """Files that the readers of all sides read."""
    f.plain[CSV].export_csv(f.file("rows.csv"))
    f.nested[["id", "word", "vector", "tags"]].export_csv(f.file("nested.csv"))
    f.nested[JSON].export_json(f.file("rows.json"), orient="records")
    f.nested[JSON].export_json(f.file("lines.json"), orient="lines")


def files(engine: Any, f: Frames, scratch: str) -> dict[str, Case]:
    """All of them, by name; what is written goes to a directory of its own."""
    return {**readers(engine, f), **writers(engine, f, scratch)}


def readers(engine: Any, f: Frames) -> dict[str, Case]:
    """Frames of files."""
    read_csv = engine.SFrame.read_csv
    hints = [int, int, float, str]
    return {
        "read_csv": Case(lambda: read_csv(f.file("rows.csv"), verbose=False), in_order),
        "read_csv, column_type_hints": Case(lambda: read_csv(f.file("rows.csv"), column_type_hints=hints, verbose=False), in_order),
        "read_csv, all text": Case(lambda: read_csv(f.file("rows.csv"), column_type_hints=str, verbose=False), in_order),
        "read_csv_with_errors": Case(
            lambda: engine.SFrame.read_csv_with_errors(f.file("rows.csv"), column_type_hints=hints, verbose=False)[0], in_order
        ),
        "read_csv of arrays and dicts": Case(lambda: read_csv(f.file("nested.csv"), verbose=False), in_order),
        "read_json": Case(lambda: engine.SFrame.read_json(f.file("rows.json"), orient="records"), in_order),
        "read_json, lines": Case(lambda: engine.SFrame.read_json(f.file("lines.json"), orient="lines"), in_order),
        "SArray.read_json": Case(lambda: engine.SArray.read_json(f.file("rows.json")), how_many),
        "load": Case(lambda: len(engine.load_sframe(os.path.join(f.place, "plain"))), in_order),
    }


def writers(engine: Any, f: Frames, scratch: str) -> dict[str, Case]:
    """Files of frames."""

    def place(name: str) -> str:
        path = os.path.join(scratch, name)
        shutil.rmtree(path, ignore_errors=True)
        if os.path.exists(path):
            os.remove(path)
        return path

    return {
        "sf.save": Case(lambda: f.plain[CSV].save(place("saved")), in_order),
        "sa.save": Case(lambda: f.plain["value"].save(place("saved column")), in_order),
        "export_csv": Case(lambda: f.plain[CSV].export_csv(place("out.csv")), in_order),
        "export_csv of dicts": Case(lambda: f.nested[["id", "vector", "tags"]].export_csv(place("out.csv")), in_order),
        "export_json": Case(lambda: f.nested[JSON].export_json(place("out.json"), orient="records"), in_order),
        "export_json, lines": Case(lambda: f.nested[JSON].export_json(place("out.json"), orient="lines"), in_order),
        "to_sql and from_sql": Case(lambda: through_sql(engine, f), how_many),
    }


def through_sql(engine: Any, f: Frames) -> Any:
    """To a table of SQLite in memory, and from it."""
    columns = ["id", "small", "value"]
    with sqlite3.connect(":memory:") as connection:
        connection.execute("create table rows (id integer, small integer, value real)")
        f.nested[columns].head(100_000).to_sql(connection, "rows")
        return engine.SFrame.from_sql(connection, "select * from rows")
