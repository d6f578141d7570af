"""The values of the variables that a user's function reads, and copies of the function that keep these values when other code reassigns them."""

from __future__ import annotations

import builtins
import copy
import functools
import itertools
import sys
import types
from collections.abc import Callable, Iterator
from operator import is_
from typing import Any

from sframe_spark.udf.code_analysis import CACHED, cells_of, functions_of, is_class, is_full, is_importable, names_in

# At most this many objects are visited; larger structures are data rather than tables of functions.
MAX_VISITED = 20_000
COLLECTIONS = (list, tuple, set, frozenset, dict)
# Types whose values cannot hold a function.
_PLAIN = frozenset({int, float, str, bytes, bool, complex, type(None), types.ModuleType, types.BuiltinFunctionType})
_ABSENT = object()


class Family:
    """The functions that a function can call: through variables, defaults, methods, partial functions, small collections and attributes of objects.

    An importable function (one that its module holds under its own name) is not a member: each call uses what the module holds at that time.

    Parameters
    ----------
    given
        The user's callable.
    """

    def __init__(self, given: Any) -> None:
        self.members: list[types.FunctionType] = []
        # Assigned globals by ``id`` of the globals dict and name; assigned cells by ``id`` of the cell.
        self.assigned: set[tuple[int, str]] = set()
        self.assigned_cells: set[int] = set()
        self._attributes: set[str] = set()
        self._may_assign_any = False
        # Visited objects are kept, so that no other object gets their ``id``.
        self._visited: dict[int, Any] = {}
        self._visit([*attributes_of(given).values(), called(given), given])
        # Globals that members read and no function assigns, with their values.
        self.names = list(self._read_names())
        # Cells that no function assigns, with their values, by ``id``.
        cells = [cell for function in self.members for cell in cells_of(function).values() if id(cell) not in self.assigned_cells]
        self.cells = {id(cell): (cell, cell.cell_contents) for cell in cells if is_full(cell)}

    def reached(self) -> list[Any]:
        """Return all objects that were visited when the family was made."""
        return list(self._visited.values())

    def _visit(self, pending: list[Any]) -> None:
        while pending and len(self._visited) < MAX_VISITED:
            value = pending.pop()
            if type(value) in _PLAIN or id(value) in self._visited:
                continue
            self._visited[id(value)] = value
            if type(value) is types.FunctionType:
                self._record_assigned(value)
                is_member = not is_importable(value)
                if is_member:
                    self.members.append(value)
                # A function of a member's module may assign what the member reads.
                if is_member or any(other.__globals__ is value.__globals__ for other in self.members):
                    pending += meanings(value)
            elif is_class(value) and (not is_importable(value) or self._shares_names_with(value)):
                for function in functions_of(value):
                    self._record_assigned(function)
                    pending += meanings(function)
            else:
                pending += itertools.islice(parts(value), MAX_VISITED)

    def _shares_names_with(self, value: type) -> bool:
        """Return whether a class belongs to the module of a member, so that its methods may assign what the member reads."""
        return any(other.__globals__.get("__name__") == value.__module__ for other in self.members)

    def _record_assigned(self, function: types.FunctionType) -> None:
        names, key = names_in(function.__code__), id(function.__globals__)
        self.assigned.update((key, name) for name in names.assigned)
        self.assigned_cells.update(id(cell) for name, cell in cells_of(function).items() if name in names.assigned_around)
        self._attributes |= names.assigned_attributes
        self._may_assign_any |= names.may_assign_any

    def _read_names(self) -> Iterator[tuple[dict[str, Any], str, Any]]:
        """Yield the globals dict, name and value of each global that members read and no visited function assigns, except undefined names."""
        seen = set()
        for function in self.members:
            module = function.__globals__
            for name in names_in(function.__code__).read:
                key = id(module), name
                if key not in seen and key not in self.assigned and (name in module or hasattr(builtins, name)):
                    seen.add(key)
                    yield module, name, module.get(name, _ABSENT)

    def is_as_it_was(self) -> bool:
        """Return whether all variables still have their recorded values."""
        # This is called for each row of some functions: a plain loop, as a generator alone would cost as much as three names.
        for module, name, value in self.names:
            if module.get(name, _ABSENT) is not value:
                return False
        return not self.cells or all(is_full(cell) and cell.cell_contents is value for cell, value in self.cells.values())

    def take_for_its_own(self, all_of_them: bool) -> None:
        """Treat variables that have changed during a call as assigned by the family itself, if its code may have assigned them.

        Parameters
        ----------
        all_of_them
            Whether no other code can have assigned any variable in the meantime. Then all changes are the family's, even if its code does not show
            them.
        """
        if all_of_them:
            self.cells = {key: item for key, item in self.cells.items() if is_full(item[0]) and item[0].cell_contents is item[1]}
        for item in list(self.names):
            module, name, value = item
            may_be_own = all_of_them or self._may_assign_any or name in self._attributes
            if may_be_own and module.get(name, _ABSENT) is not value:
                self.assigned.add((id(module), name))
                self.names = [other for other in self.names if other is not item]


