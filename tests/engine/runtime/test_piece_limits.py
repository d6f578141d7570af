"""What a kernel makes of one batch beyond what an array holds is told in our words, with what to do."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from sframe_spark import SArray
from sframe_spark.errors import TooLargeError


def test_texts_of_a_batch_beyond_two_gibibytes(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> pa.Array:
        raise pa.ArrowCapacityError("array cannot contain more than 2147483646 bytes, have 2147483648")

    monkeypatch.setattr(pc, "binary_join_element_wise", full)
    texts = SArray(["x", "y", "z"])
    with pytest.raises(TooLargeError, match=r"over 2 GiB of texts or lists from 3 rows at once.*config\.batch_rows"):
        list(texts + texts)


def test_the_limit_is_the_one_that_arrow_reports() -> None:
    """Before it makes the text."""
    text = "x" * (1 << 20)
    with pytest.raises(pa.ArrowCapacityError):
        pc.binary_repeat(pa.array([text]), 1 << 12)
