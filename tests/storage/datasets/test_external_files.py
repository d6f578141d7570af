"""Parquet files that others wrote elsewhere are read where they are: rows of a local copy, by few requests, never those of a later file."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import boto3
import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fsspec.implementations.dirfs import DirFileSystem

from sframe_spark import SFrame, aggregate, config, load_sframe
from sframe_spark.engine.execution.materialize_count_and_read_rows import read_all
from sframe_spark.errors import StorageError
from sframe_spark.planner.plan_json import graph_from_json, graph_to_json
from sframe_spark.plugin import node_of
from sframe_spark.storage.filesystem import dataset_file_reads
from sframe_spark.storage.filesystem.temporary_datasets import scratch_store, temporary_store
from sframe_spark.storage.parquet import footer as footers
from sframe_spark.storage.parquet.footer import _load
from tests.examples import part, square
from tests.storage.datasets.conftest import KEY, SECRET, Bucket, Requests

ROWS = 300


def table(start: int, rows: int = ROWS) -> pa.Table:
    """Rows of a part of a table, of which no two are the same."""
    numbers = range(start, start + rows)
    return pa.table({"n": list(numbers), "k": [n % 7 for n in numbers], "s": [None if n % 11 == 3 else f"é{n % 13}" for n in numbers]})


def parquet(content: pa.Table, **options: Any) -> bytes:
    sink = io.BytesIO()
    pq.write_table(content, sink, row_group_size=options.pop("row_group_size", 100), **options)
    return sink.getvalue()


def put(bucket: Bucket, files: dict[str, bytes]) -> None:
    """Write objects as another program would."""
    store = bucket.files
    for name, content in files.items():
        store.pipe_file(f"{bucket.uri.removeprefix('s3://')}/{name}", content)


def put_here(directory: Path, files: dict[str, bytes]) -> None:
    for name, content in files.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_bytes(content)


def files_in(directory: Path) -> list[Path]:
    return [path for path in directory.rglob("*") if path.is_file()] if directory.is_dir() else []


def of_group_by(frame: SFrame) -> list[Any]:
    return list(frame.groupby("k", {"n": aggregate.SUM("n"), "s": aggregate.COUNT_DISTINCT("s")}).sort("k"))


LAYOUTS: dict[str, dict[str, bytes]] = {
    "a file": {"t": parquet(table(0))},
    "a directory": {f"t/part-{part}.parquet": parquet(table(part * ROWS)) for part in range(3)},
    "many files": {f"t/part-{part}.parquet": parquet(table(part * 30, 30)) for part in range(12)},
    "partitioned": {f"t/year={year}/b=x/{part}.parquet": parquet(table(year + part, 40)) for year in (2000, 3000) for part in (2, 10)},
    "hidden beside them": {"t/_SUCCESS": b"", "t/.part.crc": b"no rows", "t/a.parquet": parquet(table(0))},
    "no rows in one": {"t/a.parquet": parquet(table(0, 0)), "t/b.parquet": parquet(table(0))},
    "a long footer": {"t": parquet(table(0, 3000), row_group_size=5)},
    "version 1 with dictionaries off": {"t": parquet(table(0), version="1.0", use_dictionary=False, compression="NONE")},
}
PROGRAMS: dict[str, Callable[[SFrame], Any]] = {
    "all rows": list,
    "length, names, types": lambda frame: (len(frame), frame.column_names(), frame.column_types()),
    "head, tail, far row": lambda frame: (list(frame.head(3)), list(frame.tail(3)), frame[len(frame) // 2]),
    "filter": lambda frame: list(frame[(frame["n"] > 150) & (frame["k"] == 3)]),
    "slice": lambda frame: list(frame[95:240:7]),
    "sum": lambda frame: (frame["n"].sum(), frame["n"].mean(), frame["s"].countna()),
    "group": of_group_by,
    "sort": lambda frame: list(frame.sort(["k", "n"], ascending=False)),
    "join": lambda frame: list(frame.join(frame.groupby("k", {"most": aggregate.MAX("n")}), on="k").sort("n")),
    "append": lambda frame: list(frame.append(frame[:10])),
    "function": lambda frame: list(frame["n"].apply(lambda n: n * 2)),
    "running sum": lambda frame: list(frame["n"].cumulative_sum()),
    "pandas": lambda frame: frame.to_dataframe().to_dict(),
    "chunks": lambda frame: [batch.to_pylist() for batch in pa.table(frame).to_batches()],
}


# Some programs with each layout, and each with some; the campaign takes the others.
@pytest.mark.sampled(2)
@pytest.mark.parametrize("turn", part(range(8), 8))
@pytest.mark.parametrize("layout", LAYOUTS)
def test_rows_are_those_of_a_local_copy(bucket: Bucket, tmp_path: Path, layout: str, turn: int) -> None:
    put(bucket, LAYOUTS[layout])
    put_here(tmp_path, LAYOUTS[layout])
    elsewhere, here = SFrame.read_parquet(f"{bucket.uri}/t"), SFrame.read_parquet(str(tmp_path / "t"))
    first = (turn + list(LAYOUTS).index(layout)) % 8
    for name, program in list(PROGRAMS.items())[first::8]:
        assert repr(program(elsewhere)) == repr(program(here)), name


@pytest.mark.sampled(2)
@pytest.mark.parametrize("door", ["save", "write_parquet", "export_csv", "column"])
def test_what_is_written_of_them_is_what_a_local_copy_gives(bucket: Bucket, tmp_path: Path, door: str) -> None:
    put(bucket, LAYOUTS["a directory"])
    frame = SFrame.read_parquet(f"{bucket.uri}/t")
    out = str(tmp_path / "out")
    doors: dict[str, Callable[[], Any]] = {
        "save": lambda: frame.save(out),
        "write_parquet": lambda: frame.write_parquet(out),
        "export_csv": lambda: frame.export_csv(out),
        "column": lambda: SFrame({name: frame[name] for name in frame.column_names()}).save(out),
    }
    doors[door]()
    read = {"write_parquet": SFrame.read_parquet, "export_csv": lambda place: SFrame.read_csv(place, verbose=False)}.get(door, load_sframe)
    found = read(out)
    put_here(tmp_path, LAYOUTS["a directory"])
    expected = SFrame.read_parquet(str(tmp_path / "t"))
    assert list(found["n"]) == list(expected["n"]) and found["k"].sum() == expected["k"].sum()


def test_a_pattern_a_list_and_names_twice(bucket: Bucket) -> None:
    put(bucket, LAYOUTS["a directory"])
    first, last = f"{bucket.uri}/t/part-0.parquet", f"{bucket.uri}/t/part-2.parquet"
    assert list(SFrame.read_parquet(f"{bucket.uri}/t/part-[02].parquet")["n"]) == [*range(ROWS), *range(2 * ROWS, 3 * ROWS)]
    assert list(SFrame.read_parquet([last, first])["n"]) == [*range(2 * ROWS, 3 * ROWS), *range(ROWS)]


def test_nothing_is_copied_here_and_few_requests_are_made(bucket: Bucket, requests: Requests) -> None:
    put(bucket, LAYOUTS["many files"])
    requests.lines.clear()
    before = files_in(Path(scratch_store().directory)) + files_in(Path(temporary_store().directory))
    frame = SFrame.read_parquet(f"{bucket.uri}/t")
    assert len(frame) == 360
    methods = [line.split(" ")[0] for line in requests.lines]
    # One for the end of each file; a HEAD of the name, two listings, and those that ask whether it is a table of others' own log.
    assert methods.count("GET") <= 12 + 6 and methods.count("HEAD") <= 3, requests.lines
    requests.lines.clear()
    assert list(frame.head(2)["n"]) == [0, 1]
    # Listings that tell whether the files are those that were opened, the row group, and whether the file still is.
    assert len(requests.lines) <= 6 and sum("/t/part" in line for line in requests.lines) == 2, requests.lines
    requests.lines.clear()
    assert [frame[row]["n"] for row in range(360)] == list(range(360))
    assert len(requests.lines) < 180, requests.lines
    assert files_in(Path(scratch_store().directory)) + files_in(Path(temporary_store().directory)) == before


def test_a_column_of_a_wide_file_is_a_small_part_of_it(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytes that come are those of the column, not of the file."""
    wide = pa.table({f"c{number}": [float(row * number) for row in range(2000)] for number in range(60)})
    put(bucket, {"t": parquet(wide, row_group_size=2000, use_dictionary=False, compression="NONE")})
    frame = SFrame.read_parquet(f"{bucket.uri}/t")
    came: list[int] = []
    original = dataset_file_reads.read_ranges

    def counted(uri: str, ranges: Sequence[dataset_file_reads.Range]) -> list[bytes]:
        found = original(uri, ranges)
        came.extend(map(len, found))
        return found

    monkeypatch.setattr(dataset_file_reads, "read_ranges", counted)
    assert frame["c7"].sum() == sum(float(row * 7) for row in range(2000))
    assert 16_000 <= sum(came) < 3 * 16_000


