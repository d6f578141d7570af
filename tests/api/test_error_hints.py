"""Names of other libraries are answered with what to use instead."""

from __future__ import annotations

import abc
import copy
import importlib
import inspect
import operator
import re
import sys
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

import numpy as np
import pandas as pd
import pytest

import sframe_spark
from sframe_spark import SArray, SArrayBuilder, SFrame, SFrameBuilder, aggregate, plugin, util, visualization
from sframe_spark.api import error_hints, other_library_names
from sframe_spark.errors import InvalidArgumentError, NoAttributeError, SchemaError, TakenNameError
from tests.examples import in_one_test

# The package has the options under the name of their module.
config_module = importlib.import_module("sframe_spark.config")
FRAME, COLUMN = SFrame({"stars": [1, 2]}), SArray([1, 2])


@in_one_test("name", sorted(other_library_names.FRAME))
def test_names_of_other_frames(name: str) -> None:
    assert not hasattr(FRAME, name), "the frame has it: leave it out of the hints"
    with pytest.raises(NoAttributeError, match=f"no member '{name}': "):
        getattr(FRAME, name)


@in_one_test("name", sorted(set(error_hints.array_hints()) - {"where", "diff"}))
def test_names_of_other_columns(name: str) -> None:
    with pytest.raises(NoAttributeError, match=f"no member '{name}': "):
        getattr(COLUMN, name)


# Of these nothing here is a counterpart that a line could tell.
OF_PANDAS_ALONE = (
    "align array attrs autocorr axes bool cat combine compare convert_dtypes corrwith divmod dot droplevel factorize first_valid_index flags"
    " infer_objects info isetitem items keys last_valid_index memory_usage nbytes pipe pop rdivmod reindex_like"
    " rename_axis reorder_levels repeat sem set_axis set_flags skew sparse style swapaxes swaplevel to_period to_sql to_timestamp truncate"
    " tz_convert tz_localize unstack view xs asfreq at_time between_time"
)


@pytest.mark.parametrize(
    ("other", "kind", "told"), [(pd.DataFrame, SFrame, other_library_names.FRAME), (pd.Series, SArray, error_hints.array_hints())]
)
def test_members_of_pandas_are_answered(other: type, kind: type, told: dict[str, str]) -> None:
    public = {name for name in dir(other) if not name.startswith("_")}
    assert sorted(name for name in public.difference(OF_PANDAS_ALONE.split()) if not hasattr(kind, name) and name not in told) == []


@in_one_test("name", sorted(other_library_names.MODULE))
def test_names_that_are_out_of_scope(name: str) -> None:
    with pytest.raises(AttributeError, match=f"no '{name}': "):
        getattr(sframe_spark, name)


@pytest.mark.parametrize(
    ("how", "told"),
    [
        *[(how, "filter_by(other['a'], 'a')") for how in ("semi", "leftsemi", "left_semi")],
        *[(how, "filter_by(other['a'], 'a', exclude=True)") for how in ("anti", "leftanti", "left_anti")],
        *[(how, "how='outer'") for how in ("full", "full_outer", "fullouter")],
        ("cross", "sf['one'] = 1"),
        ("asof", "asof_join"),
    ],
)
def test_joins_of_other_libraries(how: Any, told: str) -> None:
    with pytest.raises(InvalidArgumentError, match=f"how must be one of inner, .*got '{how}': .*{re.escape(told)}"):
        FRAME.join(FRAME, on="stars", how=how)


@pytest.mark.parametrize("how", ["inner join", "LEFT", None, 1, ("semi",)])
def test_joins_of_no_library(how: Any) -> None:
    with pytest.raises(InvalidArgumentError, match=re.escape(f"got {how!r}") + "$"):
        FRAME.join(FRAME, on="stars", how=how)


def test_what_hints_for_texts_and_date_times_say_is_right() -> None:
    texts, times = SArray(["fig tea", "figs", "tea", None]), SArray([datetime(2024, 2, 29), None])
    assert list(texts.element_slice(0, 3) == "fig") == [1, 1, 0, 0]
    assert list(texts.element_slice(-3) == "tea") == [1, 0, 1, 0]
    assert list(times.split_datetime(None, ["year"])["year"]) == [2024, None]


def test_the_version_in_numbers() -> None:
    assert ".".join(map(str, sframe_spark.version_info)) == sframe_spark.__version__


