"""Files whose writers counted in the hybrid calendar: rows, filters, orders and copies have the dates that the writer meant."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest

from sframe_spark import SFrame, config
from sframe_spark.storage.external.parquet_footers_to_manifest import natural_sort_key

DAY, LATE = dt.datetime(1500, 1, 1), dt.datetime(2020, 1, 1)
# 1500-01-01 in the Julian calendar, in days since 1970.
JULIAN = -171_655
MICROS = JULIAN * 86_400 * 1_000_000
VERSION, ZONE = "org.apache.spark.version", "org.apache.spark.timeZone"
DATES, INT96 = "org.apache.spark.legacyDateTime", "org.apache.spark.legacyINT96"
LATER = (LATE - dt.datetime(1970, 1, 1)).days


def columns(days: list[int | None]) -> dict[str, pa.Array]:
    """The days as dates and instants, at several depths."""
    day = pa.array(days, pa.int32()).cast(pa.date32())
    moment = pa.array([None if value is None else value * 86_400_000_000 for value in days], pa.int64()).cast(pa.timestamp("us", "UTC"))
    pairs = pa.StructArray.from_arrays([day, moment], ["d", "t"])
    return {
        "d": day,
        "t": moment,
        "ms": moment.cast(pa.timestamp("ms", "UTC")),
        "local": moment.cast(pa.int64()).cast(pa.timestamp("us")),
        "list": pa.ListArray.from_arrays(range(len(days) + 1), day),
        "deep": pa.ListArray.from_arrays(range(len(days) + 1), pairs),
        "map": pa.MapArray.from_arrays(range(len(days) + 1), pa.array(["k"] * len(days)), moment),
        "n": pa.array(range(len(days))),
    }


def write(path: Path, days: list[int | None], metadata: dict[str, str], **options: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    table = pa.table(columns(days))
    with pq.ParquetWriter(path, table.schema, store_schema=False, **options) as writer:
        writer.write_table(table, row_group_size=1)
        writer.add_key_value_metadata(metadata)
    return path


def utc(value: dt.datetime) -> dt.datetime:
    return value.replace(tzinfo=dt.UTC)


def row(date: dt.datetime, instant: dt.datetime, local: dt.datetime) -> list[Any]:
    """What the first columns of a row are."""
    return [date, utc(instant), utc(instant), local, [date], [{"d": date, "t": utc(instant)}], {"k": utc(instant)}]


AS_STORED = dt.datetime(1500, 1, 10)
METADATA = {
    "keys": ({VERSION: "4.3.0", DATES: "", INT96: "", ZONE: "UTC"}, DAY, DAY),
    "Spark 2": ({VERSION: "2.4.8"}, DAY, DAY),
    "a zone": ({VERSION: "3.5.0", DATES: "", ZONE: "America/Los_Angeles"}, DAY, DAY - dt.timedelta(seconds=422)),
    "INT96 alone": ({VERSION: "3.5.0", INT96: ""}, AS_STORED, AS_STORED),
    "Spark 3.0": ({VERSION: "3.0.3"}, AS_STORED, AS_STORED),
    "corrected": ({VERSION: "4.3.0"}, AS_STORED, AS_STORED),
    "no version": ({DATES: ""}, AS_STORED, AS_STORED),
    "Hive": ({"writer.model.name": "3.1.3", "writer.date.proleptic": "false", "writer.time.zone": "UTC"}, DAY, AS_STORED),
    "Hive, proleptic": ({"writer.date.proleptic": "true"}, AS_STORED, AS_STORED),
}


@pytest.mark.parametrize("kind", METADATA)
def test_what_a_footer_says_decides(kind: str, tmp_path: Path) -> None:
    metadata, date, instant = METADATA[kind]
    file = write(tmp_path / "x.parquet", [JULIAN, None, LATER], metadata)
    sf = SFrame.read_parquet(str(file))
    first, missing, last = ([cells[name] for name in sf.column_names()[:-1]] for cells in sf)
    assert first == row(date, instant, AS_STORED) and last == row(LATE, LATE, LATE)
    assert missing == [None, None, None, None, [None], [{"d": None, "t": None}], {"k": None}]
    # Bounds in the footer are those of the stored numbers.
    assert list(sf[sf["d"] == date]["n"]) == [0] == list(sf[sf["t"] <= utc(instant)]["n"]) == list(sf[sf["ms"] < utc(LATE)]["n"])
    assert sf["d"].min() == date and sf["t"].min() == utc(instant)
    assert list(sf.sort("t", ascending=False)["n"]) == [2, 0, 1]


def test_copies_are_not_converted_again(tmp_path: Path) -> None:
    sf = SFrame.read_parquet(str(write(tmp_path / "x.parquet", [JULIAN, LATER], {VERSION: "2.4.0"})))
    sf.write_parquet(str(tmp_path / "copy"))
    sf.save(str(tmp_path / "saved"))
    for file in (tmp_path / "copy").glob("*.parquet"):
        assert not any(key.startswith(b"org.apache.spark") for key in pq.read_metadata(file).metadata or {})
    for copy in (SFrame.read_parquet(str(tmp_path / "copy")), SFrame(str(tmp_path / "saved"))):
        assert list(copy["d"]) == [DAY, LATE] and list(copy["t"]) == [utc(DAY), utc(LATE)]


def test_each_file_of_a_table_by_its_own_footer(tmp_path: Path) -> None:
    write(tmp_path / "t/p=1/a.parquet", [JULIAN, LATER], {VERSION: "3.5.0", DATES: ""})
    write(tmp_path / "t/p=2/b.parquet", [JULIAN - 5, LATER], {VERSION: "3.5.0"})
    sf = SFrame.read_parquet(str(tmp_path / "t"))
    assert list(sf["d"]) == [DAY, LATE, dt.datetime(1500, 1, 5), LATE] and list(sf["p"]) == [1, 1, 2, 2]
    # The second file's number is smaller than the first one's.
    assert list(sf.sort("d")["p"]) == [1, 2, 1, 2] == list(sf.sort("t")["p"])
    import fsspec

    with fsspec.open("memory://hybrid/a.parquet", "wb") as file:
        file.write((tmp_path / "t/p=1/a.parquet").read_bytes())
    assert SFrame.read_parquet("memory://hybrid/a.parquet")["deep"][0] == [{"d": DAY, "t": utc(DAY)}]


def test_delta_and_iceberg(tmp_path: Path) -> None:
    import deltalake

    place = tmp_path / "delta"
    deltalake.write_deltalake(str(place), pa.table({"d": pa.array([DAY.date()]), "t": pa.array([utc(DAY)], pa.timestamp("us", "UTC"))}))
    (file,) = place.glob("*.parquet")
    stored = columns([JULIAN])
    for metadata, options in (({VERSION: "3.5.0", DATES: ""}, {}), ({VERSION: "2.4.0"}, {"use_deprecated_int96_timestamps": True})):
        days = JULIAN if not options else LATER
        stored = columns([days])
        table = pa.table({"d": stored["d"], "t": stored["local"] if options else stored["t"]})
        with pq.ParquetWriter(file, table.schema, store_schema=False, **options) as writer:
            writer.write_table(table)
            writer.add_key_value_metadata(metadata)
        log = place / "_delta_log" / "00000000000000000000.json"
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        for line in lines:
            line.get("add", {}).update(size=file.stat().st_size, stats=None)
        log.write_text("\n".join(map(json.dumps, lines)))
        expected = DAY if not options else LATE
        assert [list(row.values()) for row in SFrame.read_delta(str(place))] == [[expected, utc(expected)]]

    from pyiceberg.catalog.sql import SqlCatalog

    catalog = SqlCatalog("c", uri=f"sqlite:///{tmp_path}/c.db", warehouse=f"file://{tmp_path}/iceberg")
    catalog.create_namespace("n")
    table = catalog.create_table("n.t", pa.schema([("d", pa.date32())]))
    table.append(pa.table({"d": pa.array([DAY.date()])}))
    (data,) = (tmp_path / "iceberg").rglob("*.parquet")
    metadata = pq.read_metadata(data)
    content = pa.table({"d": stored["d"]}).cast(pa.schema([pa.field("d", pa.date32(), metadata=pq.read_schema(data).field("d").metadata)]))
    content = pa.table({"d": columns([JULIAN])["d"]}, schema=content.schema)
    for padding in range(2_000):
        with pq.ParquetWriter(data, content.schema, store_schema=False, compression="zstd") as writer:
            writer.write_table(content)
            writer.add_key_value_metadata({VERSION: "2.4.0", "padding": "x" * padding})
        if data.stat().st_size >= catalog.load_table("n.t").inspect.files()["file_size_in_bytes"][0].as_py():
            break
    assert list(SFrame.read_iceberg(catalog.load_table("n.t"))["d"]) == [DAY]


@pytest.mark.parametrize("compression", ["UNCOMPRESSED", "ZLIB", "SNAPPY", "LZ4", "ZSTD"])
def test_orc_of_other_programs_than_java_is_proleptic(compression: str, tmp_path: Path) -> None:
    orc.write_table(pa.table({"d": columns([JULIAN])["d"]}), tmp_path / "x.orc", compression=compression)
    assert list(SFrame.read_orc(str(tmp_path / "x.orc"))["d"]) == [AS_STORED]


def test_orc_of_java_is_hybrid_unless_it_says_otherwise(tmp_path: Path) -> None:
    stored = {name: values for name, values in columns([JULIAN, None, LATER]).items() if name in ("d", "list")}
    orc.write_table(pa.table(stored), tmp_path / "x.orc", compression="UNCOMPRESSED")
    content = (tmp_path / "x.orc").read_bytes()
    postscript = content[-1 - content[-1] : -1]
    length = _fields(postscript)[1]
    footer = content[-1 - len(postscript) - length : -1 - len(postscript)]
    # Field 9 is the writer: 0 is that of Java, 1 that of C++. Field 11 is the calendar: 1 is the hybrid one, 2 the proleptic one.
    assert footer.count(b"\x48\x01") == 1
    for writer, calendar, expected in ((0, 0, DAY), (0, 1, DAY), (1, 1, DAY), (0, 2, AS_STORED), (1, 0, AS_STORED), (1, 2, AS_STORED)):
        changed = footer.replace(b"\x48\x01", bytes([0x48, writer])) + (bytes([0x58, calendar]) if calendar else b"")
        assert postscript[0] == 0x08
        end = b"\x08" + _varint(len(changed)) + postscript[1 + len(_varint(length)) :]
        (tmp_path / "y.orc").write_bytes(content[: -1 - len(postscript) - length] + changed + end + bytes([len(end)]))
        sf = SFrame.read_orc(str(tmp_path / "y.orc"))
        assert list(sf["d"]) == [expected, None, LATE] and list(sf["list"]) == [[expected], [None], [LATE]], (writer, calendar)


def _varint(value: int) -> bytes:
    return bytes([value & 127 | 128, value >> 7]) if value > 127 else bytes([value])


def _fields(message: bytes) -> dict[int, int]:
    from sframe_spark.storage.external.orc_reader import _numbers

    return dict(_numbers(message))


def _as_micros(values: list[Any]) -> list[int | None]:
    epoch = utc(dt.datetime(1970, 1, 1))
    return [None if value is None else ((value if value.tzinfo else utc(value)) - epoch) // dt.timedelta(microseconds=1) for value in values]


@pytest.mark.spark
@pytest.mark.sampled(3)
@pytest.mark.parametrize("zone", ["UTC", "America/Los_Angeles", "Europe/Amsterdam", "+05:30"])
@pytest.mark.parametrize("kind", ["INT96", "TIMESTAMP_MICROS", "TIMESTAMP_MILLIS"])
def test_what_spark_writes_is_what_spark_reads(spark: Any, kind: str, zone: str, tmp_path: Path) -> None:
    user = spark.newSession()
    user.conf.set("spark.sql.session.timeZone", zone)
    user.conf.set("spark.sql.parquet.outputTimestampType", kind)
    texts = ["0001-01-03 00:00:00", "1000-02-28 12:00:00", "1500-01-01 00:00:00", "1582-10-04 23:00:00", "1582-10-16 01:00:00",
             "1883-11-18 19:59:00", "1892-05-01 00:00:00", "1899-12-31 23:59:59", "2024-06-30 12:00:00"]  # fmt: skip
    lines = [
        f"SELECT date'{t[:10]}' AS d, timestamp'{t}Z' AS t, array(timestamp'{t}Z') AS l, map(date'{t[:10]}', 1) AS m, timestamp_ntz'{t}' AS n"
        for t in texts
    ]
    df = user.sql(" UNION ALL ".join(lines)).coalesce(1)
    for mode in ("LEGACY", "CORRECTED"):
        user.conf.set("spark.sql.parquet.datetimeRebaseModeInWrite", mode)
        user.conf.set("spark.sql.parquet.int96RebaseModeInWrite", mode)
        df.write.mode("append").parquet(str(tmp_path / "t"))
    modes = {DATES.encode() in (pq.read_metadata(file).metadata or {}) for file in (tmp_path / "t").glob("*.parquet")}
    assert modes == {True, False}
    # Some instants of the years in which zones changed are lost when Spark writes them so: what it reads counts.
    files = sorted(map(str, (tmp_path / "t").glob("*.parquet")), key=natural_sort_key)
    expected = [row["t"] for file in files for row in user.read.parquet(file).selectExpr("unix_micros(t) AS t").collect()]
    for small_rows in (None, 0):
        with config.using(**({} if small_rows is None else {"small_rows": 0})):
            sf = SFrame.read_parquet(str(tmp_path / "t"))
            assert _as_micros(list(sf["t"])) == expected == [micros for cells in sf["l"] for micros in _as_micros(cells)]
            days = [dt.datetime.fromisoformat(text[:10]) for text in texts] * 2
            assert list(sf["d"]) == days and list(sf["m"]) == [{day: 1} for day in days]
            assert list(sf["n"]) == [dt.datetime.fromisoformat(text) for text in texts] * 2
            assert len(sf[sf["t"] < utc(dt.datetime(1582, 10, 15))]) == 8


@pytest.mark.spark
def test_orc_both_ways(spark: Any, tmp_path: Path) -> None:
    texts = ["0001-01-03", "1000-02-28", "1500-01-01", "1582-10-04", "1582-10-15", "2024-06-30"]
    df = spark.sql(" UNION ALL ".join(f"SELECT date'{text}' AS d, array(date'{text}') AS l, timestamp_ntz'{text} 12:00:00' AS n" for text in texts))
    df.coalesce(1).write.orc(str(tmp_path / "spark"))
    days = [dt.datetime.fromisoformat(text) for text in texts]
    sf = SFrame.read_orc(str(tmp_path / "spark"))
    noons = [day.replace(hour=12) for day in days]
    assert list(sf["d"]) == days and list(sf["l"]) == [[day] for day in days] and list(sf["n"]) == noons
    SFrame({"t": noons, "z": [utc(noon) for noon in noons], "i": range(len(days))}).write_orc(str(tmp_path / "ours"))
    rows = spark.read.orc(str(tmp_path / "ours")).selectExpr("cast(t as string) t", "unix_micros(z) z", "i").orderBy("i").collect()
    assert [found["t"] for found in rows] == [f"{text} 12:00:00" for text in texts] and [found["z"] for found in rows] == _as_micros(noons)
