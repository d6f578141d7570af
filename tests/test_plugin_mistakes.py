"""What authors of plug-ins do wrong is told with the name of what is theirs, and what they may do without harm does none."""

from __future__ import annotations

import functools
import json
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import sframe_spark
from sframe_spark import SArray, SFrame, config
from sframe_spark.engine.execution.action_planning_and_function_call_claims import optimize
from sframe_spark.engine.runtime.checked_kernel_calls import require_inferred
from sframe_spark.errors import ExecutionError, InvalidArgumentError, PlanInvariantError, SchemaError, UserFunctionError
from sframe_spark.expressions.aggregates.aggregate_function import AGGREGATES
from sframe_spark.plugin import (
    FLOAT,
    INT,
    Chunk,
    ColumnAggregate,
    Decomposition,
    FileSource,
    FloatSum,
    Length,
    SequentialOperator,
    StateColumn,
    aggregate,
    call,
    column_of,
    define_aggregate,
    define_function,
    frame_of,
    frame_of_source,
    law,
    node_of,
    reduce,
    register,
    register_source,
)
from sframe_spark.testing.contract import Example, check_lowering, check_operator
from sframe_spark.testing.source_and_writer_contracts import check_source

VALUES = [None if number % 7 == 0 else number for number in range(5_000)]
MISSING_SO_FAR = np.cumsum([value is None for value in VALUES]).tolist()


pytestmark = pytest.mark.usefixtures("own_registry")


def counting(**changes: Any) -> Callable[[SArray], SArray]:
    """An operator that counts missing values so far in a list, which it changes in place; or one with other members."""

    @register
    @attrs.frozen
    class Counting(SequentialOperator):
        name: ClassVar[str] = "test_counting"
        keeps_dense: ClassVar[bool] = True

        def infer_type(self, inputs: Any) -> Any:
            return changes.get("infer_type", (INT,))

        def initial_state(self, facts: Any) -> Any:
            return changes.get("initial_state", [0])

        def summarize(self, inputs: Any, facts: Any) -> Any:
            return changes.get("summarize", [inputs[0].columns[0].null_count])

        def combine(self, first: Any, second: Any) -> Any:
            first[0] += second[0]
            return first

        def advance(self, inputs: Any, facts: Any, state: Any) -> Any:
            if "advance" in changes:
                return changes["advance"](inputs[0])
            missing = inputs[0].columns[0].is_null().to_numpy(zero_copy_only=False)
            counts = state[0] + np.cumsum(missing, dtype=np.int64)
            state[0] += int(missing.sum())
            return Chunk((pa.array(counts),), inputs[0].rows), state

    return lambda column: column_of(Counting().make_planner_node(node_of(column)))


@pytest.mark.spark
@pytest.mark.behaviour
def test_a_state_may_be_changed_in_place() -> None:
    count = counting()
    with config.using(batch_rows=500, default_segments=4):
        column = SArray(VALUES)
        assert list(count(column)) == MISSING_SO_FAR
        assert list(count(column)[4_000:4_010]) == MISSING_SO_FAR[4_000:4_010]
        assert count(column)[4_999] == MISSING_SO_FAR[-1]
        assert count(column).sum() == sum(MISSING_SO_FAR)


@pytest.mark.spark
@pytest.mark.behaviour
def test_parts_may_be_changed_in_place() -> None:
    def both(first: Any, second: Any, types: Any) -> Any:
        first[0] += second[0]
        return first

    def value(part: Any, types: Any, parameters: Any) -> int:
        part[0] += 1
        return part[0] - 1

    define_aggregate("test_in_place", lambda t, p: INT, parts=Decomposition(lambda a, n, t, p: [n - a[0].null_count], both, value))
    there = np.cumsum([value is not None for value in VALUES]).tolist()
    with config.using(batch_rows=500, default_segments=4):
        frame = SFrame({"k": [number % 3 for number in range(5_000)], "v": VALUES})
        assert list(frame.running({"n": aggregate("test_in_place", "v")})["n"]) == there
        assert reduce("test_in_place", frame["v"]) == there[-1]
        found = frame.groupby("k", {"n": aggregate("test_in_place", "v")}).sort("k")["n"]
        assert list(found) == [sum(value is not None for value in VALUES[k::3]) for k in range(3)]


