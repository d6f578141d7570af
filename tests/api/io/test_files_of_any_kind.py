"""``SFrame.read`` and ``SFrame.write``: kinds of files found by names and first bytes, Arrow's files, and kinds that plug-ins register."""

from __future__ import annotations

import datetime
import os
import pickle
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, ClassVar

import fsspec
import pyarrow as pa
import pytest
from moto.server import ThreadedMotoServer

from sframe_spark import SFrame, config
from sframe_spark.errors import InvalidArgumentError, PlanInvariantError, StorageError, UserFunctionError
from sframe_spark.operators.sources.file_kinds import SOURCES, WRITERS
from sframe_spark.operators.user_function_calls_and_result_memos import plugin_uses
from sframe_spark.planner.graph_traversal import postorder
from sframe_spark.planner.registrations import registrations, take_back
from sframe_spark.plugin import STR, ColumnType, FileSource, FileWriter, Predicate, SourceFile, node_of, register_source, register_writer
from tests.interpreters import run_program

ROWS = {"a": [1, None, 3], "b": ["x", None, "z"], "c": [1.5, float("inf"), None]}


def values(frame: SFrame) -> dict[str, list[Any]]:
    return {name: list(frame[name]) for name in frame.column_names()}


@pytest.fixture(autouse=True)
def what_is_registered_is_taken_back() -> Iterator[None]:
    yield
    take_back(made for made in registrations() if made.module == __name__)


class Lines(FileSource):
    """The lines of a text file, whose number is known at its end."""

    name: ClassVar[str] = "text_lines"
    suffixes: ClassVar[tuple[str, ...]] = (".lines",)
    beginning: ClassVar[bytes] = b"#lines"

    def __init__(self, file: SourceFile, prefix: str = "") -> None:
        super().__init__(file, prefix=prefix)
        self.prefix = prefix

    def columns(self) -> Mapping[str, ColumnType]:
        return {"line": STR}

    def read(self, start: int, stop: int, columns: Sequence[str], predicate: Predicate | None) -> Iterator[pa.Table]:
        with self.file.open() as stream:
            assert stream.readline() == b"#lines\n"
            for line in stream:
                yield pa.table({"line": [self.prefix + line.decode().rstrip("\n")]})


class LineWriter(FileWriter):
    """Writes one column of texts."""

    name: ClassVar[str] = "text_lines"
    suffixes: ClassVar[tuple[str, ...]] = (".lines",)

    def __init__(self, file: BinaryIO, columns: Mapping[str, ColumnType], suffix: str = "") -> None:
        super().__init__(file, columns, suffix=suffix)
        self.suffix = suffix
        file.write(b"#lines\n")

    @classmethod
    def check(cls, columns: Mapping[str, ColumnType], options: Mapping[str, Any]) -> None:
        if list(columns.values()) != [STR]:
            raise InvalidArgumentError("a file of lines has one column of texts")

    def write(self, rows: pa.Table) -> None:
        for line in rows.column(0).to_pylist():
            self.file.write(f"{line}{self.suffix}\n".encode())


class ForgetfulLines(Lines):
    """A class whose author has not handed its option on."""

    name: ClassVar[str] = "forgetful_lines"
    suffixes: ClassVar[tuple[str, ...]] = ()
    beginning: ClassVar[bytes] = b""

    def __init__(self, file: SourceFile, prefix: str = "") -> None:
        FileSource.__init__(self, file)
        self.prefix = prefix


@pytest.mark.parametrize("kind", ["text_lines", "forgetful_lines"])
def test_one_file_with_two_options_is_two_sources(kind: str, lines: None, tmp_path: Path) -> None:
    register_source(ForgetfulLines)
    (tmp_path / "a").write_text("#lines\nx\n")
    first, second = (SFrame.read(str(tmp_path / "a"), format=kind, prefix=prefix) for prefix in ("1", "2"))
    ours, others = (frame._node.operator.table.sources[0] for frame in (first, second))
    assert pickle.loads(pickle.dumps(ours)).identity == ours.identity != others.identity
    both = first.append(second)
    assert list(both["line"]) == ["1x", "2x"] and list(first["line"] + second["line"]) == ["1x2x"]


@pytest.fixture
def lines() -> None:
    register_source(Lines)
    register_writer(LineWriter)


# This package's kinds.


@pytest.mark.parametrize(
    "name", ["x.arrow", "x.feather", "x.ipc", "x.arrows", "x.parquet", "x.orc", "x.csv", "x.tsv", "x.json", "x.jsonl", "x.ndjson", "X.ARROW"]
)
def test_rows_come_back(name: str, tmp_path: Path) -> None:
    frame = SFrame(ROWS)
    frame.write(tmp_path / name)
    read = values(SFrame.read(tmp_path / name))
    missing = "" if name.endswith("sv") else None
    assert read == {**ROWS, "b": ["x", missing, "z"]}


