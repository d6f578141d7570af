"""Whatever a user's function raises becomes a UserFunctionError that shows the call; no class of an error gets in between."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from sframe_spark import SArray, SFrame
from sframe_spark.errors import UserFunctionError
from sframe_spark.udf.error_transport import error_of_text, error_text
from sframe_spark.udf.function_errors import MAX_TEXT, displayable, user_error


def fails(*_: Any, **__: Any) -> Any:
    raise ValueError("this member fails")


class Unhashable(type):
    def __eq__(cls, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]


class Incomparable(type):
    __eq__ = fails
    __hash__ = fails  # type: ignore[assignment]


class Unnamed(type):
    __name__ = property(fails)  # type: ignore[assignment]


class OtherArguments(Exception):
    def __new__(cls, one: int, two: int, three: int, four: int) -> OtherArguments:
        return Exception.__new__(cls)

    def __init__(self, *numbers: int) -> None:
        super().__init__("four numbers")


class OwnArguments(Exception):
    class Inner(KeyError):
        pass

    def __init__(self, *, code: int) -> None:
        super().__init__(f"code {code}")


class SomethingElse(Exception):
    def __new__(cls, *arguments: Any) -> Any:
        return 42 if len(arguments) == 3 else Exception.__new__(cls)


class Slots(Exception):
    __slots__ = ("row",)


class NoModule(Exception):
    pass


NoModule.__module__ = None  # type: ignore[assignment]


def class_with(**members: Any) -> type[Exception]:
    return type("Own", (Exception,), members)


MADE: dict[str, Callable[[], Exception]] = {
    **{
        name: class_with(**{name: property(fails)})
        for name in ("message", "traceback_text", "row", "args", "__traceback__", "__cause__", "__notes__")
    },
    **{
        name: class_with(**{name: fails})
        for name in ("__str__", "__repr__", "__init_subclass__", "__setattr__", "__getattribute__", "__reduce__", "__eq__", "__hash__")
    },
    "str gives no text": class_with(__str__=lambda self: 5),
    "str is endless": class_with(__str__=lambda self: str(self)),
    "surrogates": lambda: ValueError("\ud800 bad"),
    "unhashable class": Unhashable("Own", (Exception,), {}),
    "incomparable class": Incomparable("Own", (Exception,), {}),
    "class without a name": Unnamed("Own", (Exception,), {}),
    "other arguments": lambda: OtherArguments(1, 2, 3, 4),
    "made as something else": SomethingElse,
    "slots": Slots,
    "no module": NoModule,
    "StopIteration": lambda: StopIteration(3),
    "StopAsyncIteration": lambda: StopAsyncIteration(3),
    "subclass of StopIteration": type("Own", (StopIteration,), {}),
    "group": lambda: ExceptionGroup("group", [ValueError(1)]),
    "decoding": lambda: UnicodeDecodeError("utf8", b"a", 0, 1, "reason"),
    "system": lambda: FileNotFoundError(2, "no such file", "x"),
    "memory": MemoryError,
    "recursion": RecursionError,
    "long": lambda: ValueError("x" * 1_000_000),
    "JSON": lambda: json.JSONDecodeError("wrong", "text", 3),
    "own arguments": lambda: OwnArguments(code=3),
    "nested class": lambda: OwnArguments.Inner("within"),
    "ours": lambda: UserFunctionError("of another function"),
}


def raising(name: str) -> Callable[[Any], Any]:
    def function_of_the_user(value: Any) -> Any:
        raise MADE[name]()

    return function_of_the_user


DOORS: dict[str, Callable[[Callable[[Any], Any]], Any]] = {
    "apply with a type": lambda function: list(SArray([1, 2]).apply(function, int)),
    "apply to texts": lambda function: list(SArray([1, 2]).apply(function, str)),
    "apply": lambda function: list(SArray([1, 2]).apply(function)),
    "apply to rows": lambda function: list(SFrame({"a": [1, 2]}).apply(function, int)),
    "filter": lambda function: list(SArray([1, 2]).filter(function)),
    "flat_map with types": lambda function: list(SFrame({"a": [1, 2]}).flat_map(["x"], function, [int])),
    "flat_map": lambda function: list(SFrame({"a": [1, 2]}).flat_map(["x"], function)),
    "cycles with types": lambda function: list(SFrame({"t": [1, 2]}).add_columns_by_cycle(function, "x", "t", dtypes=int)),
    "cycles": lambda function: list(SFrame({"t": [1, 2]}).add_columns_by_cycle(function, "x", "t")),
}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("name", MADE)
def test_every_class_of_errors(name: str, door: str) -> None:
    with pytest.raises(UserFunctionError, match="function_of_the_user") as caught:
        DOORS[door](raising(name))
    error = caught.value
    assert "input: " in str(error) and "failed with" in error.message
    assert len(error.message) < 2 * MAX_TEXT and len(error.traceback_text) < 2 * MAX_TEXT
    assert not isinstance(error, (StopIteration, StopAsyncIteration))
    assert repr(error)
    for copy in (error_of_text(error_text(error)), pickle.loads(pickle.dumps(error))):
        assert isinstance(copy, UserFunctionError)
        assert str(copy) == str(error)


@pytest.mark.parametrize(
    "name", ["__str__", "__repr__", "system", "memory", "recursion", "long", "decoding", "JSON", "own arguments", "nested class"]
)
def test_the_functions_own_class_catches_it(name: str) -> None:
    with pytest.raises(type(MADE[name]())):
        list(SArray([1, 2]).apply(raising(name), int))


def test_a_value_that_cannot_be_shown() -> None:
    class Hidden:
        __repr__ = fails

    assert displayable(Hidden()) == "a Hidden whose __repr__ failed with ValueError"
    with pytest.raises(KeyError, match="whose __repr__ failed with ValueError"):
        raise user_error("f", Hidden(), KeyError("lost"))


def test_an_interrupt_in_the_words_of_an_error_is_one() -> None:
    def interrupted(self: Any) -> str:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        user_error("f", 1, class_with(__str__=interrupted)())
