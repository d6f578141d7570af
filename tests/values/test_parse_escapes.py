"""What a backslash means in quotes of users' lists and dicts: facts of the reference, for each character behind it."""

from __future__ import annotations

import pytest

from sframe_spark import SArray
from sframe_spark.values.single_value_conversion import parse_dict, parse_list

# As the reference has them: what is not here stays as it is, with its backslash.
MEANINGS = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", '"': '"', "'": "'", "/": "/", "\\": "\\"}


@pytest.mark.parametrize("quote", ['"', "'"])
def test_a_backslash_is_left_out_where_it_has_a_meaning_only(quote: str) -> None:
    characters = [chr(code) for code in range(32, 127)] + ["é", "\u2028", "😀"]
    for character in characters:
        text = f"{quote}a\\{character}b{quote}"
        wanted = f"a{MEANINGS.get(character, chr(92) + character)}b"
        assert parse_list(f"[{text}]") == [wanted]
        assert parse_dict(f"{{{text}: {text}}}") == {wanted: wanted}


def test_characters_by_number() -> None:
    assert parse_list(r'["a\u00e9b", "\ud83d\ude00", "\u00", "\ud83d"]') == ["aéb", "😀", r"\u00", r"\ud83d"]


def test_texts_with_backslashes_come_back_from_their_text() -> None:
    for value in (r"C:\data", r"\d+\s*", r"a\fb", r"a\0b", "a\fb", "a\0b"):
        assert list(SArray([{"k": value}, None]).astype(str).astype(dict)) == [{"k": value}, None]
        assert list(SArray([[value, 1], None]).astype(str).astype(list)) == [[value, 1], None]
