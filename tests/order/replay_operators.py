"""Reads the operators of derivation cases: names and lists become calls of :mod:`sframe_spark.order.derive`.

The columns of these cases hold the integers 0, 1, 2, ... without null. An operator or function that is not known here promises nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sframe_spark.order import Monotone, OrderingProperties, derive
from sframe_spark.order.order_facts import Column, Effect

Operator = Mapping[str, Any]
Inputs = Sequence[OrderingProperties]


def derive_output(operator: Operator, inputs: Inputs, columns: Sequence[Sequence[str]]) -> OrderingProperties:
    """Properties of an operator's output.

    Parameters
    ----------
    operator
        The operator as a case writes it.
    inputs
        Properties of its inputs.
    columns
        The columns of each input.

    Examples
    --------
    >>> known = OrderingProperties(orderings=[[("a", "asc")]])
    >>> derive_output({"op": "reverse"}, [known], [["a"]]).satisfies([("a", "desc")])
    True
    """
    name = operator["op"]
    if len(inputs) == 2:
        return _derive_of_two(name, operator, inputs, columns)
    known = inputs[0]
    match name:
        case "project":
            return ProjectionReader(known).project(operator["columns"])
        case "group_any_order":
            return derive.group_any_order(known, _listed(operator["by"]), count="n")
        case "group_streaming":
            by = _listed(operator["by"])
            return derive.group_streaming(known, by, _first_values(operator, by, columns[0]), count="n")
        case "row_number" | "cumsum" | "cummax" | "cummax_per" | "lag":
            return _derive_added_column(name, operator, known, columns[0])
    return _derive_rows(name, operator, known, columns[0])


def _derive_rows(name: str, operator: Operator, known: OrderingProperties, columns: Sequence[str]) -> OrderingProperties:
    """Operators that keep the columns."""
    match name:
        case "filter":
            return _filtered(known, operator["pred"])
        case "subset":
            return derive.subset(known)
        case "head" | "tail":
            return derive.first_rows(known, operator["n"])
        case "reverse":
            return derive.reverse(known)
        case "repeat":
            return derive.repeat_each(known, columns)
        case "sort" | "sort_stable":
            return derive.sort(known, operator["by"], stable=name == "sort_stable")
        case "unique_first":
            return derive.unique_first(known, _listed(operator["on"]))
    return OrderingProperties()


def _derive_added_column(name: str, operator: Operator, known: OrderingProperties, columns: Sequence[str]) -> OrderingProperties:
    match name:
        case "row_number":
            return derive.row_number(known, operator["as"])
        case "cumsum":
            return derive.cumulative_sum(known, operator["of"], operator["as"], non_negative=True)
        case "cummax":
            return derive.cumulative_max(known, operator["of"], operator["as"])
        case "cummax_per":
            groups = _columns_named(operator, ("op", "of", "as"), columns)
            return derive.cumulative_max(known, operator["of"], operator["as"], groups) if groups else OrderingProperties()
        case "lag":
            return derive.lag(known, operator["of"], operator["as"], missing_first=False)
    return OrderingProperties()


def _derive_of_two(name: str, operator: Operator, inputs: Inputs, columns: Sequence[Sequence[str]]) -> OrderingProperties:
    left, right = inputs
    in_order = operator.get("matches") == "in order"
    match name:
        case "append":
            return derive.append(left, right)
        case "append_if_boundary":
            return derive.append(left, right, boundary=operator["boundary"])
        case "merge_sorted":
            return derive.merge_sorted(left, right, operator["by"])
        case "zip":
            return derive.zip_rows(left, right)
        case "join_range":
            return derive.join_range(left, right, columns[0], columns[1], matches_in_order=in_order)
        case "join_inner":
            return derive.join_inner(left, right, _pairs(operator), columns[0], columns[1], matches_in_order=in_order)
        case "join_left":
            return derive.join_left(left, right, _pairs(operator), columns[0], columns[1], matches_in_order=in_order)
        case "join_semi":
            return derive.join_semi(left, right, _pairs(operator))
        case "asof_left":
            return derive.asof_left(left, right, (operator["left"], operator["right"]), columns[1])
    return OrderingProperties()


def _pairs(operator: Operator) -> list[tuple[str, str]]:
    return list(zip(_listed(operator["left"]), _listed(operator["right"]), strict=True))


def _listed(value: str | Sequence[str]) -> list[str]:
    return [value] if isinstance(value, str) else list(value)


def _columns_named(operator: Operator, others: Sequence[str], columns: Sequence[str]) -> list[str]:
    """The columns that an operator names under a key of its own: tables differ in what they call it."""
    for key, value in operator.items():
        if key not in others and isinstance(value, str | list) and value and all(name in columns for name in _listed(value)):
            return _listed(value)
    return []


def _first_values(operator: Operator, by: Sequence[str], columns: Sequence[str]) -> dict[Column, Column]:
    """Which column an output ``first`` is read from, where that can only be one."""
    named = _columns_named(operator, ("op", "by"), columns)
    candidates = named or [column for column in columns if column not in by]
    return {"first": candidates[0]} if len(candidates) == 1 else {}


def _filtered(known: OrderingProperties, predicate: Sequence[Any]) -> OrderingProperties:
    match predicate:
        case ["eq_const", column, _]:
            return derive.filtered(known, constants=[column])
        case ["eq", first, second] if isinstance(first, str) and isinstance(second, str):
            return derive.filtered(known, equivalences=[(first, second)])
        case ["lt", first, second] if known.equivalent(first, second):
            return known.add(keys=[()])
        case ["and", *parts]:
            for part in parts:
                known = _filtered(known, part)
            return known
    return derive.subset(known)


class ProjectionReader:
    """Collects what a projection's expressions say of the columns that they compute.

    Parameters
    ----------
    known
        Properties of the input.

    Examples
    --------
    >>> reader = ProjectionReader(OrderingProperties(orderings=[[("a", "asc")]]))
    >>> reader.project({"x": ["plus", ["div2", "a"], 1]}).satisfies([("x", "asc")])
    True
    """

    def __init__(self, known: OrderingProperties) -> None:
        self._known = known
        self._monotone: dict[Monotone, None] = {}
        self._determined: list[tuple[tuple[Column, ...], tuple[Column, ...]]] = []
        self._constants: dict[Column, None] = {}

    def project(self, columns: Mapping[str, Any]) -> OrderingProperties:
        """Properties of a projection whose columns are names or expressions."""
        outputs = {name: self._read(expression) for name, expression in columns.items()}
        return derive.project(self._known, outputs, self._monotone, self._determined, self._constants)

    def _read(self, expression: Any) -> Column:
        """The column that an expression computes, after noting what is known of it."""
        if isinstance(expression, str):
            return expression
        if not isinstance(expression, list):
            return self._constant(("literal", repr(expression)))
        name, *operands = expression
        column = ("expression", repr(expression))
        if name == "lit":
            return self._constant(column)
        arguments = [self._read(operand) for operand in operands]
        varying = [argument for argument in arguments if argument not in self._constants]
        if name in _FUNCTIONS and not varying:
            return self._constant(column)
        match name:
            case "neg":
                self._is_monotone(column, [(varying[0], "dec")], strict=True)
            case "bit":
                self._is_monotone(column, [(varying[0], "inc")], strict=True)
            case "div2":
                self._is_monotone(column, [(varying[0], "inc")], strict=False)
            case "mod2":
                half = self._read(["div2", operands[0]])
                self._is_monotone(column, [(half, "fixed"), (varying[0], "inc")], strict=True)
                self._determined.append(((varying[0],), (column,)))
            case "abs1":
                self._determined.append(((varying[0],), (column,)))
            case "plus":
                self._is_monotone(column, [(argument, "inc") for argument in varying], strict=True)
            case "minus":
                self._difference(column, arguments)
            case "times":
                self._multiple(column, varying, [operand for operand in operands if isinstance(operand, int | float)])
            case "concat":
                self._concatenation(column, operands, varying)
        return column

    def _constant(self, column: Column) -> Column:
        self._constants[column] = None
        return column

    def _is_monotone(self, column: Column, arguments: Sequence[tuple[Column, Effect]], strict: bool) -> None:
        self._monotone[Monotone(column, tuple(arguments), strict)] = None

    def _difference(self, column: Column, arguments: Sequence[Column]) -> None:
        first, second = arguments
        if self._known.equivalent(first, second):
            self._constant(column)
            return
        effects: list[tuple[Column, Effect]] = [(first, "inc"), (second, "dec")]
        self._is_monotone(column, [(argument, effect) for argument, effect in effects if argument not in self._constants], strict=True)

    def _multiple(self, column: Column, varying: Sequence[Column], factors: Sequence[float]) -> None:
        if len(varying) != 1 or len(factors) != 1:
            self._determined.append((tuple(varying), (column,)))
        elif factors[0] == 0:
            self._constant(column)
        else:
            self._is_monotone(column, [(varying[0], "inc" if factors[0] > 0 else "dec")], strict=True)

    def _concatenation(self, column: Column, operands: Sequence[Any], varying: Sequence[Column]) -> None:
        """Text put together keeps the order of its last part only, and only where the parts before are equal."""
        self._determined.append((tuple(varying), (column,)))
        *before, last = varying
        if self._read(operands[-1]) == last and last not in before:
            self._is_monotone(column, [*((argument, _FIXED) for argument in before), (last, "inc")], strict=True)
        if len(varying) == 1 or all(isinstance(operand, list) and operand[0] == "bit" for operand in operands):
            # No code of `bit` is the beginning of another followed by a letter: the parts can be told from the whole.
            self._determined.append(((column,), tuple(varying)))


_FIXED: Effect = "fixed"
_FUNCTIONS = frozenset({"neg", "plus", "minus", "times", "div2", "mod2", "abs1", "concat", "bit"})
