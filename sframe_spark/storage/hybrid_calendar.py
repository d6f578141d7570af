"""Arrow columns of files whose writers counted days in the hybrid calendar, converted to the calendar of columns, at any depth."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.errors import DateTimeRangeError, InvalidArgumentError
from sframe_spark.storage.hybrid import FIRST_GREGORIAN_DAY, LAST_ZONE_CHANGE, SECONDS_PER_DAY, days_to_gregorian, days_to_hybrid, ticks_to_gregorian
from sframe_spark.storage.zones import UTC, HybridZone

_PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
# Calendars differ by less than so many days within the years that 64 bits of microseconds can tell.
_MOST_DAYS = 3_000
# 4 October 1582 was followed by the 15th.
_LACKING_DAYS = 10


@attrs.frozen
class HybridColumns:
    """Which columns of a file are in the hybrid calendar.

    Parameters
    ----------
    dates
        Whether dates are.
    instants
        Whether time stamps in UTC are.
    unzoned
        Whether time stamps without a zone are, in nanoseconds by the file's schema: those of 96 bits in Parquet.
    zone
        The zone in which the writer took days of instants.
    """

    dates: bool
    instants: bool
    unzoned: bool
    zone: HybridZone = UTC

    def concern(self, data_type: pa.DataType) -> bool:
        """Say whether values of a type, as the file's schema has it, may have to be converted.

        Examples
        --------
        >>> HybridColumns(True, False, False).concern(pa.list_(pa.date32())), HybridColumns(True, False, False).concern(pa.timestamp("us", "UTC"))
        (True, False)
        """
        if pa.types.is_date(data_type):
            return self.dates
        if pa.types.is_timestamp(data_type):
            return self.instants if data_type.tz is not None else self.unzoned and data_type.unit == "ns"
        return any(self.concern(data_type.field(place).type) for place in range(data_type.num_fields))

    def to_gregorian(self, values: pa.Array, stored: pa.DataType) -> pa.Array:
        """Return values of a column with the same names in the proleptic Gregorian calendar; the very same array where no value changes.

        Parameters
        ----------
        values
            The values.
        stored
            Their type by the file's schema: units and zones of time stamps may be others in ``values``.

        Raises
        ------
        DateTimeRangeError
            If a time stamp has no such counterpart in 64 bits.

        Examples
        --------
        >>> days = pa.array([[-171_655, None], None], pa.list_(pa.int32())).cast(pa.list_(pa.date32()))
        >>> HybridColumns(True, False, False).to_gregorian(days, days.type).to_pylist()
        [[datetime.date(1500, 1, 1), None], None]
        """
        if not self.concern(stored):
            return values
        types = pa.types
        if types.is_date(stored):
            return _dates_to_gregorian(values)
        if types.is_timestamp(stored):
            return self._instants_to_gregorian(values)
        if types.is_struct(stored):
            return self._struct_to_gregorian(values, stored)
        return self._list_to_gregorian(values, stored)

    def _instants_to_gregorian(self, values: pa.Array) -> pa.Array:
        per_second = _PER_SECOND[values.type.unit]
        ticks = values.cast(pa.int64())
        lowest = pc.min(ticks).as_py()
        if lowest is None or lowest >= LAST_ZONE_CHANGE * per_second:
            return values
        if abs(lowest) > 2**63 - _MOST_DAYS * SECONDS_PER_DAY * per_second:
            raise DateTimeRangeError(f"a time stamp of {lowest} {values.type.unit} since 1970 is none of the calendar that columns use")
        return _with_values(values, ticks_to_gregorian(_numbers(ticks), per_second, self.zone))

    def _struct_to_gregorian(self, values: pa.StructArray, stored: pa.DataType) -> pa.Array:
        before = [values.field(place) for place in range(values.type.num_fields)]
        after = [self.to_gregorian(part, stored.field(place).type) for place, part in enumerate(before)]
        if all(new is old for new, old in zip(after, before, strict=True)):
            return values
        return pa.StructArray.from_arrays(after, fields=list(values.type), mask=values.is_null() if values.null_count else None)

    def _list_to_gregorian(self, values: pa.Array, stored: pa.DataType) -> pa.Array:
        """Lists and maps: the elements of all rows are an array of their own, whichever rows of it are meant."""
        if pa.types.is_map(stored):
            entries: pa.Array = self._entries(values)
            element = pa.struct([stored.key_field, stored.item_field])
        else:
            entries, element = values.values, stored.value_type
        found = self.to_gregorian(entries, element)
        if found is entries:
            return values
        buffers = values.buffers()[: _buffers_of_lists(stored)]
        return pa.Array.from_buffers(values.type, len(values), buffers, offset=values.offset, children=[found])

    @staticmethod
    def _entries(values: pa.MapArray) -> pa.StructArray:
        return pa.StructArray.from_arrays([values.keys, values.items], fields=[values.type.key_field, values.type.item_field])


def _buffers_of_lists(data_type: pa.DataType) -> int:
    """How many buffers lists have of their own: which are missing, where they start, how long they are."""
    types = pa.types
    if types.is_fixed_size_list(data_type):
        return 1
    return 3 if types.is_list_view(data_type) or types.is_large_list_view(data_type) else 2


def instants_to_hybrid(values: pa.Array) -> pa.Array:
    """Return time stamps that have the same names, in UTC, in the hybrid calendar; the very same array where no value changes.

    Raises
    ------
    InvalidArgumentError
        If one is of a day that the hybrid calendar lacks: 5 to 14 October 1582.
    """
    ticks = values.cast(pa.int64())
    per_day = SECONDS_PER_DAY * _PER_SECOND[values.type.unit]
    lowest = pc.min(ticks).as_py()
    if lowest is None or lowest >= FIRST_GREGORIAN_DAY * per_day:
        return values
    numbers = _numbers(ticks)
    days = np.floor_divide(numbers, per_day)
    if ((days >= FIRST_GREGORIAN_DAY - _LACKING_DAYS) & (days < FIRST_GREGORIAN_DAY)).any():
        raise InvalidArgumentError(
            "some date-times are of 5 to 14 October 1582, days that the calendar of ORC files lacks: write Parquet, or leave such rows out"
        )
    return _with_values(values, numbers + (days_to_hybrid(days) - days) * per_day)


def _dates_to_gregorian(values: pa.Array) -> pa.Array:
    lowest = pc.min(values.cast(pa.int32()) if pa.types.is_date32(values.type) else values.cast(pa.date32()).cast(pa.int32())).as_py()
    if lowest is None or lowest >= FIRST_GREGORIAN_DAY:
        return values
    days = values.cast(pa.date32())
    return _with_values(days, days_to_gregorian(_numbers(days.cast(pa.int32())))).cast(values.type)


def _numbers(values: pa.Array) -> np.ndarray[Any, Any]:
    found: np.ndarray[Any, Any] = (values.fill_null(0) if values.null_count else values).to_numpy().astype(np.int64, copy=False)
    return found


def _with_values(values: pa.Array, numbers: np.ndarray[Any, Any]) -> pa.Array:
    """Other values of the same type, missing where some are."""
    mask = values.is_null().to_numpy(zero_copy_only=False) if values.null_count else None
    width = pa.int32() if values.type.bit_width == 32 else pa.int64()
    return pa.array(numbers, pa.int64(), mask=mask).cast(width).cast(values.type)
