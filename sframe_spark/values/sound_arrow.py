"""Arrow data that others made, looked at before anything is computed of it: Arrow itself believes it."""

from __future__ import annotations

import pyarrow as pa

from sframe_spark.errors import InvalidArgumentError, SchemaError
from sframe_spark.message_text import visible

EXTENSION_NAME = b"ARROW:extension:name"
# Extensions whose values are what they are stored as, or are recognised by that.
STORED_AS_THEY_ARE = frozenset({"arrow.json", "arrow.bool8", "arrow.timestamp_with_offset", "arrow.parquet.variant"})


def require_sound(values: pa.Array | pa.ChunkedArray) -> None:
    """Refuse offsets outside the values and texts that are not UTF-8.

    Raises
    ------
    InvalidArgumentError
        If there are such.

    Examples
    --------
    >>> require_sound(pa.array(["a", None]))
    >>> require_sound(pa.array([b"\\xff"]).cast(pa.string(), safe=False).view(pa.string()))
    Traceback (most recent call last):
        ...
    sframe_spark.errors.InvalidArgumentError: its Arrow data is not sound: Invalid UTF8 sequence at string index 0
    """
    if pa.types.is_primitive(values.type):
        return
    try:
        values.validate(full=True)
    except pa.ArrowException as error:
        raise InvalidArgumentError(f"its Arrow data is not sound: {visible(str(error))}") from None


def require_known_extensions(field: pa.Field) -> None:
    """Refuse a column, or one with a part, whose values are of an extension of Arrow's types that nobody has registered in this process.

    pyarrow gives these as what they are stored as, so that geometries would be bytes, and months numbers; the field alone says what they are.

    Raises
    ------
    SchemaError
        If it is one.

    Examples
    --------
    >>> require_known_extensions(pa.field("where", pa.binary(), metadata={"ARROW:extension:name": "geoarrow.wkb"}))
    Traceback (most recent call last):
        ...
    sframe_spark.errors.SchemaError: a column cannot hold values of the Arrow extension 'geoarrow.wkb': give what it is stored as, binary
    """
    metadata = field.metadata
    name = None if metadata is None else metadata.get(EXTENSION_NAME)
    if name is not None and name.decode("utf-8", "replace") not in STORED_AS_THEY_ARE and not isinstance(field.type, pa.BaseExtensionType):
        called = visible(name.decode("utf-8", "replace"))
        raise SchemaError(f"a column cannot hold values of the Arrow extension {called!r}: give what it is stored as, {field.type}")
    for place in range(field.type.num_fields):
        require_known_extensions(field.type.field(place))
