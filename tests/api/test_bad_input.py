"""Mistakes of a user: the class that the reference raises, and a message that names what is wrong and what to do.

``tests/data/bad_input.json`` holds small programs, the class of the exception that the reference raises for each, and what our
message must say.
"""

from __future__ import annotations

import array
import builtins
import datetime
import enum
import json
import linecache
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import sframe_spark
from sframe_spark import SArray, SFrame, aggregate, load_sframe
from sframe_spark.config import config
from sframe_spark.errors import ConversionError, SFrameError, UserFunctionError

CASES = json.loads((Path(__file__).parents[1] / "data" / "bad_input.json").read_text())

# Where our class is another one, and why.
DEVIATIONS = {
    "apply.stop": (UserFunctionError, "as StopIteration it would end an iteration, not fail it"),
    "frame.name_type": (TypeError, "AttributeError comes from an internal encode() of the reference"),
    "apply.not_callable": (TypeError, "AssertionError is lost under python -O, and a wrong type is a TypeError"),
    "apply.filter_notcallable": (TypeError, "as above"),
    "apply.flat_fail": (TypeError, "as above"),
}
# Mistakes that only show when rows are computed, repeated with all work on Spark.
AT_RUN_TIME = (
    "apply.fail_later", "apply.filter_fail", "apply.mixed", "arith.len_lazy", "cast.str_dict", "cast.str_int", "mask.length_lazy",
    "reduce.sum_unequal_arrays", "reduce.var_ddof",
)  # fmt: skip
# Words of Spark's and of its Python bridge, which tell a user nothing.
FOREIGN_WORDS = ("py4j", "Py4J", "SQLSTATE", "org.apache", "USER_RAISED", "JVM", "sframe_spark-error")


def run(program: str, directory: Path) -> Any:
    """Run statements separated by ``;;``; the last may be an expression, whose rows are read."""
    sf = SFrame({
        "a": [1, 2, 3, None], "b": [1.5, 2.5, None, 4.0], "s": ["x", "y", "z", None], "l": [[1], [2], None, [3]],
        "d": [{"k": 1}, {}, None, {"z": 2}], "price": [1, 2, 3, 4],
    })  # fmt: skip
    names = {
        "SFrame": SFrame, "SArray": SArray, "agg": aggregate, "load_sframe": load_sframe, "read_csv": SFrame.read_csv, "D": str(directory),
        "datetime": datetime, "array": array, "os": os, "sf": sf, "sa": SArray([1, 2, 3, None]), "st": SArray(["1", "x", None]),
    }  # fmt: skip
    *first, last = program.split(";; ")
    for statement in first:
        exec(statement, names)
    try:
        code = compile(last, "<string>", "eval")
    except SyntaxError:
        exec(last, names)
        return None
    value = eval(code, names)
    return list(value) if isinstance(value, (SArray, SFrame)) else value


