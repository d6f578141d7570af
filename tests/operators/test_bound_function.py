"""Names in a user's function mean what they mean when it is given to us, in every part of every column, wherever it is called."""

from __future__ import annotations

import functools
import math
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from sframe_spark import SFrame, config
from sframe_spark.operators.bound_function import bound_now

ROWS = 3_000


def of_main(text: str) -> Any:
    """What a script defines under the name ``given``, and the script's names."""
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(text, "script.py", "exec"), names)
    return names["given"], names


def test_a_loop_gives_columns_of_its_own() -> None:
    frame = SFrame({"x": range(ROWS)})
    for factor in (2, 3, 5):
        frame[f"times {factor}"] = frame["x"].apply(lambda value: value * factor)  # noqa: B023
        frame[f"row {factor}"] = frame.apply(lambda row: row["x"] * factor)  # noqa: B023
    kept = [frame["x"].filter(lambda value: value % factor == 0) for factor in (2, 3, 5)]  # noqa: B023
    flat = [frame.flat_map(["y"], lambda row: [[row["x"] + factor]]) for factor in (2, 3, 5)]  # noqa: B023
    for place, factor in enumerate((2, 3, 5)):
        assert list(frame[f"times {factor}"]) == list(frame[f"row {factor}"]) == [value * factor for value in range(ROWS)]
        assert list(kept[place]) == list(range(0, ROWS, factor))
        assert list(flat[place]["y"]) == [value + factor for value in range(ROWS)]


def test_a_loop_over_cycles() -> None:
    frame = SFrame({"t": [place // 2 for place in range(100)], "x": range(100)})
    made = [frame.add_columns_by_cycle(lambda rows: [row["x"] + added for row in rows], "y", on="t") for added in (1, 2)]  # noqa: B023
    assert [list(found["y"]) for found in made] == [[value + added for value in range(100)] for added in (1, 2)]


@pytest.mark.spark
def test_on_spark(everything_on_spark: None) -> None:
    test_a_loop_gives_columns_of_its_own()


@pytest.mark.parametrize("look", [lambda column: column[0], lambda column: list(column.head(20)), lambda column: None])
def test_later_assignments_are_not_heard(look: Callable[[Any], Any]) -> None:
    number = 1
    column = SFrame({"x": range(ROWS)})["x"].apply(lambda value: value + number)
    look(column)
    number = 2
    assert list(column) == [value + 1 for value in range(ROWS)]


SCRIPTS = {
    "a global": ("k = 1\ndef given(x): return x + k", {"k": 2}),
    "a global of a function that it calls": ("k = 1\ndef add(x): return x + k\ndef given(x): return add(x)", {"k": 2}),
    "the function that it calls": ("def add(x): return x + 1\ngiven = lambda x: add(x)", {"add": lambda x: 0}),
    "itself": ("def given(x): return 1 if x == 0 else 1 + given(x - 1)", {"given": lambda x: 0}),
    "two that call each other": (
        "def given(x): return 1 if x == 0 else 1 + other(x - 1)\ndef other(x): return 1 if x == 0 else 1 + given(x - 1)",
        {"other": lambda x: 0},
    ),
    "a global in a comprehension": ("k = [1]\ndef given(x): return sum(x * i + 1 for i in k)", {"k": [2]}),
    "a part of what it is given": ("from functools import partial\nk = 1\ngiven = partial(lambda a, x: x + a * k, 1)", {"k": 2}),
    "a wrapped function": (
        "import functools\nk = 1\ndef wrap(f):\n    @functools.wraps(f)\n    def inner(x): return f(x)\n    return inner\n"
        "@wrap\ndef given(x): return x + k",
        {"k": 2},
    ),
    "a module": ("import math\ndef given(x): return x + int(math.sqrt(1))", {"math": None}),
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_what_a_script_assigns_later(name: str) -> None:
    text, later = SCRIPTS[name]
    given, names = of_main(text)
    bound = bound_now(given)
    before = [given(value) for value in range(4)]
    names.update(later)
    assert [bound(value) for value in range(4)] == before == [1, 2, 3, 4]


CHANGING = {
    "a list": "seen = []\ndef given(x): seen.append(x)",
    "a global that it assigns": "count = 0\nseen = []\ndef given(x):\n    global count\n    count += 1\n    seen[:] = [x] * count",
    "by a method taken before": "seen = []\nadd = seen.append\ndef given(x): add(x) or len(seen)",
    "by another function": "seen = []\ndef add(x): seen.append(x)\ndef given(x): add(x) or len(seen)",
    "by an object": "seen = []\nclass Adding:\n    def __call__(self, x): seen.append(x)\nadd = Adding()\ndef given(x): add(x) or len(seen)",
    "by a function in it": "seen = []\ndef given(x):\n    def add(): seen.extend([x])\n    return add() or len(seen)",
    "as a part": "seen = {}\ndef given(x): seen[x] = 1",
}


@pytest.mark.parametrize("name", CHANGING)
def test_what_a_function_changes_is_the_users_own(name: str) -> None:
    given, names = of_main(CHANGING[name])
    bound = bound_now(given)
    bound(7)
    assert list(names["seen"]) == [7]
    assert names.get("count", 1) == 1


def test_a_count_in_an_enclosing_function() -> None:
    count = 0

    def counting(value: int) -> int:
        nonlocal count
        count += 1
        return value

    assert list(SFrame({"x": range(ROWS)})["x"].apply(counting)) == list(range(ROWS))
    assert count == ROWS


def test_a_name_that_means_nothing_yet() -> None:
    given, names = of_main("def given(x): return later(x)")
    bound = bound_now(given)
    names["later"] = lambda x: x + 1
    assert bound(1) == 2
    with pytest.raises(NameError, match="missing"):
        bound_now(of_main("given = lambda x: missing(x)")[0])(1)


def test_a_name_of_an_enclosing_function_that_means_nothing_yet() -> None:
    def given(value: int) -> int:
        return later + value

    bound = bound_now(given)
    later = 1
    assert bound(1) == 2


@pytest.fixture
def module() -> Iterator[types.ModuleType]:
    made = types.ModuleType("module_of_a_user")
    exec("k = 1\ncache = {}\ndef fill(x): cache[x] = x\ndef given(x): return x + k", made.__dict__)
    sys.modules[made.__name__] = made
    yield made
    del sys.modules[made.__name__]


def test_a_function_of_a_module_stays_part_of_it(module: Any) -> None:
    assert bound_now(module.given) is module.given
    given, names = of_main("from module_of_a_user import cache, fill\ndef given(x): return fill(x) or cache[x]")
    assert bound_now(given)(3) == 3
    assert names["cache"] == {3: 3}


@pytest.mark.parametrize("function", [len, math.sqrt, str, functools.partial(max, 0), "a".join, types.SimpleNamespace])
def test_other_callables_are_what_they_are(function: Any) -> None:
    bound = bound_now(function)
    assert bound is function or (bound.func, bound.args) == (function.func, function.args)


def test_errors_show_the_users_lines() -> None:
    number = 0
    with pytest.raises(RuntimeError, match=r"test_bound_function\.py(.|\n)*1 // number"):
        SFrame({"x": [1]})["x"].apply(lambda value: 1 // number)


def test_with_options_and_documentation() -> None:
    def given(value: int, *, other: int = 2) -> int:
        """Explained."""
        return value + other + config.small_rows * number

    given.note = "mine"  # type: ignore[attr-defined]
    number = 0
    bound: Any = bound_now(given)
    assert (bound.__name__, bound.__doc__, bound.note, bound(1), bound.__module__) == ("given", "Explained.", "mine", 3, __name__)
