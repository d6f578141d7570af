"""Numbers of bytes as people say them."""

from __future__ import annotations


def in_words(size: int) -> str:
    """A number of bytes as people say it.

    Examples
    --------
    >>> in_words(812), in_words(3 << 20), in_words(80_000_000_000)
    ('812 bytes', '3.0 MiB', '74.5 GiB')
    """
    if size < 1024:
        return f"{size} bytes"
    value, units = float(size), iter(("KiB", "MiB", "GiB", "TiB", "PiB"))
    unit = ""
    while value >= 1024 and (following := next(units, None)):
        value, unit = value / 1024, following
    return f"{value:.1f} {unit}"
