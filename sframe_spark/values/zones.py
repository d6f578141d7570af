"""Offsets from UTC as time zones that every library knows, and as Arrow's date-times with an offset."""

from __future__ import annotations

import pyarrow as pa

WITH_OFFSET = "arrow.timestamp_with_offset"
OFFSET_FIELDS = [pa.field("timestamp", pa.timestamp("us", "UTC"), nullable=False), pa.field("offset_minutes", pa.int16(), nullable=False)]
FURTHEST_WEST, FURTHEST_EAST = -12, 14


def zone_of(minutes: int) -> str | None:
    """The name of the zone that always has an offset; None where there is none: polars does not know ``+05:30``.

    Examples
    --------
    >>> zone_of(0), zone_of(120), zone_of(330)
    ('UTC', 'Etc/GMT-2', None)
    """
    hours, rest = divmod(minutes, 60)
    if rest or not FURTHEST_WEST <= hours <= FURTHEST_EAST:
        return None
    # The signs of these names are those of POSIX: what is east of Greenwich is negative.
    return "UTC" if not hours else f"Etc/GMT{-hours:+d}"


def is_with_offset(data_type: pa.DataType) -> bool:
    """True for what date-times with an offset are stored as by Arrow's canonical extension, whichever unit and name of UTC.

    Examples
    --------
    >>> is_with_offset(pa.struct(OFFSET_FIELDS)), is_with_offset(pa.int64())
    (True, False)
    """
    if not pa.types.is_struct(data_type) or [field.name for field in data_type] != [field.name for field in OFFSET_FIELDS]:
        return False
    moment, offset = (field.type for field in data_type)
    return pa.types.is_timestamp(moment) and moment.tz in ("UTC", "Etc/UTC") and pa.types.is_int16(offset)
