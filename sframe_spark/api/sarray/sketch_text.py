"""What a Sketch looks like when it is printed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sframe_spark.api.display import table_text
from sframe_spark.api.sarray.sketch_items import NESTED
from sframe_spark.types import DICT_KIND

if TYPE_CHECKING:
    from sframe_spark.api.sarray.sketch import Sketch

MOST_SHOWN = 10
QUANTILES = (0.0, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1.0)


def sketch_text(sketch: Sketch) -> str:
    """Tables of the numbers, the frequent values and the quantiles, then those of the items.

    Examples
    --------
    >>> from sframe_spark import SArray
    >>> print(sketch_text(SArray(["tea", "tea", "milk"]).summary()).split("items:")[1].strip())
    +-------+-------+
    | value | count |
    +-------+-------+
    |  tea  |   2   |
    |  milk |   1   |
    +-------+-------+
    """
    parts = [f"\n{_numbers_text(sketch)}\n\nMost frequent items:\n{_frequent_text(sketch)}\n"]
    if sketch._is_numeric and sketch._found["numbers"]:
        texts = [f"{share:.0%}" for share in QUANTILES]
        parts.append(f"Quantiles: \n{table_text(texts, [sketch._quantiles(QUANTILES)])}\n")
    kind = sketch._source.schema[0].kind
    if kind == DICT_KIND:
        parts.append(f"\n******** Dictionary Element Key Summary ********\n{sketch.dict_key_summary()}")
        parts.append(f"\n******** Dictionary Element Value Summary ********\n{sketch.dict_value_summary()}")
    elif kind in NESTED:
        parts.append(f"\n******** Element Summary ********\n{sketch.element_summary()}")
    return "\n".join(parts)


def _numbers_text(sketch: Sketch) -> str:
    rows: list[tuple[str, Any, str]] = [("Length", sketch.size(), "Yes")]
    if sketch._is_numeric:
        members = (
            ("Min", sketch.min),
            ("Max", sketch.max),
            ("Mean", sketch.mean),
            ("Sum", sketch.sum),
            ("Variance", sketch.var),
            ("Standard Deviation", sketch.std),
        )
        rows += [(name, member(), "Yes") for name, member in members]
    exact = "No" if sketch._found["counted"] is None else "Yes"
    rows += [("# Missing Values", sketch.num_missing(), "Yes"), ("# unique values", sketch.num_unique(), exact)]
    return table_text(["item", "value", "is exact"], rows)


def _frequent_text(sketch: Sketch) -> str:
    items = list(sketch.frequent_items().items())[:MOST_SHOWN]
    return table_text(["value", "count"], items) if items else " -- No item is in one of 10,000 rows -- "
