"""Symbols: stand-ins for the values of a row, which record the operations that a function applies to them.

A symbol knows the class that its value will have. It answers as the value would where the class alone decides, records what is computed from it, and
asks the recording where the function wants its truth.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

import pyarrow as pa

from sframe_spark.errors import Untranslatable
from sframe_spark.expressions.translation.expression_tree import BOOL, DATETIME, FLOAT, INT, NUMBERS, OTHER, STR, TEXTS, Expression
from sframe_spark.expressions.translation.function_copy import MAX_ITEMS, is_plain
from sframe_spark.udf.pure_functions import words
from sframe_spark.values.plain_values import LARGEST_INT, SMALLEST_INT

KIND_OF_CLASS = {bool: BOOL, int: INT, float: FLOAT, str: STR, datetime.datetime: DATETIME}
CLASS_OF_KIND = {kind: cls for cls, kind in KIND_OF_CLASS.items()} | {TEXTS: list}
MAX_EXPRESSIONS = 300
# More repetitions or exponents are left to Python.
MAX_REPETITIONS, MAX_EXPONENT = 64, 64
MAX_DIGITS = 15
# Operations for which Python raises an error for some values.
_RAISE = words(
    """
    divide floor_divide remainder power trunc floor ceil round item int_of_text float_of_text lookup sqrt exp log log10 log2 log1p sin cos tan
    asin acos
    """
)
_REFLECTED = {"less": "greater", "less_or_equal": "greater_or_equal", "greater": "less", "greater_or_equal": "less_or_equal"}


class Recording:
    """The expressions of one function, and its decisions on the path that is being recorded."""

    def __init__(self) -> None:
        self._known: dict[Any, Expression] = {}
        self.decided: list[tuple[Expression, bool]] = []
        self._answers: list[bool] = []
        self._by_condition: dict[int, bool] = {}
        # For values that a decision found equal to a constant: that constant.
        self._equal: dict[int, Any] = {}
        self.reason: str | None = None
        self.max_decisions = 0
        # What was computed on this path that may raise an error.
        self._may_raise: dict[int, Expression] = {}

    def begin(self, answers: list[bool], max_decisions: int) -> None:
        """Begin a path whose first decisions have the given answers."""
        self.decided, self._answers, self._by_condition, self._equal, self.reason = [], answers, {}, {}, None
        self.max_decisions, self._may_raise = max_decisions, {}

    def refuse(self, reason: str) -> NoReturn:
        """End the path: what follows is not known."""
        self.reason = self.reason or reason
        raise Untranslatable(reason)

    def expression(self, operation: str, kind: str, operands: tuple[Expression, ...] = (), parameters: tuple[Any, ...] = ()) -> Expression:
        """Return the expression of an operation."""
        key = (operation, kind, *map(id, operands), *(parameters if operation in ("lookup", "position") else (repr(parameters),)))
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= MAX_EXPRESSIONS:
                self.refuse(f"it computes more than {MAX_EXPRESSIONS} values")
            known = self._known[key] = Expression(operation, kind, operands, parameters)
        if operation in _RAISE:
            self._may_raise[id(known)] = known
        return known

    def unread(self, outcome: Expression | None) -> tuple[Expression, ...]:
        """Return what was computed on this path and may raise an error, but is read neither by its outcome nor by a decision."""
        pending = [condition for condition, _ in self.decided] + ([] if outcome is None else [outcome])
        left = dict(self._may_raise)
        seen: set[int] = set()
        while pending and left:
            item = pending.pop()
            if id(item) not in seen:
                seen.add(id(item))
                left.pop(id(item), None)
                # Of two values only one is chosen, but the condition reads both.
                pending += item.operands[:1] if item.operation == "choose" else item.operands
        return tuple(left.values())

    def symbol(self, operation: str, kind: str, *operands: Expression, parameters: tuple[Any, ...] = ()) -> Symbol:
        """Return the symbol of an operation's result."""
        return Symbol(self, self.expression(operation, kind, operands, parameters))

    def constant(self, value: Any) -> Expression:
        """Return the expression of a plain constant."""
        if not is_plain(value) or value is None:
            self.refuse(f"it computes with a value of class {type(value).__name__}")
        if type(value) is int and not SMALLEST_INT <= value <= LARGEST_INT:
            self.refuse("it computes with a constant beyond 64 bits")
        if type(value) is str and not is_storable(value):
            self.refuse("it computes with a text that is no Unicode")
        return self.expression("constant", KIND_OF_CLASS[type(value)], (), (value,))

    def of(self, value: Any) -> Expression:
        """Return the expression of a symbol or a plain constant."""
        return value._expression if type(value) is Symbol else self.constant(value)

    def decide(self, condition: Expression) -> bool:
        """Return whether a condition holds on this path."""
        known = self._by_condition.get(id(condition))
        if known is not None:
            return known
        equal = self._compared_with_constant(condition)
        if equal is not None and id(equal[0]) in self._equal:
            return bool(self._equal[id(equal[0])] == equal[1])
        number = len(self.decided)
        if number >= self.max_decisions:
            self.refuse(f"it takes more than {self.max_decisions} decisions")
        answer = self._answers[number] if number < len(self._answers) else True
        self.decided.append((condition, answer))
        self._by_condition[id(condition)] = answer
        if answer and equal is not None:
            self._equal[id(equal[0])] = equal[1]
        return answer

    @staticmethod
    def _compared_with_constant(condition: Expression) -> tuple[Expression, Any] | None:
        """Return what a condition compares with which constant, by ``==``; None if it does something else."""
        if condition.operation == "equal" and condition.operands[1].operation == "constant":
            return condition.operands[0], condition.operands[1].parameters[0]
        return None

    def truth(self, expression: Expression) -> Expression:
        """Return the expression of a value's truth."""
        if expression.kind == BOOL:
            return expression
        if expression.kind in NUMBERS:
            return self.expression("unequal", BOOL, (expression, self.constant(0)))
        if expression.kind == STR:
            return self.expression("unequal", BOOL, (expression, self.constant("")))
        if expression.kind == TEXTS:
            return self.expression("unequal", BOOL, (self.expression("items", INT, (expression,)), self.constant(0)))
        return self.refuse(f"it tests the truth of a value of kind {expression.kind}")


