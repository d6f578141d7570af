"""Where no name is assigned anew, what is called is the function that the user gave, and what it changes is the user's."""

from __future__ import annotations

import functools
import itertools
import math
import types
from typing import Any

import pytest

from sframe_spark import SFrame
from sframe_spark.udf import bound_function
from sframe_spark.udf.bound_function import FunctionAsNow
from tests.udf.test_bound_function import ROWS, of_main

CHANGING = {
    "a list": "seen = []\ndef given(x): seen.append(x)",
    "a global that it assigns": "count = 0\nseen = []\ndef given(x):\n    global count\n    count += 1\n    seen[:] = [x] * count",
    "by a method taken before": "seen = []\nadd = seen.append\ndef given(x): add(x) or len(seen)",
    "by another function": "seen = []\ndef add(x): seen.append(x)\ndef given(x): add(x) or len(seen)",
    "by an object": "seen = []\nclass Adding:\n    def __call__(self, x): seen.append(x)\nadd = Adding()\ndef given(x): add(x) or len(seen)",
    "by a function in it": "seen = []\ndef given(x):\n    def add(): seen.extend([x])\n    return add() or len(seen)",
    "as a part": "seen = {}\ndef given(x): seen[x] = 1",
    "a global that another function assigns": (
        "seen = ()\ndef add(x):\n    global seen\n    seen = (*seen, x)\ndef given(x): add(x) or 1 // len(seen)"
    ),
    "a global that a method assigns": (
        "seen = ()\nclass Own:\n    def add(self, x):\n        global seen\n        seen = (*seen, x)\n"
        "own = Own()\ndef given(x): own.add(x) or 1 // len(seen)"
    ),
    "a global that is filled when it is needed": (
        "seen = None\ndef fill(x):\n    global seen\n    if seen is None: seen = [x]\ndef given(x): fill(x) or seen[0]"
    ),
    "a name around two functions": (
        "def make():\n    held = ()\n    def add(x):\n        nonlocal held\n        held = (*held, x)\n        seen[:] = held\n"
        "    def read(x): add(x) or 1 // len(held)\n    return read\nseen = []\ngiven = make()"
    ),
    "a name around a class": (
        "def make():\n    held = ()\n    class Own:\n        def add(self, x):\n            nonlocal held\n            held = (*held, x)\n"
        "            seen[:] = held\n    def read(x): Own().add(x) or 1 // len(held)\n    return read\nseen = []\ngiven = make()"
    ),
    "an attribute of its own": "seen = []\ndef given(x):\n    given.held = (*given.held, x)\n    seen[:] = given.held\ngiven.held = ()",
}


def test_attributes_of_a_function_are_the_users_own() -> None:
    given, names = of_main("k = 1\ndef given(x):\n    given.n += k\n    return x\ngiven.n = 0")
    bound = FunctionAsNow(given)
    bound(7)
    names["k"] = 2
    bound(7)
    assert given.n == 2


def test_functions_that_use_no_names_are_what_they_are() -> None:
    given, names = of_main("def double(x): return 2 * x\ncosts = {double: 10}\ndef given(x): return costs[double], double")
    assert FunctionAsNow(given)(1) == (10, names["double"])


def test_what_is_only_data_is_the_same_object() -> None:
    given, names = of_main("held = [[1], {2: 3}, (4, len)]\ndef given(x): return held")
    assert FunctionAsNow(given)(1) is names["held"]


@pytest.mark.parametrize("name", CHANGING)
def test_what_a_function_changes_is_the_users_own(name: str) -> None:
    given, names = of_main(CHANGING[name])
    bound = FunctionAsNow(given)
    bound(7)
    assert list(names["seen"]) == [7]
    assert names.get("count", 1) == 1


OWN = {
    **CHANGING,
    "by a method of a class above": (
        "seen = ()\nclass Base:\n    def add(self, x):\n        global seen\n        seen = (*seen, x)\nclass Own(Base): pass\n"
        "own = Own()\ndef given(x): own.add(x) or 1 // len(seen)"
    ),
    "by a function of an object": (
        "seen = ()\ndef add(x):\n    global seen\n    seen = (*seen, x)\nclass Own:\n    def __init__(self, f): self.f = f\n"
        "own = Own(add)\ndef given(x): own.f(x) or 1 // len(seen)"
    ),
    "by way of its module": "seen = ()\ndef given(x):\n    globals()['seen'] = (x,)\n    1 // len(seen)",
    "as an attribute": "import types\nown = types.SimpleNamespace(n=0)\nseen = []\ndef given(x):\n    own.n += 1\n    seen[:] = [x] * own.n",
    "what an object reads": (
        "seen = ()\nclass Own:\n    def get(self): return seen\nown = Own()\ndef given(x):\n    global seen\n    seen = (x,)\n    1 // len(own.get())"
    ),
    "beside functions that are looked up": (
        "from collections import defaultdict, namedtuple\nk = 1\nseen = []\ndef add(x): return seen.append(x) or k\n"
        "Held = namedtuple('Held', 'f')\nheld = Held(add)\ncosts = defaultdict(int, {add: 1})\n"
        "def given(x): 1 // (costs[add] * (held.f is add) * add(x))"
    ),
    "by an object that is called, with a table of its methods": (
        "k = 1\nclass Own:\n    def __init__(self): self.seen, self.table = [], {0: self.even, 1: self.odd}\n"
        "    def even(self, x): self.seen.append(0)\n    def odd(self, x): self.seen.append(x)\n"
        "    def __call__(self, x): return self.table[x % 2](x * k)\ngiven = Own()\nseen = given.seen"
    ),
}


@pytest.mark.parametrize("name", OWN)
def test_while_nothing_is_assigned_anew_the_users_own_function_is_called(name: str) -> None:
    given, names = of_main(OWN[name])
    column = SFrame({"x": [7]})["x"].apply(given, dtype=int)
    list(column)
    assert list(names["seen"]) == [7]
    assert FunctionAsNow(given).now() is given


@pytest.mark.parametrize("function", [len, math.sqrt, str, functools.partial(max, 0), "a".join, types.SimpleNamespace])
def test_other_callables_are_what_they_are(function: Any) -> None:
    assert FunctionAsNow(function).now() is function


def test_what_the_code_does_not_show_is_a_functions_own_where_nobody_else_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    # Libraries that other tests use leave threads behind.
    monkeypatch.setattr(bound_function, "other_threads_run", lambda: False)
    given, names = of_main("import operator\ntotal = 0\ndef given(x):\n    put(total + x)\n    return total")
    names["put"] = functools.partial(names.__setitem__, "total")
    assert list(SFrame({"x": range(ROWS)})["x"].apply(given, dtype=int)) == list(itertools.accumulate(range(ROWS)))
