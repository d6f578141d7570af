"""Where a block of a CSV file ends makes no difference to any row, and neither does who reads it: Arrow, line by line, or by hand."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings, strategies as st

from sframe_spark import SFrame
from sframe_spark.api.io.csv import block_reader as csv_lines, parser as csv_fields
from sframe_spark.api.io.csv.block_reader import ArrowLines, CsvText
from sframe_spark.api.io.csv.options import CsvOptions
from sframe_spark.api.io.csv.parser import NO_NUMBERS
from sframe_spark.api.io.csv.row_blocks import TextBlock
from sframe_spark.errors import InvalidArgumentError
from tests.api.io.csv.csv_by_hand import rows_by_hand
from tests.examples import examples

# Pieces that make well-formed quotes and escapes, and nearly well-formed ones, likely.
PIECES = [
    "a", " ", ",", '"', '""', "\n", '"a"', ',"', '",', "1", "\r\n", "\r", "x y", "é", "\t", '"\n', '\n"', "\\", '\\"', "\\n", ',"b\\"c",',
    "[", "]", "{1", "['", "'", "::", ":", "#", ";", "||", "|", '"b\nc"', ',"x, y"\n', '"x" y "z",', "\ufeff", "1,2\n",
]  # fmt: skip
TEXTS = st.lists(st.sampled_from(PIECES), min_size=1, max_size=16).map("".join)
# What stands for something in a dialect, drawn so that one text may stand for two things.
MARKS = ["#", "'", ",", ";", "\t", " ", "[", "a", "\n", "\r"]


def dialect(**options: Any) -> CsvOptions | None:
    """A dialect, None if it is refused."""
    try:
        return CsvOptions(**options)
    except InvalidArgumentError:
        return None


OPTIONS = st.builds(
    dialect,
    delimiter=st.sampled_from([",", ",", ",", " ", "\t", "::", ",\n", "|"]) | st.sampled_from([*MARKS, '"', '","', "#,"]),
    header=st.booleans(),
    comment_char=st.sampled_from(["", "", "#"]) | st.sampled_from([*MARKS, '"']),
    escape_char=st.sampled_from(["\\", "\\", "", '"', "é"]) | st.sampled_from(MARKS),
    double_quote=st.sampled_from([True, True, False]),
    quote_char=st.sampled_from(['"', '"', "'", "", "é"]) | st.sampled_from(MARKS),
    line_terminator=st.sampled_from(["\n", "\n", ";", "||"]) | st.sampled_from([*MARKS, '"\n', ",\n", "#\n"]),
    skiprows=st.sampled_from([0, 0, 1, 2]),
    skip_initial_space=st.sampled_from([True, True, False]),
).filter(lambda options: options is not None)


def read(text: str, options: CsvOptions, size: int, width: int) -> tuple[list[str], list[tuple[str, ...]], list[str]]:
    """The header, the rows of some columns, and the other lines, in blocks of some bytes; what Arrow reads of them is what is read by line."""
    file = CsvText("file.csv", options, io.BytesIO(text.encode()), size)
    file.start()
    header = file.header()
    rows: list[tuple[str, ...]] = []
    bad: list[str] = []
    for lines in file.blocks(width, range(width)):
        block = lines.read(NO_NUMBERS)
        found, left_out = rows_of(block)
        assert block.rows == len(found)
        if isinstance(lines, ArrowLines):
            assert rows_of(lines.by_line()) == (found, left_out)
        rows, bad = rows + found, bad + left_out
    return header if options.header else [], rows, bad


def rows_of(block: TextBlock) -> tuple[list[tuple[str, ...]], list[str]]:
    return list(zip(*(column.to_pylist() for column in block.columns), strict=True)), list(block.bad_lines)


@settings(max_examples=examples(250), deadline=None)
@given(TEXTS, OPTIONS, st.integers(1, 40), st.integers(1, 3), st.sampled_from([4, 12, csv_fields.LONGEST_RECORD_BYTES]))
@example('a,b\n5" pipe,0\n"x\ny",1\n', CsvOptions(), 12, 2, csv_fields.LONGEST_RECORD_BYTES)
@example('# it"s\na,b\n"x\ny",1 # it"s\n"x\ny",1\n', CsvOptions(comment_char="#"), 12, 2, csv_fields.LONGEST_RECORD_BYTES)
@example('1,"x\\ty"\n1,"x\\"y",3\n', CsvOptions(header=False), 1, 2, csv_fields.LONGEST_RECORD_BYTES)
@example(' "b\nc"', CsvOptions(skip_initial_space=False), 1, 1, 4)
@example("a\n\t\n\t \n", CsvOptions(delimiter="\t"), 1, 1, csv_fields.LONGEST_RECORD_BYTES)
@example("a\n\ufeffb\n", CsvOptions(skiprows=1), 1, 1, csv_fields.LONGEST_RECORD_BYTES)
@example("\ufeffa\nb\n", CsvOptions(skiprows=1), 1, 1, csv_fields.LONGEST_RECORD_BYTES)
@example('a b \n1 2  \n3 \n 4 5 6 \n"7" "" \n', CsvOptions(delimiter=" "), 1, 2, csv_fields.LONGEST_RECORD_BYTES)
def test_where_blocks_end_makes_no_difference(text: str, options: CsvOptions, size: int, width: int, longest: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_fields, "LONGEST_RECORD_BYTES", longest)
        whole = read(text, options, 1 << 20, width)
        assert read(text, options, size, width) == whole
        patch.setattr(csv_lines, "arrow_safe_end", lambda *_: 0)
        assert read(text, options, 1 << 20, width) == whole
        assert read(text, options, size, width) == whole
    header, lines = rows_by_hand(text.removeprefix("\ufeff"), options, longest, width)
    rows = [tuple(line) for line in lines if len(line) == width]
    assert (*whole[:2], len(whole[2])) == (header, rows, len(lines) - len(rows))


@pytest.mark.parametrize("double_quote", [True, False])
@pytest.mark.parametrize("beside", ["", "2, [1]\n", '2,5" pipe\n', '2, "z"\n', '2,"b"\n'])
def test_a_quote_as_escape_character_is_a_doubled_one(double_quote: bool, beside: str) -> None:
    options = CsvOptions(escape_char='"', double_quote=double_quote)
    rows = read('a,b\n1,"x ""hello"" \\n ""b"" """"y"\n' + beside, options, 1 << 20, 2)[1]
    assert rows[0] == ("1", 'x "hello" \\n "b" ""y')


