"""Copies of a user's function and of those that it uses, in which names mean what they meant, where others have assigned these names anew."""

from __future__ import annotations

import copy
import functools
import sys
import types
from collections.abc import Callable
from typing import Any

from sframe_spark.udf.function_family import COLLECTIONS, MOST_LOOKED_AT, Family, attributes_of, called, was_absent
from sframe_spark.udf.names_in_code import CACHED, cells_of, found_by_name

# Collections within collections that go deeper are data.
_DEEPEST = 20

Function = Callable[..., Any]


def _itself(function: Function) -> Function:
    return function


def copied(given: Function, family: Family) -> Function:
    """A copy of a function and those that it uses, in which names mean what they meant when the family was looked at."""
    copies = _Copies(family)
    function = copies.of_given(given)
    scopes = [scope for scope in copies.scopes.values() if type(scope) is Scope]
    return AssigningFunction(function, scopes) if scopes else function


class Scope(dict[str, Any]):
    """Globals of copied functions that assign some of them: these are not here until they are assigned, but where the originals find them.

    Parameters
    ----------
    module
        The globals of the originals.
    assigned
        Names that functions assign. Python does so past any method: they are carried to the module afterwards.
    """

    def __init__(self, module: dict[str, Any], assigned: frozenset[str]) -> None:
        super().__init__()
        self.module, self.assigned = module, assigned

    def __missing__(self, name: str) -> Any:
        if name in self.assigned:
            return self.module[name]
        raise KeyError(name)

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or (name in self.assigned and name in self.module)

    def carry(self) -> None:
        """Let the module have what was assigned."""
        for name in self.assigned:
            if dict.__contains__(self, name):
                self.module[name] = self[name]
                self.pop(name, None)


class AssigningFunction:
    """A function that assigns names of modules, which see that after each call.

    Parameters
    ----------
    function
        The function whose names are bound.
    scopes
        Where it assigns them.
    """

    def __init__(self, function: Function, scopes: list[Scope]) -> None:
        self.function, self.scopes = function, scopes

    def __call__(self, *values: Any) -> Any:
        """Call the function."""
        try:
            return self.function(*values)
        finally:
            for scope in self.scopes:
                scope.carry()

    def __reduce__(self) -> tuple[Any, ...]:
        # Elsewhere the globals are its own.
        return _itself, (self.function,)


