"""Arrays of few plain values are those that pyarrow makes, and the first print of a process imports no more than it needs."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, strategies

from sframe_spark.values import arrays_without_pandas
from sframe_spark.values.arrays_without_pandas import FEW, array_without_pandas

INTS = strategies.integers(-(2**63), 2**63 - 1)
FLOATS = strategies.floats() | strategies.integers(-(2**53), 2**53)
LISTS = strategies.one_of(
    strategies.tuples(strategies.just(data_type), strategies.lists(values | strategies.none(), max_size=20))
    for data_type, values in ((pa.int64(), INTS), (pa.float64(), FLOATS), (pa.string(), strategies.text()))
)
# What the first print may not import, because it needs none of it.
NOT_IMPORTED = {"pandas", "networkx", "pyspark", "py4j", "polars", "duckdb", "narwhals", "hypothesis", "matplotlib", "IPython", "fsspec", "scipy"}
# Modules that are no part of the interpreter: this package's 82, numpy's 84, attrs' 19 and pyarrow's 6 among them.
MAX_MODULES = 205
# Modules of this package that other first answers of few rows import, without its plug-ins: no planner, no laws, no storage.
MODULES_OF_ANSWERS = {
    "print(frame[frame['a'] > 1])": 140,
    "print(frame['a'] * 2 + 1)": 140,
    "print(frame['a'].sum())": 182,
    "print(frame.groupby('b', {'sum': sframe_spark.aggregate.SUM('a')}))": 182,
    "print(frame.sort('a'))": 180,
    "print(frame.join(frame, on='a'))": 110,
}
FIRST_PRINT = """
import json, sys
from sframe_spark import SFrame
print(SFrame({"a": [1, 2]}))
print(SFrame({"a": [1, None], "b": ["x", None], "c": [0.5, 2]}))
print(json.dumps([name for name in sys.modules if name.partition(".")[0] not in sys.stdlib_module_names]))
"""


@pytest.fixture(autouse=True, scope="module")
def without_pandas() -> Iterator[None]:
    """As if pandas was not imported."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arrays_without_pandas, "sys", SimpleNamespace(modules={}))
        yield


@given(LISTS)
def test_arrays_are_those_of_pyarrow(made: tuple[pa.DataType, list[Any]]) -> None:
    data_type, values = made
    found = array_without_pandas(values, data_type)
    assert found is not None
    found.validate(full=True)
    assert found.type == data_type and found.null_count == values.count(None)
    for one, expected in zip(found.to_pylist(), pa.array(values, data_type).to_pylist(), strict=True):
        assert (one == expected and type(one) is type(expected)) or (math.isnan(one) and math.isnan(expected))


@pytest.mark.parametrize(
    ("values", "data_type"),
    [
        ([2**63], pa.int64()),
        ([-(2**63) - 1], pa.int64()),
        ([True], pa.int64()),
        ([1.0], pa.int64()),
        (["a", 1], pa.string()),
        (["\ud800"], pa.string()),
        ([2**53 + 1], pa.float64()),
        ([b"a"], pa.string()),
        ([True], pa.bool_()),
        ([1] * (FEW + 1), pa.int64()),
    ],
)
def test_what_is_not_plain_or_does_not_fit_is_left_to_pyarrow(values: list[Any], data_type: pa.DataType) -> None:
    assert array_without_pandas(values, data_type) is None


def test_where_pandas_is_imported_pyarrow_makes_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrays_without_pandas, "sys", SimpleNamespace(modules={"pandas": sys}))
    assert array_without_pandas([1], pa.int64()) is None


def test_the_first_print_imports_no_more_than_it_needs() -> None:
    done = subprocess.run([sys.executable, "-c", FIRST_PRINT], capture_output=True, text=True, check=True, timeout=100)
    names = json.loads(done.stdout.splitlines()[-1])
    assert NOT_IMPORTED.isdisjoint(name.partition(".")[0] for name in names)
    assert len(names) <= MAX_MODULES, len(names)


@pytest.mark.parametrize("answer", MODULES_OF_ANSWERS)
def test_first_answers_of_few_rows_import_no_planner(answer: str) -> None:
    program = f"""
import sys
import sframe_spark
from sframe_spark import SFrame
from sframe_spark.config import config
config.disabled_plugins = "*"
frame = SFrame({{"a": [1, 2], "b": ["x", "y"]}})
{answer}
names = [name for name in sys.modules if name.startswith("sframe_spark")]
unused = ("sframe_spark.rewrite_laws", "sframe_spark.engine.execution.plan_executor", "sframe_spark.session", "sframe_spark.storage.datasets")
print(len(names), [name for name in names if name in unused])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=100)
    count, _, unused = done.stdout.splitlines()[-1].partition(" ")
    assert (unused, int(count) <= MODULES_OF_ANSWERS[answer]) == ("[]", True), done.stdout
