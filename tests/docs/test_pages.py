"""The pages of the manual say what is true."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs import reference
from tests.docs.layers import PICTURE, drawn
from tests.docs.pictures import MAX_BYTES, PICTURES
from tests.docs.test_code import MADE, blocks_of
from tests.examples import in_one_test

PAGES = Path(__file__).parents[2] / "docs"
ANY_BLOCK = re.compile(r"```.*?```", re.DOTALL)


IMPORTED = re.compile(r"^\s*(?:from|import) (\S+)", re.MULTILINE)


@pytest.mark.parametrize("text", [text for text, _ in blocks_of(PAGES / "extending.md")])
def test_an_extension_is_one_short_file(text: str) -> None:
    # Lines of 88 columns, as the page shows them.
    assert len(text.splitlines()) < 80
    assert {name for name in IMPORTED.findall(text) if name.split(".")[0] == "sframe_spark"} == {"sframe_spark.plugin"}


# Pages that the site makes of docstrings, where it has been built, are no pages of the manual.
OF_PEOPLE = [page for page in sorted(PAGES.rglob("*.md")) if MADE not in page.parents]


@in_one_test("page", [PAGES.parent / "README.md", *OF_PEOPLE])
def test_lines_are_short(page: Path) -> None:
    text = ANY_BLOCK.sub("", page.read_text(encoding="utf-8"))
    assert [line for line in text.splitlines() if len(line) > 120 and not line.startswith("|")] == []


ANY_CODE = re.compile(r"^```(?:python|py|sh)\n(.*?)^```", re.DOTALL | re.MULTILINE)


@in_one_test("page", [PAGES.parent / "README.md", *OF_PEOPLE])
def test_lines_of_code_are_shown_without_scrolling(page: Path) -> None:
    code = "".join(ANY_CODE.findall(page.read_text(encoding="utf-8")))
    assert [line for line in code.splitlines() if len(line) > 88] == []


ROOT = PAGES.parent
WRITTEN = [*OF_PEOPLE, *(path for place in ("benchmarks", "examples") for path in sorted((ROOT / place).rglob("*.md"))), *sorted(ROOT.glob("*.md"))]
MODULE = re.compile(r"(?<![\w/.-])((?:[a-z_0-9]+/)+[a-z_0-9]+\.py)\b")


@in_one_test("page", WRITTEN)
def test_modules_that_a_page_names_are_there(page: Path) -> None:
    named = set(MODULE.findall(page.read_text(encoding="utf-8")))
    assert {name for name in named if not any((ROOT / place / name).exists() for place in ("", "sframe_spark", "examples/plugin_package"))} == set()


FOLDER = re.compile(r"`((?:[a-z_]+/)+)`")
DOTTED = re.compile(r"`((?:api|cli|engine|explain|operators|order|planner|process|session|storage|values)(?:\.[a-z_]+)+)`")


@in_one_test("page", WRITTEN)
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
    assert {section.splitlines()[0]: len(section.splitlines()) for section in sections if len(section.splitlines()) > 90} == {}


def test_the_picture_of_the_layers_is_made_of_the_imports() -> None:
    assert PICTURE.read_text(encoding="utf-8") == drawn(), "python -m tests.docs.layers draws it anew"


@pytest.mark.parametrize("name", reference.PAGES)
def test_pages_made_of_the_code_are_as_the_code_is(name: str) -> None:
    assert (PAGES / name).read_text(encoding="utf-8") == reference.PAGES[name](), "python -m tests.docs.reference writes them anew"


def test_the_design_is_short() -> None:
    text = ANY_BLOCK.sub("", (PAGES / "design.md").read_text(encoding="utf-8"))
    assert len(text.split()) <= 1_500


LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)")
PLACE = re.compile(
    r"`((?:docs|tests|sframe_spark|benchmarks|examples|operators|engine|planner|explain|storage|process|session|cli|api|values|order)/[\w./-]+\.(?:py|md|txt|json))`"
)


@in_one_test("page", WRITTEN)
def test_what_a_page_points_at_is_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    links = [page.parent / link for link in LINK.findall(ANY_BLOCK.sub("", text))]
    # What the site makes of docstrings is there when it has been built, which fails where a link leads nowhere.
    assert [link for link in links if not link.exists() and MADE not in link.parents] == []
    bases = (ROOT, ROOT / "sframe_spark", page.parent)
    assert [name for name in PLACE.findall(text) if not any((base / name).exists() for base in bases)] == []


@pytest.mark.parametrize("page", [PAGES.parent / "README.md", *sorted(PAGES.glob("*.md"))], ids=lambda path: path.stem)
def test_pictures_of_pages_are_there_and_small(page: Path) -> None:
    for told, name in re.findall(r"!\[([^]]*)\]\(([^)]+)\)", page.read_text(encoding="utf-8")):
        picture = page.parent / name
        assert told and picture.read_bytes().startswith((b"\x89PNG", b"<svg")) and picture.stat().st_size <= MAX_BYTES


def test_no_picture_is_without_a_page() -> None:
    pages = "".join(path.read_text(encoding="utf-8") for path in [PAGES.parent / "README.md", *OF_PEOPLE])
    # The dark form of a picture is shown by the site on dark pages.
    assert [path.name for path in PICTURES.iterdir() if f"pictures/{path.name.replace('-dark.', '.')}" not in pages] == []
