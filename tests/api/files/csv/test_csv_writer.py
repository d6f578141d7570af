"""Writing CSV: as the reference does, but that every value comes back from ``read_csv`` as it was."""

from __future__ import annotations

import array
import datetime
import gzip
import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sframe_spark import SArray, SFrame, config
from sframe_spark.api.files.csv.writer import nested_text
from sframe_spark.errors import InvalidArgumentError, SchemaError, StorageError, UserFunctionError
from tests.examples import examples

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


VALUES = st.text(alphabet="ab ,\"'\t\n\r\\[]{}:é1", max_size=8)
NESTED = st.recursive(
    st.none() | st.integers(-5, 5) | VALUES.filter(bool),
    lambda inner: st.lists(inner, max_size=3).filter(lambda items: items != [None]) | st.dictionaries(VALUES.filter(bool), inner, max_size=2),
    max_leaves=5,
)
# The format has no text for a list of nothing but one missing element.
LISTS = st.lists(NESTED, max_size=3).filter(lambda items: items != [None])
DICTS = st.dictionaries(VALUES.filter(bool), NESTED, max_size=2)


def with_lists(value: Any) -> Any:
    """A value with lists in place of the arrays that lists of numbers become."""
    if isinstance(value, (list, array.array)):
        return [with_lists(item) for item in value]
    return {key: with_lists(item) for key, item in value.items()} if isinstance(value, dict) else value


@settings(max_examples=examples(50), deadline=None)
@given(
    st.lists(
        st.tuples(VALUES, st.integers(-(2**63) + 1, 2**63 - 1), st.floats(), LISTS, DICTS),
        min_size=1,
        max_size=6,
    )
)
def test_every_value_comes_back(tmp_path_factory: Any, rows: list[tuple[Any, ...]]) -> None:
    texts, ints, floats, lists, dicts = (list(column) for column in zip(*rows, strict=True))
    path = str(tmp_path_factory.mktemp("csv") / "out.csv")
    sf = SFrame({"t": SArray(texts, str), "i": SArray(ints, int), "f": SArray(floats, float), "l": SArray(lists, list), "d": SArray(dicts, dict)})
    sf.export_csv(path)
    back, left_out = SFrame.read_csv_with_errors(path, column_type_hints=dict(zip(sf.column_names(), sf.column_types(), strict=True)))
    assert left_out == {}
    assert list(back["t"]) == texts
    assert list(back["i"]) == ints
    assert repr(list(back["f"])) == repr(floats)
    assert with_lists(list(back["l"])) == with_lists(lists)
    assert with_lists(list(back["d"])) == with_lists(dicts)


# Everything that means something to a reader, and what may stand next to it.
HOSTILE = st.text(
    st.sampled_from("ab1,;|:<>\"'[]{}\\\t\n\r\x00\x0b\x0c\x1b\x1c\x7f\x85\u2028\u2029\u00a0\ufeff #-.é😀 ") | st.characters(codec="utf-8"), max_size=6
)
WORDS = st.sampled_from(["nan", "null", "None", "-", "[", "{", "[]", "{}", "['", "]'", "#", "\ufeff", "\ufeffx", "007", "1e5", "na", " NA"])
# Read as missing, in quotes too, as the reference does.
ANY_TEXT = (HOSTILE | WORDS).filter(lambda text: text != "NA")
DELIMITERS = st.sampled_from([",", ";", "|", "\t", ":", "::", ":::", "||", "<>", ":;", ",,", ":;:", "ab", "a:a"])


@settings(max_examples=examples(100), deadline=None)
@given(
    st.integers(1, 3).flatmap(lambda width: st.lists(st.lists(ANY_TEXT, min_size=width, max_size=width), min_size=1, max_size=5)),
    DELIMITERS,
    st.booleans(),
)
def test_any_text_comes_back_whatever_the_delimiter(tmp_path_factory: Any, rows: list[list[str]], delimiter: str, header: bool) -> None:
    path = str(tmp_path_factory.getbasetemp() / "texts.csv")
    columns = [list(column) for column in zip(*rows, strict=True)]
    SFrame({f"X{place + 1}": SArray(column, str) for place, column in enumerate(columns)}).export_csv(path, delimiter=delimiter, header=header)
    back, left_out = SFrame.read_csv_with_errors(path, delimiter=delimiter, header=header, column_type_hints=str)
    assert left_out == {}
    assert [list(back[name]) for name in back.column_names()] == columns


