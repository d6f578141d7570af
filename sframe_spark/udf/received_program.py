"""The receiving side of a sent function: modules with the variables that were sent, and the process state to set for calls."""

from __future__ import annotations

import builtins
import functools
import importlib
import importlib.machinery
import importlib.util
import os
import sys
import types
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from contextvars import ContextVar
from typing import Any

from sframe_spark.errors import StateNotSharedError
from sframe_spark.udf.captured_locale_decimal_and_time_zone_state import changed_since, entered, set_environment_variable

_ABSENT = object()
# Processes with the same hash of this string have the same hashes of all strings.
HASHED_TEXT = "a text"


class UsersProgram:
    """The user's modules that a function reaches, as they were when the function was given.

    Each function has its own program, so functions that were given at different times are called with the variables of these times.
    """

    def __init__(self, lacks_some: bool = False, is_users_process: bool = False) -> None:
        # Whether some variables of the modules could not be sent.
        self.lacks_some = lacks_some
        # Whether this is a copy in the user's own process, where state of the whole process is not changed for it.
        self.is_users_process = is_users_process
        self.modules: dict[str, types.ModuleType] = {}
        self.left_out: dict[str, Mapping[str, str]] = {}
        self.changed: list[tuple[str, str, Any]] = []
        self.context: list[tuple[ContextVar[Any], Any]] = []
        self.state: Mapping[str, Any] = {}
        self.environment: Mapping[str, str] = {}
        self.text_hash: int | None = None
        # The error about a variable that was read but not sent. It is raised even if the function has caught it.
        self.refused: StateNotSharedError | None = None

    def __reduce__(self) -> Any:
        return new_program, (self.lacks_some,)

    def builtins_of(self, module: str) -> dict[str, Any]:
        """Return the built-in names for functions of a module: a variable that was not sent raises an error, imports find the program's modules."""
        return _ProgramBuiltins(self, module) if self.lacks_some or self.is_users_process else vars(builtins)

    def refusal(self, module: str, name: str) -> StateNotSharedError:
        """Return the error about a variable that was not sent; :meth:`entered` raises it again."""
        message, advice = f"{module}.{name}, {self.left_out[module][name]}", "let the function create it itself, or pass it plain values"
        self.refused = StateNotSharedError(f"{message}, is not in the Python process that calls the function: {advice}")
        return self.refused

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Return a context manager for a block in which this process has the program's modules and state.

        Raises
        ------
        StateNotSharedError
            If a variable was read that was not sent, if hashes of strings differ, or, in the user's own process, if shared state has been changed.
        """
        self.refused = None
        with ExitStack() as stack:
            if self.is_users_process:
                self._require_unchanged()
            else:
                if self.text_hash not in (None, hash(HASHED_TEXT)):
                    message = "hash() of a text gives a different number in the Python process that would call the function"
                    raise StateNotSharedError(f"{message}: start your program, and Spark's executors, with PYTHONHASHSEED=0, or use hashlib")
                stack.callback(_put_back, {name: sys.modules.get(name, _ABSENT) for name in self.modules})
                sys.modules.update(self.modules)
                self._change(stack)
            for variable, value in self.context:
                stack.callback(variable.reset, variable.set(value))
            stack.enter_context(entered(self.state, self.is_users_process))
            try:
                yield
            finally:
                if self.refused is not None:
                    raise self.refused from None

    def _change(self, stack: ExitStack) -> None:
        for name, path, value in self.changed:
            owner, attribute = owner_of(name, path)
            before = vars(owner).get(attribute, _ABSENT)
            if not _is_same(before, value):
                setattr(owner, attribute, value)
                stack.callback(delattr, owner, attribute) if before is _ABSENT else stack.callback(setattr, owner, attribute, before)
        for name, text in self.environment.items():
            if os.environ.get(name) != text:
                stack.callback(set_environment_variable, name, os.environ.get(name))
                os.environ[name] = text

    def _require_unchanged(self) -> None:
        for name, path, value in self.changed:
            owner, attribute = owner_of(name, path)
            if not _is_same(vars(owner).get(attribute, _ABSENT), value):
                raise changed_since(f"{name}.{path}")
        for name, text in self.environment.items():
            if os.environ.get(name) != text:
                raise changed_since(f"the environment's {name}")

    def finish(self) -> None:
        """Complete the modules after everything has been received, so that reading a variable that was not sent raises an error."""
        for name, module in self.modules.items():
            content = vars(module)
            parent, _, own = name.rpartition(".")
            if parent in self.modules:
                vars(self.modules[parent]).setdefault(own, module)
            if self.left_out.get(name):
                content["__getattr__"] = functools.partial(_refuse_attribute, self, name, content.get("__getattr__"))


class ReceivedFunction:
    """A function received from another process, with what it reaches of the program that it comes from.

    Parameters
    ----------
    function
        The function itself.
    program
        The modules and state of the program that the function comes from.
    """

    def __init__(self, function: Callable[..., Any], program: UsersProgram) -> None:
        self.function, self.program = function, program

    def entered(self) -> AbstractContextManager[None]:
        """Return a context manager for a block in which :attr:`function` may be called directly."""
        return self.program.entered()

    def __call__(self, *arguments: Any) -> Any:
        with self.program.entered():
            return self.function(*arguments)


class _ProgramBuiltins(dict[str, Any]):
    """The built-in names for functions of a module of a received program."""

    def __init__(self, program: UsersProgram, module: str) -> None:
        super().__init__(vars(builtins))
        self._program, self._module = program, module
        if program.is_users_process:
            self["__import__"] = self._import

    def _import(self, name: str, names: Any = None, local: Any = None, wanted: Any = (), level: int = 0) -> Any:
        absolute = name
        if level:
            package = ((names or {}).get("__package__") or "").split(".")
            absolute = ".".join([*package[: len(package) - level + 1], *([name] if name else [])])
        modules = self._program.modules
        if absolute not in modules:
            return importlib.__import__(name, names, local, wanted, level)
        for attribute in wanted or ():
            if f"{absolute}.{attribute}" in modules:
                vars(modules[absolute]).setdefault(attribute, modules[f"{absolute}.{attribute}"])
        return modules[absolute] if wanted or level else modules[absolute.partition(".")[0]]

    def __missing__(self, name: str) -> Any:
        if name in self._program.left_out.get(self._module, ()):
            raise self._program.refusal(self._module, name)
        raise KeyError(name)


def _refuse_attribute(program: UsersProgram, module: str, otherwise: Callable[[str], Any] | None, name: str) -> Any:
    if name in program.left_out[module]:
        raise program.refusal(module, name)
    if otherwise is not None:
        return otherwise(name)
    raise AttributeError(f"module {module!r} has no attribute {name!r}")


def _put_back(modules: Mapping[str, Any]) -> None:
    for name, module in modules.items():
        if module is _ABSENT:
            sys.modules.pop(name, None)
        else:
            sys.modules[name] = module


def owner_of(module: str, path: str) -> tuple[Any, str]:
    """Return the module or class that has a variable, and the variable's own name."""
    owner: Any = importlib.import_module(module)
    *classes, name = path.split(".")
    for class_name in classes:
        owner = getattr(owner, class_name)
    return owner, name


