"""Which Arrow type the values of a column go out in, so that other libraries know it and the values come back as they were.

Numbers, texts, date-times without an offset and lists and dicts of one type are what they are inside. Other columns are looked at:

===========================================  ==========================================================================
date-times, all with one offset              ``timestamp[us, tz]``, where the offset has a zone (whole hours)
date-times, with several                     ``arrow.timestamp_with_offset``
date-times, some with an offset              as inside, ``struct<instant, offset>``
lists and dicts whose values share one type  ``list`` and ``struct`` of it, at any depth
others that JSON can hold                    ``arrow.json``
others                                       as inside, texts
===========================================  ==========================================================================

Source: https://arrow.apache.org/docs/format/CanonicalExtensions.html
"""

from __future__ import annotations

from typing import Any, Protocol

import attrs
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.types import DICT_KIND, LIST_KIND, ColumnType
from sframe_spark.values.arrow_json import is_plain_json, json_texts
from sframe_spark.values.common_type import CommonType
from sframe_spark.values.decode import decode
from sframe_spark.values.from_arrow import OFFSET_FIELDS, WITH_OFFSET

EXTENSION_NAME = "ARROW:extension:name"
EXTENSION_METADATA = "ARROW:extension:metadata"
# What a column was, where its Arrow type does not say it.
KIND = "sframe_spark.kind"
TEXT = "sframe_spark.text"
JSON, TAGGED = "json", "tagged"

# The zones that always have an offset go from these hours, west and east.
FURTHEST_WEST, FURTHEST_EAST = -12, 14


class Form(Protocol):
    """What the values of a column go out as."""

    def field(self, name: str) -> pa.Field:
        """Name, Arrow type and what else there is to say."""
        ...

    def convert(self, values: pa.Array) -> pa.Array:
        """Values of our physical type in the type of the field."""
        ...


@attrs.frozen
class AsInside:
    """The physical type itself."""

    column_type: ColumnType

    def field(self, name: str) -> pa.Field:
        """The kind is told of lists of floats, which would come back as arrays."""
        is_list = self.column_type.kind == LIST_KIND and pa.types.is_float64(self.column_type.physical.value_type)
        return pa.field(name, self.column_type.physical, metadata={KIND: LIST_KIND} if is_list else None)

    def convert(self, values: pa.Array) -> pa.Array:
        """The values themselves."""
        return values


@attrs.frozen
class InZone:
    """Moments that all have one offset from UTC."""

    zone: str

    def field(self, name: str) -> pa.Field:
        """Microseconds, with the zone."""
        return pa.field(name, pa.timestamp("us", self.zone))

    def convert(self, values: pa.Array) -> pa.Array:
        """The instants."""
        instants = values.field("instant").cast(pa.int64()).cast(pa.timestamp("us", self.zone))
        return pc.if_else(values.is_valid(), instants, None)


@attrs.frozen
class WithOffsets:
    """Moments, each with its own offset."""

    def field(self, name: str) -> pa.Field:
        """Arrow's canonical extension, by its name, as few libraries have a class for it."""
        return pa.field(name, pa.struct(OFFSET_FIELDS), metadata={EXTENSION_NAME: WITH_OFFSET, EXTENSION_METADATA: ""})

    def convert(self, values: pa.Array) -> pa.Array:
        """The instants in UTC and the minutes."""
        instants = values.field("instant").cast(pa.int64()).fill_null(0).cast(pa.timestamp("us", "UTC"))
        offsets = values.field("offset").fill_null(0).cast(pa.int16())
        return pa.StructArray.from_arrays([instants, offsets], fields=OFFSET_FIELDS, mask=pc.invert(values.is_valid()))


@attrs.frozen
class Typed:
    """Lists or dicts whose values share one type."""

    column_type: ColumnType
    physical: pa.DataType

    def field(self, name: str) -> pa.Field:
        """The kind is told of lists of floats, which would come back as arrays."""
        is_floats = pa.types.is_list(self.physical) and pa.types.is_float64(self.physical.value_type)
        return pa.field(name, self.physical, metadata={KIND: LIST_KIND} if is_floats else None)

    def convert(self, values: pa.Array) -> pa.Array:
        """The values, decoded."""
        return pa.array(decode(values, self.column_type), self.physical)


@attrs.frozen
class Json:
    """Lists or dicts of any values that JSON gives back as they are."""

    column_type: ColumnType

    def field(self, name: str) -> pa.Field:
        """Arrow's canonical extension; our metadata says what to make of the texts where there are none."""
        return pa.field(name, pa.json_(), metadata={KIND: self.column_type.kind, TEXT: JSON})

    def convert(self, values: pa.Array) -> pa.Array:
        """The texts."""
        return pa.ExtensionArray.from_storage(pa.json_(), pa.array(json_texts(decode(values, self.column_type)), pa.string()))


@attrs.frozen
class Tagged:
    """Lists or dicts with values that no JSON has, such as date-times: our own texts, which to others are texts."""

    column_type: ColumnType

    def field(self, name: str) -> pa.Field:
        """Our metadata says what to make of the texts."""
        return pa.field(name, pa.string(), metadata={KIND: self.column_type.kind, TEXT: TAGGED})

    def convert(self, values: pa.Array) -> pa.Array:
        """The texts as they are inside."""
        return values


@attrs.define
class FormFinder:
    """Finds the form of a column by looking at its values, batch by batch; of most types there is nothing to look at.

    Examples
    --------
    >>> from sframe_spark.types import ENCODED_LIST
    >>> finder = FormFinder(ENCODED_LIST)
    >>> finder.look(pa.array(['[["a"],[null]]', None]))
    >>> str(finder.form().field("a").type)
    'list<item: list<item: string>>'
    """

    column_type: ColumnType
    _offsets: set[int | None] = attrs.field(factory=set, init=False)
    _common: CommonType = attrs.field(factory=CommonType, init=False)
    _plain: bool = attrs.field(default=True, init=False)

    @property
    def must_look(self) -> bool:
        """True where the type does not tell the form."""
        return self.column_type.is_zoned or self.column_type.is_encoded

    def look(self, values: pa.Array) -> None:
        """Take values of the physical type into account."""
        if self.column_type.is_zoned:
            self._offsets.update(pc.unique(values.field("offset").filter(values.is_valid())).to_pylist())
        elif self.column_type.is_encoded:
            self._look_at(decode(values, self.column_type))

    def _look_at(self, cells: list[Any]) -> None:
        for cell in cells:
            if cell is not None:
                self._common.add(cell)
                self._plain = self._plain and is_plain_json(cell)

    def form(self) -> Form:
        """The form of all values seen."""
        if self.column_type.is_zoned:
            return self._form_of_moments()
        if not self.column_type.is_encoded:
            return AsInside(self.column_type)
        physical = self._common.arrow_type()
        if physical is not None and (pa.types.is_struct(physical) if self.column_type.kind == DICT_KIND else pa.types.is_list(physical)):
            return Typed(self.column_type, physical)
        return Json(self.column_type) if self._plain else Tagged(self.column_type)

    def _form_of_moments(self) -> Form:
        if None in self._offsets:
            return AsInside(self.column_type)
        if len(self._offsets) > 1:
            return WithOffsets()
        zone = zone_of(next(iter(self._offsets), 0) or 0)
        return WithOffsets() if zone is None else InZone(zone)


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
