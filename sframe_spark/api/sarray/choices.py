"""Choices of SArray between two values, row by row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sframe_spark.api.class_registry import Faces, made_array
from sframe_spark.api.node_values import literal_of, node_from_values, recoded, require_pairs, single_value
from sframe_spark.errors import NotAColumnError, SchemaError, UnsupportedOperationError
from sframe_spark.operators.rowwise.elementwise import apply_function
from sframe_spark.operators.sources.made import constant_source
from sframe_spark.types import DATETIME_KIND, common_encoding
from sframe_spark.values.plain import NUMBERS, family_of, one_value
from sframe_spark.visible import brief

if TYPE_CHECKING:
    from sframe_spark.api.sarray import SArray
    from sframe_spark.planner.node import PlannerNode


class Choices:
    """Values of one column or another, by a third."""

    @staticmethod
    def where(condition: SArray, istrue: Any, isfalse: Any, dtype: Any = None) -> SArray:
        """Row by row, the value of ``istrue`` where the condition is true, else that of ``isfalse``.

        Parameters
        ----------
        condition
            An SArray.
        istrue, isfalse
            SArrays of the same length, or one value for all rows.
        dtype
            Class of single values; that of the SArray beside them, or their own, when not given.

        Raises
        ------
        TypeError
            If the condition is no SArray, the two have different types and no ``dtype`` is given, or a date-time stands for a number.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> stars = SArray([5, 2, 4])
        >>> list(SArray.where(stars > 3, "good", "bad")), list(SArray.where(stars > 3, stars, None))
        (['good', 'bad', 'good'], [5, None, 4])
        """
        if not isinstance(condition, Faces.array):
            raise NotAColumnError(f"the condition is an SArray, not {brief(condition)} ({type(condition).__name__})")
        for name, value in (("istrue", istrue), ("isfalse", isfalse)):
            if isinstance(value, Faces.array):
                require_pairs(condition._node, value._node, "the condition", name)
        istrue, isfalse = one_value(istrue), one_value(isfalse)
        chosen = Choices._type_of_choice(istrue, isfalse, dtype)
        operands = [Choices._choice(value, chosen, len(condition)) for value in (istrue, isfalse)]
        kinds = [operand.schema[0].kind for operand in operands]
        if kinds[0] != kinds[1]:
            error = UnsupportedOperationError if isinstance(istrue, Faces.array) and isinstance(isfalse, Faces.array) else SchemaError
            raise error(f"istrue is {kinds[0]} and isfalse is {kinds[1]}: convert one of them with astype()")
        common = common_encoding(operands[0].schema[0], operands[1].schema[0])
        return made_array(apply_function("if_else", condition._node, *[recoded(node, common) for node in operands]))

    @staticmethod
    def _type_of_choice(istrue: Any, isfalse: Any, dtype: type | None) -> type | None:
        """Class that single values take: that of the SArray beside them, the one asked for, or that of the value beside a None."""
        for value in (istrue, isfalse):
            if isinstance(value, Faces.array):
                return value.dtype
        known = [value for value in (istrue, isfalse) if value is not None]
        if dtype is not None or len(known) != 1:
            return dtype
        return list if isinstance(known[0], list) else literal_of(known[0]).type.python_class

    @staticmethod
    def _choice(value: Any, dtype: type | None, rows: int) -> PlannerNode:
        if isinstance(value, Faces.array):
            return value._node
        converted = node_from_values([value], list if dtype is None and isinstance(value, list) else dtype)
        families = {converted.schema[0].kind, family_of(type(value))}
        if DATETIME_KIND in families and families & NUMBERS:
            raise SchemaError(f"{brief(value)} is no {converted.schema[0].kind}: convert it first")
        return constant_source(single_value(converted, 0), converted.schema[0], rows)
