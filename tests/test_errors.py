"""Errors: each is caught as the class the original SFrame raises, says what to do, and travels between processes."""

from __future__ import annotations

import inspect
import pickle
import re
from pathlib import Path

import pytest

import sframe_spark
from sframe_spark import errors
from sframe_spark.errors import ColumnNotFoundError, NonConvergenceError, SFrameError, UserFunctionError

ARTICLE = re.compile(r"\ban? \{type\(")
BUILT_IN = {
    "SchemaError": TypeError,
    "InvalidArgumentError": ValueError,
    "ColumnNotFoundError": KeyError,
    "LengthMismatchError": RuntimeError,
    "UnsupportedOperationError": RuntimeError,
    "ExecutionError": RuntimeError,
    "UserFunctionError": RuntimeError,
    "SessionClosedError": RuntimeError,
    "JavaNotFoundError": RuntimeError,
    "PlanInvariantError": AssertionError,
    "StorageError": OSError,
}


def error_classes() -> list[type[SFrameError]]:
    """All error classes of the module."""
    found = [value for value in vars(errors).values() if inspect.isclass(value) and issubclass(value, SFrameError)]
    assert len(found) > len(BUILT_IN)
    return found


def test_a_star_import_takes_the_errors_and_warnings_and_nothing_else() -> None:
    classes = [value for value in vars(errors).values() if inspect.isclass(value) and issubclass(value, (SFrameError, UserWarning))]
    assert errors.__all__ == sorted(value.__name__ for value in classes if value.__module__ == errors.__name__)
    taken: dict[str, object] = {}
    exec("from sframe_spark.errors import *", taken)
    assert taken.keys() - {"__builtins__"} == set(errors.__all__)


@pytest.mark.parametrize("kind", error_classes(), ids=lambda kind: kind.__name__)
def test_every_error_says_when_it_is_raised(kind: type[SFrameError]) -> None:
    assert kind.__doc__ is not None
    assert kind.__doc__.splitlines()[0].endswith(".")
    # What was wrong, and as what else it is caught, says as much.
    assert "aise" in kind.__doc__ or "; a" in kind.__doc__


@pytest.mark.parametrize(("name", "built_in"), BUILT_IN.items())
def test_errors_are_caught_as_the_built_in_class(name: str, built_in: type[Exception]) -> None:
    assert issubclass(getattr(errors, name), built_in)


@pytest.mark.parametrize(
    "error",
    [
        ColumnNotFoundError("a", ["b"]),
        UserFunctionError("f failed", "Traceback", {"x": 1}),
        NonConvergenceError("fuse", ["a = b"]),
        errors.StorageError("disk"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_pickle(error: SFrameError) -> None:
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert str(copy) == str(error)
    assert vars(copy) == vars(error)


def test_missing_column_offers_near_names_before_the_list() -> None:
    text = str(ColumnNotFoundError("user_id", ["rating", "User_Id", "userid", "item"]))
    assert "did you mean 'User_Id' or 'userid'?" in text
    assert "'rating', 'User_Id', 'userid', 'item'" in text


def test_missing_column_without_a_near_name_only_lists() -> None:
    assert str(ColumnNotFoundError("zzz", ["a", "b"])) == "no column is named 'zzz'; the columns are 'a', 'b'"
    assert str(ColumnNotFoundError("a")) == "no column is named 'a': there are no columns"


def test_missing_column_of_a_wide_frame_stays_readable() -> None:
    text = str(ColumnNotFoundError("feature_1700x", [f"feature_{i}" for i in range(2000)]))
    assert "'feature_1700'" in text
    assert "1980 more" in text
    assert len(text) < 600


def test_missing_column_of_another_type_than_text() -> None:
    assert "no column is named 3" in str(ColumnNotFoundError(3, ["a"]))


def test_user_function_error_shows_input_and_traceback() -> None:
    text = str(UserFunctionError("f at job.py:3 failed", "  File job.py, line 4\nZeroDivisionError\n", {"x": 0}))
    assert text.splitlines() == ["f at job.py:3 failed", "input: {'x': 0}", "  File job.py, line 4", "ZeroDivisionError"]


def test_no_article_stands_before_the_name_of_a_class_that_a_user_gave() -> None:
    """It is an int, an SArray and a list: a message that says "a" of any class is wrong of some."""
    package = Path(sframe_spark.__file__).parent
    doors = [*(package / "api").rglob("*.py"), package / "visualization.py"]
    found = [(path.name, line.strip()) for path in doors for line in path.read_text(encoding="utf-8").splitlines() if ARTICLE.search(line)]
    assert found == []
