"""Pixels of images in another size, and with other channels, as Turi Create computes them.

The corners of the old image become the corners of the new one. Channels are converted first: gray is a weighted sum in ints, and pixels that lose
their alpha are darkened by it. An image of one row or column is repeated, for which Turi Create reads beyond it.
"""

from __future__ import annotations

import numpy as np

from sframe_spark.errors import ImageError, PixelError
from sframe_spark.images import PNG, RAW, Image, parts_of_pixels, png_of_pixels

RESAMPLING = ("nearest", "bilinear")
# The weights of red, green and blue in gray, as parts of 2**14.
_GRAY_WEIGHTS = np.array([4915, 9667, 1802], np.int64)
_GRAY_BITS = 14
_OPAQUE = 255


def resized(image: Image, width: int, height: int, channels: int | None, is_raw: bool, resample: str) -> Image:
    """Return an image in another size; it is raw, or PNG.

    Raises
    ------
    ImageError
        If the bytes cannot be decoded, or there is no conversion between the channels.

    Examples
    --------
    >>> small = resized(Image(np.array([[1, 2], [3, 4]], "uint8")), 3, 2, None, True, "bilinear")
    >>> small.pixel_data.tolist()
    [[1, 1, 2], [3, 3, 4]]
    """
    wanted = image.channels if channels is None else channels
    if wanted < 1:
        raise PixelError("an image without channels has no other size")
    if is_raw is (image.format == RAW) and image.format in (RAW, PNG) and (image.height, image.width, image.channels) == (height, width, wanted):
        return image
    pixels = image.pixel_data
    if not pixels.size:
        raise ImageError(f"an image of {image.height} x {image.width} pixels has no other size")
    pixels = with_channels(pixels.reshape(image.height, image.width, image.channels), wanted)
    pixels = (nearest if resample == "nearest" else bilinear)(pixels, height, width)
    if is_raw:
        return Image.of_parts(*parts_of_pixels(pixels))
    return Image.of_parts(png_of_pixels(pixels), PNG, height, width, wanted)


def with_channels(pixels: np.ndarray, channels: int) -> np.ndarray:
    """Return pixels, an array of three dimensions, with another number of channels.

    Raises
    ------
    ImageError
        If one of the numbers is none of 1 (gray), 3 (RGB) and 4 (RGBA).

    Examples
    --------
    >>> with_channels(np.array([[[255, 0, 0]]], "uint8"), 1).tolist(), with_channels(np.array([[[9]]], "uint8"), 4).tolist()
    ([[[76]]], [[[9, 9, 9, 255]]])
    """
    present = pixels.shape[2]
    if present == channels:
        return pixels
    if present not in (1, 3, 4) or channels not in (1, 3, 4):
        raise ImageError(f"pixels of {present} channels do not become pixels of {channels}: images have 1 (gray), 3 (RGB) or 4 (RGBA)")
    colours = _darkened(pixels) if present == 4 else pixels
    if channels == 1:
        gray = (colours.astype(np.int64) @ _GRAY_WEIGHTS + (1 << (_GRAY_BITS - 1))) >> _GRAY_BITS
        colours = gray.astype(np.uint8)[:, :, None]
    elif present == 1:
        colours = np.repeat(colours, 3, axis=2)
    if channels == 4:
        return np.concatenate([colours, np.full((*pixels.shape[:2], 1), _OPAQUE, np.uint8)], axis=2)
    return colours


def _darkened(pixels: np.ndarray) -> np.ndarray:
    return ((pixels[:, :, :3].astype(np.int64) * pixels[:, :, 3:] + _OPAQUE // 2) // _OPAQUE).astype(np.uint8)


def places(old: int, new: int) -> np.ndarray:
    """Return where the pixels of a new row lie in an old one, from its first to its last pixel.

    Examples
    --------
    >>> places(3, 5).tolist(), places(3, 1).tolist(), places(1, 3).tolist()
    ([0.0, 0.5, 1.0, 1.5, 2.0], [0.0], [0.0, 0.0, 0.0])
    """
    if old == 1:
        return np.zeros(new)
    scale = (old - 1) / max(new - 1, 1)
    # Counted from the middle, which decides how halves are rounded.
    return scale * np.arange(new) + (-(max(new - 1, 1) / 2) * scale + (old - 1) / 2)


def nearest(pixels: np.ndarray, height: int, width: int) -> np.ndarray:
    """Return pixels, an array of three dimensions, in another size: of each new one the old one that is nearest."""
    rows, columns = (
        np.clip(np.floor(places(old, new) + 0.5).astype(np.int64), 0, old - 1) for old, new in ((pixels.shape[0], height), (pixels.shape[1], width))
    )
    return pixels[rows][:, columns]


def bilinear(pixels: np.ndarray, height: int, width: int) -> np.ndarray:
    """Return pixels, an array of three dimensions, in another size: of each new one the mean of the four around it, by their distances."""
    (top, bottom, down), (left, right, over) = (_around(old, new) for old, new in ((pixels.shape[0], height), (pixels.shape[1], width)))
    down, over = down[:, None, None], over[None, :, None]
    total = np.zeros((height, width, pixels.shape[2]))
    for rows, columns, weight in (
        (top, left, (1 - over) * (1 - down)),
        (top, right, over * (1 - down)),
        (bottom, left, (1 - over) * down),
        (bottom, right, over * down),
    ):
        total += pixels[rows][:, columns] * weight
    return np.floor(total).astype(np.uint8)


def _around(old: int, new: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the old pixels before and after each new one, and how far it lies between them."""
    at = places(old, new)
    before = np.floor(at).astype(np.int64)
    return np.clip(before, 0, old - 1), np.clip(before + 1, 0, old - 1), at - before
