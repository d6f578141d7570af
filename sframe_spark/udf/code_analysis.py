"""Analysis of byte code: which names functions read, assign and mention."""

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

# The type of functions whose results are remembered, which stand under the names of the functions in them.
CACHED = type(functools.lru_cache(lambda: None))
# Calls by which names are assigned, and read, in ways that the code does not show.
_ASSIGNS_ANY = frozenset({"globals", "vars", "exec", "eval", "setattr", "delattr"})
_READS_ANY = frozenset({"vars", "globals", "eval", "exec", "__dict__", "import_module", "attrgetter", "getmembers"})
_READS_OWN = frozenset({"globals", "eval", "exec"})
_UNPICKLES = frozenset({"loads", "load", "Unpickler", "read_pickle"})
_PICKLERS = frozenset({"pickle", "cloudpickle", "dill", "joblib", "pandas", "pd"})
_LOADS_CONSTANT = ("LOAD_CONST", "LOAD_SMALL_INT")
_WORD = re.compile(r"[^\W\d]\w*")
_READING = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS")
_ATTRIBUTE = ("LOAD_ATTR", "LOAD_METHOD")


@attrs.frozen
class CodeNames:
    """The names that some code uses, including functions and classes nested in it.

    Parameters
    ----------
    names, texts
        Variables and attributes that it mentions; texts that may be names of such.
    read, assigned
        Variables of its module, or built-in ones, that it reads; those of its module that it assigns or deletes.
    assigned_around
        Variables of enclosing functions that it assigns or deletes.
    assigned_attributes
        Attributes that it assigns: those of a module are its variables.
    imported
        Modules that it imports.
    passed_on
        Variables that it reads for other reasons than to read an attribute of their value.
    reads_any, reads_own
        It may read variables that it does not spell: of any module that it names, of its own.
    hashes
        It asks for hashes, which differ from process to process where they are of texts.
    makes_sets
        It makes sets, whose order depends on such hashes.
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
        """Whether it may assign names that it does not spell."""
        return not _ASSIGNS_ANY.isdisjoint(self.read)


@functools.lru_cache(maxsize=4096)
def names_in(code: types.CodeType) -> CodeNames:
    """Return the names that some code uses.

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
        # Code that is a text.
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
    """Return the code of a function and of those in it, each with its names that are of functions around the first."""
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
    """Return whether a call of ``getattr``, whose function has just been loaded, has the name of the attribute as a constant string.

    The name is the second argument: what is loaded last, or before a constant default.
    """
    depth, loaded = 0, []
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
        # A module that loads its parts when they are asked for, a class that answers in its own way.
        return False


def is_class(value: Any) -> bool:
    """Return whether something is a class, whatever it says of itself."""
    return issubclass(type(value), type)


def is_full(cell: types.CellType) -> bool:
    """Return whether a cell holds something: a name of an enclosing function may mean nothing yet."""
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
        if kind is owner or kind.__module__ == owner.__module__ or not is_importable(kind):
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
    """Return whether a name that a module lacks means something all the same."""
    return hasattr(builtins, name)
