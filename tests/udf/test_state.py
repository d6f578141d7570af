"""A user's function sees one state of the program, whoever calls it: the state in which it was given, over few rows and over many."""

from __future__ import annotations

import contextvars
import decimal
import functools
import importlib
import locale
import math
import os
import sqlite3
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from pickle import dumps, loads
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import pytest

from sframe_spark import SArray, SFrame, config
from sframe_spark.errors import StateNotSharedError, UserFunctionError
from sframe_spark.session import is_started
from sframe_spark.udf.user_module_detection_and_reached_variables import ReachedModules

ROWS = 3_000
MODULE = """
import contextvars, dataclasses, enum, functools, math, sqlite3, threading, typing, weakref

RATE = 1
TABLE = {"rate": 1}
PARTS = [1]
UNUSED = sqlite3.connect(":memory:")
CONNECTION = None
LOCK = threading.Lock()
VARIABLE = contextvars.ContextVar("rate", default=1)
LOCAL = threading.local()
WEAK = weakref.WeakValueDictionary()
T = typing.TypeVar("T")

class Book(typing.Generic[T]):
    rate = 1
    rates = {"rate": 1}
    def __init__(self, value=0): self.value = value
    def rated(self): return self.value * self.rate
    @functools.cached_property
    def kept(self): return self.rate
    @functools.lru_cache(maxsize=None)
    def cached(self, value): return value * self.rate
    @functools.singledispatchmethod
    def told(self, value): return None
    @told.register
    def _(self, value: int): return value * self.rate

class Kind(enum.Enum):
    ONE = 1
    TWO = 2

class Planet(enum.Enum):
    EARTH = 1, 7
    TERRA = 1, 7
    def __init__(self, number, rate): self.number, self.rate = number, rate

class Code(str, enum.Enum):
    def __new__(cls, value, rate):
        made = str.__new__(cls, value)
        made._value_, made.rate = value, rate
        return made
    ONE = "one", 7

class Rights(enum.Flag):
    READ = 1
    WRITE = 2
    BOTH = 3

class Registering(type):
    made = {}
    def __new__(kind, name, bases, content):
        made = super().__new__(kind, name, bases, content)
        Registering.made[name] = made
        return made

class Plugin(metaclass=Registering):
    known = []
    def __init_subclass__(cls):
        Plugin.known.append(cls)

class Sevenfold(Plugin):
    def rated(self, value): return value * RATE

def __getattr__(name):
    if name == "MADE":
        return RATE
    raise AttributeError(name)

@dataclasses.dataclass
class Item:
    rate: int = 1

class Rows(typing.NamedTuple):
    value: int

def rated(value):
    return value * RATE

def above(value):
    return value < RATE

def locked(value):
    with LOCK:
        return value * RATE

def connected(value):
    return CONNECTION.execute("select 1").fetchone()[0]

@functools.cache
def remembered(value):
    return value * RATE

@functools.lru_cache(maxsize=10)
def fibonacci(value):
    return value if value < 2 else fibonacci(value - 1) + fibonacci(value - 2)

@functools.singledispatch
def told(value):
    return None

@told.register
def _(value: int):
    return value * RATE

def doing(function):
    @functools.wraps(function)
    def wrapper(*values):
        return function(*values) * RATE
    return wrapper

@doing
def decorated(value):
    return value
"""


