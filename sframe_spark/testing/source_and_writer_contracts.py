"""The contract kit for sources and writers of plug-ins: what they declare, held against the rows that they give, and against an oracle."""

from __future__ import annotations

import os
import pickle
import re
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from typing import Any

import attrs
import pyarrow as pa

from sframe_spark.api.sframe import SFrame
from sframe_spark.api.sframe.file_io import form_of_files
from sframe_spark.config import config
from sframe_spark.engine.execution.export import write_whole
from sframe_spark.errors import ContractBroken, InvalidArgumentError, SFrameError, UncheckedWarning, UserFunctionError, users_level
from sframe_spark.operators.sources.row_source import RowSource
from sframe_spark.operators.sources.rows_of_sources import source_node
from sframe_spark.operators.sources.source_predicate import Predicate
from sframe_spark.operators.sources.source_table import SourceTable, table_of_sources
from sframe_spark.optional_libraries import import_cloudpickle
from sframe_spark.planner.length_and_order_inference import properties_of
from sframe_spark.planner.node_facts import Schema
from sframe_spark.storage.export_files import PartForm, groups
from sframe_spark.storage.file_writer import FileWriter
from sframe_spark.testing.generated_inputs import chunk_of, values_of
from sframe_spark.testing.kernel_runs import in_memory
from sframe_spark.testing.order_claims import false_claims
from sframe_spark.testing.row_comparison import Rows, counted, difference, rows_of, same_rows, same_value, shown_rows
from sframe_spark.types import ColumnType, type_of_class

# How many rows, or parts, of a source are read one by one, and how many values of a column are asked for.
MAX_READ_ALONE = 12
MAX_VALUES_ASKED_FOR = 6
ORDERED_KINDS = ("int", "float", "str", "datetime")


@attrs.frozen
class _SourceCheck:
    """What is known of a source that is checked: its table, its rows, and where ranges of it may begin."""

    source: RowSource
    table: SourceTable
    rows: Rows
    bounds: Sequence[int]

    @property
    def subject(self) -> str:
        """What messages call the source."""
        return f"the source {type(self.source).__name__}"

    @property
    def what(self) -> str:
        """What ``start`` and ``stop`` count."""
        return "parts" if self.table.lengths[0] is None else "rows"

    def demand(self, holds: bool, rule: str, found: str, remedy: str = "") -> None:
        """Raise :class:`ContractBroken` unless a rule holds."""
        if not holds:
            raise ContractBroken(self.subject, rule, found, remedy)

    def read(self, start: int, stop: int, names: Sequence[str] = (), predicate: Predicate | None = None) -> Rows:
        """Return rows as the source gives them; of all columns unless some are named."""
        return read_rows(self.source, self.table, start, stop, names or self.table.names, predicate)

    def picked(self, names: Sequence[str]) -> Rows:
        """Return some columns of all rows."""
        positions = [self.table.names.index(name) for name in names]
        return [tuple(row[position] for position in positions) for row in self.rows]


def check_source(source: RowSource, expected: Iterable[Any] | Callable[[], Iterable[Any]] | None = None) -> None:
    """Check that a source is what it says, in this process, in a plan, and after it was sent to another process.

    Rows are read whole, again, in all ranges of neighbouring rows or parts, column by column, in threads if it says that these may, with predicates
    made of its own values, and by plans with filters and slices. All rows are kept in memory: check a source of some hundred rows, with missing
    values, in several parts.

    Parameters
    ----------
    source
        The source. That of a file is ``Kind(file)``; :func:`source_of_file` finds it by a path.
    expected
        The rows, as tuples, or as values if there is one column; or a function that returns them.

    Raises
    ------
    ContractBroken
        If a rule does not hold.

    Warns
    -----
    UncheckedWarning
        Of what could not be checked.

    Examples
    --------
    >>> from sframe_spark.plugin import INT
    >>> class Squares(RowSource):
    ...     def columns(self):
    ...         return {"square": INT}
    ...
    ...     def length(self):
    ...         return 20
    ...
    ...     def read(self, start, stop, columns, predicate):
    ...         yield pa.table({"square": pa.array([n * n for n in range(start, stop)])})
    >>> check_source(Squares(), expected=[n * n for n in range(20)])
    """
    checked = _opened(source)
    _check_declared_rows(checked)
    _check_expected(checked, expected)
    _check_again(checked)
    _check_ranges(checked)
    _check_columns(checked)
    _check_claims(checked)
    _check_predicates(checked)
    _check_sent(checked)
    if source.threads:
        _check_threads(checked)
    _check_plans(checked)


