"""Copies of users' functions that can run on symbols: their byte code is checked for effects, and the names that they read mean traced values."""

from __future__ import annotations

import builtins
import datetime
import dis
import inspect
import math
import string
import types
from collections.abc import Callable, Iterator
from typing import Any

from sframe_spark.errors import Untranslatable
from sframe_spark.udf.code_analysis import cells_of, is_full
from sframe_spark.udf.pure_functions import PURE_ATTRIBUTES, words

MAX_ITEMS = 100_000
# Byte code instructions without effects beyond the values of the call itself, in Python 3.11 and later; specialised forms begin with these names.
_OPERATIONS = words(
    """
    BINARY_OP BINARY_SLICE BINARY_SUBSCR BUILD_CONST_KEY_MAP BUILD_LIST BUILD_MAP BUILD_SET BUILD_SLICE BUILD_STRING BUILD_TUPLE CACHE CALL
    CALL_FUNCTION_EX CALL_KW CHECK_EXC_MATCH COMPARE_OP CONTAINS_OP CONVERT_VALUE COPY COPY_FREE_VARS DELETE_FAST DICT_MERGE DICT_UPDATE
    END_FOR EXTENDED_ARG FORMAT_SIMPLE FORMAT_VALUE FORMAT_WITH_SPEC FOR_ITER GET_ITER IS_OP JUMP_BACKWARD JUMP_BACKWARD_NO_INTERRUPT
    JUMP_FORWARD JUMP_IF_FALSE_OR_POP JUMP_IF_TRUE_OR_POP KW_NAMES LIST_APPEND LIST_EXTEND LIST_TO_TUPLE LOAD_ASSERTION_ERROR LOAD_ATTR
    LOAD_CLOSURE LOAD_COMMON_CONSTANT LOAD_CONST LOAD_DEREF LOAD_FAST LOAD_FAST_AND_CLEAR LOAD_FAST_CHECK LOAD_FAST_LOAD_FAST LOAD_GLOBAL
    LOAD_METHOD LOAD_SMALL_INT MAKE_CELL MAKE_FUNCTION MAP_ADD NOP POP_EXCEPT POP_JUMP_BACKWARD_IF_FALSE POP_JUMP_BACKWARD_IF_NONE
    POP_JUMP_BACKWARD_IF_NOT_NONE POP_JUMP_BACKWARD_IF_TRUE POP_JUMP_FORWARD_IF_FALSE POP_JUMP_FORWARD_IF_NONE POP_JUMP_FORWARD_IF_NOT_NONE
    POP_JUMP_FORWARD_IF_TRUE POP_JUMP_IF_FALSE POP_JUMP_IF_NONE POP_JUMP_IF_NOT_NONE POP_JUMP_IF_TRUE POP_TOP PRECALL PUSH_EXC_INFO
    PUSH_NULL RAISE_VARARGS RERAISE RESUME RETURN_CONST RETURN_GENERATOR RETURN_VALUE SET_ADD SET_FUNCTION_ATTRIBUTE SET_UPDATE STORE_DEREF
    STORE_FAST STORE_FAST_LOAD_FAST STORE_FAST_STORE_FAST STORE_SUBSCR SWAP TO_BOOL UNARY_INVERT UNARY_NEGATIVE UNARY_NOT UNARY_POSITIVE
    UNPACK_EX UNPACK_SEQUENCE YIELD_VALUE
    """
)
# The numbers of two intrinsic functions: the one that ends a generator's frame, and ``+x``; and of the one that makes a tuple of a list.
_INTRINSICS = frozenset({3, 5, 6})
# Methods that change containers: traced containers refuse them, so only containers that the call itself has made are changed.
_CHANGES = frozenset({"append", "extend", "add"})
_OF_TEXTS = frozenset({"translate", "maketrans", "punctuation", "digits", "whitespace", "ascii_letters", "ascii_lowercase", "ascii_uppercase"})
MODULES = {"math": math, "string": string}
_PLAIN = (types.NoneType, bool, int, float, str)


