"""``load_sframe(path, verify=True)`` and ``python -m sframe_spark verify`` read every byte and tell every damage."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sframe_spark import SArray, SFrame, load_sframe
from sframe_spark.__main__ import main
from sframe_spark.cli.verify import run_verify
from sframe_spark.errors import InvalidArgumentError, StorageError
from sframe_spark.storage.datasets.manifest_publication import publish
from sframe_spark.storage.filesystem.format_recognition import MANIFEST_FILE
from sframe_spark.storage.filesystem.remote_operations import file_system, listed
from sframe_spark.storage.manifest.manifest_json import unsealed
from sframe_spark.storage.parquet.checksums import checksum_of
from sframe_spark.storage.segments.writer import write_segment
from sframe_spark.types import FLOAT
from tests.examples import part
from tests.interpreters import run_program
from tests.storage.damage import ROWS, save_in_segments
from tests.storage.datasets.conftest import Bucket


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A frame of three segments."""
    place = tmp_path_factory.mktemp("verify")
    save_in_segments(place)
    return place / "frame"


@pytest.fixture
def copy(saved: Path, tmp_path: Path) -> Path:
    """A copy of it that may be damaged."""
    return Path(shutil.copytree(saved, tmp_path / "copy"))


def segments(frame: Path) -> list[Path]:
    """Files of a frame in row order."""
    entries = unsealed((frame / MANIFEST_FILE).read_text(), str(frame))["segments"]
    return [frame / entry["file"] for entry in entries]


def flip(file: Path, at: int) -> None:
    content = bytearray(file.read_bytes())
    content[at] ^= 1
    file.write_bytes(content)


def made_older(frame: Path, keep: bool) -> None:
    """Make the manifest one of version 1, with check sums of its files or without."""
    content = unsealed((frame / MANIFEST_FILE).read_text(), str(frame))
    for entry in content["segments"]:
        del entry["tail"], entry["pages"]
        entry["checksum"] = checksum_of(str(frame / entry["file"])) if keep else None
    (frame / MANIFEST_FILE).write_text(json.dumps({"format": "sframe_spark", "version": 1, **content}))


def lines_of(*paths: Any) -> tuple[int, list[str]]:
    """Status and lines of the command, in this process."""
    lines: list[str] = []
    return run_verify([str(path) for path in paths], lines.append), lines


def test_what_is_whole_passes(saved: Path, tmp_path: Path) -> None:
    SFrame({"a": []}).save(str(tmp_path / "no rows"))
    SFrame().save(str(tmp_path / "nothing"))
    SArray(["x", None]).save(str(tmp_path / "column"))
    pq.write_table(pa.table({"x": [1, 2, 3]}), tmp_path / "foreign.parquet")
    SFrame(str(tmp_path / "foreign.parquet")).save(str(tmp_path / "from foreign"))
    status, lines = lines_of(saved, *(tmp_path / name for name in ("no rows", "nothing", "column", "from foreign")))
    size = sum(file.stat().st_size for file in segments(saved))
    assert status == 0 and len(lines) == 5
    assert lines[0] == f"{saved}: ok, {ROWS} rows, 3 files, {size:,} bytes"
    assert lines[1] == f"{tmp_path / 'no rows'}: ok, 0 rows, 0 files, 0 bytes"
    assert list(load_sframe(str(saved), verify=True)["number"]) == list(range(ROWS))
    assert list(SFrame(str(tmp_path / "from foreign"), verify=True)["x"]) == [1, 2, 3]
    assert list(SArray(str(tmp_path / "column"), verify=True)) == ["x", None]


@pytest.mark.parametrize("first", part(range(3), 3))
def test_every_byte_of_a_frame_counts(tmp_path: Path, first: int) -> None:
    frame = tmp_path / "frame"
    SFrame({"a": [3, None, 2], "b": ["x", "y", None]}).save(str(frame))
    missed, tries = [], 0
    for file in sorted(frame.iterdir()):
        content = file.read_bytes()
        for at in range(first, len(content), 3):
            flip(file, at)
            status, lines = lines_of(frame)
            tries += 1
            if status != 1 or len(lines) != 1 or str(frame) not in lines[0]:
                missed.append(f"byte {at} of {file.name}: {status} {lines}")
            file.write_bytes(content)
    assert missed == [] and tries > 333
    assert lines_of(frame)[0] == 0


