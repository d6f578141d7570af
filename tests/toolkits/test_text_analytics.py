"""Edges of text_analytics: other alphabets, wrong documents, weights, seeds, files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sframe_spark import SArray, SFrame, text_analytics


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x'y'z", ["x", "'y", "'z"]),
        ("'tis rock'n'roll", ["'", "tis", "rock", "'n", "'roll"]),
        ("IT'S ISN'T Can'T", ["IT", "'S", "IS", "N'T", "Ca", "n'T"]),
        ("1a2b 1.5.2 1. .5 1..2 +-2 1e-5", ["1", "a2b", "1.5.2", "1", ".", ".5", "1..2", "+", "-2", "1", "e-5"]),
        ("http://x.y/z?q=1&r=2 me@x.com.", ["http://x.y/z?q=1&r=2", "me@x.com", "."]),
        ("été, naïve_ 漢字", ["été", ",", "naïve_", "漢字"]),
    ],
)
def test_words_of_the_penn_treebank(text: str, words: list[str]) -> None:
    assert list(text_analytics.tokenize(SArray([text]), delimiters=None)) == [words]


def test_any_character_may_be_a_delimiter() -> None:
    texts = SArray(["a]b^c-d\\e", "aébéc", "a\U0001f601b"])
    assert list(text_analytics.tokenize(texts, delimiters=["]", "^", "-", "\\", "é", "\U0001f601"])) == [list("abcde"), list("abc"), ["a", "b"]]
    assert list(text_analytics.tokenize(SArray(["a b", ""]), delimiters=[])) == [["a b"], []]


def test_runs_of_characters_are_of_whole_characters() -> None:
    counts = text_analytics.count_ngrams(SArray(["été à\U0001f601", "a"]), 2, "character", ignore_space=False)
    assert list(counts) == [{"ét": 1, "té": 1, "é ": 1, " à": 1, "à\U0001f601": 1}, {}]
    assert list(text_analytics.count_ngrams(SArray(["a b", None]), 3)) == [{}, None]


def test_a_word_counts_as_often_as_the_weight_of_its_text_says() -> None:
    assert list(text_analytics.count_words(SArray([{"a b": 1.5, "B": 2}]))) == [{"a": 1.5, "b": 3.5}]
    assert list(text_analytics.count_ngrams(SArray([{"a b": 1.5}]), 1)) == [{"a": 1.5, "b": 1.5}]
    assert list(text_analytics.drop_words(SArray([{"A": 1, "a": 2, "b": 2}, None, {}]), 3)) == [{"a": 3}, None, {}]


def test_the_rules_of_the_treebank_count_in_ints_and_delimiters_in_floats() -> None:
    text = SArray(["a b a", None])
    assert text_analytics.count_words(text, delimiters=None)[0] == {"a": 2, "b": 1}
    for documents, delimiters, expected in [(text, None, int), (SArray([["a b"]]), None, int), (text, [" "], float)]:
        counts = SFrame({"counts": text_analytics.count_words(documents, delimiters=delimiters)}).stack("counts", ["word", "count"])
        assert counts["count"].dtype is expected


@pytest.mark.parametrize(
    "documents",
    [[["a", 1]], [["a", None]], [{1: 2}], [{"a": "x"}], [{"a": None}], [{"a": [1]}], [["a", ["b"]]]],
)
def test_what_is_no_document_is_an_error(documents: list[Any]) -> None:
    with pytest.raises(TypeError, match="document"):
        list(text_analytics.count_words(SArray(documents)))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: text_analytics.count_words(SArray([1])), RuntimeError, "documents must be texts, lists of texts or dicts"),
        (lambda: text_analytics.count_words(["a"]), RuntimeError, "an SArray, not a list"),
        (lambda: text_analytics.count_words(SArray(["a"]), to_lower=1), TypeError, "to_lower must be True or False, not 1"),
        (lambda: text_analytics.count_words(SArray(["a"]), delimiters="ab"), TypeError, "a list of characters"),
        (lambda: text_analytics.count_words(SArray(["a"]), delimiters=["ab"]), ValueError, "one character, not 'ab'"),
        (lambda: text_analytics.count_words(SArray(["a"]), delimiters=[1]), TypeError, "a delimiter must be a character, not 1"),
        (lambda: text_analytics.tokenize(SArray([["a"]])), RuntimeError, "documents must be texts"),
        (lambda: text_analytics.count_ngrams(SArray(["a"]), 0), ValueError, "at least one"),
        (lambda: text_analytics.count_ngrams(SArray(["a"]), 1.5), TypeError, "an int, not 1.5"),
        (lambda: text_analytics.count_ngrams(SArray(["a"]), method="x"), ValueError, "'word' or 'character'"),
        (lambda: text_analytics.bm25(SArray(["a"]), "a"), TypeError, "a query must be a list"),
        (lambda: text_analytics.bm25(SArray(["a"]), [1]), TypeError, "a text, not 1"),
        (lambda: text_analytics.bm25(SArray(["a"]), ["a"], k1=-1), RuntimeError, "k1 must be a number from 0"),
        (lambda: text_analytics.bm25(SArray(["a"]), ["a"], b=2), RuntimeError, "b must be a number from 0 to 1"),
        (lambda: text_analytics.drop_words(SArray(["a"]), 0), RuntimeError, "from 1"),
        (lambda: text_analytics.drop_words(SArray(["a"]), 2.5), TypeError, "an int, not 2.5"),
        (lambda: text_analytics.drop_words(SArray(["a"]), stop_words="a"), TypeError, "a list or a set"),
        (lambda: text_analytics.drop_words(SArray(["a"]), stop_words={1}), RuntimeError, "a text, not 1"),
        (lambda: text_analytics.stop_words("de"), NotImplementedError, "English only"),
        (lambda: text_analytics.random_split(SArray(["a"])), TypeError, "count_words"),
    ],
)
def test_wrong_arguments_are_told_before_work_begins(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_scores_of_bm25_have_the_numbers_of_documents() -> None:
    documents = SArray([None, {"a": 1}, {"b": 2}, {}, {"a": 2, "b": 1}])
    scores = text_analytics.bm25(documents, SArray(["a"]))
    assert list(scores["doc_id"]) == [1, 4]
    assert scores.column_names() == ["doc_id", "bm25"]
    assert len(text_analytics.bm25(documents, [])) == 0


def test_occurrences_are_divided_alike_for_one_seed() -> None:
    documents = SArray([{"a": 50, "b": 1.7}, None, {}])
    first, second = text_analytics.random_split(documents, 0.5, seed=3)
    assert first[0]["a"] + second[0]["a"] == 50 and 10 < first[0]["a"] < 40
    assert first[0].get("b", 0) + second[0].get("b", 0) == 1
    assert [first[1], second[1], first[2], second[2]] == [None, None, {}, {}]
    assert list(text_analytics.random_split(documents, 0.5, seed=3)[0]) == list(first)
    assert list(text_analytics.random_split(documents, 0.5, seed=4)[0]) != list(first)
    assert list(text_analytics.random_split(documents, 1)[0]) == [{}, None, {}]


def test_files_of_documents_and_vocabularies(tmp_path: Path) -> None:
    (tmp_path / "words").write_text('one\n"two"\nthree, 3\n')
    (tmp_path / "sparse").write_text("3 1:5 2:10\n\n2 0:1\n0 1:3 1:4\n7\n")
    read = text_analytics.parse_sparse(str(tmp_path / "sparse"), str(tmp_path / "words"))
    assert list(read) == [{'"two"': 5, "three, 3": 10}, {"one": 1}, {'"two"': 4}, {}]
    (tmp_path / "counts").write_text("3\n3\n4\n2 1 5\n5 1 10\n1 1 2\n1 3 1\n")
    assert list(text_analytics.parse_docword(str(tmp_path / "counts"), str(tmp_path / "words"))) == [
        {"one": 2, "three, 3": 1},
        {"one": 5},
        {"one": 10},
    ]
    (tmp_path / "counts").write_text("3\n3\n4\n1 4 5\n")
    with pytest.raises(RuntimeError, match="the vocabulary has 3 words"):
        list(text_analytics.parse_docword(str(tmp_path / "counts"), str(tmp_path / "words")))


def test_results_line_up_with_the_frame_of_the_documents() -> None:
    sf = SFrame({"text": ["a b", None, "b", ""]})
    sf["counts"] = text_analytics.count_words(sf["text"])
    sf["weights"] = text_analytics.tf_idf(sf["counts"])
    sf["kept"] = text_analytics.drop_words(sf["text"])
    assert [len(row["weights"] or {}) for row in sf] == [2, 0, 1, 0]
    assert list(sf["kept"]) == ["b", None, "b", ""]
