"""Members of SArray for arithmetic, comparisons and logic, and for choosing between two values in each row."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from sframe_spark.api.class_registry import ClassRegistry, SArray, make_array
from sframe_spark.api.interchange.dataframe_libraries import is_column
from sframe_spark.api.node_value_conversion import column_values, literal_of, node_from_values, recoded, require_pairs
from sframe_spark.errors import NeverEqualWarning, NotAColumnError, SchemaError, UnsupportedOperationError, users_level
from sframe_spark.expressions.scalar_function_program import Literal
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.message_text import brief
from sframe_spark.planner.node import PlannerNode
from sframe_spark.types import ARRAY_KIND, DATETIME_KIND, INT, NDARRAY_KIND, STR_KIND, ColumnType, common_encoding
from sframe_spark.values.input_copying_simplification_and_validation import library_of
from sframe_spark.values.plain_values import NUMBERS, family_of_value, one_value

with lazy_imports(globals()):
    from sframe_spark.operators.elementwise import apply_function

LOGICAL = ("and_", "or_", "xor")
# A frequent mistake: in Python, `sf["a"] > 1 & (sf["b"] < 3)` means `sf["a"] > (1 & (sf["b"] < 3))`.
LOGIC_HINT = "& and | combine two SArrays: put each comparison in parentheses, as in (sf['a'] > 1) & (sf['b'] == 2), or use apply()"
EQUALITIES = ("equal", "not_equal")
COMPARISONS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")


def _warn_if_never_equal(column: ColumnType, other_type: ColumnType, other: Any) -> None:
    """Warn if values of two types are never equal, unless the second is None. As in Turi Create, such a comparison is false in each row."""
    if other is None or column.kind == other_type.kind or {column.kind, other_type.kind} <= {*NUMBERS, DATETIME_KIND}:
        return
    what = "the values of another column" if isinstance(other, Arithmetic) else brief(other)
    remedy = "datetime.datetime(2024, 1, 31)" if column.kind == DATETIME_KIND else f"values of {column.kind}"
    casts = f", or convert the column with astype({other_type.kind})" if {column.kind, other_type.kind} <= {*NUMBERS, STR_KIND} else ""
    message = f"values of a column of {column.kind} are never equal to {what}, which is {other_type.kind}: compare with {remedy}{casts}"
    warnings.warn(NeverEqualWarning(message), stacklevel=users_level())


def _operator(function: str, reverse: bool = False) -> Callable[[Any, Any], SArray]:
    """Return a method for one of Python's operators; with ``reverse``, the column is its second operand."""

    def method(self: Arithmetic, other: Any) -> SArray:
        return self._binary(function, other, reverse)

    return method


def _unary_operator(function: str) -> Callable[[Any], SArray]:
    """Return a method for one of Python's operators with one operand."""

    def method(self: Arithmetic) -> SArray:
        return make_array(apply_function(function, self._node))

    return method


