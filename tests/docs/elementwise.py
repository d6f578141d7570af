"""``docs/elementwise.md``, made of the tables of families of functions."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from sframe_spark.expressions.functions.date_parts import DATE_PARTS
from sframe_spark.expressions.functions.number_functions import NUMBER_FUNCTIONS, PAIR_FUNCTIONS
from sframe_spark.expressions.functions.scalar_function import FUNCTIONS
from sframe_spark.expressions.functions.text_functions import TEXT_FUNCTIONS


def wrapped(text: str) -> str:
    """A paragraph in lines of a page."""
    return textwrap.fill(text, 118, break_long_words=False, break_on_hyphens=False)


def elementwise_page(no_edit: str) -> str:
    """All functions of values: what they return, an example, and where Spark computes them by a function of its own."""
    return "\n\n".join(["# Functions of values", no_edit, *introduction(), *number_parts(), *text_parts(), *date_parts(), *numpy_parts()]) + "\n"


def introduction() -> Iterator[str]:
    yield wrapped(
        "A function of values gives one value for each row: the rows stay, nothing is computed before somebody looks, and filters pass below it. "
        "Missing stays missing. Results are the same on the driver, on threads and in Spark's tasks, bit for bit: where Spark has a function "
        "whose answers are the same its queries use it (column *Spark* of the tables), else our kernel on batches of rows. What is not here, "
        "[functions of yours](functions.md) give."
    )


def table_of(lines: Iterable[Any], has_column: Callable[[Any], bool] = lambda line: FUNCTIONS[line.function].expression is not None) -> str:
    """A row for each function."""
    rows = ["| Function | | Gives | Spark |", "| --- | --- | --- | --- |"]
    for line in lines:
        expression, printed = line.example
        spark = "yes" if has_column(line) else ""
        shown = f"| `{expression}` | {line.summary.removeprefix('Return ').rstrip('.')} | `{printed}` | {spark} |"
        rows.append(shown.replace("\\|", "|"))
    return "\n".join(rows)


def number_parts() -> Iterator[str]:
    kept = ", ".join(f"`{line.name}`" for line in NUMBER_FUNCTIONS.values() if line.keeps_order)
    yield "## Numbers"
    yield wrapped(
        "NumPy's functions of one number, by its names and with its answers, but for its warnings: -inf, inf and NaN where there is no number. Ints "
        "are computed as floats where nothing else is said. Each is a method of a column of numbers or arrays, whose elements are numbers too. Rows "
        f"in ascending order stay so, and are not sorted again, after {kept} "
        "and `round`; rounding errors could change the order after others."
    )
    yield table_of(NUMBER_FUNCTIONS.values())
    yield wrapped(
        "`round(digits)` rounds half to even, as NumPy does, to digits after the point or, if negative, before it; `abs()`, `clip(lower, upper)`, "
        "`+ - * / // % **` and comparisons are members and operators of columns."
    )


def text_parts() -> Iterator[str]:
    yield "## Texts"
    yield wrapped(
        "Functions of texts are members of `column.str`, as in pandas and Polars. Their answers are those of Python's `str`: upper case of `ß` is "
        "`SS`, whitespace is what `str.isspace` says, `find` counts characters. Arrow's own differ in the upper case of 177 characters, in the lower "
        "case of 76, and in what a letter is of 26,416; Java's in others. So ASCII is computed by Arrow's kernels, and all else by Python's methods, "
        "called once for all texts of a batch."
    )
    yield table_of(TEXT_FUNCTIONS.values())
    yield wrapped(
        "Also there: `pad`, `ljust`, `rjust`, `center` and `slice`. Regular expressions are [RE2's](https://github.com/google/re2/wiki/Syntax), in "
        "Spark's tasks too, where Java's would match otherwise: they take time in proportion to the text, whatever the pattern. They have no "
        "look-around and no back references; `\\w`, `\\d`, `\\s` and `\\b` are of ASCII, and `$` is the end of the text only. What cannot be read is "
        "an error at your line. In a replacement `\\1` is a group and `\\0` the match. `column.contains(part)` is the reference's, which has 0 for "
        "missing values."
    )


def date_parts() -> Iterator[str]:
    yield "## Date-times"
    yield wrapped(
        "Parts of date-times are in `column.dt`, as in pandas: without parentheses, but for names. They are those of the local time at each value's "
        "own offset. `in_zone`, `floor_time` and other members of columns know zones and calendars."
    )
    yield table_of(DATE_PARTS.values(), lambda line: line.column is not None)
    yield wrapped(
        "`split_datetime` makes columns of several parts, by these names (`us` is `microsecond`); `strftime(format)` is `datetime_to_str(format)`."
    )


def numpy_parts() -> Iterator[str]:
    yield "## NumPy"
    yield wrapped(
        "NumPy's functions ask columns what to do. `np.log(sf['x'])` and all others of the table above are the methods; those of two numbers are "
        "lazy columns as well, of two columns of equal length, or a column and one number. If ints give an int, the table says so."
    )
    rows = ["| Function | Gives |", "| --- | --- |"]
    rows += [f"| `np.{line.name}(a, b)` | {line.summary}{'; an int of two ints' if line.ints_stay else ''} |" for line in PAIR_FUNCTIONS.values()]
    yield "\n".join(rows)
    yield wrapped(
        "Lazy are also NumPy's forms of the operators (`np.add`, `np.equal`, `np.logical_and` and so on), `np.where`, `np.clip`, `np.round` and "
        "`np.isin`. `np.sum`, `mean`, `min`, `max`, `std` and `var` of a column are the column's members, which skip missing values; of a frame "
        "with `axis=0` they are an array with one of each column, and `np.sum`, `mean`, `min` and `max` with `axis=1` a lazy column. "
        "`np.log(sf[names])` is a frame. "
        "Everything else gets arrays, as from `np.asarray`: functions without a lazy form, options such as `out=`, and arrays beside a column."
    )
    yield wrapped(
        "`np.asarray(column)` has NaN for missing numbers, `datetime64` for date-times without an offset, and Booleans for results of "
        "comparisons and their `&`, `|` and `~`: `X[sf['label'] == 'a']` selects the rows that `sf[sf['label'] == 'a']` has. `np.asarray(sf)` is "
        "two-dimensional: numbers, date-times, or objects if columns hold anything else. scikit-learn takes both as they are."
    )
    yield (
        "```python\nimport numpy as np\n\nfrom sframe_spark import SFrame\n\n"
        'sf = SFrame({"x": [1.0, None, 4.0], "label": ["a", "b", "a"]})\n'
        'sf["log"] = np.log(sf["x"])\n'
        'print(list(sf["log"].round(2)), list(np.where(sf["label"] == "a", sf["x"], 0.0)))\n'
        'print(np.arange(6).reshape(3, 2)[sf["label"] == "a"].tolist())\n'
        'print(np.asarray(sf[["x"]]).tolist())\n```'
    )
    yield "```text\n[0.0, None, 1.39] [1.0, 0.0, 4.0]\n[[0, 1], [4, 5]]\n[[1.0], [nan], [4.0]]\n```"
