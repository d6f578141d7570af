"""Displays frames and columns as text tables, and as HTML for notebooks, which loads nothing from a network and contains no scripts."""

from __future__ import annotations

import array
import base64
import bisect
import itertools
import math
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

import attrs
import numpy as np

from sframe_spark.api.node_value_conversion import preview_rows, preview_values, row_count
from sframe_spark.images import JPEG, PNG, Image, text_of_image
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.message_text import visible
from sframe_spark.operators.project_zip_arrange import columns_of
from sframe_spark.planner.length_and_order_inference import infer_planner_node_length
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.node_facts import Schema
from sframe_spark.types import ARRAY_KIND, FLOAT_KIND

with lazy_imports(globals()):
    from html import escape

MAX_DISPLAYED_ROWS = 10
MAX_DISPLAYED_VALUES = 100
MAX_DISPLAYED_COLUMNS = 20
CELL_WIDTH = 30
TABLE_WIDTH = 80
LEFT_OUT = "..."
OPEN_ORDER = "The rows are those of a Spark DataFrame: their order is fixed when they are first used in order."


def known_row_count(node: PlannerNode, previewed: int, limit: int, fixed: bool = True) -> int | None:
    """Return the number of rows if it can be inferred, or if a preview of ``limit`` rows found fewer; otherwise None."""
    rows = infer_planner_node_length(node)
    return previewed if rows is None and fixed and previewed < limit else rows


def count_text(rows: int | None) -> str:
    """Return the number of rows as a string, or a question mark if it is unknown (None)."""
    return "?" if rows is None else str(rows)


def column_text(node: PlannerNode) -> str:
    """Return the first values of a column as a string, written like a Python list."""
    return _values_text(*preview_values(node, MAX_DISPLAYED_VALUES + 1))


def column_description(node: PlannerNode, dtype: type) -> str:
    """Return what ``repr`` shows for a column: the class of its values, the number of rows if known, and the first values."""
    values, fixed = preview_values(node, MAX_DISPLAYED_VALUES + 1)
    rows = count_text(known_row_count(node, len(values), MAX_DISPLAYED_VALUES + 1, fixed))
    return f"dtype: {dtype.__name__}\nRows: {rows}\n{_values_text(values, fixed)}"


def _values_text(values: Sequence[Any], fixed: bool) -> str:
    below = "" if fixed else f"\n{OPEN_ORDER}"
    values = [text_of_image(value) if isinstance(value, Image) else value for value in values]
    if len(values) <= MAX_DISPLAYED_VALUES:
        return f"{values}{below}"
    return f"{str(values[:MAX_DISPLAYED_VALUES])[:-1]}, ... ]{below}"


def cell_text(value: Any, width: int = CELL_WIDTH) -> str:
    """Return a value as a string for a table cell, truncated to ``width``; strings in lists are not quoted."""
    return fitting(visible(unquoted_text(value)), width)


def unquoted_text(value: Any) -> str:
    """Return a value as a string; strings in lists are not quoted.

    Examples
    --------
    >>> unquoted_text([1, "a", ["b"]])
    '[1, a, [b]]'
    """
    if isinstance(value, Image):
        return text_of_image(value)
    if isinstance(value, np.ndarray):
        # As in Turi Create, the lines of an array are one line.
        return str(value).replace("\n", " ")
    return f"[{', '.join(map(unquoted_text, value))}]" if isinstance(value, (list, array.array)) else str(value)


def fitting(text: str, width: int) -> str:
    """Return a string, or if it takes more than ``width`` terminal columns, its beginning and three dots."""
    return text if display_width(text) <= width else truncated(text, width - 4) + LEFT_OUT


def display_width(text: str) -> int:
    """Return how many terminal columns a string takes: East Asian wide characters take two, combining marks none.

    Examples
    --------
    >>> display_width("ab"), display_width("日本"), display_width("e\u0301")
    (2, 4, 1)
    """
    return len(text) if text.isascii() else sum(map(character_width, text))


def character_width(character: str) -> int:
    """Return how many terminal columns a character takes: 0, 1 or 2."""
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def truncated(text: str, width: int) -> str:
    """Return the longest prefix of a string that fits a number of terminal columns.

    Examples
    --------
    >>> truncated("abc", 2), truncated("日本", 3)
    ('ab', '日')
    """
    widths = list(itertools.accumulate(map(character_width, text)))
    return text[: bisect.bisect_right(widths, width)]


