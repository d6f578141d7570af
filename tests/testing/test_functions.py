"""The kit of functions and aggregates finds each kind of lie, and all built-in ones tell the truth."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from sframe_spark.errors import ContractBroken, InvalidArgumentError, SchemaError, SFrameError
from sframe_spark.expressions.aggregates.aggregate_function import AGGREGATES
from sframe_spark.expressions.functions.scalar_function import FUNCTIONS
from sframe_spark.plugin import (
    FLOAT,
    INT,
    Aggregation,
    ColumnAggregate,
    Decomposition,
    GroupsOfRows,
    InputRows,
    RowWindows,
    SFrame,
    StateColumn,
    aggregate,
    define_aggregate,
    define_function,
    reduce_columns,
)
from sframe_spark.testing import function_and_aggregate_contracts as contracts
from sframe_spark.testing.function_and_aggregate_contracts import check_aggregate, check_function
from sframe_spark.testing.state_column_checks import check_state_columns
from tests.examples import by_turns

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
    ("falls", lambda a, t, p, n: pc.negate(a[0]), is_increasing, "it is increasing, as monotone says"),
    ("levels", lambda a, t, p, n: pc.sign(a[0]).cast("int64"), is_strictly_increasing, "it is strictly increasing, as monotone says"),
    ("fills", lambda a, t, p, n: pc.fill_null(a[0], -100), is_increasing, "missing values stay missing"),
    ("sees_others", lambda a, t, p, n: pc.add(a[0], pc.sum(a[0])), None, "a value is made of its own row"),
]


@pytest.mark.parametrize(("name", "kernel", "monotone", "rule"), FUNCTIONS_THAT_LIE)
def test_functions_that_lie(name: str, kernel: Any, monotone: Any, rule: str) -> None:
    define_function(f"kit_{name}", whole_numbers, kernel, monotone=monotone)
    with pytest.raises(ContractBroken, match=rule):
        check_function(f"kit_{name}", VALUES, spark=False)


def test_a_function_that_leaves_rows_out() -> None:
    define_function("kit_short", whole_numbers, lambda a, t, p, n: a[0][:-1])
    with pytest.raises(ContractBroken, match=r"its kernel gives one value a row, of the inferred type: .* 5 values for 6 rows"):
        check_function("kit_short", VALUES, spark=False)


@pytest.mark.spark
def test_a_function_that_is_another_one_on_spark() -> None:
    define_function("kit_other", whole_numbers, lambda a, t, p, n: pc.add(a[0], 1), build=lambda columns, t, p: columns[0] + 2)
    with pytest.raises(ContractBroken, match="kernel and build="):
        check_function("kit_other", VALUES)
    define_function("kit_no_column", whole_numbers, lambda a, t, p, n: a[0], build=lambda columns, t, p: 5)
    with pytest.raises(SFrameError, match="Spark expression of the scalar function 'kit_no_column' is a int"):
        check_function("kit_no_column", VALUES)


AGGREGATES_THAT_LIE = [
    ("first_only", {"parts": Decomposition(lambda a, n, t, p: n, lambda x, y, t: x, lambda x, t, p: x)}, "parts"),
    ("means", {"parts": Decomposition(lambda a, n, t, p: pc.mean(a[0]).as_py() or 0.0, lambda x, y, t: (x + y) / 2, lambda x, t, p: x)}, "parts"),
    ("ordered", {"reduce": lambda a, t, p: a[0][0] if len(a[0]) else None, "order_sensitive": False}, "the order of rows does not matter"),
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
            if not is_refused(lambda name=name, arguments=arguments: check_function(name, *arguments, spark=False, generated=0)):
                checked.add(name)
    assert len(checked) > 20


def test_built_in_aggregates_tell_the_truth() -> None:
    checked = set()
    # These take columns that belong together, or parameters.
    names = [name for name in built_in(AGGREGATES) if name not in ("argmin_row", "argmax_row", "histogram", "label_counts")]
    for number, name in enumerate(names):
        for columns in by_turns(([INTS], [[0.5, *FLOATS[2:5], 1.0, 2.0]], [TEXTS], [INTS, TEXTS]), 4, number):
            if not is_refused(lambda name=name, columns=columns: check_aggregate(name, *columns, spark=False, generated=0)):
                checked.add(name)
    assert len(checked) > 8


def built_in(table: Any) -> list[str]:
    """Names of what is no plug-in's."""
    return [name for name in table if name not in {entry.name for entry in table.added()}]


def is_refused(check: Any) -> bool:
    """Whether a function does not take such arguments; what it says of itself must hold where it does."""
    try:
        check()
    except ContractBroken as error:
        if "it takes" in error.rule:
            return True
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