FIELDS = st.text(alphabet="abc 1é", max_size=5) | st.text(alphabet='ab ,\n"1[\r', max_size=6).map(lambda text: '"' + text.replace('"', '""') + '"')


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(st.tuples(FIELDS, FIELDS), max_size=8), st.integers(1, 40), st.sampled_from(["\n", "\r\n", "\r"]))
def test_well_formed_text_comes_back(rows: list[tuple[str, str]], size: int, newline: str) -> None:
    text = "".join(",".join(row) + newline for row in rows)
    meant = [tuple(field[1:-1].replace('""', '"') if field[:1] == '"' else field.strip() for field in row) for row in rows]
    assert read(text, CsvOptions(header=False), size, 2) == ([], meant, [])


@pytest.mark.parametrize(
    ("text", "by_arrow"),
    [
        ('1,"he said ""hi"" to me"\n', True),
        ('1,"C:\\\\x \\"y\\" z\\n1"\n', True),
        ("1,C:\\x\n", True),
        ("1, [2 3]\n", False),
        ('1, "a"\n', False),
        ('1,"\\ta"\n', False),
        ('1,5" pipe\n', False),
        ('1,"open\n', False),
    ],
)
def test_what_arrow_reads(text: str, by_arrow: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    plain = csv_lines.read_line
    monkeypatch.setattr(csv_lines, "read_line", lambda *places, **named: (calls.append("line"), plain(*places, **named))[1])
    file = CsvText("file.csv", CsvOptions(), io.BytesIO(text.encode()), 1 << 20)
    assert sum(block.read(NO_NUMBERS).rows for block in file.blocks(2, [0, 1])) == 1
    assert bool(calls) is not by_arrow


# Recorded from the reference, where it loses no row.
LINES: list[tuple[str, dict[str, Any], list[tuple[str, ...]]]] = [
    ('"x"y,0\n"p\nq",2\n', {}, [('"x"y', "0"), ("p\nq", "2")]),
    ('"x\nz"y,0\n', {}, [('"x\nz"y', "0")]),
    ('"x, z"y,0\n', {}, [('"x, z"y', "0")]),
    ('"x, z" "y",0\n', {}, [('x, z" "y', "0")]),
    ('"he said "hi" to me",0\n', {}, [('he said "hi" to me', "0")]),
    ('"x\nz" y "v\nw",0\n', {}, [('x\nz" y "v\nw', "0")]),
    ('"x""y"z"",0\n', {}, [('x"y"z"', "0")]),
    ('"x" "",0\n', {}, [('x" "', "0")]),
    ('"x\\n, z"y,0\n', {}, [('"x\\n, z"y', "0")]),
    ('"x, z"y#q\nx,1 # it"s\n# it"s\n"p\nq",2\n', {"comment_char": "#"}, [("x", "1"), ("p\nq", "2")]),
    ('["x",1\n"p\nq",2\n', {}, [('["x"', "1"), ("p\nq", "2")]),
    ('\\"x,1\nx\\"x,1\n"p\\"\nq",2\n', {}, [('\\"x', "1"), ('x\\"x', "1"), ('p"\nq', "2")]),
    ('a,x;"1;2",3;[1;2],3', {"line_terminator": ";"}, [("a", "x"), ("1;2", "3"), ("2]", "3")]),
    ('"x y" 2\n"x y"z 3\n', {"delimiter": " "}, [("x y", "2"), ('"x y"z', "3")]),
    # Here it does: a quote amid a field, or one that is not closed, takes rows along.
    ('5" pipe,0\nx,1\n"p\nq",2\n', {}, [('5" pipe', "0"), ("x", "1"), ("p\nq", "2")]),
    ('"5" pipe",0\n"p",2\n', {}, [('5" pipe', "0"), ("p", "2")]),
    ('"open,0\nx,1\n', {}, [('"open', "0"), ("x", "1")]),
]


@pytest.mark.parametrize(("text", "options", "rows"), LINES)
def test_lines_with_doubtful_quotes(text: str, options: dict[str, Any], rows: list[tuple[str, ...]]) -> None:
    for size in (1, 7, 1 << 20):
        assert read(text, CsvOptions(header=False, **options), size, 2)[1] == rows


def test_a_quote_amid_a_field_of_a_file_of_several_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_lines, "BLOCK_BYTES", 1000)
    path = tmp_path / "file.csv"
    path.write_text('name,v\n5" pipe,0\n' + "".join(f'"a\nb",{number}\n' for number in range(1, 2000)))
    sf, left_out = SFrame.read_csv_with_errors(str(path), verbose=False)
    assert list(sf["name"]) == ['5" pipe'] + ["a\nb"] * 1999
    assert list(sf["v"]) == list(range(2000))
    assert not left_out


