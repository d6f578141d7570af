"""How frames and columns look in a notebook: HTML tables that need no network and no script."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any

from sframe_spark.api.display import OPEN_ORDER, SHOWN_COLUMNS, SHOWN_ROWS, cell_text
from sframe_spark.api.nodes import first_tuples
from sframe_spark.operators.rowwise.columns import project
from sframe_spark.planner.facts import Schema
from sframe_spark.planner.infer import infer_planner_node_length
from sframe_spark.planner.node import PlannerNode
from sframe_spark.visible import visible

# Colours are those of the page, darker or lighter, so that tables fit light and dark ones.
_STYLE = (
    "<style>.sframe-spark{border-collapse:collapse;font-variant-numeric:tabular-nums}"
    ".sframe-spark th,.sframe-spark td{padding:2px 10px;text-align:left;border-bottom:1px solid rgba(128,128,128,.3);white-space:pre}"
    ".sframe-spark .type{font-weight:normal;font-size:85%;opacity:.65}.sframe-spark .number{text-align:right}"
    ".sframe-spark .missing{opacity:.45;font-style:italic}.sframe-spark-note{font-size:85%;opacity:.75}</style>"
)
# Cells are longer than in a terminal, where a line ends.
CELL_WIDTH = 80


def frame_html(node: PlannerNode, names: Sequence[str]) -> str:
    """The first rows and columns of a frame; the names of columns beyond them can be unfolded."""
    shown = list(names[:SHOWN_COLUMNS])
    schema = node.schema[: len(shown)]
    rows, fixed = first_tuples(project(node, list(range(len(shown)))), SHOWN_ROWS + 1, shown) if shown else ([], True)
    size = f"{_rows_told(node, len(rows), fixed)} x {len(names)} column{'s' * (len(names) != 1)}"
    more = [_escaped(name) for name in names[SHOWN_COLUMNS:]]
    folded = f"<details><summary>{len(more)} more columns</summary>{', '.join(more)}</details>" if more else ""
    return _styled(shown, schema, rows[:SHOWN_ROWS]) + folded + _note(size, fixed)


def column_html(node: PlannerNode) -> str:
    """The first values of a column."""
    rows, fixed = first_tuples(node, SHOWN_ROWS + 1)
    return _styled(["value"], node.schema, rows[:SHOWN_ROWS]) + _note(_rows_told(node, len(rows), fixed), fixed)


def _rows_told(node: PlannerNode, looked_at: int, fixed: bool) -> str:
    """How many rows there are: known, or all that were looked at, or more than these."""
    rows = infer_planner_node_length(node)
    if rows is None and fixed and looked_at <= SHOWN_ROWS:
        rows = looked_at
    if rows is None:
        return f"the first {SHOWN_ROWS} rows, the others are not computed yet"
    return f"{rows:,} row{'s' * (rows != 1)}"


def _note(size: str, fixed: bool) -> str:
    return f'<div class="sframe-spark-note">{html.escape(size if fixed else f"{size}. {OPEN_ORDER}")}</div>'


def _styled(names: Sequence[str], schema: Schema, rows: Sequence[Sequence[Any]]) -> str:
    return f'{_STYLE}<table class="sframe-spark">{table_parts(names, schema, rows, CELL_WIDTH)}</table>'


def table_parts(names: Sequence[str], schema: Schema, rows: Sequence[Sequence[Any]], width: int, first_row: int | None = None) -> str:
    """Head and body of a table of rows: classes ``number``, ``type`` and ``missing`` are for its style.

    Parameters
    ----------
    names, schema
        Of the columns.
    rows
        Their values.
    width
        Characters of a cell that are shown.
    first_row
        Number of the first row, where rows are numbered.
    """
    classes = [' class="number"' if kind.is_numeric else "" for kind in schema]
    head = "".join(f"<th{wide}>{_escaped(name)}</th>" for name, wide in zip(names, classes, strict=True))
    types = "".join(f'<th class="type{" number" * kind.is_numeric}">{kind.python_class.__name__}</th>' for kind in schema)
    corner = "" if first_row is None else "<th></th>"
    numbers = ["" if first_row is None else f'<td class="type number">{first_row + place:,}</td>' for place in range(len(rows))]
    cells = ("".join(_cell(value, of, width) for value, of in zip(row, classes, strict=True)) for row in rows)
    body = "".join(f"<tr>{number}{text}</tr>" for number, text in zip(numbers, cells, strict=True))
    empty = f'<tr><td class="missing" colspan="{max(len(names), 1)}">no rows</td></tr>' if not rows else ""
    return f"<thead><tr>{corner}{head}</tr><tr>{corner}{types}</tr></thead><tbody>{body}{empty}</tbody>"


def _cell(value: Any, of_column: str, width: int) -> str:
    if value is None:
        return f'<td{of_column}><span class="missing">None</span></td>'
    return f"<td{of_column}>{html.escape(cell_text(value, width))}</td>"


def _escaped(name: str) -> str:
    return html.escape(visible(name))