def expected_class(case: dict[str, str]) -> type[BaseException]:
    """The class that a mistake must be catchable as."""
    found: type[BaseException] = DEVIATIONS[case["name"]][0] if case["name"] in DEVIATIONS else getattr(builtins, case["reference"])
    return found


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_mistake(case: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(expected_class(case), match=case["words"]) as caught:
        run(case["program"], tmp_path)
    assert not any(word in str(caught.value) for word in FOREIGN_WORDS)
    # A wrong keyword is refused by Python itself.
    assert isinstance(caught.value, SFrameError) or type(caught.value) is TypeError


@pytest.mark.spark
@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", AT_RUN_TIME)
def test_mistake_on_spark(name: str, tmp_path: Path, spark: Any) -> None:
    (case,) = [case for case in CASES if case["name"] == name]
    with config.using(small_rows=0, batch_rows=64), pytest.raises(expected_class(case), match=case["words"]) as caught:
        run(case["program"], tmp_path)
    assert not any(word in str(caught.value) for word in FOREIGN_WORDS)
    assert isinstance(caught.value, SFrameError)


def test_deviations_are_about_recorded_cases() -> None:
    names = {case["name"] for case in CASES}
    assert len(names) == len(CASES)
    assert set(DEVIATIONS) <= names
    assert set(AT_RUN_TIME) <= names


@pytest.fixture(params=["driver", pytest.param("spark", marks=pytest.mark.spark)])
def everywhere(request: pytest.FixtureRequest) -> Iterator[None]:
    """Run on the driver's kernels, and again with everything on Spark; in batches of a few rows."""
    small = config.small_rows if request.param == "driver" else 0
    with config.using(small_rows=small, batch_rows=16):
        yield


def reciprocal(value: int) -> float:
    """A function with a line of its own for the traceback to show."""
    return helper(value)


def helper(value: int) -> float:
    """Fails for one row."""
    return 1 / (value - 170)


@pytest.mark.usefixtures("everywhere")
def test_failing_function_shows_its_own_lines_and_the_row() -> None:
    column = SArray(range(200))
    derived = column.apply(reciprocal)
    with pytest.raises(ZeroDivisionError) as caught:
        list(derived)
    assert isinstance(caught.value, UserFunctionError)
    assert caught.value.row == 170
    text = str(caught.value)
    assert linecache.getline(__file__, helper.__code__.co_firstlineno + 2).strip() == "return 1 / (value - 170)"
    for words in (f"reciprocal at {__file__}:", "in reciprocal", "return helper(value)", "in helper", "return 1 / (value - 170)", "input: 170"):
        assert words in text
    assert os.path.dirname(sframe_spark.__file__) not in text
    assert not any(word in text for word in (*FOREIGN_WORDS, "pyspark"))
    assert list(column)[-1] == 199
    with pytest.raises(ZeroDivisionError):
        list(derived)
    assert list(column.apply(lambda value: value + 1))[:2] == [1, 2]


@pytest.mark.usefixtures("everywhere")
def test_failing_function_over_rows_and_filters() -> None:
    sf = SFrame({"a": range(40), "name": [f"n{i}" for i in range(40)]})
    with pytest.raises(UserFunctionError, match=r"input: \{'a': 33\}"):
        list(sf.apply(lambda row: 1 / (row["a"] - 33)))
    with pytest.raises(UserFunctionError, match=r"input: \{'a': 33, 'name': 'n33'\}"):
        list(sf.apply(lambda row: 1 / (dict(row)["a"] - 33)))
    with pytest.raises(UserFunctionError, match=r"test_bad_input.py.*(?s:.)*input: 33"):
        list(sf["a"].filter(lambda value: 1 / (value - 33)))
    with pytest.raises(UserFunctionError, match=r"input: \{'a': 33"):
        list(sf.flat_map(["x"], lambda row: [[1 / (row["a"] - 33)]]))


class OwnError(Exception):
    """An exception class of the user's."""


@pytest.mark.usefixtures("everywhere")
def test_exceptions_of_the_users_own_class() -> None:
    def fail(value: int) -> int:
        if value == 20:
            raise OwnError("my words", value)
        return value

    with pytest.raises(OwnError, match=r"OwnError: \('my words', 20\)") as caught:
        list(SArray(range(30)).apply(fail))
    assert isinstance(caught.value, UserFunctionError)
    assert caught.value.row == 20


@pytest.mark.usefixtures("everywhere")
def test_exceptions_of_a_class_that_no_one_else_knows() -> None:
    class LocalError(Exception):
        def __init__(self, one: int, two: int) -> None:
            super().__init__(f"{one} and {two}")

    def fail(value: int) -> int:
        if value == 20:
            raise LocalError(1, 2)
        return value

    with pytest.raises(UserFunctionError, match="LocalError: 1 and 2"):
        list(SArray(range(30)).apply(fail))


@pytest.mark.usefixtures("everywhere")
def test_values_that_travel_badly_are_shown_as_text() -> None:
    with pytest.raises(UserFunctionError, match="open file") as caught:
        list(SArray(range(30)).apply(lambda value: value if value < 20 else (_ for _ in ()).throw(ValueError("open file"))))
    assert caught.value.row == 20
    with pytest.raises(UserFunctionError, match=r"input: 'x{499}\.\.\.\n"):
        list(SArray(["a"] * 20 + ["x" * 10_000]).apply(lambda value: 1 if value == "a" else 1 / 0))


@pytest.mark.usefixtures("everywhere")
def test_failed_conversion_counts_rows_from_the_first() -> None:
    texts = SArray([str(i) for i in range(50)] + ["oops", "51"])
    with pytest.raises(ConversionError, match=r"^row 50: 'oops' cannot be cast to int"):
        list(texts.astype(int))
    with pytest.raises(ConversionError, match=r"^row 10: 'oops' cannot be cast to int"):
        list(texts[40:].astype(int))
    assert list(texts.astype(int, undefined_on_failure=True))[49:] == [49, None, 51]


@pytest.mark.usefixtures("everywhere")
def test_failed_conversion_of_chosen_rows_names_no_wrong_row() -> None:
    texts = SArray([str(i) for i in range(50)] + ["oops"])
    chosen = texts[SArray([0] * 30 + [1] * 21)]
    with pytest.raises(ConversionError, match=r"^(row 20: )?'oops' cannot be cast to float"):
        list(chosen.astype(float))


@pytest.mark.usefixtures("everywhere")
def test_nothing_is_changed_by_a_failed_assignment() -> None:
    sf = SFrame({"a": [1, 2, 3]})
    for assign in (
        lambda: sf.__setitem__("b", [1]),
        lambda: sf.__setitem__("c", SArray(["x"]).astype(int)),
        lambda: sf.rename({"a": "b", "z": "y"}, inplace=True),
        lambda: sf.add_columns([SArray([4, 5, 6]), SArray([1])], ["d", "e"], inplace=True),
    ):
        with pytest.raises(SFrameError):
            assign()
        assert sf.column_names() == ["a"]
        assert list(sf["a"]) == [1, 2, 3]


class Colour(enum.Enum):
    RED = 1


def test_values_whose_class_can_be_gone_through_are_no_lists() -> None:
    """An Enum has members, each of which has none: that was told as an error of Python's within the package."""
    assert list(SArray([Colour.RED])) == ["RED"] and list(SArray([[Colour.RED]])) == [["RED"]]
    with pytest.raises(TypeError, match="no common type"):
        SArray([1, Colour.RED])
