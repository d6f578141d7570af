"""Index files of archives: their dialect of INI, their JSON, names of columns and of other files."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from sframe_spark import SArray, SFrame, load_sarray, load_sframe
from sframe_spark.errors import InvalidArgumentError, NotOneColumnError, SchemaError, StorageError
from sframe_spark.turicreate.archive import named
from sframe_spark.turicreate.archive_files import parse_ini, sequence
from sframe_spark.turicreate.string_and_object_decoding import INTEGER, MISSING, REAL, TEXT
from tests.random_tables import MadeColumn, made_block, made_column, write_archive

Edit = Callable[[str, str, str], None]


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """A frame of two columns and five rows in two segments."""
    rows = [[2, 1], [2]]
    write_archive(str(tmp_path / "old"), {"a": made_column(INTEGER, [1, 2, None, 4, 5], rows), "b": made_column(TEXT, list("vwxyz"), rows)})
    return tmp_path / "old"


@pytest.fixture
def edit(archive: Path) -> Edit:
    """Put a text in place of another in a file of the archive."""

    def replace(file: str, old: str, new: str) -> None:
        content = (archive / file).read_text(encoding="utf-8")
        assert old in content
        (archive / file).write_text(content.replace(old, new), encoding="utf-8", newline="")

    return replace


def test_the_dialect_of_ini() -> None:
    text = b"\xef\n" if False else b" [ a ] rest\n;x\n #y\nk = v=w \nK=\r\n\x0bkey\t=\n[b]\n[c]\nk=1"
    assert parse_ini(text, "x") == {b"a": {b"k": b" v=w ", b"K": b"\r", b"key": b""}, b"c": {b"k": b"1"}}
    # Neither a carriage return nor other ends of lines end one.
    assert parse_ini("[a]\nk=a\rb\u2028c\u0085d".encode(), "x") == {b"a": {b"k": "a\rb\u2028c\u0085d".encode()}}


@pytest.mark.parametrize("text", [b"k=v", b"[a]\nk", b"[a]\n=v", b"[a]\nk=1\nk=2", b"[a]\nk=1\n[a]\nj=2", b"[a"])
def test_lines_that_are_none_of_it_are_refused(text: bytes) -> None:
    with pytest.raises(StorageError, match=r"x\.ini is damaged: line \d+"):
        parse_ini(text, "x.ini")


def test_entries_are_numbered_whatever_the_order_of_lines() -> None:
    assert sequence({b"0002": b"c", b"000000": b"a", b"0001": b"b"}, "x", "names") == [b"a", b"b", b"c"]
    for wrong in ({b"0001": b""}, {b"0000": b"", b"00000": b""}, {b"-1": b""}, {b"x": b""}, {b"": b""}, {b"0" * 30: b""}):
        with pytest.raises(StorageError):
            sequence(wrong, "x", "names")


def test_names_are_those_of_the_reference_where_they_differ() -> None:
    assert named([b" lead", b"trail\t", b"a=b", "é".encode(), b""], bytes.decode, "x") == ["lead", "trail", "a=b", "é", ""]
    assert named([b"a", b"a ", b" a"], bytes.decode, "x") == ["a", "a ", " a"]
    assert named([b"a", b"a", b"a.1"], bytes.decode, "x") == ["a", "a.1", "a.1.1"]
    with pytest.raises(StorageError, match=r"b'caf\\xe9', which is not UTF-8: encoding_errors='latin-1'"):
        named([b"caf\xe9"], bytes.decode, "x")
    assert named([b"caf\xe9", b"caf\xe8"], lambda name: name.decode(errors="replace"), "x") == ["caf\ufffd", "caf\ufffd.1"]


def test_all_ways_to_an_archive(archive: Path) -> None:
    rows = [{"a": number, "b": letter} for number, letter in zip([1, 2, None, 4, 5], "vwxyz", strict=True)]
    for frame in (load_sframe(str(archive)), SFrame(str(archive)), SFrame(str(archive / "m_1.frame_idx")), load_sframe(f"file://{archive}/")):
        assert (list(frame), len(frame), frame.column_names()) == (rows, 5, ["a", "b"])
    # Of an index of arrays it is the first column.
    for column in (SArray(str(archive / "m_1.sidx")), load_sarray(str(archive / "m_1.sidx"))):
        assert (list(column), column.dtype) == ([1, 2, None, 4, 5], int)
    assert load_sframe(str(archive / "m_1.sidx")).column_names() == ["X1"]
    with pytest.raises(NotOneColumnError):
        load_sarray(str(archive))
    with pytest.raises(StorageError, match=r"no file|no directory|not a saved frame"):
        load_sframe(str(archive / "m_2.frame_idx"))


def test_a_link_to_an_archive_is_followed(archive: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(archive)
    assert len(load_sframe(str(tmp_path / "link"))) == 5
    os.chdir(tmp_path)
    assert len(load_sframe("old")) == 5


def test_sections_of_segments_may_be_lists_and_numbers(archive: Path) -> None:
    index = json.loads((archive / "m_1.sidx").read_text())
    index["segment_files"] = list(index["segment_files"].values())
    for column in index["columns"]:
        column["segment_sizes"] = [3, "2"]
        column["metadata"]["__type__"] = int(column["metadata"]["__type__"])
    index["sarray"]["num_segments"] = "2"
    (archive / "m_1.sidx").write_text(json.dumps(index).replace("/", "\\/"))
    assert list(load_sframe(str(archive))["b"]) == list("vwxyz")


def test_a_column_may_be_said_to_be_elsewhere_in_its_file(archive: Path, edit: Edit) -> None:
    edit("m_1.frame_idx", "0000=m_1.sidx:0", "0000=m_1.sidx")
    assert list(load_sframe(str(archive))["a"]) == [1, 2, None, 4, 5]
    edit("m_1.frame_idx", "0001=m_1.sidx:1", "0001=m_1.sidx:0")
    assert list(load_sframe(str(archive))["b"]) == [1, 2, None, 4, 5]
    edit("m_1.frame_idx", "0001=m_1.sidx:0", "0001=m_1.sidx:2")
    with pytest.raises(StorageError, match="it has 2 columns, and number 2 is asked for"):
        load_sframe(str(archive))


def test_segments_may_name_a_column_of_their_file(archive: Path, edit: Edit) -> None:
    edit("m_1.sidx", '"m_1.0000"', '"m_1.0000:1"')
    edit("m_1.sidx", '"m_1.0001"', '"m_1.0001:1"')
    assert list(load_sframe(str(archive))["b"]) == list("vwxyz")
    with pytest.raises(StorageError, match="holds values of type str, and its column is of type int"):
        list(load_sframe(str(archive))["a"])
    edit("m_1.sidx", '"m_1.0000:1"', '"m_1.0000:7"')
    with pytest.raises(StorageError, match="it has 2 columns, and column 'a' is number 7"):
        list(load_sframe(str(archive))["a"])


def test_the_type_of_a_column_that_no_index_tells_is_that_of_its_first_values(tmp_path: Path) -> None:
    blocks = [[made_block(REAL, [None, None]), made_block(REAL, [1.5])], [made_block(INTEGER, [2])]]
    write_archive(str(tmp_path / "old"), {"a": MadeColumn(MISSING, blocks), "b": MadeColumn(MISSING, [[made_block(TEXT, [None] * 3)], []])})
    index = json.loads((tmp_path / "old" / "m_1.sidx").read_text())
    del index["columns"][0]["metadata"]
    index["columns"][1]["segment_sizes"]["0001"] = 1
    (tmp_path / "old" / "m_1.sidx").write_text(json.dumps(index))
    assert list(SArray(str(tmp_path / "old" / "m_1.sidx"))) == [None, None, 1.5, 2.0]


WRONG = [
    ("dir_archive.ini", "version=1", "version=2", "unknown version"),
    ("dir_archive.ini", "contents=sframe", "contents=model", "archive of 'model'.*models are not read"),
    ("dir_archive.ini", "contents=sframe", "contents=graph", "archive of 'graph'.*save its vertices and edges"),
    ("dir_archive.ini", "contents=sframe", "contents=\x1b[2J", r"archive of '.{1,3}x1b"),
    ("dir_archive.ini", "contents=sframe", "", "archive of ''"),
    ("dir_archive.ini", "num_prefixes=3", "num_prefixes=4", "names 3 prefixes"),
    ("dir_archive.ini", "0002=m_1", "0002=m_2", r"m_2\.frame_idx is missing"),
    ("dir_archive.ini", "0002=m_1", "0002=../m_1", "outside the archive"),
    ("dir_archive.ini", "0002=m_1", "0002=/tmp/m_1", "outside the archive"),
    ("m_1.frame_idx", "num_columns=2", "num_columns=3", "it says that there are 3 columns"),
    ("m_1.frame_idx", "nrows=5", "nrows=6", "it says that there are 6 rows, and a column has 5"),
    ("m_1.frame_idx", "nrows=5", "nrows=-5", "nrows is no number"),
    ("m_1.frame_idx", "nrows=5", "nrows=" + "9" * 5000, "nrows is no number"),
    ("m_1.frame_idx", "0001=b", "0002=b", "not numbered one by one"),
    ("m_1.frame_idx", "m_1.sidx:0", "a/../../x.sidx:0", "outside the archive"),
    ("m_1.frame_idx", "m_1.sidx:0", "s3://bucket/m_1.sidx:0", "not on a disk of this machine"),
    ("m_1.frame_idx", "m_1.sidx:0", "dir_archive.ini:0", "version 0 or 1"),
    ("m_1.sidx", '"version": 2', '"version": 1', "older version of Turi Create"),
    ("m_1.sidx", '"version": 2', '"version": 2.0', "version is no number"),
    ("m_1.sidx", '"version": 2', '"version": true', "version is no number"),
    ("m_1.sidx", '"num_segments": 2', '"num_segments": 3', "has 2 entries for 3 segments"),
    ("m_1.sidx", '"num_segments": 2', '"num_segments": 1000000000', "has 2 entries for 1000000000 segments"),
    ("m_1.sidx", '"0000": "3"', '"0000": "-3"', "segment_sizes is no number"),
    ("m_1.sidx", '"0000": "3"', '"0000": "4"', "a column has 6"),
    ("m_1.sidx", '"__type__": "0"', '"__type__": "10"', "column 0 is of the unknown type 10"),
    ("m_1.sidx", '"columns"', '"rows"', "columns no list"),
    ("m_1.sidx", '"m_1.0000"', "5", "segment_files are no names"),
    ("m_1.sidx", '"m_1.0000"', '""', "a file without a name"),
    ("m_1.sidx", '"m_1.0000"', '"m_1\\u0000.0000"', "a file without a name"),
    ("m_1.sidx", '"m_1.0000"', '"\\ud800"', "a file without a name"),
    ("m_1.sidx", '"m_1.0000"', '"' + "x" * 300 + '"', "the name is longer than|is missing"),
    ("m_1.sidx", '"m_1.0000"', '"m_9.0000"', r"m_9\.0000 is missing"),
    ("m_1.sidx", '"m_1.0000"', '"."', "no regular file|outside the archive"),
    ("m_1.sidx", '"sarray"', '"columns"', "a key is there twice"),
    ("m_1.sidx", "{", "{" * 3, "it is no JSON"),
]


@pytest.mark.parametrize(("file", "old", "new", "message"), WRONG)
def test_what_an_index_gets_wrong_is_told(archive: Path, edit: Edit, file: str, old: str, new: str, message: str) -> None:
    edit(file, old, new)
    with pytest.raises(StorageError, match=message) as caught:
        load_sframe(str(archive))
    assert str(archive) in str(caught.value)
    assert "\x1b" not in str(caught.value)


def test_a_saved_frame_is_one_whatever_else_is_in_its_directory(archive: Path, tmp_path: Path) -> None:
    SFrame({"x": [1]}).save(str(tmp_path / "new"))
    shutil.copy(archive / "dir_archive.ini", tmp_path / "new")
    assert list(load_sframe(str(tmp_path / "new"))) == [{"x": 1}]


def test_json_that_is_nested_deep_is_refused(archive: Path) -> None:
    (archive / "m_1.sidx").write_text('{"columns":' + "[" * 200_000)
    with pytest.raises(StorageError, match="it is no JSON"):
        load_sframe(str(archive))


def test_wrong_arguments_are_told(archive: Path) -> None:
    with pytest.raises(InvalidArgumentError, match=r"encoding_errors must be one of 'strict', .*'latin-1', got 'latin'"):
        load_sframe(str(archive), encoding_errors="latin")
    with pytest.raises(SchemaError, match="references must be a list of directories, got '/tmp'"):
        load_sframe(str(archive), references="/tmp")
    with pytest.raises(InvalidArgumentError, match="the path is empty"):
        load_sframe(str(archive), references=[""])
    with pytest.raises(StorageError, match="not on a local"):
        load_sframe(str(archive), references=["s3://bucket"])


def test_an_archive_without_columns(tmp_path: Path) -> None:
    write_archive(str(tmp_path / "old"), {})
    frame = load_sframe(str(tmp_path / "old"))
    assert (len(frame), frame.column_names(), list(frame)) == (0, [], [])
