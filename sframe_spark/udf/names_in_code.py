"""What the code of functions does with names of their module and of the functions around them."""

from __future__ import annotations

import builtins
import dis
import functools
import sys
import types
from collections.abc import Iterator
from typing import Any

import attrs

# The type of functions whose results are remembered, which stand under the names of the functions in them.
CACHED = type(functools.lru_cache(lambda: None))
# Calls by which names are assigned in ways that the code does not show.
_ASSIGNING = frozenset({"globals", "vars", "exec", "eval", "setattr", "delattr"})
_READING = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS")
_ASSIGNING_GLOBALS = ("STORE_GLOBAL", "DELETE_GLOBAL")
_ASSIGNING_CELLS = ("STORE_DEREF", "DELETE_DEREF")


@attrs.frozen
class NamesInCode:
    """What some code does with names, that of functions and classes in it included.

    Parameters
    ----------
    used
        Names of the module, or built in, that it reads.
    assigned
        Names of the module that it assigns or deletes.
    assigned_around
        Names of the functions around it that it assigns or deletes.
    assigned_of_objects
        Attributes that it assigns: a module's are its names.
    """

    used: frozenset[str]
    assigned: frozenset[str]
    assigned_around: frozenset[str]
    assigned_of_objects: frozenset[str]

    @property
    def may_assign_any(self) -> bool:
        """Whether it may assign names that it does not spell."""
        return not _ASSIGNING.isdisjoint(self.used)


@functools.lru_cache(maxsize=4096)
def names_in(code: types.CodeType) -> NamesInCode:
    """What some code does with names.

    Examples
    --------
    >>> def counting(value):
    ...     global count
    ...     count += len(value)
    >>> names = names_in(counting.__code__)
    >>> sorted(names.used), sorted(names.assigned)
    (['count', 'len'], ['count'])
    """
    used, assigned, around, attributes = set[str](), set[str](), set[str](), set[str]()
    for part, free in _codes_in(code):
        for step in dis.get_instructions(part):
            if step.opname in _READING:
                used.add(step.argval)
            elif step.opname in _ASSIGNING_GLOBALS:
                assigned.add(step.argval)
            elif step.opname in _ASSIGNING_CELLS and step.argval in free:
                around.add(step.argval)
            elif step.opname == "STORE_ATTR":
                attributes.add(step.argval)
    return NamesInCode(frozenset(used), frozenset(assigned), frozenset(around), frozenset(attributes))


def _codes_in(code: types.CodeType) -> Iterator[tuple[types.CodeType, set[str]]]:
    """The code of a function and of those in it, each with its names that are of functions around the first."""
    waiting = [(code, set(code.co_freevars))]
    while waiting:
        part, free = waiting.pop()
        yield part, free
        inner = [constant for constant in part.co_consts if isinstance(constant, types.CodeType)]
        waiting += [(each, free & set(each.co_freevars) - set(part.co_cellvars)) for each in inner]


def found_by_name(value: Any) -> bool:
    """Say whether others find a function or class under its name in its module, so that it goes to other processes by that name.

    Examples
    --------
    >>> found_by_name(dis.Bytecode.from_traceback.__func__), found_by_name(lambda: 1)
    (True, False)
    """
    if type(value) not in (types.FunctionType, CACHED) and not is_class(value):
        return False
    try:
        module, name = value.__module__, value.__qualname__
        found = sys.modules.get(module) if type(module) is str and module != "__main__" else None
        for part in name.split(".") if found is not None else ():
            found = getattr(found, part, None)
        return found is value or (found is not None and getattr(found, "__func__", None) is value)
    except Exception:
        # A module that loads its parts when they are asked for, a class that answers in its own way.
        return False


def is_class(value: Any) -> bool:
    """Say whether something is a class, whatever it says of itself."""
    return issubclass(type(value), type)


def is_full(cell: types.CellType) -> bool:
    """Say whether a cell holds something: a name of an enclosing function may mean nothing yet."""
    try:
        _ = cell.cell_contents
    except ValueError:
        return False
    return True


def cells_of(function: types.FunctionType) -> dict[str, types.CellType]:
    """The cells of the names of enclosing functions."""
    return dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))


def functions_of(owner: type) -> Iterator[types.FunctionType]:
    """Functions that a class has, those of the classes above it included, but for those of other modules."""
    for kind in type.__dict__["__mro__"].__get__(owner):
        if kind is owner or kind.__module__ == owner.__module__ or not found_by_name(kind):
            for value in list(type.__dict__["__dict__"].__get__(kind).values()):
                yield from (part for part in _parts_of(value) if type(part) is types.FunctionType)


def _parts_of(value: Any) -> tuple[Any, ...]:
    """The functions of which a method or a property is made."""
    if type(value) in (staticmethod, classmethod):
        return (value.__func__,)
    if type(value) is property:
        return (value.fget, value.fset, value.fdel)
    if type(value) is CACHED:
        return (value.__wrapped__,)
    return (value.func,) if type(value) is functools.cached_property else (value,)


def is_built_in(name: str) -> bool:
    """Say whether a name that a module lacks means something all the same."""
    return hasattr(builtins, name)
