"""The kit of functions and aggregates finds each kind of lie, and all built-in ones tell the truth."""

from __future__ import annotations

from typing import Any

import pyarrow.compute as pc
import pytest

from sframe_spark.errors import ContractBroken, InvalidArgumentError, LengthMismatchError, SFrameError
from sframe_spark.expressions.aggregates.aggregate_function import AGGREGATES
from sframe_spark.expressions.functions.scalar_function import FUNCTIONS
from sframe_spark.plugin import FLOAT, INT, Decomposition, define_aggregate, define_function
from sframe_spark.testing.function_and_aggregate_contracts import check_aggregate, check_function

pytestmark = pytest.mark.usefixtures("own_registry")

VALUES = [3, None, -1, 3, 7, 0]
INTS, FLOATS = [1, 2, None, 3, -4, 0, 7], [1.5, float("nan"), None, -2.0, 0.0, 1e300, 4.0]
TEXTS = ["b", None, "a", "", "z", "é", "q"]


def whole_numbers(types: Any, parameters: Any) -> Any:
    return INT


def is_increasing(types: Any, literals: Any) -> str:
    return "increasing"


def is_strictly_increasing(types: Any, literals: Any) -> str:
    return "strictly increasing"


FUNCTIONS_THAT_LIE = [
    ("falls", lambda a, t, p, n: pc.negate(a[0]), is_increasing, "the function is monotone"),
    ("levels", lambda a, t, p, n: pc.sign(a[0]).cast("int64"), is_strictly_increasing, "strictly monotone"),
    ("fills", lambda a, t, p, n: pc.fill_null(a[0], -100), is_increasing, "missing values stay missing"),
    ("sees_others", lambda a, t, p, n: pc.add(a[0], pc.sum(a[0])), None, "row range"),
]


@pytest.mark.parametrize(("name", "kernel", "monotone", "rule"), FUNCTIONS_THAT_LIE)
def test_functions_that_lie(name: str, kernel: Any, monotone: Any, rule: str) -> None:
    define_function(f"kit_{name}", whole_numbers, kernel, monotone=monotone)
    with pytest.raises(ContractBroken, match=rule):
        check_function(f"kit_{name}", VALUES, spark=False)


def test_a_function_that_leaves_rows_out() -> None:
    define_function("kit_short", whole_numbers, lambda a, t, p, n: a[0][:-1])
    with pytest.raises(LengthMismatchError, match="5 values for 6 rows"):
        check_function("kit_short", VALUES, spark=False)


@pytest.mark.spark
def test_a_function_that_is_another_one_on_spark() -> None:
    define_function("kit_other", whole_numbers, lambda a, t, p, n: pc.add(a[0], 1), build=lambda columns, t, p: columns[0] + 2)
    with pytest.raises(ContractBroken, match="kernel and Spark"):
        check_function("kit_other", VALUES)
    define_function("kit_no_column", whole_numbers, lambda a, t, p, n: a[0], build=lambda columns, t, p: 5)
    with pytest.raises(SFrameError, match="Spark expression of the scalar function 'kit_no_column' is a int"):
        check_function("kit_no_column", VALUES)


AGGREGATES_THAT_LIE = [
    ("first_only", {"parts": Decomposition(lambda a, n, t, p: n, lambda x, y, t: x, lambda x, t, p: x)}, "parts"),
    ("means", {"parts": Decomposition(lambda a, n, t, p: pc.mean(a[0]).as_py() or 0.0, lambda x, y, t: (x + y) / 2, lambda x, t, p: x)}, "parts"),
    ("ordered", {"reduce": lambda a, t, p: a[0][0] if len(a[0]) else None, "order_sensitive": False}, "any order"),
]


@pytest.mark.parametrize(("name", "options", "rule"), AGGREGATES_THAT_LIE)
def test_aggregates_that_lie(name: str, options: Any, rule: str) -> None:
    define_aggregate(f"kit_{name}", lambda types, parameters: FLOAT if name == "means" else INT, **options)
    with pytest.raises(ContractBroken, match=rule):
        check_aggregate(f"kit_{name}", VALUES, spark=False)


def test_built_in_functions_tell_the_truth() -> None:
    checked = set()
    for name in built_in(FUNCTIONS):
        for arguments in ([INTS], [FLOATS], [TEXTS], [INTS, 2], [FLOATS, 2.0], [TEXTS, "a"], [INTS, INTS[::-1]], [FLOATS, FLOATS[::-1]]):
            if not is_refused(lambda name=name, arguments=arguments: check_function(name, *arguments, spark=False)):
                checked.add(name)
    assert len(checked) > 20


def test_built_in_aggregates_tell_the_truth() -> None:
    checked = set()
    for name in built_in(AGGREGATES):
        for columns in ([INTS], [[0.5, *FLOATS[2:5], 1.0, 2.0]], [TEXTS], [INTS, TEXTS]):
            if not is_refused(lambda name=name, columns=columns: check_aggregate(name, *columns, spark=False)):
                checked.add(name)
    assert len(checked) > 12


def built_in(table: Any) -> list[str]:
    """Names of what is no plug-in's."""
    return [name for name in table if name not in {entry.name for entry in table.added()}]


def is_refused(check: Any) -> bool:
    """Whether a function does not take such arguments; what it says of itself must hold where it does."""
    try:
        check()
    except ContractBroken:
        raise
    except (SFrameError, TypeError, ValueError, RuntimeError, IndexError, KeyError):
        return True
    return False


def test_examples_must_be_some() -> None:
    with pytest.raises(InvalidArgumentError, match="one at least"):
        check_function("negate", 3, spark=False)
    with pytest.raises(InvalidArgumentError, match="one length"):
        check_function("add", [1, 2], [1], spark=False)
    with pytest.raises(InvalidArgumentError, match="no scalar function"):
        check_function("kit_nothing", [1], spark=False)
