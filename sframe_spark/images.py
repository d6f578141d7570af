"""Images as values: the bytes of a PNG or JPEG file, or raw pixels, with their format, height, width and channels.

The header of a file tells its size, so an image is made without Pillow, and its pixels are decoded only where a program asks for them.
"""

from __future__ import annotations

import io
import os
import struct
import zlib
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from sframe_spark.errors import ImageError, InvalidArgumentError, MissingImageError, SchemaError
from sframe_spark.message_text import brief, visible
from sframe_spark.optional_libraries import import_library
from sframe_spark.paths_and_uris import is_remote_location, normalised

PNG, JPEG, RAW, UNKNOWN = "png", "jpeg", "raw", "unknown"
# As Turi Create numbers them.
FORMATS = (JPEG, PNG, RAW, UNKNOWN)
FORMAT_OF_ENDING = {".png": PNG, ".jpg": JPEG, ".jpeg": JPEG}
_FORMAT_OF_HINT = {"auto": None, "png": PNG, "jpg": JPEG, "jpeg": JPEG}
# The modes of Pillow for each number of channels.
_MODES = {1: "L", 3: "RGB", 4: "RGBA"}
MAX_BYTES = (1 << 31) - 1


class ImageFiles:
    """How files of images are read and written: of this machine, until the layer of storage, which knows other places, registers itself."""

    read: ClassVar[Callable[[str], bytes]]
    write: ClassVar[Callable[[str, bytes], None]]


