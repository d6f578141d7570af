"""Analysis of byte code: which names a function reads, assigns or mentions, and which functions a class has."""

from __future__ import annotations

import builtins
import dis
import functools
import itertools
import re
import sys
import types
from collections.abc import Iterator, Sequence
from typing import Any

import attrs

# The type of functions wrapped by ``functools.lru_cache``. A module holds the wrapper under the name of the wrapped function.
CACHED = type(functools.lru_cache(lambda: None))
# Built-in functions that can assign variables or attributes whose names are not in the byte code.
_ASSIGNS_ANY = frozenset({"globals", "vars", "exec", "eval", "setattr", "delattr"})
# Names whose use shows that the code may read variables of any module by names that are not in the byte code.
_READS_ANY = frozenset({"vars", "globals", "eval", "exec", "__dict__", "import_module", "attrgetter", "getmembers"})
# Built-in functions that can read variables of the calling function's own module by names that are not in the byte code.
_READS_OWN = frozenset({"globals", "eval", "exec"})
# Functions that unpickle: what they read depends on the pickled bytes. They count only together with a name of ``_PICKLERS``.
_UNPICKLES = frozenset({"loads", "load", "Unpickler", "read_pickle"})
# Modules that provide the functions of ``_UNPICKLES``, and the usual alias of pandas.
_PICKLERS = frozenset({"pickle", "cloudpickle", "dill", "joblib", "pandas", "pd"})
# Byte code instructions that load a constant.
_LOADS_CONSTANT = ("LOAD_CONST", "LOAD_SMALL_INT")
# A Python identifier within a string.
_WORD = re.compile(r"[^\W\d]\w*")
# Byte code instructions that read a global or built-in variable.
_READING = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS")
# Byte code instructions that read an attribute.
_ATTRIBUTE = ("LOAD_ATTR", "LOAD_METHOD")


@attrs.frozen
class CodeNames:
    """The names that a code object uses, including functions and classes nested in it.

    Parameters
    ----------
    names, texts
        ``names``: global variables, attributes and modules that the code mentions. ``texts``: string constants that may be names of variables.
    read, assigned
        ``read``: global or built-in variables that the code reads. ``assigned``: global variables that the code assigns or deletes.
    assigned_around
        Variables of enclosing functions that the code assigns or deletes.
    assigned_attributes
        Attributes that the code assigns. If the object is a module, the attribute is a variable of that module.
    imported
        Names of the modules that the code imports.
    passed_on
        Global variables whose value the code uses other than by reading an attribute of the value.
    reads_any, reads_own
        Whether the code may read variables whose names are not in it: of any module that it mentions (``reads_any``), of its own (``reads_own``).
    hashes
        Whether the code calls ``hash`` or mentions ``__hash__``: hashes of strings differ between processes.
    makes_sets
        Whether the code makes sets: their iteration order depends on such hashes.
    """

    names: frozenset[str]
    texts: frozenset[str]
    read: frozenset[str]
    assigned: frozenset[str]
    assigned_around: frozenset[str]
    assigned_attributes: frozenset[str]
    imported: frozenset[str]
    passed_on: frozenset[str]
    reads_any: bool
    reads_own: bool
    hashes: bool
    makes_sets: bool

    @property
    def may_assign_any(self) -> bool:
        """Whether the code may assign variables or attributes whose names are not in the code."""
        return not _ASSIGNS_ANY.isdisjoint(self.read)


@functools.lru_cache(maxsize=4096)
def names_in(code: types.CodeType) -> CodeNames:
    """Return the names that a code object uses.

    Examples
    --------
    >>> def rated(row):
    ...     global count
    ...     import rules
    ...     count += len(row)
    ...     return row["sum"] * getattr(rules, "RATE")
    >>> found = names_in(rated.__code__)
    >>> sorted(found.names), sorted(found.texts), sorted(found.imported)
    (['count', 'getattr', 'len', 'rules'], ['RATE', 'sum'], ['rules'])
    >>> sorted(found.read), sorted(found.assigned)
    (['count', 'getattr', 'len'], ['count'])
    """
    names, constants = set[str](), list[str]()
    read, assigned, around, attributes = set[str](), set[str](), set[str](), set[str]()
    imported, passed_on = set[str](), set[str]()
    makes_sets = reads_any = False
    for part, free in _codes_in(code):
        names.update(part.co_names)
        constants += [item for item in _constants_of(part) if type(item) is str]
        steps = list(dis.get_instructions(part))
        for place, step in enumerate(steps):
            name = step.argval
            if step.opname in _READING:
                read.add(name)
                if not any(each.opname in _ATTRIBUTE for each in steps[place + 1 : place + 2]):
                    passed_on.add(name)
                reads_any = reads_any or (name == "getattr" and not _is_spelled(steps[place + 1 :]))
            elif step.opname in ("STORE_GLOBAL", "DELETE_GLOBAL"):
                assigned.add(name)
            elif step.opname in ("STORE_DEREF", "DELETE_DEREF") and name in free:
                around.add(name)
            elif step.opname == "STORE_ATTR":
                attributes.add(name)
            elif step.opname == "IMPORT_NAME":
                imported.add(name)
            elif step.opname in ("BUILD_SET", "SET_ADD"):
                makes_sets = True
    texts = {item for item in constants if item.replace(".", "_").isidentifier()}
    reads_own = not _READS_OWN.isdisjoint(names)
    if reads_own:
        # Strings may hold code: each identifier in a string may be a name.
        texts.update(word for item in constants for word in _WORD.findall(item))
    unpickles = not _UNPICKLES.isdisjoint(names) and not _PICKLERS.isdisjoint(names)
    return CodeNames(
        names=frozenset(names),
        texts=frozenset(texts),
        read=frozenset(read),
        assigned=frozenset(assigned),
        assigned_around=frozenset(around),
        assigned_attributes=frozenset(attributes),
        imported=frozenset(imported),
        passed_on=frozenset(passed_on),
        reads_any=reads_any or unpickles or not _READS_ANY.isdisjoint(names),
        reads_own=reads_own,
        hashes="hash" in read or "__hash__" in names,
        makes_sets=makes_sets or not read.isdisjoint({"set", "frozenset"}),
    )


