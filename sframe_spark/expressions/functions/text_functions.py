"""Functions of texts: methods of Python's ``str``, with its answers, and searches by regular expressions and ``LIKE``.

A table has a line for each. Missing stays missing. Places and lengths count characters. Regular expressions are RE2's, in Spark's tasks too: they
take time in proportion to the text, know no look-around and no back references, and their classes of words, digits and spaces are of ASCII. Spark has
Java's, and cases and whitespace of another Unicode, so only plain searches have a Spark column.

Source: https://docs.python.org/3/library/stdtypes.html#text-sequence-type-str, https://github.com/google/re2/wiki/Syntax
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.errors import InvalidArgumentError, SchemaError, TooLargeError
from sframe_spark.expressions.functions.function_families import FamilyFunction, by_name
from sframe_spark.expressions.functions.scalar_function import Argument, always_by_arrow, array_of, define_function, to_ints
from sframe_spark.expressions.functions.text_patterns import extracted, like, like_tokens, with_named_groups
from sframe_spark.expressions.functions.whole_texts import (
    WHITESPACE,
    Kernel,
    all_characters,
    capitalized,
    in_python,
    of_ascii_and_others,
    of_one_case,
)
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.pyarrow_versions import if_else
from sframe_spark.types import INT, LIST_KIND, LOGICAL, STR, STR_KIND, ColumnType, list_of
from sframe_spark.values.invalid_unicode_errors import require_unicode_values

with lazy_imports(globals()):
    from sframe_spark.compute.spark_columns import Column, F

TEXTS = list_of(STR)
# In Arrow and Spark the number of bytes of a string is a 32-bit int.
MAX_BYTES = 2**31 - 1
_KERNELS = {"left": pc.utf8_lpad, "right": pc.utf8_rpad, "both": pc.utf8_center}


@attrs.frozen(kw_only=True)
class TextFunction(FamilyFunction):
    """A line of the table of functions of texts.

    Parameters
    ----------
    kernel
        Computes texts, given the parameters.
    result
        Type of the results: for 1 and 0, ``LOGICAL``, whose kernel gives Booleans.
    takes
        Type of the values.
    check
        Raises an error for parameters that make no sense; None if there are none.
    column
        The same of a Spark column; None, or returning None, where Spark's answers differ.
    """

    kernel: Callable[..., pa.Array]
    result: ColumnType = STR
    takes: ColumnType = STR
    check: Callable[..., None] | None = None
    column: Callable[..., Column | None] | None = None


def _line(
    name: str, summary: str, values: str, arguments: str, printed: str, kernel: Callable[..., pa.Array], other_names: str = "", **more: Any
) -> TextFunction:
    """Return a line, whose example calls it with arguments on a column of some values."""
    example = f"SArray({values}).str.{name}({arguments})"
    return TextFunction(
        name=name, summary=summary, example=(example, printed), function=f"str_{name}", other_names=other_names, kernel=kernel, **more
    )


# Parameters.


def _require_text(what: str, value: Any, may_be_empty: bool = True) -> None:
    if not isinstance(value, str):
        raise InvalidArgumentError(f"{what} is a text, not {value!r:.60}")
    require_unicode_values([value])
    if not value and not may_be_empty:
        raise InvalidArgumentError(f"{what} must not be empty")


def _require_number(what: str, value: Any) -> None:
    if type(value) is not int:
        raise InvalidArgumentError(f"{what} must be an int, not {value!r:.60}")


def _require_width(width: Any) -> None:
    if type(width) is not int or width > MAX_BYTES:
        raise InvalidArgumentError(f"the width of padded texts must be an int up to {MAX_BYTES:,}, not {width!r:.60}")


def _require_pattern(pattern: Any) -> None:
    _require_text("a regular expression", pattern)
    try:
        pc.match_substring_regex(pa.array([""]), pattern)
    except pa.ArrowInvalid as error:
        reason = str(error).removeprefix("Invalid regular expression: ")
        advice = "regular expressions are RE2's, without look-around and back references; apply() takes those of Python's re"
        raise InvalidArgumentError(f"{pattern!r:.80} is not a regular expression ({reason}): {advice}") from None


def _check_search(part: Any, is_pattern: bool) -> None:
    if is_pattern:
        _require_pattern(part)
    else:
        _require_text("the text to search for", part)


def _check_part(part: Any) -> None:
    _require_text("the text to search for", part)


def _check_characters(characters: Any) -> None:
    if characters is not None:
        _require_text("chars", characters)


def _check_parts(parts: Any) -> None:
    for part in parts:
        _require_text("the prefix or suffix", part)


def _check_replace(old: Any, new: Any, count: Any, is_pattern: bool) -> None:
    _check_search(old, is_pattern)
    _require_text("the replacement", new)
    if count is not None:
        _require_number("count", count)
    if not is_pattern:
        return
    if count is not None:
        raise InvalidArgumentError("a regular expression replaces all matches: omit count")
    try:
        pc.replace_substring_regex(pa.array([""]), old, new)
    except pa.ArrowInvalid as error:
        reason = str(error).removeprefix("Invalid replacement string: ")
        raise InvalidArgumentError(f"{new!r:.80} cannot be put in ({reason}): \\1 to \\9 are groups, \\0 is all, \\\\ is a backslash") from None


def _check_split(separator: Any, limit: Any) -> None:
    if separator is not None:
        _require_text("a separator", separator, may_be_empty=False)
    _require_number("maxsplit", limit)


def _check_rsplit(separator: Any, limit: Any) -> None:
    _require_text("a separator", separator, may_be_empty=False)
    _require_number("maxsplit", limit)


def _check_extract(pattern: Any, group: Any) -> None:
    _require_pattern(pattern)
    _require_number("group", group)
    names = with_named_groups(pattern)[1]
    if not 0 <= group <= len(names):
        raise InvalidArgumentError(f"{pattern!r:.80} has no group {group}: groups are counted from 1 in the order of their parentheses, and 0 is all")
    if len(set(names)) < len(names):
        raise InvalidArgumentError(f"two groups of {pattern!r:.80} have the same name: give each its own name, or none")


def _check_like(pattern: Any, ignores_case: bool) -> None:
    _require_text("a LIKE pattern", pattern)
    like_tokens(pattern)


# Kernels.


def _stripped(kernel: Callable[..., pa.Array]) -> Callable[..., pa.Array]:
    def strip(values: pa.StringArray, characters: str | None) -> pa.Array:
        removed = WHITESPACE if characters is None else characters
        return kernel(values, removed) if removed else values

    return strip


def _without_prefix(values: pa.StringArray, prefix: str) -> pa.Array:
    return if_else(pc.starts_with(values, prefix), pc.utf8_slice_codeunits(values, len(prefix)), values)


def _without_suffix(values: pa.StringArray, suffix: str) -> pa.Array:
    return if_else(pc.ends_with(values, suffix), pc.utf8_slice_codeunits(values, 0, -len(suffix)), values) if suffix else values


def _replaced(values: pa.StringArray, old: str, new: str, count: int | None, is_pattern: bool) -> pa.Array:
    if is_pattern:
        return pc.replace_substring_regex(values, old, new)
    most = None if count is None or count < 0 else count
    if most == 0:
        return values
    if old:
        return pc.replace_substring(values, old, new, max_replacements=most)
    # The new text is put before each character and at the end. Arrow's kernel for an empty pattern would not end.
    around, rest = (values, None) if most is None else (pc.utf8_slice_codeunits(values, 0, most - 1), pc.utf8_slice_codeunits(values, most - 1))
    put_in = pc.replace_substring_regex(around, "", new.replace("\\", "\\\\"))
    return put_in if rest is None else pc.binary_join_element_wise(put_in, rest, "")


def _repeated(values: pa.StringArray, times: int) -> pa.Array:
    return pc.binary_repeat(values, max(times, 0))


def _zero_filled(values: pa.StringArray, width: int) -> pa.Array:
    is_signed = pc.or_(pc.starts_with(values, "+"), pc.starts_with(values, "-"))
    _require_fitting(values, width, 1)
    padded = pc.utf8_lpad(values, max(width, 0), "0")
    sign, digits = pc.utf8_slice_codeunits(values, 0, 1), pc.utf8_slice_codeunits(values, 1)
    return if_else(is_signed, pc.binary_join_element_wise(sign, pc.utf8_lpad(digits, max(width - 1, 0), "0"), ""), padded)


def _split(values: pa.StringArray, separator: str | None, most: int) -> pa.Array:
    if separator is not None:
        return pc.split_pattern(values, separator, max_splits=None if most < 0 else most)
    # As in Python, whitespace at the begin gives no item, nor does whitespace at the end.
    # Arrow decodes the character behind whitespace at the end of a text, so another text follows the last one. Of other bytes it would make an error,
    # and find no whitespace there.
    trimmed = pa.concat_arrays([pc.utf8_ltrim(values, WHITESPACE), pa.array(["x"])])
    return _without_last_empty_item(pc.utf8_split_whitespace(trimmed, max_splits=None if most < 0 else most).slice(0, len(values)))


def _without_last_empty_item(lists: pa.ListArray) -> pa.ListArray:
    """Return lists of texts, each with an item at least, without their last item where it is empty."""
    items, lengths = lists.flatten(), pc.list_value_length(lists).fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    ends = np.cumsum(lengths)
    last = (ends - 1)[lengths > 0]
    is_empty = np.zeros(len(lists), bool)
    is_empty[lengths > 0] = pc.equal(items.take(pa.array(last)), "").to_numpy(zero_copy_only=False)
    kept = np.ones(len(items), bool)
    kept[(ends - 1)[is_empty]] = False
    offsets = np.concatenate([[0], np.cumsum(lengths - is_empty)]).astype(np.int32)
    missing = pc.is_null(lists) if lists.null_count else None
    return pa.ListArray.from_arrays(pa.array(offsets), items.filter(pa.array(kept)), mask=missing)


def _rsplit(values: pa.StringArray, separator: str, most: int) -> pa.Array:
    return pc.split_pattern(values, separator, max_splits=None if most < 0 else most, reverse=True)


def _any_of(kernel: Callable[[pa.Array, str], pa.Array]) -> Callable[..., pa.Array]:
    def kernel_of_parts(values: pa.StringArray, parts: tuple[str, ...]) -> pa.Array:
        found = if_else(values.is_valid(), pa.scalar(False), pa.scalar(None, pa.bool_()))
        for part in parts:
            found = pc.or_(found, kernel(values, part))
        return found

    return kernel_of_parts


def _contains(values: pa.StringArray, part: str, is_pattern: bool) -> pa.Array:
    return pc.match_substring_regex(values, part) if is_pattern else pc.match_substring(values, part)


def _counted(values: pa.StringArray, part: str) -> pa.Array:
    return (pc.count_substring(values, part) if part else pc.add(pc.utf8_length(values), 1)).cast(pa.int64())


def _found(values: pa.StringArray, part: str) -> pa.Array:
    """Return the number of the character at which a text is first found, -1 if it is not; Arrow has the number of the byte."""
    bytes_before = pc.find_substring(values, part)
    heads = _first_bytes(values, pc.max_element_wise(bytes_before, 0))
    return if_else(pc.less(bytes_before, 0), pa.scalar(-1, pa.int64()), heads)


def _first_bytes(values: pa.StringArray, counts: pa.Array) -> pa.Array:
    """Return how many characters begin in the first bytes of each text."""
    if pc.all(pc.string_is_ascii(values), min_count=0).as_py():
        return counts.cast(pa.int64())
    _, offsets, data = values.buffers()
    begins = np.frombuffer(offsets, np.int32)[values.offset : values.offset + len(values)].astype(np.int64)
    content = np.frombuffer(data, np.uint8)
    before = np.concatenate([[0], np.cumsum((content & 0xC0) != 0x80)])
    ends = begins + counts.fill_null(0).to_numpy(zero_copy_only=False)
    return if_else(values.is_valid(), pa.array(before[ends] - before[begins]), pa.scalar(None, pa.int64()))


def _found_last(values: pa.StringArray, part: str) -> pa.Array:
    places = _found(pc.utf8_reverse(values), part[::-1])
    return if_else(pc.less(places, 0), places, pc.subtract(pc.utf8_length(values).cast(pa.int64()), pc.add(places, len(part))))


def _joined(values: pa.ListArray, separator: str) -> pa.Array:
    return pc.binary_join(values, separator)


def _case(of_ascii: Kernel, method: Callable[[str], str]) -> Kernel:
    return of_ascii_and_others(of_ascii, in_python(method))


# Spark columns.


def _literal_search(column: Callable[[Column, Column], Column]) -> Callable[..., Column | None]:
    return lambda text, part, is_pattern: None if is_pattern else column(text, F.lit(part))


def _any_column(column: Callable[[Column, Column], Column]) -> Callable[..., Column | None]:
    # Of no text, none begins the value: but a missing value stays missing.
    return lambda text, parts: column(text, F.lit(parts[0])) if len(parts) == 1 else None


def _replace_column(text: Column, old: str, new: str, count: int | None, is_pattern: bool) -> Column | None:
    if is_pattern or not old or count is not None:
        return None
    return F.call_function("replace", text, F.lit(old), F.lit(new))


TEXT_FUNCTIONS = by_name(
    [
        _line(
            "upper",
            "Return the texts in upper case.",
            "['ann', 'straße', None]",
            "",
            "['ANN', 'STRASSE', None]",
            _case(pc.ascii_upper, str.upper),
            "to_uppercase",
        ),
        _line(
            "lower",
            "Return the texts in lower case.",
            "['Ann', 'ÉCOLE', None]",
            "",
            "['ann', 'école', None]",
            _case(pc.ascii_lower, str.lower),
            "to_lowercase",
        ),
        _line(
            "title",
            "Return the texts with each word in title case.",
            "['ann of x', None]",
            "",
            "['Ann Of X', None]",
            _case(pc.ascii_title, str.title),
            "initcap to_titlecase",
        ),
        _line(
            "capitalize",
            "Return the texts with a first letter in title case and others in lower case.",
            "['ANN of X']",
            "",
            "['Ann of x']",
            of_ascii_and_others(pc.ascii_capitalize, capitalized),
        ),
        _line(
            "swapcase",
            "Return the texts with upper and lower case swapped.",
            "['Ann']",
            "",
            "['aNN']",
            _case(pc.ascii_swapcase, str.swapcase),
        ),
        _line(
            "casefold",
            "Return the texts in a form that is equal for texts that differ only in case.",
            "['Straße']",
            "",
            "['strasse']",
            _case(pc.ascii_lower, str.casefold),
        ),
        _line(
            "strip",
            "Return the texts without whitespace, or some characters, at both ends.",
            "['  ann\\t', None]",
            "",
            "['ann', None]",
            _stripped(pc.utf8_trim),
            "strip_chars btrim trim",
            check=_check_characters,
        ),
        _line(
            "lstrip",
            "Return the texts without whitespace, or some characters, at the beginning.",
            "['  ann ']",
            "",
            "['ann ']",
            _stripped(pc.utf8_ltrim),
            "strip_chars_start ltrim",
            check=_check_characters,
        ),
        _line(
            "rstrip",
            "Return the texts without whitespace, or some characters, at the end.",
            "['xxann']",
            "'n'",
            "['xxa']",
            _stripped(pc.utf8_rtrim),
            "strip_chars_end rtrim",
            check=_check_characters,
        ),
        _line(
            "removeprefix",
            "Return the texts without a prefix that they begin with.",
            "['id-7', '7']",
            "'id-'",
            "['7', '7']",
            _without_prefix,
            "strip_prefix",
            check=lambda prefix: _require_text("a prefix", prefix),
        ),
        _line(
            "removesuffix",
            "Return the texts without a suffix that they end with.",
            "['a.txt', 'b']",
            "'.txt'",
            "['a', 'b']",
            _without_suffix,
            "strip_suffix",
            check=lambda suffix: _require_text("a suffix", suffix),
        ),
        _line(
            "replace",
            "Return the texts with every match of a text replaced by another.",
            "['a-b-c', None]",
            "'-', '+'",
            "['a+b+c', None]",
            _replaced,
            "replace_all regexp_replace translate replace_many",
            check=_check_replace,
            column=_replace_column,
        ),
        _line(
            "repeat",
            "Return each text repeated several times; empty if the number is not positive.",
            "['ab', None]",
            "2",
            "['abab', None]",
            _repeated,
            "",
            check=lambda times: _require_number("times", times),
            column=lambda text, times: F.call_function("repeat", text, F.lit(min(max(times, 0), MAX_BYTES))),
        ),
        _line(
            "zfill",
            "Return the texts padded with zeros to a width, after a sign.",
            "['7', '-7']",
            "3",
            "['007', '-07']",
            _zero_filled,
            "",
            check=_require_width,
        ),
        _line(
            "extract",
            "Return the first match of a group of a regular expression in each text; missing if nothing matches.",
            "['key=12', 'none']",
            "r'=(\\d+)'",
            "['12', None]",
            extracted,
            "regexp_extract extract_groups",
            check=_check_extract,
        ),
        _line(
            "length",
            "Return the number of characters of each text.",
            "['ann', 'é', None]",
            "",
            "[3, 1, None]",
            lambda values: pc.utf8_length(values).cast(pa.int64()),
            "len len_chars len_bytes char_length",
            result=INT,
            column=lambda text: F.length(text).cast("bigint"),
        ),
        _line(
            "count",
            "Return how many times a text is found in each text, without overlaps.",
            "['banana', None]",
            "'an'",
            "[2, None]",
            _counted,
            "count_matches regexp_count",
            result=INT,
            check=_check_part,
        ),
        _line(
            "find",
            "Return the position of the first character of a text in each text; -1 if it is not found.",
            "['héllo', 'x']",
            "'l'",
            "[2, -1]",
            _found,
            "index instr locate",
            result=INT,
            check=_check_part,
            column=lambda text, part: F.instr(text, F.lit(part)).cast("bigint") - F.lit(1).cast("bigint"),
        ),
        _line(
            "rfind",
            "Return the position of the first character of the last match of a text in each text; -1 if it is not found.",
            "['hello', 'x']",
            "'l'",
            "[3, -1]",
            _found_last,
            "rindex",
            result=INT,
            check=_check_part,
        ),
        _line(
            "startswith",
            "Return 1 if a text begins with another, else 0.",
            "['ann', 'bob', None]",
            "'a'",
            "[1, 0, None]",
            _any_of(pc.starts_with),
            "starts_with",
            result=LOGICAL,
            check=_check_parts,
            column=_any_column(lambda text, part: text.startswith(part)),
        ),
        _line(
            "endswith",
            "Return 1 if a text ends with another, else 0.",
            "['ann', 'bob', None]",
            "'b'",
            "[0, 1, None]",
            _any_of(pc.ends_with),
            "ends_with",
            result=LOGICAL,
            check=_check_parts,
            column=_any_column(lambda text, part: text.endswith(part)),
        ),
        _line(
            "contains",
            "Return 1 if a regular expression, or with ``regex=False`` a text, is found in a text, else 0.",
            "['ann', 'bob', None]",
            "'n+$'",
            "[1, 0, None]",
            _contains,
            "rlike regexp regexp_like contains_any",
            result=LOGICAL,
            check=_check_search,
            column=_literal_search(lambda text, part: text.contains(part)),
        ),
        _line(
            "match",
            "Return 1 if a text begins with a match of a regular expression, else 0.",
            "['a1', '1a']",
            "'[a-z]'",
            "[1, 0]",
            lambda values, pattern: pc.match_substring_regex(values, rf"\A(?:{pattern})"),
            "",
            result=LOGICAL,
            check=_require_pattern,
        ),
        _line(
            "fullmatch",
            "Return 1 if a regular expression matches all of a text, else 0.",
            "['a1', 'a1b']",
            "'[a-z][0-9]'",
            "[1, 0]",
            lambda values, pattern: pc.match_substring_regex(values, rf"\A(?:{pattern})\z"),
            "",
            result=LOGICAL,
            check=_require_pattern,
        ),
        _line(
            "like",
            "Return 1 if a ``LIKE`` pattern of SQL matches all of a text: % is any text, _ any character, else 0.",
            "['ann', 'bob']",
            "'a%'",
            "[1, 0]",
            like,
            "ilike",
            result=LOGICAL,
            check=_check_like,
        ),
        _line(
            "split",
            "Return a list of the parts of each text between separators, or between whitespace.",
            "['a b', ' c ', None]",
            "",
            "[['a', 'b'], ['c'], None]",
            _split,
            "split_exact splitn",
            result=TEXTS,
            check=_check_split,
        ),
        _line(
            "rsplit",
            "Return a list of the parts of each text, split from its end.",
            "['a.b.c']",
            "'.', 1",
            "[['a.b', 'c']]",
            _rsplit,
            "",
            result=TEXTS,
            check=_check_rsplit,
        ),
        _line(
            "join",
            "Return the texts of each list, with a separator between them; missing if one is missing.",
            "[['a', 'b'], [], None]",
            "'-'",
            "['a-b', '', None]",
            _joined,
            "concat_ws array_join",
            takes=TEXTS,
            check=lambda separator: _require_text("a separator", separator),
        ),
        *[
            _line(f"is{name}", f"Return 1 if a text {what}, else 0.", values, "", printed, kernel, "", result=LOGICAL)
            for name, what, values, printed, kernel in (
                (
                    "alpha",
                    "has only letters, at least one",
                    "['é', 'a1', '']",
                    "[1, 0, 0]",
                    of_ascii_and_others(pc.ascii_is_alpha, all_characters(str.isalpha)),
                ),
                (
                    "alnum",
                    "has only letters and digits, at least one",
                    "['a1', 'a b']",
                    "[1, 0]",
                    of_ascii_and_others(pc.ascii_is_alnum, all_characters(str.isalnum)),
                ),
                (
                    "digit",
                    "has only digits, at least one",
                    "['12', '1.5', '']",
                    "[1, 0, 0]",
                    of_ascii_and_others(pc.ascii_is_decimal, all_characters(str.isdigit)),
                ),
                (
                    "decimal",
                    "has only decimal digits, at least one",
                    "['12', '²']",
                    "[1, 0]",
                    of_ascii_and_others(pc.ascii_is_decimal, all_characters(str.isdecimal)),
                ),
                (
                    "numeric",
                    "has only numeric characters, at least one",
                    "['12', '½', 'x']",
                    "[1, 1, 0]",
                    of_ascii_and_others(pc.ascii_is_decimal, all_characters(str.isnumeric)),
                ),
                ("space", "has only whitespace, at least one character", "[' ', '']", "[1, 0]", all_characters(str.isspace)),
                (
                    "upper",
                    "has upper-case letters and no other letters",
                    "['A1', 'Ab', '1']",
                    "[1, 0, 0]",
                    of_ascii_and_others(pc.ascii_is_upper, of_one_case(str.isupper, str.islower)),
                ),
                (
                    "lower",
                    "has lower-case letters and no other letters",
                    "['a1', 'Ab', '1']",
                    "[1, 0, 0]",
                    of_ascii_and_others(pc.ascii_is_lower, of_one_case(str.islower, str.isupper)),
                ),
            )
        ],
    ]
)
"""Functions of texts by name, which are members of ``column.str``."""


def _define(line: TextFunction) -> None:
    def infer(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
        if line.check is not None:
            line.check(*parameters)
        if line.takes == TEXTS and types[0] != TEXTS:
            advice = "apply() joins others" if types[0].kind == LIST_KIND else "split() makes lists of texts"
            raise SchemaError(f"str.{line.name}() joins the items of lists of texts, not values of {types[0]}: {advice}")
        if line.takes == STR and types[0].kind != STR_KIND:
            raise SchemaError(f"str.{line.name}() takes texts, not values of {types[0].kind}: convert them with astype(str) first")
        return line.result

    def compute(arguments: Sequence[Argument], types: Sequence[ColumnType], parameters: tuple[Any, ...], rows: int) -> Any:
        try:
            found = line.kernel(array_of(arguments[0], rows), *parameters)
        except pa.ArrowCapacityError:
            raise TooLargeError(f"the results of str.{line.name}() for {rows:,} texts are too long for one batch: lower config.batch_rows") from None
        return to_ints(found) if line.result == LOGICAL and pa.types.is_boolean(found.type) else found

    def build(columns: Sequence[Column], types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> Column | None:
        found = None if line.column is None else line.column(columns[0], *parameters)
        return found.cast("bigint") if found is not None and line.result == LOGICAL else found

    define_function(line.function, infer, compute, build if line.column else None, by_arrow=always_by_arrow, arguments=1)


# Padding.


def _infer_pad(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
    """Return the type of the result. Parameters: the width in characters, the side on which fill characters are added, and the fill character."""
    width, side, fill = parameters
    if types[0].kind != STR_KIND:
        raise SchemaError(f"values of {types[0].kind} cannot be padded: convert them with astype(str) first")
    _require_width(width)
    if not isinstance(side, str) or side not in _KERNELS:
        raise InvalidArgumentError(f"texts can be padded on the side 'left', 'right' or 'both', not {side!r:.60}")
    if not isinstance(fill, str) or len(fill) != 1:
        raise InvalidArgumentError(f"texts can be padded with one character, not with {fill!r:.60}")
    require_unicode_values([fill])
    return STR


def _require_fitting(values: pa.StringArray, width: int, bytes_of_fill: int) -> None:
    """Check that texts that are padded to a width fit into one array."""
    added = pc.max_element_wise(pc.subtract(width, pc.utf8_length(values).cast(pa.int64())), 0)
    total = pc.sum(added, min_count=0).as_py() * bytes_of_fill + pc.sum(pc.binary_length(values), min_count=0).as_py()
    if total > MAX_BYTES:
        rows = len(values)
        raise TooLargeError(f"{rows:,} texts of {width:,} characters are too long for one batch: take a smaller width, or lower config.batch_rows")


def _compute_pad(arguments: Sequence[Argument], types: Sequence[ColumnType], parameters: tuple[Any, ...], rows: int) -> pa.Array:
    width, side, fill = max(parameters[0], 0), *parameters[1:]
    values = array_of(arguments[0], rows)
    _require_fitting(values, width, len(fill.encode()))
    # As in str.center, if an odd number of characters is added, the additional one goes to the left if the width is odd.
    options = {"lean_left_on_odd_padding": width % 2 == 0} if side == "both" else {}
    return _KERNELS[side](values, width, fill, **options)


def _build_pad(columns: Sequence[Column], types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> Column:
    width, side, fill = max(parameters[0], 0), *parameters[1:]
    text = columns[0]
    # Repetition by a negative number gives an empty string. Spark's own lpad and rpad would cut longer strings.
    added = F.lit(width) - F.length(text)
    # As in str.center, if an odd number of characters is added, the additional one goes to the left if the width is odd.
    before = {"left": added, "right": F.lit(0), "both": F.floor((added + width % 2) / 2).cast("int")}[side]
    # By its name: in PySpark 3.5 the function `repeat` takes one number for all rows.
    return F.concat(F.call_function("repeat", F.lit(fill), before), text, F.call_function("repeat", F.lit(fill), added - before))


define_function("str_pad", _infer_pad, _compute_pad, _build_pad)
for _text_function in TEXT_FUNCTIONS.values():
    _define(_text_function)
