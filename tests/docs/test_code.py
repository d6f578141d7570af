"""The code on pages runs as it stands, and prints what the page says."""

from __future__ import annotations

import itertools
import os
import re
import shutil
import sys
import tomllib
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from sframe_spark.__main__ import command_line
from tests.docs.figures import PICTURES, as_recorded, check_sum, figures_of, recorded_figure, saved_charts

ROOT = Path(__file__).parents[2]
MADE = ROOT / "docs" / "reference"
PAGES = [*sorted(ROOT.glob("*.md")), *(page for page in sorted((ROOT / "docs").rglob("*.md")) if MADE not in page.parents)]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.DOTALL | re.MULTILINE)
# These tell a story: they run from top to bottom. On all other pages each block runs on its own, as it is pasted.
STORIES = {"cookbook", "porting", "tour.md"}
# Of these a test of their own runs the commands too, on files that it makes.
OF_THEIR_OWN = {"moving-an-old-project.md"}
NEED_SPARK = {"clusters.md", "pyspark.md", "spark.md"}


def blocks_of(page: Path) -> list[tuple[str, str]]:
    """Each block of Python of a page with what it prints, if the page says so."""
    blocks = BLOCK.findall(page.read_text(encoding="utf-8"))
    followed = itertools.pairwise([*blocks, ("", "")])
    return [(text, after if kind == "text" else "") for (language, text), (kind, after) in followed if language == "python"]


def together(page: Path) -> bool:
    """Whether the blocks of a page share their names."""
    return not STORIES.isdisjoint(page.relative_to(ROOT).parts)


def programs() -> list[Any]:
    """What is run: the page, and its blocks that share their names."""
    found = []
    for page in (page for page in PAGES if page.name not in OF_THEIR_OWN):
        marks = [pytest.mark.spark] if page.name in NEED_SPARK else []
        blocks = blocks_of(page)
        groups = [blocks] if together(page) else [[block] for block in blocks]
        name = str(page.relative_to(ROOT)).removesuffix(".md")
        found += [pytest.param(page, group, id=f"{name}-{number}", marks=marks) for number, group in enumerate(groups, 1) if group]
    return found


@pytest.mark.usefixtures("own_registry", "own_options")
@pytest.mark.parametrize(("page", "blocks"), programs())
def test_code_runs_as_it_stands(
    page: Path,
    blocks: list[tuple[str, str]],
    request: pytest.FixtureRequest,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    if page.name in NEED_SPARK:
        # The session of the process, before the page asks for one.
        request.getfixturevalue("spark")
    names: dict[str, object] = {"__name__": "page"}
    # What a page sets for its programs is not left to the next one.
    with saved_charts() as saved, mock.patch.dict(os.environ):
        for text, printed in blocks:
            exec(compile(text, str(page), "exec"), names)
            assert printed.strip() in capsys.readouterr().out
    for figure in figures_of(page) if together(page) else ():
        assert as_recorded(saved[figure]) == recorded_figure(figure)["specification"], "python -m tests.docs.figures draws it anew"


BORDER = re.compile(r"^\+[-+]+\+$")


@pytest.mark.parametrize("page", [page for page in PAGES if "+--" in page.read_text(encoding="utf-8")], ids=lambda page: page.stem)
def test_tables_are_shown_to_their_last_line(page: Path) -> None:
    """What a block prints need not be all that its code prints, but a table without the line that counts its rows looks like another one."""
    for _, printed in blocks_of(page):
        for line, after in itertools.pairwise([*printed.splitlines(), ""]):
            assert not BORDER.match(line) or after.startswith(("|", "+", "[")), f"below {line!r}: {after!r}"


@pytest.mark.parametrize("figure", [figure for page in PAGES for figure in figures_of(page)])
def test_figures_are_drawn_of_what_is_recorded(figure: str) -> None:
    assert check_sum(PICTURES / figure) == recorded_figure(figure)["picture"], "python -m tests.docs.figures draws it anew"


@pytest.mark.parametrize("page", [page for page in PAGES if page.parent.name == "cookbook" and page.stem != "index"], ids=lambda page: page.stem)
def test_tasks_of_the_cookbook_are_short_and_have_a_figure(page: Path) -> None:
    lines = page.read_text(encoding="utf-8").splitlines()
    assert figures_of(page)
    # One page has twelve tasks.
    assert len(lines) <= (280 if page.stem == "time-series" else 160)
    assert [line for line in lines if len(line) > 120 and not line.startswith("!")] == []


COMMANDS = [
    pytest.param(line.split("#")[0].strip(), id=f"{page.name}: {line[:60]}")
    for page in PAGES
    for language, text in BLOCK.findall(page.read_text(encoding="utf-8"))
    if language == "sh"
    for line in text.splitlines()
    if line.strip() and not line.startswith("#")
]
EXTRAS = re.compile(r"\[([\w,]+)\]")
TARGETS = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
OPTIONAL = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_of_the_pages_are_there(command: str) -> None:
    """Commands are not run, as they install and start things: their names are compared with what there is."""
    words = command.split()
    if words[0] == "make":
        assert set(words[1:]) <= TARGETS
    elif "pip" in words:
        assert {extra for found in EXTRAS.findall(command) for extra in found.split(",")} <= OPTIONAL.keys()
    elif words[:3] == ["python", "-m", "sframe_spark"]:
        command_line().parse_args(words[3:])
    else:
        installed = Path(sys.executable).parent / words[0]
        assert shutil.which(words[0]) or installed.exists() or (ROOT / words[0]).exists(), f"what is {words[0]}?"
