"""The pages of the manual run as they stand, and say what is true."""

from __future__ import annotations

import re
import shlex
import shutil
import tarfile
from pathlib import Path

import pytest

from sframe_spark import load_sframe
from sframe_spark.__main__ import main
from sframe_spark.planner import registry
from tests.docs import reference
from tests.docs.layers import diagram

PAGES = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)
ANY_BLOCK = re.compile(r"```.*?```", re.DOTALL)


@pytest.mark.spark
@pytest.mark.parametrize("page", sorted(PAGES.glob("cookbook/*.md")), ids=lambda path: path.stem)
def test_a_page_runs_from_top_to_bottom(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, object] = {}
    blocks = BLOCK.findall(page.read_text(encoding="utf-8"))
    assert any(language == "python" for language, _ in blocks)
    for language, text in blocks:
        if language == "python":
            exec(compile(text, str(page), "exec"), names)
        else:
            assert text.strip() in capsys.readouterr().out


def blocks_of(name: str) -> list[tuple[str, str]]:
    """Each block of Python of a page with what it prints, if the page says so."""
    blocks = BLOCK.findall((PAGES / name).read_text(encoding="utf-8"))
    followed = zip(blocks, [*blocks[1:], ("", "")], strict=True)
    return [(text, after if kind == "text" else "") for (language, text), (kind, after) in followed if language == "python"]


@pytest.mark.parametrize(("text", "printed"), blocks_of("ordered-data.md"))
def test_a_block_about_ordered_data_runs_on_its_own(text: str, printed: str, capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(text, "ordered-data.md", "exec"), {})
    assert printed.strip() in capsys.readouterr().out


@pytest.mark.parametrize(("text", "printed"), blocks_of("explain.md"))
def test_a_block_about_plans_runs_on_its_own(text: str, printed: str, capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(text, "explain.md", "exec"), {})
    assert printed.strip() in capsys.readouterr().out


@pytest.mark.parametrize(("text", "printed"), blocks_of("files.md"))
def test_a_block_about_files_runs_on_its_own(text: str, printed: str, capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(text, "files.md", "exec"), {})
    assert printed.strip() in capsys.readouterr().out


ARCHIVES = PAGES.parent / "tests" / "data" / "legacy" / "archives.tar.xz"
OLD_PROJECT = {
    "all_types_frame": "sales/2019",
    "segments_four": "sales/2020",
    "many_steps": "steps",
    "str_not_utf8": "menu",
    "hostile_contents": "friends",
    "reference_subset": "views",
}


def test_the_way_of_an_old_project_is_gone_as_it_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    with tarfile.open(ARCHIVES) as packed:
        packed.extractall(tmp_path / "samples", filter="data")
    for sample, place in OLD_PROJECT.items():
        shutil.copytree(tmp_path / "samples" / sample, tmp_path / "project" / "old" / place)
    monkeypatch.chdir(tmp_path / "project")
    names: dict[str, object] = {}
    printed = ""
    for language, text in BLOCK.findall((PAGES / "moving-an-old-project.md").read_text(encoding="utf-8")):
        if language == "text":
            assert [line for line in text.splitlines() if line not in printed] == []
            continue
        if language == "python":
            exec(compile(text, "moving-an-old-project.md", "exec"), names)
        else:
            for line in text.splitlines():
                assert line.startswith("python -m sframe_spark ")
                main(shlex.split(line)[3:])
        printed = capsys.readouterr().out.replace(f"{tmp_path}/project/", "")
    assert len(load_sframe("new/views/view")) == 1000


IMPORTED = re.compile(r"^\s*(?:from|import) (\S+)", re.MULTILINE)