def is_storable(text: str) -> bool:
    """Return whether a text can be stored in a column."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def arithmetic(operation: str, left: Any, right: Any) -> Any:
    """Return the symbol of an arithmetic operation; at least one operand is a symbol."""
    recording = (left if type(left) is Symbol else right)._recording
    if left is None or right is None:
        raise TypeError("None has no arithmetic")
    a, b = recording.of(left), recording.of(right)
    if operation == "add" and a.kind == b.kind == STR:
        return recording.symbol("concatenate", STR, a, b)
    if operation == "multiply" and {a.kind, b.kind} == {STR, INT}:
        text, times = (a, b) if a.kind == STR else (b, a)
        if times.operation != "constant" or not times.parameters[0] <= MAX_REPETITIONS:
            recording.refuse("it repeats a text many times, or a number of times that it computes")
        return recording.symbol("repeat", STR, text, times)
    if operation == "subtract" and a.kind == b.kind == DATETIME:
        return recording.refuse("it subtracts date-times")
    if not {a.kind, b.kind} <= NUMBERS:
        if OTHER in (a.kind, b.kind) or a.kind in (DATETIME, TEXTS) or b.kind in (DATETIME, TEXTS) or operation == "remainder":
            recording.refuse(f"it applies {operation} to values of {a.kind} and {b.kind}")
        raise TypeError(f"{operation} of {a.kind} and {b.kind}")
    is_float = FLOAT in (a.kind, b.kind)
    if operation in ("both", "either", "differ"):
        if is_float:
            raise TypeError("bits of floats")
        return recording.symbol(operation, BOOL if a.kind == b.kind == BOOL else INT, a, b)
    if operation == "divide":
        return recording.symbol(operation, FLOAT, a, b)
    if operation == "power":
        exponent = b.parameters[0] if b.operation == "constant" else None
        if exponent is None or abs(exponent) > MAX_EXPONENT or (exponent != int(exponent) and exponent != 0.5) or (not is_float and exponent < 0):
            recording.refuse("it takes a power that is not a small constant")
    return recording.symbol(operation, FLOAT if is_float else INT, a, b)


def compared(operation: str, left: Any, right: Any) -> Any:
    """Return the symbol of a comparison, or the answer if the classes decide it; the left operand is a symbol."""
    recording = left._recording
    is_equality = operation in ("equal", "unequal")
    if type(right) is not Symbol and not is_plain(right):
        recording.refuse(f"it compares with a value of class {type(right).__name__}")
    a = left._expression
    b = None if right is None else recording.of(right)
    if b is not None and not {OTHER, TEXTS}.isdisjoint((a.kind, b.kind)):
        recording.refuse("it compares lists, dicts or arrays")
    if b is not None and (a.kind == b.kind or {a.kind, b.kind} <= NUMBERS):
        if a.operation == "constant" and b.operation != "constant":
            a, b, operation = b, a, _REFLECTED.get(operation, operation)
        return recording.symbol(operation, BOOL, a, b)
    if is_equality:
        return operation == "unequal"
    raise TypeError(f"{operation} of {a.kind} and another class")


def searched(container: Expression, item: Any, recording: Recording) -> Any:
    """Return the symbol of ``item in container``, for a text."""
    if container.kind == TEXTS and type(item) is str and is_storable(item):
        return recording.symbol("greater", BOOL, recording.expression("count_items", INT, (container,), (item,)), recording.constant(0))
    if container.kind != STR:
        recording.refuse(f"it searches a value of kind {container.kind}")
    part = recording.of(item) if item is not None else None
    if part is None or part.kind != STR:
        raise TypeError("'in <string>' requires string as left operand")
    if part.operation != "constant":
        recording.refuse("it searches a text that it computes")
    return recording.symbol("contains", BOOL, container, parameters=part.parameters)


# Methods of texts: the kinds of their results, for those without parameters; others are functions of their own.
_PLAIN_METHODS = {
    **dict.fromkeys(("lower", "upper", "title", "capitalize", "swapcase", "casefold"), STR),
    **dict.fromkeys(("isdigit", "isalpha", "isalnum", "isspace", "isupper", "islower", "isnumeric", "isdecimal"), BOOL),
}
_DATE_PARTS = {**{name: name for name in ("year", "month", "day", "hour", "minute", "second")}, "microsecond": "us"}
_DATE_METHODS = {"weekday": "weekday", "isoweekday": "isoweekday"}


class Symbol:  # noqa: PLW1641 - it has no hash on purpose
    """A stand-in for a value of a row, or for what is computed from it."""

    __slots__ = ("_expression", "_recording")

    def __init__(self, recording: Recording, expression: Expression) -> None:
        self._recording, self._expression = recording, expression

    def __getattr__(self, name: str) -> Any:
        expression, recording = self._expression, self._recording
        if expression.kind == STR and name in TEXT_METHODS:
            return Method(self, TEXT_METHODS[name])
        if expression.kind == STR and name in _PLAIN_METHODS:
            return Method(self, lambda text: recording.symbol(name, _PLAIN_METHODS[name], text._expression))
        if expression.kind == TEXTS and name == "count":
            return Method(self, _of_part("count_items", INT))
        if expression.kind == DATETIME and name in _DATE_PARTS:
            return recording.symbol("part", INT, expression, parameters=(_DATE_PARTS[name],))
        if expression.kind == DATETIME and name in _DATE_METHODS:
            return Method(self, lambda value: recording.symbol("part", INT, value._expression, parameters=(_DATE_METHODS[name],)))
        return recording.refuse(f"it uses the attribute {name} of a value of kind {expression.kind}")

    def __bool__(self) -> bool:
        return self._recording.decide(self._recording.truth(self._expression))

    def __add__(self, other: Any) -> Any:
        return arithmetic("add", self, other)

    def __radd__(self, other: Any) -> Any:
        return arithmetic("add", other, self)

    def __sub__(self, other: Any) -> Any:
        return arithmetic("subtract", self, other)

    def __rsub__(self, other: Any) -> Any:
        return arithmetic("subtract", other, self)

    def __mul__(self, other: Any) -> Any:
        return arithmetic("multiply", self, other)

    def __rmul__(self, other: Any) -> Any:
        return arithmetic("multiply", other, self)

    def __truediv__(self, other: Any) -> Any:
        return arithmetic("divide", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return arithmetic("divide", other, self)

    def __floordiv__(self, other: Any) -> Any:
        return arithmetic("floor_divide", self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return arithmetic("floor_divide", other, self)

    def __mod__(self, other: Any) -> Any:
        return arithmetic("remainder", self, other)

    def __rmod__(self, other: Any) -> Any:
        return arithmetic("remainder", other, self)

    def __pow__(self, other: Any) -> Any:
        return arithmetic("power", self, other)

    def __rpow__(self, other: Any) -> Any:
        return arithmetic("power", other, self)

    def __and__(self, other: Any) -> Any:
        return arithmetic("both", self, other)

    def __rand__(self, other: Any) -> Any:
        return arithmetic("both", other, self)

    def __or__(self, other: Any) -> Any:
        return arithmetic("either", self, other)

    def __ror__(self, other: Any) -> Any:
        return arithmetic("either", other, self)

    def __xor__(self, other: Any) -> Any:
        return arithmetic("differ", self, other)

    def __rxor__(self, other: Any) -> Any:
        return arithmetic("differ", other, self)

    def __neg__(self) -> Any:
        return self._of_number("negative", INT)

    def __pos__(self) -> Any:
        return self._of_number("positive", INT)

    def __abs__(self) -> Any:
        return self._of_number("absolute", INT)

    def __eq__(self, other: object) -> Any:
        return compared("equal", self, other)

    def __ne__(self, other: object) -> Any:
        return compared("unequal", self, other)

    def __lt__(self, other: Any) -> Any:
        return compared("less", self, other)

    def __le__(self, other: Any) -> Any:
        return compared("less_or_equal", self, other)

    def __gt__(self, other: Any) -> Any:
        return compared("greater", self, other)

    def __ge__(self, other: Any) -> Any:
        return compared("greater_or_equal", self, other)

    def __contains__(self, item: Any) -> bool:
        return bool(searched(self._expression, item, self._recording))

    def __getitem__(self, key: Any) -> Any:
        expression, recording = self._expression, self._recording
        if expression.kind == STR and type(key) is slice:
            parts = (key.start, key.stop)
            if key.step in (None, 1) and all(part is None or (type(part) is int and abs(part) <= MAX_ITEMS) for part in parts):
                return recording.symbol("slice", STR, expression, parameters=parts)
        elif expression.kind in (STR, TEXTS) and type(key) is int and abs(key) <= MAX_ITEMS:
            return recording.symbol("item", STR, expression, parameters=(key,))
        return recording.refuse(f"it takes an item of a value of kind {expression.kind}")

    def _of_number(self, operation: str, of_bools: str) -> Any:
        kind = self._expression.kind
        if kind not in NUMBERS:
            self._recording.refuse(f"it takes the {operation} of a value of kind {kind}")
        return self._recording.symbol(operation, of_bools if kind == BOOL else kind, self._expression)

    def _refuse_conversion(self, *_: Any) -> NoReturn:
        self._recording.refuse("it hands a value to code that is not known")

    __hash__ = __len__ = __iter__ = __next__ = __index__ = __int__ = __float__ = __complex__ = _refuse_conversion
    __str__ = __repr__ = __format__ = __round__ = __trunc__ = __floor__ = __ceil__ = __divmod__ = __rdivmod__ = _refuse_conversion
    __invert__ = __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = __call__ = __setitem__ = __delitem__ = __reduce__ = _refuse_conversion


class Method:
    """A method of a symbol's value, as its attribute."""

    __slots__ = ("_function", "_symbol")

    def __init__(self, symbol: Symbol, function: Callable[..., Any]) -> None:
        self._symbol, self._function = symbol, function

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        if named:
            self._symbol._recording.refuse("it passes an argument by name")
        return self._function(self._symbol, *arguments)


