"""Names in a user's function mean what they mean when it is given to us, in every part of every column, wherever it is called."""

from __future__ import annotations

import functools
import itertools
import sys
import threading
import types
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from sframe_spark import SFrame, config
from sframe_spark.udf.bound_function import FunctionAsNow
from sframe_spark.udf.captured_variables import MAX_VISITED

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
    "a global of a function that counts": ("k = 1\nn = 0\ndef given(x):\n    global n\n    n += 1\n    return x + k", {"k": 2}),
    "a global beside a name that means nothing": ("k = 1\ndef given(x): return x + k if x >= 0 else missing", {"k": 2}),
    "a global beside a class": ("k = 1\ndef given(x):\n    class Own:\n        one = 1\n        two = one + 1\n    return x + k", {"k": 2}),
    "a method": ("k = 1\nclass Own:\n    def add(self, x): return x + k\ngiven = Own().add", {"k": 2}),
    "a method of a class": ("k = 1\nclass Own:\n    @classmethod\n    def add(cls, x): return x + k\ngiven = Own.add", {"k": 2}),
    "a method without an object": ("k = 1\nclass Own:\n    @staticmethod\n    def add(x): return x + k\ngiven = Own.add", {"k": 2}),
    "an object that is called": ("k = 1\nclass Own:\n    def __call__(self, x): return x + k\ngiven = Own()", {"k": 2}),
    "an object with a function": (
        "k = 1\nclass Own:\n    def __init__(self, f): self.f = f\n    def __call__(self, x): return self.f(x)\ngiven = Own(lambda x: x + k)",
        {"k": 2},
    ),
    "a vectorised function": ("import numpy as np\nk = 1\ngiven = np.vectorize(lambda x: x + k)", {"k": 2}),
    "a remembering function": ("import functools\nk = 1\n@functools.lru_cache\ndef given(x): return x + k", {"k": 2}),
    "a remembering function that calls itself": (
        "import functools\nk = 1\n@functools.lru_cache\ndef given(x): return k if x == 0 else given(x - 1) + 1",
        {"k": 2, "given": None},
    ),
    "a partial function of one's own": (
        "import functools\nk = 1\nclass Own(functools.partial): pass\ngiven = Own(lambda a, x: x + k * a, 1)",
        {"k": 2},
    ),
    "a list of functions": ("k = 1\nevery = [lambda x: x + k]\ndef given(x): return every[0](x)", {"k": 2}),
    "a dict of functions": ("k = 1\nevery = {'add': [lambda x: x + k]}\ndef given(x): return every['add'][0](x)", {"k": 2}),
    "a function among defaults": ("k = 1\ndef given(x, every=((lambda x: x + k),)): return every[0](x)", {"k": 2}),
    "a function as a key": ("k = 1\ndef add(x): return k\ncosts = {add: 1}\ndef given(x): return costs[add] * add(x) + x", {"k": 2}),
    "a registered function": (
        "k = 1\nrules = []\ndef rule(f):\n    rules.append(f)\n    return f\n@rule\ndef add(x): return x + k\n"
        "def given(x): return rules[0](x) if rules[0] is add else -1",
        {"k": 2},
    ),
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_what_a_script_assigns_later(name: str) -> None:
    text, later = SCRIPTS[name]
    given, names = of_main(text)
    bound = FunctionAsNow(given)
    before = [given(value) for value in range(4)]
    names.update(later)
    assert [bound(value) for value in range(4)] == before == [1, 2, 3, 4]


def test_long_chains_of_functions() -> None:
    lines = ["def f0(x): return x", *(f"def f{number}(x): return f{number - 1}(x) if x else x" for number in range(1, 3_000))]
    given, _ = of_main("\n".join([*lines, "given = f2999"]))
    assert FunctionAsNow(given)(0) == 0
    given = of_main("given = lambda x: x + 1\nfor _ in range(900): given = lambda x, inner=given: inner(x)")[0]
    assert FunctionAsNow(given)(0) == 1


def test_what_a_function_says_of_itself() -> None:
    given, _ = of_main("k = 1\ndef given(x: int, *, y: str = 'a') -> float: return len(given.__annotations__) * k")
    assert FunctionAsNow(given)(0) == 3


