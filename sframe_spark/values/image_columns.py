"""Columns of images in Arrow: a struct of the bytes, the format and the sizes of each."""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.errors import DamagedValueError, InvalidArgumentError, SchemaError, TooLargeError
from sframe_spark.images import FORMATS, RAW, Image, wrong_parts
from sframe_spark.message_text import in_words
from sframe_spark.types import IMAGE_PHYSICAL

SIZES = ("height", "width", "channels")
# The bytes of the images of one array: Arrow counts them in 31 bits.
MAX_BYTES = (1 << 31) - 1


def image_column(cells: Sequence[Any]) -> pa.ChunkedArray | pa.StructArray:
    """Return a column of images, None for a missing one; in several arrays if one cannot hold the bytes.

    Raises
    ------
    TooLargeError
        If a single image has more bytes than an array can hold.

    Examples
    --------
    >>> image_column([Image(np.zeros((2, 3), "uint8")), None]).to_pylist()[0]["width"]
    3
    """
    arrays, first, size = list[pa.StructArray](), 0, 0
    for row, cell in enumerate(cells):
        added = 0 if cell is None else len(cell.data)
        if added > MAX_BYTES:
            raise TooLargeError(f"row {row}: an image of {in_words(added)} is more than a column holds, 2 GiB: keep its path instead")
        if size + added > MAX_BYTES:
            arrays.append(_one_array(cells[first:row]))
            first, size = row, 0
        size += added
    arrays.append(_one_array(cells[first:]))
    return arrays[0] if len(arrays) == 1 else pa.chunked_array(arrays)


def _one_array(cells: Sequence[Any]) -> pa.StructArray:
    parts = [(None,) * len(IMAGE_PHYSICAL) if cell is None else (cell.data, cell.format, cell.height, cell.width, cell.channels) for cell in cells]
    columns = [pa.array(values, field.type) for values, field in zip(zip(*parts, strict=True) if parts else [[]] * 5, IMAGE_PHYSICAL, strict=True)]
    missing = pa.array([cell is None for cell in cells], pa.bool_())
    return pa.StructArray.from_arrays(columns, fields=list(IMAGE_PHYSICAL), mask=missing if missing.true_count else None)


def bytes_of(column: Any) -> Any:
    """Return the bytes of each image; missing where the image is."""
    return pc.struct_field(column, "bytes")


def images(column: pa.StructArray) -> list[Image | None]:
    """Return each image; None for a missing one.

    Raises
    ------
    DamagedValueError
        If the parts of one do not fit each other.
    """
    parts = zip(*(field.to_pylist() for field in column.flatten()), strict=True)
    valid = column.is_valid().to_pylist()
    return [image_of_parts(*cell) if is_present else None for cell, is_present in zip(parts, valid, strict=True)]


def image_of_parts(data: Any, format: Any, *sizes: Any) -> Image:
    """Return an image of stored parts.

    Raises
    ------
    DamagedValueError
        If they do not fit each other.

    Examples
    --------
    >>> image_of_parts(b"ab", "raw", 3, 1, 1)
    Traceback (most recent call last):
    sframe_spark.errors.DamagedValueError: a stored image is damaged: 2 bytes are no 3 x 1 pixels of 1 bytes; restore it from a copy
    """
    try:
        if type(data) is not bytes or type(format) is not str or not all(type(size) is int for size in sizes):
            raise InvalidArgumentError("no image is made of that: a part is missing")
        return Image.of_parts(data, format, *sizes)
    except InvalidArgumentError as error:
        raise DamagedValueError(f"a stored image is damaged: {str(error).partition(': ')[2]}; restore it from a copy") from None


def image_of_cell(cell: dict[str, Any]) -> Image:
    """Return an image of a struct as Python has it."""
    return image_of_parts(*(cell[field.name] for field in IMAGE_PHYSICAL))


