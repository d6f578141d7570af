"""Names of the columns of an archive, which stand in its index as they were given, with nothing quoted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from sframe_spark.errors import StorageError
from sframe_spark.turicreate.ini import BLANKS
from sframe_spark.visible import visible


def named(found: Sequence[bytes], decode: Callable[[bytes], str], location: str) -> list[str]:
    """Return names of columns of which no two are equal: without the blanks around them, as the reference has them, where that is so.

    Names that are equal without their blanks keep these; those that are equal with them get numbers.

    Raises
    ------
    StorageError
        If one is no text.

    Examples
    --------
    >>> named([b" a", b"b", b"b ", b"b"], bytes.decode, "x")
    ['a', 'b', 'b ', 'b.1']
    """
    try:
        texts = list(map(decode, found))
    except UnicodeDecodeError as error:
        broken = f"{visible(location)}: the name of a column is {error.object[:40]!r}, which is not UTF-8"
        raise StorageError(f"{broken}: encoding_errors='latin-1' or 'replace' (--encoding-errors) reads it all the same") from None
    blanks = BLANKS.decode()
    counts = Counter(text.strip(blanks) for text in texts)
    # For each name that is taken the number that is tried next.
    taken: dict[str, int] = {}
    for text in texts:
        stripped = text.strip(blanks)
        name = _free(stripped if counts[stripped] == 1 else text, taken)
        taken[name] = 1
    return list(taken)


def _free(name: str, taken: dict[str, int]) -> str:
    candidate = name
    while candidate in taken:
        candidate = f"{name}.{taken[name]}"
        taken[name] += 1
    return candidate