WRONG_ROWS: dict[str, tuple[Callable[[Chunk], Any], type[Exception], str]] = {
    "fewer rows": (lambda rows: (Chunk((pa.array([1] * (rows.rows - 1)),), rows.rows - 1), 0), PlanInvariantError, "gave 19 rows for 20"),
    "fewer values": (
        lambda rows: (Chunk((pa.array([1] * (rows.rows - 1)),), rows.rows), 0),
        PlanInvariantError,
        "gave 19 values in column 0 of a Chunk of 20",
    ),
    "no state": (lambda rows: Chunk((pa.array([1] * rows.rows),), rows.rows), PlanInvariantError, "gave a Chunk: it gives a Chunk and the state"),
    "no Chunk": (lambda rows: (pa.array([1] * rows.rows), 0), PlanInvariantError, "gave a tuple: it gives a Chunk and the state"),
    "nothing": (lambda rows: None, PlanInvariantError, "gave a NoneType"),
    "no Arrow": (lambda rows: (Chunk(([1] * rows.rows,), rows.rows), 0), PlanInvariantError, "gave a list as column 0"),
    "an error": (lambda rows: 1 // 0, ZeroDivisionError, "the operator 'test_counting' failed with ZeroDivisionError"),
}


@pytest.mark.parametrize("mistake", WRONG_ROWS)
def test_rows_that_an_operator_makes_wrongly(mistake: str) -> None:
    advance, kind, message = WRONG_ROWS[mistake]
    with pytest.raises(kind, match=message):
        list(counting(advance=advance)(SArray(VALUES[:20])))


def test_an_operator_that_drops_rows_is_told_of_the_default_that_denies_it() -> None:
    class Dropping(SequentialOperator):
        def infer_type(self, inputs: Any) -> Any:
            return inputs[0].schema

        def initial_state(self, facts: Any) -> Any:
            return 0

        def summarize(self, inputs: Any, facts: Any) -> Any:
            return 0

        def combine(self, first: Any, second: Any) -> Any:
            return 0

        def advance(self, inputs: Any, facts: Any, state: Any) -> Any:
            return inputs[0].slice(0, 1), 0

    @register
    @attrs.frozen
    class ByDefault(Dropping):
        name: ClassVar[str] = "test_dropping"

    @register
    @attrs.frozen
    class OfALength(Dropping):
        name: ClassVar[str] = "test_dropping_two"

        def infer_length(self, inputs: Any) -> Length:
            return Length.exactly(2)

    said = "'test_dropping' gave 1 row for 3, and keeps_domain, the default of SequentialOperator, promises one for each: .*keeps_domain = False"
    with pytest.raises(PlanInvariantError, match=said):
        list(column_of(ByDefault().make_planner_node(node_of(SArray([1, 2, 3])))))
    with pytest.raises(PlanInvariantError, match=r"'test_dropping_two' gave 1 row, and its infer_length\(\) says 2: Length.unknown"):
        list(column_of(OfALength().make_planner_node(node_of(SArray([1, 2, 3])))))


@pytest.mark.parametrize("suffix", [".failing", ""])
def test_a_source_that_fails_is_told_with_its_file(suffix: str, tmp_path: Path) -> None:
    @register_source
    class Failing(FileSource):
        name = "test_failing"
        suffixes = (".failing",)

        def __init__(self, file: Any) -> None:
            super().__init__(file)
            json.loads("no JSON")

    place = tmp_path / f"some{suffix}"
    place.write_text("x")
    with pytest.raises(ValueError, match=r"the source test_failing of .*some.* failed with JSONDecodeError: Expecting value") as told:
        SFrame.read(str(place), "test_failing")
    assert str(place) in str(told.value) and "input:" not in str(told.value)
    assert "input:" not in str(pickle.loads(pickle.dumps(told.value)))


@pytest.mark.spark
@pytest.mark.parametrize("part", ["initial_state", "summarize"])
def test_states_that_do_not_travel_are_told(part: str) -> None:
    with config.using(small_rows=0, default_segments=4), pytest.raises(ExecutionError, match="cannot be pickled"):
        counting(**{part: (item for item in [0])})(SArray(VALUES)).materialize()


@pytest.mark.parametrize("schema", [INT, (int,), None, "int"])
def test_types_that_an_operator_infers_wrongly(schema: Any) -> None:
    with pytest.raises(PlanInvariantError, match=r"infer_type\(\) of the operator 'test_counting' returned"):
        counting(infer_type=schema)(SArray([1]))


def test_laws_that_fail_are_named() -> None:
    node = node_of(SArray([1]))
    failing = law("f(x) = x", stage="pushdown", on="transform")(lambda node: 1 // 0)
    with pytest.raises(PlanInvariantError, match=r"the law 'f\(x\) = x' failed with ZeroDivisionError"):
        failing(node)
    for wrong in ((node,), True, node.operator):
        other = law("f(x) = x", stage="pushdown", on="transform")(lambda node, wrong=wrong: wrong)
        with pytest.raises(PlanInvariantError, match=r"the law 'f\(x\) = x' returned a \w+: it must return a node, or None"):
            other(node)


def test_wrong_arguments_of_doors() -> None:
    with pytest.raises(InvalidArgumentError, match="the parameters of 'negate' must be a list"):
        call("negate", SArray([1]), parameters=5)
    with pytest.raises(SchemaError, match="takes columns, but one argument is of type list"):
        reduce("sum", [1, 2])
    define_function("test_list_promise", lambda t, p: INT, lambda a, t, p, rows: a[0], monotone=lambda t, literals: ["increasing"])
    with pytest.raises(InvalidArgumentError, match="it gives one of"):
        call("test_list_promise", SArray([1, 2])).sort().materialize()


@pytest.mark.spark
def test_a_spark_expression_of_another_type_is_told_where_others_compute_with_it() -> None:
    def halves(arguments: Any, types: Any, parameters: Any, rows: int) -> pa.Array:
        return pc.divide(arguments[0], 2)

    define_function("test_half", lambda t, p: INT, halves, build=lambda columns, t, p: columns[0] / 2)
    with config.using(small_rows=0):
        frame = SFrame({"a": [3, 1, None, 2, 5], "z": [5, 4, 3, 2, 1]}).groupby(["a", "z"], {"all": aggregate("concat", "z")})
        frame["h"] = call("test_half", frame["a"]).astype(str)
        with pytest.raises(
            (ExecutionError, PlanInvariantError), match="the Spark expression of the scalar function 'test_half' is not of Spark's type bigint"
        ):
            frame.sort("z").groupby("h", {"n": aggregate("concat", "z")}).materialize()
    define_function("test_right_half", lambda t, p: INT, halves, build=lambda columns, t, p: (columns[0] / 2).cast("bigint"))
    with config.using(small_rows=0):
        frame["h"] = call("test_right_half", frame["a"]).astype(str)
        assert len(frame.groupby("h", {"n": aggregate("concat", "z")})) == 4


def test_plans_that_are_no_column_or_have_no_names_are_told() -> None:
    two = node_of(SFrame({"a": [1], "b": [2]}))
    with pytest.raises(SchemaError, match="the plan has 2 columns, but an SArray is one"):
        column_of(two)
    for names in (["a"], ["a", "b", "c"], "ab", ["a", 5]):
        with pytest.raises(SchemaError, match=r"2 column\(s\) and needs a name for each"):
            frame_of(two, names)
    with pytest.raises(ValueError, match="'a'"):
        frame_of(two, ["a", "a"])
    with pytest.raises(SchemaError, match="not a list"):
        node_of([1])
    with pytest.raises(InvalidArgumentError, match="is given by its name"):
        call(["negate"], SArray([1]))
    with pytest.raises(PlanInvariantError, match="is for classes of operators"):
        register(5)


def test_values_are_checked_whoever_infers_their_type() -> None:
    define_aggregate("test_infers_as_count", AGGREGATES["count"].infer, lambda a, t, p: 1.5)
    with pytest.raises(SchemaError, match=r"gave 1.5 \(float\), which is not a value of the int"):
        reduce("test_infers_as_count", SArray([1]))


def test_a_name_is_not_taken_by_another_partial_function() -> None:
    def one(result: Any, types: Any, parameters: Any) -> Any:
        return result

    def other(result: Any, types: Any, parameters: Any) -> Any:
        return result

    define_function("test_partial", functools.partial(one, INT), lambda a, t, p, rows: a[0])
    define_function("test_partial", functools.partial(one, INT), lambda a, t, p, rows: a[0])
    with pytest.raises(InvalidArgumentError, match="'test_partial' is taken"):
        define_function("test_partial", functools.partial(other, INT), lambda a, t, p, rows: a[0])


def test_what_fused_functions_make_is_told_by_the_names_of_functions() -> None:
    def add_three(value: Any) -> Any:
        return value + 3

    frame = SFrame({"a": range(50)})
    fused = optimize(node_of(SFrame({"b": frame["a"].apply(add_three, dtype=int) * 2, "c": frame["a"] - 1})))
    assert fused.operator_type == "generalized_transform"
    made = Chunk.of([pa.array([1, 2]), pa.array([1.0, 2.0])])
    with pytest.raises(PlanInvariantError, match=r"^the kernel of 'subtract' gave Arrow's double in column 1"):
        require_inferred(fused.operator, [made], made, fused.schema)
    made = Chunk.of([pa.array([1.0, 2.0]), pa.array([1, 2])])
    with pytest.raises(PlanInvariantError, match=rf"{re.escape(add_three.__qualname__)} at .*, multiply' gave Arrow's double in column 0"):
        require_inferred(fused.operator, [made], made, fused.schema)
    with pytest.raises(PlanInvariantError, match=rf"{re.escape(add_three.__qualname__)} at .*, multiply, subtract' gave 3 columns"):
        require_inferred(fused.operator, [made], Chunk.of([pa.array([1, 2])] * 3), fused.schema)
    many = frame["a"]
    for change in (lambda c: c + 1, lambda c: c * 2, lambda c: c - 1, lambda c: c % 5, lambda c: c // 2):
        many = change(many)
    assert optimize(node_of(many)).operator.called() == "add, multiply, subtract and 2 more"


@pytest.mark.spark
def test_jobs_of_fused_functions_go_by_the_names_of_functions(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def add_three(value: Any) -> Any:
        return value + 3

    frame = SFrame(spark.range(20).withColumnRenamed("id", "a"))
    with config.using(small_rows=0):
        made = SFrame({"b": frame["a"].apply(add_three, dtype=int) * 2, "c": frame["a"] - 1})
        assert node_of(frame["a"].apply(add_three, dtype=int)).operator.called().startswith(f"{add_three.__qualname__} at {__file__}:")
        doing: list[str] = []
        monkeypatch.setattr(
            "sframe_spark.engine.runtime.task_runners.run_callables", lambda works, description, *_: doing.append(description) or 1 / 0
        )
        with pytest.raises(ZeroDivisionError):
            made.materialize()
    assert len(doing) == 1 and add_three.__qualname__ in doing[0] and "transform" not in doing[0], doing


def test_tracebacks_of_users_functions_begin_with_their_own_lines() -> None:
    package = str(Path(sframe_spark.__file__).parent)
    for fail in (
        lambda: list(SArray([1, 2, 3]).apply(lambda value: 1 // 0)),
        lambda: list(SArray([1, 2, 3]).apply(lambda value: 1 // 0, int)),
        lambda: list(SFrame({"a": [1]}).flat_map(["b"], lambda row: [[1 // 0]])),
        lambda: list(counting(advance=lambda rows: 1 // 0)(SArray([1]))),
    ):
        with pytest.raises(UserFunctionError) as found:
            fail()
        frames = [line for line in str(found.value).splitlines() if line.strip().startswith("File ")]
        assert "test_plugin_mistakes.py" in frames[0]
        assert package not in frames[0]


class Values(FileSource):
    """A source of one column, for classes that say something wrong."""

    name = "test_values"
    suffixes = (".values",)

    def columns(self) -> Any:
        return {"v": INT}

    def length(self) -> int:
        return 3

    def read(self, start: int, stop: int, columns: Any, predicate: Any) -> Any:
        yield pa.table({"v": range(start, stop)})


WRONG_SOURCES = {
    "a name as an order": ({"order": lambda self: ["v"]}, r"order\(\) of the source .* gave 'v': it gives pairs of a name and whether it ascends"),
    "a text as an order": ({"order": lambda self: "v"}, r"order\(\) of the source .* gave 'v': it gives pairs"),
    "a name as a key": ({"unique": lambda self: ["v"]}, r"unique\(\) of the source .* gave 'v': it gives lists of names"),
    "no file": ({"__init__": lambda self, file: None}, r"the source Wrong has no file: its __init__\(\) is to call super"),
}


@pytest.mark.parametrize("mistake", WRONG_SOURCES)
def test_what_a_source_says_in_another_form_is_told(mistake: str, tmp_path: Path) -> None:
    members, said = WRONG_SOURCES[mistake]
    register_source(type("Wrong", (Values,), {**members, "__module__": __name__}))
    place = tmp_path / "some.values"
    place.write_text("x")
    with pytest.raises(PlanInvariantError, match=said):
        SFrame.read(str(place))


def test_a_source_without_its_file_is_told_by_the_kit_and_where_a_frame_is_made() -> None:
    kind = type("Wrong", (Values,), {"__init__": lambda self, file: None, "__module__": __name__})
    for use in (check_source, frame_of_source):
        with pytest.raises(PlanInvariantError, match=r"the source Wrong has no file: its __init__\(\) is to call super"):
            use(kind("some.values"))


@attrs.frozen
class CountOfAuthor(StateColumn):
    """The number of values."""

    column: int

    def empty(self, groups: int) -> Any:
        return np.zeros(groups, dtype=np.int64)

    def lift(self, rows: Any, groups: Any) -> Any:
        return groups.totals(rows.column(self.column).is_valid().to_numpy(zero_copy_only=False))

    def merge(self, state: Any, groups: Any) -> Any:
        return groups.totals(state)


@attrs.frozen
class CountFromEnd(StateColumn):
    """The same of a column that it counts from the end, in a field whose name says nothing."""

    place: int

    def empty(self, groups: int) -> Any:
        return np.zeros(groups, dtype=np.int64)

    def lift(self, rows: Any, groups: Any) -> Any:
        return groups.totals(rows.column(-self.place).is_valid().to_numpy(zero_copy_only=False))

    def merge(self, state: Any, groups: Any) -> Any:
        return groups.totals(state)


WRONG_COLUMNS = {
    "finish without last": (
        lambda columns: ColumnAggregate((FloatSum(columns[0]),), lambda sums: sums),
        r"finish\(state1, \*, last\): ",
    ),
    "finish of other states": (
        lambda columns: ColumnAggregate((FloatSum(columns[0]),), lambda sums, more, *, last: sums),
        r"finish\(\) of the aggregate 'test_wrong_columns' .*'more'",
    ),
    "another column of a kind of the author's": (
        lambda columns: ColumnAggregate((CountOfAuthor(5),), lambda counts, *, last: pa.array(counts)),
        r"gets the columns \[\d\], and its CountOfAuthor reads column 5",
    ),
    "a column that the author's kind counts from the end": (
        lambda columns: ColumnAggregate((CountFromEnd(5),), lambda counts, *, last: pa.array(counts)),
        r"a state column of an aggregate reads column -5, and aggregates are given the columns \[.*\] of the rows: of_columns\(\) takes",
    ),
    "another column": (
        lambda columns: ColumnAggregate((FloatSum(5),), lambda sums, *, last: sums),
        r"gets the columns \[\d\], and its FloatSum reads column 5",
    ),
}


@pytest.mark.parametrize("mistake", WRONG_COLUMNS)
def test_state_columns_that_do_not_fit_are_told(mistake: str) -> None:
    of_columns, said = WRONG_COLUMNS[mistake]
    define_aggregate("test_wrong_columns", lambda t, p: FLOAT, of_columns=lambda t, columns, p: of_columns(columns), order_sensitive=False)
    frame = SFrame({"k": [1, 2], "v": [1.0, 2.0]})
    for use in (lambda: list(frame.groupby("k", {"a": aggregate("test_wrong_columns", "v")})), lambda: reduce("test_wrong_columns", frame["v"])):
        with pytest.raises(SchemaError, match=said):
            use()


@attrs.frozen
class Steps(SequentialOperator):
    """The number of each row; classes change one method."""

    keeps_dense: ClassVar[bool] = True

    def infer_type(self, inputs: Any) -> Any:
        return (INT,)

    def initial_state(self, facts: Any) -> Any:
        return [0]

    def summarize(self, inputs: Any, facts: Any) -> Any:
        return [inputs[0].rows]

    def combine(self, first: Any, second: Any) -> Any:
        return [first[0] + second[0]]

    def advance(self, inputs: Any, facts: Any, state: Any) -> Any:
        rows = inputs[0].rows
        return Chunk((pa.array(np.arange(state[0], state[0] + rows)),), rows), [state[0] + rows]


def changing(self: Any, inputs: Any, facts: Any, state: Any) -> Any:
    found = Steps.advance(self, inputs, facts, state)
    state[0] += inputs[0].rows
    return found[0], state


WRONG_STEPS: dict[str, tuple[dict[str, Any], str]] = {
    "a state is changed": ({"advance": changing}, r"advance\(\) does not change the state that it is given: for \d rows? it changes \[0\] to \[\d\]"),
    "no return": (
        {"combine": lambda self, first, second: first.append(second[0])},
        r"combine\(\) returns a state: combine\(\[\d\], \[\d\]\) gives None, and then the operator .* failed",
    ),
    "no combine": ({"combine": SequentialOperator.combine}, r"does not combine states: define combine\(\)"),
    "a list of properties": (
        {"infer_properties": lambda self, inputs, facts: inputs},
        r"infer_properties\(\) of the operator 'test_steps' returned a list",
    ),
}


@pytest.mark.parametrize("mistake", WRONG_STEPS)
def test_the_kit_tells_what_a_method_gives_wrongly(mistake: str) -> None:
    members, said = WRONG_STEPS[mistake]
    kind = attrs.frozen(type("WrongSteps", (Steps,), {**members, "__module__": __name__, "name": "test_steps"}))
    globals()["WrongSteps"] = kind
    register(kind)
    example = Example("test_steps", "ints", lambda: kind().make_planner_node(node_of(SArray([1, 2, 3]))))
    # ContractBroken, and what the engine refuses by itself, have this base class.
    with pytest.raises(AssertionError, match=said):
        check_operator(example, expected=lambda rows: list(range(len(rows))), generated=0)


@pytest.mark.spark
def test_a_query_that_is_no_relation_is_told() -> None:
    @register
    @attrs.frozen
    class Bare(Steps):
        name: ClassVar[str] = "test_bare"

        def plan_to_operator(self, inputs: Any, context: Any) -> Any:
            return inputs[0].df

    node = Bare().make_planner_node(node_of(SArray([1, 2])))
    said = r"plan_to_operator\(\) of the operator 'test_bare' gave a DataFrame: it gives a Relation"
    with pytest.raises(AssertionError, match=said):
        check_lowering(Example("test_bare", "ints", lambda: node))
    with pytest.raises(PlanInvariantError, match=said):
        frame_of(node, ["a"]).materialize(naive=True)
