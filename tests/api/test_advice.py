"""What messages advise can be done, and the rows that they name are those of the user's columns."""

from __future__ import annotations

import array
import datetime
import inspect
import itertools
import operator
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyspark import cloudpickle

from sframe_spark import SArray, SFrame
from sframe_spark.errors import (
    ExecutionError,
    MixedTypesError,
    NegativeCountError,
    RowKeyError,
    SchemaError,
    TakenNameError,
    UnsupportedOperationError,
)

TIME = datetime.datetime(2024, 1, 31)
BY_KIND = {
    "int": SArray([1]),
    "float": SArray([1.5]),
    "str": SArray(["1"]),
    "list": SArray([["a"]]),
    "dict": SArray([{"a": 1}]),
    "array": SArray([array.array("d", [1.0])]),
    "datetime": SArray([TIME]),
}
OPERATORS = "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lt", "le", "gt", "ge", "and_", "or_"
TYPES = int, float, str, list, dict, array.array, datetime.datetime

# Of values that are no rows of theirs: items of cells, results of functions that are not called for missing values, rows of rows.
SAMPLED: dict[str, Callable[[], Any]] = {
    "apply": lambda: SArray([None, 1, 2]).apply(lambda n: "a" if n > 1 else 1),
    "apply of rows": lambda: SFrame({"n": [1, 2, 3]}).apply(lambda row: [None, 1, "a"][row["n"] - 1]),
    "flat_map": lambda: SFrame({"n": [1, 2]}).flat_map(["x"], lambda row: [[1], ["a"]] * row["n"]),
    "stack of dicts": lambda: SFrame({"d": [None, {"x": 1, "y": "a"}]}).stack("d", ["key", "value"]),
    "stack of lists": lambda: SFrame({"d": [[], [1, "a"]]}).stack("d", "item"),
}


@pytest.mark.parametrize("what", SAMPLED)
def test_no_row_is_named_of_values_that_are_no_rows(what: str) -> None:
    with pytest.raises((TypeError, RuntimeError), match="no common type: ") as caught:
        SAMPLED[what]()
    assert "1 (int)" in str(caught.value) and "'a' (str)" in str(caught.value) and "type" in str(caught.value)
    assert not re.search(r"\brow \d", str(caught.value))


def test_items_of_several_types_name_their_column_and_what_to_give() -> None:
    sf = SFrame({"meta": [{"source": "web", "score": 1}]})
    with pytest.raises(MixedTypesError, match=r"^column 'meta': .* pass new_column_type to stack\(\)"):
        sf.stack("meta", ["key", "value"])
    assert list(sf.stack("meta", ["key", "value"], new_column_type=[str, str])["value"]) == ["web", "1"]


def test_values_of_a_column_name_their_rows() -> None:
    with pytest.raises(MixedTypesError, match=r"^column 'a': .*: row 1 holds 1 \(int\), row 2 holds 'x' \(str\)$"):
        SFrame({"a": [None, 1, "x"]})


@pytest.mark.parametrize("function", [lambda value: object(), lambda value: value.bit_length], ids=["an object", "a method that is not called"])
def test_results_that_no_column_holds_are_no_mixture(function: Callable[[int], Any]) -> None:
    with pytest.raises(
        TypeError, match=r"^the function returned a value that a column cannot hold: .* class (object|builtin_function_or_method): use int, "
    ) as caught:
        SArray([1, 2]).apply(function)
    assert "different types" not in str(caught.value)


def _defined(name: str, left: SArray, right: SArray) -> bool:
    try:
        list(getattr(operator, name)(left, right))
    except UnsupportedOperationError:
        return False
    return True


def _casts(column: SArray) -> list[SArray]:
    found = []
    for kind in TYPES:
        try:
            found.append(column.astype(kind, undefined_on_failure=True))
        except UnsupportedOperationError:
            continue
    return found


