"""Texts in the order of their bytes, as Arrow, Spark and Python compare them, however many words tell them apart."""

from __future__ import annotations

import random

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings, strategies as st

from sframe_spark.compute import sorting_and_searching
from sframe_spark.compute.sorting_and_searching import text_ranks
from tests.examples import examples

PIECES = ["", "a", "b", "é", "\U0001f600", "\x7f", "\x01", "aaaaaaaa", "aaaaaaab", "12345678901234567890", "a" * 40]


def expected(texts: list[str]) -> tuple[list[int], int]:
    places = {text: place for place, text in enumerate(sorted(set(texts), key=str.encode))}
    return [places[text] for text in texts], len(places)


def check(texts: list[str]) -> None:
    column = pa.array(["cut off", *texts, "cut off"], pa.string()).slice(1, len(texts))
    ranks, count = text_ranks(column)
    assert (ranks.tolist(), count) == expected(texts)


@settings(max_examples=examples(300), deadline=None)
@given(
    st.lists(st.lists(st.sampled_from(PIECES), max_size=5).map("".join), max_size=40),
    st.sampled_from(["", "all begin with ", "\U0001f600"]),
    st.sampled_from([1, 2, 4]),
)
def test_ranks_are_places_among_different_texts(texts: list[str], before: str, words: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sorting_and_searching, "SMALL_SORT", 1)
        patch.setattr(sorting_and_searching, "MAX_WORDS", words)
        check([before + text for text in texts])


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.text(max_size=12), max_size=30))
def test_any_characters_have_an_order(texts: list[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sorting_and_searching, "SMALL_SORT", 1)
        check(texts)


@pytest.mark.parametrize("before", ["", "user ", "https://example.com/a/very/long/way/to/"])
@pytest.mark.parametrize("most", [50, 10**6])
def test_many_texts(before: str, most: int) -> None:
    choose = random.Random(most)
    check([f"{before}{choose.randrange(most)}{'/x' * choose.randrange(9)}" for _ in range(9_000)])


def test_texts_that_words_tell_apart_are_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(texts: pa.Array) -> None:
        raise AssertionError("texts were compared")

    texts = pa.array([f"user {number * 7919 % 10_007}" for number in range(10_007)])
    wanted = (pc.rank(texts).to_numpy() - 1).tolist()
    monkeypatch.setattr(sorting_and_searching, "compared_ranks", refuse)
    assert text_ranks(texts)[0].tolist() == wanted
