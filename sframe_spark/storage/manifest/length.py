"""How long a manifest may be: what its text becomes in memory, at worst, must fit.

No number of bytes is right for every frame: facts about 10,000 segments of 100 columns take 300 MB of text, and long texts among them more. So the
limit is the memory that is left. A file of another length than its content, which takes no room on the disk, has zeros, which no text has.
"""

from __future__ import annotations

from typing import BinaryIO

from sframe_spark.errors import StorageError
from sframe_spark.message_text import in_words
from sframe_spark.process.memory import AvailableMemory, available_memory

# Measured: 5 for facts about columns, 24 for a text of dicts with one short key.
MEMORY_FOR_LENGTH = 28
# What any machine has room for; the system is not asked.
SHORT = 16 << 20
# Where the system does not tell.
USUAL_MEMORY = AvailableMemory(8 << 30, "assumed, since the system does not tell")
BLOCK_BYTES = 1 << 20


def check_length(file: str, size: int) -> None:
    """Refuse a manifest that memory could not hold.

    Raises
    ------
    StorageError
        If it is so long.
    """
    if size <= SHORT:
        return
    available = available_memory() or USUAL_MEMORY
    if size * MEMORY_FOR_LENGTH > available.size:
        raise StorageError(
            f"{file} has {in_words(size)}, and reading it may take {in_words(size * MEMORY_FOR_LENGTH)} of memory; {in_words(available.size)} are "
            f"{available.source}: if the frame is so large, read it where more memory is free, otherwise the file is damaged: restore it from a copy"
        )


def read_text(file: str, stream: BinaryIO, size: int) -> bytes:
    """Return the bytes of a text, which may have at most some size; a file with a hole in it is not read any further.

    Raises
    ------
    StorageError
        If it holds what no text holds, or has become longer meanwhile.
    """
    content = bytearray()
    while block := stream.read(min(BLOCK_BYTES, size + 1 - len(content))):
        if b"\0" in block:
            raise StorageError(f"{file} is damaged: it is no text; restore it from a copy or save the frame again")
        content += block
        if len(content) > size:
            raise StorageError(f"{file} changes while it is read; try again")
    return bytes(content)