def centred(text: str, width: int) -> str:
    """Return a string centred in a number of terminal columns; if the padding is odd, the extra space is where ``str.center`` puts it."""
    padding = max(width - display_width(text), 0)
    left = padding // 2 + (padding & width & 1)
    return " " * left + text + " " * (padding - left)


def table_text(names: Sequence[str], rows: Sequence[Sequence[Any]], cell_width: int = CELL_WIDTH) -> str:
    """Return rows as a text table with a header and borders of ASCII characters."""
    cells = [[cell_text(value, cell_width) for value in row] for row in rows]
    headers = [cell_text(name, cell_width) for name in names]
    widths = [max(display_width(text) for text in (headers[i], *(row[i] for row in cells))) for i in range(len(names))]
    line = "+" + "+".join("-" * (width + 2) for width in widths) + "+"
    body = ["|" + "|".join(f" {centred(text, width)} " for text, width in zip(row, widths, strict=True)) + "|" for row in [headers, *cells]]
    return "\n".join([line, body[0], line, *body[1:], line])


def fitting_columns(names: Sequence[str], rows: Sequence[Sequence[Any]], width: int, cell_width: int = CELL_WIDTH) -> list[list[int]]:
    """Return lists of column positions; the columns of each list fit the width, and the lists become tables one below the other.

    A column starts a new table if the values would not fit, however wide its name is. Without rows, values are assumed to be ``cell_width`` wide.
    """
    groups: list[list[int]] = [[]]
    used = 0
    for position, name in enumerate(names):
        # Strings in lists count with their quotes, as in Turi Create.
        texts = [str(list(row[position]) if isinstance(row[position], array.array) else row[position]) for row in rows]
        value_width = max(map(display_width, texts), default=cell_width)
        if groups[-1] and used + min(value_width, cell_width) >= width:
            groups.append([])
            used = 0
        groups[-1].append(position)
        used += max(display_width(cell_text(value, cell_width)) for value in (name, *(row[position] for row in rows))) + (3 if used else 4)
    return groups


@attrs.frozen
class DisplayedRows:
    """The first rows of a frame as text tables.

    Parameters
    ----------
    text
        The tables, one below the other.
    rows
        Number of rows of the frame; None if it is unknown.
    fixed
        Whether these will remain the first rows; the order of a Spark DataFrame may not be fixed yet.
    """

    text: str
    rows: int | None
    fixed: bool


def frame_tables(
    node: PlannerNode,
    names: Sequence[str],
    max_rows: int = MAX_DISPLAYED_ROWS,
    width: int = TABLE_WIDTH,
    cell_width: int = CELL_WIDTH,
    max_columns: int = MAX_DISPLAYED_COLUMNS,
) -> DisplayedRows:
    """Return the first rows of a frame as one or, if it is wide, several text tables."""
    if not names:
        return DisplayedRows(table_text([], []), infer_planner_node_length(node), True)
    displayed = list(names[:max_columns])
    # If nothing else is known, one more row shows whether these are all rows.
    preview_size = max_rows + (infer_planner_node_length(node) is None)
    preview, fixed = preview_rows(columns_of(node, list(range(len(displayed)))), preview_size, displayed)
    rows: list[Sequence[Any]] = list(preview[:max_rows])
    if len(displayed) < len(names):
        displayed.append(LEFT_OUT)
        rows = [(*row, LEFT_OUT) for row in rows]
    tables = [
        table_text([displayed[i] for i in group], [[row[i] for i in group] for row in rows], cell_width)
        for group in fitting_columns(displayed, rows, width, cell_width)
    ]
    return DisplayedRows("\n".join(tables), known_row_count(node, len(preview), preview_size, fixed), fixed)


def printed_rows(node: PlannerNode, names: Sequence[str], max_rows: int, width: int, cell_width: int, max_columns: int) -> str:
    """Return what ``print_rows`` prints: the first rows and the number of rows, which is computed unless the rows' order is not fixed yet."""
    tables = frame_tables(node, names, max_rows, width, cell_width, max_columns)
    rows = row_count(node) if tables.fixed else tables.rows
    return f"{tables.text}\n[{count_text(rows)} rows x {len(names)} columns]\n" + ("" if tables.fixed else f"{OPEN_ORDER}\n")


