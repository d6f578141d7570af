"""Images: read from a directory, and brought to one size.

Pixels of PNG and JPEG files are decoded by Pillow (``pip install 'sframe_spark[images]'``). Models that look at images are not here.

Examples
--------
>>> import numpy as np
>>> from sframe_spark import Image, SArray, image_analysis
>>> small = image_analysis.resize(SArray([Image(np.zeros((40, 30), "uint8")), None]), 4, 2, decode=True)
>>> small.dtype.__name__, small[0].width
('Image', 4)
"""

from __future__ import annotations

import logging
import os
import random
from typing import Any

from sframe_spark.api.class_registry import make_array
from sframe_spark.api.error_hints import add_call_hints
from sframe_spark.api.sarray import SArray
from sframe_spark.api.sframe import SFrame
from sframe_spark.errors import ImageError, InvalidArgumentError, NegativeSizeError, NoAttributeError, SchemaError
from sframe_spark.expressions.image_functions import ImageOfFile, ResizedImage
from sframe_spark.expressions.image_resizing import RESAMPLING, resized
from sframe_spark.images import Image
from sframe_spark.message_text import brief, visible
from sframe_spark.operators.elementwise import apply_lambda
from sframe_spark.storage.filesystem.image_files import image_paths, require_header
from sframe_spark.types import IMAGE, IMAGE_KIND

__all__ = ["load_images", "resize"]

LOG = logging.getLogger("sframe_spark")


def load_images(
    url: str | os.PathLike[str],
    format: str = "auto",
    with_path: bool = True,
    recursive: bool = True,
    ignore_failure: bool = True,
    random_order: bool = False,
) -> SFrame:
    """Return a frame of the images in a directory, in the order of their paths; bytes are read when rows are computed.

    Parameters
    ----------
    url
        A directory, or a file of an image: a path or an address.
    format
        ``"auto"``: files that end in ``.png``, ``.jpg`` or ``.jpeg``, of either format. ``"PNG"`` or ``"JPG"``: all files, which are of this format.
    with_path
        Whether the frame has a column ``path`` before the column ``image``.
    recursive
        Whether images in directories below are loaded, too.
    ignore_failure
        Whether files that are no such images are left out, with a line in the log; otherwise the first one is an error.
    random_order
        Whether the rows are in random order.

    Returns
    -------
    SFrame
        The images.

    Raises
    ------
    RuntimeError
        If there is no such directory, or a file is no image that is supported.
    ValueError
        If there is no such format.
    TypeError
        If ``url`` is no path.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from sframe_spark import Image, image_analysis
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     Image(np.zeros((2, 3), "uint8")).save(f"{directory}/a.png")
    ...     images = image_analysis.load_images(directory, with_path=False)
    ...     images.materialize()
    >>> print(images)
    +--------------------+
    |       image        |
    +--------------------+
    | Height: 2 Width: 3 |
    +--------------------+
    [1 rows x 1 columns]
    <BLANKLINE>
    """
    if not isinstance(url, (str, os.PathLike)) or not os.fsdecode(url):
        raise SchemaError(f"images are loaded from the path of a directory, not from {brief(url)}")
    if not isinstance(format, str) or format.upper() not in ("AUTO", "JPG", "JPEG", "PNG"):
        raise InvalidArgumentError(f"the format of images is 'auto', 'JPG' or 'PNG', not {brief(format)}")
    reader, paths = ImageOfFile(format), list[str]()
    for path in image_paths(os.fsdecode(url), bool(recursive), any_ending=format.upper() != "AUTO"):
        try:
            require_header(path, format)
        except ImageError as error:
            if not ignore_failure:
                raise
            LOG.warning("left out: %s", visible(str(error)))
        else:
            paths.append(path)
    if random_order:
        random.shuffle(paths)
    column = SArray(paths, dtype=str)
    images = make_array(apply_lambda(column._node, reader, IMAGE, skip_missing=True))
    return SFrame({"path": column, "image": images})[["path", "image"] if with_path else ["image"]]


def resize(image: Any, width: int, height: int, channels: int | None = None, decode: bool = False, resample: str = "nearest") -> Any:
    """Return an image, or each image of a column, in another size; a missing image stays missing.

    Parameters
    ----------
    image
        An image, or a column of images.
    width, height
        The new size.
    channels
        1 (gray), 3 (RGB) or 4 (RGBA). None: those that an image has, and 3 for all images of a column.
    decode
        Whether the results are raw pixels, which take more bytes and are read faster; otherwise they are PNG.
    resample
        ``"nearest"``: each pixel is the one that is nearest in the old image. ``"bilinear"``: it is the mean of four, by their distances.

    Returns
    -------
    Image or SArray
        What was given, resized.

    Raises
    ------
    ValueError
        If ``image`` is neither, a size is not positive, or there is no such way to resample.
    RuntimeError
        If the bytes cannot be decoded, or there are no such channels.
    ImportError
        If Pillow is needed, and not installed.

    Examples
    --------
    >>> import numpy as np
    >>> from sframe_spark import Image, image_analysis
    >>> image_analysis.resize(Image(np.array([[0, 200]], "uint8")), 3, 1, resample="bilinear", decode=True).pixel_data.tolist()
    [[0, 100, 200]]
    """
    is_column = isinstance(image, SArray) and image._node.schema[0].kind == IMAGE_KIND
    if not is_column and not isinstance(image, Image):
        raise InvalidArgumentError(f"resize() takes an Image, or a column of images, not {type(image).__name__}")
    if resample not in RESAMPLING:
        raise InvalidArgumentError(f"resample is 'nearest' or 'bilinear', not {brief(resample)}")
    sizes = [_size(name, value) for name, value in (("width", width), ("height", height))]
    if channels is not None and not hasattr(channels, "__index__"):
        raise SchemaError(f"channels is 1 (gray), 3 (RGB) or 4 (RGBA), not {brief(channels)}")
    if channels not in (None, 1, 3, 4):
        raise ImageError(f"an image has 1 channel (gray), 3 (RGB) or 4 (RGBA), not {brief(channels)}")
    if not is_column:
        return resized(image, sizes[0], sizes[1], channels, bool(decode), resample)
    function = ResizedImage(sizes[0], sizes[1], 3 if channels is None else channels, bool(decode), resample)
    return make_array(apply_lambda(image._node, function, IMAGE, skip_missing=True))


def _size(name: str, value: Any) -> int:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not hasattr(value, "__index__") or isinstance(value, bool):
        raise SchemaError(f"{name} is a number of pixels, not {brief(value)}")
    if int(value) < 1:
        raise NegativeSizeError(f"{name} is a number of pixels from 1 on, not {int(value)}")
    return int(value)


def __getattr__(name: str) -> object:
    if name == "get_deep_features":
        hint = "features of a network are those of a model, which are not here: give sf['image'] and a model of torchvision or timm to apply()"
        raise NoAttributeError(f"image_analysis has no {name}: {hint}")
    raise AttributeError(f"module 'sframe_spark.image_analysis' has no attribute {name!r}")


add_call_hints(globals(), __name__)