def source_of_file(path: str | os.PathLike[str], format: str | None = None, **options: Any) -> RowSource:
    """Return the source that ``SFrame.read`` makes of a file, to be checked.

    Raises
    ------
    InvalidArgumentError
        If this package reads such files by other means.
    """
    operator: Any = SFrame.read(path, format, **options)._node
    while operator.inputs:
        operator = operator.inputs[0]
    table = getattr(operator.operator, "table", None)
    if table is None:
        raise InvalidArgumentError(f"{os.fspath(path)} is read by this package itself, and not by a source")
    found: RowSource = table.sources[0]
    return found


def read_rows(source: RowSource, table: SourceTable, start: int, stop: int, names: Sequence[str], predicate: Predicate | None) -> Rows:
    """Return rows as a source gives them, as Python values, after checking that they have just the columns that were asked for.

    Raises
    ------
    ContractBroken
        If there are other columns, or they are in another order.
    SFrameError
        If values are of another type than declared, or reading fails.
    """
    schema = tuple(table.types[table.names.index(name)] for name in names)
    alone = SourceTable((source,), tuple(names), schema, table.lengths, table.at_most, table.parts, table.size)
    rows: Rows = []
    given: Any = source.read(start, stop, list(names), predicate)
    batches: Sequence[Any] | Iterator[Any] = [given] if isinstance(given, (pa.Table, pa.RecordBatch)) else given
    for batch in batches or ():
        if isinstance(batch, (pa.Table, pa.RecordBatch)) and batch.schema.names != list(names):
            raise ContractBroken(
                f"the source {type(source).__name__}",
                "read() yields the columns that it is asked for, in that order",
                f"asked for {', '.join(names)} it yields {', '.join(batch.schema.names)}",
                "Yield the columns that read() is given and no others, which are read for nothing",
            )
        rows += rows_of(alone.checked_batch(batch, source, range(len(names))), schema)
    return rows


