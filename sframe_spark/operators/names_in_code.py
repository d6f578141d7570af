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
# Calls that find names in ways that the code does not show.
_FINDING = frozenset({"globals", "eval", "exec"})


@attrs.frozen
class NamesInCode:
    """What some code does with names, that of functions and classes in it included.

    Parameters
    ----------
    used
        Names of the module, or built in, that it reads.
    assigned
        Names of the module that it assigns.
    deleted
        Names of the module that it deletes.
    assigned_around
        Names of the functions around it that it assigns or deletes.
    """

    used: frozenset[str]
    assigned: frozenset[str]
    deleted: frozenset[str]
    assigned_around: frozenset[str]

    @property
    def finds_any(self) -> bool:
        """Whether it may read any name."""
        return not _FINDING.isdisjoint(self.used)


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
    found: dict[str, set[str]] = {operation: set() for operation in _OPERATIONS}
    for part in _codes_in(code):
        for step in dis.get_instructions(part):
            if step.opname in found:
                found[step.opname].add(step.argval)
    return NamesInCode(
        frozenset(found["LOAD_GLOBAL"] | found["LOAD_NAME"]),
        frozenset(found["STORE_GLOBAL"]),
        frozenset(found["DELETE_GLOBAL"]),
        frozenset((found["STORE_DEREF"] | found["DELETE_DEREF"]) & set(code.co_freevars)),
    )


_OPERATIONS = ("LOAD_GLOBAL", "LOAD_NAME", "STORE_GLOBAL", "DELETE_GLOBAL", "STORE_DEREF", "DELETE_DEREF")


def _codes_in(code: types.CodeType) -> Iterator[types.CodeType]:
    waiting = [code]
    while waiting:
        part = waiting.pop()
        yield part
        waiting += [constant for constant in part.co_consts if isinstance(constant, types.CodeType)]


def found_by_name(value: Any) -> bool:
    """Say whether others find a function or class under its name in its module, so that it goes to other processes by that name.

    Examples
    --------
    >>> found_by_name(dis.Bytecode.from_traceback.__func__), found_by_name(lambda: 1)
    (True, False)
    """
    if not isinstance(value, (types.FunctionType, type, CACHED)):
        return False
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    found = sys.modules.get(module) if isinstance(module, str) and module != "__main__" else None
    if found is None or not isinstance(name, str):
        return False
    for part in name.split("."):
        found = getattr(found, part, None)
    return getattr(found, "__func__", found) is value


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


def functions_of(owner: type | types.ModuleType) -> Iterator[types.FunctionType]:
    """Functions that a class or a module has, and those of the classes in it."""
    module = owner.__name__ if isinstance(owner, types.ModuleType) else owner.__module__
    waiting, seen = [owner], {id(owner)}
    while waiting:
        for value in list(vars(waiting.pop()).values()):
            yield from (part for part in _parts_of(value) if isinstance(part, types.FunctionType))
            if isinstance(value, type) and value.__module__ == module and id(value) not in seen:
                seen.add(id(value))
                waiting.append(value)


def _parts_of(value: Any) -> tuple[Any, ...]:
    """The functions of which a method or a property is made."""
    if isinstance(value, (staticmethod, classmethod)):
        return (value.__func__,)
    if isinstance(value, property):
        return (value.fget, value.fset, value.fdel)
    return (value.func,) if isinstance(value, functools.cached_property) else (value,)


def is_built_in(name: str) -> bool:
    """Say whether a name that a module lacks means something all the same."""
    return hasattr(builtins, name)
