"""Every archive of `tests/data/legacy` is read exactly as Turi Create reads it, or refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sframe_spark import SArray, SFrame, load_sarray, load_sframe
from sframe_spark.errors import ArchiveTextError, StorageError
from sframe_spark.images import Image
from tests.turicreate.conftest import DATA
from tests.turicreate.expected import class_of, differs, expected_of

SAMPLES: list[dict[str, Any]] = json.loads((DATA / "index.json").read_text(encoding="utf-8"))
HOSTILE = [sample for sample in SAMPLES if sample["type"] == "hostile"]
READ = [sample for sample in SAMPLES if sample["type"] != "hostile" and sample["id"] not in ("str_not_utf8", "image_raw")]
FRAMES = [sample for sample in READ if sample["type"] == "SFrame"]
COLUMNS = [sample for sample in READ if sample["type"] == "SArray"]


def id_of(sample: dict[str, Any]) -> str:
    return str(sample["id"])


def references(archives: Path, sample: dict[str, Any]) -> list[Path]:
    return [(archives / sample["path"]).parent] if sample.get("external") else []


@pytest.mark.sampled(4)
@pytest.mark.parametrize("sample", FRAMES, ids=id_of)
def test_a_frame_is_read_exactly(archives: Path, sample: dict[str, Any]) -> None:
    expected = expected_of(archives, sample["expected"])["expect"]
    frame = load_sframe(str(archives / sample["path"]), references=references(archives, sample))
    assert frame.column_names() == expected["columns"]
    assert frame.column_types() == list(map(class_of, expected["types"]))
    assert len(frame) == sample["rows"] == len(expected["value"])
    rows = [[row[name] for name in frame.column_names()] for row in frame]
    assert differs(expected["value"], rows) is None


@pytest.mark.sampled(8)
@pytest.mark.parametrize("sample", COLUMNS, ids=id_of)
def test_a_column_is_read_exactly(archives: Path, sample: dict[str, Any]) -> None:
    expected = expected_of(archives, sample["expected"])["expect"]
    column = SArray(str(archives / sample["path"]))
    assert column.dtype is class_of(expected["dtype"])
    assert len(column) == sample["rows"] == len(expected["value"])
    assert differs(expected["value"], list(column)) is None


@pytest.mark.parametrize("sample", HOSTILE, ids=id_of)
def test_hostile_archives_are_refused_and_named(archives: Path, sample: dict[str, Any]) -> None:
    with pytest.raises(StorageError, match=sample["path"]):
        list(load_sarray(str(archives / sample["path"])))
    with pytest.raises(StorageError, match=sample["path"]):
        load_sframe(str(archives / sample["path"]), verify=True)


def test_images_are_those_of_their_bytes(archives: Path) -> None:
    expected = expected_of(archives, "image_raw.json")["images"]
    formats = {0: "jpeg", 1: "png", 2: "raw", 3: "unknown"}
    for image, found in zip(expected, SArray(str(archives / "image_raw")), strict=True):
        if image is None:
            assert found is None
            continue
        sizes = (image["height"], image["width"], image["channels"])
        assert found == Image.of_parts(bytes.fromhex(image["data"]), formats[image["format"]], *sizes)


def test_texts_that_are_not_utf8_are_refused_or_replaced(archives: Path) -> None:
    path = str(archives / "str_not_utf8")
    frame = load_sframe(path)
    assert list(frame.remove_column("b", inplace=False)) == list(load_sframe(path, encoding_errors="replace").remove_column("b", inplace=False))
    with pytest.raises(ArchiveTextError, match=r"column 'b', row 0: b'caf\\xe9' is not UTF-8: encoding_errors='latin-1'"):
        list(frame)
    with pytest.raises(ValueError, match="column 'b', row 0"):
        list(frame["b"])
    assert next(iter(load_sframe(path, encoding_errors="latin-1")["b"])) == "café"
    assert next(iter(load_sframe(path, encoding_errors="replace")["b"])) == "caf\ufffd"
    assert next(iter(load_sframe(path, encoding_errors="backslashreplace")["b"])) == "caf\\xe9"
    assert next(iter(load_sframe(path, encoding_errors="ignore")["b"])) == "caf"


@pytest.mark.parametrize("sample", [sample for sample in SAMPLES if sample.get("external")], ids=id_of)
def test_rows_elsewhere_are_read_where_the_caller_allows_it(archives: Path, sample: dict[str, Any]) -> None:
    with pytest.raises(StorageError, match=r"outside the archive: references=\[directories\] \(--references\)"):
        load_sframe(str(archives / sample["path"]))
    with pytest.raises(StorageError, match="outside the archive"):
        load_sframe(str(archives / sample["path"]), references=[archives / "one_row"])
    assert len(load_sframe(str(archives / sample["path"]), references=[archives])) == sample["rows"]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("sample", FRAMES, ids=id_of)
def test_what_is_saved_again_is_the_same(archives: Path, sample: dict[str, Any], tmp_path: Path) -> None:
    frame = load_sframe(str(archives / sample["path"]), references=references(archives, sample))
    frame.save(str(tmp_path / "frame"))
    saved = load_sframe(str(tmp_path / "frame"), verify=True)
    assert (saved.column_names(), saved.column_types()) == (frame.column_names(), frame.column_types())
    assert repr(list(saved)) == repr(list(frame))


def test_a_column_of_a_frame_is_read_as_it_stands_in_any_part(archives: Path) -> None:
    """Whatever rows are asked for, they are those of the whole."""
    frame = load_sframe(str(archives / "all_types_frame"))
    whole = repr(list(frame))
    assert repr([row for start in range(0, 3000, 700) for row in frame[start : start + 700]]) == whole
    assert repr(list(frame[["t", "n"]])) == repr(list(SFrame({"t": frame["t"], "n": frame["n"]})[["t", "n"]]))
    assert repr(list(frame[2990:][::3])) == repr(list(frame)[2990::3])
