"""What ``sframe_spark.plugin`` exports, laws of scripts, and codes of keys with the engine's equality."""

from __future__ import annotations

import math
import sys
import types
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import sframe_spark
from sframe_spark import SArray, plugin
from sframe_spark.errors import PlanInvariantError
from sframe_spark.operators.sources.in_memory import memory_source
from sframe_spark.planner.law_registry import registered_laws
from sframe_spark.plugin import column_of, frame_of, key_codes, law, node_of, register_law, reverse, zip_columns
from sframe_spark.types import FLOAT
from sframe_spark.values.python_to_arrow import encode

pytestmark = pytest.mark.usefixtures("own_registry")


def test_an_import_of_all_names_hides_no_module() -> None:
    names: dict[str, Any] = {}
    exec("from sframe_spark.plugin import *", names)
    modules = {name for name in dir(sframe_spark) if isinstance(getattr(sframe_spark, name), types.ModuleType)}
    assert {"aggregate", "util"} <= modules
    hidden = {name for name in names if name in modules | sys.stdlib_module_names and names[name] is not getattr(sframe_spark, name, None)}
    assert hidden - {"__builtins__"} == set()
    assert set(plugin.__all__) <= set(names) and len(set(plugin.__all__)) == len(plugin.__all__)


def test_the_former_name_of_requests_for_aggregates_stays() -> None:
    assert plugin.aggregate is plugin.aggregate_of


def test_what_claims_of_order_and_searches_need_is_exported() -> None:
    properties = plugin.OrderingProperties(orderings=[[("a", "asc")]])
    assert plugin.derive.first_rows(properties, 1) is not None
    rows = plugin.Chunk.of([pa.array([1, 4, 9])])
    assert plugin.as_lookup(rows, (plugin.INT,)).rows == 3 and isinstance(plugin.as_lookup(rows, (plugin.INT,)), plugin.Lookup)
    assert plugin.TOO_LARGE is not None and plugin.SourceKind.FILES.value == "files"
    assert plugin.FunctionCalls._fields == ("functions", "types", "with_functions")


def applied(values: list[int], fired: list[str]) -> list[str]:
    """The marks of laws that were tried on a new plan."""
    fired.clear()
    column_of(reverse(node_of(SArray(values).sort()))).explain()
    return sorted(fired)


def marking(mark: str, fired: list[str], equation: str = "test_script(x) = x") -> Any:
    def rewrite(node: Any) -> None:
        fired.append(mark)

    return law(equation, stage="pushdown", on="reverse")(rewrite)


def test_a_law_of_a_script_is_registered_and_taken_back() -> None:
    fired: list[str] = []
    handle = register_law(marking("a", fired))
    assert "a" in applied([1, 2], fired)
    handle.remove()
    handle.remove()
    assert applied([1, 3], fired) == []
    with register_law(marking("b", fired)) as rule, register_law(marking("c", fired, "test_other(x) = x")):
        assert rule.equation == "test_script(x) = x"
        assert {"b", "c"} <= set(applied([1, 4], fired))
    assert applied([1, 5], fired) == []
    with pytest.raises(ZeroDivisionError), register_law(marking("d", fired)):
        _ = 1 // 0
    assert registered_laws() == tuple(rule for rule in registered_laws() if not rule.equation.startswith("test_"))


def test_a_cell_that_runs_again_replaces_its_law() -> None:
    fired: list[str] = []
    first = register_law(marking("first", fired))
    second = register_law(marking("second", fired))
    assert set(applied([1, 2], fired)) == {"second"}
    # What was replaced is no longer there to be taken back.
    first.remove()
    assert set(applied([1, 3], fired)) == {"second"}
    second.remove()
    assert applied([1, 4], fired) == []


def test_a_law_that_a_script_registers_wrongly_is_told_at_its_line() -> None:
    def other(node: Any) -> None:
        pass

    taken = r"the name 'test_script\(x\) = x' is taken by the law of tests\.test_plugin_names\.marking"
    with register_law(marking("a", [])), pytest.raises(PlanInvariantError, match=taken):
        register_law(law("test_script(x) = x", stage="pushdown", on="sort")(other))
    for wrong, message in (
        (law("reverse(reverse(x)) = x", stage="pushdown", on="sort")(other), "taken by a built-in law"),
        (law("test_x(x) = x", stage="pushdown", on="srot")(other), "about the operator 'srot', which is not registered: did you mean 'sort'"),
        (law("test_x(x) = x", stage="push", on="sort")(other), "should run in the stage 'push'"),
        (other, "is not a law: @law"),
    ):
        with pytest.raises(PlanInvariantError, match=message):
            register_law(wrong)


NAN, OTHER_NAN = float("nan"), -float("nan")
KEYS: dict[str, list[Any]] = {
    "floats": [0.0, -0.0, NAN, OTHER_NAN, None, math.inf, -math.inf, 1.5, None],
    "ints": [0, None, -(2**63), 2**63 - 1, 0, None],
    "texts": ["", "a", None, "A", "a", "a\0", "ä"],
    "lists": [[1.0, NAN], [1.0, OTHER_NAN], [], None, [0.0], [-0.0], []],
}


@pytest.mark.parametrize("kind", KEYS)
@pytest.mark.parametrize("change", [lambda column: column, lambda column: column[2:], lambda column: column[:0]])
def test_codes_of_keys_are_equal_where_a_group_by_finds_them_equal(kind: str, change: Callable[[pa.Array], pa.Array]) -> None:
    column_type = node_of(SArray(KEYS[kind])).schema[0]
    column = change(encode(KEYS[kind], column_type))
    codes = key_codes([column, column], [column_type, column_type]).tolist()
    assert sorted(set(codes)) == list(range(len(set(codes))))
    rows = range(len(codes))
    values = frame_of(zip_columns(memory_source([column], [column_type]), node_of(SArray(rows, dtype=int))), ["key", "row"])
    groups = values.groupby("key", {"rows": sframe_spark.aggregate.CONCAT("row")})["rows"]
    assert {tuple(rows) for rows in groups} == {tuple(row for row in rows if codes[row] == code) for code in codes}


def test_codes_of_dicts() -> None:
    values = [{"a": 1, "b": 2}, {"b": 2, "a": 1}, {}, None, {}]
    column_type = node_of(SArray(values)).schema[0]
    assert key_codes([encode(values, column_type)], [column_type]).tolist() == [0, 0, 1, 2, 1]


def test_codes_of_keys_of_two_inputs() -> None:
    left, right = pa.array([1.0, NAN, -0.0]), pa.array([0.0, OTHER_NAN, 2.0])
    codes = key_codes([pa.concat_arrays([left, right])], [FLOAT])
    assert (codes[1], codes[2]) == (codes[4], codes[3]) and len(set(codes.tolist())) == 4
