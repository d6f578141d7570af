"""Functions of texts give what Python's ``str`` gives, and ``re`` where both read a pattern alike; Spark's tasks give the same."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from operator import methodcaller
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, strategies as st

from sframe_spark import SArray, SFrame, config
from sframe_spark.errors import InvalidArgumentError, NoAttributeError, SchemaError, TooLargeError
from sframe_spark.expressions.functions.scalar_function import FUNCTIONS, evaluate
from sframe_spark.expressions.functions.text_functions import TEXT_FUNCTIONS, TEXTS
from sframe_spark.expressions.functions.text_patterns import like_tokens
from sframe_spark.types import STR, ColumnType

SPLIT = FUNCTIONS.named("str_split").ready([STR], (None, -1))
NASTY = [
    "",
    "a",
    "A",
    "ß",
    "İ",
    "ŉ",
    "ﬁ",
    "ǆ",
    "Σ",
    "ΑΣ",
    "\u03c3",
    "é",
    "e\u0301",
    "\U0001f601",
    "漢",
    "½",
    "²",
    "٣",
    "\0",
    "\x1f",
    "\x1e",
    "\ufdd0",
]
NASTY += [" ", "\t", "\n", "\x0b", "\x1c", "\x85", "\xa0", "\u2003", "\u200b", "\u3000", "-", "+", "_", "%", "\\", "$", ".", "1", "they're", "aa"]
texts = st.lists(st.sampled_from(NASTY), max_size=5).map("".join) | st.text(st.characters(codec="utf-8"), max_size=6)
columns = st.lists(st.none() | texts, max_size=12)
short = st.lists(st.sampled_from(NASTY), max_size=2).map("".join)

# What Python gives for a text and parameters.
WITHOUT_PARAMETERS = ["upper", "lower", "title", "capitalize", "swapcase", "casefold"]
WITHOUT_PARAMETERS += [f"is{name}" for name in ("alpha", "alnum", "digit", "decimal", "numeric", "space", "upper", "lower")]
MODELS: dict[str, tuple[Callable[..., Any], st.SearchStrategy[tuple[Any, ...]]]] = {
    **{name: (getattr(str, name), st.just(())) for name in WITHOUT_PARAMETERS},
    "length": (len, st.just(())),
    **{name: (getattr(str, name), st.tuples(st.none() | short)) for name in ("strip", "lstrip", "rstrip")},
    **{name: (getattr(str, name), st.tuples(short)) for name in ("removeprefix", "removesuffix", "count", "find", "rfind")},
    **{name: (getattr(str, name), st.tuples(st.lists(short, max_size=2).map(tuple))) for name in ("startswith", "endswith")},
    "zfill": (str.zfill, st.tuples(st.integers(-2, 9))),
    "repeat": (lambda text, times: text * times, st.tuples(st.integers(-2, 4))),
    "replace": (
        lambda text, old, new, count, _: text.replace(old, new, -1 if count is None else count),
        st.tuples(short, short, st.none() | st.integers(-1, 4), st.just(False)),
    ),
    "split": (str.split, st.tuples(st.none() | short.filter(bool), st.integers(-1, 3))),
    "rsplit": (str.rsplit, st.tuples(short.filter(bool), st.integers(-1, 3))),
    "contains": (lambda text, part, _: part in text, st.tuples(short, st.just(False))),
    "like": (
        lambda text, pattern, ignores: like_of_python(text, pattern, ignores),
        st.tuples(st.from_regex(r"\A([a%_.é]|\\%){0,5}\Z"), st.booleans()),
    ),
}
ELSEWHERE = {"match", "fullmatch", "extract", "join"}


def like_of_python(text: str, pattern: str, ignores_case: bool) -> bool:
    """SQL's LIKE by Python's re."""
    parts = re.findall(r"\\.|.", pattern, re.DOTALL)
    translated = "".join({"%": ".*", "_": "."}.get(part) or re.escape(part[-1]) for part in parts)
    return re.fullmatch(translated, text, re.DOTALL | (re.IGNORECASE if ignores_case else 0)) is not None


def computed(name: str, values: list[Any], parameters: tuple[Any, ...], kind: ColumnType = STR) -> list[Any]:
    """The kernel's values, of an array that begins within a longer one."""
    column = pa.array([None, None, *values], kind.physical).slice(2)
    found, _ = evaluate(f"str_{name}", [column], [kind], parameters, len(values))
    found.validate(full=True)
    return list(found.to_pylist())


