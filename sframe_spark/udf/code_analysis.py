"""Analysis of users' functions and classes: the names that byte code reads, assigns or mentions, closure cells, the functions of a class, and
whether a function or class can be imported by its name.
"""

from __future__ import annotations

import dis
import functools
import itertools
import re
import sys
import types
from collections import defaultdict
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
# Functions and classes that unpickle: what they read depends on the pickled bytes. They count only together with a name of ``_PICKLERS``.
_UNPICKLES = frozenset({"loads", "load", "Unpickler", "read_pickle"})
# Modules that provide the functions of ``_UNPICKLES``, and the usual alias of pandas.
_PICKLERS = frozenset({"pickle", "_pickle", "cloudpickle", "dill", "joblib", "pandas", "pd"})
# Byte code instructions that load a constant.
_LOADS_CONSTANT = ("LOAD_CONST", "LOAD_SMALL_INT")
# A Python identifier within a string.
_WORD = re.compile(r"[^\W\d]\w*")
# Byte code instructions that read a global or built-in variable, assign or delete one, and read an attribute.
_READING = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS")
_ASSIGNING = ("STORE_GLOBAL", "DELETE_GLOBAL")
_ATTRIBUTE = ("LOAD_ATTR", "LOAD_METHOD")


@attrs.frozen
class CodeNames:
    """The names that a code object and the functions and classes nested in it use.

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
    used_as_values
        Global variables whose value the code uses in another way than reading an attribute of it, for example as an argument.
    reads_any, reads_own
        Whether the code may read variables whose names are not in it: variables of any module that it mentions (``reads_any``), or of its own module
        (``reads_own``).
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
    used_as_values: frozenset[str]
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
    >>> used = names_in(rated.__code__)
    >>> sorted(used.names), sorted(used.texts), sorted(used.imported)
    (['count', 'getattr', 'len', 'rules'], ['RATE', 'sum'], ['rules'])
    >>> sorted(used.read), sorted(used.assigned)
    (['count', 'getattr', 'len'], ['count'])
    """
    names, constants = set[str](), list[str]()
    by_operation = defaultdict[str, set[Any]](set)
    read, around, values = set[str](), set[str](), set[str]()
    reads_any = False
    for part, free in _codes_in(code):
        names.update(part.co_names)
        constants += [item for item in _constants_of(part) if type(item) is str]
        steps = list(dis.get_instructions(part))
        for index, step in enumerate(steps):
            name = step.argval
            if step.opname in _READING:
                read.add(name)
                if not any(following.opname in _ATTRIBUTE for following in steps[index + 1 : index + 2]):
                    values.add(name)
                reads_any = reads_any or (name == "getattr" and not _has_constant_name(steps[index + 1 :]))
            elif step.opname in ("STORE_DEREF", "DELETE_DEREF") and name in free:
                around.add(name)
            elif step.opname in (*_ASSIGNING, "STORE_ATTR", "IMPORT_NAME", "BUILD_SET", "SET_ADD"):
                by_operation[step.opname].add(name)
    texts = {item for item in constants if item.replace(".", "_").isidentifier()}
    reads_own = not _READS_OWN.isdisjoint(names)
    if reads_own:
        # Strings may hold code: each identifier in a string may be a name.
        texts.update(word for item in constants for word in _WORD.findall(item))
    unpickles = not _UNPICKLES.isdisjoint(names) and not _PICKLERS.isdisjoint(names)
    uses_sets = not by_operation.keys().isdisjoint({"BUILD_SET", "SET_ADD"}) or not read.isdisjoint({"set", "frozenset"})
    return CodeNames(
        names=frozenset(names),
        texts=frozenset(texts),
        read=frozenset(read),
        assigned=frozenset().union(*map(by_operation.__getitem__, _ASSIGNING)),
        assigned_around=frozenset(around),
        assigned_attributes=frozenset(by_operation["STORE_ATTR"]),
        imported=frozenset(by_operation["IMPORT_NAME"]),
        used_as_values=frozenset(values),
        reads_any=reads_any or unpickles or not _READS_ANY.isdisjoint(names),
        reads_own=reads_own,
        hashes="hash" in read or "__hash__" in names,
        makes_sets=uses_sets,
    )


def _codes_in(code: types.CodeType) -> Iterator[tuple[types.CodeType, set[str]]]:
    """Yield the code of a function and of each function nested in it, each with its variables that belong to functions around the outermost one."""
    pending = [(code, set(code.co_freevars))]
    while pending:
        part, free = pending.pop()
        yield part, free
        nested = [constant for constant in _constants_of(part) if isinstance(constant, types.CodeType)]
        pending += [(inner, free & set(inner.co_freevars) - set(part.co_cellvars)) for inner in nested]


def _constants_of(code: types.CodeType) -> Iterator[Any]:
    for constant in code.co_consts:
        yield from constant if type(constant) in (tuple, frozenset) else (constant,)


def _has_constant_name(steps: Sequence[dis.Instruction]) -> bool:
    """Return whether the name in a call of ``getattr`` is a string constant.

    The instructions begin after ``getattr`` has been loaded. The name is the second argument: it is loaded last, or before a constant default.
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
        held = sys.modules.get(module) if type(module) is str and module != "__main__" else None
        for part in name.split(".") if held is not None else ():
            held = getattr(held, part, None)
        return held is value or (held is not None and getattr(held, "__func__", None) is value)
    except Exception:
        # The module may load attributes lazily, or the class may override attribute access.
        return False


def is_class(value: Any) -> bool:
    """Return whether a value is a class, whatever its ``__class__`` says."""
    return issubclass(type(value), type)


def is_unpickler(value: Any) -> bool:
    """Return whether a value is a function or class that unpickles, under whatever name a module has imported it.

    Examples
    --------
    >>> from pickle import dumps, loads
    >>> is_unpickler(loads), is_unpickler(dumps)
    (True, False)
    """
    if type(value) not in (types.FunctionType, types.BuiltinFunctionType) and not is_class(value):
        return False
    return value.__name__ in _UNPICKLES and str(value.__module__).partition(".")[0] in _PICKLERS


def is_full(cell: types.CellType) -> bool:
    """Return whether a cell has a value; it has none before the variable of the enclosing function is assigned."""
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
    for base in type.__dict__["__mro__"].__get__(owner):
        if base is owner or base.__module__ == owner.__module__ or not is_importable(base):
            for value in list(type.__dict__["__dict__"].__get__(base).values()):
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
