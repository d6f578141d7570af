"""Writing CSV: as the reference does, but that every value comes back from ``read_csv`` as it was."""

from __future__ import annotations

import datetime
import gzip
import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from sframe_spark import SArray, SFrame, config
from sframe_spark.errors import InvalidArgumentError, SchemaError, StorageError, UserFunctionError

FACTS = json.loads((Path(__file__).parents[3] / "data" / "csv_export_facts.json").read_text())
TEXTS = {
    "s": [
        "plain", "a b", " lead", "trail ", "x,y", 'q"u', "new\nline", "back\\slash", "tab\tx", "1", "", "NA", "[1]", "cr\rx", "it's", "é",
    ],
}  # fmt: skip
MIXED = {"s": ["x,y", "p", None], "i": [1, 2, None], "l": [[1, "a"], None, []]}
FLOATS = [0.1, 1 / 3, 1e20, 1e-7, 123456789.123456789, 2.0, -0.0, float("inf"), float("nan"), 1e16, 100000.0, 1234567.0, 0.0001]
DATA: dict[str, dict[str, list[Any]]] = {
    "text": TEXTS, "nodouble": TEXTS, "esc_none": TEXTS,
    "floats": {"f": FLOATS},
    "ints": {"i": [2**62, -5, 0]},
    "dictstr": {"d": [{"k": 'a"b', "n": None, "l": [1, 2.5]}, {1: 2}]},
    "list": {"l": [["a\nb", None, 1.5, {"z": 1}], []]},
    **{f"ql{level}": MIXED for level in range(4)},
    "quote_char": {"s": ["x,y", "it's"]},
    "delim": {"s": ["x;y", "a,b"], "i": [1, 2]},
    "delim2": {"s": ["x;y", "a,b"], "i": [1, 2]},
    "prefix": {"s": ["x"], "i": [1]},
    "empty": {}, "norows": {"a": []},
    "tz": {"t": [datetime.datetime(2011, 1, 2, 3, 4, 5, 600000), datetime.datetime(2011, 1, 2, 3, 4, 5)]},
}  # fmt: skip

# What is written otherwise on purpose, as (recorded, ours), and why.
BETTER: dict[str, tuple[list[tuple[str, str]], str]] = {
    "text": ([("\n lead\ntrail \n", '\n" lead"\n"trail "\n'), ('\nq""u\n', '\n"q""u"\n')], "unquoted, space is lost and quotes double when read"),
    "nodouble": ([("\n lead\ntrail \n", '\n" lead"\n"trail "\n')], "as above"),
    "esc_none": ([("\n lead\ntrail \n", '\n" lead"\n"trail "\n'), ('\nq""u\n', '\n"q""u"\n')], "as above"),
    "quote_char": ([("\nit''s\n", "\n'it''s'\n")], "as above"),
    "floats": (
        [("0.333333\n", "0.3333333333333333\n"), ("1.23457e+08", "123456789.12345679"), ("1.23457e+06", "1234567.0")],
        "all digits of a float",
    ),
}  # fmt: skip


def exported(sf: SFrame, place: Path, **options: Any) -> str:
    """The text that a frame is written as."""
    sf.export_csv(str(place / "out.csv"), **options)
    return (place / "out.csv").read_bytes().decode()


@pytest.mark.parametrize("fact", [fact for fact in FACTS if fact["name"] in DATA], ids=lambda fact: fact["name"])
def test_recorded_facts(fact: dict[str, Any], tmp_path: Path) -> None:
    text = fact["text"]
    for recorded, ours in BETTER.get(fact["name"], ([], ""))[0]:
        assert recorded in text
        text = text.replace(recorded, ours)
    found = exported(SFrame(DATA[fact["name"]]), tmp_path, **fact["options"])
    assert found == text


def test_facts_are_used() -> None:
    names = {fact["name"] for fact in FACTS}
    assert set(DATA) <= names
    # The reference writes an empty column name as X1 and sorts it first.
    assert names - set(DATA) == {"names"}


