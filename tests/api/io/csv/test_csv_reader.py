"""Reading CSV: what the reference gives, but that no value is changed or lost; in bounded memory, whatever the path taken."""

from __future__ import annotations

import array
import datetime
import gzip
import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from sframe_spark import SFrame
from sframe_spark.api.io.csv import block_reader as csv_lines, reader as csv_reader
from sframe_spark.api.io.csv.column_type_inference_and_field_conversion import CsvForm, narrowest, wider
from sframe_spark.api.io.csv.options import CsvValues
from sframe_spark.config import config
from sframe_spark.errors import CsvWarning, SchemaError, StorageError
from sframe_spark.types import ARRAY, FLOAT, INT, STR
from tests.peaks import PEAK

FACTS = json.loads((Path(__file__).parents[3] / "data" / "csv_facts.json").read_text())
CLASSES = {"$int": int, "$float": float, "$str": str, "$list": list, "$dict": dict, "$array": array.array, "$datetime": datetime.datetime}

# What differs from the reference on purpose: (columns or class, types, rows), and why.
DEVIATIONS: dict[str, tuple[Any, str]] = {
    "inch": ([["a", "b"], ["str", "int"], [('5" pipe', 2), ("6", 3)]], "a quote amid a field swallowed the rest of the file"),
    "late_text": ([["a"], ["str"], [("1",)] * 150 + [("x",)]], "types from the first hundred rows lose the others"),
    "infer_n": ([["a"], ["str"], [("1",), ("2",), ("x",)]], "as above"),
    "quoted_number_na": ([["a"], ["int"], [(None,), (1,)]], "quotes give a field no other value"),
    "delim_empty": (["raises", "ValueError"], "no delimiter at all is a mistake"),
    "dt": (
        [["a"], ["datetime"], [(datetime.datetime(2011, 1, 2, 3, 4, 5, tzinfo=zone),) for zone in (None, None, datetime.UTC, None)]],
        "the reference reads no date at all",
    ),
}


def write(place: Path, text: str | bytes, name: str = "file.csv") -> str:
    """A file with just these bytes."""
    path = place / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return str(path)


def contents(sf: SFrame) -> list[Any]:
    """Names, types and rows."""
    return [sf.column_names(), [kind.__name__ for kind in sf.column_types()], [tuple(row.values()) for row in sf]]


def classes(hints: Any) -> Any:
    """Hints with names of classes replaced by classes."""
    if isinstance(hints, dict):
        return {name: classes(hint) for name, hint in hints.items()}
    if isinstance(hints, list):
        return [classes(hint) for hint in hints]
    return CLASSES.get(hints, hints)


def expected(fact: dict[str, Any]) -> Any:
    """What must be found for a recorded fact."""
    if fact["name"] in DEVIATIONS:
        return DEVIATIONS[fact["name"]][0]
    found = fact["expect"]
    return found if found[0] == "raises" else [*found[:2], eval(found[2], {"array": array.array, "nan": math.nan, "inf": math.inf})]


@pytest.mark.parametrize("fact", FACTS, ids=[fact["name"] for fact in FACTS])
@pytest.mark.parametrize("in_memory", [True, False], ids=["memory", "segments"])
def test_recorded_facts(fact: dict[str, Any], in_memory: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not in_memory:
        monkeypatch.setattr(csv_reader, "IN_MEMORY_ROWS", 0)
    path = write(tmp_path, fact["text"])
    options = {name: classes(value) if name == "column_type_hints" else value for name, value in fact["options"].items()}
    wanted = expected(fact)
    if wanted[0] == "raises":
        with pytest.raises({"ValueError": ValueError, "TypeError": TypeError, "RuntimeError": RuntimeError}[wanted[1]]):
            SFrame.read_csv(path, **options)
    else:
        assert repr(contents(SFrame.read_csv(path, **options))) == repr(wanted)


def test_deviations_are_about_recorded_facts() -> None:
    names = [fact["name"] for fact in FACTS]
    assert len(set(names)) == len(names)
    assert set(DEVIATIONS) <= set(names)


@pytest.mark.parametrize("misfit", ["x", "2.5", ""])
def test_a_late_value_of_another_type_widens_the_column(misfit: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_reader, "IN_MEMORY_ROWS", 10)
    monkeypatch.setattr(csv_lines, "BLOCK_BYTES", 64)
    path = write(tmp_path, "a,b\n" + "".join(f"{i},{i}\n" for i in range(200)) + f"{misfit},7\n" + "8,9\n")
    sf = SFrame.read_csv(path)
    kind = {"x": str, "2.5": float, "": int}[misfit]
    assert sf.column_types() == [kind, int]
    assert list(sf["a"])[:2] == [kind(0), kind(1)]
    assert list(sf["a"])[-2:] == [{"x": "x", "2.5": 2.5, "": None}[misfit], kind(8)]
    assert list(sf["b"])[-3:] == [199, 7, 9]


def test_many_segments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_reader, "IN_MEMORY_ROWS", 10)
    monkeypatch.setattr(csv_lines, "BLOCK_BYTES", 256)
    path = write(tmp_path, "a,t\n" + "".join(f'{i},"text, {i}"\n' for i in range(1000)))
    # As many rows as find room stay in memory.
    for kept_memory, fewest in ((None, 0), (5_000, 5), (1, 5)):
        with config.using(segment_rows=100, temporary_directory=str(tmp_path), kept_memory=kept_memory):
            sf = SFrame.read_csv(path)
        assert list(sf["a"]) == list(range(1000))
        assert sf["t"][777] == "text, 777"
        assert len(list(tmp_path.rglob("segment-*.parquet"))) > fewest or not fewest
        assert bool(list(tmp_path.rglob("segment-*.parquet"))) == bool(fewest)


