"""The eight frames, and what several queries are made of."""

from __future__ import annotations

import datetime

from benchmarks.peers.data import Place
from sframe_spark import SArray, SFrame, load_sframe


class Frames:
    """The saved frames of a directory.

    Parameters
    ----------
    place
        Where they are.
    """

    def __init__(self, place: Place) -> None:
        def opened(name: str) -> SFrame:
            return load_sframe(place.file(f"frames/{name}"))

        self.region, self.nation, self.supplier, self.part = opened("region"), opened("nation"), opened("supplier"), opened("part")
        self.partsupp, self.customer, self.orders, self.lineitem = opened("partsupp"), opened("customer"), opened("orders"), opened("lineitem")

    def nations_of(self, region: str) -> SFrame:
        """Nations of a region, by its name."""
        regions = self.region[self.region["r_name"] == region]
        return self.nation.join(regions, on={"n_regionkey": "r_regionkey"})

    def nation_named(self, name: str) -> SFrame:
        """One nation."""
        return self.nation[self.nation["n_name"] == name]


def between(days: SArray, start: str, end: str) -> SArray:
    """Which days are from one up to, and without, another."""
    return (days >= day(start)) & (days < day(end))


def day(text: str) -> datetime.datetime:
    """A day."""
    return datetime.datetime.fromisoformat(text)


def year(days: SArray) -> SArray:
    """The years of days."""
    return days.split_datetime(None, ["year"])["year"]


def price(lines: SFrame) -> SArray:
    """What is paid for each line, before taxes."""
    return lines["l_extendedprice"] * (1 - lines["l_discount"])


def one_row(**values: float) -> SFrame:
    """A frame of one row."""
    return SFrame({name: [value] for name, value in values.items()})