def test_names_are_quoted_as_values_are(tmp_path: Path) -> None:
    sf = SFrame({"a,b": [1], 'q"': [2], "sp ace": [3]})
    assert exported(sf, tmp_path) == '"a,b","q""",sp ace\n1,2,3\n'
    assert SFrame.read_csv(str(tmp_path / "out.csv")).column_names() == ["a,b", 'q"', "sp ace"]


@pytest.mark.parametrize("double_quote", [True, False])
def test_a_quote_as_escape_character_doubles_quotes(tmp_path: Path, double_quote: bool) -> None:
    texts = ['p"q', '"', '""n', "x\ny", "a\\", "tab\tz"]
    sf = SFrame({"a": texts, "b": list(range(6))})
    assert exported(sf, tmp_path, escape_char='"', double_quote=double_quote).startswith('a,b\n"p""q",0\n"""",1\n"""""n",2\n"x\ny",3\n')
    assert list(SFrame.read_csv(str(tmp_path / "out.csv"), escape_char='"', double_quote=double_quote, verbose=False)["a"]) == texts


def test_without_quotes_a_row_is_still_a_line(tmp_path: Path) -> None:
    """What the reference writes, but that it leaves some backslashes as they are."""
    texts = {"a": ["x\ny", 'p"q', "r\rs", "t\\n", "tab\tz", "c,d", ""]}
    assert exported(SFrame(texts), tmp_path, quote_level=3) == 'a\nx\\ny\np""q\nr\\rs\nt\\\\n\ntab\\tz\nc,d\n""\n'
    assert exported(SFrame(texts), tmp_path, quote_level=3, escape_char="!") == 'a\nx!ny\np""q\nr!rs\nt\\n\ntab!tz\nc,d\n""\n'
    assert exported(SFrame(texts), tmp_path, quote_level=3, escape_char="") == 'a\nx\ny\np""q\nr\rs\nt\\n\ntab\tz\nc,d\n""\n'
    assert 'p"q' in exported(SFrame(texts), tmp_path, quote_level=3, double_quote=False)
    nested = {"a": [["x\ny"], ["z"]], "n\nl": [{"k\n": "v"}, {}]}
    assert exported(SFrame(nested), tmp_path, quote_level=3) == 'a,n\\nl\n["x\\ny"],{"k\\n":"v"}\n["z"],{}\n'
    assert exported(SFrame({"a": ["", "q"], "b": ["", ""]}), tmp_path, quote_level=3) == "a,b\n,\nq,\n"


@pytest.mark.parametrize(
    ("dialect", "words"),
    [
        ({"delimiter": "\n"}, "as delimiter each line would be read as one field"),
        ({"delimiter": "|", "line_terminator": "|"}, "must not start with each other"),
        ({"delimiter": "|", "line_terminator": "||"}, "must not start with each other"),
        ({"delimiter": "\r,"}, "must not start with each other"),
        ({"delimiter": '"'}, "the quote_char '\"' occurs in the delimiter"),
        ({"quote_char": "|", "line_terminator": "||"}, "the quote_char"),
        ({"escape_char": "n"}, "escape_char 'n' has a special meaning"),
        ({"quote_char": " "}, "quote_char ' ' has a special meaning"),
    ],
)
def test_dialects_that_cannot_be_read_are_refused(tmp_path: Path, dialect: dict[str, str], words: str) -> None:
    with pytest.raises(InvalidArgumentError, match=words):
        SFrame({"a": [1], "b": [2]}).export_csv(str(tmp_path / "out.csv"), **dialect)
    assert os.listdir(tmp_path) == []