def _constant_texts(text: Symbol, *values: Any) -> None:
    if not all(type(value) is str and is_storable(value) for value in values):
        text._recording.refuse("it calls a method of a text with what is no constant text")


def _stripped(side: str) -> Callable[..., Any]:
    def strip(text: Symbol, characters: Any = None) -> Any:
        _constant_texts(text, *([] if characters is None else [characters]))
        return text._recording.symbol(side, STR, text._expression, parameters=(characters,))

    return strip


def _tested(operation: str) -> Callable[..., Any]:
    def test(text: Symbol, parts: Any) -> Any:
        choices = tuple(parts) if isinstance(parts, tuple) else (parts,)
        _constant_texts(text, *choices)
        return text._recording.symbol(operation, BOOL, text._expression, parameters=(choices,))

    return test


def _of_part(operation: str, kind: str) -> Callable[..., Any]:
    def method(text: Symbol, part: Any) -> Any:
        _constant_texts(text, part)
        return text._recording.symbol(operation, kind, text._expression, parameters=(part,))

    return method


def _replace(text: Symbol, old: Any, new: Any, count: Any = -1) -> Any:
    _constant_texts(text, old, new)
    if type(count) is not int or not old:
        text._recording.refuse("it replaces an empty text, or a number of times that it computes")
    return text._recording.symbol("replace", STR, text._expression, parameters=(old, new, None if count < 0 else count, False))