def with_footer(tables: DisplayedRows, column_count: int, max_rows: int = MAX_DISPLAYED_ROWS) -> str:
    """Return the tables, and below them the numbers of rows and columns, and a note if only the first rows are shown."""
    note = ""
    if tables.rows is None:
        note = "Note: Only the head of the SFrame is printed. This SFrame is lazily evaluated.\n"
        note += "You can use sf.materialize() to force materialization." + ("" if tables.fixed else f"\n{OPEN_ORDER}")
    elif tables.rows > max_rows:
        note = "Note: Only the head of the SFrame is printed.\nYou can use print_rows(num_rows=m, num_columns=n) to print more rows and columns."
    return f"{tables.text}\n[{count_text(tables.rows)} rows x {column_count} columns]\n{note}"


def frame_text(node: PlannerNode, names: Sequence[str], max_rows: int = MAX_DISPLAYED_ROWS, has_footer: bool = True) -> str:
    """Return what ``print`` shows for a frame: the first rows, and below them (with ``has_footer``) the numbers of rows and columns."""
    tables = frame_tables(node, names, max_rows)
    return with_footer(tables, len(names), max_rows) if has_footer else tables.text


def frame_description(node: PlannerNode, names: Sequence[str]) -> str:
    """Return what ``repr`` shows for a frame: names and classes of the columns, number of rows if known, and the first rows."""
    columns = [f"\t{visible(name)}\t{column_type.python_class.__name__}" for name, column_type in zip(names, node.schema, strict=False)]
    tables = frame_tables(node, names) if names and infer_planner_node_length(node) != 0 else None
    rows = tables.rows if tables is not None else infer_planner_node_length(node)
    data = "\t[]" if tables is None or rows == 0 else with_footer(tables, len(names))
    return "\n".join(["Columns:", *(columns or ["\tNone"]), "", f"Rows: {'Unknown' if rows is None else rows}", "", "Data:", data])


# Colours are the page's own with transparency, so that tables suit light and dark pages; faint text has a contrast of 4.5 on white and on black.
# Some rules need "!important" to override the notebook's own styles for tables.
TABLE_STYLE = (
    "div.sf-table{overflow-x:auto}"
    ".sf-table table{border-collapse:collapse;border:0;margin:0;font-variant-numeric:tabular-nums}"
    ".sf-table table th,.sf-table table td{padding:3px 10px;text-align:left !important;vertical-align:top !important;white-space:pre;max-width:none;"
    "border:0;border-bottom:1px solid rgba(128,128,128,.3);line-height:1.4}"
    ".sf-table table th.sf-number,.sf-table table td.sf-number{text-align:right !important}"
    ".sf-table .sf-type{font-weight:normal;font-size:85%;opacity:.7}.sf-table .sf-missing{opacity:.65;font-style:italic}"
    ".sf-note{font-size:85%;opacity:.8;margin-top:4px}"
)
# Characters in a notebook's cell; more than in a terminal's.
NOTEBOOK_CELL_WIDTH = 60
# Characters of a long value in its tooltip, or after it is unfolded.
MORE_TEXT = 2000
# How many digits of a float are displayed, and how many of these at most after the point. The tooltip has all digits.
_DIGITS, _MAX_DECIMALS = 7, 6


@attrs.frozen
class CellForm:
    """How the cells of a table are displayed.

    Parameters
    ----------
    width
        Maximum number of characters; longer values are truncated.
    unfolds
        Whether a truncated value can be unfolded with a click; otherwise its tooltip has the whole value.
    short_floats
        Whether the floats of a column are rounded to the same number of decimals.
    """

    width: int
    unfolds: bool = False
    short_floats: bool = False


def frame_html(node: PlannerNode, names: Sequence[str]) -> str:
    """Return the first rows and columns of a frame as HTML; a click shows the names of the other columns."""
    displayed = list(names[:MAX_DISPLAYED_COLUMNS])
    schema = node.schema[: len(displayed)]
    rows, fixed = preview_rows(columns_of(node, list(range(len(displayed)))), MAX_DISPLAYED_ROWS + 1, displayed) if displayed else ([], True)
    columns = f"{len(names):,} column{'s' * (len(names) != 1)}"
    more = [_isolated(visible(name)) for name in names[MAX_DISPLAYED_COLUMNS:]]
    folded = f'<details class="sf-note"><summary>{len(more):,} more columns</summary>{", ".join(more)}</details>' if more else ""
    return _styled(displayed, schema, rows[:MAX_DISPLAYED_ROWS]) + folded + _note(node, len(rows), fixed, [columns])


