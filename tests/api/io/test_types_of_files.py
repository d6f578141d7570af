"""Every type of Parquet and ORC is read as what it is, or refused by name: never as the bytes or numbers that it is stored as, nor as damage."""

from __future__ import annotations

import datetime
import decimal
import re
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest

from sframe_spark import SFrame, pyarrow_versions
from sframe_spark.errors import SchemaError, StorageError
from sframe_spark.storage.external import orc_reader as orc_footer
from sframe_spark.storage.parquet.thrift import read_struct, write_struct
from sframe_spark.storage.parquet.unsupported_types_and_spark_type_metadata import READ_LOGICAL, REFUSED_CONVERTED, REFUSED_LOGICAL, field_by_note
from tests.needs import TIMES_OF_DAY, has, needs
from tests.storage.parquet.annotated_files import CONVERTED, LOGICAL, PRECISION, SCALE, Value, annotated, element, number, union, without_rows

TEXTS = pa.array([b"ab", b"{}", None], pa.binary())
WHOLE = pa.array([1, -1, None], pa.int64())
SMALL = pa.array([1, -1, None], pa.int32())


def fixed(width: int) -> pa.Array:
    """Bytes that are UTF-8, too."""
    return pa.array([bytes(range(1, width + 1)), b"A" * width, None], pa.binary(width))


def unit(number_of_unit: int) -> dict[int, Value]:
    return {1: Value(1, None), 2: union(number_of_unit)}


REFUSED: dict[str, tuple[pa.Array, dict[int, Value], str]] = {
    "interval": (fixed(12), {CONVERTED: number(21)}, "INTERVAL"),
    "bson": (TEXTS, {CONVERTED: number(20), LOGICAL: union(13)}, "BSON"),
    "bson of old": (TEXTS, {CONVERTED: number(20)}, "BSON"),
    "geometry": (TEXTS, {LOGICAL: union(17)}, "GEOMETRY"),
    "geography": (TEXTS, {LOGICAL: union(18)}, "GEOGRAPHY"),
    "new, in bytes": (TEXTS, {LOGICAL: union(40)}, "logical type 40"),
    "new, in fixed bytes": (fixed(16), {LOGICAL: union(40)}, "logical type 40"),
    "new, in numbers": (WHOLE, {LOGICAL: union(40)}, "logical type 40"),
    "new, of old": (TEXTS, {CONVERTED: number(37)}, "converted type 37"),
    "a unit of picoseconds": (WHOLE, {LOGICAL: union(8, unit(4))}, "TIMESTAMP in unit 4"),
    "a time in picoseconds": (WHOLE, {LOGICAL: union(7, unit(4))}, "TIME in unit 4"),
    "128 bits": (fixed(16), {LOGICAL: union(10, {1: Value(3, b"\x80"), 2: Value(1, None)})}, "INTEGER of 128 bits"),
    "no digits": (fixed(9), {CONVERTED: number(5)}, "DECIMAL of no digits"),
    "more digits behind the point": (fixed(9), {CONVERTED: number(5), SCALE: number(9), PRECISION: number(5)}, "DECIMAL of 5 digits"),
    "a date of 64 bits": (WHOLE, {CONVERTED: number(6)}, "DATE stored as INT64"),
    "a text of numbers": (SMALL, {CONVERTED: number(0), LOGICAL: union(1)}, "STRING stored as INT32"),
    "a short uuid": (fixed(12), {LOGICAL: union(14)}, "UUID stored as FIXED_LEN_BYTE_ARRAY of 12 bytes"),
    "a long half": (fixed(4), {LOGICAL: union(15)}, "FLOAT16 stored as FIXED_LEN_BYTE_ARRAY of 4 bytes"),
    "90 digits": (fixed(40), {CONVERTED: number(5), SCALE: number(2), PRECISION: number(90)}, "DECIMAL of 90 digits"),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("nested", ["column", "list", "struct", "map", "deep"])
@pytest.mark.parametrize("kind", REFUSED)
def test_what_no_column_can_hold_is_refused_by_name(kind: str, nested: str, tmp_path: Path) -> None:
    values, fields, named = REFUSED[kind]
    file = annotated(tmp_path / "x.parquet", values, fields, nested)
    with pytest.raises(SchemaError) as caught:
        SFrame.read_parquet(str(file))
    text = str(caught.value)
    assert "'x'" in text and named in text and "damage" not in text and "readable" not in text


READ: dict[str, tuple[pa.Array, dict[int, Value], list[Any]]] = {
    "uuid": (fixed(16), {LOGICAL: union(14)}, ["01020304-0506-0708-090a-0b0c0d0e0f10", "41414141-4141-4141-4141-414141414141", None]),
    "float16": (pa.array([b"\x00\x3c", b"\x00\xc0", None], pa.binary(2)), {LOGICAL: union(15)}, [1.0, -2.0, None]),
    "enum": (TEXTS, {CONVERTED: number(4), LOGICAL: union(4)}, ["ab", "{}", None]),
    "json": (TEXTS, {CONVERTED: number(19), LOGICAL: union(12)}, ["ab", "{}", None]),
    "time in ms": (pa.array([1, 2_000, None], pa.int32()), {LOGICAL: union(7, unit(1))}, [0.001, 2.0, None]),
    "time in ns": (pa.array([1_500_000_000, 0, None]), {LOGICAL: union(7, unit(3))}, [1.5, 0.0, None]),
    "uint8": (pa.array([1, 255, None], pa.int32()), {CONVERTED: number(11)}, [1, 255, None]),
    "uint32": (SMALL, {CONVERTED: number(13)}, [1, 2**32 - 1, None]),
    "decimal of int32": (SMALL, {CONVERTED: number(5), SCALE: number(2), PRECISION: number(9)}, [0.01, -0.01, None]),
    "decimal of bytes": (pa.array([b"\x01", b"\xff\x01", None]), {CONVERTED: number(5), SCALE: number(0), PRECISION: number(18)}, [1, -255, None]),
    "no values": (pa.nulls(3, pa.int32()), {LOGICAL: union(11)}, [None, None, None]),
    "nothing said": (TEXTS, {}, ["ab", "{}", None]),
}


OF_UUIDS = needs("pyarrow>=21")


def test_uuids_are_refused_by_name_where_pyarrow_reads_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pyarrow_versions, "READS_UUIDS", False)
    values, fields, _ = READ["uuid"]
    for nested in ("column", "struct"):
        path = annotated(tmp_path / f"{nested}.parquet", values, fields, nested)
        with pytest.raises(SchemaError, match=r"'x'.* UUID, which pyarrow before version 21 reads as bytes"):
            SFrame.read_parquet(str(path))


