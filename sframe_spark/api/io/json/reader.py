"""Reads JSON files, and infers the names and types of the columns from all values.

Files are read one after the other block by block, or in parallel in parts. A part is whole files, or the lines that start in a range of a file.
In JSON, a line feed always ends a line, so each part finds its own lines, but it does not know their line numbers. If a part has an error, it is
read again when the number of its first line is known, so that the message can name the line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import chain
from types import NoneType
from typing import Any

import attrs
import pyarrow as pa

from sframe_spark.api.io.json.block_reader import JsonLines, JsonText, JsonValues, open_json, values_of
from sframe_spark.api.io.json.vectorized_parser import LARGE_INT, TYPES, JsonColumn, JsonMembers, TypedMembers
from sframe_spark.api.io.json.writer import RECORDS, require_orient
from sframe_spark.api.io.text_encoding import UTF_8, text_encoding
from sframe_spark.api.node_value_conversion import drained, joined_source
from sframe_spark.engine.materialize_options import IN_MEMORY_ROWS, MaterializeOptions
from sframe_spark.engine.runtime import external_file_import
from sframe_spark.engine.runtime.result_storage import keep_runs, new_dataset
from sframe_spark.engine.size_estimates_batch_sizes_and_memory_reservations import MemoryReservation
from sframe_spark.engine.task_pickling import SharedValue
from sframe_spark.errors import CsvEncodingError, JsonError, MisfitError, SchemaError, SFrameError
from sframe_spark.message_text import is_unicode, visible
from sframe_spark.operators.sources.in_memory import memory_source
from sframe_spark.paths_and_uris import is_remote_location
from sframe_spark.planner.node import PlannerNode
from sframe_spark.process.memory import memory_budget
from sframe_spark.process.threads import in_threads_ahead, raise_if_cancelled
from sframe_spark.storage.filesystem.compression import packing_of
from sframe_spark.storage.filesystem.external_file_streams_and_line_ranges import FileRange, WatchedFiles
from sframe_spark.storage.filesystem.input_files import DataFile, DataFiles, resolve
from sframe_spark.storage.segments.partition_columns import PartitionColumn, partition_columns, repeated
from sframe_spark.types import ENCODED_DICT, ENCODED_LIST, FLOAT, INT, STR, ColumnType, dict_of, list_of
from sframe_spark.values.export_to_arrow_and_json import cell_json_text
from sframe_spark.values.plain_values import LARGEST_INT, SMALLEST_INT
from sframe_spark.values.python_to_arrow import encode_plain
from sframe_spark.values.tagged_json_display_and_canonical_text import MAX_LEVELS, too_deep

# Columns: their names and types, collected from all blocks, and conversion of values to these types

# Up to this number, a float holds every int exactly.
_EXACT = 2**53
_NUMBERS = {frozenset({"int"}): INT, frozenset({"float"}): FLOAT, frozenset({"int", "float"}): FLOAT}
_ELEMENTS = {frozenset({"int"}): INT, frozenset({"float"}): FLOAT, frozenset({"str"}): STR}


@attrs.define
class ColumnKinds:
    """The kinds of values seen so far in a column, such as ``int`` or ``str``.

    Parameters
    ----------
    kinds
        Kinds of the values that are not missing.
    inner
        Kinds of the items, for lists and objects.
    """

    kinds: set[str] = attrs.Factory(set)
    inner: set[str] = attrs.Factory(set)

    def learn(self, values: Iterable[Any]) -> None:
        """Add the kinds of values, some of which may be missing."""
        cells = [value for value in values if value is not None]
        block = _kinds(cells)
        self.kinds |= block
        if "list" in block:
            self.inner |= _kinds([item for cell in cells if isinstance(cell, list) for item in cell if item is not None])
        if "dict" in block:
            self.inner |= _kinds([item for cell in cells if isinstance(cell, dict) for item in cell.values() if item is not None])

    def add(self, other: ColumnKinds | JsonColumn) -> None:
        """Add the kinds that another object has collected, or that a column has."""
        self.kinds |= other.kinds
        self.inner |= other.inner

    @property
    def are_of_one_kind(self) -> bool:
        """Whether the values have a common type without being converted to strings."""
        return len(kinds := _of_ints(self.kinds)) <= 1 or kinds in _NUMBERS

    @property
    def type(self) -> ColumnType:
        """The type that holds all values unchanged; string if the values differ in kind, float if all are missing."""
        kinds, element = _of_ints(self.kinds), _ELEMENTS.get(_of_ints(self.inner))
        if not kinds:
            return FLOAT
        if kinds == {"list"}:
            return ENCODED_LIST if element is None else list_of(element)
        if kinds == {"dict"}:
            return ENCODED_DICT if element is None else dict_of(STR, element)
        return _NUMBERS.get(kinds, STR)


def kind_name(value: Any) -> str:
    """Return the kind of a value: its class name; for ints ``int``, or ``large int`` (no float holds it), or ``long int`` (more than 64 bits).

    Examples
    --------
    >>> kind_name("a"), kind_name(7), kind_name(2**64)
    ('str', 'int', 'long int')
    """
    if isinstance(value, int):
        if not SMALLEST_INT <= value <= LARGEST_INT:
            return "long int"
        return "int" if int(float(value)) == value else LARGE_INT
    return type(value).__name__


def _kinds(cells: list[Any]) -> set[str]:
    """Return the kinds of values, none of which is missing."""
    classes = set(map(type, cells))
    kinds = {kind.__name__ for kind in classes - {int, bool}}
    if classes & {int, bool}:
        ints = cells if classes <= {int, bool} else [cell for cell in cells if isinstance(cell, int)]
        are_exact = min(ints) >= -_EXACT and max(ints) <= _EXACT
        kinds |= {"int"} if are_exact else set(map(kind_name, ints))
    return kinds


def _of_ints(kinds: set[str]) -> frozenset[str]:
    """Return the kinds with large ints counted as ints; if there are floats too, they stay separate, because no float holds them."""
    return frozenset(kinds if "float" in kinds else {"int" if kind == LARGE_INT else kind for kind in kinds})


COLUMN_NAME = "X1"


@attrs.frozen
class JsonForm:
    """Names and types of all columns, with partition columns; ``is_mixed``: the values of a column have no common type other than string."""

    names: tuple[str, ...]
    own: tuple[ColumnType, ...]
    partitions: tuple[PartitionColumn, ...]
    is_mixed: bool

    @property
    def types(self) -> tuple[ColumnType, ...]:
        """The types of all columns, partition columns last."""
        return (*self.own, *(column.type for column in self.partitions))

    @property
    def all_names(self) -> list[str]:
        """The names of all columns, partition columns last."""
        return [*_named(list(self.names)), *(column.name for column in self.partitions)]

    def arrays(self, block: JsonValues, columns: JsonColumns) -> list[pa.Array]:
        """Return the values of a block as one array per column."""
        number, count = columns.numbers[block.path], len(block.values)
        own = [columns.encoded(block, name, kind) for name, kind in zip(self.names, self.own, strict=True)]
        return [*own, *(repeated(column.values[number], column.type, count) for column in self.partitions)]


@attrs.define
class JsonColumns:
    """The columns of JSON files, as far as they are known.

    Parameters
    ----------
    origin
        Name of the first file, for errors.
    partitions
        Partition columns, whose values are in the names of directories.
    numbers
        Maps the path of each file to its number.
    is_array
        Whether each file is one array, rather than a value per line.
    are_values
        Whether the elements of the array are the values of one column, not rows.
    columns
        Maps each name to the kinds of its values.
    has_objects
        Whether rows are objects; None if this is not known yet.
    rows
        Number of rows read.
    """

    origin: str
    partitions: tuple[PartitionColumn, ...]
    numbers: Mapping[str, int]
    is_array: bool
    are_values: bool = False
    columns: dict[str, ColumnKinds] = attrs.Factory(dict)
    has_objects: bool | None = None
    rows: int = 0

    def form(self) -> JsonForm:
        """Return the names and types that follow from the rows read so far."""
        names = tuple(sorted(self.columns.keys() - {column.name for column in self.partitions}))
        is_mixed = self.are_values and not self.columns[COLUMN_NAME].are_of_one_kind
        return JsonForm(names, tuple(self.columns[name].type for name in names), self.partitions, is_mixed)

    def plain_types(self) -> dict[str, pa.DataType]:
        """Return the Arrow types of members, if each name so far has only numbers or only strings; otherwise an empty dict."""
        types = {name: TYPES.get(frozenset(column.kinds)) for name, column in self.columns.items()} if self.has_objects else {}
        return {} if self.are_values or None in types.values() else types

    def final_form(self) -> JsonForm:
        """Return the names and types after everything was read.

        Raises
        ------
        JsonError
            If there are no columns.
        SchemaError
            If ``are_values``, and the values have no common type.
        """
        if self.are_values and not self.columns[COLUMN_NAME].are_of_one_kind:
            kinds = " and ".join(sorted(_of_ints(self.columns[COLUMN_NAME].kinds)))
            raise SchemaError(f"the values have no common type, they are {kinds}: read_json() of SFrame takes objects")
        if not self.columns:
            raise JsonError(f"{visible(self.origin)} has {self.rows} rows, but no object has a member, so there would be no columns")
        return self.form()

    def add(self, other: JsonColumns) -> None:
        """Add what was collected from other rows."""
        self.rows += other.rows
        self.has_objects = other.has_objects if self.has_objects is None else self.has_objects
        for name, kinds in other.columns.items():
            self.columns.setdefault(name, ColumnKinds()).add(kinds)

    def learn(self, block: JsonValues) -> None:
        """Add the number of values in a block, and the names and kinds of their members.

        Raises
        ------
        JsonError
            If rows must be objects and a value is not, or only some values are objects.
        """
        self.rows += len(block.values)
        if self.are_values:
            self.has_objects = False
            column = self.columns.setdefault(COLUMN_NAME, ColumnKinds())
            if block.members is not None and block.members.objects is not None:
                column.add(block.members.objects)
            else:
                column.learn(block.values)
            return
        if block.members is not None and self.has_objects is not False:
            self._learn_members(block.members, block)
            return
        if set(map(type, block.values)) <= {dict, NoneType} and self.has_objects is not False:
            self._learn_objects([value for value in block.values if value is not None], block)
            return
        for value, line in zip(block.values, block.lines, strict=True):
            if value is None:
                continue
            is_object = isinstance(value, dict)
            if self.has_objects is None:
                self.has_objects = is_object
            if is_object != self.has_objects or (self.is_array and not is_object):
                class_text = "an object" if is_object else f"a {kind_name(value)}, not an object"
                raise JsonError(f"{visible(block.path)}, line {line}: the value is {class_text}: each row of a frame must be an object")
            if is_object:
                self._learn_objects([value], block)
            else:
                self.columns.setdefault(COLUMN_NAME, ColumnKinds()).learn([value])

    def _learn_members(self, members: JsonMembers | TypedMembers, block: JsonValues) -> None:
        """Add the kinds of objects whose members are already columns."""
        self.has_objects = True
        for name in members.names:
            kinds, column = self.columns.setdefault(name, ColumnKinds()), members.column(name)
            if column is None:
                kinds.learn([value.get(name) for value in block.values])
            else:
                kinds.add(column)

    def _learn_objects(self, objects: list[dict[str, Any]], block: JsonValues) -> None:
        """Add the kinds of the members of objects, column by column."""
        if objects:
            self.has_objects = True
        for name in dict.fromkeys(chain.from_iterable(objects)):
            if name not in self.columns and not is_unicode(name):
                line = next(line for value, line in zip(block.values, block.lines, strict=True) if value is not None and name in value)
                raise JsonError(
                    f"{visible(block.path)}, line {line}: the name {name!r:.60} is not valid Unicode text: it contains half of a character"
                )
            self.columns.setdefault(name, ColumnKinds()).learn([value.get(name) for value in objects])

    def encoded(self, block: JsonValues, name: str, kind: ColumnType) -> pa.Array:
        """Return the values of one column of a block as an array.

        Raises
        ------
        JsonError
            If a value cannot be stored; the error names the line.
        """
        if (parsed := self._parsed(block, name, kind)) is not None:
            return parsed
        cells = [None if value is None else value.get(name) for value in block.values] if self.has_objects else block.values
        try:
            return _array(cells, kind, block.is_plain)
        except UnicodeEncodeError:
            reason = "a text is not valid Unicode: it contains half of a character"
        except SFrameError as error:
            reason = str(error)
        line = block.lines[_first_wrong(cells, kind, block.is_plain)]
        raise JsonError(f"{visible(block.path)}, line {line}, column {name!r:.60}: {reason}")

    def _parsed(self, block: JsonValues, name: str, kind: ColumnType) -> pa.Array | None:
        """Return one column of a block if it was already parsed as an array of that type; else None."""
        members = block.members
        if members is None:
            return None
        if not self.has_objects:
            return None if members.objects is None else members.objects.by_type.get(kind)
        if name not in members.indices:
            return pa.nulls(len(members.counts), kind.physical)
        column = members.column(name)
        if column is None:
            return None
        return column.by_type.get(kind) if column.kinds else pa.nulls(len(members.counts), kind.physical)


def _first_wrong(cells: Sequence[Any], kind: ColumnType, are_plain: bool) -> int:
    """Return the index of the first cell that cannot be converted, by bisection; there must be one."""
    first, stop = 0, len(cells)
    while stop - first > 1:
        middle = (first + stop) // 2
        try:
            _array(cells[first:middle], kind, are_plain)
        except (UnicodeEncodeError, SFrameError):
            stop = middle
        else:
            first = middle
    return first


def _array(cells: Sequence[Any], kind: ColumnType, are_plain: bool) -> pa.Array:
    if are_plain and kind in (INT, FLOAT) and set(map(type, cells)) <= {kind.python_class, NoneType}:
        return pa.array(cells, kind.physical)
    if kind in (INT, FLOAT):
        return pa.array([None if cell is None else kind.python_class(cell) for cell in cells], kind.physical)
    if kind == STR:
        return pa.array([cell if cell is None or isinstance(cell, str) else _text(cell) for cell in cells], kind.physical)
    is_checked = are_plain or _are_plain(cells)
    return encode_plain(list(cells) if is_checked else [None if cell is None else _plain(cell, MAX_LEVELS) for cell in cells], kind)


def _text(cell: Any) -> str:
    return cell_json_text(_plain(cell, MAX_LEVELS) if isinstance(cell, (list, dict)) else cell)


def _are_plain(cells: Sequence[Any]) -> bool:
    """Return whether the items of all lists and objects are strings, floats, missing, or ints of at most 64 bits."""
    lists = [cell for cell in cells if isinstance(cell, list)]
    objects = [cell for cell in cells if isinstance(cell, dict)]
    items = [*chain.from_iterable(lists), *chain.from_iterable(cell.values() for cell in objects)]
    classes = set(map(type, items))
    if not classes <= {str, float, int, NoneType}:
        return False
    ints = [item for item in items if type(item) is int]
    return not ints or (min(ints) >= SMALLEST_INT and max(ints) <= LARGEST_INT)


def _plain(value: Any, levels: int) -> Any:
    """Return a value with true and false at any level replaced by 1 and 0, and ints of more than 64 bits by strings.

    Raises
    ------
    SchemaError
        If lists and objects are nested more than ``levels`` deep.
    """
    if isinstance(value, int):
        return int(value) if SMALLEST_INT <= value <= LARGEST_INT else str(value)
    if not isinstance(value, (list, dict)):
        return value
    if not levels:
        raise too_deep()
    if isinstance(value, list):
        return [_plain(item, levels - 1) for item in value]
    return {key: _plain(item, levels - 1) for key, item in value.items()}


def _named(names: list[str]) -> list[str]:
    """Return the column names, with an automatic name such as ``X1`` for a member whose name is empty."""
    used, number = set(names), 1
    while f"X{number}" in used:
        number += 1
    return [name or f"X{number}" for name in names]


# Tasks that each read one part of the files

# Larger files are read in parts. Smaller ones are not, because reading in parts reads the first block twice, to find the columns.
SINGLE_READER_BYTES = 32 << 20
# The first bytes of a file, which show whether several threads read it faster than one.
FIRST_BYTES = 64 << 10


@attrs.frozen(eq=False)
class JsonPlan(SharedValue):
    """The information that all tasks reading parts of the files share.

    Parameters
    ----------
    columns
        The columns as far as they are known.
    form
        The columns of the segments to write; None if no row had a member yet.
    encoding
        Encoding of the files.
    directory
        Directory of the segments.
    memory
        Memory reservation for rows that stay in this process; None: all rows are written to segments.
    """

    columns: JsonColumns
    form: JsonForm | None
    encoding: str
    directory: str
    memory: MemoryReservation | None = None


@attrs.frozen(eq=False)
class JsonPart:
    """The result of reading one part.

    Parameters
    ----------
    columns
        The columns known after reading the part: those known before, extended by those of its rows.
    rows
        The rows, in a segment or in memory; None if its columns differ from the plan's ``form``, or reading failed.
    line_ends
        Number of line ends read in its last file.
    failed
        Whether reading raised an error about the contents.
    """

    columns: JsonColumns
    rows: external_file_import.RowsOfPart | None = None
    line_ends: int = 0
    failed: bool = False


@attrs.define(eq=False)
class _Reading:
    """The ranges of files that a task reads, and the number of line ends read so far."""

    plan: JsonPlan
    ranges: Sequence[FileRange]
    columns: JsonColumns
    first_line: int
    reports_position: bool
    line_ends: int = 0

    def blocks(self) -> Iterator[JsonValues]:
        """Yield the values of all ranges in blocks, each after adding its names and types to ``columns``."""
        for part in self.ranges:
            with open_json(part, self.plan.encoding, self.first_line, self.reports_position, self.columns.plain_types) as text:
                for block in text.elements() if self.columns.is_array else text.on_lines():
                    raise_if_cancelled()
                    self.columns.learn(block)
                    yield block
                self.line_ends = text.line - self.first_line


@attrs.frozen(eq=False)
class JsonTask:
    """A task that reads whole files, or the lines that start in a range of one file, and writes their rows to a segment.

    Parameters
    ----------
    plan
        What all tasks have in common.
    ranges
        The ranges to read.
    number
        Number of the segment.
    """

    plan: JsonPlan
    ranges: tuple[FileRange, ...]
    number: int

    def __call__(self) -> JsonPart:
        """Read and write the rows. An error about the contents is only recorded, because its line number is not known yet."""
        columns = self._columns(self.plan.columns.has_objects)
        try:
            return self._written(columns, 1, reports_position=False)
        except (JsonError, CsvEncodingError):
            return JsonPart(_without_files(columns), failed=True)

    def read_or_raise(self, first_line: int, has_objects: bool | None) -> JsonPart:
        """Read and write the rows, given the number of the first line, and raise errors.

        Raises
        ------
        JsonError
            If something is not valid JSON, or a value is not a valid row.
        CsvEncodingError
            If bytes are not valid in the encoding.
        """
        return self._written(self._columns(has_objects), first_line, reports_position=True)

    def _columns(self, has_objects: bool | None) -> JsonColumns:
        planned = self.plan.columns
        kinds = {name: ColumnKinds(set(column.kinds), set(column.inner)) for name, column in planned.columns.items()}
        return attrs.evolve(planned, numbers={part.path: part.number for part in self.ranges}, columns=kinds, has_objects=has_objects, rows=0)

    def _written(self, columns: JsonColumns, first_line: int, reports_position: bool) -> JsonPart:
        reading = _Reading(self.plan, self.ranges, columns, first_line, reports_position)
        blocks, plan, form, rows = reading.blocks(), self.plan, self.plan.form, None
        try:
            if form is None:
                raise MisfitError
            rows = external_file_import.buffered_or_written(self._runs(blocks, form, columns), form.types, plan.memory, plan.directory, self.number)
        except MisfitError:
            # The columns differ from the expected ones, so everything will be read again. Collect the columns of the remaining blocks for that.
            for _ in blocks:
                pass
        return JsonPart(_without_files(columns), rows, reading.line_ends)

    def _runs(self, blocks: Iterator[JsonValues], form: JsonForm, columns: JsonColumns) -> Iterator[list[pa.Array]]:
        for block in blocks:
            if columns.form() != form:
                raise MisfitError
            yield form.arrays(block, columns)


def _without_files(columns: JsonColumns) -> JsonColumns:
    """Return the columns without the data about files, which the driver has anyway."""
    return attrs.evolve(columns, partitions=(), numbers={})


def split_rows(files: DataFiles, columns: JsonColumns, encoding: str) -> tuple[PlannerNode, list[str]] | None:
    """Return a source of all rows, and the column names, after reading the files in parts; None if reading them in parts is not worthwhile."""
    has_lines = not columns.is_array and encoding in UTF_8
    data_files = external_file_import.read_in_parts(
        files.files,
        has_lines,
        SINGLE_READER_BYTES.__ge__,
        WatchedFiles(()).seen,
        lambda longest: _is_read_as_columns(longest, columns, encoding, has_lines),
    )
    if data_files is None:
        return None
    whole = external_file_import.whole_files(data_files)
    parts = external_file_import.parts_of(whole, has_lines)
    first = next((block for file in data_files for block in values_of(file.path, columns.is_array, encoding, file.state)), None)
    if first is None:
        return memory_source([], [], 0), []
    columns.learn(first)
    columns.rows = 0
    while True:
        form = columns.form() if columns.columns else None
        with new_dataset(form.types if form is not None else (), MaterializeOptions()) as dataset:
            plan = JsonPlan(attrs.evolve(columns, numbers={}), form, encoding, dataset.directory, external_file_import.reservation_for_rows(whole))
            tasks = [JsonTask(plan, ranges, number) for number, ranges in enumerate(parts)]
            done = external_file_import.run_parts(tasks, whole, dataset.directory, "reading JSON files")
            columns = merged(tasks, done, columns)
            rows = [part.rows for part in done]
            if form is not None and columns.final_form() == form and None not in rows:
                return external_file_import.in_memory_if_few(external_file_import.source_of_parts(rows, dataset), whole), form.all_names
            # Rare: a part had other columns. Release the memory of these rows, and read everything again with the columns known now.
            columns.final_form()
            dataset.handle.discard()
            del done, rows


def _is_read_as_columns(file: DataFile, columns: JsonColumns, encoding: str, has_lines: bool) -> bool:
    """Return whether the first rows can be parsed as columns. Otherwise Python parses each value, and threads would wait for each other."""
    is_cut = has_lines and packing_of(file.path) is None
    with open_json(FileRange(file.path, file.state, 0, stop=FIRST_BYTES if is_cut else None), encoding) as text:
        try:
            first = next(text.elements() if columns.is_array else text.on_lines(), None)
        except (JsonError, CsvEncodingError):
            # A single reader reports the error, or one in an earlier file.
            return False
    return first is not None and (first.members is not None or first.is_sparse)


def merged(tasks: Sequence[JsonTask], done: list[JsonPart], known: JsonColumns) -> JsonColumns:
    """Return the columns of all parts together. A part that failed is read again with its line number, which raises its error.

    If the first block did not show whether rows are objects, the result differs from ``known``, and everything is read again.

    Raises
    ------
    JsonError
        If the contents of a part are not valid.
    CsvEncodingError
        If a part has bytes that are not valid in the encoding.
    """
    columns, line = attrs.evolve(known, rows=0), 1
    for number, (task, part) in enumerate(zip(tasks, done, strict=True)):
        line = line if task.ranges[0].start else 1
        # It is an error if some parts have objects, and others have other values.
        if part.failed or (columns.has_objects, part.columns.has_objects) in ((True, False), (False, True)):
            done[number] = part = task.read_or_raise(line, columns.has_objects)
        columns.add(part.columns)
        line += part.line_ends
    return columns


# A single reader

# Estimated bytes in memory for each character of values in the file.
BYTES_OF_CHARACTER = 8
# Size of blocks after the first; small, so that several threads get blocks even of a short file.
LATER_BYTES = 1 << 20


def read_json(url: Any, orient: str, encoding: str = "utf-8") -> tuple[PlannerNode, list[str]]:
    """Return the rows of JSON files as a source, and the sorted column names; each column gets a type that holds all its values unchanged.

    Raises
    ------
    JsonError
        If a file is not JSON in the form that ``orient`` gives.
    InvalidArgumentError
        If ``orient`` or the encoding is unknown.
    """
    require_orient(orient)
    named = text_encoding(encoding)
    files = resolve(url, str, in_place=True)
    with files.named_in_errors():
        columns = _nothing_known(files, orient == RECORDS)
        split = split_rows(files, columns, named)
        return _Reader(files, named, columns).read() if split is None else split


def read_json_values(url: Any, encoding: str = "utf-8") -> PlannerNode:
    """Return the elements of the arrays in JSON files as one column.

    Raises
    ------
    JsonError
        If a file does not contain one array.
    SchemaError
        If the values have no common type.
    """
    named = text_encoding(encoding)
    files = resolve(url, str)
    with files.named_in_errors():
        return _Reader(files, named, _nothing_known(files, is_array=True, are_values=True)).read()[0]


def _nothing_known(files: DataFiles, is_array: bool, are_values: bool = False) -> JsonColumns:
    """Return the object that collects names and types of columns, before anything was read."""
    numbers = {file.path: number for number, file in enumerate(files.files)}
    return JsonColumns(files.files[0].origin, tuple(partition_columns(files.files)), numbers, is_array, are_values)


@attrs.define
class _Reader:
    """Reads files in order: into memory if there are few rows, else into segments; again from the start if names or types change later."""

    files: DataFiles
    encoding: str
    columns: JsonColumns
    watched: WatchedFiles = attrs.field()

    @watched.default
    def _watched(self) -> WatchedFiles:
        return WatchedFiles((file.path, file.state) for file in self.files.files)

    def read(self) -> tuple[PlannerNode, list[str]]:
        """Return a source of all rows, and the column names."""
        columns, blocks = self.columns, self._learned(self._all())
        first, are_all = self._first_of(blocks)
        if not first:
            return (memory_source([pa.nulls(0, FLOAT.physical)], [FLOAT]), [COLUMN_NAME]) if columns.are_values else (memory_source([], [], 0), [])
        if are_all:
            form = columns.final_form()
            runs = [form.arrays(block, columns) for block in first]
            return joined_source(runs, form.types, sum(len(block.values) for block in first)), form.all_names
        form = columns.form()
        if columns.columns and not form.is_mixed:
            try:
                return keep_runs(self._runs(chain(drained(first), blocks), form), form.types), form.all_names
            except MisfitError:
                pass
        for _ in blocks:
            pass
        form = columns.final_form()
        return keep_runs((form.arrays(block, columns) for block in self._all()), form.types), form.all_names

    def _first_of(self, blocks: Iterator[JsonValues]) -> tuple[list[JsonValues], bool]:
        """Return the first blocks, up to the memory limit and one more, and whether these are all blocks."""
        first: list[JsonValues] = []
        rows = size = 0
        for block in blocks:
            first.append(block)
            rows, size = rows + len(block.values), size + block.size
            if rows > IN_MEMORY_ROWS or size * BYTES_OF_CHARACTER > memory_budget():
                return first, False
        return first, True

    def _learned(self, blocks: Iterator[JsonValues]) -> Iterator[JsonValues]:
        for block in blocks:
            self.columns.learn(block)
            yield block

    def _runs(self, blocks: Iterable[JsonValues], form: JsonForm) -> Iterator[list[pa.Array]]:
        """Yield the columns of each block, until a block changes the names or types of columns.

        Raises
        ------
        MisfitError
            If a block changes them.
        """
        for block in blocks:
            if self.columns.form() != form:
                raise MisfitError
            yield form.arrays(block, self.columns)

    def _all(self) -> Iterator[JsonValues]:
        for file in self.files.files:
            # Types and values may come from two readings of the file, so it must not change between them.
            self.watched.require_unchanged(file.path)
            # For remote files, a small request takes as long as a large one, so the default block size is used.
            blocks = None if is_remote_location(file.path) else (FIRST_BYTES, LATER_BYTES)
            columns, whole = self.columns, FileRange(file.path, file.state, 0)
            with open_json(whole, self.encoding, known=columns.plain_types, blocks=blocks, are_rows=not columns.are_values) as text:
                yield from text.elements() if self.columns.is_array else self._on_lines(text)
            self.watched.require_unchanged(file.path)

    def _on_lines(self, text: JsonText) -> Iterator[JsonValues]:
        """Yield the values on lines; on several threads if Arrow can parse them, because threads that parse in Python wait for each other."""
        lines = text.lines()
        for block in lines:
            if len((values := block.read()).values):
                yield values
            if self.columns.plain_types():
                break
        with closing(in_threads_ahead(JsonLines.read, lines, external_file_import.threads_that_read())) as results:
            yield from (values for values in results if len(values.values))