class Image:
    """An image: its bytes, and what their header says of it; it never changes, and equal images have equal bytes.

    The bytes are those of a PNG or JPEG file, or *raw*: one byte for each channel of each pixel, row by row. Pillow decodes them for
    ``pixel_data``, ``show()`` and conversions to other formats, and for nothing else.

    Parameters
    ----------
    path
        A path or address of a file, its bytes, or an object with ``read()``; an array of NumPy of ``uint8`` with two dimensions, or three of which
        the last has the channels; or an image of Pillow, which becomes PNG. None: an image without pixels.
    format
        ``"auto"``, ``"JPG"`` or ``"PNG"``: what a file must be. By default its first bytes tell.

    Raises
    ------
    RuntimeError
        If there is no such file, or it is no PNG or JPEG file of gray, RGB or RGBA pixels.
    TypeError
        If ``path`` is nothing of that.
    ValueError
        If there is no such format.

    Examples
    --------
    >>> from sframe_spark import Image
    >>> image = Image(np.zeros((2, 3, 3), "uint8"))
    >>> image.height, image.width, image.channels, image.format
    (2, 3, 3, 'raw')
    """

    __slots__ = ("_channels", "_data", "_format", "_height", "_width")

    def __init__(self, path: Any = None, format: str = "auto", **parts: Any) -> None:
        if not isinstance(format, str) or format.casefold() not in _FORMAT_OF_HINT:
            raise InvalidArgumentError(f"the format of an image is 'auto', 'JPG' or 'PNG', not {brief(format)}")
        wanted = _FORMAT_OF_HINT[format.casefold()]
        if parts:
            made = _of_turi_create(path, parts)
        elif path is None:
            made = (b"", UNKNOWN, 0, 0, 0)
        elif isinstance(path, np.ndarray):
            made = parts_of_pixels(path)
        elif isinstance(path, Image):
            made = path._parts()
        else:
            data, origin = _content(path)
            try:
                made = parts_of_file(data, wanted)
            except ImageError as error:
                raise ImageError(f"{origin}: {error}") from None
        self._set(*made)

    def _set(self, data: bytes, format: str, height: int, width: int, channels: int) -> None:
        self._data, self._format, self._height, self._width, self._channels = data, format, height, width, channels

    @classmethod
    def of_parts(cls, data: bytes, format: str, height: int, width: int, channels: int) -> Image:
        """Return an image of its bytes and what is known of them.

        Raises
        ------
        ValueError
            If the format is unknown, a size is negative, or raw bytes are more or fewer than there are pixels.

        Examples
        --------
        >>> Image.of_parts(b"abcdef", "raw", 2, 3, 1).pixel_data.tolist()
        [[97, 98, 99], [100, 101, 102]]
        """
        reason = wrong_parts(len(data), format, height, width, channels)
        if reason:
            raise InvalidArgumentError(f"no image is made of that: {reason}")
        image = cls.__new__(cls)
        image._set(data, format, height, width, channels)
        return image

    def _parts(self) -> tuple[bytes, str, int, int, int]:
        return self._data, self._format, self._height, self._width, self._channels

    @property
    def data(self) -> bytes:
        """The bytes: of a PNG or JPEG file, or of raw pixels.

        Examples
        --------
        >>> import numpy as np
        >>> Image(np.zeros((2, 3), "uint8")).data
        b'\\x00\\x00\\x00\\x00\\x00\\x00'
        """
        return self._data

    @property
    def format(self) -> str:
        """What the bytes are: ``"png"``, ``"jpeg"``, ``"raw"``, or ``"unknown"`` of an image without any.

        Examples
        --------
        >>> import numpy as np
        >>> Image(np.zeros((2, 3), "uint8")).format
        'raw'
        """
        return self._format

    @property
    def nbytes(self) -> int:
        """The number of bytes in ``data``.

        Examples
        --------
        >>> import numpy as np
        >>> Image(np.zeros((2, 3), "uint8")).nbytes
        6
        """
        return len(self._data)

    @property
    def height(self) -> int:
        """The number of rows of pixels.

        Examples
        --------
        >>> import numpy as np
        >>> Image(np.zeros((2, 3), "uint8")).height
        2
        """
        return self._height

    @property
    def width(self) -> int:
        """The number of pixels in a row.

        Examples
        --------
        >>> import numpy as np
        >>> Image(np.zeros((2, 3), "uint8")).width
        3
        """
        return self._width

    @property
    def channels(self) -> int:
        """The number of bytes of a pixel: 1 (gray), 3 (RGB) or 4 (RGBA).

        Examples
        --------
        >>> import numpy as np
        >>> Image(np.zeros((2, 3), "uint8")).channels
        1
        """
        return self._channels

    @property
    def pixel_data(self) -> np.ndarray:
        """The pixels as an array of ``uint8``: of rows and columns, and of channels if there are several. Needs Pillow, unless they are raw.

        Raises
        ------
        RuntimeError
            If the bytes are damaged, or the image has more pixels than ``PIL.Image.MAX_IMAGE_PIXELS``.
        ImportError
            If Pillow is not installed.

        Examples
        --------
        >>> Image(np.array([[1, 2]], "uint8")).pixel_data.tolist()
        [[1, 2]]
        """
        if self._format == UNKNOWN:
            raise ImageError("the image has no known format, so it has no pixels")
        pixels = np.frombuffer(self._data, np.uint8).copy() if self._format == RAW else _decoded(self)
        return pixels.reshape(self._height, self._width, *([self._channels] if self._channels != 1 else []))

    def to_pil(self) -> Any:
        """Return an image of Pillow with the same pixels.

        Raises
        ------
        RuntimeError
            If the bytes cannot be decoded.
        ImportError
            If Pillow is not installed.

        Examples
        --------
        >>> image = Image(np.zeros((2, 3), "uint8"))
        >>> image.to_pil().size  # doctest: +SKIP
        (3, 2)
        """
        if self._channels not in _MODES:
            raise ImageError(f"Pillow has no images of {self._channels} channels: make an array of pixel_data")
        return _pillow().fromarray(self.pixel_data)

    _to_pil_image = to_pil

    def save(self, filename: str | os.PathLike[str]) -> None:
        """Write the image to a PNG or JPEG file, whose ending tells which; where it is of that format, its bytes are written as they are.

        Raises
        ------
        ValueError
            If the ending is another one.
        RuntimeError
            If the bytes cannot be decoded.
        OSError
            If the file cannot be written.

        Examples
        --------
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as directory:
        ...     Image(np.array([[1, 2]], "uint8")).save(f"{directory}/a.png")
        ...     Image(f"{directory}/a.png").format
        'png'
        """
        path = os.fsdecode(filename)
        ending = os.path.splitext(path)[1]
        wanted = FORMAT_OF_ENDING.get(ending.lower())
        if wanted is None:
            raise InvalidArgumentError(f"unknown ending {visible(ending)!r:.20} of a file of an image: use .png, .jpg or .jpeg")
        ImageFiles.write(path, self._data if wanted == self._format else encoded(self, wanted))

    def show(self) -> None:
        """Open the image in a window, as Pillow does.

        Raises
        ------
        ImportError
            If Pillow is not installed.

        Examples
        --------
        >>> import numpy as np
        >>> image = Image(np.zeros((2, 3), "uint8"))
        >>> image.show()  # doctest: +SKIP
        """
        self.to_pil().show()

    def _repr_png_(self) -> bytes | None:
        """Return the image for a notebook; None if it is JPEG, or has no pixels that PNG has."""
        if self._format == RAW and self._channels in _MODES and self._height and self._width:
            return png_of_pixels(self.pixel_data)
        return self._data if self._format == PNG else None

    def _repr_jpeg_(self) -> bytes | None:
        return self._data if self._format == JPEG else None

    def __eq__(self, other: object) -> bool:
        return self._parts() == other._parts() if isinstance(other, Image) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._parts())

    def __repr__(self) -> str:
        return f"Height: {self._height}px\nWidth: {self._width}px\nChannels: {self._channels}\n"

    def __getstate__(self) -> tuple[bytes, str, int, int, int]:
        return self._parts()

    def __setstate__(self, state: tuple[bytes, str, int, int, int]) -> None:
        self._set(*state)