def copy_for_symbols(function: Any, meaning_of: Callable[[Any], Any], replaced: dict[str, Any]) -> types.FunctionType:
    """Return a copy of a Python function in which each global name, outer variable and default value is replaced by what ``meaning_of`` returns.

    Parameters
    ----------
    function
        A plain Python function.
    meaning_of
        Returns the traced form of a captured value; raises ``Untranslatable`` if there is none.
    replaced
        Traced forms of built-in functions and classes by name.

    Raises
    ------
    Untranslatable
        If the function may have effects, or uses what is not known.
    """
    code = function.__code__
    if code.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        raise Untranslatable("it is a generator")
    if type(function.__globals__) is not dict or type(function.__builtins__) is not dict:
        raise Untranslatable("its global variables are not in a plain dict")
    names: dict[str, None] = {}
    for part in _codes(code):
        _check(part, code, names)
    known: dict[str, Any] = {}
    for name in names:
        if name in function.__globals__:
            known[name] = meaning_of(function.__globals__[name])
        elif name in replaced and function.__builtins__.get(name) is getattr(builtins, name, None):
            continue
        else:
            if name not in function.__builtins__:
                raise Untranslatable(f"it uses {name}, which is not defined")
            known[name] = meaning_of(function.__builtins__[name])
    cells = cells_of(function)
    closure = tuple(types.CellType(meaning_of(cells[name].cell_contents)) if is_full(cells[name]) else _unbound(name) for name in code.co_freevars)
    defaults = tuple(map(meaning_of, function.__defaults__ or ()))
    variables = {**known, "__builtins__": {**replaced, "__build_class__": None}, "__name__": function.__module__}
    copied = types.FunctionType(_with_traced_constants(code, meaning_of), variables, function.__name__, defaults, closure)
    if function.__kwdefaults__:
        copied.__kwdefaults__ = {name: meaning_of(value) for name, value in function.__kwdefaults__.items()}
    return copied


class Unknown:
    """Stands for what a function reads and is not known: any use ends the translation, but a path that does not use it is none the worse."""

    def __init__(self, reason: str) -> None:
        object.__setattr__(self, "reason", reason)

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise Untranslatable(object.__getattribute__(self, "reason"))

    __getattribute__ = __call__ = __bool__ = __iter__ = __len__ = __eq__ = __ne__ = __hash__ = __getitem__ = __contains__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = __add__ = __radd__ = __mul__ = __rmul__ = __sub__ = __rsub__ = __truediv__ = __rtruediv__ = _refuse
    __str__ = __repr__ = __format__ = __index__ = __int__ = __float__ = __mod__ = __rmod__ = __neg__ = __or__ = __ror__ = __and__ = _refuse


def _unbound(name: str) -> Any:
    raise Untranslatable(f"the variable {name} has no value")


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def _check(part: types.CodeType, whole: types.CodeType, names: dict[str, None]) -> None:
    """Check the byte code of one function, and add the global names that it reads to ``names``."""
    if part.co_flags & (inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        raise Untranslatable("it is asynchronous")
    steps = list(dis.get_instructions(part))
    for index, step in enumerate(steps):
        name = step.opname
        if name == "CALL_INTRINSIC_1" and step.arg in _INTRINSICS:
            continue
        if name == "IMPORT_NAME" and step.argval in MODULES:
            continue
        if name not in _OPERATIONS:
            raise Untranslatable(f"it uses the byte code {name}, which may have effects")
        if name == "LOAD_GLOBAL":
            names[step.argval] = None
        elif name in ("LOAD_ATTR", "LOAD_METHOD"):
            if step.argval not in PURE_ATTRIBUTES and step.argval not in _CHANGES and step.argval not in _OF_TEXTS:
                raise Untranslatable(f"it uses the attribute {step.argval}")
        elif name == "IS_OP":
            if not (index and steps[index - 1].opname == "LOAD_CONST" and steps[index - 1].argval is None):
                raise Untranslatable("it tests an identity other than None")
        elif name == "STORE_DEREF" and step.argval in whole.co_freevars:
            raise Untranslatable(f"it assigns the outer variable {step.argval}")


def _with_traced_constants(code: types.CodeType, meaning_of: Callable[[Any], Any]) -> types.CodeType:
    """Return the code with traced sets in the place of the constant sets that it searches, in the functions within it too."""
    steps = list(dis.get_instructions(code))
    searched: dict[Any, bool] = {}
    for index, step in enumerate(steps):
        if step.opname == "LOAD_CONST" and step.arg is not None:
            is_searched = index + 1 < len(steps) and steps[index + 1].opname == "CONTAINS_OP"
            searched[step.arg] = searched.get(step.arg, True) and is_searched
    constants = list(code.co_consts)
    for index, constant in enumerate(constants):
        if isinstance(constant, types.CodeType):
            constants[index] = _with_traced_constants(constant, meaning_of)
        elif type(constant) in (tuple, frozenset) and searched.get(index):
            constants[index] = meaning_of(constant)
    return code.replace(co_consts=tuple(constants))


def is_plain(value: Any) -> bool:
    """Return whether a value is a plain constant: a number, a string, None, or a date-time without an offset."""
    return type(value) in _PLAIN or (type(value) is datetime.datetime and value.tzinfo is None)


def is_of_math(value: Any) -> bool:
    """Return whether a value is a function of the module ``math``."""
    return type(value) is types.BuiltinFunctionType and value.__self__ is math
