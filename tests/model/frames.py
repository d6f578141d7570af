"""The model of an SFrame: named lists side by side. It shares no code with the engine."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

from tests.model.columns import Column
from tests.model.values import Refused, is_missing, key_of, rank

Row = tuple[Any, ...]
MAX_ROWS = 400


class Frame:
    """A frame with the members of SFrame that programs use; columns are replaced, never changed."""

    def __init__(self, data: dict[str, Column]) -> None:
        self.columns = {name: data[name] for name in sorted(data)}
        if len({len(column) for column in self.columns.values()}) > 1:
            raise Refused("columns of different lengths")

    @classmethod
    def of(cls, names: list[str], kinds: list[str], rows: list[Row]) -> Frame:
        """A frame of rows."""
        if len(rows) > MAX_ROWS:
            raise Refused("too many rows")
        cells = zip(*rows, strict=True) if rows else [[] for _ in names]
        return cls({}).filled({name: Column.of(kind, list(values)) for name, kind, values in zip(names, kinds, cells, strict=True)})

    def filled(self, columns: dict[str, Column]) -> Frame:
        """This very frame with other columns."""
        if len({len(column) for column in columns.values()}) > 1:
            raise Refused("columns of different lengths")
        self.columns = dict(columns)
        return self

    def _changed(self, columns: dict[str, Column], inplace: bool) -> Frame:
        return (self if inplace else Frame({})).filled(columns)

    def _of_rows(self, rows: list[Row]) -> Frame:
        return Frame.of(self.names, self.kinds, rows)

    @property
    def names(self) -> list[str]:
        return list(self.columns)

    @property
    def kinds(self) -> list[str]:
        return [column.kind for column in self.columns.values()]

    @property
    def rows(self) -> list[Row]:
        return list(zip(*[column.values for column in self.columns.values()], strict=True)) if self.columns else []

    def dicts(self) -> list[dict[str, Any]]:
        return [dict(zip(self.names, row, strict=True)) for row in self.rows]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()))) if self.columns else 0

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.dicts())

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            return self._column(key)
        if isinstance(key, list):
            return Frame({}).filled({name: self._column(name) for name in key})
        if isinstance(key, (slice, Column)):
            return Frame({}).filled({name: column[key] for name, column in self.columns.items()})
        return self.dicts()[key]

    def _column(self, name: str) -> Column:
        if name not in self.columns:
            raise Refused(f"no column {name}")
        return self.columns[name]

    def head(self, n: int) -> Frame:
        return self[:n]

    def tail(self, n: int) -> Frame:
        return self[max(0, len(self) - n) :]

    def copy(self) -> Frame:
        return Frame({}).filled(self.columns)

    def __setitem__(self, name: str, column: Column) -> None:
        others = {key: value for key, value in self.columns.items() if key != name}
        if not name or any(len(other) != len(column) for other in others.values()):
            raise Refused("another length")
        self.columns = {**self.columns, name: column}

    def add_column(self, data: Column, column_name: str, inplace: bool = False) -> Frame:
        return self.add_columns([data], [column_name], inplace)

    def add_columns(self, data: list[Column], column_names: list[str], inplace: bool = False) -> Frame:
        if set(column_names) & set(self.names) or len(set(column_names)) < len(column_names):
            raise Refused("a name is taken")
        return self._changed({**self.columns, **dict(zip(column_names, data, strict=True))}, inplace)

    def remove_column(self, column_name: str, inplace: bool = False) -> Frame:
        self._column(column_name)
        return self._changed({name: column for name, column in self.columns.items() if name != column_name}, inplace)

    def __delitem__(self, name: str) -> None:
        self.remove_column(name, inplace=True)

    def rename(self, names: dict[str, str], inplace: bool = False) -> Frame:
        renamed = [names.get(name, name) for name in self.names]
        if len(set(renamed)) < len(renamed) or not set(names) <= set(self.names):
            raise Refused("a name is taken or absent")
        return self._changed(dict(zip(renamed, self.columns.values(), strict=True)), inplace)

    def swap_columns(self, column_name_1: str, column_name_2: str, inplace: bool = False) -> Frame:
        other = {column_name_1: column_name_2, column_name_2: column_name_1}
        return self._changed({name: self._column(name) for name in (other.get(name, name) for name in self.names)}, inplace)

    def add_row_number(self, column_name: str, start: int = 0, inplace: bool = False) -> Frame:
        if column_name in self.columns or not self.columns:
            raise Refused("a name is taken")
        numbers = Column.of("int", list(range(start, start + len(self))))
        return self._changed({column_name: numbers, **self.columns}, inplace)

    def append(self, other: Frame) -> Frame:
        if set(self.names) != set(other.names) or any(self.columns[name].kind != other.columns[name].kind for name in self.names):
            raise Refused("other columns")
        return self._of_rows(self.rows + other[self.names].rows)

    def sort(self, key_column_names: Any, ascending: bool = True) -> Frame:
        keys = [key_column_names] if isinstance(key_column_names, str) else key_column_names
        pairs = [key if isinstance(key, tuple) else (key, ascending) for key in keys]
        if len({name for name, _ in pairs}) < len(pairs):
            raise Refused("a key twice")
        rows = self.rows
        for name, is_up in reversed(pairs):
            self._column(name).require_order()
            place = self.names.index(name)
            rows = sorted(rows, key=lambda row, place=place: rank(row[place]), reverse=not is_up)  # type: ignore[misc]
        return self._of_rows(rows)

    def topk(self, column_name: str, k: int, reverse: bool = False) -> Frame:
        place = self.names.index(column_name)
        present = self._of_rows([row for row in self.rows if not is_missing(row[place])])
        return present.sort(column_name, reverse).head(k)

    def unique(self) -> Frame:
        return self[sorted(self.names)]._groups(sorted(self.names), lambda key, rows: key, [])

    def drop_duplicates(self, subset: list[str]) -> Frame:
        ordered = self[[*sorted(subset), *(name for name in self.names if name not in subset)]]
        return ordered._groups(sorted(subset), lambda key, rows: rows[0], ordered.names[len(subset) :])

    def _groups(self, keys: list[str], row_of: Callable[[Row, list[Row]], Row], others: list[str], kinds: list[str] | None = None) -> Frame:
        """A row for each group, ascending by the keys."""
        if not keys:
            raise Refused("no keys")
        for name in keys:
            self._column(name).require_keys()
        places = [self.names.index(name) for name in keys]
        groups: dict[Any, list[Row]] = {}
        for row in self.rows:
            groups.setdefault(tuple(key_of(row[place]) for place in places), []).append(row)
        found = [row_of(tuple(rows[0][place] for place in places), rows) for rows in groups.values()]
        found.sort(key=lambda row: [rank(value) for value in row[: len(keys)]])
        other_kinds = [self.columns[name].kind for name in others] if kinds is None else kinds
        return Frame.of([*keys, *others], [*(self.columns[name].kind for name in keys), *other_kinds], found)

    def groupby(self, key_column_names: Any, operations: dict[str, tuple[str, str | None]]) -> Frame:
        keys = [key_column_names] if isinstance(key_column_names, str) else sorted(key_column_names)
        if set(operations) & set(keys):
            raise Refused("a name is taken")
        chosen = [(AGGREGATES[function], None if name is None else self.names.index(name)) for function, name in operations.values()]
        for (kinds, _, _), place in chosen:
            if place is not None and self.kinds[place] not in kinds:
                raise Refused("no such aggregate")

        def row_of(key: Row, rows: list[Row]) -> Row:
            values = [[row[place] for row in rows] if place is not None else rows for _, place in chosen]
            return (*key, *(function(cells) for ((_, _, function), _), cells in zip(chosen, values, strict=True)))

        found = [kind or self.kinds[place or 0] for (_, kind, _), place in chosen]
        return self._groups(keys, row_of, list(operations), found)

    def join(self, right: Frame, on: list[str], how: str) -> Frame:
        for frame in (self, right):
            if any(frame._column(name).kind not in ("int", "str") for name in on):
                raise Refused("no such keys")
        others = [name for name in right.names if name not in on]
        if set(others) & set(self.names) or [self[name].kind for name in on] != [right[name].kind for name in on]:
            raise Refused("a name is taken, or other kinds")
        left_keys, right_keys = self[on].rows, right[on].rows
        right_rows: list[Row] = right[others].rows if others else [()] * len(right)
        rows = []
        for key, row in zip(left_keys, self.rows, strict=True):
            matches = [other for other_key, other in zip(right_keys, right_rows, strict=True) if key == other_key]
            rows += [(*row, *match) for match in matches or ([(None,) * len(others)] if how == "left" else [])]
        return Frame.of([*self.names, *others], [*self.kinds, *(right[name].kind for name in others)], rows)

    def filter_by(self, values: list[Any], column_name: str, exclude: bool = False) -> Frame:
        mask = self._column(column_name).is_in(values)
        return self[mask == 0] if exclude else self[mask]

    def dropna(self, columns: list[str], how: str) -> Frame:
        test = any if how == "any" else all
        kept = [not test(is_missing(value) for value in row) for row in self[columns].rows]
        return self._of_rows(list(itertools.compress(self.rows, kept)))

    def fillna(self, column_name: str, value: Any) -> Frame:
        return Frame({}).filled({**self.columns, column_name: self._column(column_name).fillna(value)})

    def apply(self, fn: Callable[[dict[str, Any]], Any], dtype: type) -> Column:
        return Column([fn(row) for row in self.dicts()], dtype)


def present(values: list[Any]) -> list[Any]:
    return [value for value in values if value is not None]


# Kinds that an aggregate takes, the kind that it gives (None: that of its column), and what it does with the values of a group in row order.
AGGREGATES: dict[str, tuple[tuple[str, ...], str | None, Callable[[list[Any]], Any]]] = {
    "COUNT": ((), "int", len),
    "SUM": (("int",), "int", lambda values: sum(present(values))),
    "MIN": (("int",), "int", lambda values: min(present(values), default=None)),
    "MAX": (("int",), "int", lambda values: max(present(values), default=None)),
    "MEAN": (("int",), "float", lambda values: sum(present(values)) / len(present(values)) if present(values) else None),
    "CONCAT": (("int", "str"), "list", present),
    "COUNT_DISTINCT": (("int", "str"), "int", lambda values: len(set(values))),
    "SELECT_ONE": (("int", "str", "float"), None, lambda values: values[0]),
}


class aggregate:
    """Requests for aggregates, under the engine's names: programs write ``aggregate.SUM("x")`` for both."""


def _request(function: str) -> Any:
    return staticmethod(lambda column=None: (function, column))


for _name in AGGREGATES:
    setattr(aggregate, _name, _request(_name))
