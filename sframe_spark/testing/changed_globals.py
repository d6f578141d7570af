"""Which globals that an author's code reads have another value in a process that has only imported their modules."""

from __future__ import annotations

import functools
import importlib
import sys
import types
from collections.abc import Iterator, Sequence
from typing import Any

import attrs

from sframe_spark.engine.runtime.task_runners import ProcessRunner
from sframe_spark.errors import SFrameError
from sframe_spark.expressions.aggregates.aggregate_function import AGGREGATES
from sframe_spark.expressions.functions.scalar_function import FUNCTIONS
from sframe_spark.expressions.scalar_function_program import Step
from sframe_spark.operators.user_function_calls_and_result_memos import plugin_calls
from sframe_spark.planner.node import is_builtin
from sframe_spark.planner.operator import Operator
from sframe_spark.testing.row_comparison import shown
from sframe_spark.udf.captured_variables import attributes_of, meanings, parts
from sframe_spark.udf.code_analysis import CACHED, cells_of, functions_of, is_class, is_full, names_in
from sframe_spark.udf.user_module_detection_and_reached_variables import users_module

# Code that reaches more objects, or reads more globals, is not followed to the end: a message names a few.
MAX_REACHED, MAX_COMPARED = 2_000, 30
# Objects of this package hold an author's functions within a few others.
MAX_DEPTH = 6
_ABSENT = object()


@attrs.frozen(eq=False)
class ModuleVariable:
    """A global of a module: the module's name, its own, and its value in this process."""

    module: str
    name: str
    value: Any


def changed_globals(operator: Operator) -> str:
    """Say which globals that the code of an operator reads differ in a process that has only imported their modules; empty if none is found."""
    said = []
    for variable in list(globals_read(code_of(operator)))[:MAX_COMPARED]:
        try:
            (there,) = ProcessRunner().run([functools.partial(value_there, variable.module, variable.name, variable.value)], "comparing a global")
        except SFrameError:
            # It cannot be sent, or its module cannot be imported: the message of the check stands alone.
            continue
        if there is not None:
            said.append(f"{variable.name} of {variable.module} is {shown(variable.value)} here, and {there} there")
    return "; ".join(said)


def value_there(module: str, name: str, value: Any) -> str | None:
    """Return the value of a global in this process, as text, if it is another one than ``value``; None if it is the same.

    Examples
    --------
    >>> import math
    >>> value_there("math", "pi", math.pi), value_there("math", "pi", 3)
    (None, '3.141592653589793')
    """
    there = getattr(importlib.import_module(module), name, _ABSENT)
    if there is _ABSENT:
        return "not defined"
    try:
        is_same = type(there) is type(value) and bool(there == value)
    except Exception:
        # Arrays compare item by item.
        is_same = repr(there) == repr(value)
    return None if is_same or repr(there) == repr(value) else shown(there)


def code_of(operator: Operator) -> list[types.FunctionType]:
    """Return the functions of plug-ins that an operator has as methods, or that the scalar functions and aggregates that it calls consist of."""
    found = [] if is_builtin(type(operator)) else [function for owner in type(operator).__mro__ for function in functions_of(owner)]
    for call in plugin_calls(operator):
        table: Any = FUNCTIONS if isinstance(call, Step) else AGGREGATES
        found += functions_in(table.named(str(call.function)))
    return [function for function in found if root_of(function.__module__) != root_of(__name__)]


def functions_in(value: Any, depth: int = MAX_DEPTH) -> list[types.FunctionType]:
    """Return a function itself, or those that methods, partial functions and objects of this package's classes hold."""
    if isinstance(value, types.FunctionType):
        return [value]
    if isinstance(value, (types.MethodType, functools.partial)):
        held = list(parts(value))
    elif is_builtin(type(value)) and not isinstance(value, type):
        held = list(attributes_of(value).values())
        held += [getattr(value, field.name) for field in attrs.fields(type(value))] if attrs.has(type(value)) else []
    else:
        return []
    return [function for item in held for function in functions_in(item, depth - 1)] if depth else []


def root_of(module: str | None) -> str:
    """Return the name of the package of a module."""
    return str(module).partition(".")[0]


def globals_read(code: Sequence[types.FunctionType]) -> Iterator[ModuleVariable]:
    """Yield the globals of modules that functions read, and that the functions and classes which they name read.

    Modules, functions and classes are followed, not yielded: those of the packages of ``code``, and of the user's modules.

    Examples
    --------
    >>> [variable.name for variable in globals_read([shown])]
    ['MAX_SHOWN_CHARACTERS']
    """
    roots = {root_of(function.__module__) for function in code}
    pending, seen, read = list[Any](code), dict[int, Any](), set[tuple[str, str]]()
    while pending and len(seen) < MAX_REACHED:
        item = pending.pop(0)
        module = item.module if isinstance(item, ModuleVariable) else getattr(item, "__module__", None)
        if id(item) in seen or not (root_of(module) in roots or users_module(module) is not None):
            continue
        # Kept, so that no other object gets its id.
        seen[id(item)] = item
        if not isinstance(item, ModuleVariable):
            pending += functions_of(item) if is_class(item) else named_by(item)
        elif (item.module, item.name) not in read:
            read.add((item.module, item.name))
            yield item


def named_by(function: types.FunctionType) -> Iterator[Any]:
    """Yield the globals that a function reads in its module, and in modules that it names; of functions and classes, these themselves."""
    yield from (part for cell in cells_of(function).values() if is_full(cell) for part in functions_in(cell.cell_contents))
    names, own = names_in(function.__code__), sys.modules.get(function.__module__)
    named = [(value, names.names) for value in meanings(function) if isinstance(value, types.ModuleType)]
    if own is not None and vars(own) is function.__globals__:
        named.append((own, names.read))
    for module, read in named:
        for name in sorted(read & vars(module).keys()):
            value = vars(module)[name]
            value = value.__wrapped__ if isinstance(value, CACHED) else value
            if isinstance(value, types.FunctionType) or is_class(value):
                yield value
            elif not isinstance(value, (types.ModuleType, types.BuiltinFunctionType)):
                yield ModuleVariable(module.__name__, name, value)
