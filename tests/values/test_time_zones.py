"""Offsets and local times of all zones, against Python's zoneinfo; files of zones in all their forms."""

from __future__ import annotations

import datetime
import functools
import random
import struct
import sys
import zoneinfo
from pathlib import Path

import numpy as np
import pytest

from sframe_spark.errors import InvalidArgumentError, SchemaError
from sframe_spark.values import time_zones
from sframe_spark.values.datetimes import SECOND
from sframe_spark.values.time_zones import END, PERIOD, TimeZone, places_among, zone_name, zone_named

UTC = datetime.UTC
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=UTC)
LOWEST, HIGHEST = -62_135_596_800 + 200_000, 253_402_300_799 - 200_000
NAMES = sorted(zoneinfo.available_timezones())
AWKWARD = """
America/New_York Europe/Dublin Australia/Lord_Howe Pacific/Apia Asia/Kathmandu Africa/Casablanca Asia/Gaza America/Havana
Antarctica/Troll Pacific/Kwajalein Africa/Monrovia America/Sao_Paulo UTC Etc/GMT+12 America/Godthab
""".split()  # noqa: SIM905


def moments(zone: TimeZone, random: random.Random) -> list[int]:
    """Seconds since 1970 all over the years 1 to 9999, and around changes of the zone."""
    found = [random.randrange(LOWEST, HIGHEST) for _ in range(40)]
    for change in zone.starts[:20].tolist() + random.sample(zone.starts.tolist(), min(len(zone.starts), 30)):
        found += [change // SECOND + more for more in (-1, 0, 1)]
    return [moment for moment in found if LOWEST < moment < HIGHEST]


@pytest.mark.parametrize("part", range(4))
def test_offsets_and_local_times_are_those_of_zoneinfo(part: int) -> None:
    choose = random.Random(part)
    for name in {*AWKWARD[part::4], *choose.sample(NAMES, 40)}:
        zone, info = zone_named(name), zoneinfo.ZoneInfo(name)
        seconds = moments(zone, choose)
        offsets = (zone.offsets_at(np.array(seconds) * SECOND) // SECOND).tolist()
        expected = [(EPOCH + datetime.timedelta(seconds=moment)).astimezone(info).utcoffset() for moment in seconds]
        assert offsets == [offset.total_seconds() for offset in expected if offset is not None], name
        local = [moment + offset + more for moment, offset in zip(seconds, offsets, strict=True) for more in (0, 1800, -1800)]
        times = zone.instants_of(np.array(local) * SECOND)
        for at, earlier, later, skipped in zip(local, times.earlier, times.later, times.skipped, strict=True):
            wall = EPOCH.replace(tzinfo=None) + datetime.timedelta(seconds=at)
            first, last = (wall.replace(tzinfo=info, fold=fold).astimezone(UTC) for fold in (0, 1))
            assert skipped == (first.astimezone(info).replace(tzinfo=None) != wall), (name, wall)
            if not skipped:
                found = [EPOCH + datetime.timedelta(microseconds=int(instant)) for instant in (earlier, later)]
                assert found == [first, last], (name, wall)


def test_each_gap_is_over_before_the_clock_is_put_back() -> None:
    # Otherwise a time that is skipped and shown later would come out of order.
    for name in NAMES:
        zone = zone_named(name)
        ends, begins = zone.starts + zone.offsets[:-1], zone.starts + zone.offsets[1:]
        gaps = np.flatnonzero(begins > ends)
        assert all((begins[gap:] >= begins[gap]).all() for gap in gaps[:60].tolist()), name


def test_times_after_the_table_repeat_after_400_years() -> None:
    zone = zone_named("America/New_York")
    late = np.arange(40) * (30 * 86_400 * SECOND) + END + 7 * PERIOD
    assert zone.offsets_at(late).tolist() == zone.offsets_at(late - 8 * PERIOD).tolist()
    moved = zone.instants_of(late)
    assert (moved.earlier - 8 * PERIOD != zone.instants_of(late - 8 * PERIOD).earlier).sum() == 0
    assert set((zone.offsets_at(late) // (3600 * SECOND)).tolist()) == {-5, -4}


def test_a_batch_of_no_instants() -> None:
    assert zone_named("Europe/Rome").offsets_at(np.zeros(0, np.int64)).tolist() == []
    assert zone_named("Europe/Rome").instants_of(np.zeros(0, np.int64)).skipped.tolist() == []


@pytest.mark.parametrize("name", ["Mars", "", "../../etc/passwd", "/etc/localtime", "America", "america/nowhere", "a\x00b", "Europe/Berlim"])
def test_unknown_names(name: str) -> None:
    with pytest.raises(InvalidArgumentError, match="zone: no time zone is named"):
        zone_name(name)


def test_a_machine_without_a_database(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zoneinfo, "TZPATH", ())
    monkeypatch.setattr(zoneinfo, "available_timezones", set)
    monkeypatch.setitem(sys.modules, "tzdata.zoneinfo", None)
    with pytest.raises(InvalidArgumentError, match="no time zone database: install the package tzdata"):
        zone_named.__wrapped__("Europe/Rome")


def test_a_name_is_suggested() -> None:
    with pytest.raises(InvalidArgumentError, match="did you mean 'Europe/Berlin'"):
        zone_name("Europe/Berlim")
    for value in (3, None, datetime.timezone(datetime.timedelta(hours=2))):
        with pytest.raises(SchemaError, match="zone is the name of a time zone"):
            zone_name(value)


# Files of zones.

KIND = struct.Struct(">lbB")


def zone_file(changes: list[tuple[int, int]], offsets: list[int], rule: str, version: bytes = b"2") -> bytes:
    """A TZif file with changes to kinds of time, the offsets of these kinds and a rule for all later years."""

    def block(width: str) -> bytes:
        times = b"".join(struct.pack(f">{width}", at) for at, _ in changes)
        kinds = bytes(kind for _, kind in changes) + b"".join(KIND.pack(offset, 0, 0) for offset in offsets)
        return struct.pack(">4sc15x6l", b"TZif", version, 0, 0, 0, len(changes), len(offsets), 4) + times + kinds + b"XXX\0"

    return block("l") + (block("q") + f"\n{rule}\n".encode() if version >= b"2" else b"")


@pytest.mark.parametrize(
    ("rule", "year", "changes"),
    [
        ("AAA5BBB,M3.2.0,M11.1.0", 2024, ["2024-03-10T07", "2024-11-03T06"]),
        ("<+0330>-3:30<+0430>,J79/24,J263/24", 2024, ["2024-03-20T20:30", "2024-09-20T19:30"]),
        ("AAA0BBB,58,303", 2023, ["2023-02-28T02", "2023-10-31T01"]),
        ("AAA0BBB,59/0,J60/12", 2024, ["2024-02-29T00", "2024-03-01T11"]),
        ("IST-1GMT0,M10.5.0,M3.5.0/1", 2024, ["2024-03-31T01", "2024-10-27T01"]),
        ("AAA3BBB,M3.4.4/50,M10.4.4/-50", 2024, ["2024-03-30T05", "2024-10-22T00"]),
    ],
)
def test_rules_of_later_years(rule: str, year: int, changes: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    zone = written(zone_file([], [0], rule), tmp_path, monkeypatch)
    found = [at for at in zone.starts.astype("datetime64[us]").astype("datetime64[m]").astype(str).tolist() if at.startswith(str(year))]
    assert found == [str(np.datetime64(change, "m")) for change in changes]
    if rule.startswith("AAA0"):
        return  # zoneinfo takes days counted from 0 for days counted from 1; no zone of the database has such a rule
    with (tmp_path / "Test").open("rb") as file:
        info = zoneinfo.ZoneInfo.from_file(file)
    for day in range(366):
        at = datetime.datetime(year, 1, 1, tzinfo=UTC) + datetime.timedelta(days=day, hours=5)
        offset = at.astimezone(info).utcoffset()
        assert offset is not None
        assert zone.offsets_at(np.array([(at - EPOCH) // datetime.timedelta(microseconds=1)]))[0] == offset.total_seconds() * SECOND, at


def written(data: bytes, path: Path, monkeypatch: pytest.MonkeyPatch) -> TimeZone:
    """The zone that a file describes."""
    (path / "Test").write_bytes(data)
    monkeypatch.setattr(zoneinfo, "TZPATH", (str(path),))
    monkeypatch.setattr(time_zones, "zone_named", functools.wraps(zone_named)(zone_named.__wrapped__))
    return time_zones.zone_named("Test")


def test_a_file_of_the_first_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    zone = written(zone_file([(-10, 1), (10, 1), (20, 0)], [3600, 7200], "", b"\0"), tmp_path, monkeypatch)
    assert (zone.starts // SECOND).tolist() == [-10, 20]  # the second change changes no offset
    assert (zone.offsets // SECOND).tolist() == [3600, 7200, 3600]


@pytest.mark.parametrize("damage", [slice(0, 60), slice(0, 30)])
def test_damaged_files(damage: slice, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = zone_file([(0, 1), (10, 0)], [0, 3600], "AAA5BBB,M3.2.0,M11.1.0")[damage]
    with pytest.raises(InvalidArgumentError, match="the file of the time zone 'Test' is damaged"):
        written(data, tmp_path, monkeypatch)


def test_a_rule_that_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidArgumentError, match="damaged"):
        written(zone_file([], [0], "AAA5BBB,tomorrow,M11.1.0"), tmp_path, monkeypatch)


def test_zones_of_the_package_where_the_system_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("tzdata")
    monkeypatch.setattr(zoneinfo, "TZPATH", ())
    alone = zone_named.__wrapped__("America/New_York")
    assert alone.starts[-4:].tolist() == zone_named("America/New_York").starts[-4:].tolist()


@pytest.mark.parametrize("count", [0, 1, 3, 40])
def test_values_in_order_and_out_of_order_have_the_same_places(count: int) -> None:
    choose = np.random.default_rng(count)
    ends = np.unique(choose.integers(0, 50, count))
    values = choose.integers(-5, 60, 2_000)
    expected = [int((ends <= value).sum()) + 7 for value in values.tolist()]
    assert places_among(ends, values, 7).tolist() == expected
    assert places_among(ends, np.sort(values), 7).tolist() == sorted(expected)
