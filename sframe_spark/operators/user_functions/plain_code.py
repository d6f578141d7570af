"""Functions that do nothing but compute: of these it is known how long a call takes, and that nobody notices who calls them, when and how often."""

from __future__ import annotations

import builtins
import dis
import functools
import inspect
import math
import types
from collections.abc import Mapping
from typing import Any

import attrs

from sframe_spark.operators.user_functions.names_in_code import cells_of, is_class, is_full
from sframe_spark.values.taken import UNCHANGING

# A call takes as long as some steps of its code, and a round of a loop is one of some.
STEPS_OF_CALL = 10
ROUNDS_OF_LOOP = 16
# Functions that use functions that use functions: beyond this depth nobody knows what they do.
_DEEPEST = 4
_LARGEST_POWER = 64
# What a call looks through takes its time, too.
_LONGEST_CONSTANT = 1_000


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# What is built in and gives the same for the same values; nothing that gives names, asks somebody or goes on without an end.
_NAMES_BUILT_IN = _words(
    """
    abs all any bool chr dict divmod enumerate float frozenset int isinstance len list max min ord reversed round set sorted str sum tuple zip
    """
)
_ERRORS = tuple(each for each in vars(builtins).values() if is_class(each) and issubclass(each, Exception))
_BUILT_IN = (*(getattr(builtins, name) for name in sorted(_NAMES_BUILT_IN)), *_ERRORS)
# Methods and attributes of texts, lists, dicts and times that read, and functions of ``math`` that take the time of one step.
_READING = _words(
    """
    capitalize casefold count endswith find format index isalnum isalpha isascii isdecimal isdigit islower isnumeric isspace istitle isupper join
    lower lstrip partition removeprefix removesuffix replace rfind rindex rpartition rsplit rstrip split splitlines startswith strip swapcase title
    upper zfill get items keys values is_integer bit_length
    year month day hour minute second microsecond date time weekday isoweekday toordinal timestamp total_seconds isoformat days seconds
    acos asin atan atan2 ceil copysign cos cosh degrees e exp expm1 fabs floor fmod hypot inf isclose isfinite isinf isnan log log10 log1p log2 modf
    nan pi radians sin sinh sqrt tan tanh tau trunc
    """
)
_METHODS_OF = (str, list, tuple, dict, int, float)
# Steps of the interpreter, of versions 3.11 to 3.14, that touch nothing but what a call made or was given.
_COMPUTING = _words(
    """
    BINARY_SLICE BINARY_SUBSCR BUILD_CONST_KEY_MAP BUILD_LIST BUILD_MAP BUILD_SET BUILD_SLICE BUILD_STRING BUILD_TUPLE CACHE CALL CALL_FUNCTION_EX
    CALL_INTRINSIC_1 CALL_KW CHECK_EXC_MATCH COMPARE_OP CONTAINS_OP CONVERT_VALUE COPY COPY_FREE_VARS DICT_MERGE DICT_UPDATE END_FOR EXTENDED_ARG
    FORMAT_SIMPLE FORMAT_VALUE FORMAT_WITH_SPEC FOR_ITER GET_ITER IS_OP JUMP_FORWARD JUMP_IF_FALSE_OR_POP JUMP_IF_TRUE_OR_POP KW_NAMES LIST_APPEND
    LIST_EXTEND LIST_TO_TUPLE LOAD_ASSERTION_ERROR LOAD_CLOSURE LOAD_COMMON_CONSTANT LOAD_CONST LOAD_CONST_IMMORTAL LOAD_DEREF LOAD_FAST
    LOAD_FAST_AND_CLEAR LOAD_FAST_BORROW LOAD_FAST_BORROW_LOAD_FAST_BORROW LOAD_FAST_CHECK LOAD_FAST_LOAD_FAST LOAD_SMALL_INT MAKE_CELL MAKE_FUNCTION
    MAP_ADD NOP NOT_TAKEN POP_EXCEPT POP_ITER POP_JUMP_FORWARD_IF_FALSE POP_JUMP_FORWARD_IF_NONE POP_JUMP_FORWARD_IF_NOT_NONE
    POP_JUMP_FORWARD_IF_TRUE POP_JUMP_IF_FALSE POP_JUMP_IF_NONE POP_JUMP_IF_NOT_NONE POP_JUMP_IF_TRUE POP_TOP PRECALL PUSH_EXC_INFO PUSH_NULL
    RAISE_VARARGS RERAISE RESUME RETURN_CONST RETURN_GENERATOR RETURN_VALUE SET_ADD SET_FUNCTION_ATTRIBUTE SET_UPDATE STORE_FAST
    STORE_FAST_LOAD_FAST STORE_FAST_STORE_FAST SWAP TO_BOOL UNARY_INVERT UNARY_NEGATIVE UNARY_NOT UNARY_POSITIVE UNPACK_EX UNPACK_SEQUENCE
    YIELD_VALUE
    """
)
_LOOKING_UP = ("LOAD_GLOBAL", "LOAD_NAME")
_ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD")
_CONSTANTS = ("LOAD_CONST", "LOAD_SMALL_INT")
_MADE_INSIDE = ("<lambda>", "<listcomp>", "<dictcomp>", "<setcomp>", "<genexpr>")
_MAKE_GENERATORS = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


