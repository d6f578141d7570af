"""Which functions are pure: the answer must hold for whatever values a function is given, so every doubt is a no."""

from __future__ import annotations

import builtins
import datetime
import functools
import math
import os
import random
import re
import time
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from sframe_spark.expressions.python_function import PythonFunction, Truth
from sframe_spark.types import INT
from sframe_spark.udf.bound_function import FunctionAsNow
from sframe_spark.udf.pure_functions import STEPS_OF_CALL, steps_of_call


class Zone(datetime.tzinfo):
    """A zone of the user's, which takes note of who asks for it."""

    def utcoffset(self, time: datetime.datetime | None) -> datetime.timedelta:
        SEEN.append(1)
        return datetime.timedelta(0)


RATE, NAMES, SEEN, LIMITS = 3, {1: "one"}, list[int](), (1, "two", None)
NOON, OF_USER = datetime.datetime(2024, 1, 1, 12, tzinfo=datetime.UTC), datetime.datetime(2024, 1, 1, 12, tzinfo=Zone())
DEEP, SHARED, LARGE = (), (1,), 10**10_000
for _ in range(100_000):
    DEEP = (DEEP,)  # type: ignore[assignment]
for _ in range(200):
    SHARED = (SHARED, SHARED)  # type: ignore[assignment]


def helper(value: int) -> int:
    return value + RATE


def number(text: str) -> int | None:
    try:
        return int(text)
    except (ValueError, TypeError):
        return None


def long_told(value: int) -> int:
    return value + 1


# What it says of itself, which a compiler keeps among its constants.
long_told = types.FunctionType(long_told.__code__.replace(co_consts=("what it does " * 1_000, *long_told.__code__.co_consts[1:])), {})


def why_no_number(text: str) -> str:
    try:
        return str(int(text))
    except ValueError as error:
        return str(error)
    finally:
        text = ""


def checked(value: int) -> int:
    if value < 0:
        raise ValueError(f"{value} is below zero")
    return value


def around(more: Any) -> Callable[[Any], Any]:
    return lambda value: value + more


def assigning(row: dict[str, int]) -> dict[str, int]:
    row["a"] = 1
    return row


def removing(row: dict[str, int]) -> None:
    del row["a"]


PURE: list[Callable[[Any], Any]] = [
    lambda value: value * 2 + 1,
    lambda row: row["k"] + row["f"],
    lambda text: None if text is None else text.strip().lower()[:3],
    lambda text: sorted(text.split(), key=str.lower)[-1],
    lambda value: [value, str(value), {"half": value / 2}],
    lambda row: {**row, "more": [*row["list"], 1, 2, 3]},
    lambda value: f"{value:>5} {value!r} {value:.2f} {value:.1%}",
    lambda value: value**2 + value**0.5,
    lambda value: math.sqrt(abs(value)) if math.isfinite(value) else math.nan,
    lambda value: value in LIMITS or not value,
    lambda value, more=4: value + more,
    lambda *values, **more: values[0],
    lambda value: (each := value) and each,
    lambda time: time.year * 100 + time.month,
    lambda time: time < NOON,
    lambda value: f"{value:>{value}}",
    lambda value: ~(value > 1),
    lambda value: unknown_name,  # type: ignore[name-defined]  # noqa: F821
    number,
    long_told,
    why_no_number,
    checked,
    assigning,
    removing,
    around(3),
    str,
    len,
    math.sqrt,
    str.upper,
    dict.keys,
]


@pytest.mark.parametrize("function", PURE, ids=lambda function: f"{function.__name__}-{PURE.index(function)}")
def test_pure_functions(function: Callable[[Any], Any]) -> None:
    steps = steps_of_call(function)
    assert steps is not None and steps >= STEPS_OF_CALL
    assert steps < 8 * STEPS_OF_CALL


class Adder:
    def __init__(self, more: int) -> None:
        self.more = more

    def __call__(self, value: int) -> int:
        return value + self.more

    def method(self, value: int) -> int:
        return value + self.more


class Named(str):
    """A text of another class: what its methods do is its own."""


class Names(dict[str, Any]):
    """Names that take note of who looks them up."""

    def __missing__(self, name: str) -> int:
        SEEN.append(1)
        return 1

    def get(self, *asked: Any) -> None:
        SEEN.append(1)

    def values(self) -> Any:
        SEEN.append(1)
        return super().values()


def counting(value: int) -> int:
    global RATE  # noqa: PLW0603
    RATE += 1
    return value


def looping(value: int) -> int:
    while value:
        value -= 1
    return value


def growing(values: list[int]) -> None:
    """Never ends, with the least of code."""
    for each in values:
        values += [each]


def growing_fast(values: list[int]) -> None:
    for _ in values:
        values *= 2


def squaring(values: list[int]) -> int:
    """Loops no more often than there are values, and takes twice as long each time."""
    result = 3
    for _ in values:
        result *= result
    return result


def again_after_errors(value: int) -> int:
    while True:
        try:
            return 1 // value
        except ZeroDivisionError:
            continue


def itself(value: int) -> int:
    return itself(value - 1) + itself(value - 2) if value > 1 else value


def inner_itself(value: int) -> int:
    def inner(each: int) -> int:
        return inner(each - 1) + inner(each - 2)

    return inner(value)


def adding(value: list[int]) -> list[int]:
    value.append(1)
    return value


def importing(value: int) -> int:
    import sys

    return sys.getsizeof(value)


def opening(value: str) -> str:
    with open(value) as file:
        return file.read()


def giving(value: int) -> Any:
    yield value


async def waiting(value: int) -> int:
    return value


def ending(value: int) -> None:
    raise SystemExit(value)


def catching_all(value: int) -> int:
    try:
        return 1 // value
    except BaseException:
        return 0