def test_columns_are_no_members() -> None:
    with pytest.raises(AttributeError, match=r"sf\['stars'\]"):
        _ = FRAME.stars  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match=r"by its name, as in sf\['stars'\]"):
        _ = FRAME.Stars  # type: ignore[attr-defined]


@pytest.mark.parametrize("value", [FRAME, COLUMN])
def test_names_that_libraries_look_for_stay_absent(value: Any) -> None:
    for name in ("_repr_png_", "__array_interface__", "_ipython_canary_method_should_not_exist_", "nothing"):
        assert not hasattr(value, name)
    assert len(copy.copy(value)) == len(copy.deepcopy(value)) == 2


@in_one_test("name", sorted(other_library_names.MODULE))
def test_imports_of_what_is_out_of_scope(name: str) -> None:
    for statement in (f"from sframe_spark import {name}", f"import sframe_spark.{name}", f"import sframe_spark.{name}.below"):
        with pytest.raises(ImportError, match=f"^sframe_spark has no '{name}': "):
            exec(statement, {})
    assert not hasattr(sframe_spark, name) and f"sframe_spark.{name}" not in sys.modules


def test_imports_of_what_nobody_knows_are_python_s_own() -> None:
    for statement, told in (
        ("from sframe_spark import nonsense", "cannot import name 'nonsense'"),
        ("import sframe_spark.nonsense", "No module named 'sframe_spark.nonsense'"),
        ("import linear_regression", "No module named 'linear_regression'"),
    ):
        with pytest.raises(ImportError, match=told):
            exec(statement, {})
    assert not hasattr(sframe_spark, "nonsense")


def test_absent_modules_are_told_once() -> None:
    error_hints.install_module_hints()
    assert len([finder for finder in sys.meta_path if isinstance(finder, error_hints.ModuleHintFinder)]) == 1


@pytest.mark.parametrize("name", sorted(other_library_names.UTIL))
def test_what_util_has_not(name: str) -> None:
    assert not hasattr(util, name)
    with pytest.raises(AttributeError, match=f"sframe_spark.util has no '{name}': targets for models"):
        getattr(util, name)
    with pytest.raises(ImportError, match=f"sframe_spark.util has no '{name}': targets for models"):
        exec(f"from sframe_spark.util import {name}", {})


@pytest.mark.parametrize("name", sorted(config_module._HINTS))
def test_what_config_has_not(name: str) -> None:
    assert not hasattr(sframe_spark.config, name)
    with pytest.raises(AttributeError, match=f"config has no '{name}': "):
        getattr(sframe_spark.config, name)


def test_options_of_the_reference_are_imported_from_its_module() -> None:
    from sframe_spark.config import get_runtime_config, set_runtime_config

    before = get_runtime_config()
    set_runtime_config("TURI_SFRAME_READ_BATCH_SIZE", 77)
    try:
        assert sframe_spark.config.batch_rows == 77 == get_runtime_config()["TURI_SFRAME_READ_BATCH_SIZE"]
    finally:
        sframe_spark.config.reset()
    assert get_runtime_config() == before


