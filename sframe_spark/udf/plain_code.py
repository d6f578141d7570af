"""Functions that do nothing but compute: of these it is known how long a call takes, and that nobody notices who calls them, when and how often.

Each step of the interpreter is taken at most once in a call, as nothing here goes back or calls functions of others: who has loops has too many steps
anyway to be called sooner here than elsewhere, where there are many rows. Every doubt is a no.
"""

from __future__ import annotations

import builtins
import datetime
import dis
import functools
import math
import re
import sys
import types
from typing import Any

import attrs

from sframe_spark.udf.code_analysis import cells_of, is_class, is_full, names_in
from sframe_spark.values.taken import UNCHANGING

# A call takes as long as some steps of its code.
STEPS_OF_CALL = 10
_LARGEST_POWER = 64
# What a call looks through takes its time, too: items, and bytes of each.
_LONGEST_CONSTANT = 1_000


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# What is built in and gives the same for the same values; nothing that gives names, asks somebody or goes on without an end.
_BUILT_IN = _words("abs all any chr divmod isinstance len max min ord round sorted sum")
_CLASSES = (bool, dict, enumerate, float, frozenset, int, list, reversed, set, str, tuple, zip)
_ERRORS = tuple(each for each in vars(builtins).values() if is_class(each) and issubclass(each, Exception) and each.__module__ == "builtins")
# Methods and attributes of texts, lists, dicts and times that read, and functions of ``math`` that take the time of one step. None that asks where
# this machine is, as ``timestamp`` does, or how people write there, as ``format`` may.
_READING = _words(
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
# Steps of the interpreter, of versions 3.11 to 3.14, that go on and touch nothing but what a call made or was given.
_COMPUTING = _words(
    """
    BINARY_SLICE BINARY_SUBSCR BUILD_CONST_KEY_MAP BUILD_LIST BUILD_MAP BUILD_SET BUILD_SLICE BUILD_STRING BUILD_TUPLE CACHE CALL CALL_FUNCTION_EX
    CALL_KW CHECK_EXC_MATCH COMPARE_OP CONTAINS_OP CONVERT_VALUE COPY COPY_FREE_VARS DELETE_FAST DICT_MERGE DICT_UPDATE EXTENDED_ARG FORMAT_SIMPLE
    IS_OP JUMP_FORWARD JUMP_IF_FALSE_OR_POP JUMP_IF_TRUE_OR_POP KW_NAMES LIST_APPEND LIST_EXTEND LIST_TO_TUPLE LOAD_ASSERTION_ERROR
    LOAD_COMMON_CONSTANT LOAD_DEREF LOAD_FAST LOAD_FAST_BORROW LOAD_FAST_BORROW_LOAD_FAST_BORROW LOAD_FAST_CHECK LOAD_FAST_LOAD_FAST LOAD_GLOBAL
    NOP NOT_TAKEN POP_EXCEPT POP_JUMP_FORWARD_IF_FALSE POP_JUMP_FORWARD_IF_NONE POP_JUMP_FORWARD_IF_NOT_NONE POP_JUMP_FORWARD_IF_TRUE
    POP_JUMP_IF_FALSE POP_JUMP_IF_NONE POP_JUMP_IF_NOT_NONE POP_JUMP_IF_TRUE POP_TOP PRECALL PUSH_EXC_INFO PUSH_NULL RERAISE RESUME RETURN_VALUE
    SET_UPDATE STORE_FAST STORE_FAST_LOAD_FAST STORE_FAST_STORE_FAST SWAP TO_BOOL UNARY_NEGATIVE UNARY_NOT UNARY_POSITIVE UNPACK_EX
    UNPACK_SEQUENCE
    """
)
_ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD")
_CONSTANTS = ("LOAD_CONST", "LOAD_SMALL_INT", "RETURN_CONST")
_FORMATTING = ("FORMAT_VALUE", "FORMAT_WITH_SPEC")
# Of numbers and texts; days and months are written as people do there, and so are numbers in the form ``n``.
_FORM = re.compile("[^%n]*%?")


@attrs.frozen
class PlainCode:
    """Code that only computes, as long as the names that it reads mean what does.

    Parameters
    ----------
    steps
        How many steps of the interpreter a call takes at most.
    attributes
        What it reads of values, and of what its names mean.
    """

    steps: int
    attributes: frozenset[str]


@functools.lru_cache(maxsize=4096)
def plain_code(code: types.CodeType) -> PlainCode | None:
    """What some code needs to be plain; None if it may do more than compute, or may take longer than its length tells.

    Examples
    --------
    >>> plain_code((lambda text: text.upper() * times).__code__).attributes
    frozenset({'upper'})
    >>> print(plain_code((lambda values: values.append(1)).__code__))
    None
    """
    steps = list(dis.get_instructions(code))
    if not all(map(_only_computes, steps, [None, *steps])):
        return None
    return PlainCode(len(steps), frozenset(step.argval for step in steps if step.opname in _ATTRIBUTES))


def _only_computes(step: dis.Instruction, before: dis.Instruction | None) -> bool:
    """Say whether a step touches nothing but what its call made or was given, and ends soon."""
    if step.opname in _ATTRIBUTES:
        return step.argval in _READING
    if step.opname in _CONSTANTS:
        return _is_constant(step.argval)
    # What stands before a step is what it is given last, unless others jump there.
    given = before.argval if before is not None and before.opname in _CONSTANTS and not step.is_jump_target else None
    if step.opname == "BINARY_OP":
        is_small_power = isinstance(given, (int, float)) and abs(given) <= _LARGEST_POWER
        return not step.argrepr.startswith(("<<", "**")) or (step.argrepr == "**" and is_small_power)
    if step.opname in _FORMATTING:
        has_form = step.opname == "FORMAT_WITH_SPEC" or step.argval[1]
        return not has_form or (type(given) is str and _FORM.fullmatch(given) is not None)
    # Without an error of its own to raise again, it would ask for one of those who call it.
    return step.opname in _COMPUTING or (step.opname == "RAISE_VARARGS" and step.arg != 0)


def steps_of_call(function: Any) -> int | None:
    """How many steps of the interpreter a call of a function takes, or so; None unless it is known to do nothing but compute.

    Such a function reads its argument, what it makes of that, and constants. Who calls it, when, how often and in which process is seen nowhere but
    in the time that it takes, which is short: it has no loops, and calls nothing but what is built in.

    Parameters
    ----------
    function
        What is called with plain values: numbers, texts, times, lists and dicts of them.

    Examples
    --------
    >>> steps_of_call(lambda value: value * 2 + 1) < 25, steps_of_call(str.upper)
    (True, 10)
    >>> steps_of_call(input), steps_of_call(lambda value: __import__("os").getpid())
    (None, None)
    """
    if _is_built_in(function):
        return STEPS_OF_CALL
    if type(function) is not types.FunctionType or not _has_usual_names(function):
        return None
    try:
        code = plain_code(function.__code__)
    except TypeError:
        # Code with constants that no compiler puts there cannot be remembered.
        return None
    return code.steps + STEPS_OF_CALL if code is not None and all(_is_known(value, code) for value in _meanings(function)) else None


def _has_usual_names(function: Any) -> bool:
    """Say whether nobody is asked, and notices, when a name of a function's is looked up."""
    return all(type(names) is dict for names in (function.__globals__, function.__builtins__, function.__kwdefaults__ or {}))


def _meanings(function: Any) -> list[Any]:
    """What a function reads beside its argument; None for what means nothing, as its call says."""
    outer, built_in = function.__globals__, function.__builtins__
    given = (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values())
    cells = [cell.cell_contents for cell in cells_of(function).values() if is_full(cell)]
    return [*given, *cells, *(outer[name] if name in outer else built_in.get(name) for name in names_in(function.__code__).used)]


def _is_known(value: Any, code: PlainCode) -> bool:
    """Say whether what a name means only computes where some code uses it."""
    if value is math:
        # A module is changed by whoever likes to.
        return all(_is_constant(meant) or _is_built_in(meant) for meant in map(vars(math).get, code.attributes))
    return _is_constant(value) or _is_built_in(value)


def _is_built_in(value: Any) -> bool:
    """Say whether something is built in and computes only, a method of texts that reads, say, or a class of errors."""
    if type(value) is types.MethodDescriptorType:
        return value.__objclass__ in _METHODS_OF and value.__name__ in _READING
    if type(value) is types.BuiltinFunctionType:
        names = _BUILT_IN if value.__self__ is builtins else _READING if value.__self__ is math else ()
        return value.__name__ in names
    # Of what a user made nothing is asked but what it is.
    return any(value is each for each in (*_CLASSES, *_ERRORS))


def _is_constant(value: Any) -> bool:
    """Say whether something is a plain value that nobody changes, and a short one."""
    if type(value) in (tuple, frozenset):
        return len(value) <= _LONGEST_CONSTANT and all(map(_is_single, value))
    return _is_single(value)


def _is_single(value: Any) -> bool:
    if type(value) is datetime.datetime and type(value.tzinfo) not in (types.NoneType, datetime.timezone):
        # Its zone may be of a class of the user's.
        return False
    return type(value) in UNCHANGING and sys.getsizeof(value) <= _LONGEST_CONSTANT
