"""Errors of what is asked for: names, numbers, types and functions that users give."""

from __future__ import annotations

from sframe_spark.errors.base import (
    ColumnNotFoundError,
    InvalidArgumentError,
    LengthMismatchError,
    SchemaError,
    SFrameError,
    StorageError,
    UnsupportedOperationError,
    travelling,
)
from sframe_spark.visible import visible


@travelling
class MixedTypesError(SchemaError):
    """Raised when values that should be one column have no common type."""


class UnknownResultError(SchemaError, UnsupportedOperationError):
    """The results have no common type; a TypeError and, as for values inside results in the reference, a RuntimeError."""


class NotValuesError(SchemaError, UnsupportedOperationError):
    """What should be several values is one; a TypeError and, as in the reference, a RuntimeError."""


class NoSubsetError(ColumnNotFoundError, TypeError):
    """No column has the name; a KeyError and, as in the reference, a TypeError."""


class MissingColumnError(ColumnNotFoundError, RuntimeError):
    """No column has the name; a KeyError and, as in the reference, a RuntimeError."""


class TakenNameError(UnsupportedOperationError, ValueError):
    """A column of that name exists already; a RuntimeError and, as in some places of the reference, a ValueError."""


class UnknownNameError(ColumnNotFoundError, ValueError):
    """No column has the name; a KeyError and, as in the reference, a ValueError."""


class RowNotFoundError(SFrameError, IndexError, OverflowError):
    """There is no row of that number; an IndexError and, as negative numbers in the reference, an OverflowError."""


class RowKeyError(SchemaError, IndexError):
    """Rows are not chosen by that; a TypeError and, as in the reference, an IndexError."""


class MaskLengthError(LengthMismatchError, IndexError):
    """A mask has another length than what it selects from; a RuntimeError and an IndexError, as in the reference."""


class NegativeCountError(InvalidArgumentError, OverflowError):
    """A number of rows or a step is negative; a ValueError and, as in the reference, an OverflowError."""


@travelling
class BeyondRangeError(InvalidArgumentError, OverflowError):
    """A number of rows needs more than 64 bits, or an int is beyond the largest float; a ValueError and, as in the reference, an OverflowError."""


class NegativeSizeError(InvalidArgumentError, RuntimeError):
    """A sequence would have fewer than no rows; a ValueError and, as in the reference, a RuntimeError."""


class ZeroStepError(InvalidArgumentError, RuntimeError):
    """A slice has a step of zero; a ValueError, as in Python, and a RuntimeError, as in the reference."""


class NotANameError(SchemaError, UnsupportedOperationError):
    """A column is not given by its name; a TypeError and, as in the reference for lists with names of no column, a RuntimeError."""


class NoAttributeError(SFrameError, AttributeError):
    """Raised when an attribute is asked for, or assigned to, that frames and columns do not have."""


class NotCallableError(SchemaError, AssertionError):
    """What should be a function is none; a TypeError and, as in the reference, an AssertionError."""


class ColumnsOfRowsError(SchemaError, AssertionError):
    """Names, types and rows do not go together; a TypeError and, as in the reference, an AssertionError."""


class RowNumberError(InvalidArgumentError, AssertionError):
    """A number of rows is no whole number or negative; a ValueError and, as in the reference, an AssertionError."""


class UnorderedError(SchemaError, UnsupportedOperationError):
    """Values have no order; a TypeError and, as in some places of the reference, a RuntimeError."""


class MissingArgumentColumnError(ColumnNotFoundError, RuntimeError):
    """An aggregate names a column that does not exist; a KeyError and, as in the reference, a RuntimeError."""


@travelling
class NoColumnTypeError(SchemaError, UnsupportedOperationError):
    """No column holds values of that class; a TypeError and, as casts in the reference, a RuntimeError."""


@travelling
class FillValueError(UnsupportedOperationError, SchemaError):
    """A value does not fill the gaps of a column; a RuntimeError and, as in the reference for what no column holds, a TypeError."""


@travelling
class TimeFormatError(InvalidArgumentError, UnsupportedOperationError):
    """A format of date-times has a directive that cannot be read, or none; a ValueError and, as in the reference, a RuntimeError."""


class TakenKeyError(TakenNameError, KeyError):
    """A column of that name exists already; as in one place of the reference, a KeyError too."""

    def __str__(self) -> str:
        # KeyError shows the repr of its argument, which would put the sentence in quotes.
        return visible(str(self.args[0]), lines=True)


class SettingError(InvalidArgumentError, UnsupportedOperationError):
    """A setting of the reference means nothing here, or has no such value; a ValueError and, as in the reference, a RuntimeError."""


class NotAColumnError(SchemaError, AttributeError):
    """An SArray is asked for, and something else given; a TypeError and, as in the reference, an AttributeError."""


class SeedError(SchemaError, InvalidArgumentError):
    """A seed is no number; a TypeError and, as in parts of the reference, a ValueError."""


class BuilderError(UnsupportedOperationError, InvalidArgumentError):
    """A builder does not take a value, has no such segment or is closed; a ValueError and, as in the reference, a RuntimeError."""


class BoundsError(InvalidArgumentError, UnsupportedOperationError):
    """Two bounds leave nothing between them; a ValueError and, as in the reference, a RuntimeError."""


class PictureFormatError(UnsupportedOperationError, NotImplementedError):
    """A chart is not written in that format; a RuntimeError and, as in the reference, a NotImplementedError."""


class FrameComparisonError(UnsupportedOperationError, NotImplementedError):
    """A frame is compared with something as a whole; a RuntimeError and, as in the reference, a NotImplementedError."""


class MissingLibraryError(SFrameError, ImportError):
    """A library that is not installed with this one is needed; an ImportError."""


class NoPictureError(UnsupportedOperationError, InvalidArgumentError):
    """Values of that type are not drawn so; a RuntimeError and, as in parts of the reference, a ValueError."""


class ArgumentClassError(SchemaError, AssertionError):
    """An argument is of another class; a TypeError and, as in the reference, an AssertionError."""


class ColumnCodeError(InvalidArgumentError, UnsupportedOperationError):
    """No random column goes by that letter; a ValueError and, as in the reference, a RuntimeError."""


class EmptyColumnsError(InvalidArgumentError, UnsupportedOperationError):
    """No column is named; a ValueError and, as in the reference, a RuntimeError."""


class NoArchiveError(SchemaError, StorageError):
    """Nothing is saved under a path; an OSError and, as in the reference, a TypeError."""


class AbsentModuleError(SFrameError, ModuleNotFoundError):
    """Something is imported that this package has not; an ImportError that tells what to use instead."""
