"""The operators of derivation cases run on actual rows: every output that an operator allows, as the recorded cases describe it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.order.enumeration import Row, entry_key, in_order

Rows = Sequence[Row]
Operator = Mapping[str, Any]
# Unmatched rows of an outer join: it equals no value, and comes first as null does.
FILLER = -1


def outputs(operator: Operator, inputs: Sequence[Rows], columns: Sequence[Sequence[str]]) -> Iterator[Rows]:
    """Every output of an operator for given inputs; none where the operator does not apply."""
    name = operator["op"]
    if name.startswith(("join_", "asof_")):
        yield from _joined(operator, inputs[0], inputs[1], columns[1])
    elif len(inputs) == 2:
        yield from _combined(operator, *inputs)
    elif name in ("sort", "group_any_order"):
        yield from _reordered(operator, inputs[0])
    elif name == "subset":
        rows = inputs[0]
        yield from (list(kept) for size in range(len(rows) + 1) for kept in itertools.combinations(rows, size))
    else:
        yield _single(operator, inputs[0])


def _single(operator: Operator, rows: Rows) -> Rows:
    match operator["op"]:
        case "project":
            return [{name: evaluate(expression, row) for name, expression in operator["columns"].items()} for row in rows]
        case "filter":
            return [row for row in rows if _holds(operator["pred"], row)]
        case "head":
            return rows[: operator["n"]]
        case "tail":
            return rows[max(0, len(rows) - operator["n"]) :]
        case "reverse":
            return rows[::-1]
        case "repeat":
            return [row for row in rows for _ in range(2)]
        case "sort_stable":
            return sorted(rows, key=lambda row: _sort_key(row, operator["by"]))
        case "unique_first":
            return _first_of_each(rows, _list(operator["on"]))
        case "group_streaming":
            return _runs(rows, operator["by"])
    return _with_added_column(operator, rows)


def _with_added_column(operator: Operator, rows: Rows) -> Rows:
    values = [row[operator["of"]] for row in rows] if "of" in operator else []
    match operator["op"]:
        case "row_number":
            added: list[int] = list(range(len(rows)))
        case "cumsum":
            added = list(itertools.accumulate(values))
        case "cummax":
            added = list(itertools.accumulate(values, max))
        case "lag":
            added = [*values[:1], *values[:-1]]
        case "cummax_per":
            groups = [tuple(row[c] for c in _list(operator["per"])) for row in rows]
            added = [max(v for v, g in zip(values[: i + 1], groups, strict=False) if g == groups[i]) for i in range(len(rows))]
        case other:
            raise ValueError(other)
    return [{**row, operator["as"]: value} for row, value in zip(rows, added, strict=True)]


def _reordered(operator: Operator, rows: Rows) -> Iterator[Rows]:
    if operator["op"] == "group_any_order":
        by = _list(operator["by"])
        counts = {value: sum(tuple(row[c] for c in by) == value for row in rows) for value in {tuple(row[c] for c in by): None for row in rows}}
        rows = [{**dict(zip(by, value, strict=True)), "n": count} for value, count in counts.items()]
        yield from itertools.permutations(rows)
        return
    yield from (permuted for permuted in itertools.permutations(rows) if in_order(permuted, operator["by"]))


def _combined(operator: Operator, left: Rows, right: Rows) -> Iterator[Rows]:
    match operator["op"]:
        case "append":
            yield [*left, *right]
        case "append_if_boundary":
            if not left or not right or in_order([left[-1], right[0]], operator["boundary"]):
                yield [*left, *right]
        case "merge_sorted":
            yield _merged(list(left), list(right), operator["by"])
        case "zip":
            if len(left) == len(right):
                yield [{**first, **second} for first, second in zip(left, right, strict=True)]


def _merged(left: list[Row], right: list[Row], by: Sequence[Sequence[str]]) -> Rows:
    result: list[Row] = []
    while left and right:
        result.append((left if _sort_key(left[0], by) <= _sort_key(right[0], by) else right).pop(0))
    return result + left + right


def _joined(operator: Operator, left: Rows, right: Rows, right_columns: Sequence[str]) -> Iterator[Rows]:
    name, key, partner = operator["op"], operator["left"], operator["right"]
    choices: list[list[Sequence[Row]]] = []
    for row in left:
        matches = [other for other in right if (row[key] < other[partner] if name == "join_range" else row[key] == other[partner])]
        if name == "join_semi":
            choices.append([[row] if matches else []])
            continue
        if name == "asof_left":
            matches = [other for other in right if other[partner] <= row[key]][-1:]
        if not matches and name in ("join_left", "asof_left"):
            matches = [dict.fromkeys(right_columns, FILLER)]
        orders = [matches] if operator.get("matches") == "in order" else list(itertools.permutations(matches))
        choices.append([[{**row, **other} for other in order] for order in orders])
    for chosen in itertools.product(*choices):
        yield [row for rows in chosen for row in rows]


def _first_of_each(rows: Rows, columns: Sequence[str]) -> Rows:
    seen = set()
    result = []
    for row in rows:
        value = tuple(row[column] for column in columns)
        if value not in seen:
            seen.add(value)
            result.append(row)
    return result


def _runs(rows: Rows, by: Sequence[str]) -> Rows:
    result = []
    for value, run in itertools.groupby(rows, lambda row: tuple(row[column] for column in by)):
        members = list(run)
        others = [column for column in members[0] if column not in by]
        first = {"first": members[0][others[0]]} if len(others) == 1 else {}
        result.append({**dict(zip(by, value, strict=True)), "n": len(members), **first})
    return result


def evaluate(expression: Any, row: Row) -> Any:
    """The value of an expression in a row."""
    if isinstance(expression, str):
        return row[expression]
    if not isinstance(expression, list):
        return expression
    name, *operands = expression
    if name == "lit":
        return operands[0]
    values = [evaluate(operand, row) for operand in operands]
    match name:
        case "neg":
            return -values[0]
        case "plus":
            return values[0] + values[1]
        case "minus":
            return values[0] - values[1]
        case "times":
            return values[0] * values[1]
        case "div2":
            return values[0] // 2
        case "mod2":
            return values[0] % 2
        case "abs1":
            return abs(values[0] - 1)
        case "concat":
            return "".join(values)
        case "bit":
            return ("a", "a0", "b")[values[0]]
    raise ValueError(name)


def _holds(predicate: Sequence[Any], row: Row) -> bool:
    name, first, second = predicate
    match name:
        case "eq_const":
            return bool(row[first] == second)
        case "ge_const":
            return bool(row[first] >= second)
        case "eq":
            return bool(row[first] == row[second])
        case "lt":
            return bool(row[first] < row[second])
    raise ValueError(name)


def _sort_key(row: Row, by: Sequence[Sequence[str]]) -> list[tuple[int, int]]:
    return [entry_key(row[item[0]], item) for item in by]


def _list(value: str | Sequence[str]) -> list[str]:
    return [value] if isinstance(value, str) else list(value)
