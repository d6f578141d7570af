"""What the site and the index of packages are made of."""

from __future__ import annotations

import importlib.util
import inspect
import re
import tomllib
from pathlib import Path
from types import ModuleType

import sframe_spark
from sframe_spark import SArray, SFrame, Sketch, aggregate, config, util, visualization
from sframe_spark.config import Option
from sframe_spark.data_structures import serialization
from tests.interpreters import run_program

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
        assert {name for name in listed if not name.startswith("_")} == {name for name in dir(kind) if not name.startswith("_")}


def test_what_people_type_without_a_name_has_a_place_in_the_reference() -> None:
    reference = module_at(ROOT / "docs" / "site" / "reference.py")
    pages = reference.pages()
    for kind, language in ((SFrame, reference.FRAME_LANGUAGE), (SArray, reference.ARRAY_LANGUAGE)):
        own = kind.__name__.lower()
        assert set(language) == {"__getitem__", "__contains__", "__len__", "__iter__", *(["__setitem__", "__delitem__"] if kind is SFrame else [])}
        for member in language:
            assert (
                f"sframe_spark.{kind.__name__}.{member}>`" in pages[own] and f"~sframe_spark.{kind.__name__}.{member}\n" in pages[f"{own}/brackets"]
            )
            assert "Examples" in (inspect.getdoc(getattr(kind, member)) or "")
    signs = {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**", "and": "&", "or": "|", "invert": "~"}
    signs |= {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "abs": "abs", "neg": "-"}
    listed = " ".join(reference.OPERATORS).split()
    assert set(listed) == set(signs.values()) and all(callable(getattr(SArray, f"__{name}__")) for name in signs)


def test_each_option_tells_default_allowed_values_and_variable() -> None:
    text = module_at(ROOT / "docs" / "site" / "reference.py").pages()["config"]
    options = {name: option for name, option in vars(type(config)).items() if isinstance(option, Option)}
    for name, option in options.items():
        told = text.partition(f"py:attribute:: sframe_spark.config.{name}\n")[2].partition("```")[0]
        assert option.__doc__ in told and ":Default: ``" in told and re.search(r":Allowed: \S+ \S+", told), name
        assert (f"``{option.variable}``" in told) or option.variable is None
    assert len(options) > 15


def test_signatures_are_those_that_people_call() -> None:
    reference = module_at(ROOT / "docs" / "site" / "reference.py")
    shown = {
        name: reference.public_signature(str(inspect.signature(getattr(SFrame, name))))
        for name in dir(SFrame)
        if not name.startswith("_") and inspect.isfunction(getattr(SFrame, name))
    }
    assert len(shown) > 100 and [name for name, signature in shown.items() if re.search(r"[(,] *_", signature)] == []
    assert shown["read_csv"].startswith("(url") if "read_csv" in shown else True
    assert reference.lines_of("sframe_spark", "SFrame.groupby").startswith("sframe_spark/api/sframe/sort_group_append_filter_and_sample.py#L")


def test_signatures_name_the_classes_of_results() -> None:
    """In another process: modules get names there that they import for checks of types alone. Left are values of a column's own class."""
    program = f"""
import inspect, sys, typing
sys.path.insert(0, {str(ROOT / "docs" / "site")!r})
import reference
from sframe_spark import SArray, SFrame
reference.name_classes()
for kind in (SFrame, SArray):
    for name, member in inspect.getmembers(kind, callable):
        if not name.startswith("_") and typing.get_type_hints(inspect.unwrap(member)).get("return") is typing.Any:
            print(name, end=" ")
"""
    done = run_program(program)
    assert set(done.stdout.split()) == {"max", "mean", "median", "min", "product", "quantile", "sum"}


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
    built = ROOT / "docs" / "reference"
    texts = {page: page.read_text(encoding="utf-8") for page in (ROOT / "docs").rglob("*.md") if built not in page.parents}
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