def test_a_saved_frame_and_compressed_texts(tmp_path: Path) -> None:
    SFrame(ROWS).save(str(tmp_path / "saved"))
    assert values(SFrame.read(tmp_path / "saved")) == ROWS
    SFrame(ROWS).write(tmp_path / "x.jsonl.gz")
    assert values(SFrame.read(tmp_path / "x.jsonl.gz")) == ROWS
    SFrame(ROWS).write(tmp_path / "frame", format="sframe")
    assert values(SFrame.read(tmp_path / "frame", format="sframe")) == ROWS


@pytest.mark.parametrize("name", ["x.arrow", "x.parquet", "x.arrows"])
def test_first_bytes_decide_where_names_do_not(name: str, tmp_path: Path) -> None:
    SFrame(ROWS).write(tmp_path / name)
    written = tmp_path / name
    file = next(written.iterdir()) if written.is_dir() else written
    os.rename(file, tmp_path / "rows of today")
    assert values(SFrame.read(tmp_path / "rows of today")) == ROWS


def test_what_has_no_reader_is_told(tmp_path: Path) -> None:
    (tmp_path / "x.pdf").write_bytes(b"%PDF-1.4\x00\x01")
    with pytest.raises(StorageError, match=r"no reader for .*x\.pdf: it is a PDF document; save the table in it as CSV"):
        SFrame.read(tmp_path / "x.pdf")
    (tmp_path / "x.bin").write_bytes(b"\x00\x01\x02")
    with pytest.raises(
        StorageError, match=r"neither its suffix nor its first bytes match a known kind; name the kind with format=. There are " r"arrow, "
    ):
        SFrame.read(tmp_path / "x.bin")
    with pytest.raises(StorageError, match="there is no file"):
        SFrame.read(tmp_path / "missing.arrow")
    with pytest.raises(InvalidArgumentError, match="there is no source named 'arow': there are arrow, arrow_stream, csv"):
        SFrame.read(tmp_path / "x.bin", format="arow")
    with pytest.raises(InvalidArgumentError, match=r"no kind of files has the suffix of .*x\.zzz'"):
        SFrame(ROWS).write(tmp_path / "x.zzz")
    with pytest.raises(InvalidArgumentError, match="files of the kind parquet are read without options, got 'columns'"):
        SFrame.read(tmp_path / "x.parquet", columns=["a"])
    with pytest.raises(InvalidArgumentError, match="files of the kind csv cannot be written in parts"):
        SFrame(ROWS).write(tmp_path / "x.csv", parts=True)
    assert not (tmp_path / "x.csv").exists()


# Arrow's files.