def _split(text: Symbol, separator: Any = None, most: Any = -1) -> Any:
    _constant_texts(text, *([] if separator is None else [separator]))
    if type(most) is not int or separator == "" or (separator is None and most >= 0):
        text._recording.refuse("it splits at an empty text, or a number of times that it computes")
    return text._recording.symbol("split", TEXTS, text._expression, parameters=(separator, most))


def _zfill(text: Symbol, width: Any) -> Any:
    if type(width) is not int or width > MAX_REPETITIONS:
        text._recording.refuse("it fills with many zeros")
    return text._recording.symbol("zfill", STR, text._expression, parameters=(width,))


def _translate(text: Symbol, table: Any) -> Any:
    if not isinstance(table, dict) or not all(type(code) is int for code in table) or not all(map(_is_translation, table.values())):
        text._recording.refuse("it translates by a table that is not known")
    return text._recording.symbol("translate", STR, text._expression, parameters=(dict(table),))


def _is_translation(value: Any) -> bool:
    return value is None or (type(value) is int and 0 <= value < 0xD800) or (type(value) is str and is_storable(value))


TEXT_METHODS: dict[str, Callable[..., Any]] = {
    **{side: _stripped(side) for side in ("strip", "lstrip", "rstrip")},
    **{operation: _tested(operation) for operation in ("startswith", "endswith")},
    "find": _of_part("find", INT),
    "rfind": _of_part("rfind", INT),
    "count": _of_part("count", INT),
    "removeprefix": _of_part("removeprefix", STR),
    "removesuffix": _of_part("removesuffix", STR),
    "replace": _replace,
    "split": _split,
    "translate": _translate,
    "zfill": _zfill,
}
"""Methods of texts with parameters: they check these, and return a symbol."""


