"""Date-times amid stored lists and dicts, all of a batch at once."""

from __future__ import annotations

import datetime
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.values.datetimes import MINUTE, all_in_years_of_python, to_microseconds
from sframe_spark.values.moment_texts import moment_texts
from sframe_spark.values.nested.patterns import BEFORE_MOMENT

_PARTS = r'^\{"\$datetime":(?P<instant>-?[0-9]+),"offset":(?P<offset>-?[0-9]+|null)\}$'
# The clock that Python shows is less than a day ahead of UTC or behind.
_MOST_MINUTES = 24 * 60 - 1


def instants_and_offsets(texts: pa.Array) -> tuple[pa.Array, pa.Array] | None:
    """Microseconds in UTC and minutes east of it of stored date-times, none of which is missing; None where Python has none such.

    Examples
    --------
    >>> [part.to_pylist() for part in instants_and_offsets(pa.array(['{"$datetime":5,"offset":null}', '{"$datetime":-1,"offset":60}']))]
    [[5, -1], [None, 60]]
    """
    parts = pc.extract_regex(texts, _PARTS)
    offset = parts.field("offset")
    instants = parts.field("instant").cast(pa.int64())
    offsets = pc.if_else(pc.equal(offset, "null"), pa.scalar(None, pa.string()), offset).cast(pa.int32())
    is_near = pc.all(pc.less_equal(pc.abs(offsets), _MOST_MINUTES)).as_py() is not False
    return (instants, offsets) if is_near and all_in_years_of_python(_wall(instants, offsets)) else None


def moments_written(texts: pa.Array, form: str, offset_form: str) -> pa.Array | None:
    """Stored date-times in a format, with one for the offset where there is one; None where Python has none such.

    Examples
    --------
    >>> moments_written(pa.array(['{"$datetime":5,"offset":null}', '{"$datetime":0,"offset":60}']), "%H:%M:%S%F", "%z").to_pylist()
    ['00:00:00.000005', '01:00:00+0100']
    """
    found = instants_and_offsets(texts)
    if found is None:
        return None
    wall, offsets = _wall(*found), found[1]
    shown = moment_texts(wall, offsets, form)
    return pc.if_else(offsets.is_valid(), moment_texts(wall, offsets, form + offset_form), shown) if offset_form else shown


def stored_moments(moments: Sequence[datetime.datetime]) -> pa.Array:
    """Stored texts of date-times.

    Examples
    --------
    >>> stored_moments([datetime.datetime(1970, 1, 1, 0, 0, 1)]).to_pylist()
    ['{"$datetime":1000000,"offset":null}']
    """
    if all(moment.tzinfo is None for moment in moments):
        instants, offset = pa.array(moments, pa.timestamp("us")).cast(pa.int64()), pa.scalar("null")
    else:
        split = [to_microseconds(moment) for moment in moments]
        instants = pa.array([instant for instant, _ in split], pa.int64())
        offset = pa.array([minutes for _, minutes in split], pa.int32()).cast(pa.string()).fill_null("null")
    return pc.binary_join_element_wise(BEFORE_MOMENT, instants.cast(pa.string()), ',"offset":', offset, "}", "")


def _wall(instants: pa.Array, offsets: pa.Array) -> pa.Array:
    """What the clock on the wall shows."""
    return pc.add(instants, pc.multiply(offsets.fill_null(0).cast(pa.int64()), MINUTE)).cast(pa.timestamp("us"))