def column_html(node: PlannerNode, name: str | None = None) -> str:
    """Return the first values of a column as HTML, under its name if it has one."""
    rows, fixed = preview_rows(node, MAX_DISPLAYED_ROWS + 1)
    return _styled([name or "value"], node.schema, rows[:MAX_DISPLAYED_ROWS]) + _note(node, len(rows), fixed, [])


def _note(node: PlannerNode, previewed: int, fixed: bool, columns: list[str]) -> str:
    """Return the line below a table: the number of rows if known, ``columns`` (a phrase, or nothing), and whether these are only the first rows."""
    rows = known_row_count(node, previewed, MAX_DISPLAYED_ROWS + 1, fixed)
    size = " \u00d7 ".join([*([] if rows is None else [f"{rows:,} row{'s' * (rows != 1)}"]), *columns])
    parts = [size] if size else []
    if rows is None:
        parts.append(f"the first {MAX_DISPLAYED_ROWS} rows; how many there are is not computed yet")
    elif previewed > MAX_DISPLAYED_ROWS:
        parts.append(f"the first {MAX_DISPLAYED_ROWS} are shown")
    text = "; ".join(parts)
    return f'<div class="sf-note">{escape(text if fixed else f"{text}. {OPEN_ORDER}")}</div>'


def _styled(names: Sequence[str], schema: Schema, rows: Sequence[Sequence[Any]]) -> str:
    parts = table_parts(names, schema, rows, CellForm(NOTEBOOK_CELL_WIDTH, short_floats=True))
    return f'<style>{TABLE_STYLE}</style><div class="sf-table"><table>{parts}</table></div>'


def rows_html(title: str, rows: Iterable[tuple[str, Any]]) -> str:
    """Return named values as an HTML table for a notebook; floats are in a few digits, and all of them in the tooltip.

    Examples
    --------
    >>> rows_html("", [("mean", 1.5)]).partition("<table>")[2]
    '<tbody><tr><th>mean</th><td>1.5</td></tr></tbody></table></div>'
    """
    lines, form = [], CellForm(NOTEBOOK_CELL_WIDTH)
    for name, value in rows:
        short = f"{value:.6g}" if isinstance(value, float) else None
        cell = '<span class="sf-missing">None</span>' if value is None else _cell(value, form, short)
        lines.append(f"<tr><th>{_isolated(visible(fitting(str(name), NOTEBOOK_CELL_WIDTH)))}</th><td>{cell}</td></tr>")
    caption = f'<caption class="sf-type">{escape(title)}</caption>' if title else ""
    empty = '<tr><td class="sf-missing">none</td></tr>' if not lines else ""
    return f'<style>{TABLE_STYLE}</style><div class="sf-table"><table>{caption}<tbody>{"".join(lines)}{empty}</tbody></table></div>'


def table_parts(names: Sequence[str], schema: Schema, rows: Sequence[Sequence[Any]], form: CellForm, first_row: int | None = None) -> str:
    """Return the head and body of an HTML table; they use the CSS classes ``sf-number``, ``sf-type`` and ``sf-missing``.

    Parameters
    ----------
    names, schema
        Names and types of the columns.
    rows
        The rows.
    form
        How cells are displayed.
    first_row
        Number shown for the first row; None if rows are not numbered.
    """
    classes = [' class="sf-number"' if column_type.is_numeric else "" for column_type in schema]
    heads = (
        f'<th scope="col"{of_column}>{_isolated(visible(name))}<br/><span class="sf-type">{column_type.python_class.__name__}</span></th>'
        for name, of_column, column_type in zip(names, classes, schema, strict=True)
    )
    corner = "" if first_row is None else "<td></td>"
    numbers = ["" if first_row is None else f'<th scope="row" class="sf-type sf-number">{first_row + index:,}</th>' for index in range(len(rows))]
    columns = [_cells([row[position] for row in rows], column_type.kind, form) for position, column_type in enumerate(schema)]
    lines = zip(numbers, zip(*columns, strict=True) if columns else [()] * len(rows), strict=True)
    body = "".join(
        f"<tr>{number}{''.join(f'<td{of_column}>{cell}</td>' for of_column, cell in zip(classes, cells, strict=True))}</tr>"
        for number, cells in lines
    )
    empty = f'<tr><td class="sf-missing" colspan="{max(len(names), 1)}">no rows</td></tr>' if not rows else ""
    return f"<thead><tr>{corner}{''.join(heads)}</tr></thead><tbody>{body}{empty}</tbody>"


