"""Which functions only compute: what is said of one must hold for whatever values it is given, so every doubt is a no."""

from __future__ import annotations

import functools
import math
import os
import random
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from sframe_spark.operators.rowwise.python_function import PythonFunction, Truth
from sframe_spark.operators.user_functions.bound_function import FunctionAsNow
from sframe_spark.operators.user_functions.plain_code import ROUNDS_OF_LOOP, STEPS_OF_CALL, steps_of_call
from sframe_spark.types import INT

RATE, NAMES, SEEN, LIMITS = 3, {1: "one"}, list[int](), (1, (2, "two"))


def helper(value: int) -> int:
    return value + RATE


def first_words(text: str) -> dict[str, int]:
    found = {word.strip(",."): len(word) for word in text.split(" ") if word}
    return found if len(found) > 1 else {}


def total(values: list[float | None]) -> float:
    result = 0.0
    for value in values:
        if value is None:
            continue
        result += value if value > 0 else -value
    return result


def number(text: str) -> int | None:
    try:
        return int(text)
    except (ValueError, TypeError):
        return None


def checked(value: int) -> int:
    if value < 0:
        raise ValueError(f"{value} is below zero")
    return value


def around(more: Any) -> Callable[[Any], Any]:
    return lambda value: value + more


PLAIN: list[Callable[[Any], Any]] = [
    lambda value: value * 2 + 1,
    lambda row: row["k"] + row["f"],
    lambda text: None if text is None else text.strip().lower()[:3],
    lambda text: sum(len(word) for word in text.split()),
    lambda text: sorted(text.split(), key=lambda word: (len(word), word))[-1],
    lambda value: [value, str(value), {"half": value / 2}],
    lambda value: f"{value:>5} {value!r}",
    lambda value: helper(value) * RATE,
    lambda value: value**2 + value**0.5,
    lambda value: math.sqrt(abs(value)) if math.isfinite(value) else math.nan,
    lambda value: value in LIMITS or not value,
    lambda value, more=4: value + more,
    lambda value: (each := value) + each,
    lambda time: time.year * 100 + time.month,
    lambda value: unknown_name,  # type: ignore[name-defined]  # noqa: F821
    helper,
    first_words,
    total,
    number,
    checked,
    around(3),
    str,
    len,
    math.sqrt,
    str.upper,
    dict.keys,
]


@pytest.mark.parametrize("function", PLAIN, ids=lambda function: f"{function.__name__}-{PLAIN.index(function)}")
def test_functions_that_only_compute(function: Callable[[Any], Any]) -> None:
    steps = steps_of_call(function)
    assert steps is not None and steps >= STEPS_OF_CALL
    assert steps < 40 * STEPS_OF_CALL


class Adder:
    def __init__(self, more: int) -> None:
        self.more = more

    def __call__(self, value: int) -> int:
        return value + self.more

    def method(self, value: int) -> int:
        return value + self.more


class Named(str):
    """A text of another class: what its methods do is its own."""


def counting(value: int) -> int:
    global RATE  # noqa: PLW0603
    RATE += 1
    return value


def looping(value: int) -> int:
    while value:
        value -= 1
    return value


def looping_for_ever(values: list[int]) -> None:
    for _ in values:
        while True:
            pass


def itself(value: int) -> int:
    return itself(value - 1) + itself(value - 2) if value > 1 else value


def one_way(value: int) -> int:
    return other_way(value)


def other_way(value: int) -> int:
    return one_way(value)


def inner_itself(value: int) -> int:
    def inner(each: int) -> int:
        return inner(each - 1) + inner(each - 2)

    return inner(value)


def named_inside(value: int) -> int:
    again = lambda each: again(each - 1)  # noqa: E731
    result: int = again(value)
    return result


def adding(value: list[int]) -> list[int]:
    value.append(1)
    return value


def assigning(row: dict[str, int]) -> dict[str, int]:
    row["a"] = 1
    return row


def removing(row: dict[str, int]) -> None:
    del row["a"]


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


MORE: list[Any] = [
    counting,
    looping,
    looping_for_ever,
    itself,
    one_way,
    inner_itself,
    named_inside,
    adding,
    assigning,
    removing,
    importing,
    opening,
    giving,
    waiting,
    with_class,
    counter(),
    around([1]),
    around("a" * 1_001),
    around((1,) * 1_001),
    around(Named("a")),
    around(np.int64(1)),
    Adder(1),
    Adder(1).method,
    Adder,
    Named,
    functools.partial(helper),
    functools.lru_cache(helper),
    lambda value: SEEN.append(value),
    lambda value: NAMES[value],
    lambda value: SEEN,
    lambda value: print(value),  # noqa: T201
    lambda value: input(),
    lambda value: os.getpid(),
    lambda value: random.random(),
    lambda value: re.sub("a", "b", value),
    lambda value: np.sqrt(value),
    lambda value: Adder(value).more,
    lambda value: [each + 1 for each in range(value)],
    lambda value: value**value,
    lambda value: 2**value,
    lambda value: value << 40,
    lambda value: value.__class__.__subclasses__(),
    lambda value: eval(value),
    lambda value: getattr(value, "real"),  # noqa: B009
    lambda value: hash(value) + id(value),
    lambda value: math.factorial(value),
    lambda value, seen=[]: value,
    list.append,
    math.factorial,
    os.getpid,
    print,
    open,
    type,
    object,
    None,
    3,
    "text",
]


@pytest.mark.parametrize("function", MORE, ids=lambda function: f"{getattr(function, '__name__', type(function).__name__)}")
def test_functions_that_may_do_more_or_take_longer(function: Any) -> None:
    assert steps_of_call(function) is None


def test_functions_that_use_each_other_too_deep() -> None:
    functions = [helper]
    for _ in range(7):
        functions.append(eval("lambda value: below(value)", {"below": functions[-1]}))
    known = [steps_of_call(function) for function in functions]
    assert None not in known[:4] and set(known[6:]) == {None}
    assert known[:4] == sorted(known[:4], key=lambda steps: steps or 0)


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


def test_what_its_maker_gives_apply_is_looked_through() -> None:
    assert PythonFunction(FunctionAsNow(helper), INT).steps_of_call() == steps_of_call(helper)
    assert PythonFunction(FunctionAsNow(helper, Truth), INT).steps_of_call() == steps_of_call(helper)
    assert PythonFunction(FunctionAsNow(Adder(1)), INT).steps_of_call() is None
    assert PythonFunction(FunctionAsNow(counting, Truth), INT).steps_of_call() is None


def test_longer_code_takes_more_steps() -> None:
    short, long, loop = (steps_of_call(eval(f"lambda value: {text}")) for text in ("value", "value" + "+ value" * 50, "[each + 1 for each in value]"))
    assert short is not None and long is not None and loop is not None
    assert short < loop < long + ROUNDS_OF_LOOP * 10 and long > 100
