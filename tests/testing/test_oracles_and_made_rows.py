"""Oracles of the contract kit, and the rows that it makes: what is compared, what is not, and what is said."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from sframe_spark.errors import ContractBroken, MissingLibraryError, UncheckedWarning
from sframe_spark.operators.row_selection import reverse, slice_rows
from sframe_spark.operators.sources.in_memory import range_source
from sframe_spark.planner.law import Law
from sframe_spark.plugin import FLOAT, INT, STR, define_aggregate, define_function, law
from sframe_spark.rewrite_laws import STAGES
from sframe_spark.testing.contract import Example, check_operator
from sframe_spark.testing.function_and_aggregate_contracts import check_aggregate, check_function
from sframe_spark.testing.generated_inputs import chunk_of, fewest_rows, fixed_tables, values_of
from sframe_spark.testing.golden_plans_of_laws import main, read_cases, rewritten, run_case
from sframe_spark.testing.law_contract import check_law
from sframe_spark.testing.row_comparison import rows_of
from sframe_spark.types import ARRAY, DATETIME, ENCODED_DICT, ENCODED_LIST, ZONED_DATETIME, ColumnType, dict_of, list_of

pytestmark = pytest.mark.usefixtures("own_registry")

KINDS = [INT, FLOAT, STR, ARRAY, DATETIME, ZONED_DATETIME, ENCODED_LIST, ENCODED_DICT, list_of(FLOAT), dict_of(STR, INT)]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_values_of_every_type_are_made_within_longer_arrays(kind: ColumnType) -> None:
    values = values_of(kind)
    assert None in values and len(values) > 3
    chunk = chunk_of([(value,) for value in values], (kind,))
    assert chunk.columns[0].offset > 0 and chunk.columns[0].type.equals(kind.physical)
    found = [row[0] for row in rows_of(chunk, (kind,))]
    assert list(map(repr, found)) == list(map(repr, values))


def test_tables_have_no_rows_ties_and_all_pairs() -> None:
    tables = [made[0] for made in fixed_tables([(FLOAT, FLOAT)], False)]
    assert [] in tables and any(len(table) > len(set(map(repr, table))) for table in tables)
    assert {("nan", "1.0"), ("1.0", "nan"), ("None", "inf")} <= {(repr(a), repr(b)) for a, b in tables[-1]}


def test_rows_are_left_out_as_long_as_the_rule_is_broken() -> None:
    def check(tables: Any) -> None:
        if sum(row[0] == 7 for row in tables[0]) >= 2:
            raise ContractBroken("it", "no two sevens", str(tables))

    error = ContractBroken("it", "no two sevens", "")
    fewer, found = fewest_rows(check, [[(number % 8,) for number in range(40)]], error, False)
    assert fewer == [[(7,), (7,)]] and found.found == str(fewer)


def halves(arguments: Any, types: Any, parameters: Any, rows: int) -> Any:
    if pc.any(pc.equal(arguments[0], 0)).as_py():
        raise ValueError("no half of nothing")
    return pc.divide(arguments[0].cast("double", safe=False), 2.0)


def half(value: int | None) -> float | None:
    if value == 0:
        raise ValueError("no half")
    return None if value is None else value / 2


def test_errors_are_compared_too() -> None:
    define_function("oracle_half", lambda t, p: FLOAT, halves, may_fail=True)
    check_function("oracle_half", INT, spark=False, expected=half)
    with pytest.raises(ContractBroken, match=r"oracle_half\(0\) raises UserFunctionError: (?s:.*)expected\(\) gives 0.0"):
        check_function("oracle_half", INT, spark=False, expected=lambda value: None if value is None else value / 2)
    with pytest.raises(ContractBroken, match=r"oracle_half\(1\) is 0.5, and expected\(\) raises ValueError: odd"):
        check_function("oracle_half", [1], spark=False, expected=raises_for_odd)
    check_function("oracle_half", [1, 5], spark=False, expected=lambda value: NotImplemented)
    define_function("oracle_unsaid", lambda t, p: FLOAT, halves)
    with pytest.raises(ContractBroken, match=r"it fails for no value of its types, since may_fail is False(?s:.*)Say may_fail=True"):
        check_function("oracle_unsaid", INT, spark=False)


def raises_for_odd(value: int) -> float:
    raise ValueError("odd")


def test_a_constant_in_place_of_a_column_changes_nothing() -> None:
    def first(arguments: Any, types: Any, parameters: Any, rows: int) -> Any:
        return arguments[0] if isinstance(arguments[1], pa.Array) else pa.nulls(rows, pa.int64())

    define_function("oracle_first", lambda t, p: INT, first)
    with pytest.raises(ContractBroken, match=r"argument 1 may be a constant: .* is 1 of columns, and None where argument 1 is a constant"):
        check_function("oracle_first", [1, 2], [3, 4], spark=False)


def test_what_is_not_compared_is_told() -> None:
    define_aggregate("oracle_count", lambda t, p: INT, lambda a, t, p: len(a[0]), order_sensitive=False)
    example = Example("slice", "all", lambda: slice_rows(range_source(0, 3), 0, 2))
    checks: dict[str, Callable[..., None]] = {
        "the scalar function 'negate'": lambda **given: check_function("negate", [1, 2], spark=False, generated=0, **given),
        "the aggregate 'oracle_count'": lambda **given: check_aggregate("oracle_count", [1] * 6, spark=False, generated=0, **given),
        "the operator 'slice'": lambda **given: check_operator(example, generated=0, **given),
    }
    for (what, check), expected in zip(checks.items(), (lambda v: -v, len, lambda rows: rows[:2]), strict=True):
        with pytest.warns(UncheckedWarning, match=f"of {what} were compared with no others: expected= takes a plain Python function") as told:
            check()
        assert told[0].filename == __file__
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            check(expected=expected)
    with pytest.raises(ContractBroken, match=r"rows are the expected ones: the kernel gives 2 rows: .* gives 3 rows"):
        check_operator(example, expected=lambda rows: rows)
    with pytest.raises(ContractBroken, match="gives rows for those of the example: NotImplemented"):
        check_operator(example, expected=lambda rows: NotImplemented)


def test_without_hypothesis_it_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    with pytest.raises(MissingLibraryError, match=r"pip install 'sframe_spark\[testing\]', or set generated=0"):
        check_function("negate", [1, 2], spark=False, expected=lambda v: None if v is None else -v)
    check_function("negate", [1, 2], spark=False, expected=lambda v: -v, generated=0)


def wrong_for_many(equation: str) -> Law:
    """A law that is right for the plan of the golden case below, but for its numbers."""

    @law(equation, stage="pushdown", on="slice")
    def rewrite(node: Any) -> Any:
        child = node.inputs[0]
        if child.operator_type != "slice" or child.operator.stop is None or node.operator.stop is None:
            return None
        start = node.operator.start + child.operator.start
        return slice_rows(child.inputs[0], start, start + node.operator.stop - node.operator.start)

    return rewrite


GOLDEN = """table a(int) x 10

