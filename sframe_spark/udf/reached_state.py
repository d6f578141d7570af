"""Whether a function reaches what its program may change: then it is kept with that as it is when it is given."""

from __future__ import annotations

import functools
import types
from typing import Any

from sframe_spark.udf.changed_modules import ENVIRONMENT, OF_THE_MACHINE, may_be_changed
from sframe_spark.udf.function_family import Family, meanings
from sframe_spark.udf.names_in_code import CACHED, is_class
from sframe_spark.udf.user_modules import is_users_module, users_module
from sframe_spark.udf.words_in_code import words_in

# What does not change, or consists of what is looked at by itself.
_FIXED = (
    types.BuiltinFunctionType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.MethodWrapperType,
    types.ClassMethodDescriptorType,
    types.MethodType,
    tuple,
    frozenset,
    range,
    staticmethod,
    classmethod,
    functools.partial,
    CACHED,
)


def reaches_state(given: Any, family: Family | None) -> bool:
    """Say whether a function reaches objects that can be changed, or variables of the user's modules or classes.

    Examples
    --------
    >>> table = {}
    >>> [reaches_state(each, Family(each)) for each in (lambda value: value + 1, lambda value: table[value])]
    [False, True]
    """
    if family is None:
        return users_module(getattr(given, "__module__", None)) is not None
    return reaches_modules(family) or any(_may_change(value) for value in family.reached())


def objects_of(family: Family) -> list[Any]:
    """Objects that can be changed, which names of the functions of a family mean."""
    values = [value for _, _, value in family.names] + [value for _, value in family.cells.values()]
    return [value for value in values if _may_change(value)]


def reaches_modules(family: Family) -> bool:
    """Say whether a function reaches variables of the user's modules, or of classes."""
    for function in family.members:
        if function.__kwdefaults__ or function.__dict__:
            return True
        if any(isinstance(value, types.ModuleType) and _has_state(value, function.__code__) for value in meanings(function)):
            return True
    members = set(map(id, family.members))
    return any(_is_of_users_module(value) for value in family.reached() if id(value) not in members)


def _has_state(module: types.ModuleType, code: types.CodeType) -> bool:
    """Say whether some code may read variables of a module that the program changes."""
    if is_users_module(module):
        return True
    words = words_in(code)
    if vars(module).get("__name__") in OF_THE_MACHINE:
        return not ENVIRONMENT.isdisjoint(words.names)
    content = vars(module)
    return any(may_be_changed(content[name], module.__name__) for name in words.names if name in content and not name.startswith("__"))


def _is_of_users_module(value: Any) -> bool:
    kind = type(value)
    return (kind in (types.FunctionType, CACHED) or is_class(value)) and users_module(getattr(value, "__module__", None)) is not None


def _may_change(value: Any) -> bool:
    if isinstance(value, (types.FunctionType, types.ModuleType)) or is_class(value):
        return False
    return type(value) not in _FIXED