@pytest.mark.parametrize("compression", [None, "lz4", "zstd"])
def test_arrow_files_of_many_batches(compression: str | None, tmp_path: Path) -> None:
    table = pa.table({"n": list(range(1000)), "text": [f"t{number % 7}" for number in range(1000)]})
    with pa.ipc.new_file(str(tmp_path / "x.arrow"), table.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
        for first in range(0, 1000, 130):
            writer.write_table(table.slice(first, 130))
    frame = SFrame.read(tmp_path / "x.arrow")
    assert "source_rows" in str(frame.explain()) and frame.num_rows() == 1000
    with config.using(batch_rows=50):
        assert frame["n"].sum() == 499_500 and list(SFrame.read(tmp_path / "x.arrow")[255:265]["n"]) == list(range(255, 265))
    assert list(frame[frame["text"] == "t3"]["n"]) == list(range(3, 1000, 7))
    SFrame(table).write(tmp_path / "y.arrow", compression=compression)
    assert pa.ipc.open_file(str(tmp_path / "y.arrow")).read_all().equals(table)


def test_types_of_other_programs(tmp_path: Path) -> None:
    moment = datetime.datetime(2020, 1, 2, 3, 4, 5, 6)
    table = pa.table({
        "small": pa.array([1, None], pa.int8()), "flag": [True, None], "word": pa.array(["a", "b"]).dictionary_encode(),
        "large": pa.array(["x", None], pa.large_string()),
        "view": pa.array(["v", None], pa.string_view()), "day": [moment.date(), None], "zoned": pa.array([moment, None], pa.timestamp("us", "UTC")),
        "list": [[1.5], None], "record": [{"x": 1, "y": "z"}, None],
    })  # fmt: skip
    for form, opened in (("arrow", pa.ipc.new_file), ("arrows", pa.ipc.new_stream)):
        with opened(str(tmp_path / f"x.{form}"), table.schema) as writer:
            writer.write_table(table)
        assert values(SFrame.read(tmp_path / f"x.{form}")) == values(SFrame(table))


def test_damaged_arrow_files_are_told(tmp_path: Path) -> None:
    SFrame({"text": ["some", "texts"]}).write(tmp_path / "x.arrow")
    content = (tmp_path / "x.arrow").read_bytes()
    for broken in (content[: len(content) // 2], content[:-1], b"ARROW1" + bytes(40), b""):
        (tmp_path / "broken.arrow").write_bytes(broken)
        with pytest.raises(StorageError, match=r"broken\.arrow"):
            SFrame.read(tmp_path / "broken.arrow").materialize()
    place = content.rindex(b"sometexts") - 64
    for offset in range(place, place + 12):
        (tmp_path / "broken.arrow").write_bytes(content[:offset] + b"\xff\xff\xff\x7f" + content[offset + 4 :])
        try:
            list(SFrame.read(tmp_path / "broken.arrow")["text"])
        except StorageError as error:
            assert "broken.arrow" in str(error)


@pytest.mark.parametrize("name", ["x.arrow", "x.arrows"])
def test_no_rows_and_no_batches(name: str, tmp_path: Path) -> None:
    SFrame({"a": [1], "b": ["x"]})[:0].write(tmp_path / name)
    frame = SFrame.read(tmp_path / name)
    assert values(frame) == {"a": [], "b": []} and frame.column_types() == [int, str]
    opened = pa.ipc.new_file if name == "x.arrow" else pa.ipc.new_stream
    with opened(str(tmp_path / name), pa.schema([("a", pa.int64())])):
        pass
    assert values(SFrame.read(tmp_path / name)) == {"a": []}


def test_repeated_names_are_refused(tmp_path: Path) -> None:
    table = pa.table([[1], [2]], names=["a", "a"])
    with pa.ipc.new_file(str(tmp_path / "x.arrow"), table.schema) as writer:
        writer.write_table(table)
    with pytest.raises(InvalidArgumentError, match="several columns named 'a'"):
        SFrame.read(tmp_path / "x.arrow")


def test_several_files_and_directories(tmp_path: Path) -> None:
    SFrame({"n": list(range(10))}).write(tmp_path / "parts.arrow", parts=True)
    assert all(name.startswith("part-") and name.endswith(".arrow") for name in os.listdir(tmp_path / "parts.arrow"))
    SFrame({"n": [10, 11]}).write(tmp_path / "more.arrow")
    frame = SFrame.read([tmp_path / "parts.arrow", tmp_path / "more.arrow"])
    assert list(frame["n"]) == list(range(12)) and list(SFrame.read(tmp_path / "more*", format="arrow")["n"]) == [10, 11]
    # What was written so is replaced.
    SFrame({"n": [5]}).write(tmp_path / "parts.arrow", parts=True)
    assert list(SFrame.read(tmp_path / "parts.arrow")["n"]) == [5]
    SFrame({"m": [5]}).write(tmp_path / "more.arrow")
    with pytest.raises(Exception, match=r"has the columns m \(int\), and .* has n \(int\)"):
        SFrame.read([tmp_path / "parts.arrow", tmp_path / "more.arrow"])


def test_a_file_that_changes_is_told(tmp_path: Path) -> None:
    SFrame({"n": [1, 2]}).write(tmp_path / "x.arrow")
    frame = SFrame.read(tmp_path / "x.arrow")
    SFrame({"n": [1, 2, 3]}).write(tmp_path / "x.arrow")
    with pytest.raises(StorageError, match=r"x\.arrow was changed"):
        list(frame["n"])
    os.remove(tmp_path / "x.arrow")
    with pytest.raises(StorageError, match=r"x\.arrow"):
        frame.materialize()


# Kinds of plug-ins.


@pytest.mark.usefixtures("lines")
def test_a_kind_of_a_plugin_is_found(tmp_path: Path) -> None:
    SFrame({"text": ["one", "two"]}).write(tmp_path / "x.lines", suffix="!")
    assert (tmp_path / "x.lines").read_bytes() == b"#lines\none!\ntwo!\n"
    assert values(SFrame.read(tmp_path / "x.lines", prefix="> ")) == {"line": ["> one!", "> two!"]}
    os.rename(tmp_path / "x.lines", tmp_path / "nameless")
    assert values(SFrame.read(tmp_path / "nameless")) == {"line": ["one!", "two!"]}
    assert values(SFrame.read(tmp_path / "nameless", format="csv", header=False)) == {"X1": ["#lines", "one!", "two!"]}


@pytest.mark.usefixtures("lines")
def test_what_a_plugin_refuses_is_refused_before_work(tmp_path: Path) -> None:
    calls: list[int] = []
    frame = SFrame({"n": [1, 2]})
    frame["m"] = frame["n"].apply(lambda n: calls.append(n) or n, dtype=int)
    before = len(calls)
    with pytest.raises(InvalidArgumentError, match="one column of texts"):
        frame.write(tmp_path / "x.lines")
    with pytest.raises(InvalidArgumentError, match="files of the kind text_lines have no option 'sufix': they have suffix"):
        SFrame({"text": ["a"]}).write(tmp_path / "x.lines", sufix="!")
    with pytest.raises(InvalidArgumentError, match=r"files of the kind text_lines cannot be compressed: omit '.gz' from the name"):
        SFrame({"text": ["a"]}).write(tmp_path / "x.lines.gz")
    with pytest.raises(InvalidArgumentError, match="have no option 'prefx': they have prefix"):
        (tmp_path / "y.lines").write_bytes(b"#lines\n")
        SFrame.read(tmp_path / "y.lines", prefx="")
    assert len(calls) == before and os.listdir(tmp_path) == ["y.lines"]


def test_a_writer_that_fails_leaves_nothing(tmp_path: Path) -> None:
    @register_writer
    class Failing(LineWriter):
        """Fails at the second row."""

        name: ClassVar[str] = "failing"
        suffixes: ClassVar[tuple[str, ...]] = (".failing",)

        def write(self, rows: pa.Table) -> None:
            raise ZeroDivisionError("no more")

    (tmp_path / "x.failing").write_text("before")
    for parts in (False, True):
        with pytest.raises(UserFunctionError, match="the writer failing failed with ZeroDivisionError: no more"):
            SFrame({"text": ["a"]}).write(tmp_path / ("y" if parts else "x.failing"), format="failing", parts=parts)
    assert os.listdir(tmp_path) == ["x.failing"] and (tmp_path / "x.failing").read_text() == "before"


def test_names_suffixes_and_first_bytes_are_taken_once() -> None:
    register_source(Lines)
    register_source(Lines)

    def changed(**attributes: Any) -> type[FileSource]:
        return type("Other", (Lines,), attributes)

    cases: list[tuple[dict[str, Any], str]] = [
        ({}, "the name 'text_lines' is taken by the source .*Lines: choose another name"),
        ({"name": "other"}, "the suffix '.lines' of the source 'other' is taken by the source 'text_lines'"),
        ({"name": "other", "suffixes": (".o",)}, "files of 'other' begin with the same bytes as those of 'text_lines'"),
        ({"name": "other", "suffixes": (".CSV",)}, "the suffix '.csv' of the source 'other' is taken by this package itself"),
        ({"name": "other", "suffixes": ".o"}, "a tuple of texts that begin with a dot, not '.o'"),
        ({"name": "other", "suffixes": ("o",)}, "a tuple of texts that begin with a dot"),
        ({"name": "an other"}, "needs a class attribute 'name', an identifier, not 'an other'"),
        ({"name": "arrow"}, "the name 'arrow' is taken"),
    ]
    for attributes, message in cases:
        with pytest.raises(PlanInvariantError, match=message):
            register_source(changed(**attributes))
    with pytest.raises(PlanInvariantError, match="a source is a subclass of FileSource"):
        register_source(LineWriter)  # type: ignore[type-var]
    assert [kind.name for kind in SOURCES.kinds()].count("text_lines") == 1 and all(kind.name != "other" for kind in SOURCES.kinds())


TAKING = """
from sframe_spark.plugin import FileSource, FileWriter, register_source, register_writer

for base, register in ((FileSource, register_source), (FileWriter, register_writer)):
    for name, suffix in (("arrow", ".a"), ("mine", ".arrow"), ("arrow_stream", ".b")):
        try:
            register(type("Mine", (base,), {"name": name, "suffixes": (suffix,)}))
        except Exception as error:
            print(type(error).__name__)
"""


def test_a_process_that_has_read_no_file_yet_knows_the_built_in_kinds() -> None:
    """Members of SFrame are imported when they are first used; a package that took '.arrow' before broke all that read and write."""
    done = run_program(TAKING)
    assert done.stdout.split() == ["PlanInvariantError"] * 6, done.stderr


@pytest.mark.usefixtures("lines")
def test_a_plan_says_which_sources_of_plugins_it_uses(tmp_path: Path) -> None:
    """Executors that have another version of the package are refused."""
    (tmp_path / "x.lines").write_bytes(b"#lines\none\n")
    SFrame(ROWS).write(tmp_path / "x.arrow")
    used = [
        {use for node in postorder([node_of(SFrame.read(tmp_path / name))]) for use in plugin_uses(node.operator)} for name in ("x.lines", "x.arrow")
    ]
    assert used == [{("source", "text_lines")}, set()]


def test_a_registration_is_taken_back(tmp_path: Path) -> None:
    register_source(Lines)
    register_writer(LineWriter)
    assert {(made.kind, made.name) for made in registrations()} >= {("source", "text_lines"), ("writer", "text_lines")}
    take_back(made for made in registrations() if made.name == "text_lines")
    assert SOURCES.by_suffix("x.lines") is None and WRITERS.by_suffix("x.lines") is None
    with pytest.raises(InvalidArgumentError, match="no kind of files has the suffix"):
        SFrame({"text": ["a"]}).write(tmp_path / "x.lines")


# Elsewhere.


@pytest.mark.usefixtures("lines")
def test_files_in_memory() -> None:
    fsspec.filesystem("memory").pipe_file("/kinds/x.lines", b"#lines\none\n")
    assert values(SFrame.read("memory://kinds/x.lines")) == {"line": ["one"]}
    SFrame(ROWS).write("memory://kinds/x.arrow")
    assert values(SFrame.read("memory://kinds/x.arrow")) == ROWS
    SFrame({"text": ["a"]}).write("memory://kinds/parts", format="text_lines", parts=True)
    assert values(SFrame.read("memory://kinds/parts", format="text_lines")) == {"line": ["a"]}


@pytest.mark.usefixtures("lines")
def test_files_on_an_object_store_are_read_where_they_are() -> None:
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    options = {"key": "k", "secret": "s", "endpoint_url": f"http://localhost:{server.get_host_and_port()[1]}"}
    try:
        with config.using(storage_options={"s3://": options}):
            fsspec.filesystem("s3", **options).mkdir("kinds")
            for name, frame in (("x.arrow", SFrame(ROWS)), ("x.arrows", SFrame(ROWS)), ("x.lines", SFrame({"line": ["one", "two"]}))):
                frame.write(f"s3://kinds/{name}")
                read = SFrame.read(f"s3://kinds/{name}")
                assert f"s3://kinds/{name}" in str(read.explain()) and values(read) == values(frame)
            read = SFrame.read("s3://kinds/x.lines")
            SFrame({"line": ["three"]}).write("s3://kinds/x.lines")
            with pytest.raises(StorageError, match=r"x\.lines was changed"):
                list(read["line"])
    finally:
        server.stop()


@pytest.mark.usefixtures("lines")
def test_what_a_source_may_ask_of_its_file(tmp_path: Path) -> None:
    (tmp_path / "x.bytes").write_bytes(b"#linesABCDEF")

    @register_source
    class Bytes(Lines):
        """Opens its file in each way."""

        name: ClassVar[str] = "bytes"
        suffixes: ClassVar[tuple[str, ...]] = (".bytes",)
        beginning: ClassVar[bytes] = b""

        def __init__(self, file: SourceFile) -> None:
            super().__init__(file)

        def read(self, start: int, stop: int, columns: Sequence[str], predicate: Predicate | None) -> Iterator[pa.Table]:
            with self.file.local() as path, open(path, "rb") as stream:
                yield pa.table({"line": [stream.read()[6:8].decode()]})
            with self.file.open() as opened:
                opened.seek(-2, os.SEEK_END)
                yield pa.table({"line": [opened.read().decode(), f"{opened.tell()} of {self.file.size}"]})
            yield pa.table({"line": [self.file.read(8, 10).decode()]})

    assert values(SFrame.read(tmp_path / "x.bytes")) == {"line": ["AB", "EF", "12 of 12", "CD"]}
    fsspec.filesystem("memory").pipe_file("/kinds/x.bytes", b"#linesABCDEF")
    assert values(SFrame.read("memory://kinds/x.bytes")) == {"line": ["AB", "EF", "12 of 12", "CD"]}
    source = Bytes(SourceFile(str(tmp_path / "x.bytes"), state_of_file(tmp_path / "x.bytes"), "x.bytes"))
    with pytest.raises(StorageError, match=r"x\.bytes ends too soon: there are no bytes 10 to 20 in its 12"):
        source.file.read(10, 20)


def state_of_file(path: Path) -> Any:
    """The state of a file."""
    from sframe_spark.storage.filesystem.local_files import unchanged

    return unchanged(str(path), None)