def while_k_is_assigned(text: str, rows: list[Any], later: int) -> list[int]:
    """What a function gives for rows, in the middle of which, at its call of ``other``, another thread goes on and assigns ``k``."""
    given, names = of_main(text)
    started, assigned = threading.Event(), threading.Event()

    def other(x: Any) -> None:
        if x == rows[ROWS // 2] and not started.is_set():
            started.set()
            assigned.wait(10)

    names["other"] = functools.partial(other)
    column = SFrame({"x": rows})["x"].apply(given, dtype=int)
    found: list[int] = []
    thread = threading.Thread(target=lambda: found.extend(column))
    thread.start()
    assert started.wait(10), "the function met no such row"
    names["k"] = later
    assigned.set()
    thread.join()
    return found


def test_names_assigned_by_others_while_rows_are_computed() -> None:
    text = "k = 1\ndef given(x):\n    other(x)\n    return x + k"
    assert while_k_is_assigned(text, list(range(ROWS)), 1_000_000) == [value + 1 for value in range(ROWS)]


BUILT_IN = "def given(x): return len(str(x)) + sum([x])"


def test_built_in_names() -> None:
    given, names = of_main(BUILT_IN)
    bound = FunctionAsNow(given)
    names["sum"] = 0
    assert bound(7) == 8
    own: dict[str, Any] = {"__builtins__": {"len": lambda text: 42, "str": str, "sum": sum}, "k": 1}
    exec("def given(x): return len(str(x)) + k", own)
    bound = FunctionAsNow(own["given"])
    assert bound(7) == 43
    own["k"] = 2
    assert bound(7) == 43


def test_a_name_of_its_own_like_one_around_it() -> None:
    def given(value: int) -> int:
        def helper() -> int:
            factor = 1
            return sum(factor for _ in range(1))

        return value * factor * helper()

    factor = 2
    bound = FunctionAsNow(given)
    factor = 3
    assert bound(5) == 10


class Hostile:
    """Answers nothing."""

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError(name)


def test_objects_that_answer_nothing_are_not_asked() -> None:
    given, names = of_main("def given(x): return hostile is not None")
    names["hostile"] = Hostile()
    assert FunctionAsNow(given)(1)


def test_much_data_is_not_looked_through() -> None:
    looked = []

    class Row(dict):  # type: ignore[type-arg]
        def __getitem__(self, name: str) -> Any:
            looked.append(name)

    given, names = of_main("def given(x): return len(data)")
    names["data"] = [[Row(a=number)] * 5 for number in range(MAX_VISITED)]
    family = FunctionAsNow(given)._family
    assert family is not None and len(family._visited) <= MAX_VISITED and not looked


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
    bound = FunctionAsNow(given)
    names["later"] = lambda x: x + 1
    assert bound(1) == 2
    with pytest.raises(NameError, match="missing"):
        FunctionAsNow(of_main("given = lambda x: missing(x)")[0])(1)


def test_a_name_of_an_enclosing_function_that_means_nothing_yet() -> None:
    def given(value: int) -> int:
        return later + value

    bound = FunctionAsNow(given)
    later = 1
    assert bound(1) == 2


@pytest.fixture
def module() -> Iterator[types.ModuleType]:
    made = types.ModuleType("module_of_a_user")
    text = "k = 1\ncache = {}\nheld = None\ndef fill(x): cache[x] = x\ndef given(x): return x + k\n"
    text += "class Own:\n    @staticmethod\n    def of_class(x): return x + k\n    @classmethod\n    def made(cls, x): return x + k\n"
    text += "def load():\n    global held\n    held = 1\nloading = lambda x: load() or x + held\n"
    text += "import functools\n@functools.lru_cache\ndef remembering(x): return x + k\n"
    exec(text, made.__dict__)
    sys.modules[made.__name__] = made
    yield made
    del sys.modules[made.__name__]


def test_a_function_of_a_module_stays_part_of_it(module: Any) -> None:
    bound = [FunctionAsNow(function) for function in (module.given, module.Own.of_class, module.remembering, module.Own.made)]
    module.k = 2
    assert [function(1) for function in bound] == [3, 3, 3, 3]
    assert FunctionAsNow(module.loading)(2) == 3
    given, names = of_main("from module_of_a_user import cache, fill\ndef given(x): return fill(x) or cache[x]")
    assert FunctionAsNow(given)(3) == 3
    assert names["cache"] == {3: 3}


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
    function = FunctionAsNow(given)
    number = 1
    bound: Any = function.now()
    assert bound is not given
    assert (bound.__name__, bound.__doc__, bound.note, bound(1), bound.__module__) == ("given", "Explained.", "mine", 3, __name__)


def test_an_object_of_a_module_that_assigns_what_a_function_of_it_reads(module: Any) -> None:
    text = "total = 0\nclass Adding:\n    def add(self, x):\n        global total\n        total += x\n"
    exec(text + "adding = Adding()\ndef make():\n    def read(x):\n        adding.add(x)\n        return total\n    return read", module.__dict__)
    rows = list(range(ROWS))
    assert list(SFrame({"x": rows})["x"].apply(module.make(), dtype=int)) == list(itertools.accumulate(rows))


def test_rows_computed_again_are_given_as_they_are() -> None:
    text = "k = 1\ndef given(x):\n    other(x)\n    x.append(k)\n    return len(x)"
    # Lists of numbers alone would be arrays, which equal no list.
    assert while_k_is_assigned(text, [[str(number)] for number in range(ROWS)], 2) == [2] * ROWS
