"""The expression that a translated function becomes: values computed from columns, and the decisions between them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import attrs

INT, FLOAT, BOOL, STR, DATETIME, TEXTS, OTHER = "int", "float", "bool", "str", "datetime", "texts", "other"
"""The class of all results of an expression; ``texts`` are lists of strings, ``other`` is a class with no operations."""
NUMBERS = frozenset({INT, FLOAT, BOOL})


@attrs.frozen(eq=False)
class Expression:
    """A value computed from the columns of a row. Equal expressions of one function are one object.

    Parameters
    ----------
    operation
        Name of the operation: ``column``, ``constant``, or a key of the tables of kernels.
    kind
        The class of the results: one of the constants of this module.
    operands
        The values that it is computed from.
    parameters
        Constants: the position of a column, the value of a constant, or what the operation takes.
    """

    operation: str
    kind: str
    operands: tuple[Expression, ...] = ()
    parameters: tuple[Any, ...] = ()


@attrs.frozen(eq=False)
class Decision:
    """One of two outcomes, by the truth of a condition."""

    condition: Expression
    if_true: Tree
    if_false: Tree


@attrs.frozen(eq=False)
class Checked:
    """An outcome of which Python computes more than its value: each of these expressions has to have a result, or else Python raises its error."""

    expressions: tuple[Expression, ...]
    outcome: Expression | NoValue


class NoValue:
    """An outcome without a value, of which there are two: ``MISSING`` and ``CALL``."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __reduce__(self) -> str:
        return self.name


MISSING = NoValue("MISSING")
"""The result is None."""
CALL = NoValue("CALL")
"""Python calls the function, as it raises an error there."""

Tree = Expression | Decision | Checked | NoValue

_SIGNS = {
    "add": "+", "subtract": "-", "multiply": "*", "divide": "/", "floor_divide": "//", "remainder": "%", "power": "**", "both": "&", "either": "|",
    "differ": "^", "equal": "==", "unequal": "!=", "less": "<", "less_or_equal": "<=", "greater": ">", "greater_or_equal": ">=", "concatenate": "+",
    "repeat": "*", "time_between": "-",
}  # fmt: skip
MAX_TEXT = 400


def text_of(tree: Tree, names: Mapping[int, str] | None) -> str:
    """Return a tree as a Python expression of ``x``, or of ``row[name]`` if columns have names; shortened if it is long.

    Examples
    --------
    >>> x = Expression("column", INT, (), (0,))
    >>> one, three = (Expression("constant", INT, (), (value,)) for value in (1, 3))
    >>> text_of(Decision(Expression("greater", BOOL, (x, three)), Expression("add", INT, (x, one)), MISSING), None)
    'x + 1 if x > 3 else None'
    """
    text = ""
    for part in _parts(tree, names):
        text += part
        if len(text) > MAX_TEXT:
            return f"{text[:MAX_TEXT]}..."
    return text


def _parts(tree: Tree, names: Mapping[int, str] | None) -> Iterator[str]:
    while isinstance(tree, Decision):
        if isinstance(tree.if_true, Decision):
            yield "("
            yield from _parts(tree.if_true, names)
            yield ")"
        else:
            yield from _parts(tree.if_true, names)
        yield " if "
        yield from _parts(tree.condition, names)
        yield " else "
        tree = tree.if_false
    if isinstance(tree, Checked):
        tree = tree.outcome
    if isinstance(tree, NoValue):
        yield "None" if tree is MISSING else "(call)"
    else:
        yield from _of_expression(tree, names)


def _of_expression(expression: Expression, names: Mapping[int, str] | None) -> Iterator[str]:
    operation, operands, parameters = expression.operation, expression.operands, expression.parameters
    if operation == "constant":
        yield _short(parameters[0])
    elif operation in ("column", "missing"):
        yield "x" if names is None else f"row[{names[parameters[0]]!r}]"
        yield "" if operation == "column" else " is None"
    elif operation in _SIGNS:
        for number, operand in enumerate(operands):
            yield f" {_SIGNS[operation]} " if number else ""
            is_single = operand.operation not in _SIGNS
            yield "" if is_single else "("
            yield from _of_expression(operand, names)
            yield "" if is_single else ")"
    else:
        yield f"{operation}("
        for number, operand in enumerate(operands):
            yield ", " if number else ""
            yield from _of_expression(operand, names)
        yield "".join(f", {_short(parameter)}" for parameter in parameters)
        yield ")"


def _short(value: Any) -> str:
    if isinstance(value, (tuple, dict)) and len(value) > 5:
        return f"{len(value):,} constants"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}..."


def expressions_of(tree: Tree) -> list[Expression]:
    """Return all expressions of a tree, each once: conditions, outcomes and their operands."""
    found: dict[int, Expression] = {}
    seen: set[int] = set()
    pending: list[Tree] = [tree]
    while pending:
        item = pending.pop()
        if id(item) in seen:
            continue
        seen.add(id(item))
        if isinstance(item, Decision):
            pending += [item.condition, item.if_true, item.if_false]
        elif isinstance(item, Checked):
            pending += [*item.expressions, item.outcome]
        elif isinstance(item, Expression):
            found[id(item)] = item
            pending += item.operands
    return list(found.values())