def test_a_large_file_is_read_in_bounded_memory(tmp_path: Path) -> None:
    line = ",".join(f"value number {i}" for i in range(20))
    path = write(tmp_path, "".join(f"c{i}," for i in range(19)) + "c19\n" + (line + "\n") * 200_000)
    size = Path(path).stat().st_size
    assert size > 60_000_000
    program = (
        PEAK
        + f"""
from sframe_spark import SFrame
from sframe_spark.api.io.csv import block_reader as csv_lines
from sframe_spark.config import config
csv_lines.BLOCK_BYTES = 2**20
SFrame.read_csv({path!r}, nrows=10)
before = peak()
with config.using(segment_rows=20_000, kept_memory=2**24):
    sf = SFrame.read_csv({path!r})
print(len(sf), peak() - before)
"""
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=240)
    rows, grown = map(int, done.stdout.split())
    assert rows == 200_000
    # The whole file at once takes more than three times its size.
    assert grown < 1.5 * size


def test_several_files(tmp_path: Path) -> None:
    for number in (10, 9, 11):
        write(tmp_path, f"a,b\n{number},x\n", f"part-{number:02d}.csv")
    (tmp_path / "_SUCCESS").write_text("")
    (tmp_path / ".hidden").write_text("1,2,3")
    for url in (str(tmp_path), str(tmp_path / "part-*.csv"), tmp_path):
        assert contents(SFrame.read_csv(url)) == [["a", "b"], ["int", "str"], [(9, "x"), (10, "x"), (11, "x")]]
    assert len(SFrame.read_csv(str(tmp_path), nrows=2)) == 2
    write(tmp_path, "a,b,c\n1,2,3\n", "part-12.csv")
    write(tmp_path, "", "part-08.csv")
    with pytest.raises(StorageError, match=r"part-12.csv has 3 columns, .*part-09.csv has 2"):
        SFrame.read_csv(str(tmp_path))


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ("city,high,low\nNY,40,30\n", "city,low,high\nNY,31,41\n", "has 'low' in the header where .*first.csv has 'high'"),
        ("city,high\nNY,40\n", "LA,70\nNY,42\n", "has 'LA' in the header where .*first.csv has 'city'.*header=False"),
        ("a,b\n1,2\n", "a,\n1,2\n", "has 'X2' in the header where .*first.csv has 'b'"),
    ],
)
def test_files_with_other_headers_are_refused(tmp_path: Path, first: str, second: str, message: str) -> None:
    write(tmp_path, first, "first.csv")
    write(tmp_path, second, "second.csv")
    write(tmp_path, "\n\n", "before any line.csv")
    with pytest.raises(StorageError, match=f"second.csv {message}"):
        SFrame.read_csv(str(tmp_path))
    assert len(SFrame.read_csv(str(tmp_path), header=False)) == first.count("\n") + second.count("\n")


@pytest.mark.parametrize("text", ["[1 2] [3]", "[1 2] x]", '{"a":1} {"b":2}', "[1,x],[3]", "[a]]", "{} }"])
def test_what_is_more_than_a_list_is_a_text(tmp_path: Path, text: str) -> None:
    """As recorded of the reference, which takes the first list or dict where one is asked for."""
    path = write(tmp_path, f"a\n{text}\n{text[0]}{text[-1]}\n", "some.csv")
    assert list(SFrame.read_csv(path, delimiter=";")["a"]) == [text, text[0] + text[-1]]
    kind, first = (dict, [{"a": 1}] if "a" in text else [{}]) if text[0] == "{" else (list, None)
    found = list(SFrame.read_csv(path, delimiter=";", column_type_hints=kind)["a"])
    assert len(found) == 2 and (first is None or found[:1] == first)


