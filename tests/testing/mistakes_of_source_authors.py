"""Mistakes of authors of sources and writers, each in the smallest class that has it, with what finds it; see `mistakes_of_plugin_authors`."""

from __future__ import annotations

import ast
import random
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark import SArray, SFrame
from sframe_spark.plugin import INT, STR, FileWriter, Predicate, RowSource, register_writer
from sframe_spark.testing.source_and_writer_contracts import check_source, check_writer
from tests.testing.mistakes_of_plugin_authors import mistake

NAMES = ["n", "text"]
VALUES: dict[str, list[Any]] = {"n": [1, 1, 2, None, 5, 8, 8, 9], "text": ["a", "b", None, "d", "e", "f", "g", "h"]}


def rows_between(start: int, stop: int, columns: Sequence[str]) -> pa.Table:
    return pa.table({name: pa.array(VALUES[name][start:stop], INT.physical if name == "n" else STR.physical) for name in columns})


class Eight(RowSource):
    """Eight rows. A mistake gives other answers."""

    def __init__(self, **other: Any) -> None:
        self.other = other

    def columns(self) -> Mapping[str, Any]:
        return self.other.get("columns", {"n": INT, "text": STR})

    def length(self) -> int | None:
        return self.other.get("length", 8)

    def at_most(self) -> int | None:
        return self.other.get("at_most", self.length())

    def parts(self) -> Sequence[int | None]:
        return self.other.get("parts", (self.length(),))

    def order(self) -> Sequence[tuple[str, bool]]:
        return self.other.get("order", ())

    def unique(self) -> Sequence[Sequence[str]]:
        return self.other.get("unique", ())

    def read(self, start: int, stop: int, columns: Sequence[str], predicate: Predicate | None) -> Iterator[pa.Table]:
        yield rows_between(start, stop, columns)


class Filtering(Eight):
    """The same, which makes use of predicates."""

    filters: ClassVar[bool] = True


def reading(read: Callable[..., Any], kind: type[Eight] = Eight, **other: Any) -> Eight:
    made: Eight = type("Eight", (kind,), {"read": lambda self, start, stop, columns, predicate: read(start, stop, columns, predicate)})(**other)
    return made


def expected() -> list[tuple[Any, ...]]:
    return list(zip(*VALUES.values(), strict=True))


@mistake("Ranges that do not add up: the last row belongs to both", "`check_source`; a plan that reads such a range refuses it")
def ranges() -> None:
    check_source(reading(lambda start, stop, columns, p: [rows_between(start, stop + (stop < 8), columns)]), expected)


@mistake("Parts that do not add up: each is read from the first on", "`check_source`")
def parts_from_start() -> None:
    source = reading(lambda start, stop, columns, p: [rows_between(0, 2 * stop, columns)], length=None, parts=[None] * 4)
    check_source(source, expected)


@mistake("Columns in the order of the file, under the names that were asked for", "`check_source`")
def swapped_columns() -> None:
    def read(start: int, stop: int, columns: Sequence[str], predicate: Any) -> Iterator[pa.Table]:
        in_file = pa.table({"first": VALUES["text"][start:stop], "second": list("ABCDEFGH")[start:stop]})
        yield in_file.select([name for name in in_file.column_names if name in columns]).rename_columns(list(columns))

    check_source(reading(read, columns={"first": STR, "second": STR}), lambda: list(zip(VALUES["text"], "ABCDEFGH", strict=True)))


@mistake("Columns that nobody has asked for", "`check_source`")
def all_columns() -> None:
    check_source(reading(lambda start, stop, columns, p: [rows_between(start, stop, NAMES)]), expected)


@mistake("Rows that change between reads", "`check_source`")
def random_rows() -> None:
    generator = random.Random(1)

    def read(start: int, stop: int, columns: Sequence[str], predicate: Any) -> Iterator[pa.Table]:
        yield pa.table({"n": [generator.randint(0, 99) for _ in range(start, stop)]})

    check_source(reading(read, columns={"n": INT}), None)


@mistake("A reader that goes on where the last read has ended", "`check_source`")
def kept_iterator() -> None:
    rows = iter(range(1000))
    check_source(reading(lambda start, stop, columns, p: [pa.table({"n": [next(rows) for _ in range(start, stop)]})], columns={"n": INT}), None)


@mistake("A source that claims a false order", "`check_source`")
def false_order() -> None:
    check_source(Eight(order=[("n", True)]), expected)


@mistake("A source that claims a column to be unique, and is wrong", "`check_source`")
def false_unique() -> None:
    check_source(Eight(unique=[["n"]]), expected)


@mistake("A false length", "`check_source`; a plan that reads up to there refuses it")
def false_length() -> None:
    check_source(Eight(length=9), expected)


@mistake("A bound that is too low", "`check_source`")
def false_bound() -> None:
    source = reading(lambda start, stop, columns, p: [rows_between(8 * start, 8 * stop, columns)], length=None, at_most=5, parts=[None])
    check_source(source, expected)