def test_each_damaged_file_gets_a_line(copy: Path) -> None:
    first, second, third = segments(copy)
    flip(first, 100)
    third.unlink()
    status, lines = lines_of(copy)
    assert status == 1 and len(lines) == 2
    assert lines[0].startswith(f"{first} is damaged: ") and lines[1].startswith(f"{third} is missing")
    assert not any(str(second) in line for line in lines)
    with pytest.raises(StorageError, match=r"is damaged|is missing"):
        load_sframe(str(copy), verify=True)


def test_pages_without_check_sums_are_covered_by_one_of_the_whole_file(tmp_path: Path) -> None:
    entry = write_segment(str(tmp_path), 0, [FLOAT], [[pa.array([0.5, 1.5, 2.5])]])
    file = tmp_path / entry.file
    pq.write_table(pq.read_table(file), file, write_page_checksum=False, use_dictionary=False, compression="NONE")
    entry = attrs.evolve(entry, tail=None, pages=None, size=file.stat().st_size)
    (sealed,) = publish(str(tmp_path), [FLOAT], [entry], ["x"]).segments
    assert sealed.checksum == checksum_of(str(file))
    # Short files have one of all bytes besides.
    assert sealed.whole == zlib.crc32(file.read_bytes())
    assert lines_of(tmp_path)[0] == 0
    flip(file, file.read_bytes().index(b"\x00\x00\xf8\x3f"))
    assert lines_of(tmp_path)[0] == 1
    older = attrs.evolve(sealed, checksum=None, whole=None)
    publish(str(tmp_path), [FLOAT], [older], ["x"])
    assert "some of its pages have no check sums" in lines_of(tmp_path)[1][0]


def swapped(frame: Path) -> None:
    first, second, _ = segments(frame)
    content = first.read_bytes()
    first.write_bytes(second.read_bytes())
    second.write_bytes(content)


def linked(frame: Path) -> None:
    first = segments(frame)[0]
    shutil.move(first, frame.parent / "elsewhere")
    first.symlink_to(frame.parent / "elsewhere")


def piped(frame: Path) -> None:
    first = segments(frame)[0]
    first.unlink()
    os.mkfifo(first)


def no_manifest(frame: Path) -> None:
    (frame / MANIFEST_FILE).unlink()


def garbage(frame: Path) -> None:
    (frame / MANIFEST_FILE).write_bytes(b"\xff\x00" * 50)


@pytest.mark.parametrize("damage", [swapped, linked, piped, no_manifest, garbage])
def test_other_damage_is_told(copy: Path, damage: Callable[[Path], None]) -> None:
    damage(copy)
    status, lines = lines_of(copy)
    assert status == 1 and lines and all(str(copy) in line for line in lines)
    with pytest.raises(StorageError):
        load_sframe(str(copy), verify=True)


@pytest.mark.parametrize("keep", [True, False])
def test_what_has_no_check_sums_cannot_be_verified_until_it_is_saved_again(copy: Path, keep: bool, tmp_path: Path) -> None:
    made_older(copy, keep)
    status, lines = lines_of(copy)
    assert status == 1 and len(lines) == 1 and "cannot be verified" in lines[0] and "save it again" in lines[0]
    for door in (lambda: load_sframe(str(copy), verify=True), lambda: SFrame(str(copy), verify=True)):
        with pytest.raises(StorageError, match=r"cannot be verified: it was saved without check sums, .* save it again"):
            door()
    load_sframe(str(copy)).save(str(tmp_path / "again"))
    assert lines_of(tmp_path / "again")[0] == 0


@pytest.mark.parametrize("data", [{"a": [1]}, [1, 2], None, "rows.csv", "rows.parquet"])
def test_only_what_was_saved_can_be_verified(data: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="verify=True"):
        SFrame(data, verify=True)
    if not isinstance(data, str):
        with pytest.raises(InvalidArgumentError, match="verify=True"):
            SArray(data, verify=True)


