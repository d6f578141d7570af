"""What Arrow's reader finds in objects of numbers and texts is what Python's finds, or it is not asked."""

from __future__ import annotations

import json
import random
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from sframe_spark import SFrame
from sframe_spark.api.io.json import block_reader, reader
from sframe_spark.api.io.json.vectorized_parser import typed_members
from sframe_spark.errors import JsonError
from tests.examples import by_turns, part, square

KNOWN = {"i": pa.int64(), "f": pa.float64(), "t": pa.string(), "n": pa.null()}
GOOD = '{"i":1,"f":0.5,"t":"x","n":null}'
# Lines that Arrow refuses, takes for others, or ends the process at.
ODD = [
    "null", "1", "[1]", '"x"', "NaN", "{}", '{"i":1}{"i":2}', '{"i":1} null', '{"i":1}null{"i":2}', '{"i":1} x', '{"i":1,}', "{", "}", "{}{", "}{",
    '{"i":1.0}', '{"i":9007199254740993}', '{"i":9223372036854775808}', '{"i":-0}', '{"i":true}', '{"i":"1"}', '{"f":NaN}', '{"f":Infinity}',
    '{"f":1e400}', '{"f":1e-400}', '{"f":-0}', '{"f":12345678901234567890}', '{"f":1}', '{"t":"}"}', '{"t":"{"}', '{"t":"},{"}', '{"t":"a\\nb"}',
    '{"t":"\\u00e9\\ud83d\\ude00"}', '{"t":"\\ud800"}', '{"t":"\\u0000"}', '{"t":1}', '{"t":["x"]}', '{"t":{"u":1}}', '{"n":1}', '{"u":1}', "",
    '{"i":1,"i":2}', '{"t":"a\tb"}', '{"i":01}', '{"i":+1}', '{"f":.5}', '{"f":1.}', ' {"i" : 1 } ', '{"i":1}\r', "\ufeff", '{"t":"\ufeff"}', "//",
]  # fmt: skip


def read(place: Path, orient: str) -> Any:
    try:
        frame = SFrame.read_json(place, orient=orient)
        return repr({name: (frame[name].dtype, list(frame[name])) for name in frame.column_names()})
    except JsonError as error:
        return str(error)


def alone(monkeypatch: pytest.MonkeyPatch, place: Path, orient: str) -> Any:
    """The same without Arrow's reader."""
    with monkeypatch.context() as patch:
        for module in (block_reader, block_reader):
            patch.setattr(module, "typed_members", lambda *_, **__: None)
        return read(place, orient)


BLOCKS = [50, 200, 5000]


@pytest.mark.parametrize(("orient", "block"), square(2, ["lines", "records"], BLOCKS))
def test_what_arrow_reads_is_what_python_reads(orient: str, block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "FIRST_BYTES", 40)
    monkeypatch.setattr(reader, "LATER_BYTES", block)
    monkeypatch.setattr(reader.external_file_import, "threads_that_read", lambda: 3)
    place = tmp_path / "x.json"
    for number, odd in by_turns(list(enumerate(ODD)), 3, BLOCKS.index(block)):
        lines = [GOOD] * 6 + [odd] + [GOOD] * (number % 3)
        text = "\n".join(lines) + "\n" if orient == "lines" else "[" + random.Random(number).choice([",", ",\n", "\n, "]).join(lines) + "]"
        place.write_text(text, encoding="utf-8", newline="")
        assert read(place, orient) == alone(monkeypatch, place, orient), odd


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", part(range(20), 2))
def test_numbers_and_texts_by_chance(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    choose = random.Random(seed)
    numbers = [0, 1, -7, 2**53, 2**53 - 1, -(2**62), 10**15]
    floats = [0.1, -1.5, 1e300, 5e-324, 2.0**53, 123456.789, 1 / 3]
    rows = [
        {"i": choose.choice(numbers), "f": choose.choice(floats), "t": choose.choice(["", "é", 'say "x"', "\\", "a\nb", "}", "日本"])}
        for _ in range(90)
    ]
    for row in rows:
        if choose.random() < 0.2:
            del row[choose.choice("ift")]
    monkeypatch.setattr(reader, "FIRST_BYTES", 100)
    monkeypatch.setattr(reader, "LATER_BYTES", choose.choice([100, 1000, 10_000]))
    place = tmp_path / "x.json"
    lines = [json.dumps(row, ensure_ascii=choose.random() < 0.5) for row in rows]
    for orient, text in (("lines", "\n".join(lines)), ("records", f"[{', '.join(lines)}]")):
        place.write_text(text, encoding="utf-8")
        assert read(place, orient) == alone(monkeypatch, place, orient)


def test_lines_of_numbers_and_texts_are_read_by_arrow_and_several_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "FIRST_BYTES", 1000)
    monkeypatch.setattr(reader, "LATER_BYTES", 5000)
    monkeypatch.setattr(reader.external_file_import, "threads_that_read", lambda: 2)
    readers: set[threading.Thread] = set()
    real, meeting = block_reader.typed_members, threading.Barrier(2, timeout=20)

    def heard(text: str, known: Any, on_lines: bool) -> Any:
        found = real(text, known, on_lines)
        assert found is not None or not known
        if known and threading.current_thread() not in readers:
            readers.add(threading.current_thread())
            meeting.wait()
        return found

    monkeypatch.setattr(block_reader, "typed_members", heard)
    (tmp_path / "x.json").write_text("".join(f'{{"a":{row},"b":"{row}"}}\n' for row in range(3000)))
    assert list(SFrame.read_json(tmp_path / "x.json", orient="lines")["a"]) == list(range(3000)) and len(readers) == 2


def test_what_is_unsure_is_not_read() -> None:
    for odd in ODD:
        found = typed_members(f"{GOOD}\n{odd}\n{GOOD}", KNOWN, on_lines=True)
        assert found is None or len(found.counts) == 3


@pytest.mark.parametrize(("text", "end"), [('[{"i":1}] \n', 8), ('[{"i":1}] x', None), ('[{"i":1}]]x', None)])
def test_text_behind_an_array_leaves_it_to_the_parser_that_tells(text: str, end: int | None) -> None:
    whole = SimpleNamespace(_is_last=True, _text=text, _block_bytes=100)
    assert block_reader.JsonText._end_of_block(whole, 0) == end  # type: ignore[arg-type]