@pytest.mark.parametrize("kind", [pytest.param(kind, marks=[OF_UUIDS] if kind == "uuid" else []) for kind in READ])
def test_what_is_known_is_read(kind: str, tmp_path: Path) -> None:
    values, fields, expected = READ[kind]
    assert list(SFrame.read_parquet(str(annotated(tmp_path / "x.parquet", values, fields)))["x"]) == expected
    if kind == "no values":
        return
    nested = SFrame.read_parquet(str(annotated(tmp_path / "y.parquet", values, fields, "struct")))
    assert [row["v"] for row in nested["x"]] == expected


LIST, MAP, INT, BYTES = 3, 1, 1, 6
NOT_READ = {
    "a map whose keys may be missing": [
        element("x", children=1, converted=MAP),
        element("key_value", 2, children=2),
        element("key", 1, physical=BYTES, converted=0),
        element("value", physical=INT),
    ],
    "a list of two things": [element("x", children=2, converted=LIST), element("a", 2, physical=INT), element("b", 2, physical=INT)],
    "a number that is a list": [element("x", physical=INT, converted=LIST)],
    "a text with parts": [element("x", children=1, converted=0), element("a", physical=INT)],
}


@pytest.mark.parametrize("kind", NOT_READ)
def test_what_pyarrow_does_not_read_is_told_by_the_name_of_the_column(kind: str, tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="column 'x'") as caught:
        SFrame.read_parquet(str(without_rows(tmp_path / "x.parquet", *NOT_READ[kind])))
    assert "damage" not in str(caught.value) and "copy" not in str(caught.value)


