"""Values of earlier and later rows beside each row: shift and diff."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sframe_spark.api.indexing import is_row_index
from sframe_spark.api.nodes import literal_of, recoded
from sframe_spark.errors import SchemaError
from sframe_spark.operators.rowwise.elementwise import apply_function
from sframe_spark.operators.rowwise.program import Literal
from sframe_spark.operators.running.shift import shift_rows
from sframe_spark.types import FLOAT, INT, ColumnType, common_encoding, type_of_class
from sframe_spark.values.infer import encoding_for
from sframe_spark.values.plain import one_value

if TYPE_CHECKING:
    from sframe_spark.api.sarray import SArray
    from sframe_spark.planner.node import PlannerNode

SUBTRACTABLE = ("int", "float", "datetime", "array")


class Shifts:
    """Members that look a fixed number of rows back or ahead."""

    _node: PlannerNode

    def shift(self, n: int = 1, fill: Any = None) -> SArray:
        """Move the values by ``n`` rows towards the end; rows that get none are missing, or hold ``fill``.

        Parameters
        ----------
        n
            Number of rows; negative: towards the beginning, so that a row gets the value of a later one.
        fill
            Value of rows whose source lies outside, of the column's type (an int in a column of floats is a float).

        Raises
        ------
        TypeError
            If ``n`` is not an int, or ``fill`` has another type than the column.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray([1, 2, 3]).shift(1)), list(SArray([1, 2, 3]).shift(-1, fill=0))
        ([None, 1, 2], [2, 3, 0])
        """
        from sframe_spark.api.sarray import SArray

        if not is_row_index(n):
            raise SchemaError(f"shift takes a number of rows, an int, got {n!r}")
        node = self._node
        if fill is None:
            return SArray(_node=shift_rows(node, int(n)))
        literal = fill_literal(fill, node.schema[0])
        return SArray(_node=shift_rows(recoded(node, literal.type), int(n), literal))

    def diff(self, n: int = 1) -> SArray:
        """Subtract from each row the value ``n`` rows earlier (negative: later); missing where there is none.

        Date-times give seconds as floats, as their subtraction does. Ints wrap around at 64 bits.

        Parameters
        ----------
        n
            Number of rows between the two values.

        Raises
        ------
        TypeError
            If ``n`` is not an int, or the values cannot be subtracted: only int, float, datetime and array can.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray([1, 4, 9]).diff())
        [None, 3, 5]
        """
        from sframe_spark.api.sarray import SArray

        kind = self._node.schema[0].kind
        if kind not in SUBTRACTABLE:
            raise SchemaError(f"diff takes a column of {', '.join(SUBTRACTABLE)}, not of {kind}")
        if not is_row_index(n):
            raise SchemaError(f"diff takes a number of rows, an int, got {n!r}")
        return SArray(_node=apply_function("subtract", self._node, shift_rows(self._node, int(n))))


def fill_literal(fill: Any, column_type: ColumnType) -> Literal:
    """A fill in an encoding that holds it and the column's values.

    Raises
    ------
    TypeError
        If it is not of the column's kind.
    """
    fill = one_value(fill)
    literal = literal_of(fill)
    if (column_type, literal.type) == (FLOAT, INT):
        return Literal(float(fill), FLOAT)
    if column_type.kind == "list" and literal.type.kind == "array":
        literal = Literal(list(fill), encoding_for([list(fill)], type_of_class(list)))
    if literal.type.kind != column_type.kind:
        raise SchemaError(f"shift: the column holds {column_type.kind}, fill={fill!r} is {literal.type.kind}: they must agree")
    return Literal(literal.value, common_encoding(column_type, literal.type))
