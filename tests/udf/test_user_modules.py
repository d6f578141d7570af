"""Users' functions reach Spark's workers from any module that the driver can import, and say so when they cannot."""

from __future__ import annotations

import pickle
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sframe_spark import SArray, SFrame
from sframe_spark.errors import CarriedError, UserFunctionError
from sframe_spark.expressions.python_function import PythonFunction
from sframe_spark.types import INT
from sframe_spark.udf.error_transport import error_transport
from sframe_spark.udf.pickling import load_function, search_path

MODULE = """
def double(value):
    return 2 * value

def sizes(rows):
    return [len(rows)] * len(rows)

def twice(row):
    return [[row["a"]]] * 2
"""


@pytest.fixture
def users_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A module in a directory that only this process searches."""
    (tmp_path / "module_of_a_user.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    import module_of_a_user

    yield module_of_a_user
    sys.modules.pop("module_of_a_user", None)


@pytest.mark.spark
@pytest.mark.usefixtures("everything_on_spark")
def test_functions_of_a_module_beside_the_script(users_module: Any) -> None:
    frame = SFrame({"a": [3, 1, 2], "k": [0, 1, 0]})
    assert list(frame["a"].apply(users_module.double)) == [6, 2, 4]
    assert list(frame.add_columns_by_cycle(users_module.sizes, "n", "k", dtypes=int)["n"]) == [2, 1, 2]
    assert list(frame.flat_map(["b"], users_module.twice, column_types=[int])["b"]) == [3, 3, 1, 1, 2, 2]


def test_the_search_path_has_no_installed_packages() -> None:
    assert str(Path(__file__).parents[2]) in search_path()
    assert not any("site-packages" in directory for directory in search_path())


def test_a_module_that_a_worker_does_not_have(users_module: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    content = pickle.dumps(users_module.double)
    monkeypatch.delitem(sys.modules, "module_of_a_user")
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if not Path(entry, "module_of_a_user.py").exists()])
    with pytest.raises(CarriedError) as carried:
        load_function("double at module_of_a_user.py:2", content, (), error_transport())
    error = error_transport().unpacked(f"CarriedError: {carried.value}")
    assert isinstance(error, UserFunctionError)
    assert "double at module_of_a_user.py:2 cannot be loaded" in str(error)
    assert "No module named 'module_of_a_user'" in str(error) and "addPyFile" in str(error)


def test_a_function_that_cannot_be_sent() -> None:
    lock = threading.Lock()

    def locked(value: int) -> int:
        with lock:
            return value

    with pytest.raises(UserFunctionError, match=r"locked at .*cannot be sent to other Python processes: cannot pickle '_thread.lock' object"):
        pickle.dumps(PythonFunction(locked, INT))


@pytest.mark.spark
@pytest.mark.usefixtures("everything_on_spark")
def test_a_function_that_cannot_be_sent_leaves_the_frame_usable() -> None:
    lock = threading.Lock()
    column = SArray([1, 2, 3])
    with pytest.raises(UserFunctionError) as caught:
        column.apply(lambda value: value if lock else 0, dtype=int).materialize()
    assert "input:" not in str(caught.value)
    assert list(column + 1) == [2, 3, 4]