# Marks that numbers, dates, quotes and white space have in common with what divides fields and lines.
MARKS = st.sampled_from(
    [*" ,;|\t.-+eainf0125T\"'\\[]{}é\n\r", "  ", " ,", ", ", "\t\t", "\t,", "1.", ".5", "na", "\r\n", ",\n", "\n,", "||", "a|", "|a", " |", "\t;"]
)
QUOTES = st.sampled_from('"""\'1-e[n ')
MOMENTS = st.datetimes(min_value=datetime.datetime(1, 1, 1), timezones=st.sampled_from([None, datetime.UTC]))
COLUMNS: list[tuple[type, Any]] = [
    (int, st.integers(-200, 200) | st.integers(-(2**63) + 1, 2**63 - 1)),
    (float, st.floats()),
    (str, ANY_TEXT),
    (datetime.datetime, MOMENTS),
    (list, LISTS),
]


@st.composite
def hostile_frames(draw: Any) -> SFrame:
    """Frames with columns of all kinds, values missing."""
    rows = draw(st.integers(1, 4))
    kinds = draw(st.lists(st.sampled_from(COLUMNS), min_size=1, max_size=4))
    return SFrame(
        {f"X{place}": SArray(draw(st.lists(st.none() | values, min_size=rows, max_size=rows)), kind) for place, (kind, values) in enumerate(kinds)}
    )


@settings(max_examples=examples(120), deadline=None)
@given(
    hostile_frames(),
    MARKS,
    st.just("\n") | MARKS,
    QUOTES,
    st.sampled_from("\\\\1-,") | st.just(""),
    st.sampled_from(["", "", "NA", "-", "1", "[", "a,b", "x|"]),
)
def test_values_come_back_or_nothing_is_written(
    tmp_path_factory: Any, sf: SFrame, delimiter: str, line_terminator: str, quote_char: str, escape_char: str, na_rep: str
) -> None:
    path = tmp_path_factory.getbasetemp() / "marks.csv"
    path.write_text("before")
    # Without a text for it, a missing value of an only column is a blank line, which is no row.
    na_rep = na_rep or ("NA" if sf.num_columns() == 1 else "")
    dialect = {"delimiter": delimiter, "line_terminator": line_terminator, "quote_char": quote_char, "escape_char": escape_char}
    try:
        sf.export_csv(str(path), na_rep=na_rep, **dialect)
    except InvalidArgumentError:
        assert path.read_text() == "before"
        return
    hints = dict(zip(sf.column_names(), sf.column_types(), strict=True))
    na_values = [na_rep] if na_rep else []
    back, left_out = SFrame.read_csv_with_errors(str(path), column_type_hints=hints, na_values=na_values, **dialect)
    assert left_out == {}
    assert back.column_names() == sf.column_names()
    for name, kind in hints.items():
        # What is not there and what means that are one to the reader, in texts an empty one.
        missing = "" if kind is str and not na_rep else None
        expected = [missing if value is None or str(value) in na_values else value for value in sf[name]]
        found = list(back[name])
        # NaN is not equal to itself, and a whole number in a list may become a float.
        assert repr(found) == repr(expected) or with_lists(found) == with_lists(expected), path.read_bytes()


@pytest.mark.parametrize("delimiter", [" ", "  ", ".", "-", "e", "1", "a", "\t"])
@pytest.mark.parametrize("line_terminator", ["\n", "|", "0"])
def test_numbers_and_missing_values_come_back_without_hints(tmp_path: Path, delimiter: str, line_terminator: str) -> None:
    path, dialect = str(tmp_path / "out.csv"), {"delimiter": delimiter, "line_terminator": line_terminator}
    columns = {"p": [None, -1, 21], "q": [1.5, None, -2e-30], "r": [10, 0, None], "s": ["x", "y-1.0 a", "e"]}
    SFrame(columns).export_csv(path, **dialect)
    back = SFrame.read_csv(path, **dialect)
    assert {name: list(back[name]) for name in back.column_names()} == columns


@pytest.mark.parametrize("columns", [{"a": [None, 1, None]}, {"a": [None, 1, None], "b": [1, None, None]}])
@pytest.mark.parametrize("delimiter", [",", " ", "\t"])
@pytest.mark.parametrize("na_rep", [" ", ",", '"', "[", "x y\n", "\\N", "NA"])
def test_whatever_stands_for_a_missing_value_is_a_field(tmp_path: Path, columns: dict[str, list[Any]], delimiter: str, na_rep: str) -> None:
    path = str(tmp_path / "out.csv")
    SFrame(columns).export_csv(path, delimiter=delimiter, na_rep=na_rep)
    back = SFrame.read_csv(path, delimiter=delimiter, na_values=[na_rep])
    assert {name: list(back[name]) for name in back.column_names()} == columns
    assert na_rep not in ("\\N", "NA") or '"' not in Path(path).read_text()