def test_lines_before_the_header_that_fill_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_lines, "BLOCK_BYTES", 16)
    path = tmp_path / "file.csv"
    path.write_text('left "out\n' * 10 + "# a comment\n\n" * 10 + "a,b\n1,2\n")
    assert list(SFrame.read_csv(str(path), skiprows=10, comment_char="#", verbose=False)) == [{"a": 1, "b": 2}]


def test_a_quote_that_is_never_closed_keeps_memory_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_fields, "LONGEST_RECORD_BYTES", 200)
    monkeypatch.setattr(csv_lines, "BLOCK_BYTES", 100)
    path = tmp_path / "file.csv"
    path.write_text('a,b\n1,"x\n' + "2,y\n" * 500)
    file = CsvText("file.csv", CsvOptions(), io.BytesIO(path.read_bytes()), 100)
    sizes = [len(file.pending) for _ in file.blocks(2, [0, 1])]
    assert max(sizes) <= 400
    assert SFrame.read_csv(str(path)).shape == (501, 2)


@pytest.mark.parametrize("quotes", ["\\'", '\\"', "\\'\\\""])
def test_quotes_that_nothing_closes_are_looked_for_once(quotes: str, tmp_path: Path) -> None:
    """From each of them to the end of the line takes hours."""
    cell = f"['\"{quotes * 100_000}"
    (tmp_path / "a.csv").write_text(f"a;b\n1;{cell}\n2;x\n")
    found = SFrame.read_csv(str(tmp_path / "a.csv"), delimiter=";")
    assert list(found["a"]) == [1, 2] and len(found["b"][0]) > 100_000


@pytest.mark.parametrize("long", ["a,b\n" + "x" * 50_000 + ",1\n", 'a,b\n"' + "x\n" * 25_000 + '",1\n', "x" * 50_000 + ",b\n1,2\n"])
def test_what_a_long_line_is_looked_at_grows_with_it(long: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cell of 48 MB in a first row took 38 s, as little is read of a file until its columns of numbers are known."""
    looked: list[int] = []
    text, arrow_safe_end = CsvText._text, csv_lines.arrow_safe_end
    monkeypatch.setattr(csv_lines, "arrow_safe_end", lambda block, *given: looked.append(len(block)) or arrow_safe_end(block, *given))
    monkeypatch.setattr(CsvText, "_text", lambda self: looked.append(len(self.pending)) or text(self))
    header, rows, bad = read(long, CsvOptions(), 64, 2)
    assert len(header) == 2 and len(rows) == 1 and not bad and sum(looked) < 10 * len(long)


@pytest.mark.parametrize(("pending", "is_last", "starts"), [(b"a\r", False, []), (b"a\r", True, [2]), (b"a\r\nb", False, [3]), (b"a\n", True, [2])])
def test_a_line_is_not_guessed_to_begin_amid_its_end(pending: bytes, is_last: bool, starts: list[int]) -> None:
    """A carriage return that was read may be followed by a line feed that was not."""
    assert CsvText("file.csv", CsvOptions(), io.BytesIO(), 10, pending, is_last)._starts(0) == starts
