"""Files of images: read and written wherever users keep files, listed in a directory, and their headers read."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence

from sframe_spark.errors import ImageError, MissingImageError, SFrameError
from sframe_spark.images import FORMAT_OF_ENDING, MAX_BYTES, Image
from sframe_spark.message_text import in_words, visible
from sframe_spark.paths_and_uris import is_remote_location, location_of, normalised, scheme_of
from sframe_spark.storage.filesystem.io_errors import translate_os_errors
from sframe_spark.storage.filesystem.local_files import files_below, read_regular
from sframe_spark.storage.filesystem.remote_input_listing_change_detection_and_download import Download
from sframe_spark.storage.filesystem.remote_operations import is_file, listed, put_bytes, read_range

BYTES_OF_HEADER = 1 << 16


def read_file(path: str) -> bytes:
    """Return the bytes of a file of an image; a remote one is downloaded.

    Raises
    ------
    MissingImageError
        If there is no such file, it cannot be read, or has more bytes than a column holds of one image.
    """
    try:
        # Nothing is taken for a pattern, as paths may be values of a column.
        download = Download()
        file = normalised(path) if scheme_of(path) is None else download.fetch(path, str, False)[0].path
        with translate_os_errors("read", file):
            content, state = read_regular(os.path.realpath(file), MAX_BYTES)
    except (SFrameError, IndexError) as error:
        raise MissingImageError(f"cannot read the image {visible(path)}: {error}") from None
    if state.size > MAX_BYTES:
        raise MissingImageError(f"the image {visible(path)} has {in_words(state.size)}, more than the 2 GiB of a column's value: keep its path")
    return content


def require_header(path: str, format: str) -> None:
    """Read as much of a file of an image as tells what it is.

    Parameters
    ----------
    path
        A path or an address.
    format
        ``"auto"``, ``"JPG"`` or ``"PNG"``: what the file must be.

    Raises
    ------
    ImageError
        If it cannot be read, or is no image of this format.
    """
    location = location_of(path)
    # Where the header goes on, or is damaged, the whole file tells.
    with contextlib.suppress(OSError, ImageError):
        Image(read_range(location, 0, BYTES_OF_HEADER) if is_remote_location(location) else _start_of(location), format)
        return
    Image(path, format)


def _start_of(location: str) -> bytes:
    return read_regular(os.path.realpath(location), BYTES_OF_HEADER)[0]


def write_file(path: str, data: bytes) -> None:
    """Write the bytes of a file of an image.

    Raises
    ------
    StorageError
        If it cannot be written.
    """
    location = location_of(path)
    if is_remote_location(location):
        put_bytes(location, data)
        return
    with translate_os_errors("write", location), open(location, "wb") as file:
        file.write(data)


def image_paths(directory: str, recursive: bool, any_ending: bool) -> Sequence[str]:
    """Return the paths of the files of images in a directory, sorted; a path of a file is that of one.

    Parameters
    ----------
    directory
        A path or an address.
    recursive
        Whether files in directories below are named, too.
    any_ending
        Whether files count whatever their endings are; otherwise those that end in ``.png``, ``.jpg`` or ``.jpeg``.

    Raises
    ------
    MissingImageError
        If there is nothing of that name.
    """
    return sorted(path for path in _paths(directory, recursive) if any_ending or os.path.splitext(path)[1].lower() in FORMAT_OF_ENDING)


def _paths(directory: str, recursive: bool) -> Iterator[str]:
    location = location_of(directory)
    if scheme_of(directory) is not None and is_remote_location(location):
        if is_file(location):
            yield location
            return
        found = listed(location.rstrip("/"), below=recursive)
        if not found:
            raise MissingImageError(f"there is nothing in {visible(directory)}")
        yield from (file.uri for file in found)
    elif os.path.isfile(location):
        yield location
    elif os.path.isdir(location):
        with translate_os_errors("list", location):
            inside = files_below(location) if recursive else [name for name in os.listdir(location) if os.path.isfile(os.path.join(location, name))]
        yield from (os.path.join(location, name) for name in inside)
    else:
        raise MissingImageError(f"there is no directory {visible(directory)}: check the path")