def _codes_in(code: types.CodeType) -> Iterator[tuple[types.CodeType, set[str]]]:
    """Yield the code of a function and of each function nested in it, with the variables taken from functions that enclose the first."""
    waiting = [(code, set(code.co_freevars))]
    while waiting:
        part, free = waiting.pop()
        yield part, free
        inner = [each for each in _constants_of(part) if isinstance(each, types.CodeType)]
        waiting += [(each, free & set(each.co_freevars) - set(part.co_cellvars)) for each in inner]


def _constants_of(code: types.CodeType) -> Iterator[Any]:
    for constant in code.co_consts:
        yield from constant if type(constant) in (tuple, frozenset) else (constant,)


def _is_spelled(steps: Sequence[dis.Instruction]) -> bool:
    """Return whether a call of ``getattr`` names the attribute as a string constant.

    The instructions start after ``getattr`` has been loaded. The name is the second argument: it is loaded last, or before a constant default.
    """
    depth = 0
    loaded: list[dis.Instruction] = []
    for step in steps:
        if step.opname in ("PRECALL", "CALL") and depth == step.arg:
            constants = list(itertools.takewhile(lambda load: load.opname in _LOADS_CONSTANT, reversed(loaded)))
            name = {2: constants[:1], 3: constants[1:2]}.get(depth, [])
            return any(type(load.argval) is str for load in name)
        if step.opname == "PUSH_NULL" and not loaded:
            continue
        if step.opname != "CACHE":
            depth += dis.stack_effect(step.opcode, step.arg if step.opcode >= dis.HAVE_ARGUMENT else None, jump=False)
            loaded.append(step)
    return False


def is_importable(value: Any) -> bool:
    """Return whether a function or class can be imported by its name, so that it is sent to other processes by that name.

    Examples
    --------
    >>> is_importable(dis.Bytecode.from_traceback.__func__), is_importable(lambda: 1)
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
        # The module may load attributes lazily, or the class may override attribute access.
        return False


def is_class(value: Any) -> bool:
    """Return whether a value is a class, even if it overrides ``__class__``."""
    return issubclass(type(value), type)


def is_full(cell: types.CellType) -> bool:
    """Return whether a cell has a value: a variable of an enclosing function may not be assigned yet."""
    try:
        _ = cell.cell_contents
    except ValueError:
        return False
    return True


def cells_of(function: types.FunctionType) -> dict[str, types.CellType]:
    """Return the closure cells of a function by variable name."""
    return dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))


def functions_of(owner: type) -> Iterator[types.FunctionType]:
    """Yield the functions that a class defines or inherits, except those of base classes that can be imported from another module."""
    for kind in type.__dict__["__mro__"].__get__(owner):
        if kind is owner or kind.__module__ == owner.__module__ or not is_importable(kind):
            for value in list(type.__dict__["__dict__"].__get__(kind).values()):
                yield from (part for part in _parts_of(value) if type(part) is types.FunctionType)


def _parts_of(value: Any) -> tuple[Any, ...]:
    """Return the functions that an attribute of a class wraps (a method, property or cached function), or the attribute itself if it wraps none."""
    if type(value) in (staticmethod, classmethod):
        return (value.__func__,)
    if type(value) is property:
        return (value.fget, value.fset, value.fdel)
    if type(value) is CACHED:
        return (value.__wrapped__,)
    return (value.func,) if type(value) is functools.cached_property else (value,)


def is_built_in(name: str) -> bool:
    """Return whether a name is built in, so that code can read it without defining it in a module."""
    return hasattr(builtins, name)