@pytest.mark.parametrize("name", OPERATORS)
def test_a_conversion_is_advised_where_one_helps(name: str) -> None:
    """Each operator between columns of all types: where it is refused, ``astype`` is named only if it leads to an answer."""
    for left, right in itertools.product(BY_KIND, repeat=2):
        try:
            getattr(operator, name)(BY_KIND[left], BY_KIND[right])
        except UnsupportedOperationError as error:
            if "astype" in str(error):
                pairs = itertools.product(_casts(BY_KIND[left]), _casts(BY_KIND[right]))
                assert any(_defined(name, *pair) for pair in pairs), f"{left} {name} {right}: {error}"
            else:
                assert "apply()" in str(error) or "str_to_datetime()" in str(error)


def test_texts_are_compared_with_date_times_as_is_advised() -> None:
    when, day = SArray([TIME]), "2024-01-30"
    with pytest.raises(UnsupportedOperationError, match=r"str_to_datetime\(\), .* datetime\.datetime\(2024, 1, 31\)"):
        operator.gt(when, day)
    with pytest.raises(UnsupportedOperationError, match=r"cannot be cast to datetime: str_to_datetime\(\)"):
        SArray([day]).astype(datetime.datetime)
    assert list(when > SArray([day]).str_to_datetime()) == [1]


MEMBERS = [
    pytest.param(of, name, id=f"{type(of).__name__}.{name}")
    for of in (SFrame({"a": [1]}), SArray([1]))
    for name in dir(of)
    if not name.startswith("_") and inspect.isroutine(inspect.getattr_static(type(of), name))
]


@pytest.mark.parametrize(("of", "name"), MEMBERS)
def test_messages_of_python_name_the_class_that_users_know(of: SFrame | SArray, name: str) -> None:
    with pytest.raises(TypeError) as caught:
        getattr(of, name)(no_such_argument=1)
    before = str(caught.value).partition("()")[0]
    assert before in (name, f"{type(of).__name__}.{name}")
    assert f"{type(of).__name__}.{name}" in repr(getattr(of, name))


KEYS = {"int": 0, "slice": slice(1), "mask": SArray([1, 0, 1]), "numpy's mask": np.array([True, False, True]), "numpy's int": np.int64(1)}


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_rows_are_not_assigned_and_what_is_advised_does_it(key: Any) -> None:
    sf, sa = SFrame({"a": [8, 10, 12]}), SArray([8, 10, 12])
    for assign in (lambda: operator.setitem(sf, key, 9), lambda: operator.setitem(sa, key, 9), lambda: operator.delitem(sa, key)):
        with pytest.raises(SchemaError, match="rows cannot be assigned to; ") as caught:
            assign()
        (advised,) = re.findall(r"replace the column: (.*), or leave rows out", str(caught.value))
        names = {"sf": sf.copy(), "sa": sa, "SArray": SArray}
        exec(advised, names)
        assert list(names["sf"]["a"] if advised.startswith("sf") else names["sa"]) == [8, 9, 9]
    assert list(sf["a"]) == list(sa) == [8, 10, 12]


def test_rows_are_turned_round_as_is_advised() -> None:
    sf = SFrame({"a": [3, 1, 2]})
    with pytest.raises(NegativeCountError, match="read forwards only, ") as caught:
        sf[::-1]
    (advised,) = re.findall(r"; (.*) reverses them", str(caught.value))
    assert list(eval(advised)["a"]) == [2, 1, 3]


def test_what_is_not_true_of_a_mask_is_written_as_is_advised() -> None:
    mask = SArray([0, 1])
    with pytest.raises(SchemaError, match="mask == 0 is true where a mask is not"):
        operator.invert(mask)
    assert list(mask == 0) == [1, 0] == list(~(mask > 0))


def test_columns_of_a_frame_that_are_assigned_keep_their_names() -> None:
    sf = SFrame({"a": [1], "b": [2]})
    with pytest.raises(TakenNameError, match=r"with these names: a; .* rename\(\) them first"):
        sf[["c"]] = sf[["a"]]
    sf[["c"]] = sf[["a"]].rename({"a": "c"})
    assert sf.column_names() == ["a", "b", "c"]


def test_items_of_dicts_are_asked_for_as_is_advised() -> None:
    column = SArray([{"x": 1}, {"x": 2}])
    with pytest.raises(RowKeyError, match=r"unpack\(\) makes a column") as caught:
        column["x"]
    (advised,) = re.findall(r"apply\(.*\)", str(caught.value))
    assert list(eval(f"column.{advised}")) == [1, 2] == list(column.unpack()["X.x"])
    with pytest.raises(RowKeyError, match=r"not by str$"):
        SArray(["a"])["x"]


