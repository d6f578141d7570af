"""Built-in functions and classes, and functions of ``math``, as a function calls them on symbols."""

from __future__ import annotations

import builtins
import types
from collections.abc import Callable
from typing import Any

from sframe_spark.errors import Untranslatable
from sframe_spark.expressions.translation.expression_tree import BOOL, FLOAT, INT, NUMBERS, STR, TEXTS
from sframe_spark.expressions.translation.function_copy import MAX_ITEMS, MODULES, Unknown, copy_for_symbols, is_of_math, is_plain
from sframe_spark.expressions.translation.symbols import (
    CLASS_OF_KIND,
    Recording,
    Symbol,
    TracedDict,
    TracedList,
    TracedSet,
    TracedTuple,
    compared,
    is_small_digits,
)
from sframe_spark.udf.pure_functions import PURE_ATTRIBUTES, is_pure_class

# Functions of ``math`` of one number, by the class of their results. Their kernels are Arrow's, which call the same C library as Python.
MATH_FUNCTIONS = {
    **dict.fromkeys(("sqrt", "exp", "log", "log10", "log2", "log1p", "sin", "cos", "tan", "asin", "acos", "atan", "fabs"), FLOAT),
    **dict.fromkeys(("floor", "ceil", "trunc"), INT),
    **dict.fromkeys(("isnan", "isinf", "isfinite"), BOOL),
}


# Built-in functions and classes that ask for no more than the items of their arguments.
_PASSED = ("enumerate", "zip", "reversed", "list", "tuple", "dict", "set", "frozenset", "sorted", "range")


class TracedClass:
    """A built-in class of plain values: a call converts a symbol, or a plain value as ever."""

    def __init__(self, recording: Recording, given: type, convert: Callable[[Any], Any]) -> None:
        self.recording, self.given, self.convert = recording, given, convert

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        if any(type(argument) is Symbol for argument in (*arguments, *named.values())):
            if len(arguments) != 1 or named:
                self.recording.refuse(f"it calls {self.given.__name__} with several arguments")
            return self.convert(arguments[0])
        return self.given(*arguments, **named)

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.given, name)
        return lambda value, *arguments: getattr(value, name)(*arguments) if type(value) is Symbol else method(value, *arguments)


class TracedModule:
    """A module of constants and pure functions."""

    def __init__(self, module: types.ModuleType, meaning_of: Callable[[Any], Any]) -> None:
        self._module, self._meaning_of = module, meaning_of

    def __getattr__(self, name: str) -> Any:
        return self._meaning_of(getattr(self._module, name))