def called(given: Any) -> Any:
    """Return the function that Python calls when an object that is not a function is called; None if the object cannot be called."""
    return getattr(type(given), "__call__", None)  # noqa: B004  # the function itself, not whether there is one


def attributes_of(value: Any) -> dict[str, Any]:
    """Return the attributes in an object's ``__dict__``, without calling code of its class; empty if there is no plain dict."""
    try:
        attributes = object.__getattribute__(value, "__dict__")
    except Exception:
        return {}
    return attributes if type(attributes) is dict else {}


def meanings(function: types.FunctionType) -> Iterator[Any]:
    """Yield the values of the variables that a function reads (globals and cells), and of its default arguments."""
    for name in names_in(function.__code__).read:
        if name in function.__globals__:
            yield function.__globals__[name]
    yield from (cell.cell_contents for cell in cells_of(function).values() if is_full(cell))
    yield from function.__defaults__ or ()
    yield from (function.__kwdefaults__ or {}).values()


def parts(value: Any) -> Iterator[Any]:
    """Yield the parts of an object (not a function) that may hold functions."""
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
        # Attributes of objects of importable classes are taken to be data.
        yield from () if is_importable(kind) else list(attributes_of(value).values())


# Collections nested deeper than this are taken to be data.
_MAX_DEPTH = 20

Function = Callable[..., Any]


def itself(function: Function) -> Function:
    """Return the function unchanged; called to unpickle an :class:`AssigningFunction`."""
    return function


def copied(given: Function, family: Family) -> Function:
    """Copy a function and the members of its family; in the copies variables have the values that they had when the family was made."""
    copies = _Copies(family)
    function = copies.copy_of_callable(given)
    scopes = [scope for scope in copies.scopes.values() if type(scope) is Scope]
    return AssigningFunction(function, scopes) if scopes else function


class Scope(dict[str, Any]):
    """The globals dict of copied functions that assign some globals. Until such a global is assigned here, it is looked up in the original module.

    Parameters
    ----------
    module
        The globals dict of the original functions.
    assigned
        Names that the functions assign. Python stores globals without calling ``__setitem__``, so :meth:`carry` copies them to the module later.
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
        """Move the globals that have been assigned to the original module."""
        for name in self.assigned:
            if dict.__contains__(self, name):
                self.module[name] = self[name]
                self.pop(name, None)


class AssigningFunction:
    """A function that assigns globals of modules. After each call the modules get the assigned values.

    Parameters
    ----------
    function
        The function, a copy with bound variables.
    scopes
        The globals of the copies, in which the function assigns.
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
        # In another process there is no original module to update.
        return itself, (self.function,)


