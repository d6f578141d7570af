"""Large CSV files elsewhere, that a cluster shares, or whose rows are written, read in parts at once: rows are those that one reader finds.

Each part says where its first line starts, and where the next line after its last one does. A part that began elsewhere than the one before it
ends is read again from there: it began amid a field in quotes that has ends of lines in it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import attrs

from sframe_spark.api.io.csv.column_types import CsvForm, wider
from sframe_spark.api.io.csv.scan import CsvFiles
from sframe_spark.api.io.csv.works import CsvPart, CsvPlan, CsvWork
from sframe_spark.api.io.text_encoding import UTF_8
from sframe_spark.config import config
from sframe_spark.engine.materialize_options import MaterializeOptions
from sframe_spark.engine.runtime.dataset_writer import new_dataset
from sframe_spark.engine.runtime.parallel_scan import brought, parts_of, read_in_parts, room_for_rows, run_parts, whole_files
from sframe_spark.engine.runtime.rows_of_parts import source_of_parts
from sframe_spark.locations import is_elsewhere
from sframe_spark.planner.node import PlannerNode
from sframe_spark.process.memory import room_left
from sframe_spark.session.deployment import is_spark_wanted
from sframe_spark.storage.filesystem.byte_streams import FileRange, WatchedFiles

# So little is not worth to be written by several threads.
FEW_BYTES_HERE = 128 << 20
# Rows of text take so many times its bytes in memory, or less.
BYTES_OF_CHARACTER = 2
# What tells the types of files here; where the rest tells others, it is read twice.
TYPES_BYTES = 1 << 20
_RunWorks = Callable[[Sequence[CsvWork]], list[CsvPart]]


class _OtherFormsError(Exception):
    """Fields have other types than those that parts were written with; it tells the parts and the forms of all fields."""

    def __init__(self, parts: list[tuple[FileRange, ...]], forms: list[CsvForm | None]) -> None:
        super().__init__("parts have other types")
        self.parts, self.forms = parts, forms


def split_rows(files: CsvFiles) -> PlannerNode | None:
    """A source of all rows, with the types that all their fields have; None where files are not read in parts, or rows are counted."""
    has_lines = files.options.encoding in UTF_8
    if not files.names or files.options.nrows is not None:
        return None
    placed = read_in_parts(files.files, has_lines, _are_few_here, files.watched.seen, lambda _: files.are_sure())
    if placed is None:
        return None
    files.files = placed
    # As text, which takes four times as long; elsewhere a request for more takes as long as one for little.
    files.first_bytes = None if is_elsewhere(placed[0].path) else TYPES_BYTES
    forms = files.no_forms()
    files.first_rows(forms, files.blocks())
    whole = whole_files(files.files)
    parts = parts_of(whole, has_lines)
    while True:
        try:
            return _written(files, whole, parts, forms)
        except _OtherFormsError as found:
            # Rare: once more, with the types that are known now.
            parts, forms = found.parts, found.forms


def _are_few_here(size: int) -> bool:
    """Whether one reader takes so many bytes of this machine from the first line to the last, whose blocks threads read: rows that stay in memory.

    Others are written, which several threads do for a part each.
    """
    # What there is room for is asked of the system.
    return size <= FEW_BYTES_HERE or (not is_spark_wanted() and size <= room_left() // BYTES_OF_CHARACTER)


def _written(files: CsvFiles, whole: Sequence[FileRange], parts: Sequence[tuple[FileRange, ...]], forms: list[CsvForm | None]) -> PlannerNode:
    """A source of all rows.

    Raises
    ------
    _OtherFormsError
        If they have other types.
    """
    files.bad_lines, files.room = {}, config.memory_budget if files.keeps_bad_lines else 0
    types = files.types_of(forms)
    with new_dataset((*types, *files.types_of_directories), MaterializeOptions()) as dataset:
        of_all = attrs.evolve(files, files=files.files[:1], watched=WatchedFiles(()))
        plan = CsvPlan(of_all, forms, dataset.directory, files.room // len(parts), room_for_rows(whole))
        works = [CsvWork(plan, places, number) for number, places in enumerate(parts)]
        done = in_order(works, lambda some: run_parts(some, whole, dataset.directory, "reading CSV files"))
        found = [functools.reduce(wider, column) for column in zip(forms, *(part.forms for part in done if part.forms), strict=True)]
        if files.types_of(found) != types or any(part.forms and part.rows is None for part in done):
            again = [work.from_line(part.start).places for work, part in zip(works, done, strict=True) if part.forms]
            raise _OtherFormsError(again, found)
        for part in done:
            for path, left_out in part.left_out.items():
                files.keep(path, left_out.lines, left_out.number)
        return brought(source_of_parts([part.rows for part in done], dataset), whole)


def in_order(works: Sequence[CsvWork], run: _RunWorks) -> list[CsvPart]:
    """What is in parts of files, each of which begins where the one before it ends; one without any line has no forms."""
    done = run(works)
    again = [number for number, work in enumerate(works) if work.is_continued and _is_apart(work, done[number], done[number - 1])]
    if again:
        # Nearly all of these are right then. The end of a part that began amid a field may still be that of another one.
        for number, part in zip(again, run([works[number].from_line(done[number - 1].end) for number in again]), strict=True):
            done[number] = part
    for number, work in enumerate(works):
        place = done[number - 1].end if work.is_continued else 0
        if work.is_continued and not work.begins_before(place):
            done[number] = CsvPart(place, place)
        elif work.is_continued and done[number].start != place:
            done[number] = run([work.from_line(place)])[0]
        if done[number].failed:
            # Its start is right, so there is something to tell.
            done[number] = work.from_line(place).told()
    return done


def _is_apart(work: CsvWork, part: CsvPart, before: CsvPart) -> bool:
    """Whether a part has lines, and begins elsewhere than the one before it ends; of one that failed nobody knows where it does."""
    return not before.failed and part.start != before.end and work.begins_before(before.end)