# Containers that a function has captured. Plain keys are searched as ever; a symbol is looked up in all rows at once.


def _refuse_change(self: Any, *_: Any, **__: Any) -> NoReturn:
    raise Untranslatable("it changes an object outside")


class TracedDict(dict[Any, Any]):
    """A captured dict, in which symbols can be looked up."""

    def __getitem__(self, key: Any) -> Any:
        if type(key) is not Symbol:
            return super().__getitem__(key)
        kind = self._kind_of_values()
        position = key._recording.expression("position", INT, (key._expression,), (Members.of(self, key),))
        return key._recording.symbol("lookup", kind, position, parameters=(self._table(key),))

    def get(self, key: Any, default: Any = None) -> Any:
        """Return the value of a key, or ``default`` if there is none."""
        if type(key) is not Symbol:
            return super().get(key, default)
        if key in self:
            return self[key]
        return default

    def __contains__(self, key: Any) -> bool:
        return _is_member(self, key) if type(key) is Symbol else super().__contains__(key)

    def _table(self, key: Symbol) -> Members:
        members = Members.of(self, key)
        return Members(tuple(self[member] for member in members.given))

    def _kind_of_values(self) -> str:
        kinds = {KIND_OF_CLASS.get(type(value)) for value in self.values()}
        kind = kinds.pop() if len(kinds) == 1 else None
        if kind is None or kind == DATETIME:
            raise Untranslatable("it looks up a dict whose values are not all of one plain class")
        if kind == INT and not all(SMALLEST_INT <= value <= LARGEST_INT for value in self.values()):
            raise Untranslatable("it looks up ints beyond 64 bits")
        if kind == STR and not all(map(is_storable, self.values())):
            raise Untranslatable("it looks up a text that is no Unicode")
        return kind

    __setitem__ = __delitem__ = pop = popitem = clear = update = setdefault = __ior__ = _refuse_change


class TracedSet(frozenset[Any]):
    """A captured set, or a constant one, in which symbols can be looked up."""

    def __contains__(self, item: object) -> bool:
        return _is_member(self, item) if type(item) is Symbol else super().__contains__(item)

    add = discard = remove = pop = clear = update = _refuse_change


class TracedTuple(tuple[Any, ...]):
    """A captured or constant tuple, in which symbols can be looked up."""

    def __contains__(self, item: object) -> bool:
        return _is_member(self, item) if type(item) is Symbol else super().__contains__(item)


class TracedList(list[Any]):
    """A captured list, in which symbols can be looked up."""

    def __contains__(self, item: object) -> bool:
        return _is_member(self, item) if type(item) is Symbol else super().__contains__(item)

    __setitem__ = __delitem__ = append = extend = insert = pop = remove = clear = sort = reverse = __iadd__ = __imul__ = _refuse_change


