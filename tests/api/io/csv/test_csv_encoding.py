"""CSV in other encodings, and files that are something else."""

from __future__ import annotations

import codecs
import gzip
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given, strategies as st
from pyarrow import orc

from sframe_spark import SFrame
from sframe_spark.api.io import text_encoding as csv_encoding
from sframe_spark.api.io.csv import block_reader as csv_lines
from sframe_spark.errors import InvalidArgumentError, SchemaError, StorageError

TEXT = 'name,note\nÅsa,"två\nrader"\nJosé,ok\n'
ROWS = [{"name": "Åsa", "note": "två\nrader"}, {"name": "José", "note": "ok"}]
ENCODINGS = ("utf-8", "UTF8", "utf-8-sig", "latin-1", "iso-8859-15", "cp1252", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "mac_roman", "cp037")


def write(path: Path, data: bytes) -> str:
    path.write_bytes(data)
    return str(path)


@pytest.mark.parametrize("block", [1 << 20, 7])
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_every_encoding_gives_the_same_rows(encoding: str, block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_lines, "BLOCK_BYTES", block)
    path = write(tmp_path / "x.csv", TEXT.encode(encoding))
    assert list(SFrame.read_csv(path, encoding=encoding)) == ROWS
    packed = write(tmp_path / "x.csv.gz", gzip.compress(TEXT.encode(encoding)))
    assert list(SFrame.read_csv(packed, encoding=encoding)) == ROWS


@given(text=st.text(st.characters(blacklist_categories=("Cs",), blacklist_characters='\r\n",\0'), min_size=1, max_size=30), block=st.integers(1, 9))
def test_a_transcoded_stream_is_the_text(text: str, block: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = write(tmp_path_factory.getbasetemp() / "any.txt", text.encode("utf-16"))
    found = b""
    with csv_encoding.open_utf8(path, "utf-16") as stream:
        while data := stream.read(block):
            found += data
    assert found.decode() == text


@pytest.mark.parametrize(
    ("data", "encoding", "words"),
    [
        (b"a,b\n1,2\n3,x\xff\n", "utf-8", r"line 3, column 4: the byte 0xff is not text in UTF-8; give its encoding"),
        (b"a,b\r\n1,2\r3,\xc3\xa9\xe9\n", "utf-8", r"line 3, column 4: the byte 0xe9 is not text in UTF-8"),
        (b"a\n\xe2\x82", "utf-8", r"line 2, column 1: the bytes 0xe2 0x82 are not text"),
        (b"\xff\xfea\x00\n\x00", "utf-8", r"it is text in UTF-16; read it with read_csv\(\.\.\., encoding='utf-16'\)"),
        (b"a\n\x81\n", "cp1252", r"line 2, column 1: the byte 0x81 is not text in cp1252"),
        ("a\nbc".encode("utf-16") + b"x", "utf-16", r"line 2, column 3: the byte 0x78 is not text in utf-16"),
        (b"a\n1\n" + "é\n".encode(), "ascii", r"line 3, column 1: the byte 0xc3 is not text in ascii"),
    ],
)
@pytest.mark.parametrize("block", [1 << 20, 5])
def test_a_wrong_byte_is_told_with_its_place(
    data: bytes, encoding: str, words: str, block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csv_lines, "BLOCK_BYTES", block)
    monkeypatch.setattr(csv_encoding, "BLOCK_BYTES", block)
    path = write(tmp_path / "x.csv", data)
    with pytest.raises(StorageError, match=rf"x\.csv.*{words}") as caught:
        SFrame.read_csv(path, encoding=encoding)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("name", ["klingon", "base64", "rot13", "zip", "", "utf-8\0"])
def test_encodings_that_are_none(name: str, tmp_path: Path) -> None:
    path = write(tmp_path / "x.csv", b"a\n1\n")
    with pytest.raises(InvalidArgumentError, match="is not a text encoding"):
        SFrame.read_csv(path, encoding=name)


def test_an_encoding_is_a_text(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="encoding must be a name such as"):
        SFrame.read_csv(write(tmp_path / "x.csv", b"a\n1\n"), encoding=7)


def test_halves_of_characters_are_no_text(tmp_path: Path) -> None:
    path = write(tmp_path / "x.csv", b"a\n\\ud83d\n")
    with pytest.raises(StorageError, match=r"line 1, column 1: what follows is not text in unicode-?_?escape"):
        SFrame.read_csv(path, encoding="unicode_escape")


def other_kinds(place: Path) -> dict[str, Path]:
    table = pa.table({"a": [1, 2]})
    pq.write_table(table, place / "parquet")
    orc.write_table(table, place / "orc")
    pyarrow.feather.write_feather(table, place / "arrow", compression="uncompressed")
    for name, member in (("zip", "a.csv"), ("xlsx", "xl/workbook.xml")):
        with zipfile.ZipFile(place / name, "w") as archive:
            archive.writestr(member, "x")
    (place / "gzip").write_bytes(gzip.compress(b"a\n1\n"))
    (place / "text").write_bytes(b"a,b\n1,2\n")
    (place / "utf16").write_bytes(codecs.BOM_UTF16_LE + "a\n1".encode("utf-16-le"))
    (place / "empty").write_bytes(b"")
    return {path.name: path for path in place.iterdir()}


WORDS = {
    "parquet": "a Parquet file; read it with read_parquet",
    "orc": "an ORC file; read it with read_orc",
    "arrow": r"an Arrow \(Feather\) file",
    "zip": "a ZIP archive; unpack it",
    "xlsx": "an Excel workbook; save it as CSV",
    "gzip": r"compressed with gzip; .*ends in \.gz",
    "utf16": "text in UTF-16",
    "text": "text; read it with read_csv",
    "empty": "it is empty",
}


@pytest.mark.parametrize("kind", WORDS)
def test_a_file_that_is_something_else_is_told_as_what_it_is(kind: str, tmp_path: Path) -> None:
    path = other_kinds(tmp_path)[kind]
    if kind != "parquet":
        with pytest.raises(StorageError, match=f"is not a readable Parquet file: .*{WORDS[kind]}") as caught:
            SFrame.read_parquet(path)
        assert "restore" not in str(caught.value)
    if kind not in ("text", "empty"):
        with pytest.raises(StorageError, match=f"is not text: .*{WORDS[kind]}"):
            SFrame.read_csv(path)


@pytest.mark.parametrize("start", ["PAR1", "ORC", "ARROW1", "BZh9", "%PDF-1"])
def test_text_may_start_like_another_kind(start: str, tmp_path: Path) -> None:
    assert SFrame.read_csv(write(tmp_path / "x.csv", f"{start},b\n1,2\n".encode())).column_names() == [start, "b"]


def test_a_damaged_parquet_file_is_still_told_as_damaged(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1, 2]}), tmp_path / "x.parquet")
    (tmp_path / "x.parquet").write_bytes((tmp_path / "x.parquet").read_bytes()[:-9])
    with pytest.raises(StorageError, match="restore it from a copy"):
        SFrame.read_parquet(tmp_path / "x.parquet")
