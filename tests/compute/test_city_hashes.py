"""CityHash64 of texts of each length that is hashed in a way of its own, beside words that the published program gives."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from sframe_spark.compute.string_hashing import city_hashes, city_hashes_of_bytes

WORDS = {
    0: 0x9AE16A3B2F90404F,
    1: 0xE27D7DAE156F771A,
    2: 0xAD2A382242CD6AF5,
    3: 0x3AD05575511F9CA1,
    4: 0x80A76991A7C40CFF,
    7: 0x7D710A3B2FA44DA4,
    8: 0x1A12CE98D9CBDBEE,
    9: 0x4CDE8456FE03B951,
    16: 0x8346E3580DD954C5,
    17: 0x99EE49A5257AF5F8,
    31: 0x2D706D20656E3149,
    32: 0xD5BA0DE900D0C323,
    33: 0x119030219D6A842D,
    47: 0x244CAD5CA7682B1C,
    64: 0x594AA0919892B8AB,
    65: 0x67A7F14C37025029,
    127: 0x17367C2BDE41C722,
    128: 0x5E2DA98A37715011,
    129: 0x5969D5A5996D75CD,
    300: 0x620BB9B6F3160383,
}


def text_of(length: int) -> str:
    return "".join(chr(33 + (7 * place + length) % 90) for place in range(length))


@pytest.mark.parametrize("length", WORDS)
def test_words_of_texts(length: int) -> None:
    assert city_hashes(pa.array([text_of(length)])).tolist() == [WORDS[length]]


def test_a_word_does_not_depend_on_the_texts_beside_it() -> None:
    lengths = np.random.default_rng(1).choice(list(WORDS), 3000).tolist()
    texts = pa.array(["unseen", *map(text_of, lengths)])[1:]
    assert city_hashes(texts).tolist() == [WORDS[length] for length in lengths]
    assert city_hashes(pa.array([], pa.string())).tolist() == []


def test_bytes_with_gaps_of_nothing_between_them() -> None:
    data = np.frombuffer(b"abcabc", np.uint8)
    assert city_hashes_of_bytes(data, np.array([0, 0, 3, 3, 6])).tolist() == city_hashes(pa.array(["", "abc", "", "abc"])).tolist()