def test_lists_of_older_forms_are_lists(tmp_path: Path) -> None:
    two = [element("x", children=1, converted=LIST), element("array", 2, physical=INT)]
    deep = [element("x", children=1, converted=LIST), element("array", 2, children=1, converted=LIST), element("array", 2, physical=INT)]
    bare = [element("x", 2, physical=INT)]
    for elements in (two, deep, bare):
        assert SFrame.read_parquet(str(without_rows(tmp_path / "x.parquet", *elements))).column_types() == [list]


def test_lake_tables_refuse_the_same(tmp_path: Path) -> None:
    import json

    import deltalake

    deltalake.write_deltalake(str(tmp_path / "t"), pa.table({"x": fixed(12).cast(pa.binary())}))
    (file,) = (tmp_path / "t").glob("*.parquet")
    annotated(file, fixed(12), {CONVERTED: number(21)})
    log = tmp_path / "t" / "_delta_log" / "00000000000000000000.json"
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    for line in lines:
        line.get("add", {}).update(size=file.stat().st_size, stats=None)
    log.write_text("\n".join(map(json.dumps, lines)))
    with pytest.raises(SchemaError, match=r"'x'.*INTERVAL"):
        SFrame.read_delta(str(tmp_path / "t"))


def test_text_that_is_not_utf_8_is_no_damage(tmp_path: Path) -> None:
    file = annotated(tmp_path / "x.parquet", pa.array([b"caf\xe9"]), {CONVERTED: number(0), LOGICAL: union(1)})
    with pytest.raises(SchemaError, match=r"'x'.*not all of it is UTF-8") as caught:
        SFrame.read_parquet(str(file))["x"][0]
    assert "damage" not in str(caught.value)


@OF_UUIDS
def test_what_duckdb_writes(tmp_path: Path) -> None:
    place = str(tmp_path / "x.parquet")
    for query, named in (("interval 1 month", "INTERVAL"), ("[interval 1 month]", "INTERVAL"), ("{'a': 1}::variant", "VARIANT")):
        duckdb.sql(f"select {query} as x").write_parquet(place)
        with pytest.raises(SchemaError, match=f"'x'.*{named}"):
            SFrame.read_parquet(place)
    duckdb.sql("select uuid '00000000-0000-0000-0000-000000000001' as u, '101'::bit as b, 'a'::enum('a') as e, time '01:00:00' as t").write_parquet(
        place
    )
    assert list(SFrame.read_parquet(place)) == [{"u": "00000000-0000-0000-0000-000000000001", "b": "101", "e": "a", "t": 3600.0}]


def test_intervals_of_spark_are_numbers_by_the_schema_alone(tmp_path: Path) -> None:
    note = """{"type":"struct","fields":[{"name":"d","type":"interval day to second","nullable":true,"metadata":{}},
      {"name":"l","type":{"type":"array","elementType":"interval hour","containsNull":true},"nullable":true,"metadata":{}},
      {"name":"m","type":"%s","nullable":true,"metadata":{}}]}"""
    for months in ("integer", "interval year to month", "interval month"):
        table = pa.table({"d": pa.array([1_500_000, None]), "l": [[2_000_000, None], None], "m": pa.array([14, None], pa.int32())})
        with pq.ParquetWriter(tmp_path / "x.parquet", table.schema, store_schema=False) as writer:
            writer.write_table(table)
            writer.add_key_value_metadata({"org.apache.spark.version": "4.0.0", "org.apache.spark.sql.parquet.row.metadata": note % months})
        if months == "integer":
            sf = SFrame.read_parquet(str(tmp_path / "x.parquet"))
            assert list(sf["d"]) == [1.5, None] and list(sf["m"]) == [14, None] and sf["l"][0][0] == 2.0
        else:
            with pytest.raises(SchemaError, match=r"'m'.*INTERVAL"):
                SFrame.read_parquet(str(tmp_path / "x.parquet"))


