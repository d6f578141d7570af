"""Blocks of JSON text and the values in them: what any thread may read of a file where its lines are known."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeVar, overload

import attrs
import pyarrow as pa

from sframe_spark.api.io.json.json_plain import PlainMembers, plain_members
from sframe_spark.api.io.json.object_columns import JsonMembers, members_of
from sframe_spark.errors import InfiniteNumberError, JsonError
from sframe_spark.message_text import visible

Found = TypeVar("Found")
# A word, or an escape in a text, may be cut where what was read ends.
LONGEST_WORD = 64


@attrs.frozen
class JsonValues:
    """Some values of a file.

    Parameters
    ----------
    path
        The file.
    values
        The values.
    lines
        The line on which each starts.
    size
        About how many characters they take in the file.
    is_plain
        Whether it is known that no value is true or false, nor a whole number of more than 64 bits, at any level.
    members
        The same as columns, where all values are objects that are written as most are.
    is_sparse
        Whether they are such objects, but of so many names that Python reads the values sooner.
    """

    path: str
    values: Sequence[Any]
    lines: Sequence[int]
    size: int
    is_plain: bool = False
    members: JsonMembers | PlainMembers | None = None
    is_sparse: bool = False


# Python's reader refuses whole numbers that would take it long, and nothing else without a place.
TOO_MANY_DIGITS = "a whole number has thousands of digits: write it as a text"


def _float(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise InfiniteNumberError(text, LONGEST_WORD)
    return value


class JsonDecoder:
    """Python's reader of JSON. Of several members of one name the last counts, as in Python and the reference.

    Of an object that is a row of a frame the first counts, as in the reference, whose columns are filled by the first member of their name.

    Parameters
    ----------
    are_rows
        Whether the objects that are read are rows.
    refuses_infinity
        Whether a number that no float holds is an error, and not infinite.

    Examples
    --------
    >>> JsonDecoder(are_rows=True).decode('{"a":1,"a":2,"b":{"c":3,"c":4}}'), JsonDecoder(are_rows=False).decode('{"a":1,"a":2}')
    ({'a': 1, 'b': {'c': 4}}, {'a': 2})
    """

    def __init__(self, are_rows: bool, refuses_infinity: bool = True) -> None:
        self._are_rows = are_rows
        # Objects with several members of one name, by identity, and what they are as rows.
        self._as_rows: dict[int, tuple[dict[str, Any], dict[str, Any]]] = {}
        self._decoder = json.JSONDecoder(object_pairs_hook=self._object, parse_float=_float if refuses_infinity else None)

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if self._are_rows and len(found) < len(pairs):
            self._as_rows[id(found)] = found, {**found, **dict(reversed(pairs))}
        return found

    def decode(self, text: str) -> Any:
        """Return the one value in a text."""
        self._as_rows.clear()
        return self._rows([self._decoder.decode(text)])[0]

    def decode_elements(self, text: str) -> list[Any]:
        """Return the values in a text with commas between them."""
        self._as_rows.clear()
        found: list[Any] = self._rows(self._decoder.decode(f"[{text}]"))
        return found

    def raw_decode(self, text: str, start: int) -> tuple[Any, int]:
        """Return the value that begins at a place of a text, and where it ends."""
        self._as_rows.clear()
        value, end = self._decoder.raw_decode(text, start)
        return self._rows([value])[0], end

    def _rows(self, values: list[Any]) -> list[Any]:
        rows = self._as_rows
        return [rows[id(value)][1] if id(value) in rows else value for value in values] if rows else values


# What may be a number that needs a look: of many digits before a point, or with an exponent that may make it larger than any float.
UNUSUAL_NUMBER = re.compile(r"[0-9][eE]\+?[0-9]{3}|(?:^|[^.0-9])[0-9]{19}")


def are_plain(text: str) -> bool:
    """Whether a text of usual numbers has no words that are numbers in columns; texts may have them too."""
    return "true" not in text and "false" not in text


class Later(Sequence[Found]):
    """A list that is made when somebody looks into it."""

    def __init__(self, count: int, make: Callable[[], list[Found]]) -> None:
        self._count, self._make = count, make

    @cached_property
    def _made(self) -> list[Found]:
        return self._make()

    @overload
    def __getitem__(self, place: int) -> Found: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Found]: ...
    def __getitem__(self, place: int | slice) -> Found | Sequence[Found]:
        return self._made[place]

    def __len__(self) -> int:
        return self._count


@attrs.frozen(eq=False)
class LinesOfJson:
    """Lines of a file, each a value or blank.

    Parameters
    ----------
    path
        The file.
    text
        The lines.
    first_line
        The number of the first one.
    known
        Types of the members of objects, as far as all so far are numbers and texts.
    """

    path: str
    text: str
    first_line: int
    known: Mapping[str, pa.DataType]

    def read(self) -> JsonValues:
        """The values.

        Raises
        ------
        JsonError
            If one is not JSON.
        """
        members = plain_members(self.text, self.known, on_lines=True) or members_of(self.text, on_lines=True)
        if members is None or members.is_sparse:
            return self._line_by_line(members is not None)
        return self._as_columns(members)

    def _as_columns(self, members: JsonMembers | PlainMembers) -> JsonValues:
        """An object from each line."""
        count = len(members.counts)
        values = Later(count, self._values)
        lines = Later(count, lambda: [number for number, _ in self._not_blank()])
        return JsonValues(self.path, values, lines, len(self.text), members=members)

    def _values(self) -> list[Any]:
        """Values that are known to be right."""
        decoder = JsonDecoder(are_rows=True)
        return [decoder.decode(line) for _, line in self._not_blank()]

    def _not_blank(self) -> Iterator[tuple[int, str]]:
        """Lines that are not blank, and their numbers."""
        for number, line in enumerate(self.text.split("\n"), self.first_line):
            if line := line.strip(" \t\r"):
                yield number, line

    def _line_by_line(self, is_sparse: bool) -> JsonValues:
        numbered, decoder = list(self._not_blank()), JsonDecoder(are_rows=True)
        values = [self._parsed(decoder, line, number) for number, line in numbered]
        is_plain = are_plain(self.text) and not UNUSUAL_NUMBER.search(self.text)
        return JsonValues(self.path, values, [number for number, _ in numbered], len(self.text), is_plain, is_sparse=is_sparse)

    def _parsed(self, decoder: JsonDecoder, line: str, number: int) -> Any:
        try:
            return decoder.decode(line)
        except InfiniteNumberError as error:
            raise JsonError(f"{visible(self.path)}, line {number}: {error}") from None
        except json.JSONDecodeError as error:
            reason, advice = error.msg, "with orient='lines' each line is one JSON value; orient='records' reads one array"
        except ValueError:
            raise JsonError(f"{visible(self.path)}, line {number}: {TOO_MANY_DIGITS}") from None
        except RecursionError:
            reason, advice = "lists and objects are nested too deep", "keep inner ones in columns of their own"
        raise JsonError(f"{visible(self.path)}, line {number}: {visible(line[:60])!r} is not JSON ({reason}): {advice}")
