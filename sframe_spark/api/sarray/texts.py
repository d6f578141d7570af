"""``column.str``: functions of texts, as pandas and Polars have them there, with the answers of Python's ``str``."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from sframe_spark.api.class_registry import SArray, make_array
from sframe_spark.api.error_hints import no_text_member, with_call_hints
from sframe_spark.errors import SchemaError
from sframe_spark.expressions.functions.text_functions import TEXT_FUNCTIONS
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.planner.node import PlannerNode
from sframe_spark.types import STR_KIND

with lazy_imports(globals()):
    from sframe_spark.api.sarray.family_members import method_of
    from sframe_spark.operators.elementwise import apply_function

_FLAGS = {re.IGNORECASE: "i", re.MULTILINE: "m", re.DOTALL: "s"}


def _method(name: str) -> Callable[[Any], SArray]:
    return method_of(TEXT_FUNCTIONS[name], "texts", "TextFunctions")


def _int(value: Any) -> Any:
    """Return an int of NumPy as an int of Python; a bool is not an int."""
    return int(value) if isinstance(value, np.integer) else value


def _pattern(pattern: Any) -> Any:
    """Return the text of a compiled regular expression, with its flags."""
    if not isinstance(pattern, re.Pattern):
        return pattern
    flags = "".join(letter for flag, letter in _FLAGS.items() if pattern.flags & flag)
    return f"(?{flags}){pattern.pattern}" if flags else pattern.pattern


@with_call_hints
class TextFunctions:
    r"""Functions of the texts of a column. Missing stays missing; places and lengths count characters.

    Regular expressions are RE2's (https://github.com/google/re2/wiki/Syntax), on whatever machine: without look-around and back references, and with
    ``\w``, ``\d`` and ``\s`` for ASCII. Compiled ones of Python's ``re`` are taken with their flags for case, lines and dots.

    Examples
    --------
    >>> from sframe_spark import SArray
    >>> names = SArray(["Ann Lee", "bob", None])
    >>> list(names.str.upper()), list(names.str.contains("^[A-Z]"))
    (['ANN LEE', 'BOB', None], [1, 0, None])
    """

    def __init__(self, node: PlannerNode) -> None:
        self._node = node

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Raise an error with advice about functions that other libraries have."""
            raise AttributeError(name) if name.startswith("_") else no_text_member(name, dir(type(self)))

    def __getitem__(self, key: Any) -> Any:
        raise SchemaError("use str.slice(start, stop) for parts of texts, as in sf['a'].str.slice(0, 1), and element_slice() for items of lists")

    def __repr__(self) -> str:
        return "<functions of texts: column.str.upper() and so on>"

    def _texts(self) -> PlannerNode:
        if self._node.schema[0].kind != STR_KIND:
            raise SchemaError(f"str.slice() takes texts, not values of {self._node.schema[0].kind}: convert them with astype(str) first")
        return self._node

    def _call(self, name: str, *parameters: Any) -> SArray:
        return make_array(apply_function(TEXT_FUNCTIONS[name].function, self._node, parameters=parameters))

    upper, lower, title, capitalize = map(_method, ("upper", "lower", "title", "capitalize"))
    swapcase, casefold, length = map(_method, ("swapcase", "casefold", "length"))
    isalpha, isalnum, isdigit, isdecimal = map(_method, ("isalpha", "isalnum", "isdigit", "isdecimal"))
    isnumeric, isspace, isupper, islower = map(_method, ("isnumeric", "isspace", "isupper", "islower"))

    def strip(self, chars: str | None = None) -> SArray:
        """Return the texts without whitespace, or without some characters, at both ends.

        Parameters
        ----------
        chars
            The characters, in any order; None: whitespace, as Python has it.

        Raises
        ------
        TypeError
            If the values are not texts.
        ValueError
            If an argument has the wrong class or value.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray(["  ann\t", "xxannx", None]).str.strip()), list(SArray(["xxannx"]).str.strip("x"))
        (['ann', 'xxannx', None], ['ann'])
        """
        return self._call("strip", chars)

    def lstrip(self, chars: str | None = None) -> SArray:
        """Return the texts without whitespace, or without some characters, at their begin.

        Parameters
        ----------
        chars
            The characters, in any order; None: whitespace, as Python has it.

        Raises
        ------
        TypeError
            If the values are not texts.
        ValueError
            If an argument has the wrong class or value.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray(["  ann ", None]).str.lstrip())
        ['ann ', None]
        """
        return self._call("lstrip", chars)

    def rstrip(self, chars: str | None = None) -> SArray:
        """Return the texts without whitespace, or without some characters, at their end.

        Parameters
        ----------
        chars
            The characters, in any order; None: whitespace, as Python has it.

        Raises
        ------
        TypeError
            If the values are not texts.
        ValueError
            If an argument has the wrong class or value.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray(["  ann ", None]).str.rstrip())
        ['  ann', None]
        """
        return self._call("rstrip", chars)

    def removeprefix(self, prefix: str) -> SArray:
        """Return the texts without a prefix, where they begin with it.

        Parameters
        ----------
        prefix
            The prefix.

        Raises
        ------
        TypeError
            If the values are not texts.
        ValueError
            If an argument has the wrong class or value.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray(["id-7", "7", None]).str.removeprefix("id-"))
        ['7', '7', None]
        """
        return self._call("removeprefix", prefix)

    def removesuffix(self, suffix: str) -> SArray:
        """Return the texts without a suffix, where they end with it.

        Parameters
        ----------
        suffix
            The suffix.

        Raises
        ------
        TypeError
            If the values are not texts.
        ValueError
            If an argument has the wrong class or value.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray(["a.txt", "b", None]).str.removesuffix(".txt"))
        ['a', 'b', None]
        """
        return self._call("removesuffix", suffix)

    def replace(self, old: Any, new: str, count: int | None = None, regex: bool = False) -> SArray:
        r"""Return the texts with another text in each place where a text, or a match of a regular expression, is found.

        Parameters
        ----------
        old
            The text, or with ``regex`` the regular expression; a compiled one is one without saying so.
        new
            What is put in; for a regular expression ``\1`` to ``\9`` are its groups, and ``\0`` is all that it matches.
        count
            How many places, from the begin of each text; None: all. Not for regular expressions.
        regex
            Whether ``old`` is a regular expression.

        Raises
        ------
        TypeError
            If the values are not texts.
        ValueError
            If an argument has the wrong class or value.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray(["a-b-c", None]).str.replace("-", "+")), list(SArray(["2024-02"]).str.replace(r"(\d+)-(\d+)", r"\2/\1", regex=True))
        (['a+b+c', None], ['02/2024'])
        """
        is_pattern = bool(regex) or isinstance(old, re.Pattern)
        return self._call("replace", _pattern(old), new, _int(count), is_pattern)

    def repeat(self, times: int) -> SArray:
        """Return each text several times in a row.

        Parameters
        ----------
        times
            How many times; the text is empty if it is not positive.

        Raises
        ------
        TypeError
            If the values are not texts.
        ValueError
            If an argument has the wrong class or value.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray(["ab", None]).str.repeat(2))
        ['abab', None]
        """
        return self._call("repeat", _int(times))

    def zfill(self, width: int) -> SArray:
        """Return the texts with zeros before them, but after a sign, so that they have at least a number of characters.

        Parameters
        ----------
        width
            The number of characters.

        Raises
        ------
        TypeError
            If the values are not texts.
        ValueError
            If an argument has the wrong class or value.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray(["7", "-7", "1234", None]).str.zfill(3))
        ['007', '-07', '1234', None]
        """
        return self._call("zfill", _int(width))

    def ljust(self, width: int, fillchar: str = " ") -> SArray:
        """Return the texts with a character added behind them up to a width.

        Parameters
        ----------
        width
            Minimum number of characters.
        fillchar
            The character to add.

        Raises
        ------
        TypeError
            If the values are not texts.
        ValueError
            If an argument has the wrong class or value.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray(["ann", None]).str.ljust(5, "."))
        ['ann..', None]
        """
        return self.pad(width, "right", fillchar)

    def rjust(self, width: int, fillchar: str = " ") -> SArray:
        """Return the texts with a character added before them up to a width.

        Parameters
        ----------
        width
            Minimum number of characters.
        fillchar
            The character to add.

        Raises
        ------
        TypeError
            If the values are not texts.
        ValueError
            If an argument has the wrong class or value.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray(["ann", None]).str.rjust(5, "."))
        ['..ann', None]
        """
        return self.pad(width, "left", fillchar)

    def center(self, width: int, fillchar: str = " ") -> SArray:
        """Return the texts with a character added on both sides up to a width.

        Parameters
        ----------
        width
            Minimum number of characters.
        fillchar
            The character to add.

        Raises
        ------
        TypeError
            If the values are not texts.
        ValueError
            If an argument has the wrong class or value.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray(["ann", None]).str.center(5, "."))
        ['.ann.', None]
        """
        return self.pad(width, "both", fillchar)

    def pad(self, width: int, side: str = "left", fillchar: str = " ") -> SArray:
        """Return the texts with a character added up to a width, as :meth:`SArray.str_pad` does.

        Parameters
        ----------
        width
            Minimum number of characters.
        side
            Where it is added: ``"left"``, ``"right"`` or ``"both"``.
        fillchar
            The character to add.

        Raises
        ------
        TypeError
            If the values are not texts.
        ValueError
            If an argument has the wrong class or value.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray(["7", "42", None]).str.pad(3, fillchar="0"))
        ['007', '042', None]
        """
        return make_array(apply_function("str_pad", self._node, parameters=(_int(width), side, fillchar)))

    def slice(self, start: int | None = None, stop: int | None = None, step: int | None = None) -> SArray:
        """Return the characters ``text[start:stop:step]`` of each text, as :meth:`SArray.element_slice` does.

        Parameters
        ----------
        start, stop, step
            The bounds and step of the slice; None as in Python.

        Raises
        ------
        TypeError
            If the values are not texts.
        ValueError
            If an argument has the wrong class or value.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray(["abcdef", "xyz", None]).str.slice(-2))
        ['ef', 'yz', None]
        """
        return make_array(self._texts()).element_slice(start, stop, step)

    def extract(self, pattern: Any, group: int = 1) -> SArray:
        r"""Return the text that a group of a regular expression matches in the first match of each text; missing where nothing matches.

        Parameters
        ----------
        pattern
            The regular expression.
        group
            Number of the group, from 1 in the order of their parentheses; 0: all that matches. A group that takes no part is an empty text.

        Raises
        ------
        TypeError
            If the values are not texts.
        ValueError
            If an argument has the wrong class or value.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray(["key=12", "none", None]).str.extract(r"=(\d+)"))
        ['12', None, None]
        """
        return self._call("extract", _pattern(pattern), _int(group))

    def count(self, part: str) -> SArray:
        """Return how many times a text is found in each text, without overlaps.

        Parameters
        ----------
        part
            The text that is searched.

        Raises
        ------
        TypeError
            If the values are not texts.
        ValueError
            If an argument has the wrong class or value.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray(["banana", None]).str.count("an"))
        [2, None]
        """
        return self._call("count", part)

    def find(self, part: str) -> SArray:
        """Return the position of the first match of a text in each text, counted in characters from 0; -1 where there is none.

        Parameters
        ----------
        part
            The text that is searched.

        Raises
        ------
        TypeError
            If the values are not texts.
        ValueError
            If an argument has the wrong class or value.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray(["héllo", "x", None]).str.find("l"))
        [2, -1, None]
        """
        return self._call("find", part)

    def rfind(self, part: str) -> SArray:
        """Return the position of the last match of a text in each text, counted in characters from 0; -1 where there is none.

        Parameters
        ----------
        part
            The text that is searched.

        Raises
        ------
        TypeError
            If the values are not texts.
        ValueError
            If an argument has the wrong class or value.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray(["hello", "x", None]).str.rfind("l"))
        [3, -1, None]
        """
        return self._call("rfind", part)

    def startswith(self, prefix: str | tuple[str, ...]) -> SArray:
        """Return 1 where a text begins with a prefix, or with one of several, else 0.

        Parameters
        ----------
        prefix
            The prefix, or a tuple of them.

        Raises
        ------
        TypeError
            If the values are not texts.
        ValueError
            If an argument has the wrong class or value.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray(["ann", "bob", None]).str.startswith("a"))
        [1, 0, None]
        """
        return self._call("startswith", prefix if isinstance(prefix, tuple) else (prefix,))

    def endswith(self, suffix: str | tuple[str, ...]) -> SArray:
        """Return 1 where a text ends with a suffix, or with one of several, else 0.

        Parameters
        ----------
        suffix
            The suffix, or a tuple of them.

        Raises
        ------
        TypeError
            If the values are not texts.
        ValueError
            If an argument has the wrong class or value.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray(["ann", "bob", None]).str.endswith(("b", "x")))
        [0, 1, None]
        """
        return self._call("endswith", suffix if isinstance(suffix, tuple) else (suffix,))

    def contains(self, pattern: Any, regex: bool = True) -> SArray:
        """Return 1 where a regular expression matches in a text, else 0.

        Parameters
        ----------
        pattern
            The regular expression.
        regex
            Whether it is one; otherwise a text, as in :meth:`SArray.contains`, which also gives 0 for missing values.

        Raises
        ------
        TypeError
            If the values are not texts.
        ValueError
            If an argument has the wrong class or value.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray(["ann", "b.b", None]).str.contains("n+$")), list(SArray(["ann", "b.b"]).str.contains(".", regex=False))
        ([1, 0, None], [0, 1])
        """
        return self._call("contains", _pattern(pattern), bool(regex) or isinstance(pattern, re.Pattern))

    def match(self, pattern: Any) -> SArray:
        """Return 1 where a text begins with a match of a regular expression, else 0.

        Parameters
        ----------
        pattern
            The regular expression.

        Raises
        ------
        TypeError
            If the values are not texts.
        ValueError
            If an argument has the wrong class or value.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray(["a1", "1a", None]).str.match("[a-z]"))
        [1, 0, None]
        """
        return self._call("match", _pattern(pattern))

    def fullmatch(self, pattern: Any) -> SArray:
        """Return 1 where a regular expression matches all of a text, else 0.

        Parameters
        ----------
        pattern
            The regular expression.

        Raises
        ------
        TypeError
            If the values are not texts.
        ValueError
            If an argument has the wrong class or value.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray(["a1", "a1b", None]).str.fullmatch("[a-z][0-9]"))
        [1, 0, None]
        """
        return self._call("fullmatch", _pattern(pattern))

    def like(self, pattern: str, ignore_case: bool = False) -> SArray:
        r"""Return 1 where a ``LIKE`` pattern of SQL matches all of a text, else 0.

        Parameters
        ----------
        pattern
            The pattern: ``%`` is any text, ``_`` any character; after a backslash they and the backslash are themselves.
        ignore_case
            Whether upper and lower case are the same, as for ``ILIKE``.

        Raises
        ------
        TypeError
            If the values are not texts.
        ValueError
            If an argument has the wrong class or value.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray(["ann", "bob", None]).str.like("a%"))
        [1, 0, None]
        """
        return self._call("like", pattern, bool(ignore_case))

    def split(self, sep: str | None = None, maxsplit: int = -1) -> SArray:
        """Return a list of the parts of each text between separators, as Python's ``split`` does.

        Parameters
        ----------
        sep
            The separator; None: any run of whitespace, which is also stripped at the ends.
        maxsplit
            How many separators split a text at most; negative: all.

        Raises
        ------
        TypeError
            If the values are not texts.
        ValueError
            If an argument has the wrong class or value.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray(["a b", " c ", None]).str.split()), list(SArray(["a,,b"]).str.split(",", 1))
        ([['a', 'b'], ['c'], None], [['a', ',b']])
        """
        return self._call("split", sep, _int(maxsplit))

    def rsplit(self, sep: str, maxsplit: int = -1) -> SArray:
        """Return a list of the parts of each text between separators; with a maximum, the last separators split.

        Parameters
        ----------
        sep
            The separator.
        maxsplit
            How many separators split a text at most; negative: all.

        Raises
        ------
        TypeError
            If the values are not texts.
        ValueError
            If an argument has the wrong class or value.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray(["a.b.c", None]).str.rsplit(".", 1))
        [['a.b', 'c'], None]
        """
        return self._call("rsplit", sep, _int(maxsplit))

    def join(self, sep: str) -> SArray:
        """Return the texts of each list as one text, with a separator between them; missing if one of them is missing.

        Parameters
        ----------
        sep
            The separator.

        Raises
        ------
        TypeError
            If the values are not lists of texts.
        ValueError
            If an argument has the wrong class or value.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray([["a", "b"], [], None]).str.join("-"))
        ['a-b', '', None]
        """
        return self._call("join", sep)


class Texts:
    """Mixin of SArray: functions of texts."""

    _node: PlannerNode

    @property
    def str(self) -> TextFunctions:
        """Functions of texts; see :class:`~sframe_spark.api.sarray.texts.TextFunctions`.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray(["ann", None]).str.upper())
        ['ANN', None]
        """
        return TextFunctions(self._node)
