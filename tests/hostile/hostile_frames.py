"""Saved frames that lie, point elsewhere, or hold what no frame holds. Each function changes a good frame in a directory."""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from sframe_spark import SFrame, load_sframe
from sframe_spark.storage.manifest.manifest_json import sealed
from tests.hostile.canary import Canary

Change = Callable[[dict[str, Any]], Any]


def good_frame(directory: Path) -> Path:
    """A small frame with columns of each kind."""
    frame = directory / "frame"
    SFrame({"a": [3, 1, 2], "b": ["x", None, "z"], "c": [[1, "a"], None, []]}).save(str(frame))
    return frame


def look(frame: Path) -> None:
    """Load and read all rows, as a user does."""
    loaded = load_sframe(str(frame))
    len(loaded), list(loaded.head(3)), loaded["a"].max(), list(loaded[loaded["a"] > 1])


def with_manifest(change: Change) -> Callable[[Path], None]:
    """A frame whose manifest is changed, with a check sum that fits."""

    def run(directory: Path) -> None:
        frame = good_frame(directory)
        content = json.loads((frame / "_manifest.json").read_text())["content"]
        change(content)
        (frame / "_manifest.json").write_text(sealed(content))
        look(frame)

    return run


def with_text(text: str | bytes) -> Callable[[Path], None]:
    """A frame with another text for a manifest."""

    def run(directory: Path) -> None:
        frame = good_frame(directory)
        (frame / "_manifest.json").write_bytes(text.encode() if isinstance(text, str) else text)
        look(frame)

    return run


def with_file(make: Callable[[Path, Path], Any], name: str = "segment") -> Callable[[Path], None]:
    """A frame of which a file is replaced by something else."""

    def run(directory: Path) -> None:
        frame = good_frame(directory)
        file = frame / "_manifest.json" if name == "manifest" else next(frame.glob("segment-*"))
        content = file.read_bytes()
        file.unlink()
        kept = directory / "elsewhere"
        kept.write_bytes(content)
        make(file, kept)
        look(frame)

    return run


def with_cell(text: str) -> Callable[[Path], None]:
    """A frame whose segment holds a text that is no value, with all sizes and check sums left out."""

    def run(directory: Path) -> None:
        frame = good_frame(directory)
        file = next(frame.glob("segment-*"))
        table = pq.read_table(file)
        place = table.column_names.index("c2")
        cells = pa.array([text, None, text], table.column(place).type)
        pq.write_table(table.set_column(place, table.field(place), cells), file)
        content = json.loads((frame / "_manifest.json").read_text())["content"]
        content["segments"][0].update(size=file.stat().st_size, checksum=None, tail=None, pages=None)
        (frame / "_manifest.json").write_text(sealed(content))
        list(load_sframe(str(frame))["c"])

    return run


def segment(**fields: Any) -> Change:
    """Other fields of the first segment."""
    return lambda content: content["segments"][0].update(fields)


def outside(directory: Path) -> None:
    """A segment of another frame, by a name that leads out of the directory."""
    other = good_frame(directory / "other")
    with_manifest(segment(file=f"../other/frame/{next(other.glob('segment-*')).name}"))(directory)


def absolute(directory: Path) -> None:
    """A segment of another frame, by its whole path."""
    other = good_frame(directory / "other")
    with_manifest(segment(file=str(next(other.glob("segment-*")))))(directory)


def linked_directory(directory: Path) -> None:
    """A directory inside the frame that is a link out of it."""
    other = good_frame(directory / "other")
    frame = good_frame(directory)
    (frame / "part").symlink_to(other)
    content = json.loads((frame / "_manifest.json").read_text())["content"]
    content["segments"][0]["file"] = f"part/{next(other.glob('segment-*')).name}"
    (frame / "_manifest.json").write_text(sealed(content))
    look(frame)