def test_every_function_has_a_model() -> None:
    assert set(MODELS) | ELSEWHERE == set(TEXT_FUNCTIONS)


@pytest.mark.parametrize("name", MODELS)
@given(columns, st.data())
def test_texts_are_those_of_python(name: str, values: list[Any], data: Any) -> None:
    model, parameters = MODELS[name]
    chosen = data.draw(parameters)
    assert computed(name, values, chosen) == [None if value is None else model(value, *chosen) for value in values]


# Patterns that RE2 and Python's re read alike, also of texts beyond ASCII.
PATTERNS = ["a", "[aA]+", "^a", "a$", "^.*a", "(a)(b)?", "a|aa", "(?i)\u03c3", "é+", ".", "x*", r"\.", "[^a]", r"a{2}", "(?:a|é)(.)"]


@pytest.mark.parametrize("pattern", PATTERNS)
@given(columns.map(lambda values: [value for value in values if value is None or "\n" not in value]))
def test_matches_are_those_of_re(pattern: str, values: list[Any]) -> None:
    compiled = re.compile(pattern)
    for name, model in (("match", compiled.match), ("fullmatch", compiled.fullmatch), ("contains", compiled.search)):
        parameters = (pattern, True) if name == "contains" else (pattern,)
        assert computed(name, values, parameters) == [None if value is None else model(value) is not None for value in values], name
    found = [None if value is None else compiled.search(value) for value in values]
    for group in range(compiled.groups + 1):
        # A group that takes no part is an empty text.
        assert computed("extract", values, (pattern, group)) == [None if match is None else match[group] or "" for match in found]
    if not compiled.match(""):
        replaced = [None if value is None else compiled.sub(r"<\g<0>>", value) for value in values]
        assert computed("replace", values, (pattern, r"<\0>", None, True)) == replaced


@pytest.mark.parametrize(
    ("pattern", "group", "expected"),
    [
        (r"(\(a)", 1, "(a"),
        ("[(]([a)]+)", 1, "a)"),
        ("[]()]([a])", 1, "a"),
        ("(?:[[:punct:](])(?P<letter>a)(.)", 2, ")"),
        ("(?P<letter>a)", 1, "a"),
        ("((?:.)(a))(.)", 2, "a"),
        (r"\Q(\E(a)", 1, "a"),
        ("(?i)(A)", 1, "a"),
        (r"[\](](a)", 1, "a"),
        ("()()()()()()()()()(a)", 10, "a"),
    ],
)
def test_groups_are_counted_as_in_re(pattern: str, group: int, expected: str) -> None:
    assert list(SArray(["(a)", "zz", None]).str.extract(pattern, group)) == [expected, None, None]


def test_texts_of_lists_are_joined() -> None:
    values = [["a", "é"], [], ["x"], None, ["a", None], [""]]
    assert computed("join", values, (", ",), TEXTS) == ["a, é", "", "x", None, None, ""]
    assert list(SArray(["a b", None, ""]).str.split().str.join("+")) == ["a+b", None, ""]
    with pytest.raises(SchemaError, match=r"str.join\(\) joins the items of lists of texts"):
        SArray([[1, 2]]).str.join("-")
    with pytest.raises(SchemaError, match=r"split\(\) makes lists"):
        SArray(["a"]).str.join("-")


