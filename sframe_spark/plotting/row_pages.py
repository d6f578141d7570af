"""Pages of the rows of a frame as HTML: for a browser one at a time, for a notebook the first ones folded below each other."""

from __future__ import annotations

import html
from collections.abc import Sequence

import attrs

from sframe_spark.api.display import TABLE_STYLE, CellForm, table_parts
from sframe_spark.api.node_values import row_count, row_tuples
from sframe_spark.engine.runs.materialize import materialize
from sframe_spark.operators.relational.slice import slice_rows
from sframe_spark.operators.rowwise.arrange import columns_of
from sframe_spark.planner.node import PlannerNode
from sframe_spark.plotting.pages import page
from sframe_spark.plotting.summary_table import size_text
from sframe_spark.visible import visible

PAGE_ROWS = 50
NOTEBOOK_ROWS = 1000
# A page of a thousand columns is slow to draw; others are asked for by their place.
PAGE_COLUMNS = 50
_FORM = CellForm(60, unfolds=True)
# Texts that are unfolded, and what a page alone has: names and numbers of rows stay where they are while others move.
_STYLE = (
    TABLE_STYLE
    + """
.sf-table table details[open] { white-space: pre-wrap; overflow-wrap: anywhere; width: 60ch; } .sf-table table summary { cursor: pointer; }
"""
)
_PAGE_STYLE = (
    _STYLE
    + """
h1 { font-size: 20px; margin: 0 0 12px; overflow-wrap: anywhere; } h1 small { font-size: 15px; font-weight: normal; opacity: .75; margin-left: 8px; }
nav { margin: 0 0 12px; display: flex; gap: 8px 16px; align-items: center; flex-wrap: wrap; }
nav a, nav .off, nav button, nav input, nav select { font: inherit; color: inherit; background: transparent; text-decoration: none; }
nav a, nav .off, nav button, nav input, nav select { border: 1px solid rgba(128, 128, 128, .8); border-radius: 4px; padding: 3px 10px; }
nav select { background: var(--paper); max-width: 16em; } nav .off { opacity: .45; } nav input { width: 8em; } nav button { cursor: pointer; }
nav a:hover, nav button:hover { border-color: currentColor; } nav form { display: flex; gap: 8px; align-items: center; flex-wrap: wrap; }
nav .steps { display: flex; gap: 6px; } nav a:focus-visible { outline: 2px solid var(--bar); }
div.sf-table { overflow: auto; max-height: calc(100vh - 8.5rem); min-height: 14rem; }
.sf-table table { border-collapse: separate; border-spacing: 0; }
.sf-table thead th, .sf-table thead td { position: sticky; top: 0; background: var(--paper); z-index: 1; }
.sf-table thead td { left: 0; z-index: 2; }
.sf-table table tbody th.sf-type { position: sticky; left: 0; background: var(--paper); color: var(--quiet); opacity: 1; }
"""
)


@attrs.frozen
class RowPages:
    """The rows of a frame that is materialised, so that each page reads its own alone.

    Parameters
    ----------
    node
        The frame.
    names
        Of its columns.
    title
        Above the rows.
    """

    node: PlannerNode
    names: tuple[str, ...]
    title: str

    def at(self, row: int, column: int) -> str:
        """The page that begins with a row and a column; what is beyond the end is the last."""
        rows = row_count(self.node)
        start, first = min(max(row, 0), max(rows - 1, 0)), min(max(column, 0), max(len(self.names) - 1, 0))
        stop = min(start + PAGE_ROWS, rows)
        heading = f"<h1>{html.escape(visible(self.title))}<small>{size_text(rows, len(self.names))}</small></h1>"
        table = rows_table(self.node, self.names, start, stop, first)
        steps = f'<nav aria-label="rows">{_steps(start, stop, rows, first)}{self._jump(start, rows, first)}</nav>'
        return page(self.title, f"<main>{heading}{steps}{table}</main>", _PAGE_STYLE)

    def _jump(self, start: int, rows: int, first: int) -> str:
        """What leads to any row, and to any columns where they are many."""
        columns = f'<input type="hidden" name="column" value="{first}">'
        if len(self.names) > PAGE_COLUMNS:
            options = "".join(self._option(place, first) for place in sorted({first, *range(0, len(self.names), PAGE_COLUMNS)}))
            columns = f'<label for="column">columns</label><select id="column" name="column">{options}</select>'
        number = f'<input id="row" name="row" type="number" min="0" max="{max(rows - 1, 0)}" value="{start}">'
        return f'<form><label for="row">from row</label>{number}{columns}<button>show</button></form>'

    def _option(self, place: int, first: int) -> str:
        last = min(place + PAGE_COLUMNS, len(self.names)) - 1
        chosen = " selected" * (place == first)
        name = html.escape(visible(self.names[place])[:40])
        return f'<option value="{place}"{chosen}>{place:,} to {last:,}: {name}</option>'


def _steps(start: int, stop: int, rows: int, first: int) -> str:
    """Links to the pages around, of which those that lead nowhere are only names."""
    last = (max(rows - 1, 0) // PAGE_ROWS) * PAGE_ROWS
    steps = (
        ("first", 0, start > 0, ""),
        ("previous", max(start - PAGE_ROWS, 0), start > 0, ' rel="prev"'),
        ("next", start + PAGE_ROWS, stop < rows, ' rel="next"'),
        ("last", last, stop < rows, ""),
    )
    links = "".join(
        f'<a href="?row={row}&amp;column={first}"{relation}>{name}</a>' if leads else f'<span class="off">{name}</span>'
        for name, row, leads, relation in steps
    )
    shown = f"rows {start:,} to {stop - 1:,} of {rows:,}" if rows else "no rows"
    return f'<div class="steps">{links}</div><span>{shown}</span>'


def rows_table(node: PlannerNode, names: Sequence[str], start: int, stop: int, first_column: int = 0) -> str:
    """Some rows and columns as a table, with the numbers of the rows."""
    places = list(range(first_column, min(first_column + PAGE_COLUMNS, len(names))))
    shown = [names[place] for place in places]
    part = columns_of(node, places)
    rows = row_tuples(part, start, stop, shown) if stop > start and shown else []
    # Who has no mouse scrolls it with the keys when it can be chosen.
    return f'<div class="sf-table" tabindex="0"><table>{table_parts(shown, part.schema, rows, _FORM, start)}</table></div>'


def first_rows(node: PlannerNode, names: Sequence[str], title: str) -> str:
    """The first rows for a notebook, in pages that fold and need no script."""
    first = slice_rows(node, 0, NOTEBOOK_ROWS + 1)
    materialize(first)
    found = row_count(first)
    rows = min(found, NOTEBOOK_ROWS)
    pages = []
    for start in range(0, max(rows, 1), PAGE_ROWS):
        stop = min(start + PAGE_ROWS, rows)
        opened = " open" if start == 0 else ""
        told = f"rows {start:,} to {stop - 1:,}" if rows else "no rows"
        pages.append(f"<details{opened}><summary>{told}</summary>{rows_table(first, names, start, stop)}</details>")
    notes = []
    if found > rows:
        notes.append(f"The first {rows:,} rows; explore() in a browser shows all: visualization.set_target('browser').")
    if len(names) > PAGE_COLUMNS:
        notes.append(f"The first {PAGE_COLUMNS} of {len(names):,} columns.")
    told = f'<div class="sf-note">{" ".join(notes)}</div>' if notes else ""
    return f"<style>{_STYLE}</style><div><strong>{html.escape(visible(title))}</strong>{''.join(pages)}{told}</div>"