REFUSED: dict[str, Callable[[Path], None]] = {
    "a segment outside": outside,
    "a segment by its whole path": absolute,
    "a directory that is a link": linked_directory,
    "a password file": with_manifest(segment(file="../../../../../../etc/passwd")),
    "no name": with_manifest(segment(file="")),
    "the directory itself": with_manifest(segment(file=".")),
    "a name with NUL": with_manifest(segment(file="a\x00b")),
    "a name of another kind": with_manifest(segment(file={"a": 1})),
    "a segment that is a link": with_file(lambda file, kept: file.symlink_to(kept)),
    "a segment that is a link to a device": with_file(lambda file, kept: file.symlink_to("/dev/zero")),
    "a segment that is a named pipe": with_file(lambda file, kept: os.mkfifo(file)),
    "a segment that is a directory": with_file(lambda file, kept: file.mkdir()),
    "a segment of nothing": with_file(lambda file, kept: file.write_bytes(b"")),
    "a segment that is a pickle": with_file(lambda file, kept: file.write_bytes(pickle.dumps(Canary(kept.parent / "canary")))),
    "a segment that is cut": with_file(lambda file, kept: file.write_bytes(kept.read_bytes()[:-9])),
    "a segment of zeros": with_file(lambda file, kept: file.write_bytes(bytes(len(kept.read_bytes())))),
    "a manifest that is a named pipe": with_file(lambda file, kept: os.mkfifo(file), "manifest"),
    "a manifest that is a link": with_file(lambda file, kept: file.symlink_to(kept), "manifest"),
    "a manifest that is a device": with_file(lambda file, kept: file.symlink_to("/dev/zero"), "manifest"),
    "a manifest that is a pickle": with_file(lambda file, kept: file.write_bytes(pickle.dumps(Canary(kept.parent / "canary"))), "manifest"),
    "a manifest of brackets": with_text("[" * 200_000),
    "a manifest of objects": with_text('{"a":' * 100_000),
    "an empty manifest": with_text(""),
    "null": with_text("null"),
    "not UTF-8": with_text(b"\xff\xfe\x00"),
    "NaN": with_text('{"format": "sframe_spark", "version": NaN}'),
    "a version without end": with_text('{"format": "sframe_spark", "version": ' + "9" * 10_000 + "}"),
    "rows without end": with_manifest(segment(rows=10**30)),
    "rows beyond 64 bits in all": with_manifest(lambda content: content.update(segments=content["segments"] * 2, rows=6)),
    "less than no rows": with_manifest(segment(rows=-3)),
    "rows that are a text": with_manifest(segment(rows="3")),
    "a number without end": with_manifest(segment(number=2**70)),
    "a size without end": with_manifest(segment(size=2**70)),
    "a position before the first": with_manifest(segment(first_position=-5)),
    "an order over no column": with_manifest(lambda content: content.update(order={"orderings": [[[99, True]]], "keys": []})),
    "one name twice": with_manifest(lambda content: content.update(names=["a", "a", "c"])),
    "names that are no texts": with_manifest(lambda content: content.update(names=[1, None, []])),
    "one name for three columns": with_manifest(lambda content: content.update(names="abc"[:1])),
    "a type that is code": with_manifest(lambda content: content["types"].__setitem__(0, {"kind": "__import__", "physical": "int64"})),
    "a type of nothing": with_manifest(lambda content: content["types"].__setitem__(0, None)),
    "a kind of its own": with_manifest(lambda content: content.update(kind="../sframe")),
    "a cell of brackets": with_cell("[" * 100_000 + "]" * 100_000),
    "a cell with a date-time beyond all": with_cell('[{"$datetime":1000000000000000000000000000000,"offset":null}]'),
    "a cell with an offset beyond all": with_cell('[{"$datetime":0,"offset":99999999}]'),
    "a cell with an array of letters": with_cell('[{"$array":"abc"}]'),
    "a cell with a dict of dicts as keys": with_cell('[{"$dict":[[{"$dict":[]},1]]}]'),
    "a cell with a form of its own": with_cell('[{"$import":"os"}]'),
    "a cell with an int of 5000 digits": with_cell("[" + "9" * 5000 + "]"),
    "a cell that is no JSON": with_cell("__import__('os')"),
}
