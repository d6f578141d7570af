"""Operators that frames do not have: their columns have them, and that is what the error says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sframe_spark.errors import SchemaError

SIGNS = {"sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**"}
ORDERS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">="}
LOGIC = {"and": "&", "or": "|", "rand": "&", "ror": "|"}
# The method of Python, and what is written of columns instead.
EXAMPLES = {
    **{f"__{name}__": f"sf['a'] {sign} 2" for name, sign in SIGNS.items()},
    **{f"__r{name}__": f"2 {sign} sf['a']" for name, sign in ({"add": "+"} | SIGNS).items()},
    **{f"__{name}__": f"sf[sf['a'] {sign} 2]" for name, sign in ORDERS.items()},
    **{f"__{name}__": f"(sf['a'] > 1) {sign} (sf['b'] == 2)" for name, sign in LOGIC.items()},
    "__neg__": "-sf['a']",
    "__abs__": "abs(sf['a'])",
    "__invert__": "sf[sf['a'] == 0]",
}


class NoArithmetic:
    """Refuses the operators of numbers and truth values on whole frames.

    Examples
    --------
    >>> from sframe_spark import SFrame
    >>> SFrame({"a": [1]}) * 2
    Traceback (most recent call last):
    sframe_spark.errors.SchemaError: frames take no part in arithmetic, comparisons and logic: their columns do, as in sf['a'] * 2
    """


def refusing(method: str) -> Callable[..., Any]:
    """What says what to write instead of an operator on frames.

    Examples
    --------
    >>> refusing("__neg__")(None)
    Traceback (most recent call last):
    sframe_spark.errors.SchemaError: frames take no part in arithmetic, comparisons and logic: their columns do, as in -sf['a']
    """

    def refuse(self: NoArithmetic, *others: object) -> Any:
        if not all(isinstance(other, NoArithmetic) or type(other).__module__ == "builtins" for other in others):
            # Columns, and classes of other libraries, have an answer of their own.
            return NotImplemented
        raise SchemaError(f"frames take no part in arithmetic, comparisons and logic: their columns do, as in {EXAMPLES[method]}")

    return refuse


for _method in EXAMPLES:
    setattr(NoArithmetic, _method, refusing(_method))
