"""Whatever is shown of data holds no character that a terminal, a browser or an XML reader takes for a command."""

from __future__ import annotations

import contextlib
import io
import logging
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from sframe_spark import SArray, SFrame, load_sframe
from sframe_spark.__main__ import main
from sframe_spark.cli.doctor import Diagnosis
from sframe_spark.errors import SFrameError
from sframe_spark.message_text import visible
from sframe_spark.session.progress import format_line

HOSTILE = [
    *map(chr, range(0x20)),
    *map(chr, range(0x7F, 0xA0)),
    *map(chr, [0x61C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A)]),
]
TEXT = "x".join(HOSTILE) + "<script>alert(1)</script>"
COMMANDS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


@pytest.fixture(scope="module")
def frame() -> SFrame:
    """Hostile text in names and in every kind of cell that holds text."""
    name = TEXT[:300]
    return SFrame(
        {name: [TEXT, "\x1b]0;title\x07", None], "list": [[TEXT, [TEXT]], [], None], "dict": [{TEXT: TEXT}, {}, None], "n" + name: [1, 2, 3]}
    )


def printed(frame: SFrame) -> str:
    """What print_rows writes."""
    out = io.StringIO()
    frame.print_rows(output_file=out)
    return out.getvalue()


def last_run_of(frame: SFrame) -> str:
    """What ran for the rows of a frame."""
    frame.materialize()
    return frame.last_run()


VIEWS: dict[str, Callable[[SFrame], str]] = {
    "str": str,
    "repr": repr,
    "html": lambda frame: frame._repr_html_(),
    "print_rows": printed,
    "column": lambda frame: str(frame[frame.column_names()[0]]) + repr(frame[frame.column_names()[0]]),
    "lists": lambda frame: str(frame["list"]) + repr(frame["dict"]),
    "explain": lambda frame: frame[frame[frame.column_names()[3]] > 1].explain(trace=True, why=True),
    "explain of a literal": lambda frame: (frame[frame.column_names()[0]] == TEXT).explain(),
    "order": lambda frame: str(frame.sort(frame.column_names()[3]).ordering()) + repr(frame.is_sorted(frame.column_names()[0])),
    "svg": lambda frame: (frame[frame.column_names()[0]] == TEXT).explain().svg(TEXT),
    "mermaid": lambda frame: frame[frame[frame.column_names()[0]] == TEXT].explain().mermaid(),
    "plan as html": lambda frame: frame[frame[frame.column_names()[0]] == TEXT].explain()._repr_html_(),
    "last run": lambda frame: str(last_run_of(frame.sort(frame.column_names()[3]))),
    "progress": lambda frame: format_line(1, 2, 3.0, TEXT),
}


@pytest.mark.parametrize("view", VIEWS)
def test_what_is_shown_holds_no_commands(view: str, frame: SFrame) -> None:
    try:
        text = VIEWS[view](frame)
    except SFrameError as error:
        text = str(error)
    assert COMMANDS.findall(text) == []
    if view in ("html", "svg"):
        assert "<script>" not in text


def test_svg_and_html_are_well_formed(frame: SFrame) -> None:
    assert ElementTree.fromstring(VIEWS["svg"](frame)).tag.endswith("svg")
    assert ElementTree.fromstring(f"<div>{VIEWS['html'](frame)}</div>").find(".//table") is not None


def attempts(frame: SFrame, directory: Path) -> list[Callable[[], Any]]:
    """Calls that fail and quote names, values, paths or what a function says."""
    name = frame.column_names()[0]

    def fail(value: Any) -> Any:
        raise ValueError(TEXT)

    return [
        lambda: frame["no" + TEXT],
        lambda: frame.sort("no" + TEXT),
        lambda: frame.rename({"no" + TEXT: "b"}),
        lambda: list(frame[name].astype(int)),
        lambda: frame[name] + frame["list"],
        lambda: list(frame[name].apply(fail)),
        lambda: load_sframe(str(directory / TEXT.replace("\x00", "").replace("/", ""))),
        lambda: SFrame.read_csv(str(directory / ("none" + TEXT.replace("\x00", "").replace("/", "")[:100]))),
        lambda: load_sframe(TEXT),
        lambda: SArray([TEXT, 1]),
        lambda: frame.groupby("no" + TEXT, {}),
        lambda: frame.explain(stage=TEXT),
    ]


@pytest.mark.parametrize("place", range(12))
def test_errors_hold_no_commands(place: int, frame: SFrame, tmp_path: Path) -> None:
    with pytest.raises(SFrameError) as caught:
        attempts(frame, tmp_path)[place]()
    assert COMMANDS.findall(str(caught.value)) == []


def test_log_lines_hold_no_commands(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "a\x1b[2Jb\u202e.csv"
    path.write_text("a,b\n1,2\n\x1b[31m\n3,4\n", encoding="utf-8")
    with caplog.at_level(logging.INFO, "sframe_spark"), contextlib.suppress(SFrameError):
        SFrame.read_csv(str(path), error_bad_lines=False)
    assert caplog.messages
    assert COMMANDS.findall("".join(caplog.messages)) == []


# A name of a file has no NUL.
HOSTILE_NAME = "".join(character for character in HOSTILE if character != "\0")


@pytest.mark.parametrize("words", ["verify", "verify no", "verify --no", "clean --dry-run", "clean --dry-run no", "doctor"])
def test_what_the_command_line_prints_holds_no_commands(
    words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    command, *options = words.split()
    place = tmp_path / HOSTILE_NAME
    SFrame({"a": [1]}).save(str(place))
    # Anyone may rename things in there, which `clean` tells.
    place.chmod(0o777)
    monkeypatch.setattr("sframe_spark.cli.doctor.findings", lambda: iter([Diagnosis(HOSTILE_NAME, HOSTILE_NAME, HOSTILE_NAME)]))
    monkeypatch.setattr("sframe_spark.__main__.stop", lambda: None)
    arguments = [option if option == "--dry-run" else option + HOSTILE_NAME for option in options]
    with contextlib.suppress(SystemExit):
        main([command, *arguments, *([] if command == "doctor" else [str(place)])])
    lines = "".join(capsys.readouterr()).split("\n")
    # What a name holds begins no line of its own.
    assert any(visible(HOSTILE_NAME, lines=command == "doctor").split("\n")[0] in line for line in lines)
    assert COMMANDS.findall("".join(lines)) == []


def test_ordinary_text_is_shown_as_it_is() -> None:
    text = "".join(map(chr, range(0x20, 0x7F))) + "äß日本語 عربى 😀 e\u0301 \u00a0"
    assert visible(text) == text
    assert visible("a\tb\nc", lines=True) == "a\tb\nc"


def test_values_themselves_are_kept(frame: SFrame) -> None:
    assert frame[frame.column_names()[0]][0] == TEXT
