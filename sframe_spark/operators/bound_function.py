"""A user's function with the names that it uses bound to what they name now: it is called later, maybe in several parts, maybe elsewhere.

A loop that applies ``lambda value: value * factor`` once for each factor makes columns of different factors, although none is computed before
the loop has ended. The reference sends a copy of the function to other processes at once, with the same effect.
"""

from __future__ import annotations

import builtins
import copy
import functools
import sys
import types
from collections.abc import Callable
from typing import Any

from sframe_spark.operators.function_family import COLLECTIONS, LARGEST_COLLECTION, Family, called
from sframe_spark.operators.names_in_code import CACHED, cells_of, found_by_name, is_built_in, is_full, names_in

# What a module gives to each of its functions.
_OF_MODULES = ("__name__", "__package__", "__spec__", "__loader__", "__file__", "__builtins__")
# Collections within collections that go deeper are data.
_DEEPEST_COLLECTION = 20


def bound_now(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose names mean what they mean now, whatever is assigned to them later.

    So do those of the functions that it uses. Objects stay the same objects: the function sees what is changed in them, and others see what it
    changes. Names that it or one of these functions assigns (``global``, ``nonlocal``) keep their meaning, and so do those that mean nothing yet. A
    function that its module has under its name is part of that module, and is called as the module is then; classes stay what they are.

    Examples
    --------
    >>> factor, seen = 2, []
    >>> bound = bound_now(lambda value: seen.append(value) or value * factor)
    >>> factor = 3
    >>> bound(10), seen
    (20, [10])
    """
    binding = _Binding(Family(function))
    bound = binding.of_given(function)
    written = [scope for scope in binding.scopes.values() if isinstance(scope, Scope) and scope.assigned]
    return AssigningFunction(bound, written) if written else bound


class Scope(dict[str, Any]):
    """Globals of copied functions: names that are bound, and all others as their module has them at the time.

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
        return self.module[name]

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or name in self.module

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

    def __init__(self, function: Callable[..., Any], scopes: list[Scope]) -> None:
        self.function, self.scopes = function, scopes

    def __call__(self, *values: Any) -> Any:
        """Call the function."""
        try:
            return self.function(*values)
        finally:
            for scope in self.scopes:
                scope.carry()

    def __getattr__(self, name: str) -> Any:
        # Its name, its place in a file, what it wraps.
        return getattr(self.__dict__["function"], name)

    def __reduce__(self) -> tuple[Any, ...]:
        # Elsewhere the globals are its own.
        return _itself, (self.function,)


def _itself(function: Any) -> Any:
    return function


class _Binding:
    """Copies of the functions of a family, whose names mean what they do now.

    Parameters
    ----------
    family
        The functions.
    """

    def __init__(self, family: Family) -> None:
        self._family = family
        self.scopes: dict[int, dict[str, Any]] = {}
        self._cells: dict[int, types.CellType] = {}
        self._depth = 0
        # By identity, with the originals, so that no other object gets their numbers.
        self._done: dict[int, tuple[Any, Any]] = {}
        copied = [function for function in family.members if _uses_names(function)]
        for function in copied:
            self._done[id(function)] = function, self._copy(function)
        # When all are there: they use each other.
        for function in copied:
            self._fill(function, self._done[id(function)][1])

    def of_given(self, given: Any) -> Any:
        """What is called in the place of what the user gave: an object with functions in it, or one that is called, as well."""
        bound = self.bound(given.__func__ if isinstance(given, staticmethod) else given)
        if bound is not given or isinstance(given, (type, types.FunctionType, types.MethodType)):
            return bound
        attributes = {name: self.bound(value) for name, value in getattr(given, "__dict__", {}).items()}
        changed = {name: value for name, value in attributes.items() if value is not given.__dict__[name]}
        if changed:
            bound = copy.copy(given)
            bound.__dict__.update(changed)
        function = self.bound(called(given))
        return bound if function is called(given) else types.MethodType(function, bound)

    def bound(self, value: Any) -> Any:
        """What a name means, as it is now: the copy of a function, and of what holds one."""
        if id(value) in self._done:
            return self._done[id(value)][1]
        made = value
        if found_by_name(value):
            return value
        if isinstance(value, types.MethodType):
            function = self.bound(value.__func__)
            made = value if function is value.__func__ else types.MethodType(function, value.__self__)
        elif isinstance(value, functools.partial):
            made = self._partial(value)
        elif isinstance(value, CACHED):
            function = self.bound(value.__wrapped__)
            made = value if function is value.__wrapped__ else functools.lru_cache(**value.cache_parameters())(function)
        elif type(value) in COLLECTIONS and len(value) <= LARGEST_COLLECTION and self._depth < _DEEPEST_COLLECTION:
            self._depth += 1
            made = self._collection(value)
            self._depth -= 1
        else:
            return value
        self._done[id(value)] = value, made
        return made

    def _partial(self, value: functools.partial[Any]) -> functools.partial[Any]:
        old = (value.func, *value.args, *value.keywords.values())
        new = tuple(map(self.bound, old))
        if all(map(_same, old, new)):
            return value
        arguments = new[1 : 1 + len(value.args)]
        keywords = dict(zip(value.keywords, new[1 + len(value.args) :], strict=True))
        return type(value)(new[0], *arguments, **keywords)

    def _collection(self, value: Any) -> Any:
        """The same collection, unless it holds functions that are copied."""
        # It may hold itself.
        self._done[id(value)] = value, value
        old = [*value, *value.values()] if isinstance(value, dict) else list(value)
        new = list(map(self.bound, old))
        if all(map(_same, old, new)):
            return value
        if isinstance(value, dict):
            return dict(zip(new[: len(value)], new[len(value) :], strict=True))
        return type(value)(new)

    def _copy(self, function: types.FunctionType) -> types.FunctionType:
        cells = tuple(self._cell(cell) for cell in cells_of(function).values())
        made = types.FunctionType(function.__code__, self._scope(function), function.__name__, None, cells)
        made.__qualname__, made.__module__, made.__doc__ = function.__qualname__, function.__module__, function.__doc__
        made.__annotations__ = function.__annotations__
        # What a function keeps as its attributes is the user's.
        made.__dict__ = function.__dict__
        if sys.version_info >= (3, 12):
            made.__type_params__ = function.__type_params__
        return made

    def _cell(self, cell: types.CellType) -> types.CellType:
        if id(cell) in self._family.assigned_cells or not is_full(cell):
            return cell
        return self._cells.setdefault(id(cell), types.CellType())

    def _scope(self, function: types.FunctionType) -> dict[str, Any]:
        """The globals of all copies of functions with the same globals."""
        module = function.__globals__
        key = id(module)
        if key in self._family.live:
            return module
        if key not in self.scopes:
            members = [other for other in self._family.members if other.__globals__ is module]
            used = frozenset().union(*(names_in(other.__code__).used for other in members))
            assigned = frozenset(name for place, name in self._family.assigned if place == key)
            plain = not assigned and all(name in module or is_built_in(name) for name in used)
            self.scopes[key] = {} if plain else Scope(module, assigned)
        return self.scopes[key]

    def _fill(self, function: types.FunctionType, made: types.FunctionType) -> None:
        """Give a copy what its names mean."""
        for cell in cells_of(function).values():
            if id(cell) in self._cells and not is_full(self._cells[id(cell)]):
                self._cells[id(cell)].cell_contents = self.bound(cell.cell_contents)
        module, scope, names = function.__globals__, made.__globals__, names_in(function.__code__)
        if scope is not module:
            wanted = tuple(module) if names.finds_any else names.used
            free = {name for name in wanted if (id(module), name) not in self._family.assigned}
            scope.update((name, self.bound(module[name])) for name in (*_OF_MODULES, *free) if name in module)
            # Not to be looked for in the module at each call.
            scope.update((name, getattr(builtins, name)) for name in free if name not in module and is_built_in(name))
        made.__defaults__ = None if function.__defaults__ is None else tuple(map(self.bound, function.__defaults__))
        made.__kwdefaults__ = {name: self.bound(value) for name, value in (function.__kwdefaults__ or {}).items()} or None


def _uses_names(function: types.FunctionType) -> bool:
    """Say whether a function may mean something else later."""
    names = names_in(function.__code__)
    uses_globals = names.finds_any or names.assigned or not names.used.isdisjoint(function.__globals__)
    return bool(uses_globals or function.__closure__ or function.__defaults__ or function.__kwdefaults__)


def _same(one: Any, other: Any) -> bool:
    return one is other