def _is_same(one: Any, other: Any) -> bool:
    return one is other or (type(one) is type(other) and type(one) in _COMPARED and bool(one == other))


_COMPARED = (int, float, str, bool, bytes, complex, type(None), tuple, list, dict, set, frozenset)


# The functions below are called during unpickling. Most of them take the program, which is pickled with the function.


def new_program(lacks_some: bool) -> UsersProgram:
    """Return a program for which nothing has been received."""
    return UsersProgram(lacks_some)


def function_of(program: UsersProgram, code: types.CodeType, variables: dict[str, Any], closure: Any) -> types.FunctionType:
    """Return a function of a module of a program."""
    # When a function is made, it takes its built-in names from the globals.
    variables["__builtins__"] = program.builtins_of(variables["__name__"])
    return types.FunctionType(code, variables, None, None, closure)


def module_of(program: UsersProgram, name: str, path: str | None, directories: list[str] | None) -> types.ModuleType:
    """Return a module of a program; it is made if it is new, and has no variables until some are received."""
    if name not in program.modules:
        module = types.ModuleType(name)
        if path is not None or directories is not None:
            spec = importlib.util.spec_from_file_location(name, path, submodule_search_locations=directories) if path else None
            spec = spec or importlib.machinery.ModuleSpec(name, None, is_package=directories is not None)
            module.__spec__, module.__loader__ = spec, spec.loader
        module.__package__ = name if directories is not None else name.rpartition(".")[0]
        if path is not None:
            module.__file__ = path
        if directories is not None:
            module.__path__ = directories
        program.modules[name] = module
    return program.modules[name]