@pytest.mark.parametrize("separators", range(len("\x1f\x1e\0\ufdd0\ufdd1\ufdd2") + 1))
def test_texts_with_the_characters_between_texts_are_told_apart(separators: int) -> None:
    values = ["é" + "\x1f\x1e\0\ufdd0\ufdd1\ufdd2"[:separators], "ß", None, "x"]
    assert computed("upper", values, ()) == [None if value is None else value.upper() for value in values]


@pytest.mark.parametrize(
    "wrong",
    [
        lambda texts: texts.contains("("),
        lambda texts: texts.contains("(?=a)"),
        lambda texts: texts.match(r"(a)\1"),
        lambda texts: texts.contains(1),
        lambda texts: texts.replace("(a)", r"\2", regex=True),
        lambda texts: texts.replace("a", "b", count=1, regex=True),
        lambda texts: texts.replace("a", None),
        lambda texts: texts.replace("a", "b", count=1.5),
        lambda texts: texts.split(""),
        lambda texts: texts.split(",", True),
        lambda texts: texts.rsplit(None),
        lambda texts: texts.extract("a"),
        lambda texts: texts.extract("(a)", 2),
        lambda texts: texts.extract("(a)", -1),
        lambda texts: texts.extract("(a)", "name"),
        lambda texts: texts.extract("(", 1),
        lambda texts: texts.extract(r"\(a)", 1),
        lambda texts: texts.extract("(?P<n>a)(?P<n>b)", 1),
        lambda texts: texts.like("a\\"),
        lambda texts: texts.like("\\a"),
        lambda texts: texts.strip(1),
        lambda texts: texts.startswith(None),
        lambda texts: texts.startswith(["a"]),
        lambda texts: texts.find("\ud800"),
        lambda texts: texts.zfill("3"),
        lambda texts: texts.zfill(2**31),
        lambda texts: texts.repeat(1.0),
        lambda texts: texts.pad(3, "start"),
        lambda texts: texts.count(None),
    ],
)
def test_arguments_that_make_no_sense_are_refused_before_anything_runs(wrong: Callable[[Any], Any]) -> None:
    with pytest.raises(InvalidArgumentError):
        wrong(SArray(["a"]).str)


def test_what_is_no_text_is_refused() -> None:
    for call in (lambda texts: texts.upper(), lambda texts: texts.slice(1), lambda texts: texts.pad(3)):
        with pytest.raises(SchemaError, match="astype"):
            call(SArray([1]).str)


def test_names_of_other_libraries_are_answered() -> None:
    for name, told in (
        ("to_uppercase", r"use str\.upper\(\)"),
        ("len_chars", r"use str\.length\(\)"),
        ("cat", "add texts"),
        ("uper", "did you mean 'upper'"),
    ):
        with pytest.raises(NoAttributeError, match=f"columns have no str.{name}.*{told}"):
            getattr(SArray(["a"]).str, name)
    with pytest.raises(NoAttributeError, match=r"use str\.upper\(\)"):
        SArray(["a"]).upper  # type: ignore[attr-defined]  # noqa: B018
    assert not hasattr(SArray(["a"]).str, "__array__")


def test_compiled_patterns_keep_their_flags() -> None:
    column = SArray(["Ann", "bob\nB", None])
    assert list(column.str.contains(re.compile("^b", re.IGNORECASE | re.MULTILINE))) == [0, 1, None]
    assert list(column.str.replace(re.compile("n+"), "m")) == ["Am", "bob\nB", None]
    assert list(column.str.fullmatch(re.compile("b.*b", re.I | re.S))) == [0, 1, None]


def test_more_than_arrow_holds_in_a_batch_is_refused() -> None:
    with pytest.raises(TooLargeError, match="batch_rows"):
        evaluate("str_repeat", [pa.array(["a" * 1000])], [STR], (2**22,), 1)
    with pytest.raises(TooLargeError, match="batch_rows"):
        evaluate("str_zfill", [pa.array(["a"] * 3)], [STR], (2**30,), 3)


