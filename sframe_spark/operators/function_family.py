"""A user's function and those that it uses, as far as they go with it, and the names that any of them assigns."""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Iterator
from typing import Any

from sframe_spark.operators.names_in_code import CACHED, cells_of, found_by_name, functions_of, is_full, names_in

# Larger collections are data rather than tables of functions, and so is what lies beyond so many things.
LARGEST_COLLECTION = 1_000
MOST_LOOKED_AT = 20_000
COLLECTIONS = (list, tuple, set, frozenset, dict)


class Family:
    """Functions that a function reaches: by names, in its defaults, in methods, partial functions and small collections.

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
        # Globals of which names are deleted: they are used as they are then.
        self.live: set[int] = set()
        # What was met is kept, so that no other object gets its number.
        self._met: dict[int, Any] = {}
        self._look_around([] if found_by_name(given) else [given, called(given), *getattr(given, "__dict__", {}).values()])

    def _look_around(self, waiting: list[Any]) -> None:
        while waiting:
            value = waiting.pop()
            if id(value) in self._met:
                continue
            self._met[id(value)] = value
            if isinstance(value, types.ModuleType) or found_by_name(value):
                continue
            if type(value) is types.FunctionType:
                self.members.append(value)
                self._note(value)
                waiting += meanings(value)
            elif isinstance(value, type):
                for function in functions_of(value):
                    self._note(function)
                    waiting += meanings(function)
            else:
                waiting.append(type(value))
                waiting += parts(value) if len(self._met) < MOST_LOOKED_AT else ()

    def _note(self, function: types.FunctionType) -> None:
        """Write down what a function assigns, and what functions of the same module may assign when they are called."""
        self._note_assigned(function)
        meanings = function.__globals__
        module = sys.modules.get(str(meanings.get("__name__")))
        if id(meanings) not in self._met and module is not None and module.__dict__ is meanings and module.__name__ != "__main__":
            self._met[id(meanings)] = meanings
            for other in functions_of(module):
                if other.__globals__ is meanings:
                    self._note_assigned(other)

    def _note_assigned(self, function: types.FunctionType) -> None:
        names, key = names_in(function.__code__), id(function.__globals__)
        self.assigned.update((key, name) for name in names.assigned)
        self.assigned_cells.update(id(cell) for name, cell in cells_of(function).items() if name in names.assigned_around)
        if names.deleted:
            self.live.add(key)


def called(given: Any) -> Any:
    """What is called when something is called that is no function."""
    return getattr(type(given), "__call__", None)  # noqa: B004  # the function itself, not whether there is one


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
    if isinstance(value, (types.MethodType, staticmethod)):
        yield value.__func__
    elif isinstance(value, functools.partial):
        yield from (value.func, *value.args, *value.keywords.values())
    elif isinstance(value, CACHED):
        yield value.__wrapped__
    elif type(value) in COLLECTIONS and len(value) <= LARGEST_COLLECTION:
        items = [*value, *value.values()] if isinstance(value, dict) else list(value)
        yield from (item for item in items if callable(item) or type(item) in COLLECTIONS)