class Meanings:
    """The traced forms of what a function reads, for one recording."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self._copies: dict[int, types.FunctionType] = {}
        self._started: set[int] = set()
        # Whether a function handles errors: a call may then go on where its symbols did not.
        self.handles_errors = False
        # What is not known of what it reads, though no path may use it.
        self.unknown: str | None = None
        self.classes = {
            int: TracedClass(recording, int, self._int),
            float: TracedClass(recording, float, self._float),
            str: TracedClass(recording, str, self._str),
            bool: TracedClass(recording, bool, self._bool),
        }
        functions = ("len", "abs", "min", "max", "round", "isinstance", "sum", "any", "all", "type")
        known = {name: getattr(self, f"_{name}") for name in functions}
        passed = {name: getattr(builtins, name) for name in _PASSED}
        self.builtins: dict[str, Any] = {**known, **passed, **{cls.__name__: traced for cls, traced in self.classes.items()}}
        self.builtins["__import__"] = lambda name, *_: self.of(MODULES[name])

    def of(self, value: Any) -> Any:
        """Return the traced form of a captured value."""
        if is_plain(value):
            return value
        kind = type(value)
        if kind in (dict, set, frozenset, list, tuple) and len(value) > MAX_ITEMS:
            raise Untranslatable(f"it uses a {kind.__name__} of more than {MAX_ITEMS:,} items")
        if kind is dict:
            return TracedDict({key: self.of(item) for key, item in value.items()}) if all(map(is_plain, value)) else self._refuse(value)
        if kind in (set, frozenset):
            return TracedSet(value) if all(map(is_plain, value)) else self._refuse(value)
        if kind in (list, tuple):
            return (TracedList if kind is list else TracedTuple)(self.of(item) for item in value)
        if kind is types.FunctionType:
            return self._copied(value)
        if kind is types.MethodDescriptorType:
            return self._method(value)
        if any(value is module for module in MODULES.values()):
            return TracedModule(value, self.of)
        if is_of_math(value):
            return self._of_math(value)
        for cls, traced in self.classes.items():
            if value is cls:
                return traced
        if kind is types.BuiltinFunctionType and value.__self__ is builtins and value.__name__ in self.builtins:
            return self.builtins[value.__name__]
        if is_pure_class(value) and (issubclass(value, BaseException) or value.__name__ in self.builtins):
            return value
        return self._refuse(value)

    def of_any(self, value: Any) -> Any:
        """Return the traced form of a captured value, or what refuses any use if there is none."""
        try:
            return self.of(value)
        except Untranslatable as error:
            self.unknown = self.unknown or str(error)
            return Unknown(str(error))

    def _refuse(self, value: Any) -> Any:
        name = getattr(value, "__name__", None)
        raise Untranslatable(f"it uses {name}" if isinstance(name, str) else f"it uses an object of class {type(value).__name__}")

    def _copied(self, function: types.FunctionType) -> Callable[..., Any]:
        if id(function) in self._copies:
            return self._copies[id(function)]
        if id(function) in self._started:
            # It calls itself: its copy is there when it does.
            return lambda *arguments, **named: self._copies[id(function)](*arguments, **named)
        self._started.add(id(function))
        copied = copy_for_symbols(function, self.of_any, self.builtins)
        self._copies[id(function)] = copied
        self.handles_errors = self.handles_errors or bool(function.__code__.co_exceptiontable)
        return copied

    def _method(self, method: types.MethodDescriptorType) -> Callable[..., Any]:
        name = method.__name__
        if method.__objclass__ is not str or name not in PURE_ATTRIBUTES:
            raise Untranslatable(f"it uses {name}")

        def call(value: Any, *arguments: Any) -> Any:
            if type(value) is not Symbol:
                return method(value, *arguments)
            if value._expression.kind != STR:
                raise TypeError(f"descriptor {name!r} takes texts")
            return getattr(value, name)(*arguments)

        return call

    # Functions of ``math``.

    def _of_math(self, function: Any) -> Any:
        name = function.__name__
        if name not in PURE_ATTRIBUTES:
            raise Untranslatable(f"it uses math.{name}")

        def call(*arguments: Any) -> Any:
            if not any(type(argument) is Symbol for argument in arguments):
                return function(*arguments)
            if name not in MATH_FUNCTIONS or len(arguments) != 1:
                self.recording.refuse(f"it calls math.{name} of these arguments")
            expression = arguments[0]._expression
            if expression.kind not in NUMBERS:
                raise TypeError("must be real number")
            if MATH_FUNCTIONS[name] == INT and expression.kind != FLOAT:
                return self.recording.symbol("positive", INT, expression)
            return self.recording.symbol(name, MATH_FUNCTIONS[name], expression)

        return call

    # Classes.

    def _int(self, value: Symbol) -> Any:
        expression = value._expression
        if expression.kind in (INT, BOOL):
            return self.recording.symbol("positive", INT, expression)
        if expression.kind == FLOAT:
            return self.recording.symbol("trunc", INT, expression)
        if expression.kind == STR:
            return self.recording.symbol("int_of_text", INT, expression)
        return self.recording.refuse(f"it makes an int of a value of kind {expression.kind}")

    def _float(self, value: Symbol) -> Any:
        expression = value._expression
        if expression.kind in NUMBERS:
            return self.recording.symbol("to_float", FLOAT, expression)
        if expression.kind == STR:
            return self.recording.symbol("float_of_text", FLOAT, expression)
        return self.recording.refuse(f"it makes a float of a value of kind {expression.kind}")

    def _str(self, value: Symbol) -> Any:
        expression = value._expression
        if expression.kind == STR:
            return value
        if expression.kind in NUMBERS:
            return self.recording.symbol("text_of_number", STR, expression)
        return self.recording.refuse(f"it makes a text of a value of kind {expression.kind}")

    def _bool(self, value: Symbol) -> Any:
        return Symbol(self.recording, self.recording.truth(value._expression))

    # Functions.

    def _type(self, *arguments: Any) -> Any:
        if len(arguments) == 1 and type(arguments[0]) is Symbol:
            self.recording.refuse("it tests the class of a value")
        self.recording.refuse("it calls type")

    def _isinstance(self, value: Any, classes: Any) -> bool:
        choices = classes if isinstance(classes, tuple) else (classes,)
        given = tuple(choice.given if isinstance(choice, TracedClass) else choice for choice in choices)
        if type(value) is not Symbol:
            return isinstance(value, given)
        cls = CLASS_OF_KIND.get(value._expression.kind)
        if cls is None:
            self.recording.refuse("it tests the class of a value")
        return issubclass(cls, given)

    def _len(self, value: Any) -> Any:
        if type(value) is not Symbol:
            return len(value)
        expression = value._expression
        if expression.kind == TEXTS:
            return self.recording.symbol("items", INT, expression)
        if expression.kind == STR:
            return self.recording.symbol("length", INT, expression)
        if expression.kind in (*NUMBERS,):
            raise TypeError("object has no len()")
        return self.recording.refuse(f"it takes the length of a value of kind {expression.kind}")

    def _abs(self, value: Any) -> Any:
        return abs(value)

    def _round(self, value: Any, digits: Any = None) -> Any:
        if type(value) is not Symbol:
            return round(value, digits)
        expression = value._expression
        if expression.kind not in NUMBERS or not (digits is None or is_small_digits(digits)):
            self.recording.refuse("it rounds to digits that are not known")
        if expression.kind != FLOAT:
            return self.recording.symbol("positive", INT, expression)
        if digits is None:
            return self.recording.symbol("round", INT, expression)
        return self.recording.symbol("round_to_digits", FLOAT, expression, parameters=(digits,))

    def _min(self, *arguments: Any, **named: Any) -> Any:
        return self._extreme("less", min, arguments, named)

    def _max(self, *arguments: Any, **named: Any) -> Any:
        return self._extreme("greater", max, arguments, named)

    def _extreme(self, comparison: str, function: Callable[..., Any], arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
        items = list(arguments[0]) if len(arguments) == 1 and type(arguments[0]) is not Symbol else list(arguments)
        if not any(type(item) is Symbol for item in items):
            return function(*arguments, **named)
        if named:
            self.recording.refuse(f"it calls {function.__name__} with a named argument")
        best = items[0]
        for item in items[1:]:
            best = self._better(comparison, item, best)
        return best

    def _better(self, comparison: str, item: Any, best: Any) -> Any:
        """Return ``item`` if it is less, or greater, than ``best``; else ``best``, as Python does."""
        if type(item) is not Symbol and type(best) is not Symbol:
            return item if (item < best if comparison == "less" else item > best) else best
        if type(item) is Symbol:
            is_better = compared(comparison, item, best)
        else:
            is_better = compared({"less": "greater", "greater": "less"}[comparison], best, item)
        a, b = self.recording.of(item), self.recording.of(best)
        if a.kind == b.kind and type(is_better) is Symbol:
            return self.recording.symbol("choose", a.kind, is_better._expression, a, b)
        return item if is_better else best

    def _sum(self, items: Any, start: Any = 0) -> Any:
        values = list(items)
        if any(type(value) is Symbol and value._expression.kind == FLOAT for value in (*values, start)):
            # Python's sum of floats rounds once, from 3.12 on.
            self.recording.refuse("it calls sum of floats")
        if any(type(value) is float for value in values):
            self.recording.refuse("it calls sum of floats")
        return sum(values, start)

    def _any(self, items: Any) -> bool:
        return any(items)

    def _all(self, items: Any) -> bool:
        return all(items)
