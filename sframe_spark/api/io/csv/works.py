"""Parts of CSV files as works that do not depend on each other: of each the rows are written as a segment.

A part begins anywhere in a file, where a line seems to start. Whether one does, the end of the part before tells (`split.py`): until then what
is read of a part, and what is wrong with it, is a guess.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import attrs

from sframe_spark.api.io.csv.block_reader import SureLines, opened_between
from sframe_spark.api.io.csv.blocks import LeftOut, TextBlock
from sframe_spark.api.io.csv.column_types import CsvForm
from sframe_spark.api.io.csv.scan import CsvFiles
from sframe_spark.engine.memory_budget import Room
from sframe_spark.engine.runtime.rows_of_parts import RowsOfPart, kept_or_written
from sframe_spark.engine.task_pickling import Shared
from sframe_spark.errors import CsvEncodingError, CsvLineError, MisfitError
from sframe_spark.storage.filesystem.byte_streams import FileRange, WatchedFiles


@attrs.frozen(eq=False)
class CsvPlan(Shared):
    """What all works have in common.

    Parameters
    ----------
    files
        How the files are read; of them the first one.
    forms
        What is known of the fields, whose types are those of the segments.
    directory
        Where segments go.
    room
        Bytes in which a work keeps lines that are no rows.
    memory
        Room for rows that stay in this process; None: all are written.
    """

    files: CsvFiles
    forms: Sequence[CsvForm | None]
    directory: str
    room: int
    memory: Room | None = None


@attrs.frozen(eq=False)
class CsvPart:
    """What was read of a part.

    Parameters
    ----------
    start
        Where its first line starts.
    end
        Where the next line after its last one starts.
    forms
        Of its fields, and of all that were known before.
    rows
        Its rows, as they were written or in memory; None where a value is none of the types that were known.
    left_out
        Lines that are no rows, by file.
    failed
        Whether something is wrong with it, if its start is right.
    """

    start: int
    end: int
    forms: Sequence[CsvForm | None] = ()
    rows: RowsOfPart | None = None
    left_out: Mapping[str, LeftOut] = attrs.Factory(dict)
    failed: bool = False


@attrs.define(eq=False)
class _Reading:
    """FrameFiles that are read from one place to another."""

    files: CsvFiles
    places: Sequence[FileRange]
    tells_place: bool
    start: int = 0
    end: int = 0

    def blocks(self) -> Iterator[SureLines | TextBlock]:
        """Their lines."""
        for place in self.places:
            with opened_between(place, self.files.options, self.tells_place) as text:
                if not place.start:
                    self.files.begin(text)
                elif not place.is_line:
                    text.find_line(place.start, len(self.files.names))
                self.start = text.position
                yield from self.files.blocks_from(text)
                self.end = text.position


@attrs.frozen(eq=False)
class CsvWork:
    """Reads whole files, or one part of a file.

    Parameters
    ----------
    plan
        How.
    places
        What.
    number
        That of its segment.
    """

    plan: CsvPlan
    places: tuple[FileRange, ...]
    number: int

    @property
    def is_continued(self) -> bool:
        """Whether another part of the file comes before."""
        return self.places[0].start > 0

    def begins_before(self, place: int) -> bool:
        """Whether a line that starts at a place in its file is one of the part, or of one before."""
        part = self.places[0]
        assert part.state is not None
        return place < (part.state.size if part.stop is None else part.stop)

    def from_line(self, start: int) -> CsvWork:
        """The same part where it is known at which place its first line starts."""
        return attrs.evolve(self, places=(attrs.evolve(self.places[0], start=start, is_line=True),)) if self.is_continued else self

    def __call__(self) -> CsvPart:
        """Read and write the rows; what is wrong with them is not told yet."""
        reading = self._reading(tells_place=False)
        try:
            return self._written(reading)
        except (CsvLineError, CsvEncodingError):
            return CsvPart(reading.start, reading.end, failed=True)

    def told(self) -> CsvPart:
        """The same, of a part that begins with a line.

        Raises
        ------
        CsvLineError
            If a line is no row, and that is an error.
        CsvEncodingError
            If something is no text.
        """
        return self._written(self._reading(tells_place=True))

    def _reading(self, tells_place: bool) -> _Reading:
        watched = WatchedFiles((place.path, place.state) for place in self.places)
        numbers = {place.path: place.number for place in self.places}
        files = attrs.evolve(self.plan.files, bad_lines={}, room=self.plan.room, watched=watched, numbers=numbers)
        return _Reading(files, self.places, tells_place)

    def _written(self, reading: _Reading) -> CsvPart:
        files, forms = reading.files, list(self.plan.forms)
        types = files.types_of(forms)
        files.know(types)
        blocks = (files.read(block, forms, types) for block in reading.blocks())
        rows = None
        try:
            runs = files.fitting(blocks, forms)
            rows = kept_or_written(runs, (*types, *files.types_of_directories), self.plan.memory, self.plan.directory, self.number)
        except MisfitError:
            # The types of the others are found, too: all is read once more then.
            files.learn_rest(forms, blocks)
        return CsvPart(reading.start, reading.end, forms, rows, files.bad_lines)
