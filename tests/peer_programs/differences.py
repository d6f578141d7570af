"""What differs from Polars and pandas by rule, each with the page that says so and its words there.

An adapter that writes a program otherwise than the other library's own call names the difference, so that each is documented:
``differs`` refuses a name that has no line here, and a test looks for the words on the page.
"""

from __future__ import annotations

DIFFERENCES: dict[str, tuple[str, str]] = {
    "pct_change in Polars fills": (
        "docs/ordered-data.md",
        "a missing value stays missing, and the change after it is missing too (Polars takes the last value before the gap)",
    ),
    "NaN in pandas": ("docs/porting/pandas.md", "NaN from pandas stays NaN, a number."),
    "interpolation fills NaN": ("docs/ordered-data.md", "NaN is filled as well, as by `fillna`."),
    "what cannot be interpolated stays": ("docs/ordered-data.md", "Values without a known value on both sides stay as they are."),
    "interpolation between values of one time": (
        "docs/ordered-data.md",
        "At the position of one neighbour it gets that neighbour's value; at the position of both, the value before.",
    ),
    "equal values are in one bin": ("docs/ordered-data.md", "Equal values are in one bin, so some may be empty, where pandas refuses."),
    "what lies outside is in no bin": ("docs/ordered-data.md", "Values outside, NaN and missing values are in no bin."),
    "a missing value adds nothing": ("docs/porting/polars.md", "a missing value adds nothing; in Polars its row is missing"),
    "a missing value weighs nothing": ("docs/ordered-data.md", "A missing value weighs nothing: the row shows the mean of the earlier ones."),
    "spread of no value": ("docs/aggregates.md", "0; missing with `ddof`"),
    "rows of one time": ("docs/ordered-data.md", "all rows with the row's own key belong to it, whether they come before the row or after it"),
    "order of intervals": ("docs/ordered-data.md", "ascending by interval, within one in order of first appearance of the key there"),
    "order of resampled rows": ("docs/ordered-data.md", "Rows are in order of interval, then of key."),
    "intervals without rows": ("docs/ordered-data.md", "Aggregates of intervals without rows are missing (counts too)"),
    "nearest of two": ("docs/porting/polars.md", "between equally near rows, the earlier one; in Polars, the later one"),
    "missing keys find nothing": ("docs/ordered-data.md", "that has a missing `by` value, finds nothing and is not found"),
    "matches in row order": ("docs/ordered-data.md", "each with its matches in the order of the other"),
    "NaN is above all numbers": ("docs/ordered-data.md", "NaN is above all numbers and equals itself, as in `sort` and in Polars"),
    "correlation of one row": ("sframe_spark/api/aggregates/statistical.py", "It is missing with fewer than two such rows."),
    "covariance with NaN": ("sframe_spark/api/aggregates/statistical.py", "and NaN if one contains an infinity or NaN."),
    "shape of equal values": ("sframe_spark/api/aggregates/statistical.py", "For a group of one value, or of equal values, it is NaN, too"),
    "extremes of rows": ("docs/ordered-data.md", "NaN is the extreme where it is the first value of the rows, and is passed over elsewhere"),
    "NaN counts as missing": ("docs/ordered-data.md", "takes each column from the nearest row that has a value there (NaN counts as missing)"),
    "intervals that hold nothing": (
        "docs/ordered-data.md",
        "An empty interval overlaps none. An interval is empty if it ends before it starts,",
    ),
    "the row in force": ("docs/ordered-data.md", "adds the last row at or before the start of the window, however far away"),
    "windows without rows": ("docs/aggregates.md", "of no value"),
    "intervals before the first row": ("docs/ordered-data.md", "also for those that begin before the first row"),
    "weeks end with a day in pandas": ("docs/porting/pandas.md", "pandas ends them with that day"),
    "NaN is the last choice": ("docs/aggregates.md", "in `ARGMIN` and `ARGMAX` the last choice"),
    "zero has no sign": ("docs/aggregates.md", "Sums, products and extremes that are zero are `0.0`, never `-0.0`"),
    "groups ascend": ("docs/porting/polars.md", "Groups come ascending by their keys."),
}


def differs(name: str) -> None:
    """Say that a program is written with a documented difference in mind."""
    assert name in DIFFERENCES, f"{name!r} is not a documented difference"
