"""By how many seconds old Java programs and Spark of today differ about the offset of a zone before 1900."""

from __future__ import annotations

import functools
import json
import re
from importlib.resources import files

import attrs

REMEMBERED_ZONES = 64
_FIXED = re.compile(r"GMT([+-])([0-9]{1,2})(?::?([0-9]{2}))?")


@attrs.frozen
class HybridZone:
    """A zone of a program that uses the hybrid calendar.

    Parameters
    ----------
    offset
        Seconds by which its clocks are ahead of UTC, in the program's eyes, before the year 1900.
    differences
        Seconds to add to instants, each from an instant on, in seconds since 1970; the first one has no start. None where there is nothing to add.
    """

    offset: int
    differences: tuple[tuple[int | None, int], ...] = ()


UTC = HybridZone(0)


@functools.lru_cache(maxsize=REMEMBERED_ZONES)
def zone_of(name: str) -> HybridZone:
    """Return the zone that Java means by a name; for a name that it does not know Java takes UTC.

    Examples
    --------
    >>> zone_of("America/Los_Angeles")
    HybridZone(offset=-28800, differences=((None, -422), (-2717640000, 0)))
    >>> zone_of("GMT+05:30").offset, zone_of("Atlantis") == UTC
    (19800, True)
    """
    fixed = _FIXED.fullmatch(name)
    if fixed:
        minutes = int(fixed[2]) * 60 + int(fixed[3] or 0)
        # Java has no offsets of a day and more.
        return UTC if int(fixed[2]) > 23 or int(fixed[3] or 0) > 59 else HybridZone(minutes * (-60 if fixed[1] == "-" else 60))
    known = _table().get(name)
    if known is None:
        return UTC
    offset, first, *later = known
    differences = ((None, first), *zip(later[::2], later[1::2], strict=True))
    return HybridZone(offset, differences if any(difference for _, difference in differences) else ())


@functools.cache
def _table() -> dict[str, list[int]]:
    """The numbers of each zone, as Spark has them: its offset, what to add at first, and pairs of an instant and what to add from there on."""
    found: dict[str, list[int]] = json.loads(files(__package__).joinpath("hybrid_calendar_zones.json").read_text("utf-8"))
    return found
