"""A user's function and those that it uses, as far as they go with it, and what the names that they read mean at one time."""

from __future__ import annotations

import functools
import itertools
import types
from collections.abc import Iterator
from typing import Any

from sframe_spark.udf.names_in_code import (
    CACHED,
    cells_of,
    found_by_name,
    functions_of,
    is_built_in,
    is_class,
    is_full,
    names_in,
)

# So many things are looked at; what lies beyond is data rather than tables of functions.
MOST_LOOKED_AT = 20_000
COLLECTIONS = (list, tuple, set, frozenset, dict)
# What holds no function.
_PLAIN = frozenset({int, float, str, bytes, bool, complex, type(None), types.ModuleType, types.BuiltinFunctionType})
_ABSENT = object()


class Family:
    """Functions that a function reaches: by names, in its defaults, in methods, partial functions, small collections and attributes of objects.

    A function that its module has under its name belongs to that module instead: it is called as the module is then.

    Parameters
    ----------
    given
        What a user gave to be called for each row.
    """

    def __init__(self, given: Any) -> None:
        self.members: list[types.FunctionType] = []
        # By number of the globals and name, and by number of the cell.
        self.assigned: set[tuple[int, str]] = set()
        self.assigned_cells: set[int] = set()
        self._attributes: set[str] = set()
        self._may_assign_any = False
        # What was met is kept, so that no other object gets its number.
        self._met: dict[int, Any] = {}
        self._look_around([*attributes_of(given).values(), called(given), given])
        # Globals and names that members read and none assigns, with what they mean; by number, cells with what they hold.
        self.names = list(self._read_names())
        self.cells = dict(self._read_cells())

    def reached(self) -> list[Any]:
        """All that was met when the family was looked at."""
        return list(self._met.values())

    def _look_around(self, waiting: list[Any]) -> None:
        while waiting and len(self._met) < MOST_LOOKED_AT:
            value = waiting.pop()
            if type(value) in _PLAIN or id(value) in self._met:
                continue
            self._met[id(value)] = value
            if type(value) is types.FunctionType:
                self._note(value)
                if not found_by_name(value):
                    self.members.append(value)
                    waiting += meanings(value)
                elif any(other.__globals__ is value.__globals__ for other in self.members):
                    # It may assign what a member reads.
                    waiting += meanings(value)
            elif is_class(value) and (not found_by_name(value) or self._shares_names_with(value)):
                for function in functions_of(value):
                    self._note(function)
                    waiting += meanings(function)
            else:
                waiting += itertools.islice(parts(value), MOST_LOOKED_AT)

    def _shares_names_with(self, value: type) -> bool:
        """Say whether a class is of the module of a member: its methods may assign what the member reads."""
        return any(other.__globals__.get("__name__") == value.__module__ for other in self.members)

    def _note(self, function: types.FunctionType) -> None:
        names, key = names_in(function.__code__), id(function.__globals__)
        self.assigned.update((key, name) for name in names.assigned)
        self.assigned_cells.update(id(cell) for name, cell in cells_of(function).items() if name in names.assigned_around)
        self._attributes |= names.assigned_of_objects
        self._may_assign_any |= names.may_assign_any

    def _read_names(self) -> Iterator[tuple[dict[str, Any], str, Any]]:
        """Not names that mean nothing yet."""
        seen = set()
        for function in self.members:
            module = function.__globals__
            for name in names_in(function.__code__).used:
                key = id(module), name
                if key not in seen and key not in self.assigned and (name in module or is_built_in(name)):
                    seen.add(key)
                    yield module, name, module.get(name, _ABSENT)

    def _read_cells(self) -> Iterator[tuple[int, tuple[types.CellType, Any]]]:
        for function in self.members:
            for cell in cells_of(function).values():
                if id(cell) not in self.assigned_cells and is_full(cell):
                    yield id(cell), (cell, cell.cell_contents)

    def is_as_it_was(self) -> bool:
        """Say whether all names mean what they meant."""
        # A plain loop: functions that are called row by row ask before and after each call, and a generator takes as long as three names.
        for module, name, value in self.names:
            if module.get(name, _ABSENT) is not value:
                return False
        return not self.cells or all(is_full(cell) and cell.cell_contents is value for cell, value in self.cells.values())

    def take_for_its_own(self, all_of_them: bool) -> None:
        """Of names that were assigned while a function of the family was called, take those for its own that it may have assigned.

        Parameters
        ----------
        all_of_them
            Nobody else can have: functions assign in ways that are not seen.
        """
        if all_of_them:
            self.cells = {key: item for key, item in self.cells.items() if is_full(item[0]) and item[0].cell_contents is item[1]}
        for item in list(self.names):
            module, name, value = item
            may_be_own = all_of_them or self._may_assign_any or name in self._attributes
            if may_be_own and module.get(name, _ABSENT) is not value:
                self.assigned.add((id(module), name))
                self.names = [other for other in self.names if other is not item]


def was_absent(meaning: Any) -> bool:
    """Say whether a name had no meaning in its module: it was a built-in one."""
    return meaning is _ABSENT


def called(given: Any) -> Any:
    """What is called when something is called that is no function."""
    return getattr(type(given), "__call__", None)  # noqa: B004  # the function itself, not whether there is one


def attributes_of(value: Any) -> dict[str, Any]:
    """The attributes that an object keeps, without asking it."""
    try:
        found = object.__getattribute__(value, "__dict__")
    except Exception:
        return {}
    return found if type(found) is dict else {}


def meanings(function: types.FunctionType) -> Iterator[Any]:
    """What the names of a function mean, and its defaults."""
    for name in names_in(function.__code__).used:
        if name in function.__globals__:
            yield function.__globals__[name]
    yield from (cell.cell_contents for cell in cells_of(function).values() if is_full(cell))
    yield from function.__defaults__ or ()
    yield from (function.__kwdefaults__ or {}).values()


def parts(value: Any) -> Iterator[Any]:
    """What may hold functions in something that is none itself."""
    kind = type(value)
    if kind in (types.MethodType, staticmethod):
        yield value.__func__
        yield getattr(value, "__self__", None)
    elif kind is CACHED:
        yield value.__wrapped__
    elif issubclass(kind, functools.partial):
        yield from (value.func, *value.args, *value.keywords.values())
    elif issubclass(kind, dict):
        yield from (item for item in [*dict.keys(value), *dict.values(value)] if type(item) not in _PLAIN)
    elif issubclass(kind, (list, tuple, set, frozenset)):
        base = next(base for base in COLLECTIONS if issubclass(kind, base))
        yield from (item for item in list(base.__iter__(value)) if type(item) not in _PLAIN)
    else:
        yield kind
        # Objects of classes that others find are data.
        yield from () if found_by_name(kind) else list(attributes_of(value).values())