def _opened(source: RowSource) -> _SourceCheck:
    """Read a source whole, after asking it what it declares."""
    if not isinstance(source, RowSource):
        raise InvalidArgumentError(f"what is checked is an object of a subclass of RowSource, not {source!r:.80}")
    table = table_of_sources([source])
    length = table.lengths[0]
    stop = len(table.parts[0]) if length is None else length
    rows = _failing(source, "rows are of the declared columns and types", lambda: read_rows(source, table, 0, stop, table.names, None))
    starts = range(len(table.parts[0]) + 1) if length is None else table.part_starts
    near = {0, 1, 2, stop // 3, stop // 2, stop - 2, stop - 1, stop, *starts[:MAX_READ_ALONE], *starts[-MAX_READ_ALONE:]}
    return _SourceCheck(source, table, rows, sorted(bound for bound in near if 0 <= bound <= stop))


def _failing(source: RowSource, rule: str, read: Callable[[], Rows]) -> Rows:
    """Return what is read; an error is that a rule does not hold."""
    try:
        return read()
    except ContractBroken:
        raise
    except Exception as error:
        raise ContractBroken(f"the source {type(source).__name__}", rule, f"read() raises {type(error).__name__}: {error}") from error


def _check_declared_rows(checked: _SourceCheck) -> None:
    """Check lengths: of all rows, the bound, and of the parts."""
    length, at_most, count = checked.table.lengths[0], checked.table.at_most, len(checked.rows)
    if length is not None:
        rule = f"it has {counted(length, 'row')}, as length() says"
        remedy = "length() gives the number of rows that read() yields, or None where it is not known beforehand"
        checked.demand(count == length, rule, f"read(0, {length}, ...) yields {counted(count, 'row')}", remedy)
    elif at_most is not None:
        remedy = "at_most() gives a number that no source of the kind exceeds, or None"
        rule = f"it has at most {counted(at_most, 'row')}, as at_most() says"
        checked.demand(count <= at_most, rule, f"it has {counted(count, 'row')}", remedy)
    for number, rows in enumerate(checked.table.parts[0] if length is None else ()):
        if rows is not None:
            found = len(checked.read(number, number + 1))
            rule = f"part {number} has {counted(rows, 'row')}, as parts() says"
            checked.demand(
                found == rows, rule, f"it has {counted(found, 'row')}", "parts() gives None for a part whose rows are not known beforehand"
            )


def _check_expected(checked: _SourceCheck, expected: Iterable[Any] | Callable[[], Iterable[Any]] | None) -> None:
    if expected is None:
        message = f"{checked.subject} is checked without expected=: rows that are wrong each time in the same way are not found"
        warnings.warn(UncheckedWarning(message), stacklevel=users_level())
        return
    given = list(expected() if callable(expected) else expected)
    wanted = [(row,) if checked.table.names[1:] == () and not isinstance(row, tuple) else tuple(row) for row in given]
    found = difference(checked.rows, wanted, "read()", "expected") if not same_rows(checked.rows, wanted) else ""
    checked.demand(not found, "rows are the expected ones", found, "Let read() yield these rows, or change expected= if read() is right")


def _check_again(checked: _SourceCheck) -> None:
    """Check that nothing is kept between reads, also where one ends early."""
    last = checked.bounds[-1]
    rule = "rows are the same each time"
    remedy = "Keep nothing between calls of read(), and read what does not change"
    again = _failing(checked.source, rule, lambda: checked.read(0, last))
    checked.demand(same_rows(checked.rows, again), rule, _shown_difference(checked.rows, again, "the first time it", "the second time it"), remedy)
    partial_read = iter(checked.source.read(0, last, list(checked.table.names), None))
    next(partial_read, None)
    other = _failing(checked.source, rule, lambda: checked.read(0, last))
    found = _shown_difference(checked.rows, other, "alone it", "while another read has begun it")
    checked.demand(same_rows(checked.rows, other), rule, found, remedy)
    if hasattr(partial_read, "close"):
        partial_read.close()


def _check_ranges(checked: _SourceCheck) -> None:
    """Check that neighbouring ranges add up to all rows."""
    rule = f"neighbouring ranges of {checked.what} add up"
    remedy = f"read(start, stop, ...) yields the {checked.what} from start on, and not that at stop: stop is exclusive"
    last = checked.bounds[-1]
    for bound in checked.bounds:
        none = _failing(checked.source, rule, partial(checked.read, bound, bound))
        checked.demand(not none, rule, f"read({bound}, {bound}, ...) yields {counted(len(none), 'row')}: {shown_rows(none)}", remedy)
    cuts = [[0, bound, last] for bound in checked.bounds] + [list(checked.bounds), [0, *range(1, min(last, MAX_READ_ALONE)), last]]
    for cut in cuts:
        ranges = [pair for pair in pairwise(sorted(cut)) if pair[0] < pair[1]]
        parts = [_failing(checked.source, rule, partial(checked.read, *pair)) for pair in ranges]
        found = [row for part in parts for row in part]
        names = " and ".join(f"read({start}, {stop}, ...)" for start, stop in ranges[:3]) + (" and so on" if len(ranges) > 3 else "")
        checked.demand(same_rows(checked.rows, found), rule, _shown_difference(found, checked.rows, names, f"read(0, {last}, ...)"), remedy)


def _check_columns(checked: _SourceCheck) -> None:
    """Check that a column has the same values whichever others are asked for."""
    names, last = list(checked.table.names), checked.bounds[-1]
    rule = "a column has the same values, whichever others are asked for, in whatever order"
    for chosen in [*([name] for name in names), names[::-1], *([first, second] for first, second in pairwise(names[::-1]))]:
        found = _failing(checked.source, rule, partial(checked.read, 0, last, chosen))
        wanted = checked.picked(chosen)
        difference_found = _shown_difference(found, wanted, f"asked for {', '.join(chosen)} it", "asked for all it")
        checked.demand(same_rows(found, wanted), rule, difference_found, "Yield each column under its own name")


def _check_claims(checked: _SourceCheck) -> None:
    """Check what order() and unique() say."""
    found, names = false_claims(properties_of(source_node(checked.table)), checked.rows), checked.table.names
    if not found:
        return
    named = re.sub(r"column (\d+)", lambda match: repr(names[int(match[1])]), found[0])
    named = re.sub(r"columns \[([\d, ]+)\]", lambda match: "columns " + ", ".join(repr(names[int(number)]) for number in match[1].split(",")), named)
    numbers = re.match(r"rows (\d+) and (\d+)", named)
    rows = "" if numbers is None else f": {shown_rows([checked.rows[int(number)] for number in numbers.groups()])}"
    remedy = "Leave out of order() and unique() what is not true of every file: they are believed, and sorts are left out"
    checked.demand(False, "what order() and unique() say is true", named + rows, remedy)


def _check_predicates(checked: _SourceCheck) -> None:
    """Check that rows which meet a predicate are not left out, and none are made up."""
    if not checked.source.filters:
        return
    last, names = checked.bounds[-1], list(checked.table.names)
    rule = "rows that meet a predicate are not left out"
    for predicate in predicates_of(checked.table, checked.rows):
        asked = [name for name in names if name in predicate.ranges]
        for columns in (names, asked):
            found = _failing(checked.source, rule, partial(checked.read, 0, last, columns, predicate))
            positions = [names.index(name) for name in columns]
            every = [tuple(row[position] for position in positions) for row in checked.rows]
            kept = [part for row, part in zip(checked.rows, every, strict=True) if meets(predicate, names, row)]
            lost = _missing(kept, found)
            what = f"for rows with {predicate.describe()}"
            checked.demand(lost is None, rule, f"{what} it leaves out {shown_rows([lost or ()])}", "Ranges include both of their ends")
            made = _not_within(found, every)
            others = "a predicate leaves rows out, and changes neither the others nor their order"
            place = f"{what} it yields {shown_rows(found)}, without it {shown_rows(every)}: {shown_rows([made or ()])} is out of place"
            checked.demand(made is None, others, place, "Leave rows out, and keep the others as they are without the predicate")


def predicates_of(table: SourceTable, rows: Rows) -> Iterator[Predicate]:
    """Yield predicates about the values of rows: equal to one, from one on, up to one, between two, of two ranges, and that no row meets."""
    for position, (name, kind) in enumerate(zip(table.names, table.types, strict=True)):
        if kind.kind not in ORDERED_KINDS:
            continue
        values = sorted({row[position] for row in rows if row[position] is not None and row[position] == row[position]})
        chosen = values[:: max(1, len(values) // MAX_VALUES_ASKED_FOR)]
        for low, high in pairwise([*chosen, *values[-1:]]):
            for limits in (((low, low),), ((low, None),), ((None, high),), ((low, high),), ((None, low), (high, None)), ()):
                yield Predicate({name: limits})


def meets(predicate: Predicate, names: Sequence[str], row: Sequence[Any]) -> bool:
    """Return whether a row meets the ranges of a predicate."""

    def within(value: Any, limits: tuple[tuple[Any, Any], ...]) -> bool:
        known = value is not None and value == value
        return known and any((low is None or value >= low) and (high is None or value <= high) for low, high in limits)

    return all(within(row[names.index(name)], limits) for name, limits in predicate.ranges.items())


def _missing(few: Rows, many: Rows) -> tuple[Any, ...] | None:
    """Return the first row that is not among others, in whatever order these are; None if all are."""
    rest = list(many)
    for row in few:
        place = next((number for number, other in enumerate(rest) if same_value(row, other)), None)
        if place is None:
            return row
        del rest[place]
    return None


def _not_within(few: Rows, many: Rows) -> tuple[Any, ...] | None:
    """Return the first row that keeps some rows from being among others, in their order; None if all are."""
    rest = iter(many)
    for row in few:
        if not any(same_value(row, other) for other in rest):
            return row
    return None


def _check_sent(checked: _SourceCheck) -> None:
    """Check that the source reaches other processes, and reads the same there."""
    rule = "it reaches other processes and Spark's tasks, so it pickles"
    try:
        copy = pickle.loads(import_cloudpickle().dumps(checked.source))
    except Exception as error:
        # Imported here, because it imports cloudpickle.
        from sframe_spark.udf.program_pickler import culprit

        remedy = "Open files, locks and connections in read(), and keep none of them"
        raise ContractBroken(checked.subject, rule, f"self{culprit(checked.source)} cannot be pickled ({error})", remedy) from error
    last = checked.bounds[-1]
    found = _failing(checked.source, rule, lambda: read_rows(copy, checked.table, 0, last, checked.table.names, None))
    checked.demand(same_rows(checked.rows, found), rule, _shown_difference(found, checked.rows, "a copy", "the source"))


def _check_threads(checked: _SourceCheck) -> None:
    """Check that threads may read side by side."""
    rule, last = "threads may read it side by side, since threads is True", checked.bounds[-1]
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda _: _failing(checked.source, rule, lambda: checked.read(0, last)), range(8)):
            checked.demand(same_rows(checked.rows, found), rule, _shown_difference(found, checked.rows, "among others a thread", "alone a thread"))


def _check_plans(checked: _SourceCheck) -> None:
    """Check that plans have the rows: all of them, in small batches, filtered, and parts of them."""
    names, rows = list(checked.table.names), checked.rows

    def frame() -> SFrame:
        return SFrame(_node=source_node(table_of_sources([checked.source])), _names=names)

    def compare(found: SFrame, wanted: Rows, how: str) -> None:
        given = _rows_read(found, names)
        checked.demand(same_rows(given, wanted), f"a plan has its rows, {how}", _shown_difference(given, wanted, "the plan", "the source"))

    compare(frame(), rows, "all of them")
    with config.using(batch_rows=3):
        compare(frame(), rows, "in small batches")
    middle = len(rows) // 2
    compare(frame()[middle // 2 : middle + 1], rows[middle // 2 : middle + 1], "a range of them")
    for predicate in predicates_of(checked.table, rows):
        ((name, limits),) = predicate.ranges.items()
        if len(limits) == 1 and limits[0][0] is not None and limits[0][1] == limits[0][0]:
            filtered = frame()
            kept = [row for row in rows if meets(predicate, names, row)]
            compare(filtered[filtered[name] == limits[0][0]], kept, f"filtered by {name}")


def _shown_difference(first: Rows, second: Rows, first_name: str, second_name: str) -> str:
    return "" if same_rows(first, second) else difference(first, second, first_name, second_name)


# Writers.


def check_writer(
    writer: type[FileWriter],
    columns: Mapping[str, ColumnType | type],
    read: Callable[[str], Any],
    rows: Sequence[Sequence[Any]] = (),
    expected: Callable[[tuple[Any, ...]], Sequence[Any]] = tuple,
    **options: Any,
) -> None:
    """Check that rows which a writer has written come back: one row and none, in one batch and in many, with all kinds of values.

    Parameters
    ----------
    writer
        The class.
    columns
        Types of the columns by name, which the writer accepts.
    read
        Returns what is in a file, given its path: a frame, or a list of rows.
    rows
        Rows to be tried, besides those that are made from the types. Rows that the writer refuses by an error of this package are left out.
    expected
        Returns, for a row, what comes back of it, where such files do not hold all that columns do; by default the row.
    options
        Options for the writer.

    Raises
    ------
    ContractBroken
        If rows do not come back, or a rule does not hold.

    Examples
    --------
    >>> from sframe_spark.operators.sources.arrow_files import ArrowWriter
    >>> check_writer(ArrowWriter, {"a": int, "b": str}, SFrame.read, [(1, "x"), (None, None)])
    """
    subject = f"the writer {writer.__name__}"
    types = {name: kind if isinstance(kind, ColumnType) else type_of_class(kind) for name, kind in columns.items()}
    schema = tuple(types.values())
    made = [tuple(values) for values in zip(*[_cycled(values_of(kind), 17) for kind in schema], strict=True)]
    # Single rows come first: of many rows that come back otherwise, a message shows the first one.
    tried = [list(map(tuple, rows)), [], *([row] for row in made), made]
    written = 0
    with tempfile.TemporaryDirectory() as directory:
        for number, table in enumerate(tried):
            path = os.path.join(directory, f"{number}{writer.suffixes[0] if writer.suffixes else ''}")
            form = form_of_files(in_memory(chunk_of(table, schema), schema), list(types), _closing_noticed(writer), options)
            for batches in ([table], [table[start : start + 2] for start in range(0, len(table), 2)] or [[]]):
                written += _written_and_read(subject, form, schema, batches, path, read, expected)
        if len(types) > 1 and os.path.exists(path) and isinstance(read(path), SFrame):
            for table in tried:
                _check_other_order(writer, types, options, table, path, read, expected)
    if not written:
        raise ContractBroken(subject, "it writes rows of such columns", "it refuses all that were tried", "check() is to refuse the columns then")


def _written_and_read(
    subject: str,
    form: PartForm,
    schema: Schema,
    batches: Sequence[Rows],
    path: str,
    read: Callable[[str], Any],
    expected: Callable[[tuple[Any, ...]], Sequence[Any]],
) -> bool:
    """Write rows, by as many calls as there are batches, and compare what is read with them; return whether the writer accepted them."""
    rows = [row for batch in batches for row in batch]
    shown, count = f"on the rows {shown_rows(rows)}", counted(len(batches), "call")
    try:
        if len(batches) == 1:
            write_whole(in_memory(chunk_of(rows, schema), schema), path, form)
        else:
            with open(path, "wb") as file, form.opened(file) as writer:
                for batch in batches:
                    for table in groups(form, [chunk_of(batch, schema).columns]):
                        writer.write(table)
    except Exception as error:
        # The engine wraps it as an error of the writer, which is of its class too.
        broken = error.__cause__ if isinstance(error.__cause__, ContractBroken) else error
        if isinstance(broken, ContractBroken):
            raise broken from None
        if isinstance(error, SFrameError) and not isinstance(error, UserFunctionError):
            return False
        reason = str(error).splitlines()[0] if isinstance(error, SFrameError) else f"write() raises {type(error).__name__}: {error}"
        remedy = "Write them, or raise InvalidArgumentError with what such files do not hold; check() refuses columns of other types"
        raise ContractBroken(subject, "it writes rows, or refuses them by an error of this package", reason, remedy, shown) from error
    rule = f"rows come back as they were written, by {count} of write()"
    try:
        found = _rows_read(read(path), list(form.names))
    except Exception as error:
        raise ContractBroken(subject, rule, f"reading raises {type(error).__name__}: {error}", rows=shown) from error
    wanted = [tuple(expected(row)) for row in rows]
    if not same_rows(found, wanted):
        remedy = (
            "write() is called for each batch: it goes on where the last call has ended"
            if len(batches) > 1
            else "Write values so that reading tells them apart, missing ones too, or refuse them by an InvalidArgumentError; expected= of "
            "check_writer() says what becomes of values that such files do not hold"
        )
        raise ContractBroken(subject, rule, _shown_difference(found, wanted, "what is read", "the frame"), remedy, shown)
    return True


def _check_other_order(
    writer: type[FileWriter],
    types: Mapping[str, ColumnType],
    options: Mapping[str, Any],
    rows: Rows,
    path: str,
    read: Callable[[str], Any],
    expected: Callable[[tuple[Any, ...]], Sequence[Any]],
) -> None:
    """Check that columns come back under their names if a frame has them in the opposite order, unless the writer refuses that order."""
    turned, schema = [row[::-1] for row in rows], tuple(types.values())[::-1]
    try:
        form = form_of_files(in_memory(chunk_of(turned, schema), schema), list(types)[::-1], writer, options)
    except SFrameError:
        return
    subject = f"the writer {writer.__name__}"
    try:
        _written_and_read(subject, form, schema, [turned], path, read, lambda row: tuple(expected(row[::-1]))[::-1])
    except ContractBroken as error:
        rule = f"columns come back under their names also if the frame has them in the order {', '.join(form.names)}"
        remedy = (
            "Take columns by name, as rows.column(name), or let check() refuse other orders: two dicts are equal in any order, their lists are not"
        )
        raise ContractBroken(subject, rule, error.found, remedy, error.rows) from error


def _closing_noticed(writer: type[FileWriter]) -> type[FileWriter]:
    """Return a class of writers that notices that the file was closed by the writer."""

    class Noticing(writer):  # type: ignore[valid-type, misc]
        def close(self) -> None:
            super().close()
            if self.file.closed:
                remedy = "Do not close self.file: the engine does, when it has made sure that all of it is on the disk"
                raise ContractBroken(f"the writer {writer.__name__}", "it leaves the file open", "close() closes it", remedy)

    Noticing.__module__, Noticing.__qualname__, Noticing.__name__ = writer.__module__, writer.__qualname__, writer.__name__
    return Noticing


def _rows_read(given: Any, names: list[str]) -> Rows:
    if isinstance(given, SFrame):
        return list(zip(*[list(given[name]) for name in names], strict=True))
    return [tuple(row) for row in given]


def _cycled(values: Sequence[Any], count: int) -> list[Any]:
    return [values[number % len(values)] for number in range(count)]