def text_of_image(image: Image) -> str:
    """Return the text of an image in a column of texts, and in tables.

    Examples
    --------
    >>> text_of_image(Image(np.zeros((2, 3), "uint8")))
    'Height: 2 Width: 3'
    """
    return f"Height: {image.height} Width: {image.width}"


def _of_turi_create(path: Any, parts: dict[str, Any]) -> tuple[bytes, str, int, int, int]:
    """Return the parts of an image made of the arguments that programs give the class of Turi Create, where they make images of pixels."""
    known = {"_image_data", "_height", "_width", "_channels", "_format_enum"}
    # The size follows from the data, and there is one version.
    if path is not None or not known <= parts.keys() or parts.keys() - known - {"_image_data_size", "_version"}:
        raise SchemaError(f"an image has no arguments {', '.join(sorted(parts))}: Image(path), Image(bytes) or Image(array)")
    number = parts["_format_enum"]
    if not isinstance(number, int) or not 0 <= number < len(FORMATS):
        raise InvalidArgumentError(f"{brief(number)} is no format of images: 0 is JPEG, 1 PNG, 2 raw")
    sizes = [int(parts[name]) for name in ("_height", "_width", "_channels")]
    return Image.of_parts(bytes(parts["_image_data"]), FORMATS[number], *sizes)._parts()


def wrong_parts(size: int, format: str, height: int, width: int, channels: int) -> str:
    """Return why no image has these parts, of which the bytes are ``size``; empty if one may have them.

    Examples
    --------
    >>> wrong_parts(5, "raw", 2, 3, 1)
    '5 bytes are no 2 x 3 pixels of 1 bytes'
    """
    if format not in FORMATS:
        return f"{visible(str(format))!r:.20} is no format: png, jpeg, raw"
    if min(height, width, channels) < 0:
        return "a size is negative"
    if format == RAW and size != height * width * channels:
        return f"{size} bytes are no {height} x {width} pixels of {channels} bytes"
    return ""


def parts_of_pixels(pixels: np.ndarray) -> tuple[bytes, str, int, int, int]:
    """Return the parts of an image of raw pixels.

    Raises
    ------
    SchemaError
        If the array has other numbers than ``uint8``, or another number of dimensions.
    """
    if pixels.dtype != np.uint8 or pixels.ndim not in (2, 3):
        raise SchemaError(f"pixels are an array of uint8 of two or three dimensions, not of {pixels.dtype} and {pixels.ndim}: use astype('uint8')")
    height, width, channels = (*pixels.shape, 1)[:3]
    return np.ascontiguousarray(pixels).tobytes(), RAW, height, width, channels


def _content(source: Any) -> tuple[bytes, str]:
    """Return the bytes of a file, and what errors call it."""
    if isinstance(source, (bytes, bytearray, memoryview)):
        return bytes(source), f"{len(source)} bytes"
    if isinstance(source, (str, os.PathLike)):
        path = os.fsdecode(source)
        return ImageFiles.read(path), visible(path)
    if type(source).__module__.split(".")[0] == "PIL" and callable(getattr(source, "save", None)):
        stream = io.BytesIO()
        source.save(stream, "PNG")
        return stream.getvalue(), "the image of Pillow"
    if callable(getattr(source, "read", None)):
        content = source.read()
        if isinstance(content, bytes):
            return content, f"the {type(source).__name__}"
        raise SchemaError(f"an image is read from a binary file, and this one gives {type(content).__name__}: open it with 'rb'")
    raise SchemaError(f"an image is made of a path, bytes, an array of uint8 or an image of Pillow, not of {type(source).__name__}")


