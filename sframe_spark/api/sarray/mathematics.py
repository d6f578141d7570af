"""Members of SArray for elementwise mathematics: a method for each line of the table of NumPy's functions of one number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sframe_spark.api.class_registry import SArray, make_array
from sframe_spark.api.sarray.family_members import method_of
from sframe_spark.expressions.functions.number_functions import NUMBER_FUNCTIONS
from sframe_spark.operators.elementwise import apply_function
from sframe_spark.planner.node import PlannerNode


def _method(name: str) -> Callable[[Any], SArray]:
    return method_of(NUMBER_FUNCTIONS[name], "numbers or arrays")


class Mathematics:
    """Mixin of SArray: NumPy's functions of one number. Missing stays missing, NaN stays NaN, nothing warns; elements of arrays are numbers too."""

    _node: PlannerNode

    exp, exp2, expm1 = map(_method, ("exp", "exp2", "expm1"))
    log, log2, log10, log1p = map(_method, ("log", "log2", "log10", "log1p"))
    sqrt, cbrt, square, reciprocal, sign = map(_method, ("sqrt", "cbrt", "square", "reciprocal", "sign"))
    floor, ceil, trunc = map(_method, ("floor", "ceil", "trunc"))
    sin, cos, tan, arcsin, arccos, arctan = map(_method, ("sin", "cos", "tan", "arcsin", "arccos", "arctan"))
    sinh, cosh, tanh, arcsinh, arccosh, arctanh = map(_method, ("sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh"))
    degrees, radians = map(_method, ("degrees", "radians"))
    isnan, isinf, isfinite = map(_method, ("isnan", "isinf", "isfinite"))

    def round(self, digits: int = 0) -> SArray:
        """Return the numbers rounded to a number of digits, half to even, as NumPy rounds; the type stays.

        Parameters
        ----------
        digits
            Number of digits after the decimal point; negative: tens, hundreds and so on.

        Raises
        ------
        RuntimeError
            If the values are neither numbers nor arrays.
        ValueError
            If ``digits`` is not an int.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray([2.5, 1.25, None]).round()), list(SArray([1.25, 7.0]).round(1)), list(SArray([15, 24]).round(-1))
        ([2.0, 1.0, None], [1.2, 7.0], [20, 20])
        """
        places = int(digits) if isinstance(digits, (int, np.integer)) and not isinstance(digits, bool) else digits
        return make_array(apply_function("round", self._node, parameters=(places,)))

    def __round__(self, digits: int | None = None) -> SArray:
        """Return what :meth:`round` returns, for Python's ``round(column, digits)``."""
        return self.round(0 if digits is None else digits)
