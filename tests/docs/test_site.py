"""What the site and the index of packages are made of."""

from __future__ import annotations

import importlib.util
import re
import tomllib
from pathlib import Path
from types import ModuleType

from sframe_spark import SArray, SFrame, Sketch

ROOT = Path(__file__).parents[2]


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
        for contents in re.findall(r"```\{toctree\}\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
            for name in (line.strip() for line in contents.splitlines() if line.strip() and not line.startswith(":")):
                listed |= set(page.parent.glob(f"{name}.md"))
    made = docs / "reference"
    assert {page.relative_to(docs) for page in docs.rglob("*.md") if page not in listed and made not in page.parents} == set()
