"""How frames and columns look in a terminal and in a notebook."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any

from sframe_spark.api.nodes import column_values, row_tuples
from sframe_spark.planner.infer import infer_planner_node_length
from sframe_spark.planner.node import PlannerNode

SHOWN_ROWS = 10
SHOWN_VALUES = 100
CELL_WIDTH = 30
TABLE_WIDTH = 80


def count_text(node: PlannerNode) -> str:
    """Number of rows, or a question mark when only computing would tell."""
    rows = infer_planner_node_length(node)
    return "?" if rows is None else str(rows)


def column_text(node: PlannerNode) -> str:
    """The first values of a column as a list."""
    values = column_values(node, 0, SHOWN_VALUES + 1)
    if len(values) <= SHOWN_VALUES:
        return str(values)
    return str(values[:SHOWN_VALUES])[:-1] + ", ... ]"


def cell_text(value: Any, width: int = CELL_WIDTH) -> str:
    """One value in a table cell."""
    text = str(list(value)) if type(value).__name__ == "array" else str(value)
    text = text.replace("\n", "\\n")
    return text if len(text) <= width else text[: width - 4] + " ..."


def table_text(names: Sequence[str], rows: Sequence[Sequence[Any]], cell_width: int = CELL_WIDTH) -> str:
    """An ASCII table of rows."""
    cells = [[cell_text(value, cell_width) for value in row] for row in rows]
    shown = [cell_text(name, cell_width) for name in names]
    widths = [max([len(shown[i]), *(len(row[i]) for row in cells)]) for i in range(len(names))]
    line = "+" + "+".join("-" * (width + 2) for width in widths) + "+"
    body = ["|" + "|".join(f" {text.center(width)} " for text, width in zip(row, widths, strict=True)) + "|" for row in [shown, *cells]]
    return "\n".join([line, body[0], line, *body[1:], line]) if cells else "\n".join([line, body[0], line])


def fitting_columns(names: Sequence[str], rows: Sequence[Sequence[Any]], width: int) -> list[list[int]]:
    """Groups of columns that fit into the width one below the other."""
    sizes = [max([len(cell_text(names[i])), *(len(cell_text(row[i])) for row in rows)]) + 3 for i in range(len(names))]
    groups: list[list[int]] = [[]]
    used = 1
    for position, size in enumerate(sizes):
        if groups[-1] and used + size > width:
            groups.append([])
            used = 1
        groups[-1].append(position)
        used += size
    return groups


def frame_tables(node: PlannerNode, names: Sequence[str], shown: int = SHOWN_ROWS, width: int = TABLE_WIDTH) -> str:
    """Tables of the first rows, wide frames in several tables."""
    rows = row_tuples(node, 0, shown)
    tables = []
    for group in fitting_columns(names, rows, width):
        tables.append(table_text([names[i] for i in group], [[row[i] for i in group] for row in rows]))
    return "\n".join(tables)


def footer(node: PlannerNode, names: Sequence[str], shown: int = SHOWN_ROWS) -> str:
    """What the table does not show."""
    rows = infer_planner_node_length(node)
    size = f"[{count_text(node)} rows x {len(names)} columns]"
    if rows is None:
        return (
            f"{size}\nNote: Only the head of the SFrame is printed. This SFrame is lazily evaluated.\n"
            "You can use sf.materialize() to force materialization."
        )
    if rows > shown:
        return (
            f"{size}\nNote: Only the head of the SFrame is printed.\n"
            "You can use print_rows(num_rows=m, num_columns=n) to print more rows and columns."
        )
    return size


def frame_text(node: PlannerNode, names: Sequence[str]) -> str:
    """A frame as ``print`` shows it."""
    return f"{frame_tables(node, names)}\n{footer(node, names)}" if names else "[0 rows x 0 columns]"


def frame_html(node: PlannerNode, names: Sequence[str]) -> str:
    """A frame as an HTML table."""
    rows = row_tuples(node, 0, SHOWN_ROWS) if names else []
    head = "".join(f"<th>{html.escape(name)}</th>" for name in names)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(cell_text(value))}</td>" for value in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table><p>{html.escape(footer(node, names) if names else '')}</p>"
