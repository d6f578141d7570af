"""Symbolic execution: a function runs on symbols once for each path through its decisions, and the paths become one tree."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Sequence
from typing import Any

import attrs

from sframe_spark.errors import Untranslatable
from sframe_spark.expressions.translation.expression_tree import (
    CALL,
    DATETIME as DATETIME_VALUES,
    FLOAT,
    INT,
    MISSING,
    OTHER,
    STR,
    Checked,
    Decision,
    Expression,
    NoValue,
    Tree,
)
from sframe_spark.expressions.translation.function_copy import is_plain
from sframe_spark.expressions.translation.symbols import Recording, Symbol, TracedRow, value_of_column
from sframe_spark.expressions.translation.traced_functions import Meanings
from sframe_spark.types import DATETIME, FLOAT_KIND, INT_KIND, STR_KIND, ColumnType

MAX_PATHS = 200
MAX_DECISIONS = 60


@attrs.frozen(eq=False)
class Traced:
    """What a function computes.

    Parameters
    ----------
    tree
        Its outcomes.
    reads_all
        Whether a call may read columns that no path has read, so that it needs whole rows.
    """

    tree: Tree
    reads_all: bool


def kind_of(column_type: ColumnType) -> str:
    """Return the kind of a column's values in expressions."""
    if column_type == DATETIME:
        return DATETIME_VALUES
    return {INT_KIND: INT, FLOAT_KIND: FLOAT, STR_KIND: STR}.get(column_type.kind, OTHER)


def traced(function: Any, schema: Sequence[ColumnType], names: tuple[str, ...] | None, skip_missing: bool) -> Traced:
    """Return what a function computes from the columns of a row.

    Parameters
    ----------
    function
        The user's callable. It is not called: a checked copy of it is.
    schema
        The types of the columns.
    names
        Their names if the function takes a row as a dict; None if it takes the value of the only column.
    skip_missing
        Whether the function is not called for missing values.

    Raises
    ------
    Untranslatable
        If that is not known; the message says why, as what the function does.

    Examples
    --------
    >>> from sframe_spark.expressions.translation.expression_tree import text_of
    >>> from sframe_spark.types import INT
    >>> text_of(traced(lambda value: value * 2 if value > 3 else 0, [INT], None, True).tree, None)
    'x * 2 if x > 3 else 0'
    """
    recording = Recording()
    meanings = Meanings(recording)
    called = meanings.of(function)
    kinds = tuple(map(kind_of, schema))

    def call() -> Any:
        if names is not None:
            return called(TracedRow(recording, names, kinds))
        if skip_missing:
            return called(recording.symbol("column", kinds[0], parameters=(0,)))
        return called(value_of_column(recording, 0, kinds[0]))

    paths: list[tuple[list[tuple[Expression, bool]], Tree]] = []
    pending: list[list[bool]] = [[]]
    while pending:
        answers = pending.pop()
        if len(paths) >= MAX_PATHS:
            raise Untranslatable(f"it has more than {MAX_PATHS} paths")
        outcome = _followed(recording, call, answers)
        paths.append((recording.decided, outcome))
        taken = [answer for _, answer in recording.decided]
        # Each decision that was taken for the first time on this path has another answer to follow.
        pending += [[*taken[:number], not taken[number]] for number in range(len(answers), len(taken))]
    if all(outcome is CALL for _, outcome in paths):
        raise Untranslatable("it raises an error for all values")
    if meanings.handles_errors and meanings.unknown is not None:
        # A call that handles an error goes on where no path has been, and may use there what is not known.
        raise Untranslatable(meanings.unknown)
    return Traced(_tree_of(paths, 0, {}), meanings.handles_errors)


def _followed(recording: Recording, call: Callable[[], Any], answers: list[bool]) -> Tree:
    """Return the outcome of one path."""
    recording.begin(answers, MAX_DECISIONS)
    errors: list[type] = []

    def watch(frame: types.FrameType, event: str, argument: Any) -> Any:
        if event == "exception" and not issubclass(argument[0], (StopIteration, GeneratorExit)):
            errors.append(argument[0])
            if issubclass(argument[0], Untranslatable):
                recording.reason = recording.reason or str(argument[1])
        return watch

    before = sys.gettrace()
    sys.settrace(watch)
    try:
        result = call()
    except Untranslatable:
        raise
    except Exception:
        result = CALL
    finally:
        sys.settrace(before)
    if recording.reason is not None:
        raise Untranslatable(recording.reason)
    if errors or result is CALL:
        # The function raises an error here, or handles one: a symbol may not raise the error that a value does.
        return CALL
    if result is not None and type(result) is not Symbol and not is_plain(result):
        raise Untranslatable(f"it returns a value of class {type(result).__name__}")
    expression = None if result is None else recording.of(result)
    unread = recording.unread(expression)
    outcome = MISSING if expression is None else expression
    return Checked(unread, outcome) if unread else outcome


def _tree_of(paths: list[tuple[list[tuple[Expression, bool]], Tree]], depth: int, known: dict[Any, Decision]) -> Tree:
    if len(paths) == 1 and len(paths[0][0]) == depth:
        return paths[0][1]
    condition = paths[0][0][depth][0]
    branches = [_tree_of([path for path in paths if path[0][depth][1] is answer], depth + 1, known) for answer in (True, False)]
    key = (id(condition), id(branches[0]), id(branches[1]))
    if branches[0] is branches[1] and isinstance(branches[0], NoValue) and branches[0] is CALL:
        return CALL
    if key not in known:
        known[key] = Decision(condition, branches[0], branches[1])
    return known[key]