@pytest.mark.parametrize(
    ("dialect", "words"),
    [
        ({"delimiter": "\n"}, "as delimiter each line would be read as one field"),
        ({"delimiter": "|", "line_terminator": "|"}, "starts with the other"),
        ({"delimiter": "|", "line_terminator": "||"}, "starts with the other"),
        ({"delimiter": "\r,"}, "starts with the other"),
        ({"delimiter": '"'}, "the quote_char '\"' is in the delimiter"),
        ({"quote_char": "|", "line_terminator": "||"}, "the quote_char"),
        ({"escape_char": "n"}, "escape_char 'n' has a meaning"),
        ({"quote_char": " "}, "quote_char ' ' has a meaning"),
    ],
)
def test_dialects_that_cannot_be_read_are_refused(tmp_path: Path, dialect: dict[str, str], words: str) -> None:
    with pytest.raises(InvalidArgumentError, match=words):
        SFrame({"a": [1], "b": [2]}).export_csv(str(tmp_path / "out.csv"), **dialect)
    assert os.listdir(tmp_path) == []


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(ANY_TEXT.filter(bool), min_size=1, max_size=4, unique=True), DELIMITERS)
def test_any_name_comes_back(tmp_path_factory: Any, names: list[str], delimiter: str) -> None:
    path = str(tmp_path_factory.getbasetemp() / "names.csv")
    SFrame({name: [1] for name in names}).export_csv(path, delimiter=delimiter)
    back = SFrame.read_csv(path, delimiter=delimiter)
    assert (back.column_names(), len(back)) == (sorted(names), 1)


@settings(max_examples=examples(100), deadline=None)
@given(st.dictionaries(HOSTILE.filter(bool), HOSTILE.filter(bool), max_size=3), st.lists(HOSTILE.filter(bool), min_size=1, max_size=3))
def test_any_text_in_a_list_or_dict_comes_back(tmp_path_factory: Any, pairs: dict[str, str], items: list[str]) -> None:
    path = str(tmp_path_factory.getbasetemp() / "nested.csv")
    SFrame({"d": SArray([pairs], dict), "l": SArray([items], list)}).export_csv(path)
    back = SFrame.read_csv(path, column_type_hints={"d": dict, "l": list})
    assert (list(back["d"]), list(back["l"])) == ([pairs], [items])


@pytest.mark.parametrize("values", [[1, None, 3, None], [None, 1.5], [["a"], None], [{"a": 1}, None], [None, "x", "", None]])
def test_missing_values_of_an_only_column_come_back_with_a_text_of_their_own(tmp_path: Path, values: list[Any]) -> None:
    path = str(tmp_path / "out.csv")
    SFrame({"a": values}).export_csv(path, na_rep="NA")
    assert list(SFrame.read_csv(path)["a"]) == values


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
    r"""What the reference reads; half of a surrogate pair is no character."""
    texts = [
        r'{"a":"\u00e9"}',
        r'{"a":"\u001b"}',
        r'{"a":"\u0000b"}',
        r'{"a":"\ud83d\ude00"}',
        r'{"a":"\u12"}',
        r'{"a":"\ud83dx"}',
        r'{"a":"\ude00"}',
    ]
    assert [row["a"] for row in SArray(texts).astype(dict)] == ["é", "\x1b", "\0b", "😀", "u12", "ud83dx", "ude00"]


def test_negative_zero_comes_back(tmp_path: Path) -> None:
    zeros = array.array("d", [-0.0, 5.0])
    assert exported(SFrame({"v": [zeros], "w": [{"k": zeros, "f": -0.0}]}), tmp_path) == 'v,w\n"[-0 5]","{""k"":[-0.0,5],""f"":-0.0}"\n'
    back = SFrame.read_csv(str(tmp_path / "out.csv"))
    assert repr(list(back["v"])) == "[array('d', [-0.0, 5.0])]"
    assert repr(back["w"][0]["k"][0]) == "-0.0"


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


def test_dates_come_back(tmp_path: Path) -> None:
    zone = datetime.timezone(datetime.timedelta(hours=5, minutes=30))
    dates = [datetime.datetime(2011, 1, 2, 3, 4, 5, 600000), None, datetime.datetime(2011, 1, 2, 3, 4, 5, tzinfo=zone)]
    sf = SFrame({"t": dates, "i": [1, 2, 3]})
    sf.export_csv(str(tmp_path / "out.csv"))
    assert list(SFrame.read_csv(str(tmp_path / "out.csv"), column_type_hints={"t": datetime.datetime})["t"]) == dates


def test_arrays_come_back(tmp_path: Path) -> None:
    arrays = [array.array("d", [1, 0.1, 1e300]), None, array.array("d")]
    SFrame({"v": arrays, "i": [1, 2, 3]}).export_csv(str(tmp_path / "out.csv"))
    assert list(SFrame.read_csv(str(tmp_path / "out.csv"))["v"]) == arrays
    assert nested_text([array.array("d", [2.0]), {"k": (1, "x")}]) == '[[2],{"k":[1,"x"]}]'


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
        ({"na_rep": []}, SchemaError, "na_rep is a text"),
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
