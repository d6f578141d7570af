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
    return "\n\n".join(["# Elementwise functions", no_edit, *introduction(), *number_parts(), *text_parts(), *date_parts(), *numpy_parts()]) + "\n"


def introduction() -> Iterator[str]:
    yield wrapped(
        "An elementwise function gives one value for each row. Rows stay in place, nothing is computed before it is needed, and filters move below "
        "it. Missing values stay missing. Results are the same, bit for bit, on the driver, on threads and in Spark's tasks: queries use Spark's "
        "own function if it gives the same answers (column *Spark* of the tables), and otherwise this package's kernel on batches of rows. For "
        "anything else, write [a function](functions.md)."
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
        "These are NumPy's functions of one number, with its names and its answers, but without its warnings: results are -inf, inf or NaN where "
        "there is no number. Unless stated otherwise, ints are computed as floats. Each is a method of a column of numbers, or of arrays, and is "
        f"then applied to their elements. Rows in ascending order stay in order, and are not sorted again, after {kept} and `round`; after other "
        "functions, rounding errors could change the order."
    )
    yield table_of(NUMBER_FUNCTIONS.values())
    yield wrapped(
        "`round(digits)` rounds half to even, as NumPy does, to digits after the decimal point or, if negative, before it. `abs()`, `clip(lower, "
        "upper)`, `+ - * / // % **` and comparisons are members and operators of columns."
    )


def text_parts() -> Iterator[str]:
    yield "## Texts"
    yield wrapped(
        "Functions of texts are members of `column.str`, as in pandas and Polars. Their answers are those of Python's `str`: the upper case of `ß` "
        "is `SS`, whitespace is defined by `str.isspace`, and `find` counts characters. Arrow's own functions differ in the upper case of 177 "
        "characters, in the lower case of 76, and in whether 26,416 characters are letters; Java's differ in others. So Arrow's kernels compute "
        "ASCII, and Python's methods compute everything else, called once for all texts of a batch."
    )
    yield table_of(TEXT_FUNCTIONS.values())
    yield wrapped(
        "`pad`, `ljust`, `rjust`, `center` and `slice` are available too. Regular expressions use [RE2's "
        "syntax](https://github.com/google/re2/wiki/Syntax), in Spark's tasks too, where Java's would match differently. They take time "
        "proportional to the text, whatever the pattern. They have no look-around and no back references; `\\w`, `\\d`, `\\s` and `\\b` are ASCII "
        "only, and `$` only matches the end of the text. An invalid pattern is an error at your line. In a replacement, `\\1` is a group and `\\0` "
        "the match. `column.contains(part)` is Turi Create's method, which gives 0 for missing values."
    )


def date_parts() -> Iterator[str]:
    yield "## Date-times"
    yield wrapped(
        "Parts of date-times are in `column.dt`, as in pandas: without parentheses, except for names. They are those of the local time at each "
        "value's own offset. For zones and calendars, use `in_zone`, `floor_time` and other members of columns."
    )
    yield table_of(DATE_PARTS.values(), lambda line: line.column is not None)
    yield wrapped(
        "`split_datetime` makes columns of several parts, with these names (`us` is `microsecond`); `strftime(format)` is `datetime_to_str(format)`."
    )


def numpy_parts() -> Iterator[str]:
    yield "## NumPy"
    yield wrapped(
        "NumPy's functions call the methods of columns: `np.log(sf['x'])` is `sf['x'].log()`, and so are all others in the table above. Functions "
        "of two numbers are lazy columns too, for two columns of equal length or a column and a number. The table says so if two ints give an int."
    )
    rows = ["| Function | Gives |", "| --- | --- |"]
    rows += [f"| `np.{line.name}(a, b)` | {line.summary}{'; an int for two ints' if line.ints_stay else ''} |" for line in PAIR_FUNCTIONS.values()]
    yield "\n".join(rows)
    yield wrapped(
        "NumPy's forms of the operators (`np.add`, `np.equal`, `np.logical_and` and so on), `np.where`, `np.clip`, `np.round` and `np.isin` are "
        "lazy too. `np.sum`, `mean`, `min`, `max`, `std` and `var` of a column are the column's members, which skip missing values. For a frame, "
        "they give an array with one result for each column with `axis=0`, and `np.sum`, `mean`, `min` and `max` give a lazy column with `axis=1`. "
        "`np.log(sf[names])` is a frame. In all other cases, columns are converted to arrays as by `np.asarray`: for functions without a lazy form, "
        "for options such as `out=`, and if the other argument is an array."
    )
    yield wrapped(
        "`np.asarray(column)` has NaN for missing numbers, `datetime64` for date-times without an offset, and Booleans for results of comparisons "
        "and their `&`, `|` and `~`: `X[sf['label'] == 'a']` selects the same rows as `sf[sf['label'] == 'a']`. `np.asarray(sf)` is "
        "two-dimensional: numbers, date-times, or objects if columns hold anything else. scikit-learn accepts both directly."
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
