"""Frames saved by reference: rows of saved frames stay where they are, and what goes there is one clear error."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from sframe_spark import SArray, SFrame, load_sarray, load_sframe
from sframe_spark.__main__ import main
from sframe_spark.errors import StorageError
from sframe_spark.storage.filesystem.format_recognition import MANIFEST_FILE
from sframe_spark.storage.manifest.manifest import ColumnReferences, Manifest, ReferencedDataset
from sframe_spark.storage.manifest.manifest_json import sealed, unsealed
from sframe_spark.types import INT

ROWS = 5000


@pytest.fixture
def saved(tmp_path: Path) -> SFrame:
    SFrame({"number": range(ROWS), "text": [f"row {number}" for number in range(ROWS)]}).save(str(tmp_path / "frame"))
    return load_sframe(str(tmp_path / "frame"))


def segments(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir() if path.suffix == ".parquet")


def rows_of(frame: SFrame) -> list[dict[str, Any]]:
    return list(frame)


def test_rows_of_saved_frames_are_not_written(saved: SFrame, tmp_path: Path) -> None:
    place = tmp_path / "reference"
    assert saved[["text", "number"]]._save_reference(str(place)) is None  # type: ignore[func-returns-value]
    assert segments(place) == []
    found = load_sframe(str(place))
    assert found.column_names() == ["text", "number"]
    assert rows_of(found) == rows_of(saved[["text", "number"]])


def test_other_columns_are_written_beside_them(saved: SFrame, tmp_path: Path) -> None:
    place = tmp_path / "reference"
    saved["half"] = saved["number"] / 2
    saved["given"] = SArray(range(ROWS, 0, -1))
    chosen = saved[["half", "text", "given", "number"]]
    chosen._save_reference(str(place))
    manifest = Manifest.from_json((place / MANIFEST_FILE).read_text(), str(place))
    assert manifest.names == ("half", "given")
    assert rows_of(load_sframe(str(place))) == rows_of(chosen)


@pytest.mark.parametrize("part", [slice(0, 100), slice(4990, 6000), slice(7, 7), slice(10, 20)])
def test_ranges_of_rows_are_referred_to(part: slice, saved: SFrame, tmp_path: Path) -> None:
    saved[part]._save_reference(str(tmp_path / "part"))
    assert segments(tmp_path / "part") == []
    assert rows_of(load_sframe(str(tmp_path / "part"))) == rows_of(saved[part])


def test_rows_that_are_no_range_are_written(saved: SFrame, tmp_path: Path) -> None:
    few = saved[saved["number"] % 7 == 0]
    for name, frame in {"few": few, "sorted": saved.sort("number", ascending=False), "memory": SFrame({"a": [1, None]}), "none": SFrame()}.items():
        frame._save_reference(str(tmp_path / name))
        assert Manifest.from_json((tmp_path / name / MANIFEST_FILE).read_text(), "here").references is None
        assert rows_of(load_sframe(str(tmp_path / name))) == rows_of(frame)


def test_temporary_rows_and_files_of_others_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    large = SFrame({"a": range(200_000)})
    large.write_parquet(str(tmp_path / "a.parquet"))
    written = large[large["a"] >= 0].sort("a", ascending=False)
    written.materialize()
    for name, frame in {"others": SFrame.read_parquet(str(tmp_path / "a.parquet")), "temporary": written}.items():
        frame._save_reference(str(tmp_path / name))
        assert len(segments(tmp_path / name)) >= 1
        assert len(load_sframe(str(tmp_path / name))) == 200_000


def test_references_to_references_name_the_rows_themselves(saved: SFrame, tmp_path: Path) -> None:
    saved["half"] = saved["number"] / 2
    saved._save_reference(str(tmp_path / "first"))
    first = load_sframe(str(tmp_path / "first"))
    first["third"] = first["number"] / 3
    first.head(10)._save_reference(str(tmp_path / "second"))
    manifest = Manifest.from_json((tmp_path / "second" / MANIFEST_FILE).read_text(), "second")
    assert manifest.references is not None
    assert [item.directory for item in manifest.references.datasets] == [str(tmp_path / "frame"), str(tmp_path / "first")]
    assert rows_of(load_sframe(str(tmp_path / "second"))) == rows_of(first.head(10))


def test_a_frame_saved_over_its_own_rows_has_them(saved: SFrame, tmp_path: Path) -> None:
    before = rows_of(saved)
    saved._save_reference(str(tmp_path / "frame"))
    assert len(segments(tmp_path / "frame")) == 1
    assert rows_of(load_sframe(str(tmp_path / "frame"))) == rows_of(saved) == before


def test_a_reference_may_be_replaced_and_copied_by_save(saved: SFrame, tmp_path: Path) -> None:
    place = str(tmp_path / "reference")
    saved["half"] = saved["number"] / 2
    for _ in range(2):
        saved._save_reference(place)
    load_sframe(place).save(place)
    shutil.rmtree(tmp_path / "frame")
    assert rows_of(load_sframe(place))[-1] == {"number": ROWS - 1, "text": f"row {ROWS - 1}", "half": (ROWS - 1) / 2}


def test_one_column_is_loaded_as_one(saved: SFrame, tmp_path: Path) -> None:
    saved[["number"]]._save_reference(str(tmp_path / "column"))
    assert list(load_sarray(str(tmp_path / "column"))) == list(range(ROWS))


def test_what_is_no_place_for_a_frame_is_refused(saved: SFrame, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").write_text("mine")
    for name in ("file", "full"):
        with pytest.raises(OSError, match=name):
            saved._save_reference(str(tmp_path / name))
    with pytest.raises(TypeError):
        saved._save_reference(3)  # type: ignore[arg-type]


def test_rows_that_are_gone_are_one_error(saved: SFrame, tmp_path: Path) -> None:
    saved._save_reference(str(tmp_path / "reference"))
    os.rename(tmp_path / "frame", tmp_path / "moved")
    with pytest.raises(StorageError, match=r"reference refers to rows in \S*frame, which cannot be read: there is no directory \S*frame.*save\(\)"):
        load_sframe(str(tmp_path / "reference"))
    os.rename(tmp_path / "moved", tmp_path / "frame")
    assert len(load_sframe(str(tmp_path / "reference"))) == ROWS


def test_other_rows_do_not_pass_for_those_that_were_meant(saved: SFrame, tmp_path: Path) -> None:
    saved._save_reference(str(tmp_path / "reference"))
    loaded = load_sframe(str(tmp_path / "reference"))
    SFrame({"number": [0] * ROWS, "text": ["other"] * ROWS}).save(str(tmp_path / "frame"))
    with pytest.raises(StorageError, match=r"refers to rows in \S*frame, which cannot be read: \S*frame has different rows now"):
        load_sframe(str(tmp_path / "reference"))
    assert loaded[1] == {"number": 1, "text": "row 1"}, "rows that are in use stay"


def test_a_damaged_file_elsewhere_is_told(saved: SFrame, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = str(tmp_path / "reference")
    saved._save_reference(place)
    assert main(["verify", place]) == 0
    assert f"ok, {ROWS:,} rows, 0 files, 0 bytes, and rows in {tmp_path / 'frame'}" in capsys.readouterr().out
    file = tmp_path / "frame" / segments(tmp_path / "frame")[0]
    content = bytearray(file.read_bytes())
    content[100] ^= 1
    file.write_bytes(content)
    with pytest.raises(StorageError, match="refers to rows in"):
        load_sframe(place, verify=True)
    assert main(["verify", place]) == 1
    file.unlink()
    with pytest.raises(StorageError, match="is missing"):
        load_sframe(place)


def forged(saved: SFrame, tmp_path: Path, change: Any) -> str:
    """A reference with something else in its text, under a check sum that fits."""
    place = tmp_path / "reference"
    saved["half"] = saved["number"] / 2
    saved._save_reference(str(place))
    content = unsealed((place / MANIFEST_FILE).read_text(), "here")
    change(content["elsewhere"])
    (place / MANIFEST_FILE).write_text(sealed(content, 3))
    return str(place)


def no_change(elsewhere: dict[str, Any]) -> None:
    """Nothing."""


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("directory", "frame"),
        ("directory", "/data/\0"),
        ("directory", 3),
        ("digest", ""),
        ("digest", None),
        ("digest", "0" * 64),
        ("start", -1),
        ("start", 1),
        ("start", 0.0),
        ("stop", True),
        ("stop", 2**70),
        ("stop", ROWS - 1),
    ],
)
def test_forged_datasets_are_refused(key: str, value: Any, saved: SFrame, tmp_path: Path) -> None:
    place = forged(saved, tmp_path, lambda elsewhere: elsewhere["datasets"][0].update({key: value}))
    with pytest.raises(StorageError):
        load_sframe(place)


@pytest.mark.parametrize(
    "change",
    [
        lambda e: e.pop("datasets"),
        lambda e: e.update(datasets=[]),
        lambda e: e.update(names=["a", "a", "b"]),
        lambda e: e.update(names=["a", "b"]),
        lambda e: e.update(names=["a", "b", 3]),
        lambda e: e["columns"][0].__setitem__(0, 7),
        lambda e: e["columns"][0].__setitem__(1, 99),
        lambda e: e["columns"][2].__setitem__(1, 1),
        lambda e: e["columns"][0].append(1),
        lambda e: e.update(columns=[[0, 0], [0, 1], [0, 0]]),
        lambda e: e["datasets"].append({**e["datasets"][0], "stop": 1}),
    ],
)
def test_forged_columns_are_refused(change: Any, saved: SFrame, tmp_path: Path) -> None:
    with pytest.raises(StorageError):
        load_sframe(forged(saved, tmp_path, change))


def test_the_forger_of_the_tests_is_right(saved: SFrame, tmp_path: Path) -> None:
    assert len(load_sframe(forged(saved, tmp_path, no_change))) == ROWS


def test_who_has_not_read_a_frame_cannot_name_it(saved: SFrame, tmp_path: Path) -> None:
    """Not by its path: the digest is one of what its manifest says of all rows."""
    SFrame({"secret": range(ROWS), "b": range(ROWS)}).save(str(tmp_path / "secret"))
    place = forged(saved, tmp_path, lambda elsewhere: elsewhere["datasets"][0].update(directory=str(tmp_path / "secret")))
    with pytest.raises(StorageError, match="has different rows now") as told:
        load_sframe(place)
    assert "0.." not in str(told.value)


def test_older_versions_are_told_to_be_too_old(saved: SFrame, tmp_path: Path) -> None:
    saved._save_reference(str(tmp_path / "reference"))
    text = (tmp_path / "reference" / MANIFEST_FILE).read_text()
    assert json.loads(text)["version"] == 3


def test_manifests_with_columns_elsewhere_survive_json() -> None:
    elsewhere = ColumnReferences(("a", "b"), ((0, 2), (-1, 0)), (ReferencedDataset("/data/frame", "ab" * 32, 2, 2),))
    manifest = Manifest((INT,), (), "/here", names=("b",), references=elsewhere)
    assert Manifest.from_json(manifest.to_json(), "/here").references == elsewhere


def test_names_are_text() -> None:
    told = ColumnReferences(("a",), ((0, 0),), (ReferencedDataset("/data/frame", "ab" * 32, 0, 2),)).to_json()
    with pytest.raises(ValueError, match="no text"):
        ColumnReferences.from_json({**told, "names": ["\ud800"]})