def _cells(values: Sequence[Any], kind: str, form: CellForm) -> list[str]:
    """Return the values of a column as the HTML of its cells."""
    if kind == FLOAT_KIND and form.short_floats:
        pairs = zip(values, short_floats(values), strict=True)
        cells = [text if text == repr(value) else f'<span title="{value!r}">{text}</span>' for value, text in pairs]
    elif kind == ARRAY_KIND and form.short_floats:
        cells = ["" if value is None else _cell(value, form, f"[{', '.join(f'{number:.4g}' for number in value)}]") for value in values]
    else:
        cells = ["" if value is None else _cell(value, form) for value in values]
    return ['<span class="sf-missing">None</span>' if value is None else cell for value, cell in zip(values, cells, strict=True)]


def short_floats(values: Sequence[float | None]) -> list[str]:
    """Return floats as strings with the same number of decimals; if some are very large or very small, each with up to six digits instead.

    Examples
    --------
    >>> short_floats([1.5, None, float("nan")]), short_floats([181.59366277839916, 3.25]), short_floats([1e-9, 123456789.123])
    (['1.5', '', 'nan'], ['181.5937', '3.2500'], ['1e-09', '1.23457e+08'])
    """
    finite = [abs(value) for value in values if value is not None and math.isfinite(value)]
    maximum, minimum = max(finite, default=0.0), min((value for value in finite if value), default=1.0)
    written = max((len(repr(value).partition(".")[2]) for value in finite), default=0)
    decimals = min(written, max(_DIGITS - len(f"{maximum:.0f}"), 1), _MAX_DECIMALS)
    # No number other than zero may be displayed as zero.
    if maximum >= 1e9 or minimum < 10.0**-decimals:
        return ["" if value is None else repr(value) if len(repr(value)) <= _DIGITS else f"{value:.6g}" for value in values]
    return ["" if value is None else f"{value:.{decimals}f}" if math.isfinite(value) else repr(value) for value in values]


def _cell(value: Any, form: CellForm, short: str | None = None) -> str:
    """Return a value as HTML: as ``short`` if given, truncated if it is long; the whole value can be unfolded or is in a tooltip."""
    picture = picture_of(value) if isinstance(value, Image) else None
    if picture is not None:
        return picture
    whole = cell_text(value, MORE_TEXT)
    text = fitting(whole if short is None else short, form.width)
    if text == whole:
        return _isolated(text)
    if form.unfolds:
        return f"<details><summary>{_isolated(text)}</summary>{_isolated(whole)}</details>"
    return f'<span title="{escape(whole)}">{_isolated(text)}</span>'


# The bytes of the largest image that is shown in a table, and how high it is shown.
MAX_PICTURE_BYTES, PICTURE_HEIGHT = 1 << 18, 64


def picture_of(image: Image) -> str | None:
    """Return an image as HTML that holds its bytes, which the browser decodes; None if they are too many, or no browser shows them.

    Examples
    --------
    >>> picture_of(Image(np.zeros((1, 2), "uint8")))[:45], picture_of(Image())
    ('<img src="data:image/png;base64,iVBORw0KGgoAA', None)
    """
    data = image._repr_jpeg_() or (image._repr_png_() if image.nbytes <= MAX_PICTURE_BYTES else None)
    if data is None or len(data) > MAX_PICTURE_BYTES:
        return None
    kind = JPEG if image.format == JPEG else PNG
    text = text_of_image(image)
    source = f"data:image/{kind};base64,{base64.b64encode(data).decode('ascii')}"
    return f'<img src="{source}" title="{text}" alt="{text}" style="max-height:{PICTURE_HEIGHT}px;image-rendering:auto">'


def _isolated(text: str) -> str:
    """Return a string as HTML; right-to-left characters are isolated so that they do not reorder the text around them."""
    return escape(text) if text.isascii() else f"<bdi>{escape(text)}</bdi>"
