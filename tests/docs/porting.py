"""Reads the tables of ``docs/porting``: names of another library beside what stands for them here.

Cells hold code in backticks. Each piece of it runs in the names of the blocks of Python above its table, with frames of
its own. Where the last cell of a row says nothing, all pieces of the row give the same rows.
"""

from __future__ import annotations

import ast
import contextlib
import datetime
import math
import re
from array import array
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import attrs
import numpy as np

from sframe_spark import SArray, SFrame

PORTING = Path(__file__).parents[2] / "docs" / "porting"
BLOCK = re.compile(r"```(\w+)\n(.*?)\n```", re.DOTALL)
CELLS = re.compile(r"(?<!\\)\|")
CODE = re.compile(r"`([^`]+)`")
HERE = "here"


@attrs.frozen
class Row:
    """A row of a table: pieces of code of the other library and of this one, and what is said of how they differ."""

    theirs: tuple[str, ...]
    ours: tuple[str, ...]
    remark: str


def cells_of(line: str) -> list[str]:
    """The cells of a line of a table."""
    return [cell.strip().replace("\\|", "|") for cell in CELLS.split(line.strip())[1:-1]]


def rows_of(lines: list[str]) -> list[Row]:
    """The rows of a table whose second column is what stands here; none of other tables."""
    head = cells_of(lines[0])
    if HERE not in head:
        return []
    assert head.index(HERE) == 1, f"the second column is {HERE!r}: {lines[0]}"
    rows = [cells_of(line) for line in lines[2:]]
    assert {len(row) for row in rows} == {len(head)}, f"cells are missing, or a bar is not written as \\|: {lines[0]}"
    return [Row(tuple(CODE.findall(row[0])), tuple(CODE.findall(row[1])), " ".join(row[2:])) for row in rows]


def pieces_of(page: Path) -> Iterator[str | list[Row]]:
    """Blocks of Python and tables of a page, in their order."""
    text = page.read_text(encoding="utf-8")
    end = 0
    for block in [*BLOCK.finditer(text), None]:
        between = text[end : block.start() if block else len(text)]
        for lines in re.findall(r"(?:^\|.*\n?)+", between, re.MULTILINE):
            if rows := rows_of(lines.splitlines()):
                yield rows
        if block and block[1] == "python":
            yield block[2]
        end = block.end() if block else end


def plain(value: Any, one_missing: bool) -> Any:
    """A value of any of the libraries as plain Python, so that equal rows are equal; with ``one_missing`` NaN is as a missing value."""
    if isinstance(value, SFrame):
        return value.column_names(), [plain(list(row.values()), one_missing) for row in value]
    kind = type(value).__module__.partition(".")[0]
    if kind_of(value) == "frame":
        return frame_rows(value, one_missing)
    if isinstance(value, Mapping) or hasattr(value, "asDict"):
        items = value.items() if isinstance(value, Mapping) else value.asDict().items()
        return {plain(key, one_missing): plain(item, one_missing) for key, item in items}
    if isinstance(value, SArray | np.ndarray | list | tuple | array) or (
        kind in ("pandas", "polars") and (hasattr(value, "to_list") or hasattr(value, "tolist"))
    ):
        return [plain(item, one_missing) for item in value]
    return plain_scalar(value, one_missing)


def frame_rows(frame: Any, one_missing: bool) -> Any:
    """Names and rows of a frame of another library; an index of pandas is left out."""
    if type(frame).__name__ == "LazyFrame":
        frame = frame.collect()
    if hasattr(frame, "itertuples"):
        rows = list(frame.itertuples(index=False, name=None))
    else:
        rows = frame.rows() if hasattr(frame, "rows") else [tuple(row) for row in frame.collect()]
    return [str(name) for name in frame.columns], [plain(list(row), one_missing) for row in rows]


def plain_scalar(value: Any, one_missing: bool) -> Any:
    """A single value as plain Python."""
    if isinstance(value, np.generic):
        value = value.item()
    if hasattr(value, "to_pydatetime"):
        value = None if value != value else value.to_pydatetime()
    if isinstance(value, datetime.datetime):
        return value.replace(tzinfo=None)
    if isinstance(value, datetime.date):
        return datetime.datetime(value.year, value.month, value.day)
    if isinstance(value, datetime.timedelta):
        return value.total_seconds()
    if isinstance(value, float):
        return (None if one_missing else "NaN") if math.isnan(value) else float(f"{value:.10g}")
    if type(value).__name__ in ("NAType", "NaTType"):
        return None
    return int(value) if isinstance(value, bool) else value


def fresh(names: Mapping[str, Any]) -> dict[str, Any]:
    """The names with frames of their own, which code may change."""
    return {name: own(value) for name, value in names.items()}


def own(value: Any) -> Any:
    """A frame that code may change, other things as they are."""
    if isinstance(value, SFrame) or (type(value).__module__.partition(".")[0] == "pandas" and hasattr(value, "columns")):
        return value.copy()
    return value.clone() if type(value).__module__.partition(".")[0] == "polars" and hasattr(value, "clone") else value


def run(code: str, names: Mapping[str, Any], frame: str) -> tuple[Any, dict[str, Any]]:
    """What code gives: the value of its last expression, or else the frame that it changed."""
    scope = fresh(names)
    tree = ast.parse(code)
    last = tree.body[-1]
    if not isinstance(last, ast.Expr):
        exec(compile(tree, code, "exec"), scope)
        return scope.get(frame), scope
    exec(compile(ast.Module(tree.body[:-1], []), code, "exec"), scope)
    value = eval(compile(ast.Expression(last.value), code, "eval"), scope)
    if kind_of(value) == "column" and hasattr(scope.get(frame), "select"):
        value = column_of(value, scope[frame])
    return scope.get(frame) if value is None else value, scope


def column_of(value: Any, frame: Any) -> Any:
    """The values of a column of pandas or polars, or of an expression of polars or Spark over a frame."""
    if type(value).__name__ == "Expr":
        return frame.select(value).to_series()
    return [row[0] for row in frame.select(value).collect()] if type(value).__name__ == "Column" else value


def members_of(code: str, names: Mapping[str, Any], kind_of: Callable[[Any], str | None]) -> Iterator[tuple[str, str]]:
    """Members that code of another library asks for, with the kind of thing that has them: "frame", "column" or "module"."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Attribute):
            owner = None
            # Names that the code itself makes, as those of a lambda's arguments, are nothing here.
            with contextlib.suppress(NameError, KeyError):
                owner = eval(compile(ast.Expression(node.value), code, "eval"), fresh(names))
            if kind := kind_of(owner):
                yield kind, node.attr


def kind_of(owner: Any) -> str | None:
    """What stands for a thing of another library here."""
    module, name = type(owner).__module__.partition(".")[0], type(owner).__name__
    if isinstance(owner, ModuleType):
        return "module" if owner.__name__ in ("pandas", "polars") else None
    if module not in ("pandas", "polars", "pyspark"):
        return None
    return {"DataFrame": "frame", "LazyFrame": "frame", "Index": "column", "Series": "column", "Expr": "column", "Column": "column"}.get(name)


WORDS = re.compile(r"\w+")


def words_of_ours(code: str) -> set[str]:
    """Members and functions that code of ours uses: a hint names one of them."""
    found = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            found.add(node.func.id)
    return found