@attrs.frozen
class Total(StateColumn):
    """The sum of a column of ints, and how many ints there are, as a state column of a plug-in."""

    column: int

    def empty(self, groups: int) -> Any:
        return np.zeros(groups, dtype=np.int64), np.zeros(groups, dtype=np.int64)

    def lift(self, rows: InputRows, groups: GroupsOfRows) -> Any:
        valid = rows.valid((self.column,))
        return groups.totals(rows.numbers(self.column)), groups.sizes if valid is None else groups.totals(valid)

    def merge(self, state: Any, groups: GroupsOfRows) -> Any:
        return tuple(groups.totals(part) for part in state)

    def to_arrow(self, state: Any) -> list[pa.Array]:
        return [pa.array(part) for part in state]

    def of_arrow(self, columns: Any) -> Any:
        return tuple(column.to_numpy() for column in columns)

    @property
    def arrow_width(self) -> int:
        return 2


class Halved(Total):
    def merge(self, state: Any, groups: GroupsOfRows) -> Any:
        totals, counts = super().merge(state, groups)
        return np.where(groups.sizes > 1, totals // 2, totals), counts


class CountsParts(Total):
    """The second part of its state, which is sent, is the number of parts that it is merged of."""

    def lift(self, rows: InputRows, groups: GroupsOfRows) -> Any:
        return super().lift(rows, groups)[0], np.ones(groups.count, dtype=np.int64)


class BeforeItsRow(Total):
    def running(self, rows: InputRows, starts: np.ndarray, before: Any) -> Any:
        (totals, counts), after = super().running(rows, starts, before)
        return (totals - rows.numbers(self.column), counts), after


class WithoutLast(Total):
    def windows(self, rows: InputRows, windows: RowWindows) -> Any:
        return super().windows(rows, RowWindows(windows.starts, np.maximum(windows.stops - 1, windows.starts)))


class InPlace(Total):
    def merge(self, state: Any, groups: GroupsOfRows) -> Any:
        result = super().merge(state, groups)
        state[0][:] += 1
        return result


class NotSent(Total):
    def of_arrow(self, columns: Any) -> Any:
        return self.empty(len(columns[0]))


class ByPosition(Total):
    """The groups of states that are merged are taken to be in order."""

    def merge(self, state: Any, groups: GroupsOfRows) -> Any:
        return super().merge(state, GroupsOfRows(np.sort(groups.codes), groups.count))


STATE_COLUMNS_THAT_LIE = [
    (Halved, "merge is associative"),
    (CountsParts, "equal states are equal Arrow columns"),
    (BeforeItsRow, "running gives the state of all rows so far"),
    (WithoutLast, "windows gives the state of the rows of each window"),
    (NotSent, "a state that was sent is the same state"),
    (ByPosition, "states of groups merge by group"),
    (InPlace, "a state that is merged stays as it is"),
]


def of_state_column(column_class: type[Total]) -> Any:
    return lambda types, columns, parameters: ColumnAggregate((column_class(columns[0]),), lambda state, *, last: pa.array(state[0]))


@pytest.mark.parametrize(("column_class", "rule"), STATE_COLUMNS_THAT_LIE)
def test_state_columns_that_lie(column_class: type[Total], rule: str) -> None:
    name = f"kit_{column_class.__name__}"
    define_aggregate(name, lambda types, parameters: INT, of_columns=of_state_column(column_class), order_sensitive=False)
    whole = Aggregation(name, (0,))
    with pytest.raises(ContractBroken, match=rule):
        check_state_columns(whole, reduce_columns(contracts.table_of([VALUES]), [whole]))
    with pytest.raises(ContractBroken):
        check_aggregate(name, VALUES, spark=False)


def test_a_state_column_that_tells_the_truth() -> None:
    define_aggregate("kit_total", lambda types, parameters: INT, of_columns=of_state_column(Total), order_sensitive=False)
    check_aggregate("kit_total", VALUES, spark=False)


def test_aggregates_of_state_columns_that_give_something_else() -> None:
    def of(finish: Any) -> Any:
        return lambda types, columns, parameters: ColumnAggregate((Total(columns[0]),), finish)

    wrong = {
        "float": (of(lambda state, *, last: pa.array(state[0].astype(float))), "gave . value.s. of double, and it is one int"),
        "short": (of(lambda state, *, last: pa.array(state[0][:0])), "gave 0 value.s. of int64, .* for each of . group"),
        "array": (of(lambda state, *, last: state[0]), "returned a ndarray: an aggregate of state columns must return an Arrow array"),
        "nothing": (lambda types, columns, parameters: 5, "returned a int: it must return a ColumnAggregate"),
    }
    frame = SFrame({"k": [1, 2, 1], "v": [3, 4, 8]})
    for name, (of_columns, message) in wrong.items():
        define_aggregate(f"kit_gives_{name}", lambda types, parameters: INT, of_columns=of_columns)
        with pytest.raises(SchemaError, match=message):
            list(frame.groupby("k", {"n": aggregate(f"kit_gives_{name}", "v")})["n"])