@mistake("Parts that have not as many rows as the length says", "`SFrame.read`, `frame_of_source` and `check_source`")
def false_parts() -> None:
    check_source(Eight(parts=[4, 5]), expected)


@mistake("A predicate that leaves out rows at the end of a range", "`check_source`")
def greedy_predicate() -> None:
    def read(start: int, stop: int, columns: Sequence[str], predicate: Predicate | None) -> Iterator[pa.Table]:
        rows = rows_between(start, stop, NAMES)
        for low, _ in () if predicate is None else predicate.ranges.get("n", ()):
            rows = rows if low is None else rows.filter(pc.greater(rows.column("n"), low))
        yield rows.select(list(columns))

    check_source(reading(read, Filtering), expected)


@mistake("Rows that come in another order where there is a predicate", "`check_source`")
def predicate_of_an_index() -> None:
    def read(start: int, stop: int, columns: Sequence[str], predicate: Predicate | None) -> Iterator[pa.Table]:
        rows = rows_between(start, stop, NAMES)
        yield (rows if predicate is None else predicate.filter(rows).sort_by([("n", "descending")])).select(list(columns))

    check_source(reading(read, Filtering), expected)


@mistake("A source of another type than it says", "`check_source`, and every plan")
def other_type() -> None:
    check_source(Eight(columns={"n": STR, "text": STR}), None)


@mistake("A source that keeps a lock", "`check_source`; a plan that sends it says the same before a task runs")
def locked() -> None:
    source = Eight()
    source.other["lock"] = threading.Lock()
    check_source(source, expected)


@mistake("A source that says nothing of its columns", "`check_source`, and whatever makes a frame of it")
def no_columns() -> None:
    check_source(RowSource(), None)


@mistake("Rows that are wrong each time in the same way", "`check_source` with `expected=`")
def wrong_rows() -> None:
    check_source(Eight(), lambda: [(n, text or "") for n, text in expected()])


# Writers.


class Lines(FileWriter):
    """Texts, a line each."""

    name: ClassVar[str] = "mistake_lines"

    def write(self, rows: pa.Table) -> None:
        for (text,) in zip(*rows.to_pydict().values(), strict=True):
            self.file.write(f"{text}\n".encode())


def lines_in(path: str) -> list[tuple[str]]:
    with open(path, encoding="utf-8", newline="") as file:
        return [(line,) for line in file.read().split("\n")[:-1]]


@mistake("A writer that makes a text of what is missing", "`check_writer`")
def missing_written() -> None:
    check_writer(Lines, {"text": STR}, lines_in)


@mistake("A writer that begins anew with each batch", "`check_writer`")
def batches_written() -> None:
    class Anew(Lines):
        def write(self, rows: pa.Table) -> None:
            self.file.seek(0)
            self.file.truncate()
            self.file.write(repr(rows.column(0).to_pylist()).encode())

    def read(path: str) -> list[tuple[Any]]:
        with open(path, encoding="utf-8") as file:
            return [(value,) for value in ast.literal_eval(file.read())]

    check_writer(Anew, {"n": INT}, read, [(1,), (2,), (3,)])


@mistake("A writer that closes the file", "`check_writer`")
def closed_file() -> None:
    class Closing(Lines):
        def close(self) -> None:
            self.file.close()

    check_writer(Closing, {"text": STR}, lines_in, [("a",)])


@mistake("A writer that fails where it should refuse", "`check_writer`")
def failing_writer() -> None:
    class Failing(Lines):
        def write(self, rows: pa.Table) -> None:
            self.file.write("".join(rows.column(0).to_pylist()).encode())

    check_writer(Failing, {"text": STR}, lines_in, [("a",), (None,)])


@mistake("A writer that takes columns by place, whatever their names are", "`check_writer`")
def columns_by_place() -> None:
    class ByPlace(Lines):
        def write(self, rows: pa.Table) -> None:
            for time, level in zip(*(column.to_pylist() for column in rows.columns), strict=True):
                self.file.write(f"{(time, level)}\n".encode())

    def read(path: str) -> SFrame:
        rows = [ast.literal_eval(line) for (line,) in lines_in(path)]
        return SFrame({"time": SArray([time for time, _ in rows], dtype=int), "level": SArray([level for _, level in rows], dtype=int)})

    check_writer(ByPlace, {"time": INT, "level": INT}, read, [(1, 20)])


@mistake("A suffix that is taken", "`register_source`, `register_writer`; a package that does so is left out")
def taken_suffix() -> None:
    @register_writer
    class Arrows(Lines):
        name: ClassVar[str] = "mistake_arrows"
        suffixes: ClassVar[tuple[str, ...]] = (".arrow",)


@mistake("An option that a kind of files has not", "`SFrame.read` and `SFrame.write`")
def unknown_option() -> None:
    SFrame({"a": [1]}).write("x.arrow", compresion="zstd")