def _read_here(path: str) -> bytes:
    if is_remote_location(path):
        raise MissingImageError(f"{visible(path)} is not read here: import sframe_spark first")
    try:
        with open(normalised(path), "rb") as file:
            return file.read()
    except OSError as error:
        raise MissingImageError(f"cannot read the image {visible(path)}: {error.strerror}") from None


def _write_here(path: str, data: bytes) -> None:
    with open(normalised(path), "wb") as file:
        file.write(data)


ImageFiles.read, ImageFiles.write = _read_here, _write_here


# Headers: what a file says of its size.

_PNG_START = b"\x89PNG\r\n\x1a\n"
_JPEG_START = b"\xff\xd8\xff"
# Length, name, width, height, bits, type of colour, compression, filter, interlacing.
_IHDR = struct.Struct(">I4sIIBBBBB")
# Channels for each type of colour: gray, RGB, palettes, RGBA. Gray with alpha (4) is no image of Turi Create.
_CHANNELS_OF_COLOURS = {0: 1, 2: 3, 3: 3, 6: 4}
# Markers of a JPEG file: those without content, the end of the header, and those of frames, which tell the size.
_ALONE = {0x01, *range(0xD0, 0xD9)}
_FILL, _END_OF_IMAGE, _START_OF_SCAN = 0xFF, 0xD9, 0xDA
_FRAMES = set(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_OTHERS = ((b"GIF8", "GIF"), (b"BM", "BMP"), (b"RIFF", "WebP"), (b"II*\0", "TIFF"), (b"MM\0*", "TIFF"), (b"<svg", "SVG"))


def parts_of_file(data: bytes, wanted: str | None = None) -> tuple[bytes, str, int, int, int]:
    """Return the parts of an image, given the bytes of a PNG or JPEG file, of which the header is read; its pixels are not decoded.

    Parameters
    ----------
    data
        The bytes.
    wanted
        The format that it must have; None for any.

    Raises
    ------
    ImageError
        If it is another file, its header is damaged, or it has other pixels than gray, RGB and RGBA ones.
    """
    found = PNG if data.startswith(_PNG_START) else JPEG if data.startswith(_JPEG_START) else None
    if found is None or (wanted is not None and found != wanted):
        other = found or next((name for start, name in _OTHERS if data.startswith(start)), None)
        what = "it is empty" if not data else f"it is {other.upper()}" if other else "its first bytes are of neither"
        raise ImageError(f"no {(wanted or 'png or jpeg').upper().replace('OR', 'or')} image: {what}")
    height, width, channels = (_size_of_png if found == PNG else _size_of_jpeg)(data)
    if not height or not width:
        raise ImageError(f"the {found.upper()} image has no pixels")
    return data, found, height, width, channels


def _cut_off(format: str) -> ImageError:
    return ImageError(f"the header of the {format.upper()} image is cut off or damaged")


def _size_of_png(data: bytes) -> tuple[int, int, int]:
    try:
        length, name, width, height, _, colours, *_ = _IHDR.unpack_from(data, len(_PNG_START))
    except struct.error:
        raise _cut_off(PNG) from None
    if length != 13 or name != b"IHDR":
        raise _cut_off(PNG)
    if colours not in _CHANNELS_OF_COLOURS:
        raise ImageError("PNG images of gray pixels with alpha are not supported: convert it with Pillow, image.convert('RGBA')")
    place = 8
    # What stands before the pixels: each part tells how long it is.
    while True:
        if place + 8 > len(data):
            raise _cut_off(PNG)
        size, part = struct.unpack_from(">I4s", data, place)
        if part == b"IDAT":
            return height, width, _CHANNELS_OF_COLOURS[colours]
        place += size + 12


def _size_of_jpeg(data: bytes) -> tuple[int, int, int]:
    place, found = 2, None
    while True:
        # Between parts may stand bytes that mean nothing.
        place = data.find(_FILL, place)
        if place < 0 or place + 4 > len(data):
            raise _cut_off(JPEG)
        marker = data[place + 1]
        if marker in (0, _FILL) or marker in _ALONE:
            place += 1 + (marker != _FILL)
            continue
        (size,) = struct.unpack_from(">H", data, place + 2)
        if marker in _FRAMES and found is None and size >= 8 and place + 10 <= len(data):
            found = struct.unpack_from(">HHB", data, place + 5)
        if marker in (_START_OF_SCAN, _END_OF_IMAGE):
            break
        place += 2 + max(size, 2)
    if found is None:
        raise _cut_off(JPEG)
    height, width, channels = found
    if channels not in (1, 3):
        raise ImageError("JPEG images of other pixels than gray and RGB are not supported: convert it with Pillow, image.convert('RGB')")
    return height, width, channels


# Pixels.


def _pillow() -> Any:
    return import_library("PIL.Image")


def _decoded(image: Image) -> np.ndarray:
    """Return the pixels of a PNG or JPEG file, decoded by Pillow, whose limit of pixels is an error."""
    _, _, *size = parts_of_file(image.data, image.format)
    if tuple(size) != (image.height, image.width, image.channels):
        raise ImageError(f"an image of {image.height} x {image.width} x {image.channels} has bytes of one of {' x '.join(map(str, size))}")
    if image.channels not in _MODES:
        raise ImageError(f"no PNG or JPEG image has {image.channels} channels")
    pillow = _pillow()
    limit = pillow.MAX_IMAGE_PIXELS
    if limit is not None and image.height * image.width > limit:
        what = f"the image of {image.height} x {image.width} pixels has more than PIL.Image.MAX_IMAGE_PIXELS"
        raise ImageError(f"{what}, {limit}: set that to a larger number if you trust its bytes")
    try:
        with pillow.open(io.BytesIO(image.data), formats=[image.format]) as opened:
            if opened.size != (image.width, image.height):
                raise ImageError("the headers of the image contradict each other")
            if opened.mode.startswith("I"):
                # 16 bits, of which the upper ones count.
                return (np.asarray(opened) >> 8).astype(np.uint8)
            return np.array(opened.convert(_MODES[image.channels]), np.uint8)
    except (OSError, SyntaxError, ValueError, EOFError, struct.error, zlib.error, pillow.DecompressionBombError) as error:
        raise ImageError(f"the image of {image.height} x {image.width} pixels cannot be decoded: {visible(str(error)):.200}") from None


def encoded(image: Image, format: str) -> bytes:
    """Return the bytes of a file of an image in another format.

    Raises
    ------
    ImageError
        If its bytes cannot be decoded, or the format does not have such pixels.
    """
    if format == PNG:
        return png_of_pixels(image.pixel_data)
    stream = io.BytesIO()
    pixels = image.to_pil()
    # JPEG has no transparency.
    (pixels.convert("RGB") if image.channels == 4 else pixels).save(stream, "JPEG")
    return stream.getvalue()


def png_of_pixels(pixels: np.ndarray) -> bytes:
    """Return a PNG file of pixels, as ``pixel_data`` has them.

    Raises
    ------
    ImageError
        If PNG has no such pixels.

    Examples
    --------
    >>> Image(png_of_pixels(np.zeros((2, 3, 4), "uint8"))).channels
    4
    """
    height, width, channels = (*pixels.shape, 1)[:3]
    colours = {1: 0, 3: 2, 4: 6}.get(channels)
    if colours is None or not height or not width:
        raise ImageError(f"no PNG file has {height} x {width} pixels of {channels} channels")
    rows = _filtered(pixels.reshape(height, width * channels), channels)
    header = struct.pack(">IIBBBBB", width, height, 8, colours, 0, 0, 0)
    return _PNG_START + b"".join(_png_part(*part) for part in ((b"IHDR", header), (b"IDAT", zlib.compress(rows.tobytes())), (b"IEND", b"")))


def _filtered(rows: np.ndarray, channels: int) -> np.ndarray:
    """Return the rows of a PNG file: as they are, or the differences from the pixel to the left or above, whichever seems shortest when compressed.

    The first byte of a row tells which.
    """
    left, above = rows.copy(), rows.copy()
    left[:, channels:] -= rows[:, :-channels]
    above[1:] -= rows[:-1]
    choices = [rows, left, above]
    costs = [np.abs(choice.view(np.int8).astype(np.int64)).sum(axis=1) for choice in choices]
    best = np.argmin(costs, axis=0)
    return np.concatenate([best.astype(np.uint8)[:, None], np.choose(best[:, None], choices)], axis=1)


def _png_part(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
