"""``python -m sframe_spark convert``: one archive, or a tree of them, and what is told of each."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from sframe_spark import load_sarray, load_sframe
from sframe_spark.__main__ import main
from sframe_spark.cli.convert_turicreate_archives import pairs_of
from sframe_spark.config import config
from sframe_spark.errors import StorageError
from sframe_spark.session.progress import TerminalLine, format_line
from sframe_spark.storage.datasets.manifest_loading_and_open_dataset_registry import load_manifest
from sframe_spark.turicreate.archive import open_archive
from sframe_spark.turicreate.conversion_and_verification import are_disjoint, convert_archive, require_readable_rows, require_same_rows
from sframe_spark.turicreate.string_and_object_decoding import REAL, TEXT
from sframe_spark.util import get_archive_type
from tests.random_tables import made_column, write_archive


@pytest.fixture
def tree(archives: Path, tmp_path: Path) -> Path:
    """A project: frames and a column in directories of their own, a model, a damaged archive, and files that are no archive."""
    place = tmp_path / "old"
    for name, kept in (("one_row", "shops"), ("segments_four", "data/day 1"), ("many_steps", "data/steps"), ("hostile_truncated", "broken")):
        shutil.copytree(archives / name, place / kept)
    shutil.copytree(archives / "hostile_contents", place / "models" / "a")
    (place / "readme.txt").write_text("no archive")
    (place / "link").symlink_to(archives / "int_edges")
    return place


def test_one_archive(archives: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["convert", str(archives / "segments_large"), str(tmp_path / "new"), "--verify"]) == 0
    told = capsys.readouterr().out
    assert told.startswith(f"{archives / 'segments_large'}: converted to {tmp_path / 'new'}: 60,001 rows, 2 columns, ")
    assert len(told.splitlines()) == 1
    assert list(load_sframe(str(tmp_path / "new"), verify=True)) == list(load_sframe(str(archives / "segments_large")))
    # What was saved there is replaced, anything else is not.
    assert main(["convert", str(archives / "one_row"), str(tmp_path / "new")]) == 0
    assert len(load_sframe(str(tmp_path / "new"))) == 1
    (tmp_path / "new" / "notes.txt").write_text("mine")
    assert main(["convert", str(archives / "one_row"), str(tmp_path / "new")]) == 1
    assert "refused: " in capsys.readouterr().out


def test_a_column(archives: Path, tmp_path: Path) -> None:
    assert main(["convert", str(archives / "many_steps"), str(tmp_path / "new"), "--verify"]) == 0
    assert list(load_sarray(str(tmp_path / "new"))) == list(load_sarray(str(archives / "many_steps")))


def test_a_tree(tree: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    new, report = tmp_path / "new", tmp_path / "report.json"
    assert main(["convert", str(tree), str(new), "--report", str(report), "--verify"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "3 converted, 2 refused, 0 left out"
    assert [line.split(": ")[:2] for line in lines[:-1]] == [
        [str(tree / "broken"), "refused"],
        [str(tree / "data/day 1"), f"converted to {new / 'data/day 1'}"],
        [str(tree / "data/steps"), f"converted to {new / 'data/steps'}"],
        [str(tree / "models/a"), "refused"],
        [str(tree / "shops"), f"converted to {new / 'shops'}"],
    ]
    assert "an archive of 'graph'" in lines[3]
    found: list[dict[str, Any]] = json.loads(report.read_text())
    assert [(one["outcome"], one["rows"], one["columns"]) for one in found] == [
        ("refused", None, None),
        ("converted", 17, 3),
        ("converted", 17700, 1),
        ("refused", None, None),
        ("converted", 1, 8),
    ]
    assert all(one["seconds"] is not None and one["size"] for one in found if one["outcome"] == "converted")
    assert sorted(path.relative_to(new).as_posix() for path in new.rglob("_manifest.json")) == [
        "data/day 1/_manifest.json",
        "data/steps/_manifest.json",
        "shops/_manifest.json",
    ]


def test_a_tree_goes_on_where_it_was_broken_off(tree: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.rmtree(tree / "broken")
    shutil.rmtree(tree / "models")
    assert main(["convert", str(tree), str(tmp_path / "new")]) == 0
    shutil.rmtree(tmp_path / "new" / "shops")
    capsys.readouterr()
    assert main(["convert", str(tree), str(tmp_path / "new"), "--skip-existing"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "1 converted, 0 refused, 2 left out"


def test_options_for_references_and_texts(archives: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    view = archives / "reference_subset" / "view"
    assert main(["convert", str(view), str(tmp_path / "a")]) == 1
    assert "outside the archive: references=[directories] (--references) allows" in capsys.readouterr().out
    assert main(["convert", str(view), str(tmp_path / "a"), "--references", str(archives / "reference_subset"), "--verify"]) == 0
    latin = str(archives / "str_not_utf8")
    assert main(["convert", latin, str(tmp_path / "b")]) == 1
    assert not (tmp_path / "b").exists()
    assert main(["convert", latin, str(tmp_path / "b"), "--encoding-errors", "backslashreplace", "--verify"]) == 0
    assert next(iter(load_sframe(str(tmp_path / "b"))["b"])) == "caf\\xe9"


@pytest.mark.parametrize(("old", "new", "told"), [
    ("old", "old", "contains the other"), ("old", "old/new", "contains the other"), ("old/shops", "old", "contains the other"),
    ("none", "new", "there is no directory"), ("old/shops/m_1", "new", "there is no directory"), ("empty", "new", "is not an archive of Turi Create"),
    ("file", "new", "is a file; an archive of Turi Create is a directory"),
])  # fmt: skip
def test_what_cannot_be_converted_is_told(tree: Path, old: str, new: str, told: str, capsys: pytest.CaptureFixture[str]) -> None:
    (tree.parent / "empty").mkdir()
    (tree.parent / "file").write_text("text")
    assert main(["convert", str(tree.parent / old), str(tree.parent / new)]) == 1
    assert told in capsys.readouterr().out


def test_places_beside_each_other() -> None:
    assert are_disjoint("/data/old", "/data/new")
    assert are_disjoint("/data/old", "/data/older")
    assert not are_disjoint("/data/old/../old", "/data/old")


def test_links_in_a_tree_are_not_followed(tree: Path, tmp_path: Path) -> None:
    assert str(tree / "link") not in dict(pairs_of(str(tree), str(tmp_path / "new")))


def test_columns_become_columns(archives: Path, tmp_path: Path) -> None:
    for name, kind in (("segments_four", "sframe"), ("many_steps", "sarray")):
        convert_archive(open_archive(str(archives / name)), str(tmp_path / name))
        assert get_archive_type(tmp_path / name) == get_archive_type(archives / name) == kind


def test_a_bar_counts_rows(archives: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[str] = []
    monkeypatch.setattr("sframe_spark.session.progress.DELAY_SECONDS", 0.0)
    monkeypatch.setattr(TerminalLine, "draw", lambda self, line, share: lines.append(line))
    with config.using(progress="on", segment_rows=10_000):
        assert main(["convert", str(archives / "segments_large"), str(tmp_path / "new")]) == 0
    assert "60,001/60,001 rows" in lines[-1]
    assert len(lines) >= 6
    assert format_line(1, 2, 0.0, "x", "rows").endswith("1/2 rows, 0 s, x")


def test_what_breaks_off_leaves_nothing(archives: Path, tmp_path: Path) -> None:
    archive = open_archive(str(archives / "segments_large"))

    def fail(rows: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        convert_archive(archive, str(tmp_path / "new"), on_rows=fail)
    assert list(tmp_path.iterdir()) == []


def test_what_was_converted_is_compared_bit_by_bit(tmp_path: Path) -> None:
    for name, last in (("a", 0.0), ("b", -0.0), ("c", float("nan"))):
        floats, texts = [float("nan"), 1.5, None, last], ["x", "y", None, ""]
        write_archive(str(tmp_path / name), {"f": made_column(REAL, floats, [[4]]), "t": made_column(TEXT, texts, [[4]])})
        convert_archive(open_archive(str(tmp_path / name)), str(tmp_path / f"new {name}"))
    for first in "abc":
        for second in "abc":
            archive, manifest = open_archive(str(tmp_path / first)), load_manifest(str(tmp_path / f"new {second}"))
            if first == second:
                require_same_rows(archive, manifest)
                continue
            with pytest.raises(StorageError, match=r"has other values than .* in column 'f', rows 0 to 4"):
                require_same_rows(archive, manifest)
    write_archive(str(tmp_path / "d"), {"f": made_column(REAL, [0.0], [[1]])})
    with pytest.raises(StorageError, match="has other columns, or another number of rows"):
        require_same_rows(open_archive(str(tmp_path / "d")), load_manifest(str(tmp_path / "new a")))
    require_readable_rows(open_archive(str(tmp_path / "a")))