@pytest.mark.parametrize(
    ("call", "wrong"),
    [
        (lambda: FRAME.groupby("stars"), "needs the argument 'operations'; write it as in sf.groupby('a', {'total'"),
        (lambda: FRAME.rename(columns={"stars": "s"}), "rename() takes no argument 'columns'; write it as in sf.rename({'old': 'new'})"),
        (lambda: FRAME.sort(by="stars"), "sort() takes no argument 'by'"),
        (lambda: FRAME.fillna(0), "needs the argument 'value'; write it as in sf.fillna('a', 0)"),
        (lambda: FRAME.dropna(subset=["stars"]), "dropna() takes no argument 'subset'"),
        (lambda: FRAME.unique("stars"), "sf.drop_duplicates(['a'])"),
        (lambda: FRAME.drop_duplicates(), "or sf.unique() for whole rows"),
        (lambda: FRAME.join(FRAME, left_on="stars"), "join() takes no argument 'left_on'"),
        (lambda: FRAME.plot("stars", "stars"), "plot(sf['a'], sf['b'])"),
        (lambda: COLUMN.plot(kind="bar"), "plot() takes no argument 'kind'"),
        (lambda: COLUMN.rolling_mean(3), "sf['a'].rolling_mean(-2, 0)"),
        (lambda: FRAME.sample(n=2), "sample() takes no argument 'n'; write it as in sf.sample(0.1, seed=1), a share"),
        (lambda: FRAME.sample(frac=0.5), "of n rows sf.shuffle(seed=1).head(n)"),
        (lambda: FRAME.shuffle(1), "sf.shuffle(seed=1)"),
        (lambda: FRAME.topk("stars", n=2), "sf.topk('a', k=5)"),
        (lambda: FRAME.append(FRAME, ignore_index=True), "append() takes no argument 'ignore_index'"),
        (lambda: FRAME.filter_by(values=[1]), "sf.filter_by(['x', 'y'], 'a')"),
        (lambda: FRAME.apply(len, axis=1), "apply() takes no argument 'axis'"),
        (lambda: FRAME.select_columns("stars", "stars"), "sf.select_columns(['a', 'b'])"),
        (lambda: FRAME.to_pandas(index=False), "to_pandas() takes no argument 'index'"),
        (lambda: FRAME.export_json("lines.json", lines=True), "sf.export_json('rows.json', orient='lines')"),
        (lambda: SFrame.read_json("lines.json", lines=True), "SFrame.read_json('rows.json', orient='lines')"),
        (lambda: FRAME.write_parquet("rows", compression="zstd"), "write_parquet() takes no argument 'compression'"),
        (lambda: SFrame.read_parquet("rows", columns=["stars"]), "SFrame.read_parquet('rows')[['a', 'b']]"),
        (lambda: FRAME.asof_join(FRAME, left_index="stars", right_index="stars"), "asof_join() takes no argument 'left_index', 'right_index'"),
        (lambda: FRAME.resample("1h", on="stars"), "sf.resample('time', '1h', {'total'"),
        (lambda: FRAME.groupby_intervals(key="stars"), "sf.groupby_intervals('time', '1h', operations="),
        (lambda: FRAME.window("stars", {}, window=3), "sf.window('time', {'total'"),
        (lambda: FRAME.running(), "sf.running({'total'"),
        (lambda: FRAME.exponential_smoothing("stars", times="t"), "sf.exponential_smoothing('a', on='time', half_life='2h')"),
        (lambda: COLUMN.sample(n=2), "of n rows sf['a'].shuffle(seed=1).head(n)"),
        (lambda: COLUMN.shuffle(1), "sf['a'].shuffle(seed=1)"),
        (lambda: COLUMN.sort(reverse=True), "sf['a'].sort(ascending=False)"),
        (lambda: COLUMN.fillna(method="ffill"), "fillna() takes no argument 'method'; write it as in sf['a'].fillna(0)"),
        (lambda: COLUMN.astype(int, errors="ignore"), "sf['a'].astype(float, undefined_on_failure=True)"),
        (lambda: COLUMN.clip(min=0), "sf['a'].clip(lower=0, upper=1)"),
        (lambda: COLUMN.shift(periods=1), "sf['a'].shift(1)"),
        (lambda: COLUMN.diff(periods=1), "sf['a'].diff(1)"),
        (lambda: COLUMN.value_counts(normalize=True), "value_counts() takes no argument 'normalize'"),
        (lambda: COLUMN.apply(len, args=()), "apply() takes no argument 'args'"),
        (lambda: COLUMN.append(COLUMN, COLUMN), "sf['a'].append(other)"),
    ],
)
def test_arguments_of_other_libraries(call: Callable[[], Any], wrong: str) -> None:
    with pytest.raises(SchemaError, match=re.escape(wrong)):
        call()