def with_class(value: int) -> Any:
    class Inner:
        of = value

    return Inner


def counter() -> Callable[[int], int]:
    count = 0

    def counted(value: int) -> int:
        nonlocal count
        count += 1
        return value + count

    return counted


def with_constants(*constants: Any) -> Callable[[int], Any]:
    """A function whose code holds what no compiler puts there; some libraries do."""

    def given(value: int) -> Any:
        return None

    return types.FunctionType(given.__code__.replace(co_consts=constants), {})


def with_more(**more: Any) -> Callable[[int], Any]:
    def given(value: int, *, more: int = 1) -> int:
        return value + more

    given.__kwdefaults__ = Names(more)
    return given


OTHERS: list[Any] = [
    counting,
    looping,
    growing,
    growing_fast,
    squaring,
    again_after_errors,
    itself,
    inner_itself,
    adding,
    importing,
    opening,
    giving,
    waiting,
    ending,
    catching_all,
    with_class,
    counter(),
    around([1]),
    around("a" * 1_001),
    around((1,) * 1_001),
    around(Named("a")),
    around(np.int64(1)),
    with_constants(SEEN.append),
    with_constants(SEEN),
    with_more(more=1),
    Adder(1),
    Adder(1).method,
    Adder,
    Named,
    functools.partial(helper),
    functools.lru_cache(helper),
    lambda value: SEEN.append(value),
    lambda value: NAMES[value],
    lambda value: SEEN,
    lambda value: DEEP,
    lambda value: SHARED,
    lambda value: value % LARGE,
    lambda time: time < OF_USER,
    lambda value: print(value),  # noqa: T201
    lambda value: input(),
    lambda value: os.getpid(),
    lambda value: random.random(),
    lambda value: re.sub("a", "b", value),
    lambda value: np.sqrt(value),
    lambda value: Adder(value).more,
    lambda value: helper(value),
    lambda values: [each + 1 for each in values],
    lambda values: (each for each in values),
    lambda values: sorted(values, key=lambda each: -each),
    lambda value: [each + 1 for each in range(value)],
    lambda value: value**value,
    lambda value: 2**value,
    lambda value: 2 ** (value if value else 2),
    lambda value: 2 ** (value or 2),
    lambda value: value << 40,
    lambda value: "{:n}".format(value),  # noqa: UP032
    lambda time: time.timestamp(),
    lambda value: value.__class__.__subclasses__(),
    lambda value: eval(value),
    lambda value: getattr(value, "real"),  # noqa: B009
    lambda value: hash(value) + id(value),
    lambda value: math.factorial(value),
    lambda value, seen=[]: value,
    eval("lambda value: len(value)", {"__builtins__": {"len": SEEN.append}}),
    eval("lambda value: nothing", Names()),
    eval(f"lambda value: value in ({', '.join(map(str, range(2_000)))})"),
    list.append,
    math.factorial,
    os.getpid,
    print,
    open,
    type,
    object,
    BaseException,
    3,
    "text",
    None,
]


@pytest.mark.parametrize("function", OTHERS, ids=lambda function: f"{getattr(function, '__name__', type(function).__name__)}")
def test_functions_that_may_do_more_or_take_longer(function: Any) -> None:
    SEEN.clear()
    began = time.process_time()
    assert steps_of_call(function) is None
    assert not SEEN, "nothing of the user's is asked"
    assert time.process_time() - began < 1


def test_a_name_that_means_something_else_now_is_looked_up_anew() -> None:
    names: dict[str, Any] = {"what": len}
    function = eval("lambda value: what(value)", names)
    assert steps_of_call(function) is not None
    names["what"] = print
    assert steps_of_call(function) is None
    names["what"] = 3
    # It fails, which is no more than computing.
    assert steps_of_call(function) is not None
    names["len"] = lambda value: SEEN.append(value)
    assert steps_of_call(eval("lambda value: len(value)", names)) is None


@pytest.mark.parametrize(("module", "name"), [(math, "sqrt"), (math, "pi"), (builtins, "len"), (builtins, "sum")])
def test_modules_that_are_changed(module: Any, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    function: Any = eval(f"lambda value: math.{name}" if module is math else f"lambda value: {name}(value)", {"math": math})
    assert steps_of_call(function) is not None
    before = getattr(module, name)
    monkeypatch.setattr(module, name, lambda value: before(value))
    assert steps_of_call(function) is None


def test_many_functions_that_use_each_other_are_not_gone_through() -> None:
    """Each of a level uses all of the level below: there are more ways down than anybody could go."""
    names: dict[str, Any] = {"of_0_0": len}
    for level in range(1, 40):
        for place in range(20):
            used = ", ".join(f"of_{level - 1}_{other}(value)" for other in range(20 if level > 1 else 1))
            names[f"of_{level}_{place}"] = eval(f"lambda value: ({used})", names)
    began = time.process_time()
    assert steps_of_call(names["of_39_0"]) is None
    assert time.process_time() - began < 1


def test_what_its_maker_gives_apply_is_looked_through() -> None:
    assert PythonFunction(FunctionAsNow(number), INT).steps_of_call() == steps_of_call(number)
    assert PythonFunction(FunctionAsNow(number, Truth), INT).steps_of_call() == steps_of_call(number)
    assert PythonFunction(FunctionAsNow(Adder(1)), INT).steps_of_call() is None
    assert PythonFunction(FunctionAsNow(counting, Truth), INT).steps_of_call() is None


def test_longer_code_takes_more_steps() -> None:
    short, long = (steps_of_call(eval(f"lambda value: {text}")) for text in ("value", "value" + "+ value" * 50))
    assert short is not None and long is not None
    assert short + 100 <= long < short + 300
