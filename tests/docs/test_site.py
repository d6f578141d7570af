"""What the site and the index of packages are made of."""

from __future__ import annotations

import importlib.util
import inspect
import re
import tomllib
from pathlib import Path
from types import ModuleType

import sframe_spark
from sframe_spark import SArray, SFrame, Sketch, aggregate, util, visualization
from sframe_spark.data_structures import serialization

ROOT = Path(__file__).parents[2]
CONTENTS = re.compile(r"```\{toctree\}\n(.*?)```", re.DOTALL)


def module_at(path: Path) -> ModuleType:
    """A module that is no part of a package."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_member_has_a_place_in_the_reference() -> None:
    pages = module_at(ROOT / "docs" / "site" / "reference.py").pages()
    for kind in (SFrame, SArray, Sketch):
        listed = {name for page in pages.values() for name in re.findall(rf"sframe_spark\.{kind.__name__}\.(\w+)", page)}
        assert listed == {name for name in dir(kind) if not name.startswith("_")}


def test_every_public_function_has_a_place_in_the_reference() -> None:
    listed = "".join(module_at(ROOT / "docs" / "site" / "reference.py").pages().values())
    for module in (sframe_spark, aggregate, util, visualization, serialization):
        functions = {name for name in module.__all__ if inspect.isroutine(getattr(module, name))} - {"restored", "get_serialization_directory"}
        assert functions and {name for name in functions if not re.search(rf"\.{name}$", listed, re.MULTILINE)} == set(), module


def contents_of(text: str) -> list[str]:
    """The pages in the lists of contents of a page, but for those that a pattern finds."""
    lists = [part for part in CONTENTS.findall(text) if ":glob:" not in part]
    return [name for part in lists for name in part.split("\n") if name.strip() and not name.startswith(":")]


def test_every_page_is_told_of_where_it_is_listed() -> None:
    """A bare list of titles tells a newcomer nothing."""
    made = module_at(ROOT / "docs" / "site" / "reference.py").pages()
    texts = {page: page.read_text(encoding="utf-8") for page in (ROOT / "docs").rglob("*.md")}
    for where, text in {**texts, "reference": made["index"]}.items():
        items = re.split(r"\n(?=\n|[*|]|\d\.)", CONTENTS.sub("", text))
        for name in contents_of(text):
            told = [item for item in items if f"({name}.md)" in item]
            assert told and len(re.sub(r"\[[^\]]*\]\([^)]*\)", "", told[0]).split()) >= 3, f"{where} lists {name} without a word"


def test_links_with_one_text_lead_to_one_place() -> None:
    for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]:
        places: dict[str, set[str]] = {}
        for text, place in re.findall(r"(?<!!)\[([^\]]+)\]\(([^)]+\.md)\)", page.read_text(encoding="utf-8")):
            places.setdefault(" ".join(text.split()), set()).add(place)
        assert {text: found for text, found in places.items() if len(found) > 1} == {}, page


def test_links_of_the_readme_lead_to_the_repository_on_an_index() -> None:
    urls = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = module_at(ROOT / "setup.py").readme_of_index(readme, urls["Repository"])
    links = re.findall(r"(?<=\]\()[^)\s]+", shown)
    assert len(links) > 20
    assert all(link.startswith("https://") for link in links)
    assert f"({urls['Repository']}/blob/main/docs/tour.md)" in shown
    assert all("raw.githubusercontent.com" in link for link in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", shown))


def test_every_page_of_the_manual_is_in_a_list_of_contents() -> None:
    docs = ROOT / "docs"
    listed = {docs / "index.md"}
    for page in docs.rglob("*.md"):
        for contents in CONTENTS.findall(page.read_text(encoding="utf-8")):
            for name in (line.strip() for line in contents.splitlines() if line.strip() and not line.startswith(":")):
                listed |= set(page.parent.glob(f"{name}.md"))
    made = docs / "reference"
    assert {page.relative_to(docs) for page in docs.rglob("*.md") if page not in listed and made not in page.parents} == set()
