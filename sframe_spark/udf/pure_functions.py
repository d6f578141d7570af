"""Recognition of pure functions, which can be called in any process, at any time and any number of times with the same result.

A function of many rows is usually called in other processes, so that crashes, Ctrl-C or ``sys.exit()`` do not harm the user's process. A pure
function needs no such protection. It has no loops, so the length of its code bounds its time. In doubt, a function counts as impure.
"""

from __future__ import annotations

import builtins
import datetime
import dis
import inspect
import math
import sys
import types
from typing import Any

from sframe_spark.udf.captured_variables import meanings
from sframe_spark.udf.code_analysis import is_class
from sframe_spark.values.input_copying_simplification_and_validation import UNCHANGING

# The cost of the call itself, in byte code steps.
STEPS_OF_CALL = 10
_MAX_POWER = 64
# A call may search a constant, so constants are limited: in items, and in the bytes of each item.
_MAX_CONSTANT = 1_000


def words(text: str) -> frozenset[str]:
    """Return the words of a text as a set.

    Examples
    --------
    >>> sorted(words("b a"))
    ['a', 'b']
    """
    return frozenset(text.split())


# Built-in functions that are pure, methods and attributes that only read, and functions of ``math`` that take constant time. Names whose results
# depend on the machine (``timestamp``) or on the locale (``format``) are left out.
_BUILT_IN = words("abs all any chr divmod isinstance len max min ord round sorted sum")
_CLASSES = (bool, dict, enumerate, float, frozenset, int, list, reversed, set, str, tuple, zip)
_ERRORS = tuple(item for item in vars(builtins).values() if is_class(item) and issubclass(item, Exception) and item.__module__ == "builtins")
PURE_ATTRIBUTES = words(
    """
    capitalize casefold count endswith find index isalnum isalpha isascii isdecimal isdigit islower isnumeric isspace istitle isupper join
    lower lstrip partition removeprefix removesuffix replace rfind rindex rpartition rsplit rstrip split splitlines startswith strip swapcase title
    upper zfill get items keys values is_integer bit_length
    year month day hour minute second microsecond date time weekday isoweekday toordinal total_seconds isoformat days seconds
    acos asin atan atan2 ceil copysign cos cosh degrees e exp expm1 fabs floor fmod hypot inf isclose isfinite isinf isnan log log10 log1p log2 modf
    nan pi radians sin sinh sqrt tan tanh tau trunc
    """
)
_METHODS_OF = (str, list, tuple, dict, int, float)
_JUMPS = frozenset({*dis.hasjrel, *dis.hasjabs})
_IS_GENERATOR = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


def steps_of_call(function: Any) -> int | None:
    """Return about how many byte code steps a call of a pure function takes; None if the function is not known to be pure.

    Parameters
    ----------
    function
        The function, which will be called with plain values: numbers, strings, date-times, and lists and dicts of them.

    Examples
    --------
    >>> steps_of_call(lambda value: value * 2 + 1) < 25, steps_of_call(str.upper)
    (True, 10)
    >>> steps_of_call(input), steps_of_call(lambda value: __import__("os").getpid())
    (None, None)
    """
    if _is_built_in(function):
        return STEPS_OF_CALL
    kind = type(function)
    if kind is not types.FunctionType or function.__code__.co_flags & _IS_GENERATOR:
        return None
    # A subclass of dict might run code when a name is looked up.
    if any(type(names) is not dict for names in (function.__globals__, function.__builtins__, function.__kwdefaults__ or {})):
        return None
    steps = list(dis.get_instructions(function.__code__))
    if not all(map(_is_pure, steps, [None, *steps])):
        return None
    attributes = [step.argval for step in steps if step.opname in ("LOAD_ATTR", "LOAD_METHOD")]
    names = [step.argval for step in steps if step.opname == "LOAD_GLOBAL"]
    # A name that is defined nowhere counts as None, a constant, since reading it raises an error.
    values = [*meanings(function), *(function.__builtins__.get(name) for name in names if name not in function.__globals__)]
    return len(steps) + STEPS_OF_CALL if all(_is_known(value, attributes) for value in values) else None


def _is_pure(step: dis.Instruction, before: dis.Instruction | None) -> bool:
    """Return whether a byte code step reads only known names, assigns only local variables, and does not jump backwards."""
    if step.opname in ("LOAD_CONST", "RETURN_CONST"):
        return _is_constant(step.argval)
    if step.opcode in dis.hasname:
        return step.opname == "LOAD_GLOBAL" or (step.opname in ("LOAD_ATTR", "LOAD_METHOD") and step.argval in PURE_ATTRIBUTES)
    if step.opcode in dis.hasfree:
        return step.opname == "LOAD_DEREF"
    if step.opcode in _JUMPS:
        return bool(step.argval > step.offset)
    if step.opname == "BINARY_OP" and step.argrepr.startswith(("<<", "**")):
        # A power can take unlimited time and memory unless its exponent is a small constant, which is loaded by the step before it.
        exponent = before.argval if before is not None and before.opname.startswith("LOAD_") and not step.is_jump_target else None
        return step.argrepr.startswith("**") and isinstance(exponent, (int, float)) and abs(exponent) <= _MAX_POWER
    return True


def _is_known(value: Any, attributes: list[str]) -> bool:
    """Return whether using a value is pure, for code that reads the given attributes."""
    if value is math:
        # Programs may replace functions of a module.
        return all(_is_constant(meant) or _is_built_in(meant) for meant in map(vars(math).get, attributes))
    return _is_constant(value) or _is_built_in(value)


def _is_built_in(value: Any) -> bool:
    """Return whether a value is a pure built-in: a function, a method that only reads, or a class of plain values or errors."""
    if type(value) is types.MethodDescriptorType:
        return value.__objclass__ in _METHODS_OF and value.__name__ in PURE_ATTRIBUTES
    if type(value) is types.BuiltinFunctionType:
        names = _BUILT_IN if value.__self__ is builtins else PURE_ATTRIBUTES if value.__self__ is math else ()
        return value.__name__ in names
    return is_pure_class(value)


def is_pure_class(value: Any) -> bool:
    """Return whether a value is a built-in class of plain values or of errors, which is pure to call.

    Examples
    --------
    >>> is_pure_class(ValueError), is_pure_class(object)
    (True, False)
    """
    # Compared by identity, because the user's objects may override ``==``.
    return any(value is known_class for known_class in (*_CLASSES, *_ERRORS))


def _is_constant(value: Any) -> bool:
    """Return whether a value is short, plain and immutable."""
    if type(value) in (tuple, frozenset):
        return len(value) <= _MAX_CONSTANT and all(map(_is_single, value))
    return _is_single(value)


def _is_single(value: Any) -> bool:
    if type(value) is datetime.datetime and type(value.tzinfo) not in (types.NoneType, datetime.timezone):
        # The class of its time zone may be the user's.
        return False
    return type(value) in UNCHANGING and sys.getsizeof(value) <= _MAX_CONSTANT
