"""Evaluates the tree of a translated function for a batch of rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.expressions.translation.expression_tree import (
    BOOL,
    CALL,
    DATETIME,
    FLOAT,
    INT,
    MISSING,
    NUMBERS,
    STR,
    Checked,
    Decision,
    Expression,
    NoValue,
    Tree,
)
from sframe_spark.expressions.translation.number_kernels import NUMBER_KERNELS, Mask, RowValues, as_exact_floats, blended, converted, together
from sframe_spark.expressions.translation.text_kernels import COMPARISONS, TEXT_KERNELS, texts_of
from sframe_spark.pyarrow_versions import if_else
from sframe_spark.types import FLOAT_KIND, INT_KIND, STR_KIND, ColumnType


@attrs.define(eq=False)
class Results:
    """What a tree gives for the rows of a batch, as a column of one type has it.

    Parameters
    ----------
    data
        A numpy array or an Arrow array of texts or date-times; one value for all rows; None: all are missing.
    missing, failed
        The rows whose result is missing, and those for which Python is called.
    """

    data: Any
    missing: Mask = None
    failed: Mask = None


@attrs.define(eq=False)
class Evaluation:
    """The evaluation of one batch: each expression is computed once.

    Parameters
    ----------
    columns
        The columns that the tree reads, by position.
    rows
        Number of rows.
    result
        Type of the column of results.
    """

    columns: Mapping[int, pa.Array]
    rows: int
    result: ColumnType
    _known: dict[int, RowValues] = attrs.Factory(dict)
    _outcomes: dict[int, Results] = attrs.Factory(dict)

    def values(self, expression: Expression) -> RowValues:
        """Return the values of an expression."""
        known = self._known.get(id(expression))
        if known is None:
            known = self._known[id(expression)] = self._computed(expression)
        return known

    def _computed(self, expression: Expression) -> RowValues:
        if expression.operation == "constant":
            return RowValues(expression.kind, expression.parameters[0])
        if expression.operation == "column":
            return self._column(self.columns[expression.parameters[0]], expression.kind)
        if expression.operation == "missing":
            column = self.columns[expression.parameters[0]]
            return RowValues(BOOL, pc.is_null(column).to_numpy(zero_copy_only=False) if column.null_count else False)
        operands = [self.values(operand) for operand in expression.operands]
        if expression.operation == "choose":
            return self._choice(expression.kind, *operands)
        if operands[0].kind not in NUMBERS or expression.operation == "repeat":
            kernel = COMPARISONS.get(expression.operation) or TEXT_KERNELS[expression.operation]
            if operands[0].is_constant and len(operands) == 1:
                operands[0] = attrs.evolve(operands[0], data=texts_of(operands[0], self.rows))
            return kernel(*operands, *expression.parameters)
        kernel = NUMBER_KERNELS.get(expression.operation) or TEXT_KERNELS[expression.operation]
        if len(operands) == 1 and operands[0].is_constant:
            dtype = {INT: np.int64, FLOAT: np.float64, BOOL: np.bool_}[operands[0].kind]
            operands[0] = attrs.evolve(operands[0], data=np.full(self.rows, operands[0].data, dtype=dtype))
        return kernel(*operands, *expression.parameters)

    @staticmethod
    def _column(column: pa.Array, kind: str) -> RowValues:
        if kind not in NUMBERS:
            return RowValues(kind, column)
        if column.null_count:
            column = column.fill_null(0)
        return RowValues(kind, column.to_numpy(zero_copy_only=False))

    def _choice(self, kind: str, condition: RowValues, if_true: RowValues, if_false: RowValues) -> RowValues:
        data = self._merged(condition.data, if_true.data, if_false.data)
        return RowValues(kind, data, together(condition.failed, _chosen(condition.data, if_true.failed, if_false.failed)))

    def results(self, tree: Tree) -> Results:
        """Return what a tree gives."""
        # Branches to the right are followed in a loop, as a chain of tests may be long.
        chain: list[Decision] = []
        while isinstance(tree, Decision) and id(tree) not in self._outcomes:
            condition = self.values(tree.condition)
            if condition.failed is None and _is_all(condition.data, True):
                tree = tree.if_true
                continue
            if condition.failed is None and _is_all(condition.data, False):
                tree = tree.if_false
                continue
            chain.append(tree)
            tree = tree.if_false
        last = self._outcomes.get(id(tree))
        if last is None:
            last = self._outcomes[id(tree)] = self._outcome(tree)  # type: ignore[arg-type]
        for decision in reversed(chain):
            last = self._outcomes[id(decision)] = self._decided(self.values(decision.condition), self.results(decision.if_true), last)
        return last

    def _decided(self, condition: RowValues, if_true: Results, if_false: Results) -> Results:
        truth = condition.data
        missing = _chosen(truth, if_true.missing, if_false.missing)
        failed = together(condition.failed, _chosen(truth, if_true.failed, if_false.failed))
        if if_true.data is None or if_false.data is None:
            return Results(if_false.data if if_true.data is None else if_true.data, missing, failed)
        return Results(self._merged(truth, if_true.data, if_false.data), missing, failed)

    def _merged(self, truth: np.ndarray, if_true: Any, if_false: Any) -> Any:
        if type(if_true) in (bool, int, float, np.ndarray):
            if type(if_true) is int and type(if_false) is int and if_false == 0 and if_true == 1:
                return converted(truth, np.int64)
            return blended(truth, if_true, if_false)
        arrow_type = if_true.type if isinstance(if_true, pa.Array) else if_false.type if isinstance(if_false, pa.Array) else self._arrow_type(if_true)
        parts = [part if isinstance(part, pa.Array) else pa.scalar(part, arrow_type) for part in (if_true, if_false)]
        return if_else(pa.array(truth), *parts)

    @staticmethod
    def _arrow_type(value: Any) -> pa.DataType:
        return pa.string() if isinstance(value, str) else pa.timestamp("us")

    def _outcome(self, tree: Expression | Checked | NoValue) -> Results:
        if isinstance(tree, Checked):
            results = self._outcome(tree.outcome)
            checks = [self.values(expression).failed for expression in tree.expressions]
            return Results(results.data, results.missing, together(results.failed, *checks))
        if isinstance(tree, NoValue):
            every = np.ones(self.rows, dtype=bool)
            return Results(None, every if tree is MISSING else None, every if tree is CALL else None)
        values = self.values(tree)
        data, failed = self._stored(values)
        return Results(data, None, failed)

    def _stored(self, values: RowValues) -> tuple[Any, Mask]:
        """Return values as the column of results has them; values of another class are left to Python, which converts or refuses them."""
        kind = self.result.kind
        if kind == INT_KIND and values.kind in (INT, BOOL):
            return values.ints(), values.failed
        if kind == FLOAT_KIND and values.kind == FLOAT:
            return values.data, values.failed
        if kind == FLOAT_KIND and values.kind in (INT, BOOL):
            return as_exact_floats(values)
        if kind == STR_KIND and values.kind == STR:
            return values.data, values.failed
        if kind == DATETIME and values.kind == DATETIME and not self.result.is_zoned:
            return values.data, values.failed
        return None, np.ones(self.rows, dtype=bool)

    def column(self, results: Results, missing: Mask) -> pa.Array:
        """Return results as an Arrow array; rows that are missing or have no result are null."""
        data, null = results.data, together(results.missing, missing, results.failed)
        if null is not None:
            null = np.broadcast_to(null, (self.rows,))
        if data is None or not isinstance(data, (np.ndarray, pa.Array)):
            data = pa.repeat(pa.scalar(data, self.result.physical), self.rows)
        if isinstance(data, np.ndarray):
            return pa.array(data, self.result.physical, mask=null)
        return data if null is None else if_else(pa.array(null), pa.scalar(None, data.type), data)


def _is_all(truth: Any, value: bool) -> bool:
    """Return whether a condition has one answer for all rows."""
    if not isinstance(truth, np.ndarray):
        return bool(truth) is value
    return bool(truth.all()) if value else not truth.any()


def _chosen(truth: np.ndarray, if_true: Mask, if_false: Mask) -> Mask:
    if if_true is None and if_false is None:
        return None
    if if_true is None:
        return ~truth & if_false
    return truth & if_true if if_false is None else (truth & if_true) | (~truth & if_false)