@pytest.mark.parametrize(("text", "printed"), blocks_of("extending.md"))
def test_an_extension_is_one_short_file(text: str, printed: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_OPERATORS", dict(registry._OPERATORS))
    assert len(text.splitlines()) < 60
    assert {name for name in IMPORTED.findall(text) if name.split(".")[0] == "sframe_spark"} == {"sframe_spark.plugin"}
    exec(compile(text, "extending.md", "exec"), {"__name__": "extending"})
    assert printed.strip() in capsys.readouterr().out


@pytest.mark.parametrize("page", [PAGES.parent / "README.md", *sorted(PAGES.rglob("*.md"))], ids=lambda path: path.stem)
def test_lines_are_short(page: Path) -> None:
    text = ANY_BLOCK.sub("", page.read_text(encoding="utf-8"))
    assert [line for line in text.splitlines() if len(line) > 120 and not line.startswith("|")] == []


ROOT = PAGES.parent
WRITTEN = [path for place in ("docs", "benchmarks", "examples") for path in sorted((ROOT / place).rglob("*.md"))] + sorted(ROOT.glob("*.md"))
MODULE = re.compile(r"(?<![\w/.-])((?:[a-z_0-9]+/)+[a-z_0-9]+\.py)\b")


@pytest.mark.parametrize("page", WRITTEN, ids=lambda path: str(path.relative_to(ROOT)))
def test_modules_that_a_page_names_are_there(page: Path) -> None:
    named = set(MODULE.findall(page.read_text(encoding="utf-8")))
    assert {name for name in named if not any((ROOT / place / name).exists() for place in ("", "sframe_spark", "examples/plugin_package"))} == set()


FOLDER = re.compile(r"`((?:[a-z_]+/)+)`")
DOTTED = re.compile(r"`((?:api|engine|explain|operators|order|planner|session|storage|values)(?:\.[a-z_]+)+)`")


@pytest.mark.parametrize("page", WRITTEN, ids=lambda path: str(path.relative_to(ROOT)))
def test_folders_and_modules_that_a_page_names_are_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    folders = {name for name in FOLDER.findall(text) if not any((ROOT / place / name).is_dir() for place in ("", "sframe_spark", "docs", "tests"))}
    # A name of a module, or of something in one.
    parts = [(name, name.split(".")) for name in DOTTED.findall(text)]
    modules = {
        name
        for name, path in parts
        if not any((ROOT / "sframe_spark" / "/".join(path[:end])).with_suffix(".py").is_file() for end in (len(path), len(path) - 1) if end > 1)
        and not (ROOT / "sframe_spark" / "/".join(path)).is_dir()
    }
    assert (folders, modules) == (set(), set())


def test_each_way_to_extend_is_a_screen_long() -> None:
    sections = (PAGES / "extending.md").read_text(encoding="utf-8").split("\n## ")[1:]
    assert {section.splitlines()[0]: len(section.splitlines()) for section in sections if len(section.splitlines()) > 60} == {}


def test_the_picture_of_the_layers_is_made_of_the_imports() -> None:
    drawn = (PAGES / "design.md").read_text(encoding="utf-8")
    assert diagram() in drawn, "python -m tests.docs.layers prints what belongs into docs/design.md"


@pytest.mark.parametrize("name", reference.PAGES)
def test_pages_made_of_the_code_are_as_the_code_is(name: str) -> None:
    assert (PAGES / name).read_text(encoding="utf-8") == reference.PAGES[name](), "python -m tests.docs.reference writes them anew"


def test_the_design_is_short() -> None:
    text = ANY_BLOCK.sub("", (PAGES / "design.md").read_text(encoding="utf-8"))
    assert len(text.split()) <= 1_500


LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)")
PLACE = re.compile(
    r"`((?:docs|tests|sframe_spark|benchmarks|examples|operators|engine|planner|explain|storage|session|api|values|order)/[\w./-]+\.(?:py|md|txt|json))`"
)


@pytest.mark.parametrize("page", WRITTEN, ids=lambda path: str(path.relative_to(ROOT)))
def test_what_a_page_points_at_is_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert [link for link in LINK.findall(ANY_BLOCK.sub("", text)) if not (page.parent / link).exists()] == []
    bases = (ROOT, ROOT / "sframe_spark", page.parent)
    assert [name for name in PLACE.findall(text) if not any((base / name).exists() for base in bases)] == []