@pytest.mark.parametrize(
    ("call", "wrong"),
    [
        (lambda: FRAME.groupby(FRAME["stars"], {"n": aggregate.COUNT()}), "a list of names, got an SArray: write groupby('a', ...)"),
        (lambda: FRAME.groupby(len, {"n": aggregate.COUNT()}), "a list of names, got the function len"),
        (lambda: FRAME.groupby([len], {"n": aggregate.COUNT()}), "must be given by its name, got the function len"),
        (lambda: FRAME.groupby("stars", {"n": aggregate.MEAN}), "needs a column: write aggregate.MEAN('column')"),
        (lambda: FRAME.groupby("stars", {"n": len}), "is needed, got the function len"),
        (lambda: FRAME.groupby("stars", {"n": aggregate.SUM(FRAME["stars"])}), "takes column names, got a value of class SArray"),
        (lambda: FRAME.groupby_intervals("stars", None, FRAME["stars"]), "groupby_intervals('time', clock=clock, operations={...})"),
        (lambda: FRAME.running(operations=aggregate.COUNT, aggregates=aggregate.COUNT), "which mean the same: give one of them"),
        (lambda: FRAME.remove_column(["stars"]), "use remove_columns(['a', 'b']) for several"),
        # The second one would be taken for `inplace`, and only the first one go.
        (lambda: FRAME.remove_column("stars", "name"), "use remove_columns(['a', 'b']) for several"),
        (lambda: FRAME.fillna("stars", FRAME["stars"]), "SArray.where(sf['a'] == None, sf['b'], sf['a'])"),
        (lambda: COLUMN.fillna(np.array([1, 2])), "SArray.where(sf['a'] == None, sf['b'], sf['a'])"),
    ],
)
def test_columns_and_functions_in_place_of_names_and_values(call: Callable[[], Any], wrong: str) -> None:
    with pytest.raises(SchemaError, match=re.escape(wrong)) as told:
        call()
    # Neither an address nor the rows of a column.
    assert not re.search(r"0x|\n|Rows:", str(told.value)) and FRAME.column_names() == ["stars"]


def test_columns_change_names_one_after_the_other() -> None:
    """As in the reference, where names that are swapped are taken."""
    frame = SFrame({"a": [1], "b": ["x"], "c": [2.5]})
    assert frame.rename({"b": "z", "a": "b"}).column_names() == ["b", "z", "c"]
    for names in ({"a": "b", "b": "a"}, {"a": "b", "b": "z"}):
        with pytest.raises(TakenNameError, match="already exists: columns are renamed one after the other, so rename 'b' first"):
            frame.rename(names, inplace=True)
    for names in ({"a": "b"}, {"a": "z", "b": "z"}):
        with pytest.raises(TakenNameError, match=r"already exists$"):
            frame.rename(names, inplace=True)
    assert frame.column_names() == ["a", "b", "c"]


@pytest.mark.parametrize("name", sorted(other_library_names.AGGREGATE))
def test_names_of_other_aggregates(name: str) -> None:
    with pytest.raises(NoAttributeError, match=f"no aggregate '{name}': use aggregate\\.") as caught:
        getattr(aggregate, name)
    assert hasattr(aggregate, re.findall(r"aggregate\.(\w+)", str(caught.value))[0])


@pytest.mark.parametrize(
    ("owner", "name", "near"),
    [(aggregate, "mean", "MEAN"), (sframe_spark, "SFrames", "SFrame"), (FRAME, "grouby", "groupby"), (COLUMN, "fill_na", "fillna")],
)
def test_a_slip_is_answered_with_the_nearest_name(owner: Any, name: str, near: str) -> None:
    with pytest.raises(NoAttributeError, match=f"did you mean '{near}'"):
        getattr(owner, name)


@pytest.mark.parametrize("name", ["from_dict", "from_records", "from_dicts", "from_columns"])
def test_the_way_that_a_hint_shows_makes_the_frame(name: str) -> None:
    with pytest.raises(NoAttributeError, match=r"^SFrame has no '") as caught:
        getattr(SFrame, name)
    made = eval(str(caught.value).partition(": use ")[2], {"SFrame": SFrame})
    assert made.to_arrow().to_pydict() == {"a": [1, 2], "b": ["x", "y"]}


@pytest.mark.parametrize(
    ("owner", "name", "told"),
    [
        (SFrame, "read_excel", "use SFrame(pandas.read_excel(path))"),
        (SFrame, "scan_csv", "use SFrame.read_csv('rows.csv')"),
        (SFrame, "read_cvs", "did you mean 'read_csv'"),
        (SFrame, "to_csv", "use export_csv('rows.csv')"),
        (SArray, "from_list", "use SArray([1, 2, None])"),
        (SArray, "from_constant", "did you mean 'from_const'"),
        (SArray, "isnull", "compare with None: sa == None"),
    ],
)
def test_classes_tell_of_names_too(owner: type, name: str, told: str) -> None:
    class Users(owner):  # type: ignore[misc]
        """A class that a user derives."""

    for kind in (owner, Users):
        assert not hasattr(kind, name)
        with pytest.raises(NoAttributeError, match=re.escape(told)):
            getattr(kind, name)
    assert not hasattr(owner, "__array_interface__") and not hasattr(owner, "_nothing") and not hasattr(owner, "nothing")


