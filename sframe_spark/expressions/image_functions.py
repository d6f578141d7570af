"""Functions of single images, which columns of images are made with: read of files, in another size, made of pixels, and their pixels.

They are called as users' functions are, one row after the other: images are large, and such calls stop where their results have enough bytes.
"""

from __future__ import annotations

import array
from typing import Any

import attrs
import numpy as np

from sframe_spark.errors import ImageError, PixelError
from sframe_spark.expressions.image_resizing import resized
from sframe_spark.images import RAW, Image, ImageFiles
from sframe_spark.storage.filesystem.image_files import read_file, write_file
from sframe_spark.types import ARRAY_KIND

# Functions that are sent to other processes import this module, and so read files wherever users keep them.
ImageFiles.read, ImageFiles.write = read_file, write_file


@attrs.frozen
class ImageOfFile:
    """Reads the image in a file.

    Parameters
    ----------
    format
        What the file must be: ``"auto"``, ``"JPG"`` or ``"PNG"``.
    undefined_on_failure
        Whether the image of a file that cannot be read is missing.
    """

    format: str = "auto"
    undefined_on_failure: bool = False

    def __call__(self, path: str) -> Image | None:
        """Return the image."""
        try:
            return Image(path, self.format)
        except ImageError:
            if self.undefined_on_failure:
                return None
            raise


@attrs.frozen
class PixelsOfImage:
    """Returns the pixels of an image as floats.

    Parameters
    ----------
    kind
        ``"array"`` for all of them in one row, ``"ndarray"`` for rows, columns and channels.
    undefined_on_failure
        Whether the pixels of an image that cannot be decoded are missing.
    """

    kind: str
    undefined_on_failure: bool = False

    def __call__(self, image: Image) -> Any:
        """Return the pixels."""
        try:
            pixels = image.pixel_data.astype(np.float64)
        except ImageError:
            if self.undefined_on_failure:
                return None
            raise
        return array.array("d", pixels.tobytes()) if self.kind == ARRAY_KIND else pixels


@attrs.frozen
class ResizedImage:
    """Returns an image in another size, see :func:`~sframe_spark.expressions.image_resizing.resized`.

    Parameters
    ----------
    width, height, channels, is_raw, resample
        As of that function.
    """

    width: int
    height: int
    channels: int | None
    is_raw: bool
    resample: str

    def __call__(self, image: Image) -> Image:
        """Return the image."""
        return resized(image, self.width, self.height, self.channels, self.is_raw, self.resample)


@attrs.frozen
class ImageOfPixels:
    """Makes a raw image of the numbers in a vector.

    Parameters
    ----------
    width, height, channels
        The size of each image.
    undefined_on_failure
        Whether the image of a vector of another length is missing.
    allow_rounding
        Whether numbers that are not whole are rounded down.
    """

    width: int
    height: int
    channels: int
    undefined_on_failure: bool
    allow_rounding: bool

    def __call__(self, vector: array.array) -> Image | None:
        """Return the image.

        Raises
        ------
        PixelError
            If a number is no pixel.
        ImageError
            If there are more or fewer numbers than pixels.
        """
        numbers = np.frombuffer(vector, np.float64) if len(vector) else np.zeros(0)
        # NaN is no pixel either.
        outside = np.flatnonzero(~((numbers >= 0) & (numbers <= 255)))
        if len(outside):
            raise PixelError(f"{numbers[outside[0]]} is no pixel: pixels are numbers from 0 to 255")
        if not self.allow_rounding and (numbers != np.floor(numbers)).any():
            raise PixelError("pixels are whole numbers: allow_rounding=True rounds others down")
        if len(numbers) != self.height * self.width * self.channels:
            if self.undefined_on_failure:
                return None
            raise ImageError(f"{len(numbers)} numbers are no image of {self.height} x {self.width} pixels of {self.channels} channels")
        return Image.of_parts(numbers.astype(np.uint8).tobytes(), RAW, self.height, self.width, self.channels)