class _Copies:
    """Copies of the functions of a family, whose names mean what they did.

    Parameters
    ----------
    family
        The functions.
    """

    def __init__(self, family: Family) -> None:
        self._family = family
        self.scopes: dict[int, dict[str, Any]] = {}
        self._cells: dict[int, types.CellType] = {}
        self._depth = self._looked_at = 0
        # By identity, with the originals, so that no other object gets their numbers.
        self._done: dict[int, tuple[Any, Any]] = {}
        for function in family.members:
            self._done[id(function)] = function, self._copy(function)
        # When all are there: they use each other.
        self._fill()

    def of_given(self, given: Any) -> Any:
        """What is called in the place of what the user gave: an object with functions in it, or one that is called, as well."""
        bound = self.bound(given.__func__ if type(given) is staticmethod else given)
        if bound is not given or type(given) in (types.FunctionType, types.MethodType):
            return bound
        attributes = {name: self.bound(value) for name, value in attributes_of(given).items()}
        changed = {name: value for name, value in attributes.items() if value is not attributes_of(given)[name]}
        if changed:
            bound = _with_attributes(given, changed)
        function = self.bound(called(given))
        return bound if function is called(given) else types.MethodType(function, bound)

    def bound(self, value: Any) -> Any:
        """What a name means: the copy of a function, and of what holds one."""
        if id(value) in self._done:
            return self._done[id(value)][1]
        kind, made = type(value), value
        if kind is types.MethodType:
            function = self.bound(value.__func__)
            made = value if function is value.__func__ else types.MethodType(function, value.__self__)
        elif issubclass(kind, functools.partial):
            made = self._partial(value)
        elif kind is CACHED and not found_by_name(value):
            function = self.bound(value.__wrapped__)
            made = value if function is value.__wrapped__ else functools.lru_cache(**value.cache_parameters())(function)
        elif kind in COLLECTIONS and self._depth < _DEEPEST and self._looked_at < MOST_LOOKED_AT:
            self._depth += 1
            made = self._collection(value)
            self._depth -= 1
        else:
            return value
        self._done[id(value)] = value, made
        return made

    def _partial(self, value: functools.partial[Any]) -> functools.partial[Any]:
        if self._depth >= _DEEPEST:
            return value
        self._depth += 1
        old = (value.func, *value.args, *value.keywords.values())
        new = tuple(map(self.bound, old))
        self._depth -= 1
        if all(map(_same, old, new)):
            return value
        arguments, keywords = new[1 : 1 + len(value.args)], dict(zip(value.keywords, new[1 + len(value.args) :], strict=True))
        made: Any = copy.copy(value)
        made.__setstate__((new[0], arguments, keywords, dict(value.__dict__)))
        return made

    def _collection(self, value: Any) -> Any:
        """The same collection, unless it holds functions that are copied."""
        # It may hold itself.
        self._done[id(value)] = value, value
        keys, items = (list(value), list(value.values())) if type(value) is dict else ([], list(value))
        self._looked_at += len(keys) + len(items)
        new_keys, new_items = list(map(self.bound, keys)), list(map(self.bound, items))
        if all(map(_same, keys, new_keys)) and all(map(_same, items, new_items)):
            return value
        return dict(zip(new_keys, new_items, strict=False)) if type(value) is dict else type(value)(new_items)

    def _copy(self, function: types.FunctionType) -> types.FunctionType:
        cells = tuple(self._cell(cell) for cell in cells_of(function).values())
        made = types.FunctionType(function.__code__, self._scope(function), function.__name__, None, cells)
        made.__qualname__, made.__module__, made.__doc__ = function.__qualname__, function.__module__, function.__doc__
        # What a function keeps as its attributes is the user's.
        made.__dict__ = function.__dict__
        if sys.version_info >= (3, 12):
            made.__type_params__ = function.__type_params__
        if sys.version_info < (3, 14):
            made.__annotations__ = function.__annotations__
        return made

    def _cell(self, cell: types.CellType) -> types.CellType:
        return self._cells.setdefault(id(cell), types.CellType()) if id(cell) in self._family.cells else cell

    def _scope(self, function: types.FunctionType) -> dict[str, Any]:
        """The globals of all copies of functions with the same globals."""
        module = function.__globals__
        key = id(module)
        if key not in self.scopes:
            assigned = frozenset(name for place, name in self._family.assigned if place == key)
            scope = Scope(module, assigned) if assigned else {}
            scope.update((name, value) for name, value in list(module.items()) if name not in assigned)
            self.scopes[key] = scope
        return self.scopes[key]

    def _fill(self) -> None:
        """Give the copies what their names meant."""
        for cell, value in self._family.cells.values():
            if id(cell) in self._cells:
                self._cells[id(cell)].cell_contents = self.bound(value)
        for module, name, value in self._family.names:
            scope = self.scopes[id(module)]
            if was_absent(value):
                scope.pop(name, None)
            else:
                scope[name] = self.bound(value)
        for function in self._family.members:
            made = self._done[id(function)][1]
            made.__defaults__ = None if function.__defaults__ is None else tuple(map(self.bound, function.__defaults__))
            made.__kwdefaults__ = {name: self.bound(value) for name, value in (function.__kwdefaults__ or {}).items()} or None


def _with_attributes(given: Any, attributes: dict[str, Any]) -> Any:
    """A copy of an object with other attributes; the object itself where it has its own way of being copied, or none."""
    try:
        made = copy.copy(given)
        found = attributes_of(made)
    except Exception:
        return given
    if made is given or type(made) is not type(given) or found.keys() != attributes_of(given).keys():
        return given
    found.update(attributes)
    return made


def _same(one: Any, other: Any) -> bool:
    return one is other