@pytest.mark.parametrize("option", ["columns", "index", "dtype", "schema"])
def test_arguments_of_other_constructors(option: str) -> None:
    with pytest.raises(SchemaError, match=rf"^SFrame\(\) takes no argument '{option}'; write it as in SFrame\(\{{'a'"):
        SFrame([[1, 2]], **{option: None})
    with pytest.raises(SchemaError, match=r"^SArray\(\) takes no argument 'name'; write it as in SArray\("):
        SArray([1], name=option)  # type: ignore[call-arg]
    # Too many of them, too.
    with pytest.raises(SchemaError, match=r"^SFrame\(\) is given too many positional arguments; write it"):
        SFrame({}, "auto", None, None, option)  # type: ignore[call-arg]


@pytest.mark.parametrize("sign", ["&", "|"])
@pytest.mark.parametrize(
    "text", ["sa > 1 {} (sa < 3)", "sa == 'a' {} (sa < 3)", "sa == None {} (sa < 3)", "1.5 {} sa", "(sa < 3) {} 1", "[1, 2] {} sa"]
)
def test_logic_without_parentheses(text: str, sign: str) -> None:
    with pytest.raises(SchemaError, match=r"parentheses, as in \(sf\['a'\] > 1\) & \(sf\['b'\] == 2\)"):
        eval(text.format(sign), {"sa": COLUMN})
    assert list(eval("(sf['a'] > 1) & (sf['b'] == 2)", {"sf": SFrame({"a": [1, 2], "b": [2, 2]})})) == [0, 1]


@pytest.mark.parametrize(
    "text",
    [f"sf {sign} 2" for sign in ("-", "*", "/", "//", "%", "**", "<", "<=", ">", ">=", "&", "|")]
    + [f"2 {sign} sf" for sign in ("+", "-", "*", "/", "//", "%", "**", "<", "&", "|")]
    + ["-sf", "abs(sf)", "~sf", "sf * sf"],
)
def test_frames_as_numbers(text: str) -> None:
    frame = SFrame({"a": [1, 2], "b": [2, 2]})
    with pytest.raises(SchemaError, match="their columns do, as in ") as caught:
        eval(text, {"sf": frame})
    # What is shown instead can be run.
    assert len(eval(str(caught.value).partition("as in ")[2], {"sf": frame})) <= 2


def test_what_stands_beside_a_frame_may_know_an_answer() -> None:
    class Known:
        def __rmul__(self, other: object) -> str:
            return "known"

        def __gt__(self, other: object) -> str:
            return "greater"

    assert (FRAME * Known(), operator.lt(FRAME, Known())) == ("known", "greater")
    with pytest.raises(RuntimeError):
        FRAME * COLUMN


@pytest.mark.parametrize("value", [1, 2.5, None, "text", COLUMN])
def test_a_number_is_added_to_a_column_of_a_frame(value: Any) -> None:
    with pytest.raises(RuntimeError, match=r"appends the rows of another SFrame, got .*: to add to the values of a column, write sf\['a'\] \+ 1"):
        FRAME + value
    assert len(FRAME + FRAME) == len(FRAME + {"stars": [3, 4]}) == 4  # type: ignore[operator]


def test_a_users_class_may_be_abstract_as_well() -> None:
    class Described(abc.ABC):
        @abc.abstractmethod
        def described(self) -> str: ...

    class Table(SFrame, Described):  # type: ignore[misc]
        def described(self) -> str:
            return f"{len(self)} rows"

    assert Table({"a": [1, 2]}).described() == "2 rows"
    assert isinstance(Table(), SFrame) and isinstance(Table(), Described) and not isinstance(3, SFrame)


OWNERS: dict[str, Any] = {
    **{kind.__name__: kind for kind in (SFrame, SArray, sframe_spark.Sketch, SFrameBuilder, SArrayBuilder, visualization.Plot)},
    **{module.__name__.rpartition(".")[2]: module for module in (sframe_spark, aggregate, util, visualization)},
}


def public_calls() -> Iterator[tuple[str, str]]:
    """All that users call by a name: methods of our classes and functions of our modules."""
    for place, owner in OWNERS.items():
        for name in owner.__all__ if inspect.ismodule(owner) else dir(owner):
            # Of `sql` a user names arguments, of `read` and `write` the options of kinds of files, of which there may be more.
            if not name.startswith("_") and inspect.isroutine(getattr(owner, name)) and name not in ("sql", "read", "write"):
                yield place, name