@attrs.frozen
class PlainCode:
    """Code that only computes, as long as the names that it reads mean what does.

    Parameters
    ----------
    steps
        How many steps of the interpreter a call takes, or so.
    names
        What it reads of its module and of what is built in.
    """

    steps: int
    names: frozenset[str]


@functools.lru_cache(maxsize=4096)
def plain_code(code: types.CodeType) -> PlainCode | None:
    """What some code needs to be plain; None if it may do more than compute, or may take longer than its length tells.

    Examples
    --------
    >>> plain_code((lambda value: value * rate).__code__).names
    frozenset({'rate'})
    >>> plain_code((lambda value: print(value)).__code__).names, plain_code((lambda values: values.append(1)).__code__)
    (frozenset({'print'}), None)
    """
    taken, before = list(dis.get_instructions(code)), None
    # Where loops over given values begin and end.
    loops = {step.offset: step.argval for step in taken if step.opname == "FOR_ITER"}
    steps, names = 0, {step.argval for step in taken if step.opname in _LOOKING_UP}
    for step in taken:
        if not _only_computes(step, before, loops):
            return None
        before = step
        steps += ROUNDS_OF_LOOP ** sum(start < step.offset < end for start, end in loops.items())
    for inner in code.co_consts:
        if type(inner) is types.CodeType:
            found = plain_code(inner) if inner.co_name in _MADE_INSIDE else None
            if found is None:
                return None
            names |= found.names
            steps += (ROUNDS_OF_LOOP if inner.co_name == "<lambda>" else 1) * (found.steps + STEPS_OF_CALL)
    return PlainCode(steps, frozenset(names))


def _only_computes(step: dis.Instruction, before: dis.Instruction | None, loops: Mapping[int, int]) -> bool:
    """Say whether a step touches nothing but what its call made or was given, and ends soon."""
    if step.opname in _ATTRIBUTES:
        return step.argval in _READING
    if step.opname == "BINARY_OP":
        return not step.argrepr.startswith(("<<", "**")) or (step.argrepr == "**" and _is_small(before))
    if "JUMP_BACKWARD" in step.opname:
        return step.argval in loops
    return step.opname in _COMPUTING or step.opname in _LOOKING_UP


def _is_small(step: dis.Instruction | None) -> bool:
    """Say whether a power is a number so small that it is taken at once."""
    return step is not None and step.opname in _CONSTANTS and type(step.argval) in (int, float) and abs(step.argval) <= _LARGEST_POWER


def steps_of_call(function: Any, depth: int = 0) -> int | None:
    """How many steps of the interpreter a call of a function takes, or so; None unless it is known to do nothing but compute.

    Such a function reads its argument, what it makes of that, constants, and others of its kind. Who calls it, when, how often and in which process
    is seen nowhere but in the time that it takes, which is short: it has no loops but over what it was given.

    Parameters
    ----------
    function
        What is called with plain values: numbers, texts, times, lists and dicts of them.
    depth
        How many functions use each other above it.

    Examples
    --------
    >>> steps_of_call(lambda value: value * 2 + 1) < 25, steps_of_call(str.upper)
    (True, 10)
    >>> steps_of_call(input), steps_of_call(lambda value: __import__("os").getpid())
    (None, None)
    """
    if is_plain_name(function):
        return STEPS_OF_CALL
    if type(function) is not types.FunctionType or depth > _DEEPEST:
        return None
    code = plain_code(function.__code__)
    given = (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values())
    cells = [cell.cell_contents for cell in cells_of(function).values() if is_full(cell)]
    if code is None or function.__code__.co_flags & _MAKE_GENERATORS or not all(map(_is_constant, (*given, *cells))):
        return None
    steps = code.steps + STEPS_OF_CALL
    for name in code.names:
        meant = function.__globals__.get(name, getattr(builtins, name, None))
        if not (_is_constant(meant) or meant is math or is_plain_name(meant)):
            inner = steps_of_call(meant, depth + 1)
            if inner is None:
                return None
            steps += ROUNDS_OF_LOOP * inner
    return steps


def is_plain_name(value: Any) -> bool:
    """Say whether something is built in and computes only, a method of texts that reads, say, or a class of errors."""
    if type(value) is types.MethodDescriptorType:
        return value.__objclass__ in _METHODS_OF and value.__name__ in _READING
    # Of what a user made nothing is asked but what it is.
    if any(value is each for each in _BUILT_IN):
        return True
    return type(value) is types.BuiltinFunctionType and value.__self__ is math and value.__name__ in _READING


def _is_constant(value: Any) -> bool:
    """Say whether something is a plain value that nobody changes, and a short one."""
    if type(value) in (tuple, frozenset):
        return len(value) <= _LONGEST_CONSTANT and all(map(_is_constant, value))
    return type(value) in UNCHANGING and (type(value) not in (str, bytes) or len(value) <= _LONGEST_CONSTANT)
