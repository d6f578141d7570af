"""A user's function with the names that it uses bound to what they name now: it is called later, maybe in several parts, maybe elsewhere.

A loop that applies ``lambda value: value * factor`` once for each factor makes columns of different factors, although none is computed before
the loop has ended. The reference sends a copy of the function to other processes at once, with the same effect.
"""

from __future__ import annotations

import builtins
import dis
import functools
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

import attrs

# What a module gives to each of its functions.
_OF_MODULES = ("__name__", "__package__", "__spec__", "__loader__", "__file__", "__builtins__")
# Calls that find names in ways that the code does not show.
_FINDING = frozenset({"globals", "locals", "vars", "eval", "exec", "compile"})


def bound_now(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose names mean what they mean now, whatever is assigned to them later.

    Objects stay the same objects: the function sees what is changed in them, and others see what it changes. Names that it assigns itself
    (``global``, ``nonlocal``) keep their meaning. A function that its module has under its name is part of that module, and is called as the module
    is then.

    Examples
    --------
    >>> factor, seen = 2, []
    >>> bound = bound_now(lambda value: seen.append(value) or value * factor)
    >>> factor = 3
    >>> bound(10), seen
    (20, [10])
    """
    return _Binding().bound(function)


@attrs.frozen
class _Names:
    """What the code of a function does with names, that of functions in it included."""

    globals: frozenset[str]
    assigns_globals: bool
    assigned: frozenset[str]


@functools.lru_cache(maxsize=256)
def _names_in(code: types.CodeType) -> _Names:
    used, assigned, assigns_globals = set(), set(), False
    for part in _codes_in(code):
        for step in dis.get_instructions(part):
            if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
                used.add(step.argval)
            elif step.opname in ("STORE_GLOBAL", "DELETE_GLOBAL"):
                assigns_globals = True
            elif step.opname in ("STORE_DEREF", "DELETE_DEREF"):
                assigned.add(step.argval)
    return _Names(frozenset(used), assigns_globals or not _FINDING.isdisjoint(used), frozenset(assigned))


def _codes_in(code: types.CodeType) -> Iterator[types.CodeType]:
    waiting = [code]
    while waiting:
        part = waiting.pop()
        yield part
        waiting += [constant for constant in part.co_consts if isinstance(constant, types.CodeType)]


def _is_of_a_module(function: types.FunctionType) -> bool:
    """Whether others find a function under its name in its module, so that it goes to other processes by that name."""
    module = sys.modules.get(function.__module__ or "")
    return function.__module__ != "__main__" and getattr(module, function.__qualname__, None) is function


def _is_full(cell: types.CellType) -> bool:
    try:
        _ = cell.cell_contents
    except ValueError:
        return False
    return True


class _Binding:
    """Copies of the functions of a family, whose names mean what they do now."""

    def __init__(self) -> None:
        # By identity; what is copied is kept, so that no other object gets its number.
        self._done: dict[int, tuple[Any, Any]] = {}

    def bound(self, value: Any) -> Any:
        """What a name means, as it is now."""
        if id(value) in self._done:
            return self._done[id(value)][1]
        if type(value) is types.FunctionType and not _is_of_a_module(value):
            return self._function(value)
        if type(value) is functools.partial:
            keywords = {name: self.bound(item) for name, item in value.keywords.items()}
            return self._keep(value, functools.partial(self.bound(value.func), *map(self.bound, value.args), **keywords))
        return value

    def _keep(self, value: Any, copy: Any) -> Any:
        self._done[id(value)] = value, copy
        return copy

    def _function(self, function: types.FunctionType) -> types.FunctionType:
        names, meanings = _names_in(function.__code__), function.__globals__
        unknown = any(name not in meanings and not hasattr(builtins, name) for name in names.globals)
        # A name that means nothing yet is looked up when the function is called.
        shared = names.assigns_globals or unknown
        own = meanings if shared else {name: meanings[name] for name in _OF_MODULES if name in meanings}
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        taken = {name: types.CellType() for name, cell in cells.items() if name not in names.assigned and _is_full(cell)}
        closure = tuple(taken.get(name, cell) for name, cell in cells.items())
        copy = types.FunctionType(function.__code__, own, function.__name__, None, closure)
        # Before what it uses is taken, which may be itself.
        self._keep(function, copy)
        for name, cell in taken.items():
            cell.cell_contents = self.bound(cells[name].cell_contents)
        if not shared:
            own.update((name, self.bound(meanings[name])) for name in names.globals if name in meanings)
        copy.__defaults__ = None if function.__defaults__ is None else tuple(map(self.bound, function.__defaults__))
        copy.__kwdefaults__ = {name: self.bound(value) for name, value in (function.__kwdefaults__ or {}).items()} or None
        copy.__qualname__, copy.__module__, copy.__doc__ = function.__qualname__, function.__module__, function.__doc__
        copy.__dict__.update({name: self.bound(value) for name, value in function.__dict__.items()})
        return copy