@pytest.fixture
def rules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A module of the user's program, which workers could import: there it has the state of its file."""
    (tmp_path / "rules_of_a_user.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield importlib.import_module("rules_of_a_user")
    sys.modules.pop("rules_of_a_user", None)


@pytest.fixture
def by_processes(tmp_path: Path) -> Iterator[None]:
    """Few rows count as many."""
    with config.using(small_rows=200, segment_rows=1000, progress="off", temporary_directory=str(tmp_path / "temporary")):
        yield
    assert not is_started()


def ones() -> SArray:
    return SArray([1] * ROWS)


def changed(rules: Any) -> None:
    """The state of the program when functions are given."""
    rules.RATE = rules.TABLE["rate"] = rules.PARTS[0] = rules.Book.rate = rules.Book.rates["rate"] = 7
    rules.LOCAL.rate = 7
    rules.VARIABLE.set(7)
    rules.WEAK["rate"] = rules.Book
    rules.Item.__init__.__defaults__ = (7,)


def functions(rules: Any) -> dict[str, Callable[[int], Any]]:
    """Functions from 1 to 7, by what they reach."""

    def imported_within(value: int) -> int:
        import rules_of_a_user as found  # type: ignore[import-not-found]

        return value * int(found.RATE)

    def pickled_within(value: int) -> int:
        import pickle

        found: int = pickle.loads(pickle.dumps(rules.Book(value))).rated()
        return found

    name = "RATE"
    book = rules.Book(1)
    return {
        "a variable": lambda value: value * rules.RATE,
        "a function's variable": rules.rated,
        "an item of a dict": lambda value: value * rules.TABLE["rate"],
        "an item of a list": lambda value: value * rules.PARTS[0],
        "a class's attribute": lambda value: value * rules.Book.rate,
        "a class's dict": lambda value: value * rules.Book.rates["rate"],
        "a method": lambda value: rules.Book(value).rated(),
        "a method of an object": lambda value: book.rated(),
        "a class of one type": lambda value: rules.Book[int](value).rated(),
        "a cached property": lambda value: book.kept,
        "a remembering method": lambda value: book.cached(value),
        "a method by class": lambda value: book.told(value),
        "a dispatching function": rules.told,
        "a remembering function": rules.remembered,
        "a decorated function": rules.decorated,
        "a partial function": functools.partial(rules.rated),
        "a lock": rules.locked,
        "a default": lambda value: value * rules.Item().rate,
        "a context variable": lambda value: value * rules.VARIABLE.get(),
        "a thread's variable": lambda value: value * rules.LOCAL.rate,
        "a weak dict": lambda value: rules.WEAK["rate"](value).rated(),
        "a name in a text": lambda value: value * getattr(rules, "RATE"),  # noqa: B009
        "a name that is made": lambda value: value * getattr(rules, name[:2] + "TE"),
        "a name that is made, with a default": lambda value: value * getattr(rules, name[:2] + "TE", "none"),
        "a name that is looked up": lambda value: value * rules.RATE,
        "an import within": imported_within,
        "a pickle within": pickled_within,
        "a member of an enumeration": lambda value: rules.Kind.ONE.value * rules.RATE if rules.Kind(1) is rules.Kind.ONE else None,
        "members with attributes": lambda value: rules.Planet.TERRA.rate if rules.Planet((1, 7)) is rules.Planet["TERRA"] else None,
        "members of another class": lambda value: rules.Code("one").rate if rules.Code.ONE == "one" else None,
        "members that are combined": lambda value: rules.RATE if rules.Rights.READ | rules.Rights.WRITE is rules.Rights.BOTH else None,
        "classes that are registered": lambda value: rules.Plugin.known[0]().rated(value) * len(rules.Plugin.known),
        "a class of classes": lambda value: rules.Registering.made["Sevenfold"]().rated(value) * (len(rules.Registering.made) - 1),
        "a variable that is made": lambda value: value * rules.MADE,
        "a text that is code": lambda value: eval("value * rules.RATE", {"value": value, "rules": rules}),
        "a named tuple": lambda value: rules.Rows(7).value if isinstance(rules.Rows(7), rules.Rows) else None,
    }


NAMES = list(functions(MagicMock()))


@pytest.mark.sampled(8)
@pytest.mark.usefixtures("by_processes")
@pytest.mark.parametrize("name", NAMES)
def test_many_rows_see_the_state_in_which_the_function_was_given(name: str, rules: Any) -> None:
    changed(rules)
    assert set(ones().apply(functions(rules)[name])) == {7}


@pytest.mark.usefixtures("by_processes")
def test_through_every_door(rules: Any) -> None:
    rules.RATE = 7
    frame = SFrame({"a": [1] * ROWS, "k": list(range(ROWS))})
    assert len(frame["a"].filter(rules.above)) == ROWS
    assert set(frame.apply(lambda row: rules.rated(row["a"]))) == {7}
    assert set(frame.flat_map(["b"], lambda row: [[rules.rated(row["a"])]])["b"]) == {7}
    assert set(frame.add_columns_by_cycle(lambda rows: [rules.rated(row["a"]) for row in rows], "b", on="k")["b"]) == {7}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("many", [False, True], ids=["few", "many"])
@pytest.mark.parametrize(
    "change",
    [
        lambda rules, value: setattr(rules, "RATE", value),
        lambda rules, value: rules.TABLE.update(rate=value),
        lambda rules, value: setattr(rules.Book, "rate", value),
    ],
    ids=["variable", "dict", "class"],
)
def test_a_column_for_each_state(change: Callable[[Any, int], None], many: bool, rules: Any, tmp_path: Path) -> None:
    """Columns are computed later, when the program has another state; two of them in one run have two states."""
    frame = SFrame({"a": [1] * ROWS})
    for value in (2, 3):
        change(rules, value)
        frame[f"b{value}"] = frame["a"].apply(lambda value: rules.RATE * rules.TABLE["rate"] * rules.Book(value).rated())
    change(rules, 4)
    with config.using(small_rows=200 if many else 100_000, segment_rows=1000, progress="off", temporary_directory=str(tmp_path / "temporary")):
        assert [set(frame[name]) for name in ("b2", "b3")] == [{2}, {3}]


def test_objects_that_the_function_only_reads() -> None:
    settings, frame = {"rate": 1}, SFrame({"a": [1] * ROWS})
    for rate in (2, 3):
        settings["rate"] = rate
        frame[f"b{rate}"] = frame["a"].apply(lambda value: value * settings["rate"])
    settings["rate"] = 4
    assert [set(frame[name]) for name in ("b2", "b3")] == [{2}, {3}]


def test_what_the_function_changes_itself_is_its_own(rules: Any) -> None:
    """It is called in the user's process as it is, so what it collects is there."""
    seen: list[int] = []

    def collecting(value: int) -> int:
        seen.append(value)
        rules.TABLE[value] = rules.RATE
        return value * rules.RATE

    column = SArray(range(300)).apply(collecting)
    assert list(column) == list(range(300)) and seen == list(range(300)) and rules.TABLE[299] == 1


@pytest.mark.usefixtures("by_processes")
def test_what_is_not_read_is_not_sent_and_what_cannot_be_is_named(rules: Any) -> None:
    assert set(ones().apply(rules.rated)) == {1}
    rules.CONNECTION = sqlite3.connect(":memory:", check_same_thread=False)
    for function in (rules.connected, lambda value: rules.connected(value), lambda value: getattr(rules, "CONN" + "ECTION") and value):
        with pytest.raises(UserFunctionError, match=r"rules_of_a_user\.CONNECTION.*sqlite3\.Connection.*cannot be pickled") as raised:
            ones().apply(function).materialize()
        assert str(raised.value).lower().count("pass it plain values") <= 1


@pytest.mark.usefixtures("by_processes")
def test_functions_of_this_module_that_remember() -> None:
    @functools.lru_cache(maxsize=5)
    def power(value: int) -> int:
        return 1 if not value else 2 * power(value - 1)

    assert set(ones().apply(power)) == {2}


def _decimals() -> Any:
    decimal.getcontext().prec = 3
    return lambda value: str(decimal.Decimal(value) / 3)


def _errors() -> Any:
    np.seterr(divide="raise")
    return lambda value: np.geterr()["divide"]


def _digits() -> Any:
    sys.set_int_max_str_digits(700)
    return lambda value: sys.get_int_max_str_digits()


def _recursion() -> Any:
    sys.setrecursionlimit(2345)
    return lambda value: sys.getrecursionlimit()


def _filters() -> Any:
    warnings.simplefilter("error", BytesWarning)
    return lambda value: warnings.filters[0][0] + warnings.filters[0][2].__name__


def _locale() -> Any:
    locale.setlocale(locale.LC_TIME, "C.UTF-8")
    return lambda value: locale.setlocale(locale.LC_TIME)


def _zone() -> Any:
    os.environ["TZ"] = "Asia/Tokyo"
    time.tzset()
    return lambda value: time.localtime(value).tm_hour


def _printing() -> Any:
    np.set_printoptions(precision=2)
    return lambda value: str(np.array([value / 3]))


def _constant() -> Any:
    math.tau = 3  # type: ignore[misc]
    return lambda value: math.tau * value


def _replaced() -> Any:
    math.sqrt = lambda value: -value  # type: ignore[assignment]
    return lambda value: math.sqrt(value)


def _built_in() -> Any:
    __import__("builtins").rate_of_all = 5
    return lambda value: rate_of_all * value  # type: ignore[name-defined] # noqa: F821


def _environment() -> Any:
    os.environ["RATE_OF_A_USER"] = "5"
    return lambda value: os.environ["RATE_OF_A_USER"]


_RATE: contextvars.ContextVar[int] = contextvars.ContextVar("rate of this module")


def _context() -> Any:
    _RATE.set(5)
    return lambda value: _RATE.get() * value


STATES = [_decimals, _errors, _digits, _recursion, _filters, _locale, _zone, _printing, _constant, _replaced, _built_in, _environment, _context]


@pytest.fixture
def state_set_back() -> Iterator[None]:
    before = sys.get_int_max_str_digits(), sys.getrecursionlimit(), math.tau, math.sqrt, os.environ.get("TZ"), locale.setlocale(locale.LC_TIME)
    with decimal.localcontext(), np.errstate(), np.printoptions(), warnings.catch_warnings():
        yield
    sys.set_int_max_str_digits(before[0])
    sys.setrecursionlimit(before[1])
    math.tau, math.sqrt = before[2:4]  # type: ignore[misc]
    os.environ.pop("TZ", None) if before[4] is None else os.environ.update(TZ=before[4])
    time.tzset()
    locale.setlocale(locale.LC_TIME, before[5])
    os.environ.pop("RATE_OF_A_USER", None)
    vars(__import__("builtins")).pop("rate_of_all", None)


@pytest.mark.usefixtures("by_processes", "state_set_back")
@pytest.mark.parametrize("setting", STATES, ids=[each.__name__[1:] for each in STATES])
def test_the_state_of_the_process(setting: Callable[[], Callable[[int], Any]]) -> None:
    function = setting()
    assert set(ones().apply(function)) == {function(1)}


@pytest.mark.spark
@pytest.mark.usefixtures("everything_on_spark", "state_set_back")
def test_spark_tasks_see_the_same(rules: Any) -> None:
    changed(rules)
    column = SArray([1] * 300)
    assert [name for name, function in functions(rules).items() if set(column.apply(function)) != {7}] == []
    for setting in STATES:
        function = setting()
        assert set(column.apply(function)) == {function(1)}, setting


def test_state_of_all_threads_that_was_changed_before_few_rows_are_computed(state_set_back: None) -> None:
    """It is not ours to set in the user's process, and not to be ignored."""
    column = ones().apply(_environment())
    os.environ["RATE_OF_A_USER"] = "6"
    with pytest.raises(StateNotSharedError, match="RATE_OF_A_USER was changed after the function was passed"):
        column.materialize()
    with decimal.localcontext(prec=3):
        column = ones().apply(lambda value: str(decimal.Decimal(value) / 3))
    assert set(column) == {"0.333"}


HASHING: dict[str, Callable[[str], Any]] = {
    "hash": hash,
    "a function": lambda text: hash(text),
    "a tuple's": lambda text: hash((text, 1)),
    "a method": lambda text: text.__hash__(),
}


@pytest.mark.usefixtures("by_processes")
@pytest.mark.parametrize("name", HASHING)
def test_hashes_are_those_of_the_users_process(name: str) -> None:
    texts = [str(number % 3) for number in range(ROWS)]
    assert list(SArray(texts).apply(HASHING[name], dtype=int)) == list(map(HASHING[name], texts))


@pytest.mark.usefixtures("by_processes")
def test_the_order_of_sets_is_one() -> None:
    column = SArray(["a b c d e f g h"] * ROWS)
    assert len(set(column.apply(lambda text: " ".join(set(text.split()))))) == 1


@pytest.mark.spark
@pytest.mark.usefixtures("everything_on_spark")
def test_hashes_and_sets_on_spark() -> None:
    texts = ["a b c d e f g h"] * 300
    assert set(SArray(texts).apply(lambda text: hash(text))) == {hash(texts[0])}
    assert len(set(SArray(texts).apply(lambda text: " ".join(set(text.split()))))) == 1


def test_unpickling_by_an_imported_name_may_read_all_of_a_module(rules: Any) -> None:
    def loaded(content: bytes) -> Any:
        return loads(content), rules.TABLE

    def dumped(value: Any) -> Any:
        return dumps(value), rules.TABLE

    reached = {function: ReachedModules() for function in (loaded, dumped)}
    for function, modules in reached.items():
        modules.add_function(function)
    assert [(rules.__name__, "RATE") in modules.variables() for modules in reached.values()] == [True, False]