def test_into_a_directory_that_may_not_be_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = os.open

    def refusing(path: Any, flags: int, *rest: Any, **options: Any) -> int:
        if os.path.isdir(path):
            raise PermissionError(13, "Permission denied", path)
        return usual(path, flags, *rest, **options)

    monkeypatch.setattr(os, "open", refusing)
    SFrame({"a": [1]}).export_csv(str(tmp_path / "out.csv"))
    assert (tmp_path / "out.csv").read_text() == "a\n1\n"


def test_only_what_would_not_come_back_is_in_quotes(tmp_path: Path) -> None:
    """What the reference writes without quotes and reads as it was stays so."""
    texts = ["{", "[1]", "{a}", "['a']", "['a]", "a[", "a]", "\ufeffx", "x\ufeff"]
    assert exported(SFrame({"a": texts}), tmp_path) == 'a\n"{"\n[1]\n{a}\n[\'a\']\n"[\'a]"\na[\na]\n"\ufeffx"\nx\ufeff\n'
    assert exported(SFrame({"a": ["t:", ":t", "a:b", "t"]}), tmp_path, delimiter="::") == 'a\n"t:"\n:t\na:b\nt\n'


def test_characters_by_number_are_read_as_in_json() -> None:
    r"""What the reference reads; half of a surrogate pair is no character, where the reference has bytes that are no text for the second one."""
    texts = [
        r'{"a":"\u00e9"}',
        r'{"a":"\u001b"}',
        r'{"a":"\u0000b"}',
        r'{"a":"\ud83d\ude00"}',
        r'{"a":"\u12"}',
        r'{"a":"\ud83dx"}',
        r'{"a":"\ude00"}',
    ]
    assert [row["a"] for row in SArray(texts).astype(dict)] == ["é", "\x1b", "\0b", "😀", r"\u12", r"\ud83dx", r"\ude00"]


def test_a_file_keeps_its_rights_when_it_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    path.write_text("mine")
    path.chmod(0o600)
    SFrame({"a": [1]}).export_csv(str(path))
    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ("a\n1\n", 0o600)


