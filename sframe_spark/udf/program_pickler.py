"""Pickles a user's function together with the variables, classes and functions of the user's modules that it can reach, and unpickles it.

Modules of installed packages are pickled by name, because every process that calls functions has these packages. Of the user's modules, only the
variables that the reached code names are sent; a variable that cannot be pickled causes an error where the function reads it.
"""

from __future__ import annotations

import builtins
import contextvars
import enum
import functools
import io
import keyword
import os
import pickle
import struct
import sys
import threading
import types
import typing
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from typing import Any

import attrs

from sframe_spark.errors import StateTooLargeError, VariableNotSentError
from sframe_spark.optional_libraries import import_cloudpickle
from sframe_spark.udf import received_program, user_module_detection_and_reached_variables as user_modules
from sframe_spark.udf.captured_locale_decimal_and_time_zone_state import State
from sframe_spark.udf.code_analysis import CACHED, is_class, is_importable
from sframe_spark.udf.received_program import HASHED_TEXT, UsersProgram, module_of, owner_of, variables_of

cloudpickle = import_cloudpickle()
_Pickler: Any = cloudpickle.Pickler
_MAX_LEFT_OUT = 200
_MAX_CULPRIT_DEPTH = 6


class _Replaced:
    """Stands for an object that is pickled as a call of a function of the receiver."""

    def __init__(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        self._reduced = function, arguments

    def __reduce__(self) -> Any:
        return self._reduced


class _Limited(io.BytesIO):
    """A buffer that raises StateTooLargeError beyond a number of bytes; None: no limit."""

    def __init__(self, max_bytes: int | None) -> None:
        super().__init__()
        self._max_bytes = max_bytes

    def write(self, content: Any) -> int:
        if self._max_bytes is not None and self.tell() + memoryview(content).nbytes > self._max_bytes:
            raise StateTooLargeError
        return super().write(content)


class ProgramPickler(_Pickler):
    """Pickles a function, and then one after the other the variables that it reaches.

    Parameters
    ----------
    file
        The buffer that is written to.
    context
        The context variables at the time the function was given.
    left_out
        Variables (module and name) to leave out because they cannot be pickled, with the reason.
    """

    def __init__(self, file: io.BytesIO, context: contextvars.Context, left_out: Mapping[tuple[str, str], str]) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self.program = UsersProgram(bool(left_out))
        self.reached = user_modules.ReachedModules()
        self.installed: dict[str, types.ModuleType] = {}
        self.installed_classes: dict[tuple[str, str], type] = {}
        self._sent = set[tuple[str, str]]()
        self._context, self._left_out = context, left_out
        self._is_surely_called, self._is_of_module = True, False
        self._variable: Any = None
        self._classes: dict[int, type] = {}
        self._spaces: dict[int, types.ModuleType | None] = {}
        # What is set on classes only after all classes have been made: class, name and value of methods that Python calls when a subclass is made
        # (see _HOOKS), or, with an empty name, the attributes of the members of an enumeration.
        self._hooks: list[tuple[type, str, Any]] = []

    def pickle(self, function: Any, state: State) -> None:
        """Write a function, the variables that it reaches, and the state of the process."""
        self.dump((self.program, function))
        self._is_of_module = True
        while (unwritten := self._unwritten()) or self._hooks:
            for module, name in unwritten:
                self._write_variable(module, name)
            hooks, self._hooks = ([], self._hooks) if unwritten else (self._hooks, [])
            for hook in hooks:
                self.dump(hook)
        self._is_surely_called = False
        for name, attribute, value in self._changed():
            try:
                self.dump((self.program, name, (attribute, value)))
            except StateTooLargeError:
                raise
            except Exception as error:
                raise _not_sent(name, attribute, value, error) from error
        self.dump(None)
        text_hash = hash(HASHED_TEXT) if self.reached.hashes else None
        modules = list(map(self._arguments_of, self.reached.modules.values()))
        self.dump((self._not_sent(), state, self._environment(), text_hash, modules))

    def _write_variable(self, module: str, name: str) -> None:
        self._sent.add((module, name))
        content = self.reached.modules[module]
        value = self._variable = vars(content)[name]
        self._is_surely_called = (module, name) in self.reached.surely_read and type(value) in (types.FunctionType, CACHED)
        if (module, name) in self._left_out:
            if name not in self.reached.assigned or module == user_modules.MAIN:
                return
            # The function assigns the variable itself: in each process it starts with the value after importing its module.
            value = _Replaced(received_program.from_import, (module, name))
        try:
            self.dump((self._arguments_of(content), name, value))
        except StateTooLargeError:
            raise
        except Exception as error:
            raise _not_sent(module, name, value, error) from error

    def _unwritten(self) -> list[tuple[str, str]]:
        """Return module and name of the variables that are reached and have not been written yet."""
        reached = dict.fromkeys(self.reached.variables())
        return [(module, name) for module, name in reached if (module, name) not in self._sent and name in vars(self.reached.modules[module])]

    def _not_sent(self) -> dict[str, dict[str, str]]:
        """Return for each reached module its variables that are not sent, with the reason."""
        unnamed = "which no code that the function reaches names"
        reasons: dict[str, dict[str, str]] = {}
        for module, content in self.reached.modules.items():
            refused = {name: reason for (owner, name), reason in self._left_out.items() if owner == module and name not in self.reached.assigned}
            names = [] if module == user_modules.MAIN else vars(content)
            others = [name for name in names if not name.startswith("__") and (module, name) not in self._sent]
            reasons[module] = {**dict.fromkeys(others, unnamed), **refused}
        return reasons

    def _environment(self) -> dict[str, str]:
        """Return the environment variables that strings in the code name; empty if the code does not use the environment."""
        if user_modules.ENVIRONMENT.isdisjoint(self.reached.names):
            return {}
        return {name: os.environ[name] for name in sorted(self.reached.texts) if name in os.environ}

    def _arguments_of(self, module: types.ModuleType) -> tuple[Any, ...]:
        """Return the arguments with which the receiver makes or finds a module."""
        content = vars(module)
        name = self.reached.add(module)
        directories = content.get("__path__")
        path = content.get("__file__") if name != user_modules.MAIN else None
        return self.program, name, path, None if directories is None else list(directories)

    def state(self) -> ReachedState:
        """Return which variables and classes with state the pickled function reaches."""
        left_out, modules = self._left_out, self.reached.modules
        # Variables of the main script are left out: the function is pickled together with their values, and brings them along.
        variables = [(modules[module], name) for module, name in self._sent if module != user_modules.MAIN and (module, name) not in left_out]
        variables.sort(key=lambda variable: (variable[0].__name__, variable[1]))
        changed = [(name, path) for name, path, _ in self._changed()]
        return ReachedState(tuple(variables), tuple(self._classes.values()), tuple(changed), tuple(self._environment()))

    def reducer_override(self, value: Any) -> Any:
        """Return how to pickle the user's modules, functions and classes, and objects of types that Python cannot pickle."""
        kind = type(value)
        if kind is types.FunctionType:
            return self._function(value)
        if is_class(value):
            return self._class(value)
        if issubclass(kind, types.ModuleType):
            if user_modules.is_users_module(value):
                if value is not self._variable:
                    self.reached.add_value(value)
                return received_program.module_of, self._arguments_of(value)
            self.installed[vars(value).get("__name__", "")] = value
            return NotImplemented
        if kind is CACHED:
            return self._cached(value)
        if issubclass(kind, threading.local):
            # Only the values of the current thread are sent.
            return kind, (), dict(vars(value))
        if kind in _REDUCERS:
            return _REDUCERS[kind](self, value)
        if self._is_of_module and kind.__module__ == "_thread" and kind.__name__ in ("lock", "RLock"):
            # A lock synchronises threads of one process; in another process it starts unlocked.
            return threading.Lock if kind.__name__ == "lock" else threading.RLock, ()
        return super().reducer_override(value)

    def _function(self, value: types.FunctionType) -> Any:
        module = self._space(value.__globals__)
        is_users = module is not None or user_modules.users_module(value.__module__) is not None
        if not is_users:
            reduced = super().reducer_override(value)
            if reduced is NotImplemented:
                return reduced
        self.reached.add_function(value)
        if module is None:
            return self._dynamic_function_reduce(value)
        if id(value.__globals__) not in self.globals_ref:
            self.globals_ref[id(value.__globals__)] = _Replaced(received_program.variables_of, self._arguments_of(module))
        _, (code, variables, _, _, closure), (attributes, slots), *rest = self._dynamic_function_reduce(value)
        self.reached.add_read(module, slots["__globals__"], self._is_surely_called)
        submodules = [submodule for submodule in slots["_cloudpickle_submodules"] if not user_modules.is_users_module(submodule)]
        # Variables are written one by one: none is nested in another, and an error names the variable that cannot be pickled.
        slots = {**slots, "__globals__": {}, "_cloudpickle_submodules": submodules}
        return received_program.function_of, (self.program, code, variables, closure), (attributes, slots), *rest

    def _space(self, names: dict[str, Any]) -> types.ModuleType | None:
        if id(names) not in self._spaces:
            self._spaces[id(names)] = user_modules.module_of_globals(names)
        return self._spaces[id(names)]

    def _class(self, value: Any) -> Any:
        module = user_modules.users_module(getattr(value, "__module__", None))
        if module is None:
            reduced = super().reducer_override(value)
        else:
            self.reached.add(module)
            self._classes[id(value)] = value
            reduced = cloudpickle.cloudpickle._dynamic_class_reduce(value)
        if type(reduced) is not tuple or reduced[0] not in _CLASS_MAKERS:
            if reduced is NotImplemented and value.__flags__ & _HEAP_TYPE:
                self.installed_classes[(value.__module__, value.__qualname__)] = value
            return reduced
        # A class is never taken from an earlier transfer: its attributes may have changed since then.
        make, arguments, (content, slots), *rest = reduced
        arguments = *arguments[:-2], None, arguments[-1]
        if type(value).__module__ == "_ctypes":
            return self._of_ctypes(value, content)
        if make is _CLASS_MAKERS[0]:
            kind = arguments[0]
            while user_modules.users_module(getattr(kind, "__module__", None)) is not None:
                kind = kind.__base__
            make, arguments = received_program.class_of, (kind, *arguments[:4])
        else:
            make, arguments = self._enumeration(value, content, arguments)
        hooks = [name for name in _HOOKS if name in content]
        self._hooks += [(value, name, content.pop(name)) for name in hooks]
        return make, arguments, (content, slots), *rest

    @staticmethod
    def _of_ctypes(value: Any, content: dict[str, Any]) -> Any:
        """Return how to pickle a ctypes structure, whose fields must be given when the class is made."""
        first = {name: content.pop(name) for name in ("_anonymous_", "_pack_", "_type_", "_length_", "_fields_", "__module__") if name in content}
        fields = {field[0] for field in first.get("_fields_", ())} | {name for name, item in content.items() if type(item).__module__ == "_ctypes"}
        others = {name: item for name, item in content.items() if name not in fields}
        arguments = value.__name__, value.__bases__, first
        return received_program.structure_of, arguments, (others, {}), None, None, cloudpickle.cloudpickle._class_setstate

    def _enumeration(self, value: Any, content: dict[str, Any], arguments: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
        """Return how to pickle an enumeration, whose members may have attributes and aliases."""
        members, kind = dict(value.__members__), value._member_type_
        for name in members:
            content.pop(name, None)
        if issubclass(value, enum.Flag) or not (kind is object or hasattr(kind, "__getnewargs__")):
            return _CLASS_MAKERS[1], (*arguments[:3], {name: member.value for name, member in members.items()}, *arguments[4:])
        raw = [(name, () if kind is object else kind.__getnewargs__(member), member.value) for name, member in members.items()]
        own = {name: {key: item for key, item in vars(member).items() if key not in _OF_MEMBERS} for name, member in members.items()}
        self._hooks.append((value, "", own))
        return received_program.enumeration_of, (*arguments[:3], arguments[4], kind, raw)

    def _cached(self, value: Any) -> Any:
        if is_importable(value) and user_modules.users_module(value.__module__) is None:
            return NotImplemented
        own = {name: attribute for name, attribute in vars(value).items() if not (name.startswith("__") and name.endswith("__"))}
        return received_program.caching_function, (value.__wrapped__, value.cache_parameters()), own or None

    def context_variable(self, value: ContextVar[Any]) -> Any:
        """Return how to pickle a context variable with its default and its current value."""
        default, current = contextvars.Context().run(_value_of, value), self._context.copy().run(_value_of, value)
        return received_program.context_variable, (self.program, value.name, default, current)

    def type_variable(self, value: typing.TypeVar) -> Any:
        """Return how to pickle a type variable of a user's module, by value; NotImplemented for others, which are pickled by name."""
        if user_modules.users_module(value.__module__) is None:
            return NotImplemented
        keywords = {"bound": value.__bound__, "covariant": value.__covariant__, "contravariant": value.__contravariant__}
        return _type_variable, (value.__name__, value.__constraints__, keywords)

    def _changed(self) -> Iterator[tuple[str, str, Any]]:
        """Yield the variables of installed modules and their classes that the code names and that the program may have changed."""
        named = self.reached.names | self.reached.texts
        if "argv" in named and "sys" in self.installed:
            yield "sys", "argv", list(sys.argv)
        yield from (("builtins", name, value) for name, value in _added_to_builtins(named))
        for name, module in self.installed.items():
            if name.partition(".")[0] in user_modules.OF_THE_MACHINE or sys.modules.get(name) is not module:
                continue
            for attribute in sorted(named.intersection(vars(module))):
                value = vars(module)[attribute]
                if is_class(value) and value.__flags__ & _HEAP_TYPE and user_modules.users_module(value.__module__) is None:
                    self.installed_classes[(value.__module__, value.__qualname__)] = value
                elif not attribute.startswith("__") and user_modules.may_be_changed(value, name):
                    yield name, attribute, value
        for (name, qualified), owner in self.installed_classes.items():
            if name in sys.modules and name.partition(".")[0] not in _LEFT_ALONE:
                content = type.__dict__["__dict__"].__get__(owner)
                for attribute in sorted(named.intersection(content)):
                    if not attribute.startswith("__") and user_modules.may_be_changed(content[attribute], name):
                        yield name, f"{qualified}.{attribute}", content[attribute]


# Modules of the interpreter and of this package, whose classes are not searched for changes.
_LEFT_ALONE = user_modules.OF_THE_MACHINE | {"builtins", "sframe_spark", "pyspark", "abc", "typing", "types", "enum"}
_HEAP_TYPE = 1 << 9
# Methods that Python calls when a subclass is made.
_HOOKS = ("__init_subclass__",)
# Attributes that every member of an enumeration has.
_OF_MEMBERS = ("_name_", "_value_", "__objclass__", "_sort_order_")


def _value_of(variable: ContextVar[Any]) -> tuple[Any, ...]:
    """Return a tuple with the value of a context variable in the current context; empty if it has none."""
    try:
        return (variable.get(),)
    except LookupError:
        return ()


def _type_variable(name: str, constraints: tuple[Any, ...], keywords: dict[str, Any]) -> typing.TypeVar:
    return typing.TypeVar(name, *constraints, **keywords)


def _weak_reference(pickler: ProgramPickler, value: Any) -> Any:
    # If nothing else refers to the object, the receiver's reference is dead at once.
    target = value()
    return (received_program.dead_reference, ()) if target is None else (type(value), (target,))


def _weak_dict(pickler: ProgramPickler, value: Any) -> Any:
    return type(value), (dict(value),)


# How to pickle types that Python cannot pickle, or pickles by a name that may mean another object in another process.
_REDUCERS: dict[type, Callable[[ProgramPickler, Any], Any]] = {
    ContextVar: ProgramPickler.context_variable,
    typing.TypeVar: ProgramPickler.type_variable,
    functools.cached_property: lambda _, value: (received_program.cached_attribute, (type(value), value.func, value.attrname)),
    weakref.ref: _weak_reference,
    weakref.WeakValueDictionary: _weak_dict,
    weakref.WeakKeyDictionary: _weak_dict,
    struct.Struct: lambda _, value: (struct.Struct, (value.format,)),
}
_CLASS_MAKERS = cloudpickle.cloudpickle._make_skeleton_class, cloudpickle.cloudpickle._make_skeleton_enum


def _not_sent(module: str, name: str, value: Any, error: Exception) -> VariableNotSentError:
    inner = culprit(value)
    kind = type(value)
    what = "which" if is_class(value) or kind is types.FunctionType else f"a {kind.__module__}.{kind.__qualname__}, which"
    because = f" because of {name}{inner}" if inner else ""
    return VariableNotSentError((module, name), f"{what} cannot be pickled{because} ({error})")


def culprit(value: Any, depth: int = 0) -> str:
    """Return the first part of a value that cannot be pickled, written like Python code (``[0].name``); empty if none is found."""
    if depth >= _MAX_CULPRIT_DEPTH:
        return ""
    if type(value) is dict:
        parts = [(f"[{key!r:.40}]", item) for key, item in value.items()]
    elif type(value) in (list, tuple):
        parts = [(f"[{index}]", item) for index, item in enumerate(value)]
    else:
        content = getattr(value, "__dict__", None) if type(value) is not types.FunctionType else None
        parts = [(f".{name}", item) for name, item in content.items() if not name.startswith("__")] if isinstance(content, Mapping) else []
    for name, item in parts[: user_modules.MAX_ITEMS]:
        if type(item) not in user_modules.PLAIN and not isinstance(item, types.FunctionType) and not _is_pickled(item):
            return name + culprit(item, depth + 1)
    return ""


def captured_culprit(value: Any, depth: int = 0) -> str:
    """Return what keeps a function, or a frozen object with functions, from being pickled, as ``lock of kernel()``; empty if none is found."""
    if isinstance(value, types.FunctionType):
        for name, cell in zip(value.__code__.co_freevars, value.__closure__ or (), strict=True):
            if not _is_pickled(cell.cell_contents):
                return f"{name}{culprit(cell.cell_contents)} of {value.__name__}()"
        return ""
    fields = getattr(type(value), "__attrs_attrs__", None)
    names = list(getattr(value, "__dict__", ())) if fields is None else [field.name for field in fields]
    if depth >= _MAX_CULPRIT_DEPTH or isinstance(value, (type, types.ModuleType)):
        return ""
    return next((found for name in names if (found := captured_culprit(getattr(value, name), depth + 1))), "")


def _is_pickled(value: Any) -> bool:
    try:
        ProgramPickler(io.BytesIO(), contextvars.copy_context(), {}).dump(value)
    except Exception:
        return False
    return True


def _added_to_builtins(names: set[str]) -> Iterator[tuple[str, Any]]:
    """Yield the built-in names among ``names`` that the program has added or changed (as ``gettext.install`` adds ``_``), with their values."""
    for name in sorted(names.intersection(vars(builtins))):
        value = vars(builtins)[name]
        is_original = type(value) in (types.BuiltinFunctionType, type) and value.__module__ == "builtins"
        if not is_original and name not in keyword.kwlist and name not in _OF_SITE and not name.startswith("__"):
            yield name, value


_OF_SITE = frozenset({"exit", "quit", "copyright", "credits", "license", "help", "NotImplemented", "Ellipsis", "open"})


class _StatePickler(ProgramPickler):
    """Pickles values for comparison; functions and classes are compared by identity, and what pickling would evaluate is not compared."""

    def reducer_override(self, value: Any) -> Any:
        """Refuse frames and columns, which pickling evaluates; other values as for a program.

        Raises
        ------
        PicklingError
            If the value is one of these.
        """
        if getattr(type(value), "_is_evaluated_when_pickled", False):
            raise pickle.PicklingError("a frame is not compared by its rows")
        return super().reducer_override(value)

    def _function(self, value: types.FunctionType) -> Any:
        return abs, (id(value),)

    def _class(self, value: Any) -> Any:
        return abs, (id(value),)

    def _cached(self, value: Any) -> Any:
        return abs, (id(value),)


@attrs.frozen(eq=False)
class ReachedState:
    """The variables and classes with state that a function reaches.

    Parameters
    ----------
    variables
        Variables of the user's modules: module and name.
    classes
        Classes of the user's modules.
    changed
        Variables of installed modules, or attributes of their classes: module name and dotted path.
    environment
        Names of environment variables.
    """

    variables: tuple[tuple[types.ModuleType, str], ...]
    classes: tuple[type, ...]
    changed: tuple[tuple[str, str], ...]
    environment: tuple[str, ...]

    @property
    def is_none(self) -> bool:
        """Whether the function reaches no state."""
        return not (self.variables or self.classes or self.changed or self.environment)

    def now(self) -> bytes | None:
        """Return the current state in a form that can be compared; None if it cannot be pickled, or takes more than ``MAX_COMPARED`` bytes."""
        variables = [(module.__name__, name, vars(module).get(name)) for module, name in self.variables]
        contents = [type.__dict__["__dict__"].__get__(kind) for kind in self.classes]
        attributes = [
            # Caches of classes (``_abc_...``) change by themselves.
            [(name, value) for name, value in content.items() if not name.startswith(("__", "_abc_")) and type(value) not in _OF_CLASSES]
            for content in contents
        ]
        changed = []
        for name, path in self.changed:
            owner, attribute = owner_of(name, path)
            changed.append((path, vars(owner).get(attribute)))
        return content_now([*variables, *attributes, *changed, [os.environ.get(name) for name in self.environment]])


def content_now(values: list[Any]) -> bytes | None:
    """Return some values pickled for comparison; None if they cannot be pickled, or take more than ``MAX_COMPARED`` bytes."""
    file = _Limited(MAX_COMPARED)
    pickler = _StatePickler(file, contextvars.copy_context(), {})
    pickler._is_of_module = True
    try:
        for value in values:
            pickler.dump(value)
    except Exception:
        return None
    return file.getvalue()


MAX_COMPARED = 8 << 20
_OF_CLASSES = (types.FunctionType, staticmethod, classmethod, property, types.MemberDescriptorType, types.GetSetDescriptorType)


@attrs.frozen
class PackedProgram:
    """A pickled function with what it reaches.

    Parameters
    ----------
    content
        The pickled bytes, for :func:`received`.
    hashes, makes_sets
        Whether code that the function reaches calls ``hash``, or makes sets.
    state
        The variables and classes with state that the function reaches.
    """

    content: bytes
    hashes: bool
    makes_sets: bool
    state: ReachedState


def packed_program(function: Any, state: State, context: contextvars.Context, max_bytes: int | None = None) -> PackedProgram:
    """Pickle a function together with the variables, classes and functions that it reaches.

    Parameters
    ----------
    function
        The function to pickle.
    state, context
        The state of the process and the context variables that the function will find.
    max_bytes
        The most bytes that the result may have; None: no limit.

    Raises
    ------
    StateTooLargeError
        If the pickled bytes are more than ``max_bytes``.
    VariableNotSentError
        If a variable that the function certainly reads cannot be pickled (the message names it), or very many variables cannot be pickled.
    """
    left_out: dict[tuple[str, str], str] = {}
    while True:
        file = _Limited(max_bytes)
        pickler = ProgramPickler(file, context, left_out)
        try:
            pickler.pickle(function, state)
            return PackedProgram(file.getvalue(), pickler.reached.hashes, pickler.reached.makes_sets, pickler.state())
        except VariableNotSentError as error:
            module, name = error.place
            is_its_own = name in pickler.reached.assigned and module != user_modules.MAIN
            if (error.place in pickler.reached.surely_read and not is_its_own) or error.place in left_out or len(left_out) >= _MAX_LEFT_OUT:
                raise
            left_out[error.place] = error.reason


class _ProgramUnpickler(pickle.Unpickler):
    """Reads the bytes that :class:`ProgramPickler` has written."""

    def __init__(self, file: io.BytesIO, is_users_process: bool) -> None:
        super().__init__(file)
        self._is_users_process = is_users_process

    def find_class(self, module: str, name: str) -> Any:
        if name == "new_program" and module == received_program.__name__:
            return functools.partial(UsersProgram, is_users_process=self._is_users_process)
        return super().find_class(module, name)


def received(content: bytes, is_users_process: bool = False) -> tuple[Any, UsersProgram]:
    """Return the function and the program read from pickled bytes; ``is_users_process``: whether the user's own program runs in this process."""
    unpickler = _ProgramUnpickler(io.BytesIO(content), is_users_process)
    program, function = unpickler.load()
    hooks = []
    while (item := unpickler.load()) is not None:
        owner, name, value = item
        if owner is program:
            program.changed.append((name, *value))
        elif is_class(owner):
            hooks.append(item)
        else:
            variables_of(*owner)[name] = value
    for owner, name, value in hooks:
        if name:
            setattr(owner, name, value)
            continue
        for member, attributes in value.items():
            vars(owner[member]).update(attributes)
    program.left_out, program.state, program.environment, program.text_hash, modules = unpickler.load()
    for arguments in modules:
        module_of(*arguments)
    program.finish()
    return function, program