def _of_extension(name: str, nested: bool) -> pa.Schema:
    part = pa.field("v", pa.binary(), metadata={"ARROW:extension:name": name, "ARROW:extension:metadata": ""})
    return pa.schema([pa.field("x", pa.struct([part])) if nested else part.with_name("x")])


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("name", ["geoarrow.wkb", "acme.period", "arrow.opaque.v2"])
def test_extensions_that_nobody_registered_are_refused_at_every_door(name: str, nested: bool, tmp_path: Path) -> None:
    schema = _of_extension(name, nested)
    table = pa.table({"x": [{"v": b"ab"}] if nested else [b"ab"]}, schema=schema)
    pq.write_table(table, tmp_path / "x.parquet")
    doors: list[Any] = [
        lambda: SFrame(table),
        lambda: SFrame(pa.RecordBatchReader.from_batches(schema, table.to_batches())),
        lambda: SFrame.read_parquet(str(tmp_path / "x.parquet")),
    ]
    for door in doors:
        with pytest.raises(SchemaError, match=rf"'x'.*{re.escape(name)}"):
            door()


def test_geometries_that_a_note_names_are_refused(tmp_path: Path) -> None:
    table = pa.table({"where": [b"\x01\x01\x00\x00\x00" + bytes(16)], "n": [1]})
    noted = table.replace_schema_metadata({"geo": '{"version": "1.0.0", "primary_column": "where", "columns": {"where": {"encoding": "WKB"}}}'})
    pq.write_table(noted, tmp_path / "x.parquet")
    with pytest.raises(SchemaError, match=r"'where'.*GEOMETRY"):
        SFrame.read_parquet(str(tmp_path / "x.parquet"))
    # Those that are structs of numbers are dicts; a note of another form says nothing.
    points = pa.table({"where": [{"x": 1.0, "y": 2.0}]})
    for note in ('{"columns": {"where": {"encoding": "point"}}}', '{"columns": {"where": 1}}', '{"columns": [1]}', "[", "1"):
        pq.write_table(points.replace_schema_metadata({"geo": note}), tmp_path / "x.parquet")
        assert SFrame.read_parquet(str(tmp_path / "x.parquet"))["where"][0] == {"x": 1.0, "y": 2.0}


def test_bytes_that_streams_of_others_make_of_other_values() -> None:
    import polars

    for query in ("'01000001'::bit as x", "[bit '01000001'] as x", "{'a': bit '01000001'} as x"):
        with pytest.raises(SchemaError, match=r"'x'.*BIT"):
            SFrame(duckdb.sql(f"select {query}"))
    assert list(SFrame(duckdb.sql("select {'BIT': 'BIT'} as x"))["x"]) == [{"BIT": "BIT"}]
    objects = polars.DataFrame({"n": [1], "x": polars.Series([object()], dtype=polars.Object)})
    for frame in (objects, objects.lazy()):
        with pytest.raises(SchemaError, match=r"'x'.*Python objects"):
            SFrame(frame)


def test_decimals_of_many_digits(tmp_path: Path) -> None:
    values = pa.array([decimal.Decimal("1.5"), None], pa.decimal256(60, 10))
    pq.write_table(pa.table({"x": values}), tmp_path / "x.parquet")
    with pytest.warns(UserWarning, match="decimal|digits"):
        assert list(SFrame.read_parquet(str(tmp_path / "x.parquet"))["x"]) == [1.5, None]


@pytest.mark.parametrize("codec", [3, 9, 100])
def test_compressions_that_are_not_read_are_no_damage(codec: int, tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"x": [1, 2]}), path)
    content = path.read_bytes()
    length = int.from_bytes(content[-8:-4], "little")
    footer, _ = read_struct(content[-8 - length : -8])
    footer[4].content[1][0][1].content[1][0][3].content[4] = number(codec)
    written = write_struct(footer)
    path.write_bytes(content[: -8 - length] + written + len(written).to_bytes(4, "little") + content[-4:])
    with pytest.raises(StorageError, match="compression") as caught:
        list(SFrame.read_parquet(str(path)))
    assert "damage" not in str(caught.value)


ORC_TYPES = {
    "union": pa.UnionArray.from_sparse(pa.array([0, 1], pa.int8()), [pa.array([1, 2]), pa.array(["a", "b"])]),
    "binary": pa.array([b"\xff", b"a"]),
}


@pytest.mark.parametrize("kind", ORC_TYPES)
def test_orc_refuses_by_name(kind: str, tmp_path: Path) -> None:
    orc.write_table(pa.table({"x": ORC_TYPES[kind]}), tmp_path / "x.orc")
    with pytest.raises(SchemaError, match="'x'") as caught:
        SFrame.read_orc(str(tmp_path / "x.orc"))["x"][0]
    assert "damage" not in str(caught.value)