@in_one_test(("place", "name"), list(public_calls()))
def test_every_public_call_answers_arguments_that_it_has_not(place: str, name: str) -> None:
    owner = OWNERS[place]
    # No method runs: what it is called on does not matter.
    first = () if inspect.ismodule(owner) or inspect.ismethod(getattr(owner, name)) else (None,)
    with pytest.raises(SchemaError, match=r"takes no argument 'nonsense'[;:] (write it as in|it is called as|it takes) \w") as told:
        getattr(owner, name)(*first, nonsense=1)
    assert isinstance(told.value, TypeError) and not re.search(r"0x|<|\bself\b|\bcls\b", str(told.value))
    assert told.value.__cause__ is told.value.__context__ is None


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: aggregate.MEAN(), "MEAN() needs the argument 'src_column'; it is called as aggregate.MEAN(src_column)"),
        (lambda: aggregate.COUNT("stars", 1), "COUNT() is given too many positional arguments; it is called as aggregate.COUNT(src_column=None)"),
        (lambda: FRAME.head(2, 3), "head() is given too many positional arguments; it is called as sf.head(n=10)"),
        (lambda: SFrame.head(), "needs the argument 'self'; it is called as sf.head(n=10)"),
        (lambda: FRAME.swap_columns(["a", "b"]), "it is called as sf.swap_columns(column_name_1, column_name_2, inplace=False)"),
        (lambda: FRAME.save(index=False), "save() takes no argument 'index'; it is called as sf.save(filename, "),
        (lambda: COLUMN.is_in(), "needs the argument 'other'; it is called as sf['a'].is_in(other)"),
        (lambda: SFrame.read_csv(), "it is called as SFrame.read_csv(url, delimiter=',', header=True, error_bad_lines=False, "),
        (lambda: SArray.from_const(1), "it is called as SArray.from_const(value, size, dtype=...)"),
        (lambda: sframe_spark.load_sframe(), "needs the argument 'filename'; it is called as load_sframe(filename"),
        (lambda: SFrameBuilder([int]).append(), "needs the argument 'data'; it is called as builder.append(data, segment=0)"),
    ],
)
def test_calls_are_shown_as_they_are_written(call: Callable[[], Any], told: str) -> None:
    with pytest.raises(SchemaError, match=re.escape(told)):
        call()


def test_errors_within_a_right_call_stay_as_they_are() -> None:
    """Also those that look like a wrong call, of a function of the user's."""

    def of_two(first: int, second: int) -> int:
        return first + second

    class Users(SFrame):  # type: ignore[misc]
        def head(self, n: int = 10) -> SFrame:
            return super().head(of_two(n))  # type: ignore[call-arg]

    with pytest.raises(TypeError, match=r"of_two\(\) missing 1 required positional argument: 'second'$"):
        Users({"a": [1]}).head()
    assert inspect.signature(FRAME.head) == inspect.signature(lambda n=10: None).replace(
        parameters=[inspect.Parameter("n", inspect.Parameter.POSITIONAL_OR_KEYWORD, default=10, annotation="int")], return_annotation="SFrame"
    )


@pytest.mark.parametrize(
    "call",
    [
        lambda: COLUMN + SArray([1, 2, 3]),
        lambda: SArray([1, 2, 3]) == COLUMN,
        lambda: SArray.where(COLUMN > 1, SArray([1, 2, 3]), 0),
        lambda: SArray.where(COLUMN > 1, 0, SArray([1, 2, 3])),
        lambda: COLUMN[SArray([1, 0, 1])],
        lambda: FRAME[SArray([1, 0, 1])],
        lambda: FRAME.add_column(SArray([1, 2, 3]), "new"),
        lambda: FRAME.add_columns([SArray([1, 2, 3])], ["new"]),
        lambda: SFrame({"a": [1, 2], "b": [1, 2, 3]}),
        lambda: COLUMN + SArray([1, 2, 3, 4])[SArray([1, 1, 1, 0])],
        lambda: plugin.call("add", COLUMN, SArray([1, 2, 3])),
        lambda: plugin.reduce("sum", COLUMN, SArray([1, 2, 3])),
    ],
)
def test_different_lengths_are_both_told(call: Callable[[], Any]) -> None:
    with pytest.raises(RuntimeError, match=r"\b2\b") as told:
        call()
    assert re.search(r"\b3\b", str(told.value)), told.value