@pytest.mark.parametrize("line", [*TEXT_FUNCTIONS.values()], ids=lambda line: line.name)
def test_examples_print_what_they_say(line: Any) -> None:
    expression, printed = line.example
    assert str(list(eval(expression, {"SArray": SArray}))) == printed
    assert f".str.{line.name}(" in expression and callable(getattr(SArray([""]).str, line.name))


def test_like_patterns_without_wildcards_need_no_regular_expression() -> None:
    assert like_tokens("50%") == ["\\50", "%"] and list(SArray(["a.b", "axb"]).str.like("a.b")) == [1, 0]
    assert list(SArray(["a\nb", "50%", "50x"]).str.like("a%b")) == [1, 0, 0] and list(SArray(["50%", "50x"]).str.like(r"50\%")) == [1, 0]
    assert list(SArray(["ÉCOLE"]).str.like("éc%", ignore_case=True)) == [1]


CALLS: dict[str, Callable[[Any], Any]] = {
    **{name: methodcaller(name) for name in [*WITHOUT_PARAMETERS, "length", "strip", "split"]},
    "replace": lambda texts: texts.replace("a", "$1\\"),
    "pattern": lambda texts: texts.contains(r"^\w|é"),
    "extract": lambda texts: texts.extract("(.)a?$"),
    "startswith": lambda texts: texts.startswith(("a", "ß")),
    "find": lambda texts: texts.find("a"),
    "rfind": lambda texts: texts.rfind("a"),
    "repeat": lambda texts: texts.repeat(2),
    "zfill": lambda texts: texts.zfill(4),
    "like": lambda texts: texts.like("%a%"),
    "slice": lambda texts: texts.slice(1, -1),
}


@pytest.mark.spark
def test_spark_tasks_give_the_same_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    values = [*NASTY, None, *(first + second for first in NASTY for second in NASTY[:12])]
    expected = {name: list(call(SArray(values).str)) for name, call in CALLS.items()}
    monkeypatch.setattr(config, "small_rows", 0)
    frame = SFrame({"text": values})
    for name, call in CALLS.items():
        assert list(call(frame["text"].str)) == expected[name], name


# What others met: the value, and what it has to give.
MET = [
    (lambda texts: texts.upper(), "ß", "SS", "pandas 52037: Arrow has ẞ"),
    (lambda texts: texts.find("t"), "árvíztűrő", 5, "polars 14190: accents are counted twice"),
    (lambda texts: texts.zfill(4), "+-1", "+0-1", "narwhals 3958: zeros behind a second sign"),
    (lambda texts: texts.strip(""), "bar\n", "bar\n", "narwhals 3925: no characters are taken for whitespace"),
    (lambda texts: texts.isdigit(), "⅕", 0, "pandas 63105: a fraction is no digit"),
    (lambda texts: texts.like("a.b"), "axb", 0, "Arrow's match_like takes the dot for any character"),
    (lambda texts: texts.replace("", "-"), "ab", "-a-b-", "Arrow's replace_substring does not end"),
    (lambda texts: texts.split(), " a  b ", ["a", "b"], "Arrow's split_whitespace has empty items at the ends"),
]


def test_whitespace_at_the_end_of_the_last_text_is_found_whatever_lies_behind_it() -> None:
    # Arrow reads the bytes behind the text, which are left from other arrays: of many arrays of many sizes some have no text there.
    chance, kept = random.Random(1), []
    for _ in range(2_000):
        values = chance.choices(["\ttab\n", "b", None, "x y", "tab\n", " 4 ", "12345678901234567890", "", "é"], k=chance.randrange(1, 45))
        array = pa.array(values, pa.string())
        kept.append(pc.utf8_ltrim(array, " \t"))
        del kept[:-30]
        assert SPLIT([array], len(values)).to_pylist() == [None if value is None else value.split() for value in values]


@pytest.mark.parametrize(("call", "value", "expected"), [case[:3] for case in MET], ids=[case[3] for case in MET])
def test_what_others_met(call: Callable[[Any], Any], value: str, expected: Any) -> None:
    assert list(call(SArray([value, None]).str)) == [expected, None]
