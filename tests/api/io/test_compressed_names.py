"""Names that promise compression: what is written under them is compressed so and read again, or the call is refused before anything is written."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from sframe_spark import SArray, SFrame
from sframe_spark.errors import StorageError
from sframe_spark.storage import export_files


def _arrow(codec: str) -> tuple[Callable[[bytes], bytes], Callable[[bytes], bytes]]:
    def pack(content: bytes) -> bytes:
        sink = pa.BufferOutputStream()
        with pa.CompressedOutputStream(sink, codec) as stream:
            stream.write(content)
        return sink.getvalue().to_pybytes()

    return pack, lambda content: pa.CompressedInputStream(pa.BufferReader(content), codec).read()


PACKERS: dict[str, tuple[Callable[[bytes], bytes], Callable[[bytes], bytes]]] = {
    ".gz": (gzip.compress, gzip.decompress),
    ".bz2": (bz2.compress, bz2.decompress),
    ".xz": (lzma.compress, lzma.decompress),
    ".zst": _arrow("zstd"),
    ".lz4": _arrow("lz4"),
}
ENDINGS = {**{ending: ending for ending in PACKERS}, ".GZ": ".gz", ".gzip": ".gz", ".Bz2": ".bz2", ".zstd": ".zst"}
REFUSED = [".zip", ".ZIP", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".txz", ".7z", ".Z", ".br", ".snappy", ".lzma", ".lzo", ".gz.bz2", ".rar"]
FRAME = {"a": [1, 2, 3], "b": ["x", "y z", "w"]}
CSV, JSON, LINES = b"a,b\n1,x\n2,y z\n3,w\n", b'{"a":1,"b":"x"}\n{"a":2,"b":"y z"}\n{"a":3,"b":"w"}\n', b"1\n2\n3\n"
WRITERS: dict[str, tuple[Callable[[str], None], bytes | None, Callable[[str], Any]]] = {
    "export_csv": (lambda path: SFrame(FRAME).export_csv(path), CSV, SFrame.read_csv),
    "save_csv": (lambda path: SFrame(FRAME).save(path, format="csv"), CSV, SFrame.read_csv),
    "save by name": (lambda path: SFrame(FRAME).save(path), CSV, SFrame),
    "export_json": (lambda path: SFrame(FRAME).export_json(path), None, SFrame.read_json),
    "save_json": (lambda path: SFrame(FRAME).save(path, format="json"), None, SFrame.read_json),
    "lines": (lambda path: SFrame(FRAME).export_json(path, orient="lines"), JSON, lambda path: SFrame.read_json(path, orient="lines")),
    "column": (lambda path: SArray(FRAME["a"]).save(path, format="text"), LINES, lambda path: SFrame({"a": SArray(path, int), "b": FRAME["b"]})),
}


def _rows(frame: SFrame) -> list[Any]:
    return [list(frame[name]) for name in ("a", "b")]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("name", WRITERS)
def test_what_is_written_is_compressed_as_its_name_says(name: str, ending: str, tmp_path: Path) -> None:
    write, content, read = WRITERS[name]
    path = tmp_path / f"x.csv{ending}"
    write(str(path))
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    found = PACKERS[ENDINGS[ending]][1](path.read_bytes())
    assert found == content if content is not None else found.startswith(b"[\n{")
    assert _rows(read(str(path))) == [FRAME["a"], FRAME["b"]]


@pytest.mark.parametrize("ending", REFUSED)
@pytest.mark.parametrize("name", ["export_csv", "export_json", "save_json", "lines", "column"])
def test_what_is_not_written_is_refused_before_anything_is(name: str, ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"x.csv{ending}"
    path.write_bytes(b"old")
    with pytest.raises(StorageError, match=r"is not written|two compressions"):
        WRITERS[name][0](str(path))
    assert path.read_bytes() == b"old"
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("ending", [".zip", ".tar.gz", ".TGZ", ".br", ".7z"])
def test_save_makes_no_directory_of_a_name_that_promises_a_file(ending: str, tmp_path: Path) -> None:
    for data, inner in ((SFrame(FRAME), ".csv"), (SFrame(FRAME), ".json"), (SArray([1]), ".csv"), (SArray([1]), ".txt")):
        with pytest.raises(StorageError, match="is not written"):
            data.save(str(tmp_path / f"x{inner}{ending}"))
    assert list(tmp_path.iterdir()) == []
    SFrame(FRAME).save(str(tmp_path / f"x.csv{ending}"), format="binary")


@pytest.mark.parametrize("ending", [".gz", ".bz2", ".zst", ".lz4", ".zip", ".tar.gz"])
def test_saved_frames_and_directories_keep_any_name(ending: str, tmp_path: Path) -> None:
    frame, place = SFrame(FRAME), str(tmp_path / f"x{ending}")
    frame.save(place)
    assert _rows(SFrame(place)) == [FRAME["a"], FRAME["b"]]
    frame.write_parquet(place + "-p" + ending)
    assert _rows(SFrame.read_parquet(place + "-p" + ending)) == [FRAME["a"], FRAME["b"]]


@pytest.mark.parametrize("ending", PACKERS)
def test_many_parts_are_one_file_that_others_read(ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export_files, "COPY_BYTES", 10)
    path = tmp_path / f"x.json{ending}"
    SFrame({"a": range(1000)}).export_json(str(path))
    assert PACKERS[ending][1](path.read_bytes()).endswith(b',{"a":999}\n]\n')
    if ending in (".zst", ".lz4"):
        # One frame: pandas reads the first of several alone.
        assert path.read_bytes().count(PACKERS[ending][0](b"")[:4]) == 1


@pytest.mark.parametrize("ending", [".bz2", ".xz", ".zst", ".GZ"])
def test_elsewhere(ending: str) -> None:
    pytest.importorskip("fsspec")
    place = f"memory://names/x.csv{ending}"
    SFrame(FRAME).export_csv(place)
    assert _rows(SFrame.read_csv(place)) == [FRAME["a"], FRAME["b"]]
    with pytest.raises(StorageError, match="is not written"):
        SFrame(FRAME).export_csv("memory://names/x.csv.zip")


READERS: dict[str, tuple[bytes, Callable[[str], Any]]] = {
    "csv": (CSV, SFrame.read_csv),
    "frame": (CSV, SFrame),
    "latin-1": (CSV, lambda path: SFrame.read_csv(path, encoding="latin-1")),
    "column": (LINES, lambda path: len(SArray(path))),
    "json": (b'[{"a":1}]', SFrame.read_json),
    "lines": (JSON, lambda path: SFrame.read_json(path, orient="lines")),
    "json column": (b"[1]", lambda path: len(SArray.read_json(path))),
}


@pytest.mark.sampled(5)
@pytest.mark.parametrize("ending", PACKERS)
@pytest.mark.parametrize("name", READERS)
def test_damage_of_compressed_files_is_told(name: str, ending: str, tmp_path: Path) -> None:
    content, read = READERS[name]
    path = tmp_path / f"x.csv{ending}"
    pack = PACKERS[ending][0]
    packed = pack(content)
    for damaged in [b"", *(packed[:size] for size in range(1, len(packed), 7)), packed[:-1], packed + b"garbage", content, pack(content)[5:]]:
        path.write_bytes(damaged)
        with pytest.raises(StorageError, match=r"x\.csv"):
            read(str(path))
    # What is written twice is read as one, as by the programs that compress; nothing compressed is as nothing.
    path.write_bytes(pack(content[:4]) + pack(content[4:]))
    read(str(path))
    path.write_bytes(pack(b""))
    plain = tmp_path / "plain.csv"
    plain.write_bytes(b"")
    assert str(read(str(path))) == str(read(str(plain)))


@pytest.mark.parametrize("name", ["csv", "frame", "latin-1", "column", "json", "lines"])
def test_archives_are_told(name: str, tmp_path: Path) -> None:
    content, read = READERS[name]
    for packing in ("", "gz", "xz", "bz2"):
        for form in (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
            path = tmp_path / f"x.csv{'.' if packing else ''}{packing}"
            with tarfile.open(path, f"w:{packing}", format=form) as archive:  # type: ignore[call-overload]
                for member in ("one.csv", "two.csv"):
                    info = tarfile.TarInfo(member)
                    info.size = len(content)
                    archive.addfile(info, io.BytesIO(content))
            with pytest.raises((RuntimeError, OSError), match="a tar archive; unpack it"):
                read(str(path))
    with zipfile.ZipFile(tmp_path / "z.csv", "w") as other:
        other.writestr("one.csv", content)
    with pytest.raises((RuntimeError, OSError), match="ZIP archive"):
        read(str(tmp_path / "z.csv"))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "utf-32", "latin-1"])
def test_text_of_any_encoding_in_compressed_files(encoding: str, tmp_path: Path) -> None:
    for ending, (pack, _) in PACKERS.items():
        path = tmp_path / f"x.csv{ending}"
        path.write_bytes(pack("a,b\n1,\u00e9\n".encode(encoding)))
        assert list(SFrame.read_csv(str(path), encoding=encoding)) == [{"a": 1, "b": "\u00e9"}]


@pytest.mark.parametrize("name", ["x.csv", "x.csv.br", "x.csv.Z", "x.csv.snappy"])
def test_other_compressions_are_told_and_text_under_such_names_is_read(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    for start in (b"\x1f\x9d\x90\x61", b"\xff\x06\x00\x00sNaPpY\x01\x0e", b"\x5d\x00\x00\x80\x00\xff\xff\xff", b"LZIP\x01\x0c\x00"):
        path.write_bytes(start + b"\x00\x01\x02")
        for encoding in ("utf-8", "latin-1"):
            with pytest.raises((RuntimeError, OSError), match="compressed"):
                SFrame.read_csv(str(path), encoding=encoding)
    path.write_bytes(CSV)
    assert _rows(SFrame.read_csv(str(path))) == [FRAME["a"], FRAME["b"]]


@pytest.mark.parametrize("name", ["x.csv", "x.txt", "x.tsv"])
@pytest.mark.parametrize("ending", ENDINGS)
def test_frames_and_columns_of_compressed_text_files(name: str, ending: str, tmp_path: Path) -> None:
    path = tmp_path / (name + ending)
    path.write_bytes(PACKERS[ENDINGS[ending]][0](b"a\tb\n1\t2\n" if name == "x.tsv" else b"a,b\n1,2\n"))
    assert list(SFrame(str(path))) == [{"a": 1, "b": 2}]
    assert len(SArray(str(path))) == 2


@pytest.mark.spark
@pytest.mark.parametrize("ending", [".bz2", ".zst"])
def test_tasks_write_what_the_name_says(spark: Any, ending: str, tmp_path: Path) -> None:
    from sframe_spark import config

    with config.using(small_rows=0, single_task_rows=0):
        frame = SFrame({"a": range(1000)})
        frame["b"] = frame["a"] * 2
        for path, content in ((tmp_path / f"x.csv{ending}", b"a,b\n0,0\n"), (tmp_path / f"x.json{ending}", b'[\n{"a":0,"b":0}\n')):
            frame.export_csv(str(path)) if "csv" in path.name else frame.export_json(str(path))
            assert PACKERS[ending][1](path.read_bytes()).startswith(content)