WRITTEN = ["2024-01-31T10:20:30.687000", "2024-01-31 10:20:30.687", "20240131T102030.687000"]


@pytest.mark.parametrize("text", WRITTEN)
@pytest.mark.parametrize("form", [None, "%Y-%m-%dT%H:%M:%S.%f", "%Y-%m-%d %H:%M:%S.%f", "%Y%m%dT%H%M%S.%f", "%d/%m/%Y"])
def test_the_format_that_is_advised_reads_the_text(text: str, form: str | None) -> None:
    """As Python's own formats have it, a dot stands before ``%f``, which reads it itself here."""
    with pytest.raises(ExecutionError, match=r" does not match the date format .*: the format ") as caught:
        list(SArray([text]).str_to_datetime(*([form] if form else [])))
    (advised,) = re.findall(r"the format '([^']*)' reads it$", str(caught.value))
    assert list(SArray([text]).str_to_datetime(advised)) == [datetime.datetime(2024, 1, 31, 10, 20, 30, 687000)]


def test_no_format_is_advised_that_does_not_read_the_text() -> None:
    for text, form in (("30.02.2024", "%d.%m.%Y"), ("2024-02-30 10:20:30", "%d.%m.%Y"), ("yesterday", "%H:%M:%S.%f")):
        with pytest.raises(ExecutionError, match="use another format"):
            list(SArray([text]).str_to_datetime(form))


def failing(value: int) -> int:
    """Fails for some."""
    return 1 // (value - 2)


ROWS_THAT_FAIL: dict[str, Callable[[], SArray]] = {
    "a function": lambda: SArray([0, 1, 2]).apply(failing, int),
    "a format": lambda: SArray(["2024-01-31", "x", "x"]).str_to_datetime("%Y-%m-%d"),
    "a cast": lambda: SArray(["a", "b", "c"]).apply(str.lower).astype(int),
}


@pytest.mark.parametrize("what", ROWS_THAT_FAIL)
def test_a_row_that_fails_is_told_once(what: str) -> None:
    """Rows are read ahead, which may fail for another row: what is raised of the row itself has no second traceback."""
    for look in (lambda rows: rows[2], lambda rows: SFrame({"a": rows})[2]):
        with pytest.raises(RuntimeError) as caught:
            look(ROWS_THAT_FAIL[what]())
        assert caught.value.__context__ is None or caught.value.__suppress_context__


@pytest.mark.parametrize(
    ("member", "held"), [("read_parquet", b"some text\n"), ("read_orc", b"some text\n"), ("read_csv", b"PK\x03\x04" + bytes(99))]
)
def test_a_file_of_another_kind_is_told_once(member: str, held: bytes, tmp_path: Path) -> None:
    """What the reader of the asked kind said of it is no second traceback."""
    path = tmp_path / "rows"
    path.write_bytes(held)
    with pytest.raises(OSError, match=r" is not .*: it is ") as caught:
        getattr(SFrame, member)(str(path))
    assert caught.value.__context__ is None or caught.value.__suppress_context__


@pytest.mark.parametrize("owner", [SFrame, SArray])
@pytest.mark.parametrize("dumps", [pickle.dumps, cloudpickle.dumps], ids=["pickle", "cloudpickle"])
def test_members_are_sent_to_others_by_the_names_that_python_tells(owner: type, dumps: Callable[[object], bytes]) -> None:
    """A pool of processes is given ``SFrame.read_csv`` or ``SFrame.num_rows`` to call."""
    members = [getattr(owner, name) for name in dir(owner) if not name.startswith("_")]
    # Methods of the class go by value with cloudpickle, whoever has them.
    functions = [member for member in members if inspect.isfunction(member) or (dumps is pickle.dumps and inspect.ismethod(member))]
    assert len(functions) > 50
    for function in functions:
        content = dumps(function)
        assert pickle.loads(content) == function, function
        assert len(content) < 200, f"{function} goes by value"