@pytest.mark.parametrize("batch", [1, 7, 1 << 20])
@pytest.mark.parametrize(("nrows", "found"), [(1, [1]), (2, [1, 2]), (3, [1, 2, 3]), (9, [1, 2, 3])])
def test_rows_that_a_hint_leaves_out_do_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, batch: int, nrows: int, found: list[int]) -> None:
    monkeypatch.setattr(csv_lines, "BLOCK_BYTES", batch)
    path = write(tmp_path, "a,b\nx,0\n1,0\ny,0\nz,0\n2,0\n3,0\nu,0\n", "some.csv")
    sf, left_out = SFrame.read_csv_with_errors(path, nrows=nrows, column_type_hints={"a": int})
    assert list(sf["a"]) == found
    assert [len(lines) for lines in left_out.values()] == [{1: 1, 2: 3, 3: 3, 9: 4}[nrows]]


def test_files_with_a_header_written_otherwise(tmp_path: Path) -> None:
    for number, header in enumerate(["a,b", '"a", b', "a,b\r"]):
        write(tmp_path, f"{header}\n{number},x\n", f"part-{number}.csv")
    write(tmp_path, "", "part-9.csv")
    assert contents(SFrame.read_csv(str(tmp_path))) == [["a", "b"], ["int", "str"], [(0, "x"), (1, "x"), (2, "x")]]


def test_compressed_files(tmp_path: Path) -> None:
    path = write(tmp_path, gzip.compress(b"a\n1\n2\n"), "file.csv.gz")
    assert list(SFrame.read_csv(path)["a"]) == list(SFrame(path)["a"]) == [1, 2]
    broken = write(tmp_path, b"not compressed at all", "broken.csv.gz")
    with pytest.raises(StorageError, match=r"broken.csv.gz"):
        SFrame.read_csv(broken)
    cut = write(tmp_path, gzip.compress(b"a\n" + b"12345\n" * 10_000)[:60], "cut.csv.gz")
    with pytest.raises(StorageError, match=r"cut.csv.gz"):
        SFrame.read_csv(cut)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"there is no file .*none.csv: check the path"):
        SFrame.read_csv(str(tmp_path / "none.csv"))
    with pytest.raises(StorageError, match=r"there is no file .*\*.csv"):
        SFrame.read_csv(str(tmp_path / "*.csv"))
    with pytest.raises(StorageError, match="there is no file in"):
        SFrame.read_csv(str(tmp_path))
    latin = write(tmp_path, "a,b\nf\xfcr,1\n".encode("latin-1"))
    with pytest.raises(ValueError, match=r"file.csv, line 2, column 2: the byte 0xfc is not text in UTF-8") as caught:
        SFrame.read_csv(latin)
    assert isinstance(caught.value, StorageError)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"usecols": ["prise"]}, "the file has no column 'prise', its columns are 'a', 'b'"),
        ({"column_type_hints": [int]}, "1 types for 2 columns"),
        ({"column_type_hints": {"a": "integ"}}, "'integ' is not a column type, did you mean 'int'"),
        ({"nrows": "x"}, "nrows must be a whole number, got 'x'"),
        ({"skiprows": 1.5}, "skiprows must be a whole number"),
        ({"quote_char": "''"}, "quote_char must be one character or empty"),
        ({"delimiter": 5}, "delimiter must be a text"),
        ({"delimiter": '"'}, "quote_char and delimiter must differ, '\"' is in both: choose another one, or ''"),
        ({"comment_char": '"'}, "comment_char and quote_char must differ, both are '\"'"),
        ({"comment_char": ","}, "comment_char and delimiter must differ"),
        ({"delimiter": "\\"}, "escape_char and delimiter must differ"),
        ({"comment_char": "#", "escape_char": "#"}, "comment_char and escape_char must differ"),
        ({"quote_char": "\r"}, "quote_char and line_terminator must differ"),
        ({"line_terminator": '"\n'}, "quote_char and line_terminator must differ"),
        ({"line_terminator": ",\n"}, "line_terminator ',.n' must not start with the delimiter ',': no line would end"),
        ({"quote_char": "\t"}, "quote_char must not be white space"),
        ({"na_values": [1]}, "na_values must contain texts"),
        ({"no_such": 1}, "no_such"),
    ],
)
def test_wrong_arguments(options: dict[str, Any], words: str, tmp_path: Path) -> None:
    path = write(tmp_path, "a,b\n1,2\n")
    with pytest.raises((ValueError, TypeError), match=words):
        SFrame.read_csv(path, **options)
    with pytest.raises(SchemaError, match=r"a path must be a str.*got int"):
        SFrame.read_csv(5)