def test_a_link_stays_and_what_it_names_is_written(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    for name, there in (("old", True), ("new", False)):
        target, link = tmp_path / "data" / name, tmp_path / f"{name}.csv"
        if there:
            target.write_text("before")
        link.symlink_to(target)
        SFrame({"a": [1]}).export_csv(str(link))
        assert link.is_symlink() and target.read_text() == "a\n1\n"
    assert sorted(os.listdir(tmp_path / "data")) == ["new", "old"]
    circle = tmp_path / "circle.csv"
    circle.symlink_to(circle)
    with pytest.raises(StorageError, match=r"circle\.csv"):
        SFrame({"a": [1]}).export_csv(str(circle))
    assert circle.is_symlink()


def test_what_is_no_file_is_not_replaced_by_one(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    (tmp_path / "link.csv").symlink_to(pipe)
    for name in ("pipe.csv", "link.csv"):
        with pytest.raises(StorageError, match="is not a regular file"):
            SFrame({"a": [1]}).export_csv(str(tmp_path / name))
    assert stat.S_ISFIFO(pipe.stat().st_mode) and sorted(os.listdir(tmp_path)) == ["link.csv", "pipe.csv"]


def test_compressed(tmp_path: Path) -> None:
    path = str(tmp_path / "out.csv.gz")
    sf = SFrame({"a": [1, 2]})
    sf.save(path)
    assert gzip.decompress(Path(path).read_bytes()) == b"a\n1\n2\n"
    assert list(SFrame(path)["a"]) == [1, 2]
    first = Path(path).read_bytes()
    sf.save(path)
    assert Path(path).read_bytes() == first


def test_columns_are_lines_of_text(tmp_path: Path) -> None:
    path = str(tmp_path / "column.txt")
    SArray(["x,y", None, 'q"u']).save(path, format="text")
    assert Path(path).read_text() == '"x,y"\n\n"q""u"\n'


def test_a_failed_write_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    SFrame({"a": [1]}).export_csv(str(path))
    broken = SFrame({"a": SArray(range(200)).apply(lambda value: 1 // (150 - value))})
    with pytest.raises(ZeroDivisionError):
        broken.export_csv(str(path))
    assert path.read_text() == "a\n1\n"
    assert os.listdir(tmp_path) == ["out.csv"]


def test_others_may_read_the_file_as_any_new_one(tmp_path: Path) -> None:
    (tmp_path / "usual").write_text("")
    SFrame({"a": [1]}).export_csv(str(tmp_path / "out.csv"))
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("usual", "out.csv")]
    assert modes[0] == modes[1]


@pytest.mark.parametrize(
    ("options", "kind", "words"),
    [
        ({"delimiter": ""}, InvalidArgumentError, "at least one character"),
        ({"na_rep": []}, SchemaError, "na_rep must be a text"),
        ({"no_such": 1}, TypeError, "no_such"),
    ],
)
def test_wrong_options(options: dict[str, Any], kind: type[Exception], words: str, tmp_path: Path) -> None:
    with pytest.raises(kind, match=words):
        SFrame({"a": [1]}).export_csv(str(tmp_path / "out.csv"), **options)
    with pytest.raises(StorageError, match="is a directory"):
        SFrame({"a": [1]}).export_csv(str(tmp_path))
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", ["o.csv", "o.csv.gz"])
def test_an_error_of_a_users_function_is_told_as_such_and_not_as_one_of_writing(tmp_path: Path, name: str) -> None:
    def opening(value: int) -> int:
        return len(open(f"/nowhere/{value}").read())

    frame = SFrame({"a": SArray([1, 2]).apply(opening, int)})
    with pytest.raises(UserFunctionError, match="nowhere") as told:
        frame.export_csv(str(tmp_path / name))
    # What an ``except FileNotFoundError`` of the user's own would catch.
    assert isinstance(told.value, FileNotFoundError) and not isinstance(told.value, StorageError)
    assert os.listdir(tmp_path) == []


def test_the_first_row_may_be_without_the_prefix(tmp_path: Path) -> None:
    SFrame({"a": [1, 2, 3]}).export_csv(str(tmp_path / "a.csv"), line_prefix="> ", _no_prefix_on_first_value=True)
    assert (tmp_path / "a.csv").read_text() == "a\n1\n> 2\n> 3\n"
    with config.using(small_rows=0):
        SFrame({"a": [1, 2, 3]}).export_csv(str(tmp_path / "b.csv"), line_prefix=",", file_header="[", header=False, _no_prefix_on_first_value=True)
    assert (tmp_path / "b.csv").read_text() == "[\n1\n,2\n,3\n"


@pytest.mark.parametrize(
    ("name", "first_name", "value"), [("sep", "delimiter", "|"), ("quotechar", "quote_char", "'"), ("lineterminator", "line_terminator", ";\n")]
)
def test_arguments_have_the_other_names_that_the_reference_takes(name: str, first_name: str, value: str, tmp_path: Path) -> None:
    frame = SFrame({"a": ["x", "y|z'"], "b": [1, 2]})
    for place, argument in (("a.csv", name), ("b.csv", first_name)):
        frame.export_csv(str(tmp_path / place), **{argument: value})
    assert (tmp_path / "a.csv").read_text() == (tmp_path / "b.csv").read_text()
    assert list(SFrame.read_csv(str(tmp_path / "a.csv"), verbose=False, **{name: value})) == list(frame)
    with pytest.raises(TypeError, match="writing CSV takes no argument 'delim': it takes delimiter, "):
        frame.export_csv(str(tmp_path / "c.csv"), delim=";")


def test_fields_cannot_be_compared_with_their_quotes(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a\n1\n")
    for read in (SFrame.read_csv, SFrame.read_csv_with_errors):
        with pytest.raises(RuntimeError, match="leave out _only_raw_string_substitutions"):
            read(str(tmp_path / "a.csv"), _only_raw_string_substitutions=True)