CHANGES: dict[str, Callable[[Bucket], None]] = {
    "another length": lambda bucket: put(bucket, {"t/part-1.parquet": parquet(table(7, 200))}),
    "one length": lambda bucket: put(bucket, {"t/part-1.parquet": same_length(LAYOUTS["a directory"]["t/part-1.parquet"])}),
    "gone": lambda bucket: bucket.files.rm_file(f"{bucket.uri.removeprefix('s3://')}/t/part-1.parquet"),
    "no Parquet": lambda bucket: put(bucket, {"t/part-1.parquet": b"x" * len(LAYOUTS["a directory"]["t/part-1.parquet"])}),
}


def same_length(content: bytes) -> bytes:
    """A file of other rows that is as long."""
    other = parquet(table(9 * ROWS, ROWS))
    return other if len(other) == len(content) else bytes([content[0], *content[1:50], content[50] ^ 1, *content[51:]])


LOOKS = ["all rows", "sum", "group", "sort", "head, tail, far row", "running sum", "join"]


# Each look with some changes, with footers that are known or forgotten.
@pytest.mark.sampled(2)
@pytest.mark.parametrize(("program", "how"), square(7, LOOKS, product(CHANGES, [True, False])))
def test_a_file_that_changes_is_told_and_never_read(bucket: Bucket, program: str, how: tuple[str, bool]) -> None:
    change, known = how
    put(bucket, LAYOUTS["a directory"])
    frame = SFrame.read_parquet(f"{bucket.uri}/t")
    early = frame["n"] + 1
    if known:
        assert frame["n"].sum() == sum(range(3 * ROWS))
    CHANGES[change](bucket)
    if not known:
        _load.cache_clear()
    for work in (lambda: PROGRAMS[program](frame), lambda: early.cumulative_sum().sum()):
        with pytest.raises(StorageError) as raised:
            work()
        assert "t/part-1.parquet" in str(raised.value) and "\n" not in str(raised.value)