class Members:
    """Constants in which a value is looked up: those that can be equal to values of its kind.

    Parameters
    ----------
    values
        The constants, as the kind has them: 1 for True and for 1.0 among ints.
    given
        The constants as they are in the container.
    """

    def __init__(self, values: tuple[Any, ...], given: tuple[Any, ...] = ()) -> None:
        self.values, self.given = values, given
        self._arrow: pa.Array | None = None

    def arrow(self, arrow_type: pa.DataType) -> pa.Array:
        """Return the constants as an Arrow array."""
        if self._arrow is None:
            self._arrow = pa.array(self.values, arrow_type)
        return self._arrow

    def __hash__(self) -> int:
        return hash(self.values)

    def __eq__(self, other: object) -> bool:
        return type(other) is Members and list(map(repr, self.values)) == list(map(repr, other.values))

    def __repr__(self) -> str:
        return f"{len(self.values):,} constants" if len(self.values) > 5 else repr(self.values)

    @classmethod
    def of(cls, container: Iterable[Any], key: Symbol) -> Members:
        """Return the members of a container that can be equal to a symbol's values; raises ``Untranslatable`` if that is not known."""
        kind, items = key._expression.kind, list(dict.fromkeys(container)) if not isinstance(container, (list, tuple)) else list(container)
        if len(items) > MAX_ITEMS or not all(map(is_plain, items)):
            raise Untranslatable("it searches a container of many items, or of what is not plain")
        if kind == STR:
            found = [item for item in items if type(item) is str]
            if not all(map(is_storable, found)):
                raise Untranslatable("it searches texts that are no Unicode")
            found = list(dict.fromkeys(found))
            return cls(tuple(found), tuple(found))
        if kind in (INT, BOOL):
            given = [item for item in items if type(item) in (bool, int) or (type(item) is float and item.is_integer())]
            by_value = {int(item): item for item in reversed(given) if SMALLEST_INT <= item <= LARGEST_INT}
            return cls(tuple(by_value), tuple(by_value.values()))
        raise Untranslatable(f"it searches a container for a value of kind {kind}")


def _is_member(container: Iterable[Any], key: Any) -> bool:
    expression = key._expression
    if expression.kind == FLOAT:
        items = [item for item in container if type(item) in (bool, int, float)]
        if len(items) > 20:
            raise Untranslatable("it searches a container of many numbers for a float")
        return any(key == item for item in items if item == item)
    position = key._recording.expression("position", INT, (expression,), (Members.of(container, key),))
    return bool(key._recording.symbol("greater_or_equal", BOOL, position, key._recording.constant(0)))


class TracedRow:
    """A row, as a dict of the columns of a frame. A value that may be missing is either None or a symbol: the recording decides."""

    def __init__(self, recording: Recording, names: tuple[str, ...], kinds: tuple[str, ...]) -> None:
        self._recording, self._names, self._kinds = recording, names, kinds

    def __getitem__(self, name: Any) -> Any:
        if type(name) is Symbol:
            self._recording.refuse("it takes a column whose name it computes")
        if name not in self._names:
            raise KeyError(name)
        return value_of_column(self._recording, self._names.index(name), self._kinds[self._names.index(name)])

    def get(self, name: Any, default: Any = None) -> Any:
        """Return the value of a column, or ``default`` if there is none."""
        if name in self:
            return self[name]
        return default

    def __contains__(self, name: Any) -> bool:
        if type(name) is Symbol:
            self._recording.refuse("it takes a column whose name it computes")
        return name in self._names

    def _refuse_all(self, *_: Any) -> NoReturn:
        self._recording.refuse("it uses a row in another way than taking values by the names of columns")

    __getattr__ = __bool__ = __len__ = __iter__ = __eq__ = __ne__ = __hash__ = __setitem__ = __delitem__ = _refuse_all
    __str__ = __repr__ = __format__ = __or__ = __ror__ = _refuse_all


def value_of_column(recording: Recording, position: int, kind: str) -> Symbol | None:
    """Return None or a symbol for the value of a column that may be missing."""
    if recording.decide(recording.expression("missing", BOOL, (), (position,))):
        return None
    return recording.symbol("column", kind, parameters=(position,))


def is_small_digits(digits: Any) -> bool:
    """Return whether a number of digits is one that rounding of floats knows."""
    return type(digits) is int and 0 <= digits <= MAX_DIGITS and math.isfinite(digits)
