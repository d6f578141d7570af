"""Errors of files: what is in them, and what does not fit."""

from __future__ import annotations

from sframe_spark.errors.base import InvalidArgumentError, SchemaError, StorageError, UnsupportedOperationError, travelling


@travelling
class DamagedValueError(StorageError, ValueError):
    """A stored text is not one of a value.

    Raised when a row is read whose file was damaged or written by something else.
    """


@travelling
class JsonError(StorageError, RuntimeError):
    """A file is not JSON of the form that was asked for; an OSError and, as in the reference, a RuntimeError."""


@travelling
class NoMemoryError(StorageError, MemoryError):
    """There is no memory for what is read or written; an OSError and a MemoryError. The file may be good."""


class NotOneColumnError(StorageError, RuntimeError):
    """What is saved is not a single column; an OSError and, as in the reference, a RuntimeError."""


@travelling
class NotSavedError(StorageError, RuntimeError):
    """A file is no saved frame; an OSError and, as in the reference, a RuntimeError."""


@travelling
class ConcurrentSaveError(StorageError):
    """Somebody else saved a frame in the same place meanwhile.

    Raised by a save to a file system elsewhere, and by ``checkpoint`` anywhere. What they saved is as they saved it, and of this save nothing is
    left: save again.
    """


@travelling
class CsvHintError(InvalidArgumentError, UnsupportedOperationError):
    """Column names or types do not fit the file; a ValueError and, as in the reference, a RuntimeError."""


@travelling
class CsvCountError(SchemaError, InvalidArgumentError, UnsupportedOperationError):
    """A number of rows or lines is none; a TypeError and, as in the reference, a ValueError (of a text) and a RuntimeError (of anything else)."""


@travelling
class CsvNoLineError(StorageError, RuntimeError):
    """A file has text but no line to read columns from; an OSError and, as in the reference, a RuntimeError."""


@travelling
class CsvLineError(StorageError, RuntimeError):
    """A line does not fit the columns and was not to be left out; an OSError and, as in the reference, a RuntimeError."""


@travelling
class CsvEncodingError(StorageError, ValueError):
    """The file is not text in the encoding that it is read in; an OSError and, as in the reference, a ValueError."""


class BrokenThrift(ValueError):
    """The bytes are not what Thrift writes."""


@travelling
class UnknownColumnTypeError(StorageError):
    """Raised when a text names a column type that does not exist: this version knows all that it writes."""


class BrokenPages(BrokenThrift):
    """The pages of a column are not where the footer says."""


class BrokenPayload(ValueError):
    """The bytes of a block of an archive are not what its writer writes.

    Parameters
    ----------
    reason
        What is wrong.
    place
        Number of the byte at which reading ended; None where it is not known.
    """

    def __init__(self, reason: str, place: int | None = None) -> None:
        self.reason = reason
        self.place = place
        super().__init__(reason, place)


@travelling
class ArchiveTextError(StorageError, ValueError):
    """A text in an archive of Turi Create is not UTF-8; an OSError and, as in the reference, a ValueError."""


@travelling
class ArchiveDateError(StorageError, OverflowError):
    """A date-time in an archive of Turi Create is outside the years that Python has; an OSError and an OverflowError."""