def sound_images(column: pa.StructArray) -> pa.StructArray:
    """Return a column that another program made, after a check of its parts; no pixels are decoded.

    Raises
    ------
    SchemaError
        If the parts of an image do not fit each other.

    Examples
    --------
    >>> parts = {"bytes": b"ab", "format": "raw", "height": 3, "width": 1, "channels": 1}
    >>> sound_images(pa.array([parts], IMAGE_PHYSICAL))
    Traceback (most recent call last):
    sframe_spark.errors.SchemaError: row 0 is no image: 2 bytes are no 3 x 1 pixels of 1 bytes
    """
    valid = column.is_valid()
    parts = [field for _, field in zip(IMAGE_PHYSICAL, column.flatten(), strict=True)]
    present = pc.and_kleene(valid, _all([part.is_valid() for part in parts]))
    numbers = [part.fill_null(0) for part in parts[2:]]
    known = pc.and_(pc.is_in(parts[1], pa.array(FORMATS)), _all([pc.greater_equal(number, 0) for number in numbers]))
    size = pc.binary_length(parts[0]).fill_null(0).cast(pa.int64())
    # Products in floats do not overflow, and are exact for sizes that bytes can have.
    height, width, channels = (number.cast(pa.float64(), safe=False) for number in numbers)
    pixels = pc.multiply(pc.multiply(height, width), channels)
    fits = pc.or_(pc.not_equal(parts[1], RAW).fill_null(True), pc.equal(pixels, size.cast(pa.float64())))
    wrong = np.flatnonzero(pc.and_(valid, pc.invert(pc.and_(pc.and_(present, known.fill_null(False)), fits))).to_numpy(zero_copy_only=False))
    if len(wrong):
        row = int(wrong[0])
        cell = {field.name: part[row].as_py() for field, part in zip(IMAGE_PHYSICAL, parts, strict=True)}
        missing = [name for name, value in cell.items() if value is None]
        reason = f"its {missing[0]} is missing" if missing else wrong_parts(len(cell["bytes"]), cell["format"], *(cell[name] for name in SIZES))
        raise SchemaError(f"row {row} is no image: {reason}")
    return column


def _all(masks: Sequence[pa.Array]) -> pa.Array:
    result = masks[0]
    for mask in masks[1:]:
        result = pc.and_(result, mask)
    return result


def is_image_storage(data_type: pa.DataType) -> bool:
    """Return whether an Arrow type is the struct in which images are stored, whatever the widths of its ints.

    Examples
    --------
    >>> is_image_storage(IMAGE_PHYSICAL), is_image_storage(pa.struct([("bytes", pa.binary())]))
    (True, False)
    """
    if not pa.types.is_struct(data_type) or [field.name for field in data_type] != [field.name for field in IMAGE_PHYSICAL]:
        return False
    content, format, *sizes = (field.type for field in data_type)
    is_text = pa.types.is_string(format) or pa.types.is_large_string(format) or pa.types.is_string_view(format) or pa.types.is_dictionary(format)
    is_binary = pa.types.is_binary(content) or pa.types.is_large_binary(content) or pa.types.is_binary_view(content)
    return is_text and is_binary and all(map(pa.types.is_integer, sizes))


# Images within lists and dicts, and as keys.


def parts_in_json(image: Image) -> dict[str, Any]:
    """Return what JSON holds of an image, the bytes in Base64."""
    return {"$image": base64.b64encode(image.data).decode("ascii"), "format": image.format, **{name: getattr(image, name) for name in SIZES}}


def image_of_json(parts: dict[str, Any]) -> Image:
    """Return an image of what :func:`parts_in_json` gave.

    Raises
    ------
    DamagedValueError
        If it is damaged.

    Examples
    --------
    >>> image = Image(np.zeros((2, 3), "uint8"))
    >>> image_of_json(parts_in_json(image)) == image
    True
    """
    try:
        data = base64.b64decode(parts["$image"], validate=True)
    except (binascii.Error, TypeError, ValueError):
        raise DamagedValueError("a stored image is damaged: its bytes are not in Base64; restore it from a copy") from None
    return image_of_parts(data, parts["format"], *(parts[name] for name in SIZES))


def key_of_image(image: Image) -> str:
    """Return a text that is the same for equal images, and no longer for large ones: sizes, and the SHA-256 of the bytes."""
    return f"<{image.format} {image.height} {image.width} {image.channels} {hashlib.sha256(image.data).hexdigest()}>"
