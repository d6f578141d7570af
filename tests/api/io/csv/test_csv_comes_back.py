"""Any value that is written as CSV comes back as it was, whatever divides fields and lines; or nothing is written."""

from __future__ import annotations

import array
import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from sframe_spark import SArray, SFrame
from sframe_spark.api.io.csv.writer import nested_text
from sframe_spark.errors import InvalidArgumentError
from tests.api.io.csv.test_csv_writer import exported
from tests.examples import examples

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
    st.sampled_from("abfnu01,;|:<>\"'[]{}\\\t\n\r\x00\x0b\x0c\x1b\x1c\x7f\x85\u2028\u2029\u00a0\ufeff #-.é😀 ") | st.characters(codec="utf-8"),
    max_size=6,
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


@pytest.mark.sampled(2)
@pytest.mark.parametrize("delimiter", [" ", "  ", ".", "-", "e", "1", "a", "\t"])
@pytest.mark.parametrize("line_terminator", ["\n", "|", "0"])
def test_numbers_and_missing_values_come_back_without_hints(tmp_path: Path, delimiter: str, line_terminator: str) -> None:
    path, dialect = str(tmp_path / "out.csv"), {"delimiter": delimiter, "line_terminator": line_terminator}
    columns = {"p": [None, -1, 21], "q": [1.5, None, -2e-30], "r": [10, 0, None], "s": ["x", "y-1.0 a", "e"]}
    SFrame(columns).export_csv(path, **dialect)
    back = SFrame.read_csv(path, **dialect)
    assert {name: list(back[name]) for name in back.column_names()} == columns


@pytest.mark.sampled(3)
@pytest.mark.parametrize("columns", [{"a": [None, 1, None]}, {"a": [None, 1, None], "b": [1, None, None]}])
@pytest.mark.parametrize("delimiter", [",", " ", "\t"])
@pytest.mark.parametrize("na_rep", [" ", ",", '"', "[", "x y\n", "\\N", "NA"])
def test_whatever_stands_for_a_missing_value_is_a_field(tmp_path: Path, columns: dict[str, list[Any]], delimiter: str, na_rep: str) -> None:
    path = str(tmp_path / "out.csv")
    SFrame(columns).export_csv(path, delimiter=delimiter, na_rep=na_rep)
    back = SFrame.read_csv(path, delimiter=delimiter, na_values=[na_rep])
    assert {name: list(back[name]) for name in back.column_names()} == columns
    assert na_rep not in ("\\N", "NA") or '"' not in Path(path).read_text()


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


def test_negative_zero_comes_back(tmp_path: Path) -> None:
    zeros = array.array("d", [-0.0, 5.0])
    assert exported(SFrame({"v": [zeros], "w": [{"k": zeros, "f": -0.0}]}), tmp_path) == 'v,w\n"[-0 5]","{""k"":[-0.0,5],""f"":-0.0}"\n'
    back = SFrame.read_csv(str(tmp_path / "out.csv"))
    assert repr(list(back["v"])) == "[array('d', [-0.0, 5.0])]"
    assert repr(back["w"][0]["k"][0]) == "-0.0"


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
