"""What the byte code of functions reads, assigns and names."""

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


# Names with which code reads variables that it does not spell: then all variables of the modules that it reaches are sent.
_READS_ANY = frozenset({"vars", "globals", "eval", "exec", "__dict__", "import_module", "attrgetter", "getmembers"})
_READS_OWN = frozenset({"globals", "eval", "exec"})
_WORD = re.compile(r"[^\W\d]\w*")
_UNPICKLES = frozenset({"loads", "load", "Unpickler", "read_pickle"})
_PICKLERS = frozenset({"pickle", "cloudpickle", "dill", "joblib", "pandas", "pd"})


@attrs.frozen
class WordsInCode:
    """What some code names, and what it does that is another thing in another process.

    Parameters
    ----------
    names, texts
        Variables and attributes; texts that may be names of such.
    imported, assigned
        Modules that it imports, variables of its own module that it assigns.
    passed_on
        Variables that it reads, and not to read an attribute of what they are.
    reads_any, reads_own
        It may read variables that it does not spell: of any module that it names, of its own.
    hashes
        It asks for hashes, which differ from process to process where they are of texts.
    makes_sets
        It makes sets, whose order depends on such hashes.
    """

    names: frozenset[str]
    texts: frozenset[str]
    imported: frozenset[str]
    assigned: frozenset[str]
    passed_on: frozenset[str]
    reads_any: bool
    reads_own: bool
    hashes: bool
    makes_sets: bool


@functools.lru_cache(maxsize=4096)
def words_in(code: types.CodeType) -> WordsInCode:
    """What some code names, that of functions in it included.

    Examples
    --------
    >>> def rated(row):
    ...     import rules
    ...     return row["sum"] * getattr(rules, "RATE")
    >>> words = words_in(rated.__code__)
    >>> sorted(words.names), sorted(words.texts), sorted(words.imported)
    (['getattr', 'rules'], ['RATE', 'sum'], ['rules'])
    """
    names, texts, imported, assigned = set[str](), set[str](), set[str](), set[str]()
    passed_on, constants = set[str](), list[str]()
    reads_any = hashes = makes_sets = False
    waiting = [code]
    while waiting:
        part = waiting.pop()
        names.update(part.co_names)
        for constant in part.co_consts:
            for item in constant if type(constant) in (tuple, frozenset) else (constant,):
                if type(item) is str:
                    constants.append(item)
                if type(item) is str and item.replace(".", "_").isidentifier():
                    texts.add(item)
                elif isinstance(item, types.CodeType):
                    waiting.append(item)
        steps = list(dis.get_instructions(part))
        for place, step in enumerate(steps):
            if step.opname == "IMPORT_NAME":
                imported.add(step.argval)
            elif step.opname == "STORE_GLOBAL":
                assigned.add(step.argval)
            elif step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
                if not any(each.opname in ("LOAD_ATTR", "LOAD_METHOD") for each in steps[place + 1 : place + 2]):
                    passed_on.add(step.argval)
                hashes = hashes or step.argval == "hash"
                makes_sets = makes_sets or step.argval in ("set", "frozenset")
                reads_any = reads_any or (step.argval == "getattr" and not _is_spelled(steps[place + 1 :]))
            elif step.opname in ("BUILD_SET", "SET_ADD"):
                makes_sets = True
    unpickles = not _UNPICKLES.isdisjoint(names) and not _PICKLERS.isdisjoint(names)
    reads_any = reads_any or unpickles or not _READS_ANY.isdisjoint(names)
    hashes = hashes or "__hash__" in names
    reads_own = not _READS_OWN.isdisjoint(names)
    if reads_own:
        # Code that is a text.
        texts.update(word for part in constants for word in _WORD.findall(part))
    words = frozenset(names), frozenset(texts), frozenset(imported), frozenset(assigned), frozenset(passed_on)
    return WordsInCode(*words, reads_any, reads_own, hashes, makes_sets)


def _is_spelled(steps: Sequence[dis.Instruction]) -> bool:
    """Say whether a call of ``getattr`` has the name of the attribute as a constant, as its last argument or before a constant."""
    given: list[dis.Instruction] = []
    for step in steps:
        if step.opname in ("CALL", "CALL_FUNCTION_EX", "CALL_KW"):
            break
        if step.opname not in ("PRECALL", "CACHE", "PUSH_NULL"):
            given.append(step)
    constants = [step.argval for step in itertools.takewhile(lambda step: step.opname == "LOAD_CONST", reversed(given))]
    return any(type(constant) is str for constant in constants[:2])