def _retyped(path: Path, place: int, kind: int) -> None:
    """Call a type of an uncompressed ORC file otherwise; the first one is that of its rows."""
    content = path.read_bytes()
    postscript = content[-1 - content[-1] : -1]
    length = dict(orc_footer._numbers(postscript))[1]
    pages, footer = content[: -1 - len(postscript) - length], content[-1 - len(postscript) - length : -1 - len(postscript)]
    types = [part for field, part in orc_footer._fields(footer) if field == 4]
    # The kind of a type is its first field, a number of one byte.
    old = b"\x22" + bytes([len(types[place])]) + types[place]
    assert footer.count(old) == 1 and types[place][0] == 8
    changed = footer.replace(old, old[:3] + bytes([kind]) + old[4:])
    path.write_bytes(pages + changed + postscript + content[-1:])


@pytest.mark.parametrize(("kind", "named"), [(19, "GEOMETRY"), (20, "GEOGRAPHY"), (21, "type 21"), (100, "type 100")])
def test_later_types_of_orc_are_refused_by_name(kind: int, named: str, tmp_path: Path) -> None:
    # Places of the types: the row, a list and its elements, texts; the last one is a decimal, whose description is like no other.
    for place, column in ((2, "l"), (3, "x")):
        table = pa.table({"l": [[1.5]], "x": ["a"], "n": [1]})
        orc.write_table(table, tmp_path / "x.orc", compression="UNCOMPRESSED")
        _retyped(tmp_path / "x.orc", place, kind)
        with pytest.raises(SchemaError, match=rf"'{column}'.*{named}") as caught:
            SFrame.read_orc(str(tmp_path / "x.orc"))
        assert "damage" not in str(caught.value)


@pytest.mark.spark
@pytest.mark.parametrize("form", ["parquet", "orc"])
def test_what_spark_stores_as_numbers(spark: Any, form: str, tmp_path: Path) -> None:
    values = {
        "interval '1 02' day to hour": 93600.0,
        "time'10:11:12'": 36672.0,
        "timestamp_ntz'2020-01-01 10:00:00'": datetime.datetime(2020, 1, 1, 10),
        "interval '1-2' year to month": "INTERVAL",
        "interval '3' month": "INTERVAL",
    }
    read = SFrame.read_parquet if form == "parquet" else SFrame.read_orc
    user = spark.newSession()
    user.conf.set("spark.sql.timeType.enabled", "true")
    shapes = {"{}": lambda x: x, "named_struct('a', {}, 'b', 'x')": lambda x: x["a"], "map('k', {})": lambda x: x["k"]}
    if not has(TIMES_OF_DAY):
        del values["time'10:11:12'"]
    for query, (sql, expected) in enumerate(values.items()):
        for depth, (shape, of) in enumerate(shapes.items()):
            place = str(tmp_path / f"{query}-{depth}")
            user.sql(f"select {shape.format(sql)} as x").write.format(form).save(place)
            if expected == "INTERVAL":
                with pytest.raises(SchemaError, match=r"'x'.*INTERVAL"):
                    read(place)
            else:
                assert of(read(place)["x"][0]) == expected, (sql, shape)


def test_notes_of_spark_that_are_not_known_are_refused() -> None:
    schema = [pa.field("x", pa.int64(), metadata={"spark.sql.catalyst.type": "fortnight(6)"})]
    for field in (schema[0], pa.field("x", pa.list_(schema[0])), pa.field("x", pa.struct(schema))):
        with pytest.raises(SchemaError, match="FORTNIGHT"):
            field_by_note(field)
    assert field_by_note(pa.field("x", pa.int64(), metadata={"spark.sql.catalyst.type": "bigint"})).type == pa.int64()


def test_the_page_names_each_type() -> None:
    page = (Path(__file__).parents[3] / "docs" / "files.md").read_text("utf-8")
    lines = [line for line in page.splitlines() if line.startswith("|")]
    assert not [name for name in READ_LOGICAL.values() if not any(name in line for line in lines)]
    (refused,) = (line for line in lines if line.endswith("| refused |"))
    assert all(name in refused for name, _ in [*REFUSED_LOGICAL.values(), *REFUSED_CONVERTED.values()])
