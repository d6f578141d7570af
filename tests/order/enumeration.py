"""What properties and requirements mean, said of actual rows, and tables to try them on; independent of the package's reasoning."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]
Items = Sequence[Sequence[str]]

# Two rows show every way to compare; which values they hold beyond that does not matter.
PAIRS = ((0, 0), (0, 1), (1, 0))
PAIRS_WITH_NULL = (*PAIRS, (None, None), (None, 0), (0, None))


def entry_key(value: Any, item: Sequence[str]) -> tuple[int, int]:
    """A sort key for one entry: nulls where the entry puts them, values in its direction."""
    direction = item[1]
    nulls = item[2] if len(item) == 3 else ("nulls_last" if direction == "desc" else "nulls_first")
    if value is None:
        return (-1 if nulls == "nulls_first" else 1), 0
    return 0, value if direction == "asc" else -value


def in_order(rows: Sequence[Row], items: Items) -> bool:
    """Whether rows are in lexicographic order."""
    keys = [[entry_key(row[item[0]], item) for item in items] for row in rows]
    return all(first <= second for first, second in itertools.pairwise(keys))


def monotone_holds(rows: Sequence[Row], function: Mapping[str, Any]) -> bool:
    """Whether a column is a monotone function of others, as the recorded cases define it."""
    arguments, value = function["args"], function["col"]
    for row in rows:
        if (row[value] is None) != any(row[column] is None for column, _ in arguments):
            return False
    for low, high in itertools.permutations(rows, 2):
        if low[value] is None or high[value] is None:
            continue
        steps = [(high[column] - low[column]) * (1 if effect == "inc" else -1) for column, effect in arguments]
        if all(step >= 0 for step in steps):
            moved = function["strict"] and any(step > 0 for step in steps)
            if high[value] < low[value] or (moved and high[value] == low[value]) or (not any(steps) and high[value] != low[value]):
                return False
    return True


def has_properties(rows: Sequence[Row], table: Mapping[str, Any]) -> bool:
    """Whether rows have every property of a table, written as in the case files."""
    for column in table.get("constants", ()):
        if len({row[column] for row in rows}) > 1:
            return False
    for group in table.get("equivalences", ()):
        if any(row[column] != row[group[0]] for row in rows for column in group):
            return False
    if any(row[column] is None for row in rows for column in table.get("not_null", ())):
        return False
    if not all(in_order(rows, items) for items in table.get("orderings", ())):
        return False
    for first, second in itertools.combinations(rows, 2):
        if any(_tie(first, second, left) and not _tie(first, second, right) for left, right in table.get("fds", ())):
            return False
        if any(_tie(first, second, key) for key in table.get("keys", ())):
            return False
    return all(monotone_holds(rows, function) for function in table.get("monotone", ()))


def tables_of_two_rows(columns: Sequence[str], pairs: Sequence[tuple[Any, Any]]) -> Iterator[tuple[Row, Row]]:
    """All tables of two rows in which each column holds one of the pairs."""
    for values in itertools.product(pairs, repeat=len(columns)):
        yield (
            {column: pair[0] for column, pair in zip(columns, values, strict=True)},
            {column: pair[1] for column, pair in zip(columns, values, strict=True)},
        )


def tables(columns: Sequence[str], rows: int, values: Sequence[Any]) -> Iterator[tuple[Row, ...]]:
    """All tables with up to a number of rows and the given values."""
    every_row = [dict(zip(columns, row, strict=True)) for row in itertools.product(values, repeat=len(columns))]
    for count in range(rows + 1):
        yield from itertools.product(every_row, repeat=count)


def _tie(first: Row, second: Row, columns: Sequence[str]) -> bool:
    return all(first[column] == second[column] for column in columns)
