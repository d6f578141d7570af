"""Functions that become expressions: which do, with which results, and what is said of those that do not."""

from __future__ import annotations

import contextlib
import datetime
import logging
import math
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from sframe_spark import SArray, SFrame, config
from sframe_spark.errors import Untranslatable
from sframe_spark.expressions.python_function import PythonFunction
from sframe_spark.expressions.translated_function import TranslatedFunction, translated
from sframe_spark.types import DATETIME, FLOAT, INT, STR, ColumnType
from sframe_spark.values.arrow_to_python import decode
from sframe_spark.values.python_to_arrow import encode
from tests.examples import examples
from tests.expressions.translation.random_functions import TYPES, RandomFunction, random_function

CODES = {"a": 1, "b": 2}
NAMED: list[Any] = []
WORDS = ["x", "yy"]


def of_values(function: Callable[[Any], Any], column_type: ColumnType, result: ColumnType = INT) -> TranslatedFunction:
    return translated(PythonFunction(function, result, skip_missing=True), [column_type])


def sign(number: float) -> str:
    if number < 0:
        return "negative"
    if number == 0:
        return "zero"
    return "positive"


def or_none(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def without_punctuation(text: str) -> str:
    import string

    return text.translate(str.maketrans("", "", string.punctuation))


def halvings(value: int, tree: Any, shows: bool = False) -> int:
    """A function that calls itself along a tree, and has an effect on a path that is not taken."""
    if shows:
        input(tree)
    if tree is None:
        return -1
    return tree["level"] if value < tree["level"] + 1 else halvings(value, tree["next"], shows)


def counted(text: str) -> int:
    count = 0
    for word in WORDS:
        if word in text:
            count += 1
    return count


@pytest.mark.parametrize(
    ("function", "column_type", "result", "text"),
    [
        (lambda x: x * 2 + 1, INT, INT, "(x * 2) + 1"),
        (lambda x: 1 if x > 3 else 0, INT, INT, "1 if x > 3 else 0"),
        (sign, FLOAT, STR, "'negative' if x < 0 else 'zero' if x == 0 else 'positive'"),
        (lambda x: CODES[x], STR, INT, "lookup(position(x, ('a', 'b')), (1, 2))"),
        (lambda x: CODES.get(x), STR, INT, "lookup(position(x, ('a', 'b')), (1, 2)) if position(x, ('a', 'b')) >= 0 else None"),
        (lambda x, codes=CODES: codes.get(x, 0), STR, INT, "lookup(position(x, ('a', 'b')), (1, 2)) if position(x, ('a', 'b')) >= 0 else 0"),
        (lambda x: x.lower().strip(), STR, STR, "strip(lower(x), None)"),
        (lambda x: "Graduate" in x, STR, INT, "True if contains(x, 'Graduate') else False"),
        (lambda x: x in {"a", 3}, STR, INT, "True if position(x, ('a',)) >= 0 else False"),
        (or_none, STR, FLOAT, "float_of_text(x)"),
        (lambda x: any(word in x for word in WORDS), STR, INT, "True if contains(x, 'x') else True if contains(x, 'yy') else False"),
        (lambda x: round(x, 2), FLOAT, FLOAT, "round_to_digits(x, 2)"),
        (lambda x: math.log(x) + 1, FLOAT, FLOAT, "log(x) + 1"),
        (str.upper, STR, STR, "upper(x)"),
        (len, STR, INT, "length(x)"),
        (lambda x: sign(x) + "!", INT, STR, "'negative!' if x < 0 else 'zero!' if x == 0 else 'positive!'"),
        (lambda x: x.split(",")[0], STR, STR, "item(split(x, ',', -1), 0)"),
        (lambda x: x.year * 100 + x.month, DATETIME, INT, "(part(x, 'year') * 100) + part(x, 'month')"),
        (lambda x: x if isinstance(x, str) else str(x), INT, STR, "text_of_number(x)"),
        (lambda x: 3 < x < 5, INT, INT, "x < 5 if x > 3 else x > 3"),
        (lambda x: x.split().count("a"), STR, INT, "count_items(split(x, None, -1), 'a')"),
        (without_punctuation, STR, STR, "translate(x, 32 constants)"),
        (lambda x: halvings(x, {"level": 0, "next": {"level": 1, "next": None}}), INT, INT, "0 if x < 1 else 1 if x < 2 else -1"),
    ],
)
def test_what_functions_become(function: Callable[[Any], Any], column_type: ColumnType, result: ColumnType, text: str) -> None:
    assert of_values(function, column_type, result).text == text


def counts(value: int) -> int:
    global CALLS  # noqa: PLW0603
    CALLS += 1
    return CALLS


CALLS = 0


class Rule:
    limit = 3


def endless(value: int) -> int:
    while value > 0:
        value -= 1
    return value


def handled(text: str) -> int:
    number = or_none(text)
    if number is None:
        input(text)
    return 1


def itself(value: int) -> int:
    return itself(value - 1) if value else 0


@pytest.mark.parametrize(
    ("function", "column_type", "reason"),
    [
        (counts, INT, "STORE_GLOBAL"),
        (lambda x: NAMED.append(x), INT, "changes an object outside"),
        (lambda x: input(x), INT, "it uses input"),
        (lambda x: x is True, INT, "an identity other than None"),
        (lambda x: [x], INT, "returns a value of class list"),
        (lambda x: f"{x}", INT, "code that is not known"),
        (lambda x: x.strftime("%Y"), DATETIME, "it uses the attribute strftime"),
        (lambda x: Rule.limit, INT, "it uses the attribute limit"),
        (lambda x: x**x, INT, "power"),
        (lambda x: datetime.datetime.now().year, INT, "attribute"),
        (lambda x: __import__("os").getpid(), INT, "it uses the attribute getpid"),
        (endless, INT, "decisions"),
        (handled, STR, "it uses input"),
        (lambda x: undefined(x), INT, "undefined, which is not defined"),  # type: ignore[name-defined]  # noqa: F821
        (itself, INT, "it takes more than 60 decisions"),
        (lambda x: sum([x, 0.5]), FLOAT, "sum of floats"),
        (lambda x: hash(x), INT, "it uses hash"),
        (lambda x: max(x, key=len), STR, "named argument"),
    ],
)
def test_what_has_effects_or_is_not_known_is_called(function: Callable[[Any], Any], column_type: ColumnType, reason: str) -> None:
    with pytest.raises(Untranslatable, match=reason):
        of_values(function, column_type)
    assert CALLS == 0 and NAMED == []


def results_of_python(drawn: RandomFunction, result: ColumnType) -> list[Any]:
    """What Python gives for each row, as a column has it; an error where it raises one, or the column cannot hold the result."""
    rows = [dict(zip(drawn.names, values, strict=True)) for values in zip(*drawn.columns, strict=True)] if drawn.names else drawn.columns[0]
    found: list[Any] = []
    for row in rows:
        try:
            value = None if drawn.names is None and row is None else drawn.function(row)
            found.append(decode(encode([value], result), result)[0])
        except Exception as error:
            found.append(error)
    return found


def result_type(drawn: RandomFunction) -> ColumnType | None:
    rows = [dict(zip(drawn.names, values, strict=True)) for values in zip(*drawn.columns, strict=True)] if drawn.names else drawn.columns[0]
    classes = set()
    for row in rows:
        with contextlib.suppress(Exception):
            classes.add(type(drawn.function(row)))
    classes.discard(type(None))
    return STR if classes <= {str} else INT if classes <= {int, bool} else FLOAT if classes <= {int, bool, float} else None


@pytest.mark.filterwarnings("ignore::SyntaxWarning")
def check_random_function(seed: int) -> str:
    """Compare the expression with Python, without calls: where it has a result Python has the same; return what became of the function."""
    drawn = random_function(seed)
    result = result_type(drawn)
    if result is None:
        return "of several classes"
    try:
        function = translated(PythonFunction(drawn.function, result, drawn.names, drawn.names is None), [TYPES[kind] for kind in drawn.kinds])
    except Untranslatable as reason:
        return str(reason)
    columns = [encode(values, TYPES[kind]) for values, kind in zip(drawn.columns, drawn.kinds, strict=True)]
    column, failed = function.evaluated([columns[position] for position in function.positions], len(columns[0]))
    expected, got = results_of_python(drawn, result), decode(column, result)
    for row, (wanted, value) in enumerate(zip(expected, got, strict=True)):
        if failed is None or not failed[row]:
            assert repr(wanted) == repr(value), f"seed {seed}, row {row} of {drawn.columns}: {drawn.text}"
    return "translated"


@pytest.mark.filterwarnings("ignore::SyntaxWarning")
def test_random_functions_have_pythons_results() -> None:
    found = [check_random_function(seed) for seed in range(examples(6_000))]
    assert found.count("translated") > 0.8 * len(found)


@pytest.mark.campaign
@pytest.mark.filterwarnings("ignore::SyntaxWarning")
@pytest.mark.parametrize("part", range(30))
def test_thirty_thousand_random_functions_have_pythons_results(part: int) -> None:
    found = [check_random_function(seed) for seed in range(10_000 + 1_000 * part, 11_000 + 1_000 * part)]
    assert found.count("translated") > 0.8 * len(found)


def as_called(drawn: RandomFunction) -> list[Any]:
    """What apply gives, and what it raises: with a type that is asked for, and with one that is inferred."""
    columns = zip(drawn.names or "x", drawn.columns, drawn.kinds, strict=True)
    frame = SFrame({name: SArray(values, dtype=TYPES[kind].python_class) for name, values, kind in columns})
    rows: Any = frame if drawn.names else frame["x"]
    found: list[Any] = []
    for dtype in (None, float, int, str):
        try:
            found.append(repr(list(rows.apply(drawn.function, dtype))))
        except Exception as error:
            # The function reads some columns only, so an error shows these.
            found.append((type(error), str(error).partition("input:")[0]))
    return found


@pytest.mark.behaviour
@pytest.mark.filterwarnings("ignore::SyntaxWarning")
@pytest.mark.parametrize("part", range(examples(40, every=20)))
def test_apply_gives_and_raises_what_calls_do(part: int) -> None:
    for seed in range(100_000 + 20 * part, 100_020 + 20 * part):
        drawn = random_function(seed)
        with config.using(translate_functions="off"):
            called = as_called(drawn)
        assert as_called(drawn) == called, drawn.text


@pytest.mark.behaviour
def test_ints_beyond_64_bits_and_errors_are_those_of_calls() -> None:
    numbers = SArray([1, 2**62, None])
    assert list(numbers.apply(lambda x: x * 4, float)) == [4.0, 2.0**64, None]
    with pytest.raises(TypeError, match=r"18446744073709551616 \(int\), which does not fit a column of int"):
        list(numbers.apply(lambda x: x * 4, int))
    with pytest.raises(RuntimeError, match=r"ZeroDivisionError(.|\n)*input: 0"):
        list(SArray([4, 0]).apply(lambda x: 8 // x, int))
    with pytest.raises(RuntimeError, match="KeyError"):
        list(SArray(["a", "c"]).apply(lambda x: CODES[x], int))
    frame = SFrame({"a": [1, 2], "b": [0.5, None]})
    with pytest.raises(RuntimeError, match="TypeError"):
        list(frame.apply(lambda row: row["a"] + row["b"], float))
    assert list(frame.apply(lambda row: row["a"] + row["b"] if row["b"] is not None else -1, float)) == [1.5, -1.0]


@pytest.mark.behaviour
def test_captured_values_are_those_of_when_the_function_was_given() -> None:
    codes, factor = {"a": 1}, 2
    named = SArray(["a", "a", "b"]).apply(lambda x: codes.get(x, 0) * factor)
    codes["b"], factor = 5, 100
    assert list(named) == [2, 2, 0]
    assert list(SArray(["a", "b"]).apply(lambda x: codes.get(x, 0) * factor)) == [100, 500]


def test_a_difference_in_the_first_rows_turns_the_translation_off(caplog: pytest.LogCaptureFixture) -> None:
    right = of_values(lambda x: x + 1, INT)
    other = of_values(lambda x: x + 2, INT)
    wrong = TranslatedFunction(right.python, right.positions, other.tree)
    with caplog.at_level(logging.WARNING, "sframe_spark"):
        assert wrong.kernel([encode([1, 5], INT)], [INT], (), 2).to_pylist() == [2, 6]
    assert "x + 2" in caplog.text and "its first results differ" in caplog.text
    caplog.clear()
    assert wrong.kernel([encode([7], INT)], [INT], (), 1).to_pylist() == [8] and not caplog.text


def test_first_results_may_be_rounded_whether_the_function_is_called_or_translated() -> None:
    numbers = SArray([0, 2, 2**63 - 1, None])
    found = numbers.apply(lambda x: x if x > 1 else 0.5)
    assert list(found) == [0.5, 2.0, 2.0**63, None]
    assert "some of its first results are rounded" in numbers.cumulative_max().apply(lambda x: x if x > 1 else 0.5).explain()


def test_an_expression_that_cannot_be_evaluated_is_called_instead(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    function = of_values(lambda x: x + 1, INT)

    def too_long(*_: Any) -> None:
        raise pa.ArrowCapacityError("too long")

    monkeypatch.setattr(TranslatedFunction, "evaluated", too_long)
    with caplog.at_level(logging.WARNING, "sframe_spark"):
        assert function.kernel([encode([1, 5], INT)], [INT], (), 2).to_pylist() == [2, 6]
    assert "ArrowCapacityError: too long" in caplog.text


# What others met: a function of a row or value, its rows, and its results.
MET: list[tuple[Callable[[Any], Any], Any, list[Any], str]] = [
    (lambda row: row["a"] if row["a"] is None else row["b"], {"a": ["", None], "b": ["z", "y"]}, ["z", None], "cudf-spark 10381: a missing text"),
    (lambda x: x % -512, [-3584, 5], [0, -507], "numba 151: the remainder of a negative divisor"),
    (lambda x: x // -2, [1, -1], [-1, 0], "numba 193: a quotient is rounded down"),
    (lambda x: x // 0.3, [1.0, -1.0], [3.0, -4.0], "numba 560: quotients of floats"),
    (lambda x: -x // 2, [5, -5], [-3, 2], "mypy 11168: the quotient of a negative number"),
    (lambda x: x == 1 and x != 2, [1, 3], [1, 0], "comparisons in turn"),
]


@pytest.mark.parametrize(("function", "rows", "expected"), [case[:3] for case in MET], ids=[case[3] for case in MET])
def test_what_others_met(function: Callable[[Any], Any], rows: Any, expected: list[Any]) -> None:
    column = SFrame(rows).apply(function) if isinstance(rows, dict) else SArray(rows).apply(function)
    assert "called for each row" not in column.explain() and list(column) == expected


def test_explain_says_what_a_function_became_or_why_it_is_called() -> None:
    numbers = SArray([1, 2, 3]).cumulative_sum()
    assert "translated into x + 1" in numbers.apply(lambda x: x + 1, int).explain()
    assert "called for each row, since it uses input" in numbers.apply(lambda x: input(x), int).explain()
    with config.using(translate_functions="off"):
        assert "since config.translate_functions is off" in numbers.apply(lambda x: x + 1, int).explain()


def test_a_translated_function_of_rows_reads_its_columns_alone() -> None:
    frame = SFrame({"a": [1, 2], "b": [3, 4], "c": ["x", "y"]})
    assert "c str" not in frame.apply(lambda row: row["a"] + row["b"], int).explain().partition("optimized plan")[2]


def test_translated_columns_fuse_into_one_program() -> None:
    numbers = SArray(range(10)).cumulative_sum()
    plan = (numbers.apply(lambda x: x + 1, int) * 2).apply(lambda x: x - 3, int).explain()
    assert plan.partition("optimized plan")[2].partition("physical plan")[0].count("generalized_transform") == 1


@pytest.mark.behaviour
def test_filters_pass_below_and_no_row_that_they_remove_is_called() -> None:
    frame = SFrame({"a": [4, 0, 2]})
    frame["b"] = frame["a"].apply(lambda x: 8 // x, int)
    assert list(frame[frame["a"] > 0]["b"]) == [2, 4]
    assert list(frame["b"][:1]) == [2]
    assert list(frame.sort("a", ascending=False)["b"][:2]) == [2, 4]
