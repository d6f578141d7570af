"""The page about moving an old project runs from top to bottom, the commands of its shell too."""

from __future__ import annotations

import shlex
import shutil
import tarfile
from pathlib import Path

import pytest

from sframe_spark import load_sframe
from sframe_spark.__main__ import main
from tests.docs.test_code import BLOCK, OF_THEIR_OWN, ROOT

PAGE = ROOT / "docs" / "moving-an-old-project.md"
ARCHIVES = ROOT / "tests" / "data" / "legacy" / "archives.tar.xz"
OLD_PROJECT = {
    "all_types_frame": "sales/2019",
    "segments_four": "sales/2020",
    "many_steps": "steps",
    "str_not_utf8": "menu",
    "hostile_contents": "friends",
    "reference_subset": "views",
}


def test_the_way_of_an_old_project_is_gone_as_it_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert PAGE.name in OF_THEIR_OWN
    with tarfile.open(ARCHIVES) as packed:
        packed.extractall(tmp_path / "samples", filter="data")
    for sample, place in OLD_PROJECT.items():
        shutil.copytree(tmp_path / "samples" / sample, tmp_path / "project" / "old" / place)
    monkeypatch.chdir(tmp_path / "project")
    names: dict[str, object] = {}
    printed = ""
    for language, text in BLOCK.findall(PAGE.read_text(encoding="utf-8")):
        if language == "text":
            assert [line for line in text.splitlines() if line not in printed] == []
            continue
        if language == "python":
            exec(compile(text, str(PAGE), "exec"), names)
        else:
            for line in text.splitlines():
                assert line.startswith("python -m sframe_spark ")
                main(shlex.split(line)[3:])
        printed = capsys.readouterr().out.replace(f"{tmp_path}/project/", "")
    assert len(load_sframe("new/views/view")) == 1000