def variables_of(program: UsersProgram, name: str, path: str | None, directories: list[str] | None) -> dict[str, Any]:
    """Return the variables (the ``__dict__``) of a module of a program."""
    return vars(module_of(program, name, path, directories))


def class_of(maker: type, kind: type, name: str, bases: tuple[Any, ...], content: dict[str, Any]) -> Any:
    """Return a class with only the attributes in ``content``; the others are set later.

    Parameters
    ----------
    maker
        The metaclass whose ``__new__`` makes the class. A user's metaclass is not called, as it may have side effects, such as filling a
        registry, which have already happened in the user's program.
    kind, name, bases, content
        The metaclass of the class, its name, its bases, and the attributes that it is made with.
    """
    if maker is kind:
        return types.new_class(name, bases, {"metaclass": kind}, lambda names: names.update(content))
    names = dict(maker.__prepare__(name, bases))
    names.update(content)
    return maker.__new__(kind, name, bases, names)


def structure_of(name: str, bases: tuple[Any, ...], content: dict[str, Any]) -> Any:
    """Return a ctypes structure class; its metaclass has no public name."""
    kind: Any = type(bases[0])
    return kind(name, bases, content)


def enumeration_of(
    bases: tuple[Any, ...], name: str, qualified: str, module: str, kind: type, members: list[tuple[str, tuple[Any, ...], Any]]
) -> Any:
    """Return an enumeration with its members, without the attributes of the members.

    Parameters
    ----------
    bases, name, qualified, module
        The bases, name, qualified name and module of the enumeration.
    kind
        The class whose values the members also are (``object`` if none).
    members
        Name of each member, arguments to make it with ``kind``, and its value.
    """

    def new(cls: Any, raw_and_value: tuple[Any, Any]) -> Any:
        raw, value = raw_and_value
        member = object.__new__(cls) if kind is object else kind.__new__(cls, *raw)
        member._value_ = value
        return member

    maker = type(bases[-1])
    names: Any = maker.__prepare__(name, bases)
    # The user's ``__new__`` and ``__init__`` of members have run in the user's program.
    names["__new__"], names["__init__"] = new, lambda self, raw_and_value: None
    for member, raw, value in members:
        names[member] = ((raw, value),)
    enumeration = maker.__new__(maker, name, bases, names)
    del enumeration.__init__
    enumeration.__module__, enumeration.__qualname__ = module, qualified
    return enumeration


def from_import(module: str, name: str) -> Any:
    """Return the value that a variable has after importing its module in this process."""
    return getattr(importlib.import_module(module), name)


def context_variable(program: UsersProgram, name: str, default: tuple[Any, ...], value: tuple[Any, ...]) -> ContextVar[Any]:
    """Return a context variable, which has its value whenever functions of the program are called.

    ``default`` and ``value`` are tuples of one item; empty if the variable has none.
    """
    variable: ContextVar[Any] = ContextVar(name, default=default[0]) if default else ContextVar(name)
    program.context += [(variable, current) for current in value]
    return variable


def caching_function(function: Callable[..., Any], parameters: Mapping[str, Any]) -> Any:
    """Return a function wrapped by ``functools.lru_cache`` with an empty cache."""
    return functools.lru_cache(**parameters)(function)


def cached_attribute(kind: type, function: Callable[..., Any], name: str | None) -> Any:
    """Return a cached property."""
    attribute = kind(function)
    attribute.attrname = name
    return attribute


def dead_reference() -> Any:
    """Return a weak reference to an object that no longer exists."""
    return weakref.ref(type("Gone", (), {})())