def command(*arguments: object) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own, on a machine without Java and without a locale."""
    environment = {"PYTHONPATH": os.pathsep.join(sys.path), "PATH": "/nonexistent", "JAVA_HOME": "/nonexistent", "PYTHONIOENCODING": "ascii"}
    texts = [os.fspath(argument) if isinstance(argument, Path) else str(argument) for argument in arguments]
    run = [sys.executable, "-m", "sframe_spark", "verify", *texts]
    return subprocess.run(run, capture_output=True, text=True, check=False, env=environment, timeout=60)


def test_the_command(saved: Path, copy: Path, tmp_path: Path) -> None:
    for file in segments(copy)[1:]:
        flip(file, -1)
    named = Path(shutil.copytree(copy, tmp_path / "Größe\n\x1b[2J"))
    (tmp_path / "file").write_text("")
    damaged = command(saved, copy, named, tmp_path / "no such", tmp_path / "file", tmp_path, "s3://bucket/frame")
    assert (damaged.returncode, damaged.stderr) == (1, "")
    lines = damaged.stdout.splitlines()
    assert len(lines) == 1 + 2 + 2 + 4 and ": ok, " in lines[0] and "\x1b" not in damaged.stdout
    assert [str(file) in line for file, line in zip(segments(copy)[1:], lines[1:], strict=False)] == [True, True]


@pytest.mark.parametrize("arguments", [[], [""], ["--no-such"]])
def test_wrong_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["verify", *arguments])
    assert ended.value.code == 2 and "usage: python -m sframe_spark verify" in capsys.readouterr().err


def test_the_command_in_this_process(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(saved), str(saved.parent / "part1")]) == 0
    told = capsys.readouterr()
    assert told.out.startswith(f"{saved}: ok, ") and told.out.count(": ok, ") == 2 and told.err == ""


def test_frames_elsewhere(place: str, saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    frame = load_sframe(str(saved))
    frame.save(place)
    size = sum(file.size for file in listed(place + "/data", below=True))
    assert main(["verify", place]) == 0
    assert capsys.readouterr().out == f"{place}: ok, {ROWS:,} rows, 3 files, {size:,} bytes\n"
    second = listed(place + "/data", below=True)[1].uri
    files, path = file_system(second)
    content = bytearray(files.cat_file(path))
    content[len(content) // 2] ^= 1
    files.pipe_file(path, bytes(content))
    assert main(["verify", str(saved), place]) == 1
    first, *others = capsys.readouterr().out.splitlines()
    assert first.startswith(f"{saved}: ok") and len(others) == 1 and second in others[0]
    files.rm_file(path)
    assert main(["verify", place]) == 1
    told = capsys.readouterr().out
    assert told.startswith(f"cannot read {second}: it does not exist; somebody has deleted it: load the frame again") and told.count("\n") == 1


@pytest.mark.parametrize(
    ("uri", "words"),
    [
        ("memory://nothing/there", "there is no saved frame in memory://nothing/there"),
        ("s3://nothing-of-that-name/x", "there is no s3://nothing-of-that-name: create it"),
        ("https://host/x", "is read only"),
        ("s3://me:secret@bucket/x", "contains a password"),
        ("nosuch://x/y", "no file system 'nosuch'"),
    ],
)
def test_places_elsewhere_where_nothing_is(uri: str, words: str, bucket: Bucket, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", uri]) == 1
    (line,) = capsys.readouterr().out.splitlines()
    assert words in line and "secret@" not in line


def test_a_command_line_takes_what_the_libraries_find(bucket: Bucket) -> None:
    SFrame({"a": [1, 2]}).save(bucket.uri + "/frame")
    options = bucket.options
    given = {"AWS_ACCESS_KEY_ID": options["key"], "AWS_SECRET_ACCESS_KEY": options["secret"], "FSSPEC_S3_ENDPOINT_URL": options["endpoint_url"]}
    done = run_program("", "verify", bucket.uri + "/frame", module="sframe_spark", environment={**os.environ, **given})
    assert (done.returncode, done.stderr) == (0, "") and done.stdout.startswith(f"{bucket.uri}/frame: ok, 2 rows, 1 files,")