class Arithmetic:
    """Mixin of SArray: operators that are applied to each row. The other operand is an SArray of the same length, or one value for all rows.

    A numpy array, Polars Series or Arrow array is treated as a column, whose rows are paired by position; but with a column of arrays it is one
    value. A pandas Series is treated as one value, as in Turi Create; ``SArray(series)`` makes a column of it.

    Missing values stay missing; ``== None`` and ``!= None`` find them.

    Examples
    --------
    >>> from sframe_spark import SArray, SFrame
    >>> sf = SFrame({"lots": [5, 3, None], "price": [2.0, 3.5, 1.0]})
    >>> list(sf["lots"] * sf["price"]), list(1 - sf["lots"])
    ([10.0, 10.5, None], [-4, -2, None])
    >>> list(sf["lots"] // 2), list(sf["lots"] % 2), list(sf["lots"] ** 2)
    ([2, 1, None], [1, 1, None], [25.0, 9.0, None])
    >>> list(sf["lots"] > 3), list(sf["lots"] == None), list(~(sf["price"] > 2))
    ([1, 0, None], [0, 0, 1], [1, 0, 1])
    >>> list((sf["lots"] > 3) & (sf["price"] < 3)), list((sf["lots"] > 3) | (sf["price"] > 3))
    ([1, 0, None], [1, 1, None])
    >>> list(SArray(["a", "b"]) + "!"), list(abs(SArray([-1, 2])))
    (['a!', 'b!'], [1, 2])
    """

    _node: PlannerNode

    def _binary(self, function: str, other: Any, reverse: bool = False) -> SArray:
        if function == "xor":
            raise SchemaError("columns have no operator ^: use comparisons with & and |; of two masks, (a != b)")
        other = one_value(other)
        # In pandas, a Series would be paired with other columns by its index.
        if is_column(other) and library_of(other) != "pandas" and self._node.schema[0].kind not in (ARRAY_KIND, NDARRAY_KIND):
            other = ClassRegistry.array(other)
        if isinstance(other, Arithmetic):
            require_pairs(self._node, other._node, "the one SArray", "the other")
            operand: Any = other._node
        else:
            if function in LOGICAL:
                raise SchemaError(LOGIC_HINT)
            if other is None and function not in ("equal", "not_equal"):
                raise UnsupportedOperationError("None cannot be used in arithmetic or ordering: use fillna(), or compare with == None")
            if isinstance(other, np.ndarray) and other.ndim == 1 and self._node.schema[0].kind == ARRAY_KIND:
                other = other.tolist()
            operand = literal_of(beyond_ints(other, self._node.schema[0]) if function in COMPARISONS else other)
            if function == "floor_divide" and reverse:
                if self._node.schema[0].kind == ARRAY_KIND:
                    raise UnsupportedOperationError("a number cannot be floor-divided by arrays: use apply()")
                function = "reverse_floor_divide"
        if function in EQUALITIES:
            _warn_if_never_equal(self._node.schema[0], operand.schema[0] if isinstance(operand, PlannerNode) else operand.type, other)
        operands = (operand, self._node) if reverse else (self._node, operand)
        return make_array(apply_function(function, *operands))

    __add__, __radd__ = _operator("add"), _operator("add", reverse=True)
    __sub__, __rsub__ = _operator("subtract"), _operator("subtract", reverse=True)
    __mul__, __rmul__ = _operator("multiply"), _operator("multiply", reverse=True)
    __truediv__, __rtruediv__ = _operator("divide"), _operator("divide", reverse=True)
    __floordiv__, __rfloordiv__ = _operator("floor_divide"), _operator("floor_divide", reverse=True)
    __mod__, __rmod__ = _operator("modulo"), _operator("modulo", reverse=True)
    __pow__, __rpow__ = _operator("power"), _operator("power", reverse=True)
    __lt__, __le__, __gt__, __ge__ = map(_operator, ("less", "less_equal", "greater", "greater_equal"))

    # A type checker takes an assigned `__eq__` for that of `object`, which returns a bool.
    def __eq__(self, other: Any) -> SArray:  # type: ignore[override]
        return self._binary("equal", other)

    def __ne__(self, other: Any) -> SArray:  # type: ignore[override]
        return self._binary("not_equal", other)

    __hash__ = None  # type: ignore[assignment]

    __and__, __or__, __xor__ = map(_operator, ("and_", "or_", "xor"))

    def __rand__(self, other: Any) -> Any:
        raise SchemaError(LOGIC_HINT)

    __ror__ = __rand__

    __neg__, __pos__, __abs__ = map(_unary_operator, ("negate", "positive", "absolute"))

    def __invert__(self) -> SArray:
        """Return 1 where the result of a comparison is 0, and the other way round; missing stays missing."""
        # Of other ints, the bits or the truth could be meant.
        return self < 1 if self._node.schema[0].is_logical else make_array(apply_function("invert", self._node))

    def abs(self) -> SArray:
        """Return the absolute values.

        Raises
        ------
        RuntimeError
            If the values are neither numbers nor arrays.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray([-3, 4, None]).abs())
        [3, 4, None]
        """
        return self.__abs__()

    @staticmethod
    def where(condition: SArray, istrue: Any, isfalse: Any, dtype: type | None = None) -> SArray:
        """Return a column with the value of ``istrue`` in rows where the condition is true, and of ``isfalse`` in the other rows.

        Parameters
        ----------
        condition
            An SArray.
        istrue, isfalse
            SArrays of the same length, or one value for all rows.
        dtype
            Class for single values; if not given, the class of the other SArray, or the values' own class.

        Raises
        ------
        TypeError
            If the condition is not an SArray, ``istrue`` and ``isfalse`` have different classes and no ``dtype`` is given, or one is a number and the
            other a date-time.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> stars = SArray([5, 2, 4])
        >>> list(SArray.where(stars > 3, "good", "bad")), list(SArray.where(stars > 3, stars, None))
        (['good', 'bad', 'good'], [5, None, 4])
        """
        if not isinstance(condition, ClassRegistry.array):
            raise NotAColumnError(f"the condition must be an SArray, not {brief(condition)} ({type(condition).__name__})")
        for name, value in (("istrue", istrue), ("isfalse", isfalse)):
            if isinstance(value, ClassRegistry.array):
                require_pairs(condition._node, value._node, "the condition", name)
        istrue, isfalse = one_value(istrue), one_value(isfalse)
        value_class = Arithmetic._class_of_values(istrue, isfalse, dtype)
        operands = [Arithmetic._operand(value, value_class) for value in (istrue, isfalse)]
        types = [operand.type if isinstance(operand, Literal) else operand.schema[0] for operand in operands]
        kinds = [column_type.kind for column_type in types]
        if kinds[0] != kinds[1]:
            error = UnsupportedOperationError if isinstance(istrue, ClassRegistry.array) and isinstance(isfalse, ClassRegistry.array) else SchemaError
            raise error(f"istrue is {kinds[0]} and isfalse is {kinds[1]}: convert one of them with astype()")
        common = common_encoding(*types)
        recoded_operands = [Literal(one.value, common) if isinstance(one, Literal) else recoded(one, common) for one in operands]
        return make_array(apply_function("if_else", condition._node, *recoded_operands))

    @staticmethod
    def _class_of_values(istrue: Any, isfalse: Any, dtype: type | None) -> type | None:
        """Return the class for single values: that of the other SArray, ``dtype``, or the class of the other value if one of them is None."""
        for value in (istrue, isfalse):
            if isinstance(value, ClassRegistry.array):
                return value.dtype
        present = [value for value in (istrue, isfalse) if value is not None]
        if dtype is not None or len(present) != 1:
            return dtype
        return list if isinstance(present[0], list) else literal_of(present[0]).type.python_class

    @staticmethod
    def _operand(value: Any, dtype: type | None) -> PlannerNode | Literal:
        if isinstance(value, ClassRegistry.array):
            return value._node
        converted = node_from_values([value], list if dtype is None and isinstance(value, list) else dtype)
        families = {converted.schema[0].kind, family_of_value(value)}
        if DATETIME_KIND in families and families & NUMBERS:
            raise SchemaError(f"{brief(value)} is no {converted.schema[0].kind}: convert it first")
        return Literal(column_values(converted)[0], converted.schema[0])


def beyond_ints(value: Any, column_type: ColumnType) -> Any:
    """Return a value to compare with a column of ints: an int of more than 64 bits becomes infinite, because it is beyond all values of the column.

    Converted to a float it could be rounded to a number that equals a value of the column.

    Examples
    --------
    >>> beyond_ints(2**63, INT), beyond_ints(-(2**70), INT), beyond_ints(5, INT)
    (inf, -inf, 5)
    """
    if column_type != INT or not isinstance(value, (int, np.integer)) or -(2**63) <= int(value) < 2**63:
        return value
    return math.inf if value > 0 else -math.inf