@pytest.mark.parametrize(
    "options",
    [
        {"escape_char": '"'},
        {"quote_char": "", "delimiter": '"'},
        {"escape_char": "", "delimiter": "\\"},
        {"delimiter": "\n", "quote_char": "\0"},
        {"delimiter": "|", "comment_char": "#", "quote_char": "'", "line_terminator": "\r\n"},
        {"delimiter": " ", "line_terminator": ";"},
        {"delimiter": "::", "line_terminator": ":"},
    ],
)
def test_dialects_without_a_doubt_are_taken(options: dict[str, Any], tmp_path: Path) -> None:
    assert SFrame.read_csv(write(tmp_path, "a\n1\n"), verbose=False, **options).num_columns() == 1


def test_types_are_the_narrowest_that_change_no_value() -> None:
    cases = {
        INT: ["1", "-2", "+3", "", "NA", "9223372036854775807", "007", "-00", "0009223372036854775807"],
        FLOAT: ["1", "2.50", "1e-7", "nan", "-Inf", "007", "00.5"],
        STR: ["1", "0009223372036854775808"],
        ARRAY: ["[1, 2]", "[]"],
    }
    for kind, texts in cases.items():
        form = narrowest(pa.array(texts), CsvValues())
        assert form is not None and form.type == kind, texts
    for texts in (["007", "x"], ["01.5.2"], ["1_000"], ["[1] and more"], ["1.5", "9223372036854775808"]):
        assert narrowest(pa.array(texts), CsvValues()) == CsvForm.TEXT, texts
    assert narrowest(pa.array(["", "NA"]), CsvValues()) is None
    assert wider(CsvForm.INT, CsvForm.TEXT) == CsvForm.TEXT
    assert wider(None, None) is None


@pytest.mark.spark
def test_spark_reads_what_was_read(tmp_path: Path, spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_reader, "IN_MEMORY_ROWS", 10)
    path = write(tmp_path, "a,l\n" + "".join(f'{i},"[{i}, x]"\n' for i in range(100)))
    with config.using(small_rows=0):
        sf = SFrame.read_csv(path).sort("a", ascending=False)
        assert sf[0] == {"a": 99, "l": [99, "x"]}


# Recorded from the reference: names and rows, white space being no part of values.
SPACED: list[tuple[str, dict[str, Any], list[str], list[tuple[Any, ...]]]] = [
    (" a,b ,\tc\n1,x, y\n", {}, ["a", "b", "\tc"], [(1, "x", "y")]),
    ("a, a,  a\n1,2,3\n", {}, ["a", " a", "  a"], [(1, 2, 3)]),
    ("zzz\n  a , b\n1,2\n", {"skiprows": 1}, ["a", " b"], [(1, 2)]),
    ("a, b # c\n1,2\n", {"comment_char": "#"}, ["a", " b"], [(1, 2)]),
    ("a:: b :: c\n1:: 2:: 3\n", {"delimiter": "::"}, ["a", " b", " c"], [(1, 2, 3)]),
    ('a, "b" c\n1,2\n', {}, ["a", ' "b" c'], [(1, 2)]),
    ('a, "b,c\n1,2,3\n', {}, ["a", ' "b', "c"], [(1, 2, 3)]),
    ('a,b\n1, "x, y"\n2,  "z"\n3, p \n', {}, ["a", "b"], [(2, "z"), (3, "p")]),
    ("a,b\n1, [1, 2]\n2,  [3]\n", {}, ["a", "b"], [(2, array.array("d", [3]))]),
    ("a b\n1 2\n 3 4\n3  4\n", {"delimiter": " "}, ["a", "b"], [(1, 2)]),
    (" 1, 2 \n x, y\n", {"header": False}, ["X1", "X2"], [("1", "2"), ("x", "y")]),
]


@pytest.mark.parametrize(("text", "options", "names", "rows"), SPACED)
def test_space_before_a_field_that_is_not_skipped(text: str, options: dict[str, Any], names: list[str], rows: list[Any], tmp_path: Path) -> None:
    found = contents(SFrame.read_csv(write(tmp_path, text), skip_initial_space=False, verbose=False, **options))
    assert found[0] == names
    assert found[2] == rows