## slice(slice(x, a), b) = slice(x, a and b)
-- steps of one
r0 := segment_source[a, columns [0], rows 0..10]()  # (int) x 10
r1 := slice[2:8:STEP](r0)  # (int) x ROWS
r2 := slice[0:2](r1)  # (int) x 2
=>
r0 := segment_source[a, columns [0], rows 0..10]()  # (int) x 10
r1 := slice[2:4](r0)  # (int) x 2
"""


def test_golden_plans_compare_rows() -> None:
    rule = wrong_for_many("slice(slice(x, a), b) = slice(x, a and b)")
    (right,) = read_cases(GOLDEN.replace(":STEP", "").replace("ROWS", "6"))
    assert run_case(right, [rule], STAGES) is None
    text = GOLDEN.replace("STEP", "2").replace("ROWS", "3")
    (wrong,) = read_cases(text)
    assert "the law changes values: row 1, column 0" in str(run_case(wrong, [rule], STAGES))
    with pytest.raises(Exception, match=r"the case 'steps of one' of the law .* is not written: the law changes values"):
        rewritten(text, [rule], STAGES)
    with pytest.raises(ContractBroken, match="rows and types are the same with the law and without it"):
        check_law(rule, lambda rows: slice_rows(slice_rows(rows, 1, 8), 0, 2), INT)


def test_a_file_with_a_case_whose_rows_change_is_not_rewritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rule = wrong_for_many("slice(slice(x, a), b) = slice(x, a and b)")
    monkeypatch.setattr("sframe_spark.testing.golden_plans_of_laws.builtin_laws", lambda: (rule,))
    monkeypatch.setattr("sframe_spark.testing.golden_plans_of_laws.active_laws", lambda: ())
    text = GOLDEN.replace("STEP", "2").replace("ROWS", "3").replace("slice[2:4]", "slice[2:5]")
    (tmp_path / "a.txt").write_text(text, encoding="utf-8")
    assert main([str(tmp_path), "--update"]) == 1
    assert "is not written: the law changes values" in capsys.readouterr().out
    assert (tmp_path / "a.txt").read_text(encoding="utf-8") == text


def test_the_command_says_which_case_differs_and_what_is_wrong_with_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    @law("reverse(reverse(x)) = x", stage="pushdown", on="reverse")
    def rule(node: Any) -> Any:
        return None

    monkeypatch.setattr("sframe_spark.testing.golden_plans_of_laws.builtin_laws", lambda: (rule,))
    monkeypatch.setattr("sframe_spark.testing.golden_plans_of_laws.active_laws", lambda: ())
    source = "r0 := segment_source[a, columns [0], rows 0..10]()  # (int) x 10"
    text = f"table a(int) x 10\n\n## reverse(reverse(x)) = x\n-- once\n{source}\nr1 := reverse[](r0)  # (int) x 10\n=>\n{source}\n"
    (tmp_path / "a.txt").write_text(text, encoding="utf-8")
    (tmp_path / "b.txt").write_text(text.replace("columns [0]", "columns [7]"), encoding="utf-8")
    (tmp_path / "c.txt").write_text(text.replace("## reverse(", "## revers("), encoding="utf-8")
    assert main([str(tmp_path)]) == 3
    said = capsys.readouterr().out
    assert "the case 'once' of the law 'reverse(reverse(x)) = x': the law does not fire" in said
    assert "b.txt: the plan of the case 'once' of the law 'reverse(reverse(x)) = x' is none" in said
    assert "c.txt: no law is named 'revers(reverse(x)) = x', did you mean 'reverse(reverse(x)) = x'?" in said


def test_plans_of_many_steps_are_written_and_read_in_full() -> None:
    steps = "; ".join(f"v{number + 1} := add(v{number}, 1)" for number in range(9))
    plan = f"r1 := generalized_transform[{steps}; [v9]](r0)  # (int) x 10"
    text = (
        f"table a(int) x 10\n\n## reverse(reverse(x)) = x\n-- nine steps\nr0 := segment_source[a, columns [0], rows 0..10]()  # (int) x 10\n{plan}\n"
    )
    (case,) = read_cases(f"{text}unchanged\n")

    @law("reverse(reverse(x)) = x", stage="pushdown", on="reverse")
    def rule(node: Any) -> Any:
        return None

    assert run_case(case, [rule], STAGES) is None
    (other,) = read_cases(f"{text.replace('add(v6, 1)', 'add(v6, 2)')}unchanged\n")
    assert case.input_text != other.input_text
    assert reverse(case.input_plan()).length.rows == 10