class _Copies:
    """Copies of the functions of a family whose variables keep the values recorded in the family.

    Parameters
    ----------
    family
        The functions to copy.
    """

    def __init__(self, family: Family) -> None:
        self._family = family
        self.scopes: dict[int, dict[str, Any]] = {}
        self._cells: dict[int, types.CellType] = {}
        self._depth = self._examined = 0
        # By ``id``, together with the originals, which are kept so that no other object gets their ``id``.
        self._done: dict[int, tuple[Any, Any]] = {}
        for function in family.members:
            self._done[id(function)] = function, self._copy(function)
        # Variables are set after all copies exist, because copies refer to each other.
        self._fill()

    def copy_of_callable(self, given: Any) -> Any:
        """Return the copy of the user's callable, which may also be an object that holds functions, or an object with ``__call__``."""
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
        """Return the value that a variable has in the copies: the copy if the value is a copied function or holds one, otherwise the value itself."""
        if id(value) in self._done:
            return self._done[id(value)][1]
        kind, copied_value = type(value), value
        if kind is types.MethodType:
            function = self.bound(value.__func__)
            copied_value = value if function is value.__func__ else types.MethodType(function, value.__self__)
        elif issubclass(kind, functools.partial):
            copied_value = self._partial(value)
        elif kind is CACHED and not is_importable(value):
            function = self.bound(value.__wrapped__)
            copied_value = value if function is value.__wrapped__ else functools.lru_cache(**value.cache_parameters())(function)
        elif kind in COLLECTIONS and self._depth < _MAX_DEPTH and self._examined < MAX_VISITED:
            self._depth += 1
            copied_value = self._collection(value)
            self._depth -= 1
        else:
            return value
        self._done[id(value)] = value, copied_value
        return copied_value

    def _partial(self, value: functools.partial[Any]) -> functools.partial[Any]:
        if self._depth >= _MAX_DEPTH:
            return value
        self._depth += 1
        old = (value.func, *value.args, *value.keywords.values())
        new = tuple(map(self.bound, old))
        self._depth -= 1
        if all(map(is_, old, new)):
            return value
        arguments, keywords = new[1 : 1 + len(value.args)], dict(zip(value.keywords, new[1 + len(value.args) :], strict=True))
        copied_partial: Any = copy.copy(value)
        copied_partial.__setstate__((new[0], arguments, keywords, dict(value.__dict__)))
        return copied_partial

    def _collection(self, value: Any) -> Any:
        """Return the same collection, or a new one if it holds functions that are copied."""
        # Recorded first, because the collection may contain itself.
        self._done[id(value)] = value, value
        keys, items = (list(value), list(value.values())) if type(value) is dict else ([], list(value))
        self._examined += len(keys) + len(items)
        new_keys, new_items = list(map(self.bound, keys)), list(map(self.bound, items))
        if all(map(is_, keys, new_keys)) and all(map(is_, items, new_items)):
            return value
        return dict(zip(new_keys, new_items, strict=False)) if type(value) is dict else type(value)(new_items)

    def _copy(self, function: types.FunctionType) -> types.FunctionType:
        cells = tuple(self._cell(cell) for cell in cells_of(function).values())
        duplicate = types.FunctionType(function.__code__, self._scope(function), function.__name__, None, cells)
        duplicate.__qualname__, duplicate.__module__, duplicate.__doc__ = function.__qualname__, function.__module__, function.__doc__
        # Attributes of the function object are shared with the original.
        duplicate.__dict__ = function.__dict__
        if sys.version_info >= (3, 12):
            duplicate.__type_params__ = function.__type_params__
        if sys.version_info < (3, 14):
            duplicate.__annotations__ = function.__annotations__
        return duplicate

    def _cell(self, cell: types.CellType) -> types.CellType:
        return self._cells.setdefault(id(cell), types.CellType()) if id(cell) in self._family.cells else cell

    def _scope(self, function: types.FunctionType) -> dict[str, Any]:
        """Return the globals dict for the copies of all functions that share one globals dict."""
        module = function.__globals__
        key = id(module)
        if key not in self.scopes:
            assigned = frozenset(name for module_id, name in self._family.assigned if module_id == key)
            scope = Scope(module, assigned) if assigned else {}
            scope.update((name, value) for name, value in list(module.items()) if name not in assigned)
            self.scopes[key] = scope
        return self.scopes[key]

    def _fill(self) -> None:
        """Set the variables and defaults of the copies to the recorded values."""
        for cell, value in self._family.cells.values():
            if id(cell) in self._cells:
                self._cells[id(cell)].cell_contents = self.bound(value)
        for module, name, value in self._family.names:
            scope = self.scopes[id(module)]
            if value is _ABSENT:
                # The name meant a built-in.
                scope.pop(name, None)
            else:
                scope[name] = self.bound(value)
        for function in self._family.members:
            duplicate = self._done[id(function)][1]
            duplicate.__defaults__ = None if function.__defaults__ is None else tuple(map(self.bound, function.__defaults__))
            duplicate.__kwdefaults__ = {name: self.bound(value) for name, value in (function.__kwdefaults__ or {}).items()} or None


def _with_attributes(given: Any, attributes: dict[str, Any]) -> Any:
    """Return a copy of an object with some attributes replaced; the object itself if it cannot be copied in the standard way."""
    try:
        duplicate = copy.copy(given)
        own_attributes = attributes_of(duplicate)
    except Exception:
        return given
    if duplicate is given or type(duplicate) is not type(given) or own_attributes.keys() != attributes_of(given).keys():
        return given
    own_attributes.update(attributes)
    return duplicate
