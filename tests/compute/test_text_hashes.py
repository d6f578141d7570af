"""Hashes of texts are SipHash's, as others compute it."""

import numpy as np
import pyarrow as pa
from hypothesis import given, settings, strategies as st
from pandas._libs.hashing import hash_object_array

from sframe_spark.compute.string_hashing import KEY, text_hashes
from tests.examples import examples


@given(st.lists(st.one_of(st.text(), st.sampled_from(["", "a", "12345678", "1234567", "x" * 300, "日本語"])), min_size=1, max_size=20))
@settings(max_examples=examples(200))
def test_hashes_are_those_of_each_text(texts: list[str]) -> None:
    alone = hash_object_array(np.array(texts, object), KEY.decode(), "utf8")
    assert text_hashes(pa.array(texts)).tolist() == alone.tolist()
    assert text_hashes(pa.array(["before", *texts, "behind"]).slice(1, len(texts))).tolist() == alone.tolist()


def test_no_texts_have_no_hashes() -> None:
    assert text_hashes(pa.array([], pa.string())).tolist() == []