def test_a_file_that_changes_while_it_is_read_is_told(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each row group that comes is one of the file that was opened, whenever it is replaced."""
    put(bucket, {"t": parquet(table(0, 3000))})
    frame = SFrame.read_parquet(f"{bucket.uri}/t")
    rows = iter(frame[["n"]])
    assert next(rows)["n"] == 0
    put(bucket, {"t": parquet(table(5000, 3000))})
    found = []
    with pytest.raises(StorageError, match="was changed since it was opened"):
        found += [row["n"] for row in rows] + [row["n"] for row in frame]
    assert found == list(range(1, len(found) + 1))


def test_those_that_are_read_when_the_frame_is_made_are_of_one_moment(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is replaced between its listing and its footer is told."""

    put(bucket, LAYOUTS["a directory"])
    original = footers.read_range
    done: list[str] = []

    def replaced(uri: str, start: int, stop: int) -> bytes:
        if not done and "part-1" in uri:
            done.append(uri)
            CHANGES["one length"](bucket)
        return original(uri, start, stop)

    monkeypatch.setattr(footers, "read_range", replaced)
    with pytest.raises(StorageError, match=r"part-1\.parquet was changed since it was opened"):
        SFrame.read_parquet(f"{bucket.uri}/t")
    assert done


@pytest.mark.parametrize("moment", ["when the frame is made", "later", "beside one that is none"])
def test_a_footer_of_a_file_that_was_there_for_a_moment_is_forgotten(bucket: Bucket, monkeypatch: pytest.MonkeyPatch, moment: str) -> None:
    """A file that is restored has its own statistics: by those of the other one rows would be left out."""
    first, other = (parquet(table(start).select(["n"]), use_dictionary=False, compression="NONE") for start in (0, 100_000))
    assert len(first) == len(other)
    put(bucket, {"t/a": first, **({"t/b": b"x" * 100} if moment == "beside one that is none" else {})})
    frame = SFrame.read_parquet(f"{bucket.uri}/t") if moment == "later" else None
    _load.cache_clear()
    original = footers.read_range
    done: list[str] = []

    def replaced(uri: str, start: int, stop: int) -> bytes:
        if not done and uri.endswith("t/a"):
            done.append(uri)
            put(bucket, {"t/a": other})
        return original(uri, start, stop)

    monkeypatch.setattr(footers, "read_range", replaced)
    with pytest.raises(StorageError):
        list(SFrame.read_parquet(f"{bucket.uri}/t") if frame is None else frame[frame["n"] < 50])
    assert done
    put(bucket, {"t/a": first})
    again = SFrame.read_parquet(f"{bucket.uri}/t/a")
    assert list(again[again["n"] < 50]["n"]) == list(range(50))


LAKES = {
    "delta": ({"t/_delta_log/00000000000000000000.json": b"{}"}, "a Delta"),
    "hudi": ({"t/.hoodie/hoodie.properties": b"x=1"}, "a Hudi"),
}


@pytest.mark.parametrize("lake", LAKES)
@pytest.mark.parametrize("inside", ["", "/k=1"])
def test_a_table_with_a_log_of_its_own_is_refused(bucket: Bucket, lake: str, inside: str) -> None:
    log, words = LAKES[lake]
    put(bucket, {**log, "t/k=1/a.parquet": parquet(table(0))})
    for read in (SFrame.read_parquet, SFrame.read_orc, lambda place: SFrame.read_csv(place, verbose=False)):
        with pytest.raises(StorageError, match=f"is a directory of {words} table, whose own log says which of its files count"):
            read(f"{bucket.uri}/t{inside}")
    # Files that are named are read.
    assert len(SFrame.read_parquet(f"{bucket.uri}/t/k=1/a.parquet")) == ROWS


def test_data_of_iceberg_is_refused(bucket: Bucket) -> None:
    put(bucket, {"t/metadata/v1.metadata.json": b"{}", "t/data/k=1/a.parquet": parquet(table(0))})
    for inside in ("data", "data/k=1"):
        with pytest.raises(StorageError, match="is a directory of an Iceberg table"):
            SFrame.read_parquet(f"{bucket.uri}/t/{inside}")


BAD = {
    "empty": (b"", "is not a readable Parquet file: it is empty"),
    "short": (b"PAR1", "is not a readable Parquet file"),
    "text": (b"a,b\n1,2\n" * 30, "is not a readable Parquet file"),
    "archive": (b"PK\x03\x04" + b"0" * 100, "it is a ZIP archive"),
    "cut": (parquet(table(0))[:-100], "is not a readable Parquet file"),
    "a footer longer than the file": (parquet(table(0))[:-8] + (1 << 30).to_bytes(4, "little") + b"PAR1", "is not a readable Parquet file"),
    "a footer of bytes by chance": (b"PAR1" + bytes(range(200)) + (200).to_bytes(4, "little") + b"PAR1", "it is damaged"),
}


@pytest.mark.parametrize("kind", BAD)
def test_what_is_no_parquet_file_is_told(bucket: Bucket, kind: str) -> None:
    content, words = BAD[kind]
    put(bucket, {"d/t": content})
    with pytest.raises(StorageError) as raised:
        SFrame.read_parquet(f"{bucket.uri}/d/t")
    assert words in str(raised.value) and "d/t" in str(raised.value) and "\n" not in str(raised.value)


def test_files_that_disagree_are_told(bucket: Bucket) -> None:
    put(bucket, {"t/a.parquet": parquet(table(0)), "t/b.parquet": parquet(pa.table({"other": ["x"]}))})
    with pytest.raises(StorageError, match=r"t/b\.parquet has other columns than"):
        SFrame.read_parquet(f"{bucket.uri}/t")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", ["a b.parquet", "a%20b.parquet", "a#b.parquet", "a?b.parquet", "ä.parquet", "a+b.parquet", "x=1/é.parquet"])
def test_names_of_others_are_never_another_file(bucket: Bucket, name: str) -> None:
    put(bucket, {f"t/{name}": parquet(table(0)), "t/ab.parquet": parquet(table(900))} if "/" not in name else {f"t/{name}": parquet(table(0))})
    rows = SFrame.read_parquet(f"{bucket.uri}/t")["n"]
    assert set(range(ROWS)) <= set(rows) and len(rows) == (ROWS if "/" in name else 2 * ROWS)


@pytest.mark.parametrize("read", ["parquet", "csv"])
def test_marks_of_directories_are_no_files(bucket: Bucket, read: str) -> None:
    """Consoles and Hadoop write objects of no bytes where a directory is; with bytes they are files."""
    rows = parquet(table(0)) if read == "parquet" else b"n\n" + b"".join(b"%d\n" % number for number in range(ROWS))
    door: Callable[[str], SFrame] = SFrame.read_parquet if read == "parquet" else lambda place: SFrame.read_csv(place, verbose=False)
    marks = ["t/", "t/empty/", "t/x=1/", "t/x=1_$folder$", "u/", "u_$folder$"]
    put_exactly(bucket, {**dict.fromkeys(marks, b""), "t/x=1/a": rows, "u/a": rows})
    for place in ("t", "t/", "u", "u/", "u/*"):
        assert list(door(f"{bucket.uri}/{place}")["n"]) == list(range(ROWS)), place
    with pytest.raises(StorageError, match="there is no file"):
        door(f"{bucket.uri}/t/empty")
    put_exactly(bucket, {"u/b/": rows})
    with pytest.raises(StorageError, match="u/b/ is in a directory 'b'"):
        door(f"{bucket.uri}/u")


def put_exactly(bucket: Bucket, files: dict[str, bytes]) -> None:
    """Write objects by names that are no paths."""
    options = bucket.options
    store = boto3.client(
        "s3",
        endpoint_url=options["endpoint_url"],
        region_name="us-east-1",
        aws_access_key_id=options["key"],
        aws_secret_access_key=options["secret"],
    )
    for name, content in files.items():
        store.put_object(Bucket=bucket.uri.removeprefix("s3://"), Key=name, Body=content)


def test_several_buckets_are_one_frame(bucket: Bucket, tmp_path: Path) -> None:
    put(bucket, {"t": parquet(table(0))})
    other = Bucket(f"{bucket.uri}x", bucket.options)
    other.files.mkdir(other.uri.removeprefix("s3://"))
    put(other, {"t": parquet(table(ROWS))})
    put_here(tmp_path, {"t": parquet(table(2 * ROWS))})
    frame = SFrame.read_parquet([f"{bucket.uri}/t", f"{other.uri}/t", str(tmp_path / "t")])
    assert list(frame["n"]) == list(range(3 * ROWS))


@pytest.mark.parametrize("kind", ["sent", "memory"])
def test_given_file_systems(bucket: Bucket, kind: str) -> None:
    """Those that tasks can have are read where they are; others are fetched; all alike."""
    files = bucket.files if kind == "sent" else fsspec.filesystem("memory")
    root = bucket.uri.removeprefix("s3://") if kind == "sent" else bucket.uri.replace("s3://", "/")
    config.storage_options = {"lake://": DirFileSystem(root, files)}
    try:
        for name, content in LAYOUTS["a directory"].items():
            files.pipe_file(f"{root}/{name}", content)
        frame = SFrame.read_parquet("lake://t")
        assert list(frame["n"]) == list(range(3 * ROWS)) and of_group_by(frame)
        fetched = files_in(Path(scratch_store().directory))
        assert bool([path for path in fetched if path.suffix == ".parquet"]) is (kind == "memory")
    finally:
        if kind == "memory":
            files.rm(root, recursive=True)


def test_a_plan_as_text_reads_them_again(bucket: Bucket) -> None:
    """What another process reads of a plan: files that are there, of the length and with the rows that the plan tells."""
    put(bucket, LAYOUTS["a directory"])
    text = graph_to_json(node_of(SFrame.read_parquet(f"{bucket.uri}/t")))
    assert KEY not in text and SECRET not in text
    assert read_all(graph_from_json(text)).columns[0].to_pylist() == list(range(3 * ROWS))
    # One of three files is told to have a row that is another one's.
    false = text.replace(f'"rows": {ROWS}', f'"rows": {ROWS - 1}', 1).replace(f'"rows": {ROWS}', f'"rows": {ROWS + 1}', 1)
    with pytest.raises(StorageError, match=r"t/part-0\.parquet has 300 rows, its manifest says 299"):
        graph_from_json(false)
    CHANGES["another length"](bucket)
    with pytest.raises(StorageError, match=r"t/part-1\.parquet', where no such file has \d+ bytes"):
        graph_from_json(text)
