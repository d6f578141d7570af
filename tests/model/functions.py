"""Functions that programs apply, the same for the engine and the model."""

from __future__ import annotations

from typing import Any


def doubled(value: Any) -> Any:
    return value * 2


def text_of(value: Any) -> str:
    return f"<{value}>"


def size_of(value: Any) -> int:
    return len(value)


def wrapped(value: Any) -> list[Any]:
    return [value]


def missing_if_odd(value: int) -> int | None:
    return None if value % 2 else value


def filled_cells(row: dict[str, Any]) -> int:
    return sum(value is not None for value in row.values())


def names_of(row: dict[str, Any]) -> str:
    return "|".join(row)


# Name, kinds of the values, kind of the results.
OF_VALUES = (
    ("doubled", ("int", "str", "list"), None),
    ("text_of", ("int", "str"), "str"),
    ("size_of", ("str", "list", "dict", "array"), "int"),
    ("wrapped", ("int", "str"), "list"),
    ("missing_if_odd", ("int",), "int"),
)
OF_ROWS = (("filled_cells", "int"), ("names_of", "str"))
ALL = {function.__name__: function for function in (doubled, text_of, size_of, wrapped, missing_if_odd, filled_cells, names_of)}
