"""How frames and columns look in a notebook: HTML tables that need no network and no script."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from typing import Any

import attrs

from sframe_spark.api.display import LEFT_OUT, OPEN_ORDER, SHOWN_COLUMNS, SHOWN_ROWS, cell_text, columns_taken, first_places, rows_known
from sframe_spark.api.node_values import first_tuples
from sframe_spark.operators.rowwise.arrange import columns_of
from sframe_spark.planner.facts import Schema
from sframe_spark.planner.node import PlannerNode
from sframe_spark.types import ARRAY_KIND, FLOAT_KIND
from sframe_spark.visible import visible

# Colours are those of the page, fainter, so that tables fit light and dark ones; what is faint has a contrast of 4.5 on white and black.
# Notebooks have styles of their own for tables, which these must outweigh.
TABLE_STYLE = (
    "div.sf-table{overflow-x:auto}"
    ".sf-table table{border-collapse:collapse;border:0;margin:0;font-variant-numeric:tabular-nums}"
    ".sf-table table th,.sf-table table td{padding:3px 10px;text-align:left !important;vertical-align:top !important;white-space:pre;max-width:none;"
    "border:0;border-bottom:1px solid rgba(128,128,128,.3);line-height:1.4}"
    ".sf-table table th.sf-number,.sf-table table td.sf-number{text-align:right !important}"
    ".sf-table .sf-type{font-weight:normal;font-size:85%;opacity:.7}.sf-table .sf-missing{opacity:.65;font-style:italic}"
    ".sf-note{font-size:85%;opacity:.8;margin-top:4px}"
)
# Cells are longer than in a terminal, where a line ends.
CELL_WIDTH = 60
# Of a long text this much is told under the mouse, or when it is unfolded.
MORE_TEXT = 2000
# Digits of floats that are shown side by side; all are told under the mouse.
_DIGITS, _MOST_DECIMALS = 7, 6


@attrs.frozen
class CellForm:
    """How the cells of a table are written.

    Parameters
    ----------
    width
        Characters that are shown.
    unfolds
        Whether longer texts unfold, rather than being told under the mouse.
    short_floats
        Whether floats are rounded to digits that stand below each other.
    """

    width: int
    unfolds: bool = False
    short_floats: bool = False


def frame_html(node: PlannerNode, names: Sequence[str]) -> str:
    """The first rows and columns of a frame; the names of columns beyond them can be unfolded."""
    shown = list(names[:SHOWN_COLUMNS])
    schema = node.schema[: len(shown)]
    rows, fixed = first_tuples(columns_of(node, list(range(len(shown)))), SHOWN_ROWS + 1, shown) if shown else ([], True)
    columns = f"{len(names):,} column{'s' * (len(names) != 1)}"
    told = _rows_told(node, len(rows), fixed)
    size = f"{told} \u00d7 {columns}" if told else columns
    more = [_isolated(visible(name)) for name in names[SHOWN_COLUMNS:]]
    folded = f'<details class="sf-note"><summary>{len(more):,} more columns</summary>{", ".join(more)}</details>' if more else ""
    return _styled(shown, schema, rows[:SHOWN_ROWS]) + folded + _note(size, len(rows), told, fixed)


def column_html(node: PlannerNode) -> str:
    """The first values of a column."""
    rows, fixed = first_tuples(node, SHOWN_ROWS + 1)
    told = _rows_told(node, len(rows), fixed)
    return _styled(["value"], node.schema, rows[:SHOWN_ROWS]) + _note(told, len(rows), told, fixed)


def _rows_told(node: PlannerNode, looked_at: int, fixed: bool) -> str:
    """How many rows there are, where that is known or all were looked at."""
    rows = rows_known(node, looked_at, SHOWN_ROWS + 1, fixed)
    return "" if rows is None else f"{rows:,} row{'s' * (rows != 1)}"


def _note(size: str, looked_at: int, rows_told: str, fixed: bool) -> str:
    parts = [size] if size else []
    if not rows_told:
        parts.append(f"the first {SHOWN_ROWS} rows; how many there are is not computed yet")
    elif looked_at > SHOWN_ROWS:
        parts.append(f"the first {SHOWN_ROWS} are shown")
    told = "; ".join(parts)
    return f'<div class="sf-note">{html.escape(told if fixed else f"{told}. {OPEN_ORDER}")}</div>'


def _styled(names: Sequence[str], schema: Schema, rows: Sequence[Sequence[Any]]) -> str:
    parts = table_parts(names, schema, rows, CellForm(CELL_WIDTH, short_floats=True))
    return f'<style>{TABLE_STYLE}</style><div class="sf-table"><table>{parts}</table></div>'


def table_parts(names: Sequence[str], schema: Schema, rows: Sequence[Sequence[Any]], form: CellForm, first_row: int | None = None) -> str:
    """Head and body of a table of rows: classes ``sf-number``, ``sf-type`` and ``sf-missing`` are for its style.

    Parameters
    ----------
    names, schema
        Of the columns.
    rows
        Their values.
    form
        How cells are written.
    first_row
        Number of the first row, where rows are numbered.
    """
    classes = [' class="sf-number"' if kind.is_numeric else "" for kind in schema]
    heads = (
        f'<th scope="col"{of_column}>{_isolated(visible(name))}<br/><span class="sf-type">{kind.python_class.__name__}</span></th>'
        for name, of_column, kind in zip(names, classes, schema, strict=True)
    )
    corner = "" if first_row is None else "<td></td>"
    numbers = ["" if first_row is None else f'<th scope="row" class="sf-type sf-number">{first_row + place:,}</th>' for place in range(len(rows))]
    columns = [_cells([row[place] for row in rows], kind.kind, form) for place, kind in enumerate(schema)]
    lines = zip(numbers, zip(*columns, strict=True) if columns else [()] * len(rows), strict=True)
    body = "".join(
        f"<tr>{number}{''.join(f'<td{of_column}>{cell}</td>' for of_column, cell in zip(classes, cells, strict=True))}</tr>"
        for number, cells in lines
    )
    empty = f'<tr><td class="sf-missing" colspan="{max(len(names), 1)}">no rows</td></tr>' if not rows else ""
    return f"<thead><tr>{corner}{''.join(heads)}</tr></thead><tbody>{body}{empty}</tbody>"


def _cells(values: Sequence[Any], kind: str, form: CellForm) -> list[str]:
    """The cells of a column."""
    if kind == FLOAT_KIND and form.short_floats:
        return [_missing() if value is None else _short(text, repr(value)) for value, text in zip(values, short_floats(values), strict=True)]
    if kind == ARRAY_KIND and form.short_floats:
        return [_missing() if value is None else _cell(value, form, f"[{', '.join(f'{number:.4g}' for number in value)}]") for value in values]
    return [_missing() if value is None else _cell(value, form) for value in values]


def _missing() -> str:
    return '<span class="sf-missing">None</span>'


def _short(text: str, whole: str) -> str:
    return text if text == whole else f'<span title="{whole}">{text}</span>'


def short_floats(values: Sequence[float | None]) -> list[str]:
    """Floats with as many decimals as fit all of a column; of very large and very small ones six digits.

    Examples
    --------
    >>> short_floats([1.5, None, float("nan")]), short_floats([181.59366277839916, 3.25]), short_floats([1e-9, 123456789.123])
    (['1.5', '', 'nan'], ['181.5937', '3.2500'], ['1e-09', '1.23457e+08'])
    """
    finite = [abs(value) for value in values if value is not None and math.isfinite(value)]
    most, least = max(finite, default=0.0), min((value for value in finite if value), default=1.0)
    written = max((len(repr(value).partition(".")[2]) for value in finite), default=0)
    decimals = min(written, max(_DIGITS - len(f"{most:.0f}"), 1), _MOST_DECIMALS)
    # No number looks like zero.
    if most >= 1e9 or least < 10.0**-decimals:
        return ["" if value is None else repr(value) if len(repr(value)) <= _DIGITS else f"{value:.6g}" for value in values]
    return ["" if value is None else f"{value:.{decimals}f}" if math.isfinite(value) else repr(value) for value in values]


def _cell(value: Any, form: CellForm, short: str | None = None) -> str:
    more = cell_text(value, MORE_TEXT)
    text = more if short is None else short
    text = text if columns_taken(text) <= form.width else first_places(text, form.width - 4) + LEFT_OUT
    if text == more:
        return _isolated(text)
    if form.unfolds:
        return f"<details><summary>{_isolated(text)}</summary>{_isolated(more)}</details>"
    return f'<span title="{html.escape(more)}">{_isolated(text)}</span>'


def _isolated(text: str) -> str:
    """A text as HTML, that does not turn round what stands beside it where it is written from right to left."""
    return html.escape(text) if text.isascii() else f"<bdi>{html.escape(text)}</bdi>"
