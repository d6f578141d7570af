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

from sframe_spark.api.files.json_members import JsonMembers, members_of
from sframe_spark.api.files.json_plain import PlainMembers, plain_members
from sframe_spark.errors import InfiniteNumberError, JsonError
from sframe_spark.visible import visible

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
    """

    path: str
    values: Sequence[Any]
    lines: Sequence[int]
    size: int
    is_plain: bool = False
    members: JsonMembers | PlainMembers | None = None


def _first_of_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The members of an object, in their order; of those with one name the first, as in the reference."""
    found = dict(pairs)
    if len(found) < len(pairs):
        found = {}
        for name, value in pairs:
            found.setdefault(name, value)
    return found


# Python's reader refuses whole numbers that would take it long, and nothing else without a place.
TOO_MANY_DIGITS = "a whole number has thousands of digits: write it as a text"


def _float(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise InfiniteNumberError(text, LONGEST_WORD)
    return value


DECODER = json.JSONDecoder(object_pairs_hook=_first_of_each, parse_float=_float)


# What may be a number that needs a look: of many digits before a point, or with an exponent that may make it larger than any float.
UNUSUAL_NUMBER = re.compile(r"[0-9][eE]\+?[0-9]{3}|(?:^|[^.0-9])[0-9]{19}")
BLOCK_DECODER = json.JSONDecoder(object_pairs_hook=_first_of_each)


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
        return self._members() or self._line_by_line()

    def _members(self) -> JsonValues | None:
        """An object from each line; None where they are looked at one by one."""
        members = plain_members(self.text, self.known, on_lines=True) or members_of(self.text, on_lines=True)
        if members is None:
            return None
        count = len(members.counts)
        values = Later(count, lambda: [DECODER.decode(line) for _, line in self._not_blank()])
        lines = Later(count, lambda: [number for number, _ in self._not_blank()])
        return JsonValues(self.path, values, lines, len(self.text), members=members)

    def _not_blank(self) -> Iterator[tuple[int, str]]:
        """Lines that are not blank, and their numbers."""
        for number, line in enumerate(self.text.split("\n"), self.first_line):
            if line := line.strip(" \t\r"):
                yield number, line

    def _line_by_line(self) -> JsonValues:
        numbered = list(self._not_blank())
        values = [self._parsed(line, number) for number, line in numbered]
        is_plain = are_plain(self.text) and not UNUSUAL_NUMBER.search(self.text)
        return JsonValues(self.path, values, [number for number, _ in numbered], len(self.text), is_plain)

    def _parsed(self, line: str, number: int) -> Any:
        try:
            return DECODER.decode(line)
        except InfiniteNumberError as error:
            raise JsonError(f"{visible(self.path)}, line {number}: {error}") from None
        except json.JSONDecodeError as error:
            reason, advice = error.msg, "with orient='lines' each line is one JSON value; orient='records' reads one array"
        except ValueError:
            raise JsonError(f"{visible(self.path)}, line {number}: {TOO_MANY_DIGITS}") from None
        except RecursionError:
            reason, advice = "lists and objects are nested too deep", "keep inner ones in columns of their own"
        raise JsonError(f"{visible(self.path)}, line {number}: {visible(line[:60])!r} is not JSON ({reason}): {advice}")
