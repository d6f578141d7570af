"""Data that looks like an error of ours, in messages of Spark and of Python, is text: it runs nothing and names no other error."""

from __future__ import annotations

import ast
import base64
import json
import os
import pickle
from pathlib import Path
from typing import Any

import pytest

import sframe_spark
from sframe_spark import SArray, SFrame, errors
from sframe_spark.engine.spark.error_translation import translated_errors
from sframe_spark.errors import (
    TRAVELLING_ERRORS,
    ColumnNotFoundError,
    ConversionError,
    ExecutionError,
    NonConvergenceError,
    SFrameError,
    StorageError,
    UserFunctionError,
)
from sframe_spark.session import get_session
from sframe_spark.session.spark_versions import to_arrow
from sframe_spark.udf.error_transport import MARKER, ErrorTransport, error_of_text, error_text, error_transport
from sframe_spark.udf.function_errors import error_like


class Canary:
    """Touches a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


def hostile_texts(canary: Path) -> list[str]:
    """Payloads as they were once believed, and as they would be if the key did not matter."""
    pickled = base64.b64encode(pickle.dumps(Canary(canary))).decode()
    forged = ErrorTransport(b"guess").packed(StorageError("the disk was replaced"))
    return [f"{MARKER}{pickled};", f"CarriedError: {MARKER}{pickled};", f"CarriedError: {forged}", f"\n[USER_RAISED_EXCEPTION] {forged}", forged * 3]


@pytest.fixture
def canary(tmp_path: Path) -> Path:
    return tmp_path / "code-has-run"


def test_text_with_a_marker_is_no_error(canary: Path) -> None:
    for text in hostile_texts(canary):
        assert error_transport().unpacked(f"Job aborted: {text} SQLSTATE: P0001") is None
    assert not canary.exists()


def test_only_the_key_makes_an_error() -> None:
    transport = error_transport()
    good = "CarriedError: " + transport.packed(StorageError("the disk is full"))
    assert repr(transport.unpacked(f"x {good} y")) == "StorageError('the disk is full')"
    for before in ("[USER_RAISED_EXCEPTION] ", "Job aborted: java.lang.RuntimeException: "):
        assert repr(transport.unpacked(before + good.removeprefix("CarriedError: "))) == "StorageError('the disk is full')"
    # The words behind it are for people who read Spark's message.
    assert good.endswith("; the disk is full")
    good = good.removesuffix(" the disk is full")
    for place in range(len("CarriedError: "), len(good)):
        changed = good[:place] + ("b" if good[place] == "a" else "a") + good[place + 1 :]
        assert transport.unpacked(changed) is None
        assert transport.unpacked(good[:place]) is None
    # A true one is found after forged and truncated ones.
    forged = ErrorTransport(b"guess").packed(StorageError("forged"))
    assert str(transport.unpacked(f"CarriedError: {forged} {good[:60]} {good} {good}")) == "the disk is full"


@pytest.mark.parametrize(
    "content",
    [
        "[]",
        "{}",
        "null",
        "[" * 100_000,
        '{"class":["StorageError"],"arguments":["x"],"cause":null}',
        '{"class":"object","arguments":[],"cause":null}',
        '{"class":"StorageError","arguments":[1],"cause":null}',
        '{"class":"StorageError","arguments":[],"cause":null}',
        '{"class":"StorageError","arguments":"x y","cause":null}',
        '{"class":"ConversionError","arguments":["x","int",true],"cause":null}',
        '{"class":"ConversionError","arguments":["x","int","3"],"cause":null}',
        '{"class":"ColumnNotFoundError","arguments":["x",[["y"]]],"cause":null}',
        '{"class":"UserFunctionError","arguments":["x","y",{"value":"{\\"$float\\":\\"x\\"}"}],"cause":null}',
        '{"class":"UserFunctionError","arguments":["x","y",{"value":"null"}],"cause":[1,2]}',
        '{"class":"StorageError","arguments":["' + "x" * 600_000 + '"],"cause":null}',
    ],
)
def test_what_is_no_error_in_json_is_refused(content: str) -> None:
    assert error_of_text(content) is None


def test_a_cause_is_a_class_that_is_loaded_and_an_exception() -> None:
    for module, name in [
        ("os", "system"),
        ("builtins", "eval"),
        ("builtins", "KeyError.__init__"),
        ("not_imported", "Error"),
        ("builtins", "SystemExit"),
    ]:
        content = {"class": "UserFunctionError", "arguments": ["f failed", "", {"value": "1"}], "cause": [module, name]}
        assert type(error_of_text(json.dumps(content))) is UserFunctionError


@pytest.mark.parametrize(
    "error",
    [
        ColumnNotFoundError("a", ["b", "c"]),
        ConversionError("'x'", "int", 3),
        ConversionError("'x'", "int"),
        NonConvergenceError("fuse", ["a = b"]),
        UserFunctionError("f failed", "Traceback", {"x": [1, None, float("nan")]}),
        UserFunctionError("f failed", "Traceback", "\ud800\x1b"),
        error_like(ZeroDivisionError, "f failed", "Traceback", 3),
        StorageError("path\nwith lines ☃"),
    ],
    ids=repr,
)
def test_errors_arrive_as_they_were(error: SFrameError) -> None:
    copy = error_transport().unpacked("CarriedError: " + error_transport().packed(error))
    assert copy is not None
    assert (str(copy), type(copy).__mro__[1:]) == (str(error), type(error).__mro__[1:])
    assert type(copy).__name__ == type(error).__name__


def test_an_error_of_any_size_fits_a_message() -> None:
    for error in (
        StorageError("\U0001f600" * 10**6),
        ColumnNotFoundError("a" * 10**6, ["b" * 10**5] * 500),
        UserFunctionError("x" * 10**6, "y" * 10**6, "z"),
    ):
        text = error_transport().packed(error)
        assert len(text) < 700_000
        assert type(error_transport().unpacked("CarriedError: " + text)) is type(error)


def test_a_plugins_error_arrives_as_the_nearest_class_of_ours() -> None:
    class OwnStorageError(StorageError):
        """Of a plugin."""

    copy = error_of_text(error_text(OwnStorageError("gone")))
    assert repr(copy) == "StorageError('gone')"


def test_errors_raised_in_tasks_keep_their_classes() -> None:
    """Those that types, operators, values, storage and CSV raise; the others are raised on the driver only."""
    places = ("types.py", "operators", "values", "storage", "api/files/csv")
    package = Path(sframe_spark.__file__).parent
    paths = [path for place in places for path in ([package / place] if place.endswith(".py") else (package / place).rglob("*.py"))]
    raised = {name for path in paths for name in raised_names(ast.parse(path.read_text(encoding="utf-8")))}
    defined = [kind for name, kind in vars(errors).items() if name in raised and issubclass(kind, SFrameError)]
    missing = [kind.__name__ for kind in defined if TRAVELLING_ERRORS.get(kind.__name__) is not kind]
    assert len(defined) > 15
    assert missing == []


def raised_names(tree: ast.AST) -> set[str]:
    """Names of the classes that a module raises."""
    calls = [node.exc for node in ast.walk(tree) if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call)]
    return {call.func.id for call in calls if isinstance(call.func, ast.Name)}


@pytest.mark.spark
class TestOnSpark:
    """The same through Spark."""

    def test_a_cell_that_cannot_be_cast(self, spark: Any, canary: Path) -> None:
        session = get_session()
        for text in ["".join(hostile_texts(canary)), "Path does not exist: file:/etc/passwd java.io.IOException: No space left on device"]:
            df = session.createDataFrame([(text,)], "t string")
            session.conf.set("spark.sql.ansi.enabled", "true")
            try:
                with pytest.raises(ExecutionError, match="The value") as caught:
                    list(SFrame(df.select(df["t"].cast("int")))["t"])
            finally:
                session.conf.set("spark.sql.ansi.enabled", "false")
            assert type(caught.value) is ExecutionError
        assert not canary.exists()

    def test_the_name_of_a_damaged_segment(self, spark: Any, canary: Path, tmp_path: Path) -> None:
        name = hostile_texts(canary)[1].replace("/", "_").replace("CarriedError: ", "CarriedError:  ")[:200]
        directory = tmp_path / name
        get_session().range(3).write.parquet(str(directory))
        df = get_session().read.parquet(str(directory))
        for file in directory.glob("*.parquet"):
            file.write_bytes(b"PAR1" + b"x" * 500 + b"PAR1")
        with pytest.raises(SFrameError) as caught:
            list(SFrame(df)["id"])
        assert type(caught.value) in (ExecutionError, StorageError)
        assert not canary.exists()

    def test_what_a_function_says(self, spark: Any, canary: Path) -> None:
        from pyspark.sql import functions as F

        text = "".join(hostile_texts(canary))

        def fail(value: int) -> int:
            raise ValueError(text)

        with pytest.raises(ExecutionError):
            list(SFrame(get_session().range(2).select(F.udf(fail, "int", useArrow=False)("id").alias("a")))["a"])
        with pytest.raises(ExecutionError), translated_errors("computing"):
            to_arrow(get_session().range(2).select(F.raise_error(F.lit(text))))
        with pytest.raises(ValueError) as caught:
            list(SArray([1, 2]).apply(fail, dtype=int))
        assert text.strip() in str(caught.value)
        assert not canary.exists()

    def test_errors_of_ours_arrive(self, spark: Any, everything_on_spark: None) -> None:
        with pytest.raises(ZeroDivisionError) as caught:
            list(SArray([1, 0]).apply(lambda value: 1 / value))
        assert isinstance(caught.value, UserFunctionError) and caught.value.row == 0
        assert os.path.basename(__file__) in str(caught.value)