def test_blanks_at_the_end_of_a_header_divide_no_name(tmp_path: Path) -> None:
    text = "a b \n1 2 \n3 4\n5  6   \n"
    assert contents(SFrame.read_csv(write(tmp_path, text), delimiter=" ", verbose=False))[::2] == [["a", "b"], [(1, 2), (3, 4), (5, 6)]]
    # Blanks that stand for a field that is missing do.
    text = "a b\n1 2\n3 \n"
    assert contents(SFrame.read_csv(write(tmp_path, text), delimiter=" ", verbose=False))[::2] == [["a", "b"], [(1, 2), (3, None)]]


def test_space_before_a_name_is_skipped(tmp_path: Path) -> None:
    assert SFrame.read_csv(write(tmp_path, ' a, "b" ,\tc\n1,2,3\n'), verbose=False).column_names() == ["a", "b", "c"]


@pytest.mark.parametrize("option", ["nrows", "skiprows"])
def test_number_of_lines_that_is_none(option: str, tmp_path: Path) -> None:
    path = write(tmp_path, "a\n1\n")
    # A ValueError and a RuntimeError in the reference.
    for value, cls in (("a", ValueError), ([1], RuntimeError), ("a", SchemaError)):
        with pytest.raises(cls, match=f"{option} must be a whole number, got "):
            SFrame.read_csv(path, verbose=False, **{option: value})


@pytest.mark.parametrize("large", ["1e400", "-1e309", "9" * 400, "9" * 400 + ".5", "1" + "0" * 30])
def test_numbers_that_no_column_of_numbers_holds_are_text(large: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "large.csv"
    for rows in ([large], ["1.5", large], ["1"] * 20 + [large], [large] + ["1"] * 20):
        for in_memory in (100, 1):
            monkeypatch.setattr(csv_reader, "IN_MEMORY_ROWS", in_memory)
            path.write_text("a\n" + "\n".join(rows) + "\n")
            found = list(SFrame.read_csv(str(path), verbose=False)["a"])
            assert found == rows or (found == list(map(float, rows)) and all(map(math.isfinite, found)))


@pytest.mark.parametrize("rows", ["ann;1,5", "ann;15"])
def test_another_delimiter_is_asked_for(rows: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(f"name;price\n{rows}\n")
    with pytest.warns(CsvWarning, match="did you mean delimiter=';'") as warned:
        SFrame.read_csv(str(tmp_path / "a.csv"))
    assert len(warned) == 1
    (tmp_path / "b.csv").write_text("name,price\nann;1,5,3\n")
    with pytest.warns(CsvWarning) as warned:
        SFrame.read_csv(str(tmp_path / "b.csv"))
    assert ["left out" in str(warning.message) and "did you mean" not in str(warning.message) for warning in warned] == [True]


@pytest.mark.filterwarnings("error::sframe_spark.errors.CsvWarning")
@pytest.mark.parametrize(("text", "options"), [("name;price\nann;1\n", {"delimiter": ";"}), ("a;b\nx\n", {"delimiter": "\n"}), ("name\nann;1\n", {})])
def test_one_column_may_be_meant(text: str, options: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(text)
    assert len(SFrame.read_csv(str(tmp_path / "a.csv"), **options)) == 1


def test_a_file_without_lines_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("")
    with pytest.warns(CsvWarning, match=r"a\.csv has no lines, so the frame has no columns$"):
        assert SFrame.read_csv(str(tmp_path / "a.csv")).shape == (0, 0)


def test_arguments_of_pandas(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match=r"instead of parse_dates read texts, then .*str_to_datetime"):
        SFrame.read_csv(str(tmp_path / "a.csv"), parse_dates=["day"])


@pytest.mark.parametrize(
    ("header", "names", "told"), [(0, ["X1", "X2"], "it means False"), (1, ["a", "b"], "it means True"), (True, ["a", "b"], None)]
)
def test_a_number_of_a_line_is_no_header(header: Any, names: list[str], told: str | None, tmp_path: Path, caplog: Any) -> None:
    """As in the reference; who comes from pandas is told."""
    (tmp_path / "x.csv").write_text("a,b\n1,2\n")
    assert SFrame.read_csv(tmp_path / "x.csv", header=header).column_names() == names
    found = [record.getMessage() for record in caplog.records if "header" in record.getMessage()]
    assert [told in text for text in found] == ([True] if told else [])
